package generator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/publish"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/scanner"
	"github.com/wellspring-sync/wellspring/snapshot"
)

// publish writes the documents and commits them, if they have anything new to
// say and no guard objects.
func (r *run) publish(ctx context.Context) error {
	if err := r.checkAmount(); err != nil {
		return err
	}
	if r.o.DryRun {
		return r.foresee()
	}
	at, err := r.compose(ctx)
	if err != nil {
		return err
	}
	if !r.report.Wrote {
		r.report.At = r.prev.last
		return nil
	}
	if err := r.checkUnchanged(); err != nil {
		return err
	}
	if err := r.checkElsewhere(ctx); err != nil {
		return err
	}
	if err := r.tx.Commit(ctx); err != nil {
		return err
	}
	r.report.At = at
	r.report.WrittenBytes = r.stage.written
	r.report.Bodies = r.stage.bodies
	r.report.Packages, r.report.PackageBytes = r.stage.packages, r.stage.packageBytes
	return nil
}

// checkUnchanged makes sure that the publication is still the one that this run
// goes on from.
func (r *run) checkUnchanged() error {
	if r.prev.snapshot == nil {
		return nil
	}
	changed, err := r.prev.snapshot.Changed()
	if err != nil {
		return fmt.Errorf("comparing the publication once more: %w", err)
	}
	if changed {
		return ErrChanged
	}
	return nil
}

// leavesFilesOut reports whether the source has anything but the publication.
func (r *run) leavesFilesOut() bool {
	for why, n := range r.report.LeftOut {
		if n > 0 && why != scanner.Published {
			return true
		}
	}
	return false
}

// checkAmount guards against a source that is not there, or not all there.
func (r *run) checkAmount() error {
	found, gone := r.report.Resources, r.report.Deleted
	if found == 0 && !r.o.AllowEmpty {
		why := "the source has no files to publish"
		if r.leavesFilesOut() {
			why = "everything in the source is left out"
		}
		if gone > 0 {
			why += fmt.Sprintf(": all %d resources would be published as deleted", gone)
		}
		return &Refusal{Why: why, Flag: "--allow-empty"}
	}
	published := found - r.report.Created + gone
	if found > 0 && r.prev.snapshot != nil && !r.o.MaxDelete.allows(gone, published) {
		return &Refusal{
			Why:  fmt.Sprintf("%d of %d resources would be published as deleted, more than %s", gone, published, r.o.MaxDelete),
			Flag: fmt.Sprintf("--max-delete=%d", gone),
		}
	}
	return nil
}

// foresee says what a dry run would write.
func (r *run) foresee() error {
	l, first := r.layout, r.prev.snapshot == nil
	add := func(ref layout.Ref, changes bool) {
		if changes {
			r.report.Heads = append(r.report.Heads, ref.Path)
		}
	}
	events := r.report.Events() > 0
	changes, err := r.foreseeChanges()
	if err != nil {
		return err
	}
	lists := first || events || r.report.Refreshed > 0
	add(l.ChangeDump(), r.o.Dumps.Change && (first || events || r.prev.snapshot.ChangeDump == nil))
	add(changes, first || events)
	add(l.ResourceDump(), r.o.Dumps.Resource && (lists || r.dumpIsStale()))
	add(l.ResourceList(), lists)
	r.foreseeArchives(add, lists)
	for _, d := range r.descriptions() {
		same, err := r.isPublished(d)
		if err != nil {
			return err
		}
		add(d.ref, !same)
	}
	if len(r.report.Heads) > 0 || r.prev.snapshot.Record == nil {
		add(l.Record(), true)
	}
	r.report.Wrote = len(r.report.Heads) > 0
	r.report.At = r.prev.last
	if r.report.Wrote {
		r.report.At = r.at(1)
	}
	return nil
}

// dumpIsStale reports whether the Resource Dump needs other packages although no
// resource has changed.
func (r *run) dumpIsStale() bool {
	dump, rule := r.prev.snapshot.ResourceDump, packagesOf(r.prev.snapshot)
	return dump == nil || dump.Lost != nil || rule == nil || rule.Size != r.o.PackageSize ||
		slices.ContainsFunc(dump.Packages, func(p *snapshot.Package) bool { return p.Lost != nil })
}

