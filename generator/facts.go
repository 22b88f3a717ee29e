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

	// The blocks that were read last, and the one that is replaced next: links lead
	// to few places at a time.
	blocks [8]block
	next   int
}

// block is a part of the file in memory.
type block struct {
	n     int // which one it is, or -1
	facts []fact
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
	in    []factIn
	patch *patched
}

// factIn is what changed of a resource in a set, by the number of that.
type factIn struct {
	set    int
	change resourcesync.ChangeType
}

// newFacts makes the file, where temporary files are.
func newFacts() (*facts, error) {
	f, err := os.CreateTemp("", "wellspring-")
	if err != nil {
		return nil, err
	}
	os.Remove(f.Name()) // where it can be used without a name, nothing is left behind
	x := &facts{file: f, w: bufio.NewWriterSize(f, 128<<10)}
	for i := range x.blocks {
		x.blocks[i].n = -1
	}
	return x, nil
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
	for _, s := range [...]string{f.entry.Loc, f.Path, string(f.Type), f.Reason, string(md.Hash), md.Type, md.Encoding} {
		b = appendText(b, s)
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
	b = appendLinks(b, f.entry.Links)
	b = f.patch.appendTo(b)
	b = binary.AppendUvarint(b, uint64(len(f.in)))
	for i := range f.in {
		m := &f.in[i]
		b = binary.AppendUvarint(b, uint64(m.set.number))
		b = append(b, byte(slices.Index(changeTypes[:], m.change)))
	}
	x.buf = b
	x.length += int64(len(b))
	_, err := x.w.Write(b)
	return err
}

func (x *facts) finish() error { return x.w.Flush() }

// read reads the next fact.
func (f *fact) read(r *bufio.Reader) error {
	var texts [7]string
	for i := range texts {
		var err error
		if texts[i], err = readText(r); err != nil {
			if i == 0 && err == io.EOF {
				return io.EOF
			}
			return noEOF(err)
		}
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
	links, err := readLinks(r)
	if err != nil {
		return noEOF(err)
	}
	patch, err := readPatched(r)
	if err != nil {
		return noEOF(err)
	}
	in, err := readMembers(r)
	if err != nil {
		return noEOF(err)
	}
	*f = fact{
		Change: Change{URI: texts[0], Path: texts[1], Type: resourcesync.ChangeType(texts[2]), Reason: texts[3]},
		entry:  resourcesync.Entry{Loc: texts[0]}, size: size, in: in, patch: patch,
	}
	if f.Type == resourcesync.Deleted {
		return nil
	}
	f.entry.Metadata.Hash, f.entry.Metadata.Type, f.entry.Metadata.Encoding = resourcesync.Hash(texts[4]), texts[5], texts[6]
	f.entry.Metadata.SetLength(size)
	f.entry.Links = links
	if dated == 1 {
		f.entry.LastModified = time.Unix(modified, 0).UTC()
	}
	return nil
}

// changeTypes have numbers in the file.
var changeTypes = [...]resourcesync.ChangeType{"", resourcesync.Created, resourcesync.Updated, resourcesync.Deleted}

func readMembers(r *bufio.Reader) ([]factIn, error) {
	n, err := binary.ReadUvarint(r)
	if err != nil {
		return nil, err
	}
	in := make([]factIn, n)
	for i := range in {
		set, err := binary.ReadUvarint(r)
		if err != nil {
			return nil, err
		}
		change, err := r.ReadByte()
		if err != nil {
			return nil, err
		}
		in[i] = factIn{int(set), changeTypes[change]}
	}
	return in, nil
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

// find returns what is known of a file that exists: its URI may be that of another
// one, where URIs are not just paths.
func (x *facts) find(uri, path string) (*resourcesync.Entry, bool, error) {
	n, exact := slices.BinarySearchFunc(x.index, uri, func(at factAt, uri string) int { return strings.Compare(at.uri, uri) })
	if !exact {
		n--
	}
	if n < 0 {
		return nil, false, nil
	}
	held, err := x.load(n)
	if err != nil {
		return nil, false, err
	}
	i, ok := slices.BinarySearchFunc(held, uri, func(f fact, uri string) int { return strings.Compare(f.entry.Loc, uri) })
	if !ok || held[i].Type == resourcesync.Deleted || held[i].Path != path {
		return nil, false, nil
	}
	return &held[i].entry, true, nil
}

// load returns the facts of a block.
func (x *facts) load(n int) ([]fact, error) {
	for i := range x.blocks {
		if x.blocks[i].n == n {
			return x.blocks[i].facts, nil
		}
	}
	b := &x.blocks[x.next]
	x.next = (x.next + 1) % len(x.blocks)
	b.n, b.facts = -1, b.facts[:0]
	end := x.length
	if n+1 < len(x.index) {
		end = x.index[n+1].offset
	}
	begin := x.index[n].offset
	r := bufio.NewReader(io.NewSectionReader(x.file, begin, end-begin))
	for {
		var f fact
		err := f.read(r)
		if err == io.EOF {
			b.n = n
			return b.facts, nil
		}
		if err != nil {
			return nil, err
		}
		b.facts = append(b.facts, f)
	}
}

// finding returns the finding that was remembered, with what was published of it.
func (f *fact) finding(sets []*resourceSet, before *prior) *finding {
	found := &finding{Change: f.Change, entry: f.entry, size: f.size, patch: f.patch}
	for _, x := range f.in {
		m := member{set: sets[x.set], change: x.change}
		if before != nil {
			if i := slices.IndexFunc(before.in, func(p published) bool { return p.set == m.set }); i >= 0 {
				m.before, m.wasIn = *before.in[i].Previous, true
			}
		}
		found.in = append(found.in, m)
	}
	return found
}
