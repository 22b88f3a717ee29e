package generator

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// archives are the documents that are not live any more, as they will be
// published. See Archives 0.9.1.
type archives struct {
	stage  *stage
	layout layout.Layout
	limits limits
	last   *snapshot.Snapshot // nil if there is none
	keep   ArchiveKeep
	kinds  []resourcesync.Capability
	// entries are those of each archive, in the order of time.
	entries map[resourcesync.Capability][]snapshot.Archived
	// changed are the archives that say something else than before.
	changed map[resourcesync.Capability]bool
	// reachedBy is what documents lead to that are archived by this run.
	reachedBy map[string][]string
	// thinned are documents that are archived no more.
	thinned []snapshot.Archived
}

// hasArchives reports whether there are archives: if that is asked for or, when
// nothing is said of it, if there were some.
func (r *resourceSet) hasArchives() bool {
	if r.o.Archive != nil {
		return *r.o.Archive
	}
	return r.prev.snapshot != nil && len(r.prev.snapshot.Archives) > 0
}

// newArchives returns nil if there are none.
func (r *resourceSet) newArchives() *archives {
	if !r.hasArchives() {
		return nil
	}
	a := &archives{
		stage: r.stage, layout: r.layout, limits: r.o.limits, last: r.prev.snapshot, keep: r.o.ArchiveKeep,
		entries: map[resourcesync.Capability][]snapshot.Archived{}, changed: map[resourcesync.Capability]bool{},
		reachedBy: map[string][]string{},
	}
	for _, k := range [...]struct {
		kind   resourcesync.Capability
		wanted bool
	}{
		{resourcesync.ResourceList, true},
		{resourcesync.ChangeList, true},
		{resourcesync.ResourceDump, r.o.Dumps.Resource},
		{resourcesync.ChangeDump, r.o.Dumps.Change},
	} {
		kind := k.kind
		var was *snapshot.Archive
		if a.last != nil {
			was = a.last.Archives[kind]
		}
		switch {
		case was != nil:
			a.entries[kind] = slices.Clone(was.Entries)
			a.changed[kind] = r.restyles()
		case k.wanted:
			a.changed[kind] = true
		default:
			continue
		}
		a.kinds = append(a.kinds, kind)
	}
	return a
}

// links returns what leads from a live document of a kind to its archive. It
// does nothing if a is nil.
func (a *archives) links(kind resourcesync.Capability) []resourcesync.Link {
	if a == nil || !slices.Contains(a.kinds, kind) {
		return nil
	}
	return []resourcesync.Link{{Rel: resourcesync.RelArchives, Href: a.layout.Archive(string(kind)).URI}}
}

// linksChange reports whether live documents of a kind lead to an archive and
// did not, or the reverse, or have another style sheet.
func (r *resourceSet) linksChange(kind resourcesync.Capability) bool {
	s := r.prev.snapshot
	return s != nil && (s.Archives[kind] != nil) != (r.archives.links(kind) != nil) || r.restyles()
}

// restyles reports whether the documents that are published have another style sheet,
// or none. Those that change in place are then written again; bodies stay as they are.
func (r *resourceSet) restyles() bool {
	s := r.prev.snapshot
	return s != nil && s.Style != r.layout.StyleFor(r.layout.ResourceList())
}

// add archives a document that is superseded.
func (a *archives) add(e snapshot.Archived) {
	a.entries[e.Kind] = append(a.entries[e.Kind], e)
	a.changed[e.Kind] = true
}

// addDocument stages a document to be archived, which leads to other files.
func (a *archives) addDocument(e snapshot.Archived, at time.Time, b []byte, reached []string) error {
	doc, err := a.stage.complete(b)
	if err != nil {
		return err
	}
	e.Ref = a.layout.Archived(string(e.Kind), at, doc.digest)
	e.Hash, e.Length = doc.hash(), doc.length
	a.add(e)
	a.reachedBy[e.Path] = append(reached, e.Path)
	return a.stage.put(doc, e.Ref, true)
}

