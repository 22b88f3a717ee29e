package generator

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/internal/httpclient"
	"github.com/wellspring-sync/wellspring/internal/links"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// linker says what resources link to, and what else rules say of them.
type linker struct {
	o *Options
	// facts is nil if no link leads to a file of the source. Else it gathers what
	// is known of all resources, so that an entry can say something of one that
	// comes later in the order of URIs; the lists are then written in a second
	// pass over it.
	facts *facts
	// lists are those of other Sources, by where they are.
	lists map[string]*links.List
	uri   func(path string) string
}

func (r *run) newLinker(ctx context.Context) (*linker, error) {
	k := &linker{o: &r.o, uri: r.uri, lists: map[string]*links.List{}}
	if r.o.Links == nil {
		return k, nil
	}
	for _, place := range r.o.Links.Lists() {
		list, err := links.ReadList(ctx, place, r.headerFor(place), r.o.Release)
		if err != nil {
			k.close()
			return nil, fmt.Errorf("reading the Resource List %s for links to it: %w", httpclient.Redacted(place), err)
		}
		k.lists[place] = list
	}
	if !r.o.Links.NeedsFiles {
		return k, nil
	}
	var err error
	if k.facts, err = newFacts(); err != nil {
		k.close()
		return nil, fmt.Errorf("making a temporary file: %w", err)
	}
	return k, nil
}

// headerFor returns what is sent to a server beside what all are sent: only that of
// the last publication gets what the user gave for it.
func (r *run) headerFor(place string) http.Header {
	own, err := url.Parse(r.o.Previous.Place)
	other, errOther := url.Parse(place)
	if err != nil || errOther != nil || own.Host == "" || !httpclient.IsWithin(own, other) {
		return nil
	}
	return r.o.Previous.Header
}

func (k *linker) close() {
	if k == nil {
		return
	}
	if k.facts != nil {
		k.facts.close()
	}
	for _, list := range k.lists {
		list.Close()
	}
}

// plan returns the links that rules give to a resource.
func (k *linker) plan(f *finding) ([]links.Planned, error) {
	if k.o.Links == nil || f.Type == resourcesync.Deleted {
		return nil, nil
	}
	planned, err := k.o.Links.Plan(f.resource())
	if err != nil {
		return nil, fmt.Errorf("links: %w", err)
	}
	return planned, nil
}

// describe adds to an entry what rules say of the resource.
func (k *linker) describe(f *finding) error {
	if f.Type == resourcesync.Deleted {
		return nil
	}
	if rule := k.o.resourceRule(f.Path, func(r *ResourceRule) bool { return r.ChangeFreq != "" }); rule != nil {
		f.entry.ChangeFreq, rule.used = rule.ChangeFreq, true
	}
	planned, err := k.plan(f)
	if err != nil {
		return err
	}
	for _, p := range planned {
		l, there := p.Link, true
		switch {
		case p.File != "":
			there, err = k.toFile(&l, p)
		case p.List != "":
			there, err = k.toOriginal(&l, p)
		}
		if err != nil {
			return err
		}
		if !there {
			continue
		}
		f.entry.Links = append(f.entry.Links, l)
	}
	return nil
}

// toFile completes a link to a file of the source, and reports whether it is there.
func (k *linker) toFile(l *resourcesync.Link, p links.Planned) (bool, error) {
	uri := k.uri(p.File)
	target, ok, err := k.facts.find(uri, p.File)
	if err != nil || !ok {
		k.o.Links.Missing(p.Rule, p.File)
		return false, err
	}
	k.o.Links.Used(p.Rule)
	if l.Rel == "profile" { // which goes with the link, and leads elsewhere
		return true, nil
	}
	l.Href = uri
	md := &target.Metadata
	l.Modified, l.Hash, l.Length, l.HasLength = target.LastModified, md.Hash, md.Length, md.HasLength
	l.Encoding = md.Encoding
	if l.Type == "" {
		l.Type = md.Type
	}
	return true, nil
}

// toOriginal completes a link to a resource of another Source, and reports whether
// that lists it.
func (k *linker) toOriginal(l *resourcesync.Link, p links.Planned) (bool, error) {
	found, ok, err := k.lists[p.List].Find(l.Href)
	if err != nil || !ok {
		k.o.Links.Missing(p.Rule, l.Href)
		return false, err
	}
	k.o.Links.Used(p.Rule)
	found.Pri = l.Pri
	if l.Type != "" {
		found.Type = l.Type
	}
	*l = found
	return true, nil
}

// bytes is how long the links of a finding can become in an entry.
func (k *linker) bytes(f *finding) (n int64, err error) {
	if f.Type == "" || k.o.Links == nil && len(k.o.Resources) == 0 {
		return 0, nil
	}
	planned, err := k.plan(f)
	if err != nil {
		return 0, err
	}
	n = int64(len("<changefreq>monthly</changefreq>"))
	for _, p := range planned {
		l := p.Link
		switch {
		case p.List != "": // of which all is known
			if l, _, err = k.lists[p.List].Find(l.Href); err != nil {
				return 0, err
			}
			l.Pri = p.Link.Pri
		case p.File != "": // of which as much is said as can be
			l.Href = cmp.Or(l.Href, k.uri(p.File))
			l.Modified, l.Hash, l.Type, l.Encoding = someTime, f.entry.Metadata.Hash, cmp.Or(l.Type, longestType), k.o.longestEncoding()
			l.Length, l.HasLength = math.MaxInt64, true
		}
		bare := resourcesync.Entry{Loc: "x"}
		without, err := resourcesync.AppendEntry(nil, false, &bare)
		if err != nil {
			return 0, err
		}
		bare.Links = []resourcesync.Link{l}
		with, err := resourcesync.AppendEntry(nil, false, &bare)
		if err != nil {
			return 0, err
		}
		n += int64(len(with) - len(without))
	}
	return n, nil
}

// What is longer than anything that can be said of a file in a link.
var (
	someTime    = time.Unix(0, 0).UTC()
	longestType = strings.Repeat("x", 255)
)

// second goes through all findings again, with what is known of all of them by now,
// and writes the lists.
func (r *run) second(ctx context.Context) error {
	k := r.linker
	if k.facts == nil {
		return nil
	}
	if err := k.facts.finish(); err != nil {
		return err
	}
	for p, err := range snapshot.Merge(r.before(ctx), k.facts.all, (*prior).loc, func(f *fact) string { return f.entry.Loc }) {
		if err != nil {
			return err
		}
		if p.After == nil {
			continue // which would have been a finding, too
		}
		if err := r.write(p.After.finding(r.sets, p.Before)); err != nil {
			return err
		}
	}
	return nil
}

// warnOfUnused names the rules that gave nothing.
func (r *run) warnOfUnused() {
	if r.o.Links != nil {
		for _, why := range r.o.Links.Unused() {
			r.warn("%s", why)
		}
	}
	if v := r.o.Versions; v != nil && !v.matched {
		r.warn("versions: no file matches the patterns")
	}
	if p := r.o.Patches; p != nil && !p.matched {
		r.warn("patches: no file matches the patterns")
	}
	for _, rule := range r.o.Resources {
		if !rule.used {
			r.warn("%s: no file matches the rule", rule.Name)
		}
	}
}
