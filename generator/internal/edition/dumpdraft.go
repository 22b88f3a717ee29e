package edition

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/internal/stage"
	"github.com/wellspring-sync/wellspring/generator/internal/survey"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/zipdump"
)

// dumpDraft gathers the bitstreams of the next Resource Dump in packages. As with the
// Resource List, a package that stands in the last publication just so is not touched, and
// of one that changed, only what is new is packed: the rest is copied as it is.
type dumpDraft struct {
	last   *snapshot.ResourceDump // nil if there was none
	cutter layout.PackageCutter
	spool  *dumpSpool // nil in a dry run

	pieces []dumpPiece

	// The package that is being gathered.
	count   int
	pending span // at its end, not copied yet
	copied  bool // something of it had to be written

	large      int // bitstreams that are larger than a package should be
	firstLarge string
}

// span is a run of bitstreams in a package of the last publication.
type span struct {
	pkg         *snapshot.Package
	from, to    int
	first, last string // their URIs
}

// dumpPiece is one package, either in the last publication or staged.
type dumpPiece struct {
	span
	isNew bool
	file  *dumpFile // nil for one of the last publication, and in a dry run
}

// dumpFile is a package of a Resource Dump that is written.
type dumpFile struct {
	*stage.Packing
	manifest      *stage.File
	at, completed time.Time
}

func newDumpDraft(set *last.Set, rules Rules, area *stage.Area, at time.Time, now func() time.Time) *dumpDraft {
	d := &dumpDraft{cutter: rules.Limits.PackageCutter(set.Options.PackageSize)}
	if !set.IsFirst() {
		d.last = set.Snapshot.ResourceDump
	}
	if area != nil {
		d.spool = &dumpSpool{
			area: area, layout: set.Layout, policy: rules.Policy, at: at, now: now,
			earlier: &earlier{last: set.Snapshot, policy: rules.Policy},
		}
	}
	return d
}

// add takes the next resource, in the order of URIs.
func (d *dumpDraft) add(f *survey.Finding, m *survey.Member) error {
	if d.cutter.IsLarge(f.Entry.Loc, f.Size) {
		if d.large++; d.large == 1 {
			d.firstLarge = f.Path
		}
	}
	before, after := d.cutter.Add(f.Entry.Loc, f.Size)
	if before {
		if err := d.finishPiece(); err != nil {
			return err
		}
	}
	d.count++
	if err := d.put(f, m); err != nil {
		return err
	}
	if after {
		return d.finishPiece()
	}
	return nil
}

// put adds a bitstream to the package: what an earlier package has of it, or what
// was read.
func (d *dumpDraft) put(f *survey.Finding, m *survey.Member) error {
	b := m.Kept()
	isPacked := b != nil && m.IsPacked()
	if isPacked && f.SameBitstreamAs(b) {
		return d.keep(b)
	}
	if err := d.flush(); err != nil {
		return err
	}
	if isPacked { // the metadata alone is new
		return d.spool.take(f, b)
	}
	return d.spool.add(f)
}

func spanOf(b *snapshot.Previous) span {
	return span{pkg: b.Package, from: b.InPackage, to: b.InPackage + 1, first: b.Loc, last: b.Loc}
}

// keep takes over a bitstream with its entry.
func (d *dumpDraft) keep(b *snapshot.Previous) error {
	if d.pending.pkg == b.Package && d.pending.to == b.InPackage {
		d.pending.to++
		d.pending.last = b.Loc
		return nil
	}
	if d.count > 1 { // something comes before it in this package
		if err := d.flush(); err != nil {
			return err
		}
	}
	d.pending = spanOf(b)
	return nil
}

// flush has the package written, up to what comes next.
func (d *dumpDraft) flush() error {
	s := d.pending
	d.pending, d.copied = span{}, true
	return d.spool.copy(s)
}

func (d *dumpDraft) finishPiece() error {
	p := dumpPiece{span: d.pending}
	if d.copied {
		if err := d.flush(); err != nil {
			return err
		}
		if err := d.finishFile(&p); err != nil {
			return err
		}
	}
	d.pieces = append(d.pieces, p)
	d.count, d.pending, d.copied = 0, span{}, false
	return nil
}

// finishFile completes the package that is being written, which becomes a piece.
func (d *dumpDraft) finishFile(p *dumpPiece) (err error) {
	p.isNew = true
	p.file, err = d.spool.end()
	return err
}

// finish ends the last package, and copies those that became shorter: what is
// left of them stands in one piece, so that it did not show before.
func (d *dumpDraft) finish() error {
	if d == nil {
		return nil
	}
	if d.count > 0 {
		if err := d.finishPiece(); err != nil {
			return err
		}
	}
	for i := range d.pieces {
		p := &d.pieces[i]
		if p.isNew || p.isWhole() {
			continue
		}
		if err := d.spool.copy(p.span); err != nil {
			return err
		}
		if err := d.finishFile(p); err != nil {
			return err
		}
	}
	return d.spool.close()
}

// former opens what was published of a resource, out of the last dump. It returns nil if
// that is not looked at.
func (d *dumpDraft) former(b *snapshot.Previous) (io.ReadCloser, error) {
	if d == nil || d.spool == nil {
		return nil, nil
	}
	return d.spool.earlier.openBitstream(b)
}

