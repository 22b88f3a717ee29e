package zipdump

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// take is a range of an earlier package.
type take struct{ pack, from, to int }

func TestTake(t *testing.T) {
	t.Parallel()
	list := mixed()
	more := files(text(100, 7), noise(200_000, 8), nil, text(70_000, 9))
	for i := range more {
		more[i].Path += ".more"
	}
	all := [][]file{list, more}
	var old []*Package
	for _, l := range all {
		old = append(old, openBytes(t, build(t, l)))
	}
	for name, takes := range map[string][]take{
		"nothing":      {{0, 0, 0}, {0, 6, 6}},
		"all":          {{0, 0, 6}},
		"one":          {{0, 2, 3}},
		"the last":     {{1, 3, 4}},
		"two packages": {{1, 1, 3}, {0, 0, 2}, {0, 3, 6}, {1, 0, 1}},
		"twice":        {{0, 4, 6}, {0, 4, 6}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var zip, directory bytes.Buffer
			w := NewWriter(&zip, &directory)
			want := files(text(5, 1))
			if err := w.Add(want[0].Header, pack(t, packer, want[0])); err != nil {
				t.Fatal(err)
			}
			for _, c := range takes {
				want = append(want, all[c.pack][c.from:c.to]...)
				if err := w.Take(old[c.pack], c.from, c.to); err != nil {
					t.Fatal(err)
				}
			}
			if w.Entries() != len(want) {
				t.Errorf("%d entries, want %d", w.Entries(), len(want))
			}
			if !bytes.Equal(complete(t, w, &zip, &directory), build(t, want)) {
				t.Error("other bytes than if they had been added")
			}
		})
	}
}

func TestTakeRefuses(t *testing.T) {
	t.Parallel()
	old := openBytes(t, build(t, files(nil, nil)))
	w := NewWriter(io.Discard, io.Discard)
	for _, c := range []take{{0, -1, 1}, {0, 2, 1}, {0, 0, 3}, {0, 3, 3}} {
		if err := w.Take(old, c.from, c.to); err == nil {
			t.Errorf("entries %d to %d were taken", c.from, c.to)
		}
	}
	if err := w.Take(old, 0, 2); err != nil {
		t.Error(err)
	}
}

