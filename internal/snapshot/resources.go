package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"iter"
	"strings"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

// readResourceList reads the head of the Resource List, or the whole Index.
func (s *Snapshot) readResourceList() error {
	ref := s.layout.ResourceList()
	doc, entries, err := s.readIndex(ref, resourcesync.ResourceList)
	if err == nil {
		err = s.checkUp(doc)
	}
	if err == nil && doc.Metadata.At.IsZero() {
		err = errors.New("it does not say at which time it is true")
	}
	if err != nil {
		return damaged(ref.Path, err)
	}
	md := doc.Metadata
	s.At, s.Completed, s.Indexed = md.At, md.Completed, doc.Index
	s.Last, s.Style = md.At, doc.Style
	if doc.Index {
		s.Parts, err = s.dumpParts(ref, "resourcelist/", entries)
		return err
	}
	info, err := stat(s.files, ref.Path)
	if err != nil {
		return damaged(ref.Path, err)
	}
	s.Parts = []Part{{Ref: ref, At: md.At, Completed: md.Completed, Length: info.Size()}}
	return nil
}

func (s *Snapshot) checkUp(doc *resourcesync.Document) error {
	if up, want := doc.Link(resourcesync.RelUp), s.layout.CapabilityList().URI; up != want {
		return otherIdentity("has the Capability List %q, not %q", up, want)
	}
	return nil
}

// Previous is a resource as it was published, and where its entry stands.
type Previous struct {
	resourcesync.Entry
	Part     int // in Snapshot.Parts
	Position resourcesync.Position
	// First is true for the first entry of a part.
	First bool
	// Package is the package of the Resource Dump that the resource is in, or
	// nil, and InPackage which of its bitstreams it is, from 0 on.
	Package   *Package
	InPackage int
}

// Resources yields the resources of the last publication in the byte order of
// their URIs, each valid until the next. Order, identity and the digests of all
// parts are checked on the way; the first error is yielded last.
func (s *Snapshot) Resources(ctx context.Context) iter.Seq2[*Previous, error] {
	return func(yield func(*Previous, error) bool) {
		last := ""
		at := s.packager()
		for i := range s.Parts {
			if ctx.Err() != nil {
				yield(nil, context.Cause(ctx))
				return
			}
			more, err := s.part(i, &last, at, yield)
			if err != nil {
				yield(nil, damaged(s.Parts[i].Path, err))
				return
			}
			if !more {
				return
			}
		}
	}
}

// part yields the entries of one part, of which last is the URI before.
func (s *Snapshot) part(i int, last *string, at *packager, yield func(*Previous, error) bool) (more bool, err error) {
	part := &s.Parts[i]
	f, err := open(s.files, part.Path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	sum := &summer{r: f, hash: sha256.New()}
	d := resourcesync.NewDecoder(sum, resourcesync.Limits{})
	if err := s.checkPart(d); err != nil {
		return false, err
	}
	p := Previous{Part: i, First: true}
	for ; ; p.First = false {
		e, err := d.Next()
		if err == io.EOF {
			return true, s.checkSum(part, sum)
		}
		if err != nil {
			return false, err
		}
		if e.Loc <= *last {
			return false, fmt.Errorf("%s does not come after %s in the order of bytes", quotedURI(e.Loc), quotedURI(*last))
		}
		if !strings.HasPrefix(e.Loc, s.layout.BaseURL) {
			return false, otherIdentity("lists %s, which is not below the base URL %q", quotedURI(e.Loc), s.layout.BaseURL)
		}
		*last = e.Loc
		p.Entry, p.Position = *e, d.Position()
		p.Package, p.InPackage = at.next(e)
		if !yield(&p, nil) {
			return false, nil
		}
	}
}

func (s *Snapshot) checkPart(d *resourcesync.Decoder) error {
	doc, err := head(d, resourcesync.ResourceList)
	if err != nil {
		return err
	}
	if doc.Index {
		return errors.New("it is an Index under an Index")
	}
	return s.checkUp(doc)
}

// checkSum compares a part with what its Index says of it. A Resource List
// without Index was compared with the record.
func (s *Snapshot) checkSum(part *Part, sum *summer) error {
	if !s.Indexed {
		return nil
	}
	want := part.Hash.Get("sha-256")
	if got := hex.EncodeToString(sum.hash.Sum(nil)); got != want || sum.length != part.Length {
		return errors.New("it has another digest or length than its Index says")
	}
	return nil
}

// summer digests what is read through it.
type summer struct {
	r      io.Reader
	hash   hash.Hash
	length int64
}

func (s *summer) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.hash.Write(p[:n])
	s.length += int64(n)
	return n, err
}

// Section returns bytes of a document of the publication, from start to end.
func (s *Snapshot) Section(path string, start, end int64) (io.ReadCloser, error) {
	f, err := open(s.files, path)
	if err != nil {
		return nil, damaged(path, err)
	}
	at, ok := f.(io.ReaderAt)
	if !ok {
		f.Close()
		return nil, fmt.Errorf("reading %s from its middle: %w", path, errors.ErrUnsupported)
	}
	return section{io.NewSectionReader(at, start, end-start), f}, nil
}

type section struct {
	*io.SectionReader
	f fs.File
}

func (s section) Close() error { return s.f.Close() }
