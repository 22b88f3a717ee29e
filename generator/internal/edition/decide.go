package edition

import (
	"context"
	"slices"
	"time"

	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/internal/stage"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// Decision says what becomes of the documents of a set.
type Decision struct {
	set    *last.Set
	events *eventDraft // nil if the set is pruned
	rules  Rules
	times  Times

	list       listDecision
	dump       dumpDecision
	changeDump changeDumpDecision
	changes    changesDecision
	archives   archivesDecision
}

// Decide decides on all documents of a set, once its draft is sealed.
func (d *Draft) Decide(times Times) (*Decision, error) {
	x := &Decision{set: d.set, events: d.events, rules: d.rules, times: times}
	x.list = d.list.decide(linksChange(d.set, resourcesync.ResourceList))
	x.dump = d.dump.decide(d.set, x.list.write, d.rules.Limits)
	if d.set.Options.Dumps.Change {
		x.changeDump = decideChangeDump(d.set, d.events.count(), times)
	}
	var err error
	if x.changes, err = (&changesDecider{d.set, d.events, times}).decide(); err != nil {
		return nil, err
	}
	x.archives = decideArchives(d.set, superseded{
		list: x.list.write, dump: x.dump.write, lists: x.changes.dropped, packages: x.changeDump.dropped,
	})
	return x, nil
}

// DecidePrune decides what pruning at a time makes of the documents of a set.
func DecidePrune(set *last.Set, rules Rules, now time.Time) *Decision {
	x := &Decision{set: set, rules: rules, times: Times{At: now, Completed: now}}
	c := &changesDecider{set: set, times: x.times}
	if kept := x.changes.retain(c, set.Snapshot.Changes, now); len(x.changes.dropped) > 0 {
		x.changes.index = kept
	}
	if dump := set.Snapshot.ChangeDump; dump != nil {
		d := changeDumpDecision{from: dump.From, kept: dump.Packages}
		if d.retain(set, now); len(d.dropped) > 0 {
			d.write = true
			x.changeDump = d
		}
	}
	x.archives = decideArchives(set, superseded{lists: x.changes.dropped, packages: x.changeDump.dropped, thin: true})
	return x
}

// Dropped counts the Change Lists, packages of the Change Dump and archived snapshots that
// are named no more where they were.
func (d *Decision) Dropped() (lists, packages, snapshots int) {
	return len(d.changes.dropped), len(d.changeDump.dropped), d.archives.thinned()
}

// Document is one that is a capability of a set.
type Document struct {
	layout.Ref
	Capability resourcesync.Capability
}

// Documents returns the documents that the Capability List of a set names.
func Documents(set *last.Set) []Document {
	l, dumps := set.Layout, set.Options.Dumps
	all := []Document{{l.ResourceList(), resourcesync.ResourceList}, {l.ChangeList(), resourcesync.ChangeList}}
	if dumps.Resource {
		all = append(all, Document{l.ResourceDump(), resourcesync.ResourceDump})
	}
	if dumps.Change {
		all = append(all, Document{l.ChangeDump(), resourcesync.ChangeDump})
	}
	for _, kind := range kindsOf(set) {
		all = append(all, Document{l.Archive(string(kind)), kind.Archive()})
	}
	return all
}

// Heads returns the paths of the heads that are written, in the order of the commit.
func (d *Decision) Heads() (paths []string) {
	l := d.set.Layout
	add := func(path string, writes bool) {
		if writes {
			paths = append(paths, path)
		}
	}
	add(l.ChangeDump().Path, d.changeDump.write)
	paths = append(paths, d.changes.heads(l.ChangeList().Path)...)
	add(l.ResourceDump().Path, d.dump.write)
	add(l.ResourceList().Path, d.list.write)
	return append(paths, d.archives.heads()...)
}

// Tells reports whether documents are written of which notifications tell.
func (d *Decision) Tells() bool {
	return d.changeDump.write || d.dump.write || d.list.write || d.changes.open() != "" || len(d.archives.heads()) > 0
}

// OpenList returns the path of the open Change List, as it will be.
func (d *Decision) OpenList() string {
	if path := d.changes.open(); path != "" {
		return path
	}
	lists := d.set.Snapshot.Changes
	return lists[len(lists)-1].Path
}

// DumpIsIndexed reports whether the Resource Dump leads to packages only by way of other
// documents.
func (d *Decision) DumpIsIndexed() bool { return d.dump.indexed }

// Packages is how the packages of the Resource Dump are cut, or nil if there is none.
func (d *Decision) Packages() *snapshot.Packages {
	switch {
	case !d.set.Options.Dumps.Resource:
		return nil
	case d.dump.write:
		return &snapshot.Packages{Size: d.set.Options.PackageSize, Cutter: layout.PackageCutterVersion}
	}
	return d.set.Packages()
}

// Written is what came of a decision.
type Written struct {
	// Told are the documents of which notifications tell.
	Told []Told
	// Archived are documents that were made for archives, with all files that they lead to.
	Archived map[string]bool
}

// Write stages the documents, in the order of the commit.
func (d *Decision) Write(ctx context.Context, to *stage.Placer) (*Written, error) {
	out := &writer{Placer: to}
	archives := &archiveWriter{out: out, set: d.set, limits: d.rules.Limits, made: map[string]bool{}}
	if err := d.writeLists(out); err != nil {
		return nil, err
	}
	err := archives.write(ctx, &d.archives)
	return &Written{Told: out.told, Archived: archives.made}, err
}

func (d *Decision) writeLists(out *writer) error {
	list := &listWriter{out: out, set: d.set, times: d.times}
	dump := &dumpWriter{out: out, set: d.set, limits: d.rules.Limits, times: d.times}
	changes := &changesWriter{out: out, set: d.set, times: d.times, events: d.events}
	changeDump := &changeDumpWriter{out: out, set: d.set, rules: d.rules, events: d.events}
	for _, step := range [...]struct {
		wanted bool
		do     func() error
	}{
		{d.list.write, func() error { return list.writeBodies(d.list.parts) }},
		{d.dump.write, func() error { return dump.writeBodies(d.dump.pieces) }},
		{d.changeDump.write, func() error { return changeDump.write(&d.changeDump) }},
		{true, func() error { return changes.write(&d.changes) }},
		{d.dump.write, dump.writeHead},
		{d.list.write, func() error { return list.writeHead(&d.list) }},
	} {
		if !step.wanted {
			continue
		}
		if err := step.do(); err != nil {
			return err
		}
	}
	return nil
}

// Unreached returns the bodies of the last publication that neither the live documents
// nor the archives lead to any more, but for documents that are made for these. What is not
// there does not count. Reused is how many bodies stay in use.
func (d *Decision) Unreached(isThere func(path string) bool) (paths []string, reused int, err error) {
	archived, thinned, err := d.archives.reach()
	if err != nil {
		return nil, 0, err
	}
	ended, err := d.endedBodies()
	if err != nil {
		return nil, 0, err
	}
	o := &obsolete{isThere: isThere}
	seen := map[string]bool{} // and those that stay live
	if !d.set.IsFirst() {
		d.findObsolete(o)
		for _, path := range d.set.Snapshot.Bodies() {
			seen[path] = true
		}
	}
	for _, path := range o.paths {
		delete(seen, path)
	}
	for _, path := range slices.Concat(o.paths, thinned, ended) {
		if !archived[path] && !seen[path] {
			seen[path] = true
			paths = append(paths, path)
		}
	}
	return paths, o.reused, nil
}

// endedBodies returns the bodies that the archives led to which end.
func (d *Decision) endedBodies() (paths []string, err error) {
	for _, kind := range endedKinds(d.set) {
		a := d.set.Snapshot.Archives[kind]
		for i := range a.Entries {
			reached, err := d.set.Snapshot.Reached(&a.Entries[i])
			if err != nil {
				return nil, err
			}
			paths = append(paths, reached...)
		}
		for _, p := range a.Parts {
			paths = append(paths, p.Path)
		}
	}
	return paths, nil
}

// findObsolete finds the bodies that live documents name no more.
func (d *Decision) findObsolete(o *obsolete) {
	d.list.obsolete(d.set, o)
	o.paths = append(o.paths, d.changes.droppedPaths()...)
	d.dump.obsolete(d.set, o)
	d.changeDump.obsolete(d.set, o)
}

// Ended returns the paths of archives and of dumps that are published no more.
func (d *Decision) Ended() (archives, dumps []string) {
	l, s, wanted := d.set.Layout, d.set.Snapshot, d.set.Options.Dumps
	for _, kind := range endedKinds(d.set) {
		archives = append(archives, l.Archive(string(kind)).Path)
	}
	if s != nil && s.ResourceDump != nil && !wanted.Resource {
		dumps = append(dumps, l.ResourceDump().Path)
	}
	if s != nil && s.ChangeDump != nil && !wanted.Change {
		dumps = append(dumps, l.ChangeDump().Path)
	}
	return archives, dumps
}