// foreseeChanges returns the document that the events will go into: the open
// Change List or, if that has no room, the Index of a new one.
func (r *run) foreseeChanges() (layout.Ref, error) {
	s := r.prev.snapshot
	if s == nil || r.report.Events() == 0 {
		return r.layout.ChangeList(), nil
	}
	open, err := s.OpenList()
	if err != nil {
		return layout.Ref{}, err
	}
	lists, at := r.changeLists(), r.at(1)
	if lists.isOver(open, at) || open.Entries+r.report.Events() > r.o.Rotate.most(r.o.limits.entries) || open.Bytes+r.foreseen > r.events.room {
		return r.layout.ChangeList(), nil
	}
	return open.Ref, nil
}

// compose stages all documents in the order of the commit, and returns the time
// of the publication.
func (r *run) compose(ctx context.Context) (time.Time, error) {
	at := r.at(len(r.events.chunks))
	completed := r.o.Now().UTC().Truncate(time.Second)
	if completed.Before(at) {
		completed = at
	}
	if err := r.checkSpace(); err != nil {
		return at, err
	}
	if err := r.composeLists(ctx, at, completed); err != nil {
		return at, err
	}
	for _, d := range r.descriptions() {
		same, err := r.isPublished(d)
		if err != nil {
			return at, err
		}
		if same {
			continue
		}
		if err := r.stage.putBytes(d.ref, d.content); err != nil {
			return at, err
		}
	}
	first := r.prev.snapshot == nil
	if len(r.stage.heads) == 0 && !first && r.prev.snapshot.Record != nil {
		return at, nil
	}
	r.report.Wrote = true
	return at, r.composeRecord(at, at)
}

func (r *run) composeLists(ctx context.Context, at, completed time.Time) error {
	writeList := !r.list.unchanged() || r.linksChange(resourcesync.ResourceList)
	if writeList {
		if err := r.list.writeBodies(r.layout, at, completed); err != nil {
			return err
		}
	}
	writeDump := r.dump != nil && (writeList || !r.dump.unchanged() || r.linksChange(resourcesync.ResourceDump))
	if writeDump {
		if err := r.dump.writeBodies(); err != nil {
			return err
		}
	}
	if err := r.composeChanges(at); err != nil {
		return err
	}
	if writeDump {
		if err := r.dump.writeHead(at, completed); err != nil {
			return err
		}
	}
	if writeList {
		if err := r.list.writeHead(r.layout, at, completed); err != nil {
			return err
		}
	}
	return r.composeArchives(ctx, writeList, writeDump)
}

// composeChanges stages what tells of the changes: the Change Dump, and the
// Change Lists.
func (r *run) composeChanges(at time.Time) error {
	first := r.prev.snapshot == nil
	if c := r.changes; c != nil {
		if first {
			c.from = at
		}
		if err := c.write(r.events, at); err != nil {
			return err
		}
	}
	r.lists = r.changeLists()
	switch {
	case first:
		return r.lists.first(at)
	case r.events.total > 0:
		return r.lists.write(at)
	case r.lists.linked:
		return r.lists.relink()
	}
	return nil
}

// description is one of the documents that lead to the others.
type description struct {
	ref     layout.Ref
	content []byte
}

func (r *run) descriptions() []description {
	l := r.layout
	capability := func(ref layout.Ref, c resourcesync.Capability) resourcesync.Entry {
		return resourcesync.Entry{Loc: ref.URI, Metadata: resourcesync.Metadata{Capability: c}}
	}
	list := &resourcesync.Document{
		Metadata: resourcesync.Metadata{Capability: resourcesync.CapabilityList},
		Links:    []resourcesync.Link{{Rel: resourcesync.RelUp, Href: l.SourceDescription().URI}},
	}
	source := &resourcesync.Document{Metadata: resourcesync.Metadata{Capability: resourcesync.Description}}
	set := capability(l.CapabilityList(), resourcesync.CapabilityList)
	if r.o.DescribedBy != "" {
		about := resourcesync.Link{Rel: resourcesync.RelDescribedBy, Href: r.o.DescribedBy}
		source.Links, set.Links = append(source.Links, about), append(set.Links, about)
		list.Links = append(list.Links, about)
	}
	capabilities := []resourcesync.Entry{
		capability(l.ResourceList(), resourcesync.ResourceList),
		capability(l.ChangeList(), resourcesync.ChangeList),
	}
	if r.o.Dumps.Resource {
		capabilities = append(capabilities, capability(l.ResourceDump(), resourcesync.ResourceDump))
	}
	if r.o.Dumps.Change {
		capabilities = append(capabilities, capability(l.ChangeDump(), resourcesync.ChangeDump))
	}
	if r.archives != nil {
		for _, kind := range r.archives.kinds {
			capabilities = append(capabilities, capability(l.Archive(string(kind)), kind.Archive()))
		}
	}
	return []description{
		{l.CapabilityList(), mustMarshal(list, capabilities...)},
		{l.SourceDescription(), mustMarshal(source, set)},
	}
}

