package edition

import (
	"bytes"
	"context"
	"crypto/sha256"
	"slices"
	"time"

	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/internal/stage"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// archiveWriter writes the archives of a set, and the documents in them that are made for
// that.
type archiveWriter struct {
	out    *writer
	set    *last.Set
	limits policy.Limits
	// made are documents that were made for an archive, with all files that they lead to.
	made map[string]bool
}

func (w *archiveWriter) write(ctx context.Context, d *archivesDecision) error {
	made := make([][]snapshot.Archived, len(d.kinds))
	for i := range d.kinds {
		made[i] = slices.Clone(d.kinds[i].entries)
		for j, e := range made[i] {
			if e.Path != "" {
				continue
			}
			var err error
			if made[i][j], err = w.make(ctx, e, d.packages); err != nil {
				return err
			}
		}
	}
	for i := range d.kinds {
		if a := &d.kinds[i]; a.write {
			if err := w.writeArchive(a.kind, made[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// make places a document to be archived.
func (w *archiveWriter) make(ctx context.Context, e snapshot.Archived, packages []*snapshot.Package) (snapshot.Archived, error) {
	s := w.set.Snapshot
	switch {
	case e.Kind == resourcesync.ChangeDump:
		return w.makeChangeDump(e, packages)
	case e.Kind == resourcesync.ResourceDump:
		return w.makeOfHead(e, s.ResourceDump.Bodies())
	case s.Indexed:
		var parts []string
		for _, p := range s.Parts {
			parts = append(parts, p.Path)
		}
		return w.makeOfHead(e, parts)
	}
	return w.makeResourceList(ctx, e)
}

// place places a document to be archived, which leads to other files.
func (w *archiveWriter) place(e snapshot.Archived, b []byte, reached []string) (snapshot.Archived, error) {
	f, err := w.out.Complete(b)
	if err != nil {
		return e, err
	}
	e.Ref = w.set.Layout.Archived(string(e.Kind), timeOf(&e), f.Digest)
	e.Hash, e.Length = f.Hash(), f.Length
	w.made[e.Path] = true
	for _, path := range reached {
		w.made[path] = true
	}
	return e, w.out.Place(f, e.Ref, stage.Body)
}

// timeOf is the time in the name of a document.
func timeOf(e *snapshot.Archived) time.Time {
	if e.At.IsZero() {
		return e.Until
	}
	return e.At
}

// style returns the reference to the style sheet in an archived document.
func (w *archiveWriter) style(e *snapshot.Archived) string {
	return w.set.Layout.StyleFor(w.set.Layout.Archived(string(e.Kind), timeOf(e), [32]byte{}))
}

// makeOfHead archives the live document of a kind as it is, but for where its style sheet
// is.
func (w *archiveWriter) makeOfHead(e snapshot.Archived, reached []string) (snapshot.Archived, error) {
	b, err := w.set.Snapshot.ReadHead(e.Kind)
	if err != nil {
		return e, err
	}
	return w.place(e, resourcesync.SetStyle(b, w.style(&e)), reached)
}

// makeChangeDump archives packages that the Change Dump names no more, as a Change Dump of
// their own.
func (w *archiveWriter) makeChangeDump(e snapshot.Archived, packages []*snapshot.Package) (snapshot.Archived, error) {
	head := dumpHead(w.set.Layout, resourcesync.Metadata{Capability: resourcesync.ChangeDump, From: e.From, Until: e.Until})
	head.Style = w.style(&e)
	entries, paths := make([]resourcesync.Entry, len(packages)), []string(nil)
	for i, p := range packages {
		entries[i] = packageEntry(p)
		paths = append(paths, p.Path, p.Manifest.Path)
	}
	b, err := resourcesync.Marshal(&head, entries)
	if err != nil {
		return e, err
	}
	return w.place(e, b, paths)
}

// makeResourceList archives the last Resource List, which has no Index, as one over parts.
func (w *archiveWriter) makeResourceList(ctx context.Context, e snapshot.Archived) (snapshot.Archived, error) {
	index, err := w.cut(ctx, e.At, e.Completed)
	if err != nil {
		return e, err
	}
	head := resourceListHead(w.set.Layout, false, e.At, e.Completed)
	head.Index, head.Style = true, w.style(&e)
	b, err := resourcesync.Marshal(&head, index)
	if err != nil {
		return e, err
	}
	var parts []string
	for _, part := range index {
		path, _ := w.set.Layout.PathOf(part.Loc)
		parts = append(parts, path)
	}
	return w.place(e, b, parts)
}

// cut divides the last Resource List into parts, as that of an Index would be, and stages
// those that the last archived one does not have.
func (w *archiveWriter) cut(ctx context.Context, at, completed time.Time) ([]resourcesync.Entry, error) {
	known, err := w.knownParts()
	if err != nil {
		return nil, err
	}
	limits := w.limits
	head := resourceListHead(w.set.Layout, true, at, completed)
	c := partCutter{cutter: layout.Cutter{MaxEntries: limits.Entries, MaxBytes: limits.Bytes - policy.ManifestRoom/2, Bits: limits.CutBits}}
	var index []resourcesync.Entry
	c.full = func(entries []byte) error {
		part := known[sha256.Sum256(entries)]
		if part == nil {
			if part, err = w.placePart(&head, entries); err != nil {
				return err
			}
		}
		index = append(index, partEntry(part))
		return nil
	}
	before := *w.set.Snapshot
	before.Cutter = nil // where the resources are packed is not asked
	for e, err := range before.Resources(ctx) {
		if err == nil {
			err = c.add(&e.Entry)
		}
		if err != nil {
			return nil, err
		}
	}
	return index, c.flush()
}

func (w *archiveWriter) placePart(head *resourcesync.Document, entries []byte) (*snapshot.Part, error) {
	b, err := resourcesync.AppendHead(nil, head)
	if err != nil {
		return nil, err
	}
	f, err := w.out.Complete(resourcesync.AppendFoot(append(b, entries...), false))
	if err != nil {
		return nil, err
	}
	return w.out.placePart(w.set.Layout, f, head)
}

// knownParts returns the parts of the archived Resource List that is the
// latest, by the digests of their entries.
func (w *archiveWriter) knownParts() (map[[sha256.Size]byte]*snapshot.Part, error) {
	known := map[[sha256.Size]byte]*snapshot.Part{}
	a := archiveOf(w.set, resourcesync.ResourceList)
	if a == nil || len(a.Entries) == 0 {
		return known, nil
	}
	s := w.set.Snapshot
	parts, err := s.PartsOf(&a.Entries[len(a.Entries)-1])
	if err != nil {
		return nil, err
	}
	foot := resourcesync.AppendFoot(nil, false)
	for i := range parts {
		b, err := s.ReadPart(&parts[i])
		if err != nil {
			return nil, err
		}
		if start := bytes.Index(b, []byte("<url>")); start >= 0 {
			known[sha256.Sum256(bytes.TrimSuffix(b[start:], foot))] = &parts[i]
		}
	}
	return known, nil
}

func (w *archiveWriter) writeArchive(kind resourcesync.Capability, documents []snapshot.Archived) error {
	entries := make([]resourcesync.Entry, len(documents))
	for i, e := range documents {
		md := resourcesync.Metadata{At: e.At, Completed: e.Completed, From: e.From, Until: e.Until, Hash: e.Hash}
		md.SetLength(e.Length)
		entries[i] = resourcesync.Entry{Loc: e.URI, Metadata: md}
	}
	return w.out.placeDump(&dumpDocument{
		Layout: w.set.Layout, limits: w.limits, ref: w.set.Layout.Archive(string(kind)), packages: entries,
		metadata: resourcesync.Metadata{Capability: kind.Archive()},
	})
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
