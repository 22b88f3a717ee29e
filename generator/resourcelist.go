package generator

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// resourceList gathers the entries of the next Resource List in pieces, each of
// which may become a part. A piece that stands in the last publication just so
// is not written at all; of one that stands there partly, only as much is
// copied as is needed.
type resourceList struct {
	stage  *stage
	last   *snapshot.Snapshot // nil in a first run
	limits limits
	cutter layout.Cutter
	head   resourcesync.Document // with placeholders for the times
	foot   int64
	links  []resourcesync.Link // of the live list or its Index

	pieces  []piece
	entries int
	bytes   int64 // of entries

	// The piece that is being gathered.
	count   int
	size    int64
	pending section   // at its end, not copied yet
	file    *document // nil as long as nothing had to be copied

	changed bool // it is not the list that was published

	index  []resourcesync.Entry // of the parts, once they are written
	reused map[string]bool      // paths of those that were there before
}

// section is a run of entries in a part of the last publication.
type section struct {
	part       int
	start, end int64
	fromFirst  bool // it begins with the part's first entry
}

// piece is a finished run of entries, either in the last publication or staged.
type piece struct {
	section
	staged  *document // nil for a section
	entries int
	bytes   int64
	rare    bool // ends where parts end that are made of many pieces
}

func newResourceList(st *stage, l layout.Layout, last *snapshot.Snapshot, lim limits, links []resourcesync.Link) (*resourceList, error) {
	r := &resourceList{stage: st, last: last, limits: lim, links: links}
	r.head = resourceListHead(l, true, time.Unix(0, 0), time.Unix(0, 0))
	longest := r.head
	longest.Links = append(longest.Links[:len(longest.Links):len(longest.Links)], links...)
	head, err := resourcesync.AppendHead(nil, &longest)
	if err != nil {
		return nil, err
	}
	r.foot = int64(len(resourcesync.AppendFoot(nil, false)))
	r.cutter = layout.Cutter{MaxEntries: lim.entries, MaxBytes: lim.bytes - int64(len(head)) - r.foot, Bits: lim.cutBits}
	return r, nil
}

// resourceListHead returns the properties of a Resource List or, with index
// set, of a part. The Index itself is a list with Index set to true.
func resourceListHead(l layout.Layout, part bool, at, completed time.Time) resourcesync.Document {
	d := resourcesync.Document{
		Style:    l.StyleFor(l.ResourceList()),
		Metadata: resourcesync.Metadata{Capability: resourcesync.ResourceList, At: at, Completed: completed},
		Links:    []resourcesync.Link{{Rel: resourcesync.RelUp, Href: l.CapabilityList().URI}},
	}
	if part {
		d.Style = l.StyleFor(l.ResourceListPart([32]byte{}))
		d.Links = append(d.Links, resourcesync.Link{Rel: resourcesync.RelIndex, Href: l.ResourceList().URI})
	}
	return d
}

// add takes the next resource, in the order of URIs, if it is not as it was published.
// One that was deleted has no entry any more.
func (r *resourceList) add(f *finding) error {
	if f.Type == resourcesync.Deleted {
		r.changed = true
		return nil
	}
	return r.addEntry(f.encoded, f.point)
}

// addEntry takes the next entry, as it is written.
func (r *resourceList) addEntry(encoded []byte, end layout.Point) error {
	r.changed = true
	if err := r.cutBefore(len(encoded)); err != nil {
		return err
	}
	w, err := r.writer()
	if err != nil {
		return err
	}
	if _, err := w.Write(encoded); err != nil {
		return err
	}
	return r.cutAfter(end)
}

// keep takes over an entry from the last publication.
func (r *resourceList) keep(b *snapshot.Previous, end layout.Point) error {
	p := b.Position
	if err := r.cutBefore(int(p.End - p.Start)); err != nil {
		return err
	}
	if r.pending.part == b.Part && r.pending.end == p.Start && p.Start != 0 {
		r.pending.end = p.End
		return r.cutAfter(end)
	}
	if r.count > 1 { // something comes before it in this piece
		if _, err := r.writer(); err != nil {
			return err
		}
	}
	r.pending = section{part: b.Part, start: p.Start, end: p.End, fromFirst: b.First}
	return r.cutAfter(end)
}