// addResourceList archives the last Resource List: its Index as it is, or one
// over parts if it has none.
func (a *archives) addResourceList(ctx context.Context) error {
	s := a.last
	e := snapshot.Archived{Kind: resourcesync.ResourceList, At: s.At, Completed: s.Completed}
	if s.Indexed {
		var parts []string
		for _, p := range s.Parts {
			parts = append(parts, p.Path)
		}
		return a.addHead(e, s.At, parts)
	}
	index, err := a.cutResourceList(ctx, e.At, e.Completed)
	if err != nil {
		return err
	}
	head := resourceListHead(a.layout, false, e.At, e.Completed)
	head.Index, head.Style = true, a.styleAt(e.Kind, e.At)
	b, err := resourcesync.Marshal(&head, index)
	if err != nil {
		return err
	}
	var parts []string
	for _, part := range index {
		path, _ := a.layout.PathOf(part.Loc)
		parts = append(parts, path)
	}
	return a.addDocument(e, e.At, b, parts)
}

// addHead archives the live document of a kind as it is, but for where its style sheet
// is.
func (a *archives) addHead(e snapshot.Archived, at time.Time, reached []string) error {
	b, err := a.last.ReadHead(e.Kind)
	if err != nil {
		return err
	}
	return a.addDocument(e, at, resourcesync.SetStyle(b, a.styleAt(e.Kind, at)), reached)
}

// styleAt returns the reference to the style sheet in an archived document.
func (a *archives) styleAt(kind resourcesync.Capability, at time.Time) string {
	return a.layout.StyleFor(a.layout.Archived(string(kind), at, [32]byte{}))
}

// addResourceDump archives the last Resource Dump, unless some of it is lost.
func (a *archives) addResourceDump() error {
	dump := a.last.ResourceDump
	if dump == nil || !dump.IsWhole() {
		return nil
	}
	return a.addHead(snapshot.Archived{Kind: resourcesync.ResourceDump, At: dump.At, Completed: dump.Completed}, dump.At, dump.Bodies())
}

// addChangeLists archives lists that the Index names no more.
func (a *archives) addChangeLists(lists []snapshot.ChangeList) {
	for _, l := range lists {
		a.add(snapshot.Archived{
			Ref: l.Ref, Kind: resourcesync.ChangeList, From: l.From, Until: l.Until, Hash: l.Hash, Length: l.Length,
		})
		a.reachedBy[l.Path] = []string{l.Path}
	}
}

// addPackages archives packages that the Change Dump names no more, as a Change
// Dump of their own.
func (a *archives) addPackages(packages []*snapshot.Package) error {
	if len(packages) == 0 {
		return nil
	}
	from, until := packages[0].From, packages[len(packages)-1].Until
	head := dumpHead(a.layout, resourcesync.Metadata{Capability: resourcesync.ChangeDump, From: from, Until: until})
	head.Style = a.styleAt(resourcesync.ChangeDump, until)
	entries, paths := make([]resourcesync.Entry, len(packages)), []string(nil)
	for i, p := range packages {
		entries[i] = packageEntry(p)
		paths = append(paths, p.Path, p.Manifest.Path)
	}
	b, err := resourcesync.Marshal(&head, entries)
	if err != nil {
		return err
	}
	return a.addDocument(snapshot.Archived{Kind: resourcesync.ChangeDump, From: from, Until: until}, until, b, paths)
}

