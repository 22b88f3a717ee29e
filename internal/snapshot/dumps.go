package snapshot

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// ResourceDump is what was published as the Resource Dump.
type ResourceDump struct {
	At, Completed time.Time
	Dump
}

// ChangeDump is what was published as the Change Dump.
type ChangeDump struct {
	From time.Time
	Dump
}

// Dump is what both kinds have.
type Dump struct {
	Packages []*Package // of a Change Dump, in the order of time
	// Parts are the dumps of an Index, if there is one.
	Parts []Part
	// Lost, a *PartError, says why some of the packages are not known any more.
	Lost error
}

// PartError says that a dump under an Index is not what the Index says.
type PartError struct {
	Path string
	Err  error
}

func (e *PartError) Error() string { return e.Path + ": " + e.Err.Error() }
func (e *PartError) Unwrap() error { return e.Err }

// Package is a ZIP file of a dump.
type Package struct {
	layout.Ref
	Manifest      layout.Ref // the copy
	At, Completed time.Time  // of a Resource Dump
	From, Until   time.Time  // of a Change Dump
	Hash          resourcesync.Hash
	Length        int64 // in bytes
	// Lost says why the package or its manifest cannot be used any more. It is
	// nil if both are there.
	Lost error
	// Entries is how many resources are in a package of a Resource Dump, once
	// all of them have been read.
	Entries int
}

// readResourceDump reads the Resource Dump, if there is one.
func (s *Snapshot) readResourceDump() error {
	doc, dump, err := s.readPackages(s.layout.ResourceDump(), resourcesync.ResourceDump)
	if doc == nil || err != nil {
		return err
	}
	s.ResourceDump = &ResourceDump{At: doc.Metadata.At, Completed: doc.Metadata.Completed, Dump: dump}
	s.later(doc.Metadata.At)
	return nil
}

// readPackages reads a dump, or an Index and the dumps under it, and returns no document if
// there is none.
func (s *Snapshot) readPackages(ref layout.Ref, kind resourcesync.Capability) (doc *resourcesync.Document, dump Dump, err error) {
	doc, entries, err := s.readDump(ref, kind)
	if doc == nil || err != nil {
		return nil, dump, err
	}
	if dump.Parts, entries, dump.Lost, err = s.under(doc, entries, ref, kind, kind); err == nil {
		dump.Packages, err = s.packages(ref, string(kind)+"/", entries)
	}
	return doc, dump, err
}

// readDump reads a dump. It returns nil if there is none, and notes one that
// should be there.
func (s *Snapshot) readDump(ref layout.Ref, want resourcesync.Capability) (*resourcesync.Document, []resourcesync.Entry, error) {
	if s.Record != nil && s.Record.Head(ref.Path) == nil {
		return nil, nil, nil
	}
	doc, entries, err := s.read(ref, want)
	if isMissing(err) {
		if s.Record != nil {
			s.Missing = append(s.Missing, ref.Path)
		}
		return nil, nil, nil
	}
	if err == nil {
		err = s.checkUp(doc)
	}
	return doc, entries, damaged(ref.Path, err)
}

// dumpParts makes parts of the entries of an Index.
func (s *Snapshot) dumpParts(index layout.Ref, subfolder string, entries []resourcesync.Entry) ([]Part, error) {
	parts := make([]Part, len(entries))
	for i := range entries {
		md := entries[i].Metadata
		ref, err := s.reference(entries[i].Loc, subfolder)
		if err != nil {
			return nil, damaged(index.Path, err)
		}
		parts[i] = Part{Ref: ref, At: md.At, Completed: md.Completed, Hash: md.Hash, Length: md.Length}
	}
	return parts, nil
}

// under returns the documents under an Index, which are in the folder of a kind, and the
// entries of all of them; or the document's own entries if it is none. lost says which of
// them cannot be used, if there is one.
func (s *Snapshot) under(doc *resourcesync.Document, own []resourcesync.Entry, ref layout.Ref, kind, want resourcesync.Capability) (parts []Part, all []resourcesync.Entry, lost, err error) {
	if !doc.Index {
		return nil, own, nil, nil
	}
	if parts, err = s.dumpParts(ref, string(kind)+"/", own); err != nil {
		return nil, nil, nil, err
	}
	for i := range parts {
		entries, err := s.readDumpPart(&parts[i], want)
		if is[*fs.PathError](err) && !isMissing(err) {
			return nil, nil, nil, err
		}
		if err != nil {
			lost = &PartError{parts[i].Path, err}
		}
		all = append(all, entries...)
	}
	return parts, all, lost, nil
}

// allUnder is under where none may be lost.
func (s *Snapshot) allUnder(doc *resourcesync.Document, own []resourcesync.Entry, ref layout.Ref, kind, want resourcesync.Capability) ([]Part, []resourcesync.Entry, error) {
	parts, all, lost, err := s.under(doc, own, ref, kind, want)
	return parts, all, errors.Join(err, lost)
}

func (s *Snapshot) readDumpPart(part *Part, want resourcesync.Capability) ([]resourcesync.Entry, error) {
	length, sum, err := digest(s.files, part.Path)
	if err == nil && (length != part.Length || sum != part.Hash.Get("sha-256")) {
		err = errors.New("it has another digest or length than its Index says")
	}
	if err != nil {
		return nil, err
	}
	doc, entries, err := s.read(part.Ref, want)
	if err == nil && doc.Index {
		err = errors.New("it is an Index under an Index")
	}
	return entries, err
}