// The table of hostile packages begins with a good one, of two entries with
// paths of equal length.
func TestHostile(t *testing.T) {
	t.Parallel()
	good := build(t, files(text(300, 1), noise(100, 2)))
	le := binary.LittleEndian
	p := openBytes(t, good)
	directory := bytes.Index(good, p.directory)
	end := directory + len(p.directory)
	second, third := int(p.entry(1).offset), int(p.entry(2).offset)
	records := [][]byte{p.directory[:p.records[1]], p.directory[p.records[1]:p.records[2]], p.directory[p.records[2]:]}
	set16 := func(at int, v uint16) func([]byte) []byte {
		return func(b []byte) []byte { le.PutUint16(b[at:], v); return b }
	}
	set32 := func(at int, v uint32) func([]byte) []byte {
		return func(b []byte) []byte { le.PutUint32(b[at:], v); return b }
	}
	// rebuilt has another directory, of the length that the end record says.
	rebuilt := func(count int, records ...[]byte) func([]byte) []byte {
		return func(b []byte) []byte {
			d := slices.Concat(records...)
			return appendEnd(append(b[:directory:directory], d...), End{count, int64(directory), int64(len(d))}, "x")
		}
	}
	for name, c := range map[string]struct {
		change func([]byte) []byte
		late   bool // it is seen when the first entry is read or taken
	}{
		"empty file":             {change: func(b []byte) []byte { return nil }},
		"end is missing":         {change: func(b []byte) []byte { return b[:end] }},
		"truncated":              {change: func(b []byte) []byte { return b[:len(b)-1] }},
		"beginning is missing":   {change: func(b []byte) []byte { return b[1:] }},
		"something before":       {change: func(b []byte) []byte { return append([]byte("x"), b...) }},
		"something behind":       {change: func(b []byte) []byte { return append(b, 'x') }},
		"no entries":             {change: func(b []byte) []byte { return appendEnd(nil, End{}, "") }},
		"gap":                    {change: rebuilt(2, records[0], records[2])},
		"gap at the beginning":   {change: rebuilt(2, records[1], records[2])},
		"overlapping":            {change: rebuilt(3, records[0], records[0], records[2])},
		"other order":            {change: rebuilt(3, records[1], records[0], records[2])},
		"manifest is missing":    {change: rebuilt(2, records[0], records[1])},
		"manifest in the middle": {change: rebuilt(3, records[0], records[2], records[1])},
		"too few counted":        {change: rebuilt(2, records...)},
		"too many counted":       {change: rebuilt(4, records...)},
		"many counted":           {change: rebuilt(65_535, records...)},
		"huge count":             {change: rebuilt(1<<31-1, records...)},
		"half a record":          {change: rebuilt(3, records[0], records[1], records[2][:40])},
		"huge directory": {change: func(b []byte) []byte {
			return appendEnd(b[:directory:directory], End{3, 0, 1 << 40}, "")
		}},
		"huge offset": {change: func(b []byte) []byte {
			return appendEnd(b[:end:end], End{3, 1 << 62, 1 << 62}, "")
		}},
		"directory too large": {change: func(b []byte) []byte {
			return appendEnd(make([]byte, maxDirectory+1), End{3, 0, maxDirectory + 1}, "")
		}},
		"encrypted":            {change: set16(directory+8, flags|1)},
		"with descriptor":      {change: set16(directory+8, flags|8)},
		"not flagged as UTF-8": {change: set16(directory+8, 0)},
		"other method":         {change: set16(directory+10, 12)},
		"stored otherwise":     {change: set16(directory+10, Store)},
		"larger than there is": {change: set32(directory+20, 1<<20)},
		"ZIP64 and no field":   {change: set32(directory+24, 1<<32-1)},
		"of another disk":      {change: set16(directory+34, 1)},
		"a symbolic link":      {change: set32(directory+38, 0o120777<<16)},
		"a comment of its own": {change: set16(directory+32, 1)},
		"made by MS-DOS":       {change: set16(directory+4, 20)},
		"bad extra field":      {change: set16(directory+30, 8)},
		"upwards": {change: func(b []byte) []byte {
			copy(b[directory+centralSize:], "../")
			return b
		}},
		"other local name": {late: true, change: func(b []byte) []byte { b[localSize] = 'R'; return b }},
		"local descriptor": {late: true, change: set16(6, flags|8)},
		"other local size": {late: true, change: set32(18, 5)},
		"no local header":  {late: true, change: set32(0, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := c.change(bytes.Clone(good))
			p, err := Open(bytes.NewReader(b), int64(len(b)))
			if !c.late {
				if !errors.Is(err, ErrForeign) {
					t.Errorf("Open returned %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.Open(0); !errors.Is(err, ErrForeign) {
				t.Errorf("opening an entry returned %v", err)
			}
			if err := NewWriter(io.Discard, io.Discard).Take(p, 0, 2); !errors.Is(err, ErrForeign) {
				t.Errorf("Take returned %v", err)
			}
			if err := NewWriter(io.Discard, io.Discard).Take(p, 1, 2); err != nil {
				t.Errorf("the other entry gave %v", err)
			}
		})
	}
	for name, at := range map[string]int{"deflated": localSize + 35, "stored": third - 1, "manifest": directory - 1} {
		b := bytes.Clone(good)
		b[at] ^= 0xff
		p := openBytes(t, b)
		i := map[bool]int{at > second: 1, at > third: 2}[true]
		r, err := p.Open(i)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = io.ReadAll(r); !errors.Is(err, ErrForeign) {
			t.Errorf("%s content is damaged, and the error %v", name, err)
		}
		r.Close()
	}
}

// TestDamagedLengths has directory and header agree on what is not so.
func TestDamagedLengths(t *testing.T) {
	t.Parallel()
	good := build(t, files(text(1000, 1)))
	for _, wrong := range []uint32{999, 1001, 1 << 31} {
		b := bytes.Clone(good)
		binary.LittleEndian.PutUint32(b[22:], wrong)
		binary.LittleEndian.PutUint32(b[bytes.Index(b, []byte("PK\x01\x02"))+24:], wrong)
		r, err := openBytes(t, b).Open(0)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, r); !errors.Is(err, ErrForeign) || n > 1000 {
			t.Errorf("%d instead of 1000: %v after %d bytes", wrong, err, n)
		}
	}
}

// failingAt fails to read from one place on.
type failingAt struct {
	*bytes.Reader
	from int64
}

func (f failingAt) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > f.from {
		return 0, errTest
	}
	return f.Reader.ReadAt(p, off)
}

