package generator

import (
	"fmt"
	"time"

	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/zipdump"
)

// resourceDump gathers the bitstreams of the next Resource Dump in packages. As
// with the Resource List, a package that stands in the last publication just so
// is not touched, and of one that changed, only what is new is packed: the rest
// is copied as it is.
type resourceDump struct {
	stage   *stage
	layout  layout.Layout
	limits  limits
	last    *snapshot.ResourceDump // nil if there was none
	earlier *earlier
	cutter  layout.PackageCutter
	policy  zipdump.Policy
	at      time.Time // when the run began
	now     func() time.Time
	links   []resourcesync.Link // of the live dump or its Index

	pieces []dumpPiece

	// The package that is being gathered.
	count   int
	pending span      // at its end, not copied yet
	open    *dumpFile // nil as long as nothing had to be copied

	large      int // bitstreams that are larger than a package should be
	firstLarge string
	buf        []byte
	entries    []resourcesync.Entry // of the dump, once its packages are ready
	written    bool
	indexed    bool            // it is, under an Index, more than one document
	reused     map[string]bool // paths of packages and manifests that were there before
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
	file *dumpFile
}

// dumpFile is a package of a Resource Dump that is written.
type dumpFile struct {
	*packing
	manifest      *document
	at, completed time.Time
}

func (r *resourceSet) newResourceDump() *resourceDump {
	if !r.o.Dumps.Resource || r.o.DryRun {
		return nil
	}
	d := &resourceDump{
		stage: r.stage, layout: r.layout, limits: r.o.limits, earlier: &earlier{policy: r.o.policy()},
		cutter: r.o.packageCutter(r.o.PackageSize), policy: r.o.policy(),
		at: r.at(), now: r.o.Now, reused: map[string]bool{},
	}
	d.links = r.archives.links(resourcesync.ResourceDump)
	if s := r.prev.snapshot; s != nil {
		d.last, d.earlier.last = s.ResourceDump, s
	}
	return d
}

// add takes the next resource, in the order of URIs.
func (d *resourceDump) add(f *finding) error {
	if d == nil || f.Type == resourcesync.Deleted {
		return nil
	}
	if d.cutter.IsLarge(f.entry.Loc, f.size) {
		if d.large++; d.large == 1 {
			d.firstLarge = f.Path
		}
	}
	before, after := d.cutter.Add(f.entry.Loc, f.size)
	if before {
		if err := d.finishPiece(); err != nil {
			return err
		}
	}
	d.count++
	if err := d.put(f); err != nil {
		return err
	}
	if after {
		return d.finishPiece()
	}
	return nil
}

// put adds a bitstream to the package: what an earlier package has of it, or what
// was read.
func (d *resourceDump) put(f *finding) error {
	if b := f.before; b == nil || b.Package == nil || b.Package.Lost != nil {
		if f.content == nil {
			return fmt.Errorf("%q was not read for its package", f.Path)
		}
		if err := d.flush(); err != nil {
			return err
		}
		if err := d.open.packing.add(f); err != nil {
			return err
		}
		return d.describe(f)
	}
	if f.sameBitstreamAs(f.before) {
		return d.keep(f.before)
	}
	if err := d.flush(); err != nil { // the metadata alone is new
		return err
	}
	if err := d.earlier.take(d.open.packing, spanOf(f.before)); err != nil {
		return err
	}
	return d.describe(f)
}

func spanOf(b *snapshot.Previous) span {
	return span{pkg: b.Package, from: b.InPackage, to: b.InPackage + 1, first: b.Loc, last: b.Loc}
}

