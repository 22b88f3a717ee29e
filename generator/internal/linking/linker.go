// Package linking says of resources more than their bytes do: links by rule, what they
// were before, and how they have changed (Z39.99-2017 §14). It adds to findings, stages
// the files that go with them, and names no document. How much it can add is known
// before it does, and whether or not anything is written.
package linking

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"

	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/internal/survey"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/httpclient"
	"github.com/wellspring-sync/wellspring/internal/links"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// LinkOptions say what a Linker knows of resources. They are only read.
type LinkOptions struct {
	Rules     []policy.LinkRule
	Resources policy.ResourceRules
	Layout    layout.Layout
	// Previous is where the last publication is. What is sent there is sent to no other
	// server with lists of other Sources.
	Previous policy.Previous
	Release  string
}

// Linker says what resources link to by rule, and what else rules say of them.
type Linker struct {
	o     LinkOptions
	rules *links.Rules // nil if there are none
	tally *links.Tally
	// facts is nil if no link leads to a file of the source. Else it gathers what
	// is known of all resources, so that an entry can say something of one that
	// comes later in the order of URIs; the lists are then written in a second
	// pass over it.
	facts *facts
	// lists are those of other Sources, by where they are.
	lists map[string]*links.List
	used  []bool // which rules said how often something changes, by their numbers
}

// NewLinker checks the rules, and reads the lists of other Sources to which they lead.
func NewLinker(ctx context.Context, o LinkOptions) (*Linker, error) {
	k := &Linker{o: o, lists: map[string]*links.List{}, used: make([]bool, len(o.Resources))}
	if len(o.Rules) == 0 {
		return k, nil
	}
	var err error
	if k.rules, err = links.New(o.Rules); err != nil {
		return nil, err
	}
	k.tally = k.rules.NewTally()
	if err := k.open(ctx); err != nil {
		k.Close()
		return nil, err
	}
	return k, nil
}

// open reads the lists, and makes the file for facts if rules need it.
func (k *Linker) open(ctx context.Context) (err error) {
	for _, place := range k.rules.Lists() {
		list, err := links.ReadList(ctx, place, headerFor(place, &k.o.Previous), k.o.Release)
		if err != nil {
			return fmt.Errorf("reading the Resource List %s for links to it: %w", httpclient.Redacted(place), err)
		}
		k.lists[place] = list
	}
	if !k.rules.NeedsFiles {
		return nil
	}
	if k.facts, err = newFacts(); err != nil {
		return fmt.Errorf("making a temporary file: %w", err)
	}
	return nil
}

// headerFor returns what is sent to a server beside what all are sent: only that of
// the last publication gets what the user gave for it.
func headerFor(place string, previous *policy.Previous) http.Header {
	own, err := url.Parse(previous.Place)
	other, errOther := url.Parse(place)
	if err != nil || errOther != nil || own.Host == "" || !httpclient.IsWithin(own, other) {
		return nil
	}
	return previous.Header
}

// Close removes what is held in temporary files. It does nothing if k is nil.
func (k *Linker) Close() {
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

// IsDeferred reports whether nothing can be said of a resource before all are known, so
// that findings are deferred, and described when they are yielded again.
func (k *Linker) IsDeferred() bool { return k.facts != nil }

// Defer remembers a finding, without its content. They come in the order of URIs.
func (k *Linker) Defer(f *survey.Finding) error { return k.facts.add(f) }

// Deferred yields all findings that were deferred, with what was published of them in the
// sets of the run, in the order of URIs. It yields nothing if IsDeferred is false. Findings
// are valid until the next.
func (k *Linker) Deferred(ctx context.Context, sets []*last.Set) iter.Seq2[*survey.Finding, error] {
	return func(yield func(*survey.Finding, error) bool) {
		if k.facts == nil {
			return
		}
		if err := k.facts.finish(); err != nil {
			yield(nil, err)
			return
		}
		for p, err := range snapshot.Merge(survey.Before(ctx, sets), k.facts.all, (*survey.Prior).Loc, (*fact).loc) {
			if err != nil {
				yield(nil, err)
				return
			}
			// What has no fact would have been a finding, too.
			if p.After != nil && !yield(p.After.finding(sets, p.Before), nil) {
				return
			}
		}
	}
}

// plan returns the links that rules give to a resource. The tally may be nil.
func (k *Linker) plan(f *survey.Finding, tally *links.Tally) ([]links.Planned, error) {
	if k.rules == nil || f.Type == resourcesync.Deleted {
		return nil, nil
	}
	planned, err := k.rules.Plan(f.Resource(), tally)
	if err != nil {
		return nil, fmt.Errorf("links: %w", err)
	}
	return planned, nil
}

// Describe adds to an entry what rules say of the resource.
func (k *Linker) Describe(f *survey.Finding) error {
	if f.Type == resourcesync.Deleted {
		return nil
	}
	if i := k.o.Resources.ChangeFreqOf(f.Path); i >= 0 {
		f.Entry.ChangeFreq, k.used[i] = k.o.Resources[i].ChangeFreq, true
	}
	planned, err := k.plan(f, k.tally)
	if err != nil {
		return err
	}
	for _, p := range planned {
		l, isThere, err := k.complete(p)
		if err != nil {
			return err
		}
		if isThere {
			f.Entry.Links = append(f.Entry.Links, l)
		}
	}
	return nil
}

// complete returns a link with what is known of what it leads to, and reports whether
// that is there.
func (k *Linker) complete(p links.Planned) (l resourcesync.Link, isThere bool, err error) {
	what := p.File
	switch {
	case p.File != "":
		l, isThere, err = k.toFile(p)
	case p.List != "":
		what = p.Link.Href
		l, isThere, err = k.toOriginal(p)
	default:
		return p.Link, true, nil
	}
	if err != nil || !isThere {
		k.tally.Missing(p.Rule, what)
		return l, false, err
	}
	k.tally.Used(p.Rule)
	return l, true, nil
}

// toFile completes a link to a file of the source.
func (k *Linker) toFile(p links.Planned) (l resourcesync.Link, isThere bool, err error) {
	uri := k.o.Resources.URI(k.o.Layout, p.File)
	target, ok, err := k.facts.find(uri, p.File)
	if l = p.Link; err != nil || !ok || l.Rel == "profile" { // which goes with the link, and leads elsewhere
		return l, ok, err
	}
	l.Href = uri
	md := &target.Metadata
	l.Modified, l.Hash, l.Length, l.HasLength = target.LastModified, md.Hash, md.Length, md.HasLength
	l.Encoding = md.Encoding
	if l.Type == "" {
		l.Type = md.Type
	}
	return l, true, nil
}

// toOriginal completes a link to a resource of another Source, if that lists it.
func (k *Linker) toOriginal(p links.Planned) (l resourcesync.Link, isThere bool, err error) {
	if l, isThere, err = k.lists[p.List].Find(p.Link.Href); err != nil || !isThere {
		return l, false, err
	}
	l.Pri = p.Link.Pri
	if p.Link.Type != "" {
		l.Type = p.Link.Type
	}
	return l, true, nil
}

// Warnings names the rules that gave nothing, once all findings are described. Used says
// which rules about resources the survey used, by their numbers.
func (k *Linker) Warnings(used []bool) (warnings []string) {
	if k.rules != nil {
		warnings = k.tally.Unused()
	}
	for i := range k.o.Resources {
		if !used[i] && !k.used[i] {
			warnings = append(warnings, k.o.Resources[i].Name+": no file matches the rule")
		}
	}
	return warnings
}