func TestReadErrors(t *testing.T) {
	t.Parallel()
	good := build(t, files(noise(500_000, 1)))
	if _, err := Open(failingAt{bytes.NewReader(good), 1000}, int64(len(good))); !errors.Is(err, errTest) || errors.Is(err, ErrForeign) {
		t.Errorf("Open returned %v", err)
	}
	if _, err := Open(bytes.NewReader(good), int64(len(good)+1)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Open of more than there is returned %v", err)
	}
	p := openBytes(t, good)
	for _, from := range []int64{10, 200_000} {
		p.r = failingAt{bytes.NewReader(good), from}
		if err := NewWriter(io.Discard, io.Discard).Take(p, 0, 1); !errors.Is(err, errTest) || errors.Is(err, ErrForeign) {
			t.Errorf("Take returned %v", err)
		}
		r, err := p.Open(0)
		if err == nil {
			_, err = io.ReadAll(r)
		}
		if !errors.Is(err, errTest) || errors.Is(err, ErrForeign) {
			t.Errorf("reading returned %v", err)
		}
	}
	p.r = bytes.NewReader(good[:1000])
	if err := NewWriter(io.Discard, io.Discard).Take(p, 0, 1); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Take of what is gone returned %v", err)
	}
}

func TestContentClosed(t *testing.T) {
	t.Parallel()
	p := openBytes(t, build(t, files(text(1000, 1))))
	r, err := p.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.Close(), r.Close()); err != nil {
		t.Error(err)
	}
	if _, err := r.Read(make([]byte, 1)); err == nil {
		t.Error("read after Close")
	}
}

// FuzzOpen has whatever is accepted read, and made again.
func FuzzOpen(f *testing.F) {
	f.Add(build(f, nil))
	f.Add(build(f, files(text(100, 1), noise(10, 1), nil)))
	f.Add(appendEnd(nil, End{max16, max32, max32}, strings.Repeat("x", 100)))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Open(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			if !errors.Is(err, ErrForeign) {
				t.Error(err)
			}
			return
		}
		var zip, directory bytes.Buffer
		w := NewWriter(&zip, &directory)
		if err := w.Take(p, 0, p.Len()); err == nil && !bytes.HasPrefix(b, zip.Bytes()) {
			t.Error("Take wrote something else")
		} else if err == nil && !bytes.HasPrefix(p.directory, directory.Bytes()) {
			t.Error("Take made another directory")
		}
		for i := range p.Len() + 1 {
			r, err := p.Open(i)
			if err != nil {
				continue
			}
			if n, err := io.Copy(io.Discard, r); err == nil && n != p.Length(i) || n > p.Length(i) {
				t.Errorf("%q: %d bytes, want %d", p.Path(i), n, p.Length(i))
			}
			r.Close()
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	old := buildMany(b, maxEntries-1)
	b.ReportAllocs()
	for b.Loop() {
		openBytes(b, old)
	}
}

func BenchmarkTake(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("entries=%d", n), func(b *testing.B) {
			p := openBytes(b, build(b, files(slices.Repeat([][]byte{text(1000_000/n, 1)}, n)...)))
			w := NewWriter(io.Discard, io.Discard)
			b.SetBytes(p.entry(p.Len()).offset)
			b.ReportAllocs()
			for b.Loop() {
				if err := w.Take(p, 0, p.Len()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
