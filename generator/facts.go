package generator

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/snapshot"
)

// facts is a temporary file with what a run has found out about each resource, in
// the order of URIs. Only every so many-th URI is kept in memory, so that any of
// them is found by reading a few kilobytes.
type facts struct {
	file   *os.File
	w      *bufio.Writer
	length int64
	n      int
	index  []factAt
	buf    []byte

	// The block that was read last.
	block int
	held  []fact
}

// factAt is where a block begins.
type factAt struct {
	uri    string
	offset int64
}

// factsInBlock is how many facts are read to find one.
const factsInBlock = 32

// fact is a finding without its content.
type fact struct {
	Change
	entry resourcesync.Entry
	size  int64
}

// newFacts makes the file, where temporary files are.
func newFacts() (*facts, error) {
	f, err := os.CreateTemp("", "wellspring-")
	if err != nil {
		return nil, err
	}
	return &facts{file: f, w: bufio.NewWriterSize(f, 128<<10), block: -1}, nil
}

func (x *facts) close() {
	x.file.Close()
	os.Remove(x.file.Name())
}

// add takes the next finding.
func (x *facts) add(f *finding) error {
	if x.n%factsInBlock == 0 {
		x.index = append(x.index, factAt{strings.Clone(f.entry.Loc), x.length})
	}
	x.n++
	md := &f.entry.Metadata
	b := x.buf[:0]
	for _, s := range [...]string{f.entry.Loc, f.Path, string(f.Type), f.Reason, string(md.Hash), md.Type} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	modified := int64(0)
	if !f.entry.LastModified.IsZero() {
		modified = f.entry.LastModified.Unix()
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	b = binary.AppendVarint(b, modified)
	b = binary.AppendVarint(b, f.size)
	x.buf = b
	x.length += int64(len(b))
	_, err := x.w.Write(b)
	return err
}

func (x *facts) finish() error { return x.w.Flush() }

// read reads the next fact.
func (f *fact) read(r *bufio.Reader) error {
	var texts [6]string
	for i := range texts {
		n, err := binary.ReadUvarint(r)
		if err != nil {
			if i == 0 && err == io.EOF {
				return io.EOF
			}
			return noEOF(err)
		}
		b := make([]byte, n)
		if _, err := io.ReadFull(r, b); err != nil {
			return noEOF(err)
		}
		texts[i] = string(b)
	}
	dated, err := r.ReadByte()
	if err != nil {
		return noEOF(err)
	}
	modified, err := binary.ReadVarint(r)
	if err != nil {
		return noEOF(err)
	}
	size, err := binary.ReadVarint(r)
	if err != nil {
		return noEOF(err)
	}
	*f = fact{
		Change: Change{URI: texts[0], Path: texts[1], Type: resourcesync.ChangeType(texts[2]), Reason: texts[3]},
		entry:  resourcesync.Entry{Loc: texts[0]}, size: size,
	}
	if f.Type == resourcesync.Deleted {
		return nil
	}
	f.entry.Metadata.Hash, f.entry.Metadata.Type = resourcesync.Hash(texts[4]), texts[5]
	f.entry.Metadata.SetLength(size)
	if dated == 1 {
		f.entry.LastModified = time.Unix(modified, 0).UTC()
	}
	return nil
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// all yields all facts, each valid until the next.
func (x *facts) all(yield func(*fact, error) bool) {
	r := bufio.NewReaderSize(io.NewSectionReader(x.file, 0, x.length), 128<<10)
	for {
		var f fact
		err := f.read(r)
		if err == io.EOF {
			return
		}
		if !yield(&f, err) || err != nil {
			return
		}
	}
}

// find returns what is known of a resource that exists.
func (x *facts) find(uri string) (*resourcesync.Entry, bool, error) {
	block, exact := slices.BinarySearchFunc(x.index, uri, func(at factAt, uri string) int { return strings.Compare(at.uri, uri) })
	if !exact {
		block--
	}
	if block < 0 {
		return nil, false, nil
	}
	if err := x.load(block); err != nil {
		return nil, false, err
	}
	i, ok := slices.BinarySearchFunc(x.held, uri, func(f fact, uri string) int { return strings.Compare(f.entry.Loc, uri) })
	if !ok || x.held[i].Type == resourcesync.Deleted {
		return nil, false, nil
	}
	return &x.held[i].entry, true, nil
}

func (x *facts) load(block int) error {
	if x.block == block {
		return nil
	}
	end := x.length
	if block+1 < len(x.index) {
		end = x.index[block+1].offset
	}
	begin := x.index[block].offset
	r := bufio.NewReader(io.NewSectionReader(x.file, begin, end-begin))
	x.held, x.block = x.held[:0], -1
	for {
		var f fact
		err := f.read(r)
		if err == io.EOF {
			x.block = block
			return nil
		}
		if err != nil {
			return err
		}
		x.held = append(x.held, f)
	}
}

// finding returns the finding that was remembered, with its published entry.
func (f *fact) finding(before *snapshot.Previous) *finding {
	found := &finding{Change: f.Change, entry: f.entry, size: f.size}
	if f.Type == "" {
		found.before = before
	}
	return found
}