// warnings tell of bitstreams that are larger than a package should be.
func (d *dumpDraft) warnings() []string {
	switch {
	case d == nil || d.large == 0:
		return nil
	case d.large == 1:
		return []string{fmt.Sprintf("%q is larger than a package should be, and is in one of its own", d.firstLarge)}
	}
	return []string{fmt.Sprintf("%q and %d more are larger than a package should be, and are each in one of their own", d.firstLarge, d.large-1)}
}

// decide decides on the dump, which is written in any case if the Resource List is.
func (d *dumpDraft) decide(set *last.Set, listed bool, limits policy.Limits) dumpDecision {
	if d == nil {
		return dumpDecision{}
	}
	if !listed && d.unchanged() && !linksChange(set, resourcesync.ResourceDump) {
		return dumpDecision{indexed: len(set.Snapshot.ResourceDump.Parts) > 0}
	}
	return decideDump(set, d.pieces, limits)
}

// isWhole reports whether a piece is all of an earlier package.
func (p *dumpPiece) isWhole() bool {
	return p.pkg != nil && p.from == 0 && p.to == p.pkg.Entries && p.pkg.Lost == nil
}

// unchanged reports whether the packages are those that were published.
func (d *dumpDraft) unchanged() bool {
	if d.last == nil || d.last.Lost != nil || len(d.last.Packages) != len(d.pieces) {
		return false
	}
	for i := range d.pieces {
		if d.pieces[i].isNew || d.pieces[i].pkg != d.last.Packages[i] {
			return false
		}
	}
	return true
}

// dumpSpool writes packages of a Resource Dump. Its methods do nothing if it is nil.
type dumpSpool struct {
	area    *stage.Area
	layout  layout.Layout
	policy  zipdump.Policy
	at      time.Time // of the run
	now     func() time.Time
	earlier *earlier
	file    *dumpFile // that is being written
	buf     []byte
}

func (s *dumpSpool) begin() error {
	if s.file != nil {
		return nil
	}
	p, err := s.area.NewPacking()
	if err != nil {
		return err
	}
	manifest, err := s.area.Create()
	if err != nil {
		return err
	}
	s.file = &dumpFile{Packing: p, manifest: manifest, at: s.at, completed: s.at}
	return manifest.WriteHead(s.head())
}

// head returns what stands before the entries of the manifest; it is always of
// the same length.
func (s *dumpSpool) head() *resourcesync.Document {
	head := dumpHead(s.layout, resourcesync.Metadata{Capability: resourcesync.ResourceDumpManifest, At: s.file.at, Completed: s.file.completed})
	return &head
}

// copy copies bitstreams, and what the manifest says of them. There may be none.
func (s *dumpSpool) copy(x span) error {
	if s == nil {
		return nil
	}
	if err := s.begin(); err != nil || x.pkg == nil {
		return err
	}
	if err := s.earlier.take(s.file.Packing, x); err != nil {
		return err
	}
	return s.earlier.copyEntries(s.file.manifest, x)
}

// take copies one bitstream of which the manifest says something else.
func (s *dumpSpool) take(f *survey.Finding, b *snapshot.Previous) error {
	if s == nil {
		return nil
	}
	if err := s.earlier.take(s.file.Packing, spanOf(b)); err != nil {
		return err
	}
	return s.describe(f)
}

// add packs what was read.
func (s *dumpSpool) add(f *survey.Finding) error {
	if s == nil {
		return nil
	}
	if f.Content == nil {
		return fmt.Errorf("%q was not read for its package", f.Path)
	}
	if err := packContent(s.file.Packing, f); err != nil {
		return err
	}
	return s.describe(f)
}

// packContent puts a bitstream into a package, under its own name and time.
func packContent(to *stage.Packing, f *survey.Finding) error {
	return to.Add(zipdump.Header{Path: zipdump.Path(f.Path), Modified: f.Entry.LastModified}, f.Content.Bitstream)
}

// describe writes an entry of the manifest.
func (s *dumpSpool) describe(f *survey.Finding) error {
	e := manifestEntry(f)
	var err error
	if s.buf, err = resourcesync.AppendEntry(s.buf[:0], false, &e); err != nil {
		return err
	}
	_, err = s.file.manifest.Write(s.buf)
	return err
}

// manifestEntry returns what a manifest says, without links, of a resource that is in its
// package.
func manifestEntry(f *survey.Finding) resourcesync.Entry {
	e := f.Entry
	e.Links, e.ChangeFreq = nil, ""
	e.Metadata.Path = "/" + zipdump.Path(f.Path)
	return e
}

var errOtherHead = errors.New("the head of a manifest has another length than was left for it")

// end completes the package that is being written.
func (s *dumpSpool) end() (*dumpFile, error) {
	if s == nil {
		return nil, nil
	}
	f := s.file
	if now := s.now().UTC().Truncate(time.Second); now.After(f.at) {
		f.completed = now
	}
	if err := f.manifest.EndEntries(); err != nil {
		return nil, err
	}
	if same, err := f.manifest.SetHead(s.head()); err != nil || !same {
		return nil, cmp.Or(err, errOtherHead)
	}
	if err := f.Pause(); err != nil {
		return nil, err
	}
	s.file = nil
	return f, f.Finish(f.manifest, s.policy, f.completed)
}

func (s *dumpSpool) close() error {
	if s == nil {
		return nil
	}
	return s.earlier.close()
}