func (r *resourceList) cutBefore(size int) error {
	if r.cutter.Before(size) {
		if err := r.finishPiece(false); err != nil {
			return err
		}
	}
	r.count++
	r.size += int64(size)
	return nil
}

func (r *resourceList) cutAfter(end layout.Point) error {
	if rarely, cut := r.cutter.After(end); cut {
		return r.finishPiece(rarely)
	}
	return nil
}

// writer returns where the piece is written, up to which all of it is copied.
func (r *resourceList) writer() (io.Writer, error) {
	if r.file == nil {
		var err error
		if r.file, err = r.stage.create(); err != nil {
			return nil, err
		}
		head, err := resourcesync.AppendHead(nil, &r.head)
		if err != nil {
			return nil, err
		}
		if _, err := r.file.Write(head); err != nil {
			return nil, err
		}
		r.file.head = int64(len(head))
	}
	return r.file, r.copyPending(r.file)
}

func (r *resourceList) copyPending(w io.Writer) error {
	s := r.pending
	r.pending = section{}
	if s.end == 0 {
		return nil
	}
	return r.copySection(w, s)
}

func (r *resourceList) copySection(w io.Writer, s section) error {
	from, err := r.last.Section(r.last.Parts[s.part].Path, s.start, s.end)
	if err != nil {
		return err
	}
	defer from.Close()
	_, err = io.Copy(w, from)
	return err
}

func (r *resourceList) finishPiece(rare bool) error {
	p := piece{section: r.pending, entries: r.count, bytes: r.size, rare: rare}
	if r.file != nil {
		if _, err := r.writer(); err != nil {
			return err
		}
		if err := r.file.endEntries(); err != nil {
			return err
		}
		p.staged, p.section = r.file, section{}
	}
	r.pieces = append(r.pieces, p)
	r.entries += r.count
	r.bytes += r.size
	r.count, r.size, r.pending, r.file = 0, 0, section{}, nil
	return nil
}

// finish ends the last piece.
func (r *resourceList) finish() error {
	if r.count == 0 {
		return nil
	}
	return r.finishPiece(false)
}

// fits reports whether one document can hold all.
func (r *resourceList) fits() bool {
	return r.entries <= r.limits.entries && r.bytes <= r.cutter.MaxBytes
}

// toWrite is how many bytes writing the list takes, beside what is staged.
func (r *resourceList) toWrite() int64 {
	if r.unchanged() {
		return 0
	}
	if r.fits() {
		return r.bytes
	}
	var n int64
	for _, pieces := range r.parts() {
		if r.isPart(pieces) || len(pieces) == 1 && pieces[0].staged != nil {
			continue
		}
		for _, p := range pieces {
			n += p.bytes
		}
	}
	return n
}

// unchanged reports whether the last publication has the same list, in the same
// form.
func (r *resourceList) unchanged() bool {
	if r.last == nil || r.changed || r.last.Indexed == r.fits() {
		return false
	}
	if !r.last.Indexed {
		return true
	}
	parts := r.parts()
	if len(parts) != len(r.last.Parts) {
		return false
	}
	for _, p := range parts {
		if !r.isPart(p) {
			return false
		}
	}
	return true
}

// parts groups the pieces into those that become one part each: usually one.
func (r *resourceList) parts() [][]piece {
	join := r.entries > r.limits.manyParts
	var parts [][]piece
	var entries int
	var bytes int64
	for i, p := range r.pieces {
		if i > 0 && join && !r.pieces[i-1].rare &&
			entries+p.entries <= r.limits.entries && bytes+p.bytes <= r.cutter.MaxBytes {
			n := len(parts) - 1
			parts[n] = append(parts[n], p)
		} else {
			parts = append(parts, []piece{p})
			entries, bytes = 0, 0
		}
		entries += p.entries
		bytes += p.bytes
	}
	return parts
}

// isPart reports whether pieces are, together, a whole part of the last
// publication.
func (r *resourceList) isPart(pieces []piece) bool {
	first, last := &pieces[0], &pieces[len(pieces)-1]
	if r.last == nil || !r.last.Indexed || !first.fromFirst {
		return false
	}
	for i := range pieces {
		if pieces[i].staged != nil || pieces[i].part != first.part || i > 0 && pieces[i].start != pieces[i-1].end {
			return false
		}
	}
	return last.end+r.foot == r.last.Parts[first.part].Length
}

