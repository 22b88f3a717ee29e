package generator

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/internal/patch"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/scanner"
	"github.com/wellspring-sync/wellspring/zipdump"
)

// Patches says that updated resources are published with a description of what changed
// in them, where that is much shorter. See Z39.99-2017 §14.4.
type Patches struct {
	// Match are globs over paths; if there are none, all resources can have patches.
	Match []scanner.Glob

	matched bool
}

const relPatch = "http://www.openarchives.org/rs/terms/patch"

// patched is a description of a change that goes with its event.
type patched struct {
	link    resourcesync.Link // without path
	path    string            // in a package
	content []byte            // nil once all packages are made
}

// describeChange makes a patch for an updated resource, if it is worth it.
func (r *run) describeChange(st *stage, f *finding) error {
	o := r.o.Patches
	if o == nil || st == nil || f.Type != resourcesync.Updated || !f.isUpdatedAnywhere() || f.content == nil || f.size > patch.MaxLength ||
		f.formerLength() > patch.MaxLength || len(o.Match) > 0 && !matchesAny(o.Match, f.Path) {
		return nil
	}
	former, err := f.former()
	if err != nil || former == nil {
		return err
	}
	defer former.Close()
	before, err := io.ReadAll(former)
	if err != nil {
		return fmt.Errorf("reading what %q was: %w", f.Path, err)
	}
	var now bytes.Buffer
	if err := f.content.WriteContent(&now); err != nil {
		return err
	}
	p, err := patch.Make(f.entry.Metadata.Type, before, now.Bytes())
	if err != nil || p == nil {
		return err
	}
	doc, err := st.complete(p.Content)
	if err != nil {
		return err
	}
	ref := r.layout.Patch(doc.digest, p.Extension)
	f.patch = &patched{
		link:    resourcesync.Link{Rel: relPatch, Href: ref.URI, Hash: doc.hash(), Length: doc.length, HasLength: true, Type: p.Type},
		path:    "patches/" + strings.TrimPrefix(zipdump.Path(f.Path), "resources/") + p.Extension,
		content: p.Content,
	}
	if st.all[ref.Path] { // another resource has changed just so
		return doc.discard()
	}
	return st.put(doc, ref, true)
}

// isUpdatedAnywhere reports whether a set has an event that the resource was updated: it
// may have left one and come into another.
func (f *finding) isUpdatedAnywhere() bool {
	return slices.ContainsFunc(f.in, func(m member) bool { return m.change == resourcesync.Updated })
}

// addPatch puts a patch into a package.
func (p *packing) addPatch(x *patched, policy zipdump.Policy, modified time.Time) error {
	b := (&zipdump.Packer{Policy: policy}).New()
	defer b.Close()
	b.Begin(x.link.Type, int64(len(x.content)))
	if _, err := b.Write(x.content); err != nil {
		return err
	}
	if err := b.Finish(); err != nil {
		return err
	}
	if err := p.w.Add(zipdump.Header{Path: x.path, Modified: modified}, b); err != nil {
		return fmt.Errorf("writing a package: %w", err)
	}
	return nil
}

// withoutPaths takes from an entry what is said in packages only.
func withoutPaths(e *resourcesync.Entry) {
	e.Metadata.Path = ""
	for i := range e.Links {
		e.Links[i].Path = ""
	}
}

// obsoletePatches returns the patches that are named in none but Change Lists that
// nothing leads to any more.
func (r *run) obsoletePatches() ([]string, error) {
	named := maps.Clone(r.top.patches)
	if named == nil {
		named = map[string]bool{}
	}
	for _, set := range r.sets {
		for _, list := range set.ended {
			if err := set.eachPatch(list, func(path string) { named[path] = true }); err != nil {
				return nil, err
			}
		}
	}
	if len(named) == 0 {
		return nil, nil
	}
	for _, set := range r.sets {
		for _, list := range set.stayingLists() {
			if err := set.eachPatch(list, func(path string) { delete(named, path) }); err != nil {
				return nil, err
			}
		}
	}
	return slices.Sorted(maps.Keys(named)), nil
}

// stayingLists returns the Change Lists of the last publication that this one still
// leads to, as they were.
func (r *resourceSet) stayingLists() []snapshot.ChangeList {
	if r.isFirst() {
		return nil
	}
	ended := map[string]bool{}
	for _, list := range r.ended {
		ended[list.Path] = true
	}
	return slices.DeleteFunc(r.allLists(), func(list snapshot.ChangeList) bool { return ended[list.Path] })
}

// allLists returns the Change Lists of the last publication, live and archived.
func (r *resourceSet) allLists() []snapshot.ChangeList {
	s := r.prev.snapshot
	lists := slices.Clone(s.Changes)
	if a := s.Archives[resourcesync.ChangeList]; a != nil {
		for _, e := range a.Entries {
			lists = append(lists, snapshot.ChangeList{Ref: e.Ref, From: e.From, Until: e.Until})
		}
	}
	return lists
}

// eachPatch calls fn for the path of each patch that a Change List names.
func (r *resourceSet) eachPatch(list snapshot.ChangeList, fn func(path string)) error {
	return r.prev.snapshot.EachChange(list, func(e *resourcesync.Entry) error {
		eachPatchOf(r.run.layout, e, fn)
		return nil
	})
}

func eachPatchOf(l layout.Layout, e *resourcesync.Entry, fn func(path string)) {
	for i := range e.Links {
		if e.Links[i].Rel != relPatch {
			continue
		}
		if name, ok := l.PathOf(e.Links[i].Href); ok && l.IsPatch(name) {
			fn(name)
		}
	}
}
