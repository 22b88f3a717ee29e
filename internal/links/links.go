// Package links plans links from resources to others, by rules with globs and
// templates over the path (Z39.99-2017 §14). It knows nothing of what is in the
// source: whether a file is there that a link is meant for is for others to find
// out.
package links

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// Resource is what templates can speak of.
type Resource struct {
	Path string // in the source
	URI  string
	// Hash is the first digest, in hexadecimal digits.
	Hash string
}

// Planned is a link of a resource. If File is not empty, it leads to the URI of that
// file of the source, if there is one, and Link.Href is empty. If List is not empty,
// there is a link only if that list has the resource that Link.Href leads to.
type Planned struct {
	Link resourcesync.Link
	File string
	List string
	Rule int // which rule has planned it
}

// Rules are rules that have been checked. They are only read, by any number of goroutines.
type Rules struct {
	rules []rule
	// NeedsFiles is true if a rule links to files of the source.
	NeedsFiles bool
}

type rule struct {
	policy.LinkRule
	globs               []*regexp.Regexp
	href, file, profile *template
}

// New checks rules.
func New(rules []policy.LinkRule) (*Rules, error) {
	all := &Rules{}
	for _, r := range rules {
		c := rule{LinkRule: r}
		captures := -1
		for _, glob := range r.Match {
			e, err := compileGlob(glob)
			if err != nil {
				return nil, fmt.Errorf("%s: match: %w", r.Name, err)
			}
			if captures < 0 || e.NumSubexp() < captures {
				captures = e.NumSubexp()
			}
			c.globs = append(c.globs, e)
		}
		for _, t := range []struct {
			name, text string
			to         **template
			escape     bool
		}{{"href", r.Href, &c.href, true}, {"file", r.File, &c.file, false}, {"profile", r.Profile, &c.profile, true}} {
			if t.text == "" {
				continue
			}
			parsed, err := parseTemplate(t.text, captures, t.escape)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", r.Name, t.name, err)
			}
			*t.to = parsed
		}
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("%s: %w", r.Name, err)
		}
		all.NeedsFiles = all.NeedsFiles || c.file != nil
		all.rules = append(all.rules, c)
	}
	return all, nil
}

// check tries the templates with an example, so that one that never gives a URI is
// found at once.
func (r *rule) check() error {
	if (r.href == nil) == (r.file == nil) {
		return fmt.Errorf("it needs href or file, and not both")
	}
	if !resourcesync.IsRelation(r.Rel) {
		return fmt.Errorf("rel is %q, which is neither registered nor a URI", r.Rel)
	}
	if r.Type != "" && !resourcesync.IsMediaType(r.Type) {
		return fmt.Errorf("type is %q, not a media type", r.Type)
	}
	if r.Rel == "http://www.openarchives.org/rs/terms/patch" && r.Type == "" {
		return fmt.Errorf("a patch needs a type, which says how to apply it")
	}
	if r.List != "" && (r.href == nil || r.Rel != "via") {
		return fmt.Errorf("list needs href, and rel = \"via\"")
	}
	if r.Pri < 0 || r.Pri > 999_999 {
		return fmt.Errorf("pri is %d, not from 1 to 999999", r.Pri)
	}
	example := Resource{Path: "dir/name.ext", URI: "https://example.org/dir/name.ext", Hash: strings.Repeat("0", 64)}
	captures := make([]string, 20)
	for i := range captures {
		captures[i] = "x"
	}
	for name, t := range map[string]*template{"href": r.href, "profile": r.profile} {
		if t == nil {
			continue
		}
		if s := t.expand(&example, captures); !resourcesync.IsURI(s) {
			return fmt.Errorf("%s: %q does not give a URI, but %q, for example", name, t.text, s)
		}
	}
	return nil
}

// Plan returns the links of a resource, in the order of the rules. The tally takes note of
// it, unless it is nil.
func (rs *Rules) Plan(r *Resource, t *Tally) ([]Planned, error) {
	var all []Planned
	for i := range rs.rules {
		c := &rs.rules[i]
		captures, ok := c.match(r.Path)
		if !ok {
			continue
		}
		t.match(i)
		p := Planned{Rule: i, Link: resourcesync.Link{Rel: c.Rel, Pri: c.Pri, Type: c.Type}}
		if c.file != nil {
			p.File = path.Clean(c.file.expand(r, captures))
			if !isBelow(p.File) {
				t.Missing(i, p.File)
				continue
			}
		} else {
			if p.List = c.List; p.List == "" {
				t.Used(i)
			}
			p.Link.Href = c.href.expand(r, captures)
			if !resourcesync.IsURI(p.Link.Href) {
				return nil, fmt.Errorf("%s: for %q, href gives %q, which is no URI", c.Name, r.Path, p.Link.Href)
			}
		}
		all = append(all, p)
		if c.profile == nil {
			continue
		}
		profile := c.profile.expand(r, captures)
		if !resourcesync.IsURI(profile) {
			return nil, fmt.Errorf("%s: for %q, profile gives %q, which is no URI", c.Name, r.Path, profile)
		}
		all = append(all, Planned{Rule: i, File: p.File, Link: resourcesync.Link{Rel: "profile", Href: profile}})
	}
	return all, nil
}

// isBelow reports whether a path is that of something in the source.
func isBelow(p string) bool {
	return p != "." && p != ".." && !strings.HasPrefix(p, "../") && !strings.HasPrefix(p, "/")
}

// Lists returns where the Resource Lists of other Sources are, each once.
func (rs *Rules) Lists() []string {
	var lists []string
	for i := range rs.rules {
		if list := rs.rules[i].List; list != "" && !slices.Contains(lists, list) {
			lists = append(lists, list)
		}
	}
	return lists
}

func (r *rule) match(path string) (captures []string, ok bool) {
	for _, g := range r.globs {
		if m := g.FindStringSubmatch(path); m != nil {
			return m[1:], true
		}
	}
	return nil, false
}