// cutResourceList divides the last Resource List into parts, as that of an Index
// would be, and stages those that the last archived one does not have.
func (a *archives) cutResourceList(ctx context.Context, at, completed time.Time) ([]resourcesync.Entry, error) {
	known, err := a.knownParts()
	if err != nil {
		return nil, err
	}
	head := resourceListHead(a.layout, true, at, completed)
	c := partCutter{cutter: layout.Cutter{MaxEntries: a.limits.entries, MaxBytes: a.limits.bytes - manifestRoom/2, Bits: a.limits.cutBits}}
	var index []resourcesync.Entry
	c.full = func(entries []byte) error {
		part, ok := known[sha256.Sum256(entries)]
		if !ok {
			if part, err = a.putPart(&head, entries); err != nil {
				return err
			}
		}
		index = append(index, partEntry(part))
		return nil
	}
	last := *a.last
	last.Cutter = nil // where the resources are packed is not asked
	for e, err := range last.Resources(ctx) {
		if err == nil {
			err = c.add(&e.Entry)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := c.flush(); err != nil {
		return nil, err
	}
	return index, nil
}

func (a *archives) putPart(head *resourcesync.Document, entries []byte) (snapshot.Part, error) {
	b, err := resourcesync.AppendHead(nil, head)
	if err != nil {
		return snapshot.Part{}, err
	}
	doc, err := a.stage.complete(resourcesync.AppendFoot(append(b, entries...), false))
	if err != nil {
		return snapshot.Part{}, err
	}
	part := snapshot.Part{
		Ref: a.layout.ResourceListPart(doc.digest), At: head.Metadata.At, Completed: head.Metadata.Completed, Hash: doc.hash(), Length: doc.length,
	}
	return part, a.stage.put(doc, part.Ref, true)
}

// knownParts returns the parts of the archived Resource List that is the
// latest, by the digests of their entries.
func (a *archives) knownParts() (map[[sha256.Size]byte]snapshot.Part, error) {
	list := a.entries[resourcesync.ResourceList]
	known := map[[sha256.Size]byte]snapshot.Part{}
	if len(list) == 0 {
		return known, nil
	}
	parts, err := a.last.PartsOf(&list[len(list)-1])
	if err != nil {
		return nil, err
	}
	foot := resourcesync.AppendFoot(nil, false)
	for _, p := range parts {
		b, err := a.last.ReadPart(&p)
		if err != nil {
			return nil, err
		}
		if start := bytes.Index(b, []byte("<url>")); start >= 0 {
			known[sha256.Sum256(bytes.TrimSuffix(b[start:], foot))] = p
		}
	}
	return known, nil
}

// partCutter gathers the entries of parts.
type partCutter struct {
	cutter layout.Cutter
	buf    []byte // of entries, in their published form
	full   func(entries []byte) error
}

func (c *partCutter) add(e *resourcesync.Entry) error {
	begin := len(c.buf)
	buf, err := resourcesync.AppendEntry(c.buf, false, e)
	if err != nil {
		return err
	}
	c.buf = buf
	if c.cutter.Before(len(c.buf) - begin) {
		next := slices.Clone(c.buf[begin:])
		c.buf = c.buf[:begin]
		if err := c.flush(); err != nil {
			return err
		}
		c.buf = append(c.buf, next...)
	}
	if _, cut := c.cutter.After(layout.PointOf(e.Loc)); cut {
		return c.flush()
	}
	return nil
}

func (c *partCutter) flush() error {
	if len(c.buf) == 0 {
		return nil
	}
	err := c.full(c.buf)
	c.buf = c.buf[:0]
	return err
}

// thinAll drops the snapshots that are not kept by now.
func (a *archives) thinAll() {
	if a == nil {
		return
	}
	for _, kind := range [...]resourcesync.Capability{resourcesync.ResourceList, resourcesync.ResourceDump} {
		if _, dropped := a.keep.thin(a.entries[kind]); len(dropped) > 0 {
			a.changed[kind] = true
			a.thin(kind)
		}
	}
}

// write thins the archives out and stages those that have changed.
func (a *archives) write() error {
	if a == nil {
		return nil
	}
	for _, kind := range a.kinds {
		if kind == resourcesync.ResourceList || kind == resourcesync.ResourceDump {
			a.thin(kind)
		}
		if a.changed[kind] {
			if err := a.writeArchive(kind); err != nil {
				return err
			}
		}
	}
	return nil
}

// thin drops the snapshots that need not be kept. That alone changes nothing.
func (a *archives) thin(kind resourcesync.Capability) {
	if !a.changed[kind] {
		return
	}
	kept, dropped := a.keep.thin(a.entries[kind])
	a.entries[kind] = kept
	a.thinned = append(a.thinned, dropped...)
}

func (a *archives) writeArchive(kind resourcesync.Capability) error {
	entries := make([]resourcesync.Entry, len(a.entries[kind]))
	for i, e := range a.entries[kind] {
		md := resourcesync.Metadata{At: e.At, Completed: e.Completed, From: e.From, Until: e.Until, Hash: e.Hash}
		md.SetLength(e.Length)
		entries[i] = resourcesync.Entry{Loc: e.URI, Metadata: md}
	}
	return a.stage.putDump(&dumpDocument{
		Layout: a.layout, limits: a.limits, ref: a.layout.Archive(string(kind)), packages: entries,
		metadata: resourcesync.Metadata{Capability: kind.Archive()},
	})
}

// composeArchives archives what this run supersedes.
func (r *resourceSet) composeArchives(ctx context.Context, list, dump bool) error {
	a, s := r.archives, r.prev.snapshot
	if a == nil {
		return nil
	}
	if s != nil && list {
		if err := a.addResourceList(ctx); err != nil {
			return err
		}
	}
	if s != nil && dump {
		if err := a.addResourceDump(); err != nil {
			return err
		}
	}
	a.addChangeLists(r.lists.dropped)
	if r.changes != nil {
		if err := a.addPackages(r.changes.dropped); err != nil {
			return err
		}
	}
	return a.write()
}

// foreseeArchives says which archives a dry run would write.
func (r *resourceSet) foreseeArchives(add func(ref layout.Ref, changes bool), lists bool) {
	if r.archives == nil {
		return
	}
	for _, kind := range r.archives.kinds {
		snapshots := kind == resourcesync.ResourceList || kind == resourcesync.ResourceDump
		add(r.layout.Archive(string(kind)), r.archives.changed[kind] || snapshots && lists && r.prev.snapshot != nil)
	}
}

// endedBodies returns the bodies that the archives led to which end with this
// run.
func (r *resourceSet) endedBodies() (paths []string, err error) {
	for _, kind := range r.endedArchives() {
		for _, e := range r.prev.snapshot.Archives[kind].Entries {
			reached, err := r.prev.snapshot.Reached(&e)
			if err != nil {
				return nil, err
			}
			paths = append(paths, reached...)
		}
		for _, p := range r.prev.snapshot.Archives[kind].Parts {
			paths = append(paths, p.Path)
		}
	}
	return paths, nil
}

// endedArchives returns the kinds whose archives end with this run.
func (r *resourceSet) endedArchives() (ended []resourcesync.Capability) {
	if r.prev.snapshot == nil {
		return nil
	}
	for kind := range r.prev.snapshot.Archives {
		if r.archives == nil || !slices.Contains(r.archives.kinds, kind) {
			ended = append(ended, kind)
		}
	}
	slices.Sort(ended)
	return ended
}

// reached returns the paths of all files that the archives lead to, and of those
// that only thinned documents did.
func (a *archives) reached() (kept map[string]bool, thinned []string, err error) {
	kept = map[string]bool{}
	if a == nil {
		return kept, nil, nil
	}
	for _, kind := range a.kinds {
		for i := range a.entries[kind] {
			if err := a.reach(&a.entries[kind][i], func(path string) { kept[path] = true }); err != nil {
				return nil, nil, err
			}
		}
	}
	for kind := range a.changed { // and is written anew
		if a.last != nil && a.last.Archives[kind] != nil {
			for _, p := range a.last.Archives[kind].Parts {
				thinned = append(thinned, p.Path)
			}
		}
	}
	for i := range a.thinned {
		if err := a.reach(&a.thinned[i], func(path string) { thinned = append(thinned, path) }); err != nil {
			return nil, nil, err
		}
	}
	return kept, thinned, nil
}

// reach calls found for a document and what it leads to.
func (a *archives) reach(e *snapshot.Archived, found func(path string)) error {
	paths, ok := a.reachedBy[e.Path]
	if !ok {
		var err error
		if paths, err = a.last.Reached(e); err != nil {
			return fmt.Errorf("reading the archives: %w", err)
		}
	}
	for _, path := range paths {
		found(path)
	}
	return nil
}
