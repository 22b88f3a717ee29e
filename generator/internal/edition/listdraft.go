package edition

import (
	"io"
	"time"

	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/internal/stage"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// listDraft gathers the entries of the next Resource List in pieces, each of which may
// become a part. A piece that stands in the last publication just so is not written at
// all; of one that stands there partly, only as much is copied as is needed.
type listDraft struct {
	last   *snapshot.Snapshot // nil in a first run
	limits policy.Limits
	cutter layout.Cutter
	foot   int64
	spool  *listSpool // nil in a dry run

	pieces  []piece
	entries int
	bytes   int64 // of entries
	changed bool  // it is not the list that was published

	// The piece that is being gathered.
	count   int
	size    int64
	pending section // at its end, not copied yet
	copied  bool    // something of it had to be written
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
	isNew   bool        // it is staged
	staged  *stage.File // nil for a section, and in a dry run
	entries int
	bytes   int64
	rare    bool // ends where parts end that are made of many pieces
}

func newListDraft(set *last.Set, limits policy.Limits, area *stage.Area) (*listDraft, error) {
	some, fraction := time.Unix(0, 0), time.Unix(0, 1000)
	longest := resourceListHead(set.Layout, true, fraction, fraction)
	longest.Links = append(longest.Links, archiveLink(set, resourcesync.ResourceList)...)
	head, err := resourcesync.AppendHead(nil, &longest)
	if err != nil {
		return nil, err
	}
	l := &listDraft{last: set.Snapshot, limits: limits, foot: int64(len(resourcesync.AppendFoot(nil, false)))}
	l.cutter = layout.Cutter{MaxEntries: limits.Entries, MaxBytes: limits.Bytes - int64(len(head)) - l.foot, Bits: limits.CutBits}
	if area != nil {
		l.spool = &listSpool{area: area, last: set.Snapshot, head: resourceListHead(set.Layout, true, some, some)}
	}
	return l, nil
}

// resourceListHead returns the properties of a Resource List or, with part set, of a
// part. The Index itself is a list with Index set to true.
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

// add takes the next entry, as it is written.
func (l *listDraft) add(encoded []byte, end layout.Point) error {
	l.changed = true
	if err := l.cutBefore(len(encoded)); err != nil {
		return err
	}
	if err := l.flush(); err != nil {
		return err
	}
	if err := l.spool.write(encoded); err != nil {
		return err
	}
	return l.cutAfter(end)
}

// remove notes that a resource has no entry any more.
func (l *listDraft) remove() { l.changed = true }

// keep takes over an entry from the last publication.
func (l *listDraft) keep(b *snapshot.Previous, end layout.Point) error {
	p := b.Position
	if err := l.cutBefore(int(p.End - p.Start)); err != nil {
		return err
	}
	if l.pending.part == b.Part && l.pending.end == p.Start && p.Start != 0 {
		l.pending.end = p.End
		return l.cutAfter(end)
	}
	if l.count > 1 { // something comes before it in this piece
		if err := l.flush(); err != nil {
			return err
		}
	}
	l.pending = section{part: b.Part, start: p.Start, end: p.End, fromFirst: b.First}
	return l.cutAfter(end)
}

func (l *listDraft) cutBefore(size int) error {
	if l.cutter.Before(size) {
		if err := l.finishPiece(false); err != nil {
			return err
		}
	}
	l.count++
	l.size += int64(size)
	return nil
}

func (l *listDraft) cutAfter(end layout.Point) error {
	if rarely, cut := l.cutter.After(end); cut {
		return l.finishPiece(rarely)
	}
	return nil
}

// flush has the piece written, up to what comes next.
func (l *listDraft) flush() error {
	s := l.pending
	l.pending, l.copied = section{}, true
	return l.spool.copy(s)
}

func (l *listDraft) finishPiece(rare bool) error {
	p := piece{entries: l.count, bytes: l.size, rare: rare}
	if l.copied {
		if err := l.flush(); err != nil {
			return err
		}
		var err error
		if p.staged, err = l.spool.end(); err != nil {
			return err
		}
		p.isNew = true
	} else {
		p.section = l.pending
	}
	l.pieces = append(l.pieces, p)
	l.entries += l.count
	l.bytes += l.size
	l.count, l.size, l.pending, l.copied = 0, 0, section{}, false
	return nil
}

// finish ends the last piece.
func (l *listDraft) finish() error {
	if l.count == 0 {
		return nil
	}
	return l.finishPiece(false)
}

// fits reports whether one document can hold all.
func (l *listDraft) fits() bool {
	return l.entries <= l.limits.Entries && l.bytes <= l.cutter.MaxBytes
}

// unchanged reports whether the last publication has the same list, in the same
// form.
func (l *listDraft) unchanged(parts []part) bool {
	if l.last == nil || l.changed || l.last.Indexed == l.fits() {
		return false
	}
	if !l.last.Indexed {
		return true
	}
	if len(parts) != len(l.last.Parts) {
		return false
	}
	for i := range parts {
		if parts[i].kept == nil {
			return false
		}
	}
	return true
}

// decide decides on the list, which is written in any case if its links change.
func (l *listDraft) decide(linksChange bool) listDecision {
	parts := l.parts()
	writes := linksChange || !l.unchanged(parts)
	if l.fits() {
		parts = nil
	}
	return listDecision{writes, l.pieces, parts}
}

// part is what becomes one part: usually one piece, or a part of the last publication.
type part struct {
	pieces []piece
	kept   *snapshot.Part // nil if it is written
}

// parts groups the pieces into parts.
func (l *listDraft) parts() []part {
	join := l.entries > l.limits.ManyParts
	var parts []part
	var entries int
	var bytes int64
	for i, p := range l.pieces {
		if i > 0 && join && !l.pieces[i-1].rare &&
			entries+p.entries <= l.limits.Entries && bytes+p.bytes <= l.cutter.MaxBytes {
			n := len(parts) - 1
			parts[n].pieces = append(parts[n].pieces, p)
		} else {
			parts = append(parts, part{pieces: l.pieces[i : i+1 : i+1]})
			entries, bytes = 0, 0
		}
		entries += p.entries
		bytes += p.bytes
	}
	for i := range parts {
		parts[i].kept = l.keptPart(parts[i].pieces)
	}
	return parts
}

// keptPart returns the part of the last publication that pieces are, together, or nil.
func (l *listDraft) keptPart(pieces []piece) *snapshot.Part {
	first, end := &pieces[0], &pieces[len(pieces)-1]
	if l.last == nil || !l.last.Indexed || !first.fromFirst {
		return nil
	}
	for i := range pieces {
		if pieces[i].isNew || pieces[i].part != first.part || i > 0 && pieces[i].start != pieces[i-1].end {
			return nil
		}
	}
	if p := &l.last.Parts[first.part]; end.end+l.foot == p.Length {
		return p
	}
	return nil
}

// toWrite is how many bytes writing the list takes, beside what is staged.
func (l *listDraft) toWrite() (n int64) {
	parts := l.parts()
	if l.unchanged(parts) {
		return 0
	}
	if l.fits() {
		return l.bytes
	}
	for _, p := range parts {
		if p.kept != nil || len(p.pieces) == 1 && p.pieces[0].isNew {
			continue
		}
		for i := range p.pieces {
			n += p.pieces[i].bytes
		}
	}
	return n
}

// listSpool stages pieces of a Resource List. Its methods do nothing if it is nil.
type listSpool struct {
	area *stage.Area
	last *snapshot.Snapshot
	head resourcesync.Document // with placeholders for the times
	file *stage.File           // of the piece that is being gathered
}

func (s *listSpool) begin() (err error) {
	if s.file != nil {
		return nil
	}
	if s.file, err = s.area.Create(); err != nil {
		return err
	}
	return s.file.WriteHead(&s.head)
}

// copy copies a section, which may be empty.
func (s *listSpool) copy(x section) error {
	if s == nil {
		return nil
	}
	if err := s.begin(); err != nil || x.end == 0 {
		return err
	}
	return copySection(s.file, s.last, x)
}

func (s *listSpool) write(encoded []byte) error {
	if s == nil {
		return nil
	}
	_, err := s.file.Write(encoded)
	return err
}

// end ends a piece.
func (s *listSpool) end() (*stage.File, error) {
	if s == nil {
		return nil, nil
	}
	f := s.file
	s.file = nil
	return f, f.EndEntries()
}

func copySection(w io.Writer, last *snapshot.Snapshot, x section) error {
	from, err := last.Section(last.Parts[x.part].Path, x.start, x.end)
	if err != nil {
		return err
	}
	defer from.Close()
	_, err = io.Copy(w, from)
	return err
}