// keep takes over a bitstream with its entry.
func (d *resourceDump) keep(b *snapshot.Previous) error {
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

// describe writes an entry of the manifest.
func (d *resourceDump) describe(f *finding) error {
	e := manifestEntry(f)
	var err error
	if d.buf, err = resourcesync.AppendEntry(d.buf[:0], false, &e); err != nil {
		return err
	}
	_, err = d.open.manifest.Write(d.buf)
	return err
}

// flush makes sure that the package is being written, and copies what is
// pending.
func (d *resourceDump) flush() error {
	if d.open == nil {
		var err error
		if d.open, err = d.newFile(); err != nil {
			return err
		}
	}
	s := d.pending
	d.pending = span{}
	if s.pkg == nil {
		return nil
	}
	if err := d.earlier.take(d.open.packing, s); err != nil {
		return err
	}
	return d.earlier.copyEntries(d.open.manifest, s)
}

func (d *resourceDump) newFile() (*dumpFile, error) {
	p, err := d.stage.newPacking()
	if err != nil {
		return nil, err
	}
	manifest, err := d.stage.create()
	if err != nil {
		return nil, err
	}
	f := &dumpFile{packing: p, manifest: manifest, at: d.at, completed: d.at}
	head, err := f.head(d.layout)
	if err != nil {
		return nil, err
	}
	_, err = manifest.Write(head)
	return f, err
}

// head returns what stands before the entries of the manifest; it is always of
// the same length.
func (f *dumpFile) head(l layout.Layout) ([]byte, error) {
	head := dumpHead(l, resourcesync.Metadata{Capability: resourcesync.ResourceDumpManifest, At: f.at, Completed: f.completed})
	return resourcesync.AppendHead(nil, &head)
}

func (d *resourceDump) finishPiece() error {
	p := dumpPiece{span: d.pending}
	if d.open != nil {
		if err := d.flush(); err != nil {
			return err
		}
		if err := d.finishFile(); err != nil {
			return err
		}
		p = dumpPiece{file: d.open}
	}
	d.pieces = append(d.pieces, p)
	d.count, d.pending, d.open = 0, span{}, nil
	return nil
}

// finishFile completes the package that is being written.
func (d *resourceDump) finishFile() error {
	f := d.open
	if now := d.now().UTC().Truncate(time.Second); now.After(f.at) {
		f.completed = now
	}
	if err := f.manifest.endEntries(); err != nil {
		return err
	}
	head, err := f.head(d.layout)
	if err != nil {
		return err
	}
	if err := f.manifest.setHead(head); err != nil {
		return err
	}
	if err := f.pause(); err != nil {
		return err
	}
	return f.finish(f.manifest, d.policy, f.completed)
}

// finish ends the last package, and copies those that became shorter: what is
// left of them stands in one piece, so that it did not show before.
func (d *resourceDump) finish() error {
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
		if p.file != nil || p.isWhole() {
			continue
		}
		d.pending = p.span
		if err := d.flush(); err != nil {
			return err
		}
		if err := d.finishFile(); err != nil {
			return err
		}
		p.file, d.open = d.open, nil
	}
	return d.earlier.close()
}

// warn tells of bitstreams that are larger than a package should be.
func (d *resourceDump) warn(warn func(format string, args ...any)) {
	switch {
	case d == nil || d.large == 0:
	case d.large == 1:
		warn("%q is larger than a package should be, and is in one of its own", d.firstLarge)
	default:
		warn("%q and %d more are larger than a package should be, and are each in one of their own", d.firstLarge, d.large-1)
	}
}

// isWhole reports whether a piece is all of an earlier package.
func (p *dumpPiece) isWhole() bool {
	return p.pkg != nil && p.from == 0 && p.to == p.pkg.Entries && p.pkg.Lost == nil
}

// unchanged reports whether the packages are those that were published.
func (d *resourceDump) unchanged() bool {
	if d.last == nil || d.last.Lost != nil || len(d.last.Packages) != len(d.pieces) {
		return false
	}
	for i := range d.pieces {
		if d.pieces[i].file != nil || d.pieces[i].pkg != d.last.Packages[i] {
			return false
		}
	}
	return true
}

// writeBodies stages the packages and their manifests.
func (d *resourceDump) writeBodies() error {
	d.written = true
	for i := range d.pieces {
		p, err := d.publishPiece(&d.pieces[i])
		if err != nil {
			return err
		}
		d.entries = append(d.entries, packageEntry(p))
	}
	return nil
}

func (d *resourceDump) publishPiece(p *dumpPiece) (*snapshot.Package, error) {
	if p.file == nil {
		d.reused[p.pkg.Path], d.reused[p.pkg.Manifest.Path] = true, true
		return p.pkg, nil
	}
	f := p.file
	if err := f.zip.sync(); err != nil {
		return nil, err
	}
	zip, manifest := d.layout.ResourceDumpPackage(f.zip.digest)
	pkg := &snapshot.Package{
		Ref: zip, Manifest: manifest, At: f.at, Completed: f.completed, Hash: f.zip.hash(), Length: f.zip.length,
	}
	return pkg, d.stage.putPackage(f.zip, f.manifest, pkg)
}

// putPackage plans to publish a package and its manifest.
func (s *stage) putPackage(zip, manifest *document, p *snapshot.Package) error {
	if err := s.put(zip, p.Ref, true); err != nil {
		return err
	}
	s.packages++
	s.packageBytes += zip.length
	return s.put(manifest, p.Manifest, true)
}

// writeHead stages the Resource Dump or, if it has very many packages, its
// Index.
func (d *resourceDump) writeHead(at, completed time.Time) error {
	doc := &dumpDocument{
		Layout: d.layout, limits: d.limits, ref: d.layout.ResourceDump(), packages: d.entries, links: d.links,
		metadata: resourcesync.Metadata{Capability: resourcesync.ResourceDump, At: at, Completed: completed},
	}
	d.indexed = len(doc.cuts()) > 1
	return d.stage.putDump(doc)
}