// mustMarshal is for documents that are made of nothing but checked URIs.
func mustMarshal(d *resourcesync.Document, entries ...resourcesync.Entry) []byte {
	b, err := resourcesync.Marshal(d, entries)
	if err != nil {
		panic(err)
	}
	return b
}

// isPublished reports whether a document is there already. One that cannot be
// read is not taken for another one, which would be published anew.
func (r *run) isPublished(d description) (bool, error) {
	b, err := snapshot.ReadFile(r.out, d.ref.Path)
	if err == nil {
		return bytes.Equal(b, d.content), nil
	}
	if info, err := fs.Stat(r.out, d.ref.Path); err != nil || !info.Mode().IsRegular() {
		return false, nil // not there, or in the way
	}
	return false, fmt.Errorf("looking at what is published: %w", err)
}

// composeRecord stages the record of a publication of the time at, and plans what
// is swept by now.
func (r *run) composeRecord(at, now time.Time) error {
	record := &snapshot.Record{Format: snapshot.RecordFormat, Release: r.o.Release, Identity: r.layout.Identity, At: at}
	if r.dump != nil && !r.dump.written {
		record.Packages = packagesOf(r.prev.snapshot)
	} else if r.dump != nil {
		record.Packages = &snapshot.Packages{Size: r.o.PackageSize, Cutter: layout.PackageCutterVersion}
	}
	var err error
	if record.Heads, err = r.heads(); err != nil {
		return err
	}
	if record.Retired, err = r.retire(now); err != nil {
		return err
	}
	b, err := record.Marshal()
	if err != nil {
		return err
	}
	for _, h := range r.stage.heads {
		r.report.Heads = append(r.report.Heads, h.Path)
	}
	if err := r.stage.putBytes(r.layout.Record(), b); err != nil {
		return err
	}
	r.report.Heads = append(r.report.Heads, r.layout.Record().Path)
	return nil
}

// heads returns the heads of the publication as it will be: those that are
// staged, and those that stay.
func (r *run) heads() ([]snapshot.Head, error) {
	heads := append([]snapshot.Head(nil), r.stage.heads...)
	have := map[string]bool{}
	for _, h := range heads {
		have[h.Path] = true
	}
	l := r.layout
	paths := []string{l.ChangeList().Path, l.ResourceList().Path, l.CapabilityList().Path, l.SourceDescription().Path}
	if r.o.Dumps.Resource {
		paths = append(paths, l.ResourceDump().Path)
	}
	if r.o.Dumps.Change {
		paths = append(paths, l.ChangeDump().Path)
	}
	if r.archives != nil {
		for _, kind := range r.archives.kinds {
			paths = append(paths, l.Archive(string(kind)).Path)
		}
	}
	if s := r.prev.snapshot; s != nil && r.events.total == 0 {
		paths = append(paths, s.Changes[len(s.Changes)-1].Path)
	}
	for _, path := range paths {
		if have[path] {
			continue
		}
		have[path] = true
		h, err := snapshot.HeadOf(r.out, path)
		if err != nil {
			return nil, fmt.Errorf("looking at %s: %w", path, err)
		}
		heads = append(heads, h)
	}
	return heads, nil
}

// retire returns the bodies that are kept although nothing names them any more,
// and plans to remove those that were kept for long enough.
func (r *run) retire(at time.Time) (kept []snapshot.Retired, err error) {
	written := r.stage.paths()
	obsolete, err := r.unreached()
	if err != nil {
		return nil, err
	}
	for _, path := range obsolete {
		if !written[path] {
			kept = append(kept, snapshot.Retired{Path: path, Since: at})
		}
	}
	named, err := r.named()
	if err != nil {
		return nil, err
	}
	for _, b := range r.prev.retired {
		switch {
		case written[b.Path] || named[b.Path]:
		case at.Sub(b.Since) >= r.o.Grace:
			r.tx.Remove(b.Path)
			r.report.Swept++
		default:
			kept = append(kept, b)
		}
	}
	for _, path := range append(r.prev.remove, r.endedHeads()...) {
		if !written[path] && !named[path] {
			r.tx.Remove(path)
			r.report.Swept++
		}
	}
	return kept, nil
}

