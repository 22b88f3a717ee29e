package zipdump

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"
)

var errTest = errors.New("failed as the test wants it")

// text returns n bytes that compress well.
func text(n int, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	words := []string{"archive ", "bitstream ", "change ", "dump ", "<title>", "</title>\n", "library ", "of "}
	b := make([]byte, 0, n+20)
	for len(b) < n {
		if r.IntN(5) == 0 {
			b = fmt.Appendf(b, "%d ", r.IntN(1_000_000))
		} else {
			b = append(b, words[r.IntN(len(words))]...)
		}
	}
	return b[:n]
}

// noise returns n bytes that do not compress.
func noise(n int, seed uint64) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(b)
	return b
}

// blend returns n bytes of both kinds, of which the levels make the same quick
// work.
func blend(n int, seed uint64) []byte {
	return append(text(n/8, seed), noise(n-n/8, seed)...)
}

// file is what goes into a package.
type file struct {
	Header
	mediaType string
	content   []byte
}

var day = time.Date(2024, 2, 29, 12, 30, 58, 0, time.UTC)

func files(contents ...[]byte) []file {
	var list []file
	for i, c := range contents {
		list = append(list, file{Header{Path(fmt.Sprintf("part/%d.txt", i)), day}, "text/plain", c})
	}
	return list
}

// mixed is a package with something of everything that is small.
func mixed() []file {
	list := files(nil, text(1, 1), text(1000, 2), noise(1000, 3), text(300_000, 4), noise(300_000, 5))
	list[3].Path = Path("Пример/日本語 — 100%.png")
	list[3].mediaType = "image/png"
	list[4].Modified = time.Date(1601, 1, 1, 0, 0, 0, 0, time.UTC)
	return list
}

// pack returns a finished Bitstream that is closed when the test ends.
func pack(t testing.TB, p *Packer, f file) *Bitstream {
	t.Helper()
	b := p.New()
	t.Cleanup(func() { b.Close() })
	b.Begin(f.mediaType, int64(len(f.content)))
	if n, err := b.Write(f.content); n != len(f.content) || err != nil {
		t.Fatalf("Write: %d, %v", n, err)
	}
	if err := b.Finish(); err != nil {
		t.Fatal(err)
	}
	return b
}

// packedBytes returns what a finished Bitstream holds.
func packedBytes(t testing.TB, b *Bitstream) []byte {
	t.Helper()
	var buf bytes.Buffer
	if n, err := b.WriteTo(&buf); n != b.Compressed() || n != int64(buf.Len()) || err != nil {
		t.Fatalf("WriteTo: %d of %d bytes, %v", n, b.Compressed(), err)
	}
	return buf.Bytes()
}

var packer = &Packer{Policy: Policy{Release: "1.2.3", Level: 6}}

func closing(t testing.TB) Closing {
	m := file{content: []byte("<urlset/>"), mediaType: "application/xml"}
	return Closing{Manifest: pack(t, packer, m), Modified: day, Comment: packer.Policy.Comment()}
}

// build returns a package.
func build(t testing.TB, list []file) []byte {
	t.Helper()
	var zip, directory bytes.Buffer
	w := NewWriter(&zip, &directory)
	for _, f := range list {
		if err := w.Add(f.Header, pack(t, packer, f)); err != nil {
			t.Fatal(err)
		}
	}
	return complete(t, w, &zip, &directory)
}

func complete(t testing.TB, w *Writer, zip, directory *bytes.Buffer) []byte {
	t.Helper()
	if w.Size() != int64(zip.Len()) || w.DirectorySize() != int64(directory.Len()) {
		t.Fatalf("Writer counts %d and %d bytes instead of %d and %d", w.Size(), w.DirectorySize(), zip.Len(), directory.Len())
	}
	n, err := w.End().Finish(zip, directory, closing(t))
	if err != nil || n != int64(zip.Len()) {
		t.Fatalf("Finish: %d, %v; %d bytes were written", n, err, zip.Len())
	}
	return zip.Bytes()
}

func openBytes(t testing.TB, b []byte) *Package {
	t.Helper()
	p, err := Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// spills makes temporary files in memory, and counts those that are open.
type spills struct {
	made, open atomic.Int64
	fail       string // the name of an operation
}

func (s *spills) New() (Spill, error) {
	if s.fail == "new" {
		return nil, errTest
	}
	s.made.Add(1)
	s.open.Add(1)
	return &spill{of: s}, nil
}

func (s *spills) check(t *testing.T, made int64) {
	t.Helper()
	if s.made.Load() != made || s.open.Load() != 0 {
		t.Errorf("%d spills made and %d of them left open, want %d and none", s.made.Load(), s.open.Load(), made)
	}
}

type spill struct {
	of     *spills
	data   []byte
	closed bool
}

func (s *spill) Write(p []byte) (int, error) {
	if s.of.fail == "write" && len(s.data) > 300_000 {
		return 1, errTest
	}
	s.data = append(s.data, p...)
	return len(p), nil
}

func (s *spill) ReadAt(p []byte, off int64) (int, error) {
	if s.of.fail == "read" && off > 100_000 {
		return 0, errTest
	}
	return bytes.NewReader(s.data).ReadAt(p, off)
}

func (s *spill) Close() error {
	if s.closed {
		return errors.New("closed twice")
	}
	s.closed = true
	s.of.open.Add(-1)
	if s.of.fail == "close" {
		return errTest
	}
	return nil
}

// failing is a writer that fails once it has been written to n times.
type failing struct{ n int }

func (f *failing) Write(p []byte) (int, error) {
	if f.n--; f.n < 0 {
		return len(p) / 2, errTest
	}
	return len(p), nil
}

// short is a writer that breaks the contract of io.Writer.
type short struct{}

func (short) Write(p []byte) (int, error) { return len(p) / 2, nil }

func readAll(t testing.TB, r io.ReadCloser, err error) []byte {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	return b
}

// chops are ways to divide n bytes into calls of Write.
func chops(n int) [][]int {
	ways := [][]int{{4095}, {blockSize + 1, 0}, {rawLimit - 1, 1, 1}, {rawLimit + 5}}
	if n <= blockSize+1 {
		ways = append(ways, []int{1}, []int{0, 1, 2, 3}, []int{blockSize})
	}
	return ways
}
