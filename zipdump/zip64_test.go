package zipdump

import (
	"archive/zip"
	"bytes"
	"io"
	"sort"
	"testing"

	kzip "github.com/klauspost/compress/zip"
)

// sparse is a file in memory in which long runs of zeros take no room.
type sparse struct {
	pieces []piece
	size   int64
}

type piece struct {
	offset int64
	data   []byte // nil for zeros
}

var zeros [blockSize]byte

func (s *sparse) Write(p []byte) (int, error) {
	var data []byte
	if len(p) != blockSize || !bytes.Equal(p, zeros[:]) {
		data = append([]byte{}, p...)
	}
	if n := len(s.pieces); n == 0 || data != nil || s.pieces[n-1].data != nil {
		s.pieces = append(s.pieces, piece{s.size, data})
	}
	s.size += int64(len(p))
	return len(p), nil
}

func (s *sparse) ReadAt(p []byte, off int64) (int, error) {
	for done := 0; ; {
		at := off + int64(done)
		if at >= s.size {
			return done, io.EOF
		}
		i := sort.Search(len(s.pieces), func(i int) bool { return s.pieces[i].offset > at })
		end := s.size
		if i < len(s.pieces) {
			end = s.pieces[i].offset
		}
		part := p[done:min(int64(len(p)), int64(done)+end-at)]
		clear(part)
		if in := s.pieces[i-1]; in.data != nil {
			copy(part, in.data[at-in.offset:])
		}
		if done += len(part); done == len(p) {
			return done, nil
		}
	}
}

func (s *sparse) Close() error { return nil }

// huge returns a finished bitstream of zeros that nobody had to read. The
// checksum is not theirs.
func huge(size int64) *Bitstream {
	b := &Bitstream{state: finished, length: size, crc: 1}
	b.packed = held{size: size, spill: &sparse{size: size, pieces: []piece{{}}}}
	return b
}

func TestHuge(t *testing.T) {
	t.Parallel()
	const size = 1<<32 + 5
	small := pack(t, packer, file{content: text(1000, 1)})
	var out sparse
	var directory bytes.Buffer
	w := NewWriter(&out, &directory)
	add := func(w *Writer) {
		for i, b := range []*Bitstream{small, huge(size), small} {
			if err := w.Add(Header{Path(string(rune('a' + i))), day}, b); err != nil {
				t.Fatal(err)
			}
		}
	}
	add(w)
	total, err := w.End().Finish(&out, &directory, closing(t))
	if err != nil || total != out.size {
		t.Fatalf("Finish: %d of %d bytes, %v", total, out.size, err)
	}
	z, err := zip.NewReader(&out, out.size)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kzip.NewReader(&out, out.size); err != nil {
		t.Error(err)
	}
	p, err := Open(&out, out.size)
	if err != nil {
		t.Fatal(err)
	}
	if z.File[1].UncompressedSize64 != size || p.Length(1) != size {
		t.Errorf("lengths are %d and %d, want %d", z.File[1].UncompressedSize64, p.Length(1), int64(size))
	}
	for i, want := range []struct{ local, central, extra int }{{20, 20, 9}, {45, 45, 9 + 20}, {20, 45, 9 + 12}, {20, 45, 9 + 12}} {
		var local [6]byte
		e := p.entry(i)
		out.ReadAt(local[:], e.offset)
		if int(local[4]) != want.local || int(z.File[i].ReaderVersion) != want.central || len(z.File[i].Extra) != want.extra {
			t.Errorf("entry %d: versions %d and %d, %d bytes of extra fields", i, local[4], z.File[i].ReaderVersion, len(z.File[i].Extra))
		}
		if offset, err := z.File[i].DataOffset(); err != nil || offset != e.offset+e.localLength() {
			t.Errorf("entry %d: content at %d, %v", i, offset, err)
		}
	}
	r, err := z.File[2].Open()
	if got := readAll(t, r, err); !bytes.Equal(got, text(1000, 1)) {
		t.Error("other content behind 4 GiB")
	}
	r, err = p.Open(2)
	if got := readAll(t, r, err); !bytes.Equal(got, text(1000, 1)) {
		t.Error("Package has other content behind 4 GiB")
	}
	t.Run("taken", func(t *testing.T) { takeHuge(t, p, &out) })
}

// takeHuge has entries change places, so that offsets grow and shrink beyond
// what needs ZIP64.
func takeHuge(t *testing.T, p *Package, old *sparse) {
	var out sparse
	var directory bytes.Buffer
	w := NewWriter(&out, &directory)
	for _, i := range []int{2, 1, 0} {
		if err := w.Take(p, i, i+1); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.End().Finish(&out, &directory, closing(t)); err != nil {
		t.Fatal(err)
	}
	got, err := Open(&out, out.size)
	if err != nil {
		t.Fatal(err)
	}
	r, err := got.Open(2)
	if !bytes.Equal(readAll(t, r, err), text(1000, 1)) || out.size != old.size {
		t.Error("other content, or of another size")
	}
}

// TestLimits has sizes at the limits of 32 bits.
func TestLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		length, compressed, offset int64
		local, central             int // of the ZIP64 fields, in bytes
	}{
		{max32 - 1, max32 - 1, max32 - 1, 0, 0},
		{max32, 1000, 0, 20, 20},
		{1000, max32, 0, 20, 20},
		{0, 0, max32, 0, 12},
		{1 << 40, 1 << 41, 1 << 42, 20, 28},
	} {
		e := entry{name: []byte("name"), method: Deflate, length: c.length, compressed: c.compressed, offset: c.offset}
		if got := len(e.appendLocal(nil)) - localSize - 4; got != c.local || e.localLength() != int64(localSize+4+got) {
			t.Errorf("%+v: %d bytes in the local header", c, got)
		}
		b := e.appendCentral(nil)
		if got := len(b) - centralSize - 4; got != c.central {
			t.Errorf("%+v: %d bytes in the directory", c, got)
		}
		parsed, n := parseCentral(b)
		if n != len(b) || parsed.length != c.length || parsed.compressed != c.compressed || parsed.offset != c.offset {
			t.Errorf("%+v: got %+v", c, parsed)
		}
	}
	for _, c := range []struct {
		End
		want int
	}{
		{End{max16 - 1, max32 - 1, max32 - 1}, endSize},
		{End{max16, 0, 0}, endSize + locatorSize + end64Size},
		{End{1, max32, 0}, endSize + locatorSize + end64Size},
		{End{1, 0, max32}, endSize + locatorSize + end64Size},
	} {
		b := appendEnd(nil, c.End, "")
		got, _, ok := parseEnd(b)
		if len(b) != c.want || !ok || got.Size != c.Size || got.DirectorySize != c.DirectorySize {
			t.Errorf("%+v: %d bytes, got %+v, %t", c, len(b), got, ok)
		}
	}
}

func TestManyEntries(t *testing.T) {
	t.Parallel()
	for _, n := range []int{max16 - 2, max16 - 1, 70_000} { // and the manifest
		b := buildMany(t, n)
		z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		if len(z.File) != n+1 || z.File[n].Name != manifestName {
			t.Errorf("%d entries, want %d", len(z.File), n+1)
		}
		if got := bytes.Contains(b, []byte("PK\x06\x06")); got != (n+1 >= max16) {
			t.Errorf("%d entries and the manifest: ZIP64 is %t", n, got)
		}
	}
}
