package linking

import (
	"bufio"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/internal/survey"
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

// fact is a finding without its content, and with the sets it is in by their numbers.
type fact struct {
	found survey.Finding
	in    []factIn
}

// factIn is what changed of a resource in a set, by the number of that.
type factIn struct {
	set    int
	change resourcesync.ChangeType
}

func (f *fact) loc() string { return f.found.Entry.Loc }

// finding returns the finding that was remembered, with what was published of it.
func (f *fact) finding(sets []*last.Set, before *survey.Prior) *survey.Finding {
	found := f.found
	for _, x := range f.in {
		m := survey.Member{Set: sets[x.set], IsIn: x.change != resourcesync.Deleted, Change: x.change}
		if before != nil {
			if i := slices.IndexFunc(before.In, func(p survey.Published) bool { return p.Set == m.Set }); i >= 0 {
				m.Before, m.WasIn = *before.In[i].Previous, true
			}
		}
		found.In = append(found.In, m)
	}
	return &found
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
func (x *facts) add(f *survey.Finding) error {
	if x.n%factsInBlock == 0 {
		x.index = append(x.index, factAt{strings.Clone(f.Entry.Loc), x.length})
	}
	x.n++
	x.buf = appendFact(x.buf[:0], f)
	x.length += int64(len(x.buf))
	_, err := x.w.Write(x.buf)
	return err
}

func (x *facts) finish() error { return x.w.Flush() }

// all yields all facts, each valid until the next.
func (x *facts) all(yield func(*fact, error) bool) {
	r := bufio.NewReaderSize(io.NewSectionReader(x.file, 0, x.length), 128<<10)
	for {
		var f fact
		err := readFact(r, &f)
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
	i, ok := slices.BinarySearchFunc(held, uri, func(f fact, uri string) int { return strings.Compare(f.loc(), uri) })
	if !ok {
		return nil, false, nil
	}
	if f := &held[i].found; f.Type != resourcesync.Deleted && f.Path == path {
		return &f.Entry, true, nil
	}
	return nil, false, nil
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
	r := bufio.NewReader(x.section(n))
	for {
		var f fact
		err := readFact(r, &f)
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

// section returns the part of the file with a block.
func (x *facts) section(n int) *io.SectionReader {
	begin, end := x.index[n].offset, x.length
	if n+1 < len(x.index) {
		end = x.index[n+1].offset
	}
	return io.NewSectionReader(x.file, begin, end-begin)
}