// unreached returns the bodies of the last publication that neither the live
// documents nor the archives lead to any more.
func (r *run) unreached() (paths []string, err error) {
	archived, candidates, err := r.archives.reached()
	if err != nil {
		return nil, err
	}
	ended, err := r.endedBodies()
	if err != nil {
		return nil, err
	}
	obsolete := r.obsolete()
	seen := map[string]bool{} // and those that stay live
	if s := r.prev.snapshot; s != nil {
		for _, path := range s.Bodies() {
			seen[path] = true
		}
	}
	for _, path := range obsolete {
		delete(seen, path)
	}
	for _, path := range slices.Concat(obsolete, candidates, ended) {
		if !archived[path] && !seen[path] {
			seen[path] = true
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// named returns the bodies that the last publication names. A record that calls
// one of them retired is wrong: they have only been so since this run, if they
// are.
func (r *run) named() (map[string]bool, error) {
	named := map[string]bool{}
	s := r.prev.snapshot
	if s == nil || len(r.prev.retired) == 0 && len(r.prev.remove) == 0 {
		return named, nil
	}
	archived, err := s.ArchivedBodies()
	if err != nil {
		return nil, err
	}
	for _, path := range append(archived, s.Bodies()...) {
		named[path] = true
	}
	return named, nil
}

// obsolete returns the bodies of the last publication that this one does not
// name.
func (r *run) obsolete() []string {
	s := r.prev.snapshot
	if s == nil {
		return r.prev.obsolete
	}
	var paths []string
	if s.Indexed && r.list.reused != nil {
		for _, part := range s.Parts {
			paths = r.drop(paths, r.list.reused, part.Path)
		}
	}
	if r.lists != nil {
		for _, list := range r.lists.dropped {
			paths = append(paths, list.Path)
		}
	}
	return append(paths, r.obsoleteDumps(s)...)
}

// drop appends a path that is not used again to the others.
func (r *run) drop(paths []string, reused map[string]bool, path string) []string {
	if reused[path] {
		r.report.Reused++
		return paths
	}
	return append(paths, path)
}

// obsoleteDumps returns the packages, manifests and parts of dumps that are
// named no more.
func (r *run) obsoleteDumps(s *snapshot.Snapshot) (paths []string) {
	add := func(reused map[string]bool, packages []*snapshot.Package) {
		for _, p := range packages {
			for _, path := range [...]string{p.Path, p.Manifest.Path} {
				if p.Lost == nil || r.isThere(path) {
					paths = r.drop(paths, reused, path)
				}
			}
		}
	}
	addParts := func(parts []snapshot.Part) {
		for _, part := range parts {
			if r.isThere(part.Path) {
				paths = append(paths, part.Path)
			}
		}
	}
	if dump := s.ResourceDump; dump != nil && (r.dump == nil || r.dump.written) {
		var reused map[string]bool
		if r.dump != nil {
			reused = r.dump.reused
		}
		add(reused, dump.Packages)
		addParts(dump.Parts)
	}
	if dump := s.ChangeDump; dump != nil {
		if r.changes == nil {
			add(nil, dump.Packages)
		} else {
			add(nil, r.changes.dropped)
		}
		if r.changes == nil || r.changes.written {
			addParts(dump.Parts)
		}
	}
	return paths
}

func (r *run) isThere(path string) bool {
	_, err := fs.Stat(r.out, path)
	return err == nil
}

// endedHeads returns the heads of dumps and archives that are published no more.
func (r *run) endedHeads() (paths []string) {
	for _, kind := range r.endedArchives() {
		paths = append(paths, r.layout.Archive(string(kind)).Path)
	}
	s := r.prev.snapshot
	if s != nil && s.ResourceDump != nil && r.dump == nil {
		paths = append(paths, r.layout.ResourceDump().Path)
	}
	if s != nil && s.ChangeDump != nil && r.changes == nil {
		paths = append(paths, r.layout.ChangeDump().Path)
	}
	return paths
}

// checkSpace makes sure that what has to be written in addition to the staged
// pieces has room.
func (r *run) checkSpace() error {
	free, err := publish.Free(r.tx.Root())
	if err != nil {
		if !errors.Is(err, errors.ErrUnsupported) {
			r.o.Log.Info("could not find out how much space is free", "error", err)
		}
		return nil
	}
	need := r.list.toWrite() + r.events.toWrite()
	if s := r.prev.snapshot; s != nil && r.events.total > 0 {
		if info, err := fs.Stat(r.out, s.Changes[len(s.Changes)-1].Path); err == nil {
			need += info.Size()
		}
	}
	if need <= free {
		return nil
	}
	return &Refusal{Why: fmt.Sprintf("too little space in the output directory: %d bytes are needed, %d are free", need, free)}
}
