package zipdump

import (
	"errors"
	"fmt"
	"io"
)

// ErrForeign is for a file that is no package as Writer makes them, because
// something else made it, or because it is damaged.
var ErrForeign = errors.New("not a package of the expected layout")

func foreign(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrForeign, fmt.Sprintf(format, args...))
}

// What an earlier package can have at most. It bounds what Open allocates.
const (
	maxEntries   = 50_001   // with the manifest
	maxDirectory = 64 << 20 // in bytes
)

// Package is an earlier package. Its directory is held in memory as it is in
// the file. It is safe for concurrent use if its reader is.
type Package struct {
	r         io.ReaderAt
	comment   string
	directory []byte
	records   []uint32 // where they begin in the directory, the manifest's last
}

// Open opens a package of size bytes, and reads all of its directory. It returns
// an error that is ErrForeign if anything there is not as Writer writes it, or
// if entries do not follow each other without gaps. The entries' own headers are
// compared to the directory when they are opened or taken.
func Open(r io.ReaderAt, size int64) (*Package, error) {
	p, err := open(r, size)
	if err != nil {
		return nil, fmt.Errorf("opening a package: %w", err)
	}
	return p, nil
}

func open(r io.ReaderAt, size int64) (*Package, error) {
	tail := make([]byte, min(max(size, 0), end64Size+locatorSize+endSize+max16))
	if err := readAt(r, tail, size-int64(len(tail))); err != nil {
		return nil, err
	}
	end, comment, ok := parseEnd(tail)
	if !ok {
		return nil, foreign("the end records are missing or unusual")
	}
	ending := int64(len(appendEnd(nil, end, comment)))
	switch {
	case end.Entries < 1 || end.Entries > maxEntries:
		return nil, foreign("%d entries, where 1 to %d are possible", end.Entries, maxEntries)
	case end.DirectorySize > maxDirectory:
		return nil, foreign("a directory of %d bytes, where %d are possible", end.DirectorySize, maxDirectory)
	case end.Size != size-ending-end.DirectorySize:
		return nil, foreign("the directory does not stand between entries and end records")
	}
	p := &Package{r: r, comment: comment, directory: make([]byte, end.DirectorySize)}
	if err := readAt(r, p.directory, end.Size); err != nil {
		return nil, err
	}
	return p, p.check(end)
}

// check reads the directory, and sees whether the entries fill all the bytes
// before it in the same order.
func (p *Package) check(end End) error {
	p.records = make([]uint32, 0, end.Entries)
	var next int64 // where the next entry has to be
	for at := 0; at < len(p.directory); {
		e, n := parseCentral(p.directory[at:])
		if n == 0 {
			return foreign("record %d of the directory is cut off, or has other flags, attributes or extra fields", len(p.records))
		}
		if err := e.check(next, end.Size); err != nil {
			return fmt.Errorf("%w (entry %q)", err, e.name)
		}
		if last := at+n == len(p.directory); last != (string(e.name) == manifestName) {
			return foreign("%s is missing, or not the last entry", manifestName)
		}
		next += e.localLength() + e.compressed
		p.records = append(p.records, uint32(at))
		if at += n; len(p.records) > end.Entries {
			break
		}
	}
	if len(p.records) != end.Entries {
		return foreign("other than the %d entries there should be", end.Entries)
	}
	if next != end.Size {
		return foreign("bytes %d to %d belong to no entry", next, end.Size)
	}
	return nil
}

// check says what is unusual about an entry that should be at an offset, and
// end by another.
func (e *entry) check(at, end int64) error {
	switch {
	case e.method != Store && e.method != Deflate:
		return foreign("unknown method %d", e.method)
	case e.method == Store && e.compressed != e.length:
		return foreign("stored as %d of %d bytes", e.compressed, e.length)
	case e.offset != at:
		return foreign("at byte %d instead of %d", e.offset, at)
	case e.localLength() > end-at || e.compressed > end-at-e.localLength():
		return foreign("goes on into the directory")
	}
	if err := checkPath(string(e.name)); err != nil && string(e.name) != manifestName {
		return foreign("%v", err)
	}
	return nil
}

// entry returns an entry that has been checked.
func (p *Package) entry(i int) entry {
	e, _ := parseCentral(p.directory[p.records[i]:])
	return e
}

// Comment returns the comment. Where it is not that of the Policy in use, the
// same content may come out as other bytes.
func (p *Package) Comment() string { return p.comment }

// Len returns the number of bitstreams, without the manifest.
func (p *Package) Len() int { return len(p.records) - 1 }

// Path returns the path of bitstream i within the package. Nothing is said
// against two that are the same.
func (p *Package) Path(i int) string { return string(p.entry(i).name) }

// Length returns the length of the content of bitstream i, in bytes.
func (p *Package) Length(i int) int64 { return p.entry(i).length }

// Open returns the content of bitstream i. Its reader returns an error that is
// ErrForeign instead of io.EOF if length or checksum are not as promised.
func (p *Package) Open(i int) (io.ReadCloser, error) {
	e := p.entry(i)
	content, err := p.content(e)
	if err != nil {
		return nil, fmt.Errorf("opening %q in a package: %w", e.name, err)
	}
	return content, nil
}

// Manifest returns the content of manifest.xml, as Open does.
func (p *Package) Manifest() (io.ReadCloser, error) { return p.Open(p.Len()) }
