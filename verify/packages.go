package verify

import (
	"archive/zip"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/wellspring-sync/wellspring/internal/httpclient"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// packageOf is a package of a dump.
type packageOf struct {
	*child
	dump *document
	// manifest is the copy of the manifest that the dump links to, or the one in
	// the package. It is nil if neither was read.
	manifest *document
	// copied is true if it is the copy.
	copied bool
}

// packagesOf returns the packages of a dump, and reads the copies of their
// manifests.
func (s *set) packagesOf(ctx context.Context, d *document, fromArchive bool) ([]*packageOf, error) {
	var all []*packageOf
	var named []found
	var uris []string
	var fresh []*packageOf
	kind := ""
	for i := range d.children {
		c := &d.children[i]
		if !resourcesync.IsURI(c.uri) {
			continue
		}
		kind = d.checkPackageType(c, kind)
		p := s.byURI[c.uri]
		if p == nil {
			p = s.a.packageIn(d, c)
			s.byURI[c.uri] = p
			s.packages = append(s.packages, p)
			if l := findLink(c.links, resourcesync.RelContents); l != nil && resourcesync.IsURI(l.Href) {
				named = append(named, found{capability: manifestOf(d.capability), by: d, child: c.contents(l), list: s.list, archived: fromArchive})
				uris = append(uris, l.Href)
				fresh = append(fresh, p)
			}
		}
		all = append(all, p)
	}
	docs, err := s.a.follow(ctx, named, uris)
	for i, doc := range docs {
		if doc != nil && doc.read && !doc.other {
			fresh[i].manifest, fresh[i].copied = doc, true
		}
	}
	return all, err
}

// contents returns what a dump says of the copy of a manifest: its times are those
// of the package, and the rest stands in the link.
func (c *child) contents(l *link) *child {
	m := metadata{there: true, spot: c.spot}
	m.At, m.Completed, m.From, m.Until = c.md.At, c.md.Completed, c.md.From, c.md.Until
	m.Hash, m.Length, m.HasLength = l.Hash, l.Length, l.HasLength
	return &child{uri: l.Href, md: m, spot: c.spot}
}

// checkPackageType looks at the type of a package, and returns that of the dump so
// far.
func (d *document) checkPackageType(c *child, kind string) string {
	typ := essence(c.md.Type)
	if typ == "" || !c.md.HasLength {
		d.report(packageStated, c.spot, c.uri, "%s of the package is not stated", map[bool]string{true: "the type", false: "the length"}[typ == ""])
	}
	switch {
	case typ == "":
		return kind
	case typ != "application/zip":
		d.report(packageType, c.spot, typ, "the type of the package is %s, not application/zip", clip(typ))
	case kind != "" && kind != typ:
		d.report(packageType, c.spot, typ, "the type of the package is %s, that of others %s", clip(typ), clip(kind))
	}
	return typ
}

// changePackages returns the packages of Change Dumps in the order of time.
func (s *set) changePackages() []*packageOf {
	var all []*packageOf
	for _, p := range s.packages {
		if p.dump.capability == resourcesync.ChangeDump && p.manifest != nil {
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, func(x, y *packageOf) int { return x.manifest.head.md.From.Compare(y.manifest.head.md.From) })
	return all
}

// checkPackages opens all packages.
func (a *auditor) checkPackages(ctx context.Context) error {
	if a.o.Depth < Packages {
		return nil
	}
	var all []*packageOf
	met := map[*packageOf]bool{}
	for _, s := range a.sets {
		for _, p := range s.packages {
			if !slices.Contains(zipTypes, essence(p.md.Type)) {
				continue
			}
			if met[p] {
				p.manifest.lists = append(p.manifest.lists, s.list)
				continue
			}
			met[p] = true
			if p.manifest == nil {
				// The manifest inside takes the place of the copy.
				p.manifest = a.meet(p.uri+"#manifest.xml", found{capability: manifestOf(p.dump.capability), by: p.dump, child: p.child.contents(&link{}), list: s.list})
			}
			all = append(all, p)
		}
	}
	return inParallel(ctx, a.o.Jobs, all, func(ctx context.Context, p *packageOf) error { return p.check(ctx) })
}

// report reports something about the package.
func (p *packageOf) report(r *Rule, file *file, value, format string, args ...any) {
	found := Finding{Rule: r, Document: p.uri, Message: fmt.Sprintf(format, args...), Value: value, order: p.dump.order}
	if file != nil {
		found.File = file.path
	}
	p.dump.a.findings.add(found)
}

// check opens the package and compares it with what is stated of it, and its
// content with its manifest.
func (p *packageOf) check(ctx context.Context) error {
	a := p.dump.a
	f, err := a.place.open(ctx, p.uri, p.mostBytes())
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if isOurs(err) {
			return err
		}
		rule := packageMissing
		if e, ok := errors.AsType[*httpclient.Error](err); ok {
			rule, err = httpStatus, e
		} else if errors.Is(err, errElsewhere) {
			rule = documentElsewhere
		}
		p.dump.report(rule, p.spot, p.uri, "the package %s: %v", clip(p.uri), err)
		return nil
	}
	defer a.place.forget(p.uri)
	defer f.Close()
	a.packages.Add(1)
	if f.answer != nil {
		p.checkAnswer(f)
	}
	if ok, err := p.checkDigest(ctx, f); !ok || err != nil {
		return err
	}
	z, err := p.open(f)
	if z == nil || err != nil {
		return err
	}
	return z.check(ctx)
}

// zipTypes are those by which ZIP files go, and none that is stated.
var zipTypes = []string{"", "application/zip", "application/x-zip-compressed", "application/x-zip"}

// mostBytes is how much of a package is fetched: enough to see that it is too long.
func (p *packageOf) mostBytes() int64 {
	most := p.dump.a.o.Limits.PackageBytes
	if p.md.HasLength && p.md.Length < most {
		return p.md.Length + 1
	}
	return most
}

// checkDigest compares length and digests of the package with what is stated.
// Where they differ, what is inside is not looked at.
func (p *packageOf) checkDigest(ctx context.Context, f *file) (bool, error) {
	sums := map[string]string{}
	if p.md.Hash != "" && !(p.md.HasLength && p.md.Length != f.size) {
		var err error
		sums, _, err = digestOf(&contextReader{ctx, io.NewSectionReader(f, 0, f.size)}, algorithmsOf(p.md.Hash))
		if err != nil {
			return false, p.readError(ctx, f, err)
		}
	}
	p.dump.a.counted(f.size)
	if what := mismatch(p.md.Metadata, f.size, sums); what != "" {
		p.dump.report(packageDigest, p.spot, p.uri, "%s: %s", clip(p.uri), what)
		return false, nil
	}
	return true, nil
}

func (p *packageOf) readError(ctx context.Context, f *file, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p.report(packageZip, f, "", "reading the package: %v", err)
	return nil
}

// contextReader ends when its context does.
type contextReader struct {
	ctx context.Context
	io.Reader
}

func (r *contextReader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(p)
}

// openPackage is a package whose directory was read.
type openPackage struct {
	*packageOf
	file     *file
	files    []*zip.File // in the order in which they stand in the package
	manifest *zip.File
	listed   map[string][]*bitstream
	inflated int64
	odd      bool // the manifest has entries or links without a usable path
}

// bitstream is what the manifest says of a file in the package.
type bitstream struct {
	md  resourcesync.Metadata
	at  spot
	loc string
}

// open reads the directory of a package.
func (p *packageOf) open(f *file) (*openPackage, error) {
	limits := p.dump.a.o.Limits
	n, err := countFiles(f, f.size)
	if err != nil {
		p.report(packageZip, f, "", "the package cannot be opened: %v", err)
		return nil, nil
	}
	if n > uint64(limits.PackageFiles) {
		p.report(auditLimit, f, "", "the package has %d files or more, which is more than %d; it was not opened", n, limits.PackageFiles)
		return nil, nil
	}
	z, err := zip.NewReader(f, f.size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		p.report(packageZip, f, "", "the package cannot be opened: %v", err)
		return nil, nil
	}
	return &openPackage{packageOf: p, file: f, files: z.File, listed: map[string][]*bitstream{}}, nil
}

func (o *openPackage) check(ctx context.Context) error {
	if !o.checkNames() || !o.checkPlaces() {
		return nil
	}
	if o.manifest == nil {
		o.report(manifestMissing, o.file, "", "there is no manifest.xml at the top level of the package")
		return nil
	}
	ok, err := o.readManifest(ctx)
	if !ok || err != nil {
		return err
	}
	for _, f := range o.files {
		if err := o.checkFile(ctx, f); errors.Is(err, errInflation) {
			return nil
		} else if err != nil {
			return err
		}
	}
	o.reportMissing()
	return nil
}

// checkNames looks at how files in the package are called.
func (o *openPackage) checkNames() bool {
	seen := map[string]bool{}
	ok := true
	for _, f := range o.files {
		what := unsafeName(f)
		if what == "" && seen[f.Name] {
			what = "comes twice"
		}
		seen[f.Name] = true
		if what != "" {
			ok = false
			o.report(packageUnsafe, o.file, f.Name, "the file %q %s", clip(f.Name), what)
		}
		if f.Name == "manifest.xml" {
			o.manifest = f
		}
	}
	return ok
}

// unsafeName says why a file must not be unpacked, or nothing.
func unsafeName(f *zip.File) string {
	name := f.Name
	switch {
	case name == "":
		return "has no name"
	case strings.HasPrefix(name, "/"):
		return "has an absolute path"
	case strings.Contains(name, `\`):
		return "has a backslash in its path"
	case len(name) > 1 && name[1] == ':':
		return "has the path of a drive"
	case slices.Contains(strings.Split(name, "/"), ".."):
		return "leaves the directory into which it is unpacked"
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "has control characters in its path"
	case !f.Mode().IsRegular() && !f.Mode().IsDir():
		return "is not a regular file"
	}
	return ""
}

// checkPlaces sorts the files by where they stand in the package, and sees that
// none overlaps another.
func (o *openPackage) checkPlaces() bool {
	offsets := make(map[*zip.File]int64, len(o.files))
	for _, f := range o.files {
		offset, err := f.DataOffset()
		if err != nil {
			o.report(packageZip, o.file, f.Name, "the file %q is not where the directory says: %v", clip(f.Name), err)
			return false
		}
		offsets[f] = offset
	}
	slices.SortFunc(o.files, func(x, y *zip.File) int { return cmp.Compare(offsets[x], offsets[y]) })
	end := int64(0)
	const header = 30 // bytes, and the name
	for _, f := range o.files {
		begin := offsets[f]
		if begin-header-int64(len(f.Name)) < end {
			o.report(packageZip, o.file, f.Name, "the file %q overlaps another one", clip(f.Name))
			return false
		}
		end = begin + int64(f.CompressedSize64)
	}
	return true
}

// open returns the content of a file in the package, as far as the limits allow.
func (o *openPackage) openFile(ctx context.Context, f *zip.File) (io.ReadCloser, bool) {
	if f.Flags&1 != 0 {
		o.report(packageZip, o.file, f.Name, "the file %q is encrypted", clip(f.Name))
		return nil, false
	}
	if f.Method != zip.Store && f.Method != zip.Deflate {
		o.report(packageZip, o.file, f.Name, "the file %q has the compression method %d, which is neither stored nor deflated", clip(f.Name), f.Method)
		return nil, false
	}
	r, err := f.Open()
	if err != nil {
		o.report(packageZip, o.file, f.Name, "the file %q: %v", clip(f.Name), err)
		return nil, false
	}
	return &inflating{ReadCloser: r, ctx: ctx, o: o}, true
}

// inflating counts what comes out of a package.
type inflating struct {
	io.ReadCloser
	ctx context.Context
	o   *openPackage
}

var errInflation = errors.New("the content of the package is too long")

func (r *inflating) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	n, err := r.ReadCloser.Read(p)
	r.o.inflated += int64(n)
	limits := &r.o.dump.a.o.Limits
	if r.o.inflated > limits.Inflated && r.o.inflated/limits.Inflation > r.o.file.size {
		return n, errInflation
	}
	return n, err
}

// failed reports that a file in the package could not be read.
func (o *openPackage) failed(ctx context.Context, f *zip.File, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, errInflation):
		o.report(auditLimit, o.file, f.Name, "the content of the package is more than %d times as long as the package; it was not read further", o.dump.a.o.Limits.Inflation)
		return errInflation
	}
	o.report(packageZip, o.file, f.Name, "the file %q: %v", clip(f.Name), err)
	return nil
}

// readManifest reads the manifest in the package, and compares it with the copy.
func (o *openPackage) readManifest(ctx context.Context) (bool, error) {
	open := func() (io.ReadCloser, error) {
		r, ok := o.openFile(ctx, o.manifest)
		if !ok {
			return nil, errStop
		}
		return r, nil
	}
	inside := &summary{}
	d := o.packageOf.manifest
	var err error
	if o.copied {
		err = inside.read(ctx, d, open, o.list)
	} else {
		d.opener = o.packageOf.reopenManifest
		d.file, d.size = o.file.path, int64(o.manifest.UncompressedSize64)
		d.alsoEntry = o.list
		err = d.readFromPackage(ctx, open)
	}
	if err != nil {
		if err := o.failed(ctx, o.manifest, err); err != nil && !errors.Is(err, errInflation) {
			return false, err
		}
		return false, nil
	}
	if o.copied {
		return o.compareCopy(ctx, inside)
	}
	return d.read && !d.other, nil
}

// readFromPackage reads a manifest that stands in a package.
func (d *document) readFromPackage(ctx context.Context, open func() (io.ReadCloser, error)) error {
	f, err := open()
	if errors.Is(err, errStop) {
		return nil
	}
	defer f.Close()
	if err := d.readFrom(ctx, f, open); err != nil {
		return err
	}
	if d.read {
		d.checkUp(ctx)
		d.compareTimes(&d.found, &d.found.child.md)
	}
	return nil
}

// reopenManifest opens the package once more, for its manifest.
func (p *packageOf) reopenManifest() (io.ReadCloser, error) {
	f, err := p.dump.a.place.open(context.Background(), p.uri, p.mostBytes())
	if err != nil {
		return nil, err
	}
	z, err := zip.NewReader(f, f.size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		f.Close()
		return nil, err
	}
	r, err := z.Open("manifest.xml")
	if err != nil {
		f.Close()
		return nil, err
	}
	return &bothClosed{r, f}, nil
}

type bothClosed struct {
	io.ReadCloser
	also io.Closer
}

func (b *bothClosed) Close() error { return errors.Join(b.ReadCloser.Close(), b.also.Close()) }

// list takes in what the manifest says of bitstreams.
func (o *openPackage) list(e *entry) {
	if path, ok := strings.CutPrefix(e.md.Path, "/"); ok && e.md.Change != resourcesync.Deleted {
		o.listed[path] = append(o.listed[path], &bitstream{md: e.md.Metadata, at: e.spot, loc: e.loc})
	} else if e.md.Change != resourcesync.Deleted {
		o.odd = true
	}
	for i := range e.links {
		if path, ok := strings.CutPrefix(e.links[i].Path, "/"); ok {
			l := &e.links[i]
			o.listed[path] = append(o.listed[path], &bitstream{
				md: resourcesync.Metadata{Hash: l.Hash, Length: l.Length, HasLength: l.HasLength, Path: l.Path},
				at: e.spot, loc: l.Href,
			})
		} else if e.links[i].Path != "" {
			o.odd = true
		}
	}
}

// compareCopy compares the manifest in the package with its copy, entry by entry,
// since they may differ in white space.
func (o *openPackage) compareCopy(ctx context.Context, inside *summary) (bool, error) {
	outside := &summary{}
	d := o.packageOf.manifest
	err := outside.read(ctx, d, d.open, func(*entry) {})
	if err != nil {
		return false, err
	}
	if *inside != *outside {
		d.report(contentsDiffer, spot{}, o.uri, "it is not equal to the manifest in %s", clip(o.uri))
		return false, nil
	}
	return true, nil
}

// checkFile compares a file in the package with what the manifest says of it.
func (o *openPackage) checkFile(ctx context.Context, f *zip.File) error {
	if f == o.manifest || strings.HasSuffix(f.Name, "/") {
		return nil
	}
	listed := o.listed[f.Name]
	if listed == nil && o.odd {
		return nil // it may be one of these
	}
	if listed == nil {
		o.report(manifestUnlisted, o.file, f.Name, "the file %q is not listed in the manifest", clip(f.Name))
		return nil
	}
	delete(o.listed, f.Name)
	r, ok := o.openFile(ctx, f)
	if !ok {
		return nil
	}
	defer r.Close()
	var names []string
	for _, b := range listed { // which may be several resources with the same bytes
		names = append(names, algorithmsOf(b.md.Hash)...)
	}
	slices.Sort(names)
	sums, n, err := digestOf(r, slices.Compact(names))
	o.dump.a.counted(n)
	if err != nil {
		return o.failed(ctx, f, err)
	}
	o.dump.a.bitstreams.Add(1)
	for _, b := range listed {
		if what := mismatch(b.md, n, sums); what != "" {
			o.report(bitstreamDigest, o.file, b.loc, "the bitstream %q of %s: %s", clip(f.Name), clip(b.loc), what)
		}
	}
	return nil
}

// reportMissing reports paths at which there is nothing.
func (o *openPackage) reportMissing() {
	for path, listed := range o.listed { // what is left of them
		for _, b := range listed {
			o.packageOf.manifest.report(manifestPath, b.at, b.md.Path, "the package has nothing at %q, for %s", clip("/"+path), clip(b.loc))
		}
	}
}