// packages makes packages of the entries of a dump, and looks whether they are
// still there.
func (s *Snapshot) packages(dump layout.Ref, subfolder string, entries []resourcesync.Entry) ([]*Package, error) {
	list := make([]*Package, len(entries))
	for i := range entries {
		p, err := s.newPackage(subfolder, &entries[i])
		if err != nil {
			return nil, damaged(dump.Path, err)
		}
		list[i] = p
	}
	return list, nil
}

func (s *Snapshot) newPackage(subfolder string, e *resourcesync.Entry) (*Package, error) {
	ref, err := s.reference(e.Loc, subfolder)
	if err != nil {
		return nil, err
	}
	md := e.Metadata
	if !md.HasLength || md.Hash.Get("sha-256") == "" {
		return nil, fmt.Errorf("its entry for %s has no length or digest", e.Loc)
	}
	p := &Package{
		Ref: ref, Manifest: s.layout.ManifestOf(ref), At: md.At, Completed: md.Completed,
		From: md.From, Until: md.Until, Hash: md.Hash, Length: md.Length,
	}
	if s.elsewhere {
		return p, nil
	}
	p.Lost = s.lost(p)
	if err := passing(p.Lost); err != nil {
		return nil, readError(p.Path, err)
	}
	return p, nil
}

// readError names the file that an error of the file system names, if it does.
func readError(path string, err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return &ReadError{e.Path, e.Err}
	}
	return &ReadError{path, err}
}

// passing returns an error that says nothing of what is published.
func passing(err error) error {
	if err == nil || errors.Is(err, errOtherLength) || isMissing(err) {
		return nil
	}
	return err
}

var errOtherLength = errors.New("it has another length than the dump says")

// lost says what of a package is not there, as far as that shows without reading
// it.
func (s *Snapshot) lost(p *Package) error {
	info, err := fs.Stat(s.files, p.Path)
	if err == nil && (!info.Mode().IsRegular() || info.Size() != p.Length) {
		err = errOtherLength
	}
	if err == nil {
		_, err = fs.Stat(s.files, p.Manifest.Path)
	}
	return err
}

// readChangeDump reads the Change Dump, if there is one, and checks that its
// packages join.
func (s *Snapshot) readChangeDump() error {
	ref := s.layout.ChangeDump()
	doc, dump, err := s.readPackages(ref, resourcesync.ChangeDump)
	if doc == nil || err != nil {
		return err
	}
	last := doc.Metadata.From
	if last.IsZero() || !doc.Metadata.Until.IsZero() {
		return damaged(ref.Path, errors.New("it is not an open Change Dump"))
	}
	s.later(last)
	s.ChangeDump = &ChangeDump{From: last, Dump: dump}
	if dump.Lost != nil {
		return nil
	}
	for _, p := range dump.Packages {
		if !p.From.Equal(last) || !p.Until.After(p.From) {
			return damaged(ref.Path, fmt.Errorf("%s does not begin where the package before it ends", p.URI))
		}
		last = p.Until
		s.later(last)
	}
	return nil
}

// IsWhole reports whether all packages are there, as far as is known.
func (d *ResourceDump) IsWhole() bool {
	return d.Lost == nil && !slices.ContainsFunc(d.Packages, func(p *Package) bool { return p.Lost != nil })
}

// Bodies returns the paths of all packages, manifests and parts.
func (d *Dump) Bodies() []string {
	return pathsOf(appendPackages(appendParts(nil, d.Parts), d.Packages))
}

// packager tells in which package each resource is, as they pass by. A dump is
// cut as its Resource List would be today, so nothing else has to say it.
type packager struct {
	cutter layout.PackageCutter
	rest   []*Package
	cut    bool // the next resource is in the next package
}

func (s *Snapshot) packager() *packager {
	if s.Cutter == nil || s.ResourceDump == nil || s.ResourceDump.Lost != nil {
		return nil
	}
	for _, p := range s.ResourceDump.Packages {
		p.Entries = 0
	}
	return &packager{cutter: *s.Cutter, rest: s.ResourceDump.Packages}
}

func (p *packager) next(e *resourcesync.Entry) (*Package, int) {
	if p == nil {
		return nil, 0
	}
	before, after := p.cutter.Add(e.Loc, e.Metadata.Length)
	if (before || p.cut) && len(p.rest) > 0 {
		p.rest = p.rest[1:]
	}
	p.cut = after
	if len(p.rest) == 0 {
		return nil, 0
	}
	p.rest[0].Entries++
	return p.rest[0], p.rest[0].Entries - 1
}

// PackageFile is an open package.
type PackageFile interface {
	io.Reader
	io.ReaderAt
	io.Closer
}

// OpenPackage opens a package.
func (s *Snapshot) OpenPackage(p *Package) (PackageFile, error) {
	f, err := s.files.Open(p.Path)
	if err != nil {
		return nil, err
	}
	at, ok := f.(PackageFile)
	if !ok {
		f.Close()
		return nil, fmt.Errorf("reading %s from its middle: %w", p.Path, errors.ErrUnsupported)
	}
	return at, nil
}
