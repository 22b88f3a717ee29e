package edition

import (
	"fmt"
	"slices"
	"time"

	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// kindsOf returns the kinds of documents that a set archives: those that it has, and those
// of which there are archives.
func kindsOf(set *last.Set) (kinds []resourcesync.Capability) {
	if !set.HasArchives() {
		return nil
	}
	for _, k := range [...]struct {
		kind resourcesync.Capability
		has  bool
	}{
		{resourcesync.ResourceList, true},
		{resourcesync.ChangeList, true},
		{resourcesync.ResourceDump, set.Options.Dumps.Resource},
		{resourcesync.ChangeDump, set.Options.Dumps.Change},
	} {
		if k.has || archiveOf(set, k.kind) != nil {
			kinds = append(kinds, k.kind)
		}
	}
	return kinds
}

func archiveOf(set *last.Set, kind resourcesync.Capability) *snapshot.Archive {
	if set.IsFirst() {
		return nil
	}
	return set.Snapshot.Archives[kind]
}

func isArchived(set *last.Set, kind resourcesync.Capability) bool {
	return slices.Contains(kindsOf(set), kind)
}

// archivesDecision says what becomes of the archives: the documents that are not live any
// more. See Archives 0.9.1.
type archivesDecision struct {
	set   *last.Set
	kinds []archiveDecision
	// packages, if there are any, become an archived Change Dump.
	packages []*snapshot.Package
}

// archiveDecision says what becomes of the archive of one kind.
type archiveDecision struct {
	kind  resourcesync.Capability
	write bool
	// entries are those that it has, in the order of time. One without a path is made by
	// this run.
	entries []snapshot.Archived
	thinned []snapshot.Archived // archived no more, the latest first
}

// superseded are documents of the last publication that this one replaces or leaves out.
type superseded struct {
	list, dump bool
	lists      []snapshot.ChangeList
	packages   []*snapshot.Package
	// thin says to thin snapshots out also where nothing is added.
	thin bool
}

// decideArchives decides on the archives of a set.
func decideArchives(set *last.Set, s superseded) archivesDecision {
	d := archivesDecision{set: set}
	for _, kind := range kindsOf(set) {
		a := archiveDecision{kind: kind, write: true}
		if before := archiveOf(set, kind); before != nil {
			a.entries, a.write = slices.Clone(before.Entries), set.Restyles()
		}
		if added := s.of(set, kind); len(added) > 0 {
			a.entries, a.write = append(a.entries, added...), true
		}
		if kind == resourcesync.ResourceList || kind == resourcesync.ResourceDump {
			a.thin(set, s.thin)
		}
		d.kinds = append(d.kinds, a)
	}
	if isArchived(set, resourcesync.ChangeDump) {
		d.packages = s.packages
	}
	return d
}

// of returns what is added to the archive of a kind.
func (s *superseded) of(set *last.Set, kind resourcesync.Capability) (added []snapshot.Archived) {
	if set.IsFirst() {
		return nil
	}
	switch was := set.Snapshot; {
	case kind == resourcesync.ResourceList && s.list:
		added = append(added, snapshot.Archived{Kind: kind, At: was.At, Completed: was.Completed})
	case kind == resourcesync.ResourceDump && s.dump && was.ResourceDump != nil && was.ResourceDump.IsWhole():
		added = append(added, snapshot.Archived{Kind: kind, At: was.ResourceDump.At, Completed: was.ResourceDump.Completed})
	case kind == resourcesync.ChangeList:
		for _, l := range s.lists {
			added = append(added, snapshot.Archived{Ref: l.Ref, Kind: kind, From: l.From, Until: l.Until, Hash: l.Hash, Length: l.Length})
		}
	case kind == resourcesync.ChangeDump && len(s.packages) > 0:
		added = append(added, snapshot.Archived{Kind: kind, From: s.packages[0].From, Until: s.packages[len(s.packages)-1].Until})
	}
	return added
}

// thin drops the snapshots that need not be kept. Where nothing else changes, that does
// so only if it is asked for.
func (a *archiveDecision) thin(set *last.Set, alone bool) {
	if !a.write && !alone {
		return
	}
	times := make([]time.Time, len(a.entries))
	for i := range a.entries {
		times[i] = a.entries[i].At
	}
	var kept []snapshot.Archived
	for i, keep := range set.Options.ArchiveKeep.Thin(times) {
		if keep {
			kept = append(kept, a.entries[i])
		} else {
			a.thinned = append(a.thinned, a.entries[i])
		}
	}
	slices.Reverse(a.thinned)
	a.entries = kept
	a.write = a.write || len(a.thinned) > 0
}

// heads returns the paths of the archives that are written.
func (d *archivesDecision) heads() (paths []string) {
	for i := range d.kinds {
		if a := &d.kinds[i]; a.write {
			paths = append(paths, d.set.Layout.Archive(string(a.kind)).Path)
		}
	}
	return paths
}

// thinned counts the documents that are archived no more.
func (d *archivesDecision) thinned() (n int) {
	for i := range d.kinds {
		n += len(d.kinds[i].thinned)
	}
	return n
}

// endedKinds returns the kinds whose archives end with this run.
func endedKinds(set *last.Set) (ended []resourcesync.Capability) {
	if set.IsFirst() {
		return nil
	}
	for kind := range set.Snapshot.Archives {
		if !isArchived(set, kind) {
			ended = append(ended, kind)
		}
	}
	slices.Sort(ended)
	return ended
}

// reach returns the paths of all files that the archives lead to, but for documents that
// are made by this run, and of those that only thinned documents did.
func (d *archivesDecision) reach() (kept map[string]bool, thinned []string, err error) {
	kept = map[string]bool{}
	for i := range d.kinds {
		a := &d.kinds[i]
		for j := range a.entries {
			if a.entries[j].Path == "" {
				continue
			}
			if err := d.follow(&a.entries[j], func(path string) { kept[path] = true }); err != nil {
				return nil, nil, err
			}
		}
		if before := archiveOf(d.set, a.kind); a.write && before != nil {
			for _, p := range before.Parts {
				thinned = append(thinned, p.Path)
			}
		}
		for j := range a.thinned {
			if err := d.follow(&a.thinned[j], func(path string) { thinned = append(thinned, path) }); err != nil {
				return nil, nil, err
			}
		}
	}
	for _, p := range d.packages {
		kept[p.Path], kept[p.Manifest.Path] = true, true
	}
	return kept, thinned, nil
}

// follow calls found for a document and what it leads to.
func (d *archivesDecision) follow(e *snapshot.Archived, found func(path string)) error {
	paths, err := d.set.Snapshot.Reached(e) // a Change List, as it may have been added, leads to nothing
	if err != nil {
		return fmt.Errorf("reading the archives: %w", err)
	}
	for _, path := range paths {
		found(path)
	}
	return nil
}