// writeBodies stages the parts of the list, if it needs an Index.
func (r *resourceList) writeBodies(l layout.Layout, at, completed time.Time) error {
	r.reused = map[string]bool{}
	if r.fits() {
		return nil
	}
	for some := range slices.Chunk(r.parts(), partsAtOnce) {
		if err := r.writeParts(l, some, at, completed); err != nil {
			return err
		}
	}
	if len(r.index) > resourcesync.MaxEntries {
		return fmt.Errorf("%d parts are more than one Resource List Index can hold (%d)", len(r.index), resourcesync.MaxEntries)
	}
	return nil
}

// writeHead stages the list itself or, if it has parts, its Index.
func (r *resourceList) writeHead(l layout.Layout, at, completed time.Time) error {
	head := resourceListHead(l, false, at, completed)
	head.Links = append(head.Links, r.links...)
	if !r.fits() {
		head.Index = true
		for _, part := range r.index {
			path, _ := l.PathOf(part.Loc)
			r.stage.tell(resourcesync.ResourceList, layout.Ref{Path: path, URI: part.Loc}, l.ResourceList().URI)
		}
		return r.stage.putDocument(l.ResourceList(), &head, r.index)
	}
	doc, err := r.assemble(&head, r.pieces)
	if err != nil {
		return err
	}
	r.stage.tell(resourcesync.ResourceList, l.ResourceList(), "")
	return r.stage.put(doc, l.ResourceList(), false)
}

// partsAtOnce is how many parts are digested and made durable at the same time.
const partsAtOnce = 16

// writeParts takes parts over from the last publication, or stages them.
func (r *resourceList) writeParts(l layout.Layout, parts [][]piece, at, completed time.Time) error {
	head := resourceListHead(l, true, at, completed)
	staged := make([]*document, len(parts))
	for i, pieces := range parts {
		if r.isPart(pieces) {
			continue
		}
		var err error
		if staged[i], err = r.assemble(&head, pieces); err != nil {
			return err
		}
		staged[i].syncLater()
	}
	for i, pieces := range parts {
		if staged[i] == nil {
			part := r.last.Parts[pieces[0].part]
			r.reused[part.Path] = true
			r.index = append(r.index, partEntry(part))
			continue
		}
		part, err := r.putPart(l, staged[i], at, completed)
		if err != nil {
			return err
		}
		r.index = append(r.index, partEntry(part))
	}
	return nil
}

func partEntry(p snapshot.Part) resourcesync.Entry {
	e := resourcesync.Entry{Loc: p.URI, Metadata: resourcesync.Metadata{At: p.At, Completed: p.Completed, Hash: p.Hash}}
	e.Metadata.SetLength(p.Length)
	return e
}

func (r *resourceList) putPart(l layout.Layout, doc *document, at, completed time.Time) (snapshot.Part, error) {
	if err := doc.sync(); err != nil {
		return snapshot.Part{}, err
	}
	part := snapshot.Part{
		Ref: l.ResourceListPart(doc.digest), At: at, Completed: completed,
		Hash: doc.hash(), Length: doc.length,
	}
	return part, r.stage.put(doc, part.Ref, true)
}

// assemble makes one document of pieces. A single staged piece is one already,
// but for its head.
func (r *resourceList) assemble(head *resourcesync.Document, pieces []piece) (*document, error) {
	b, err := resourcesync.AppendHead(nil, head)
	if err != nil {
		return nil, err
	}
	if len(pieces) == 1 && pieces[0].staged != nil && pieces[0].staged.head == int64(len(b)) {
		return pieces[0].staged, pieces[0].staged.setHead(b)
	}
	doc, err := r.stage.create()
	if err != nil {
		return nil, err
	}
	doc.head = int64(len(b))
	if _, err := doc.Write(b); err != nil {
		return nil, err
	}
	for _, p := range pieces {
		if err := r.copyPiece(doc, p); err != nil {
			return nil, err
		}
	}
	return doc, doc.endEntries()
}

func (r *resourceList) copyPiece(w io.Writer, p piece) error {
	if p.staged == nil {
		return r.copySection(w, p.section)
	}
	if err := p.staged.copyEntries(w, p.bytes); err != nil {
		return err
	}
	return p.staged.discard()
}
