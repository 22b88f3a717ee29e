package zipdump

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
	"testing"

	"github.com/klauspost/compress/flate"
)

func checkBitstream(t *testing.T, b *Bitstream, content []byte) {
	t.Helper()
	if b.Length() != int64(len(content)) || b.CRC32() != crc32.ChecksumIEEE(content) {
		t.Errorf("%d bytes with checksum %08x, want %d with %08x", b.Length(), b.CRC32(), len(content), crc32.ChecksumIEEE(content))
	}
	got := packedBytes(t, b)
	if b.Method() == Deflate {
		var err error
		if got, err = io.ReadAll(flate.NewReader(bytes.NewReader(got))); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(got, content) {
		t.Errorf("other content came out than had gone in")
	}
}

var sizes = []int{0, 1, 255, 256, 257, 20_000, blockSize - 1, blockSize, blockSize + 1, rawLimit, rawLimit + 1, 600_001}

// writeChopped writes content in pieces, again and again of the given sizes.
func writeChopped(t *testing.T, b *Bitstream, content []byte, pieces []int) {
	t.Helper()
	for i := 0; len(content) > 0; i++ {
		n := min(pieces[i%len(pieces)], len(content))
		if m, err := b.Write(content[:n]); m != n || err != nil {
			t.Fatalf("Write: %d of %d, %v", m, n, err)
		}
		content = content[n:]
	}
}

// TestChopped also has wrong sizes announced, and bitstreams used again after
// they got anywhere.
func TestChopped(t *testing.T) {
	t.Parallel()
	for _, level := range []int{0, 1, 6, 9} {
		for _, mediaType := range []string{"text/plain", "image/png"} {
			t.Run(fmt.Sprint(level, mediaType), func(t *testing.T) {
				t.Parallel()
				p := &Packer{Policy: Policy{Level: level}}
				again := p.New()
				defer again.Close()
				for i, n := range sizes {
					content := blend(n, uint64(i))
					want := packedBytes(t, pack(t, p, file{mediaType: mediaType, content: content}))
					writeChopped(t, again, noise(i*50_000, 1), []int{10_000})
					for _, pieces := range chops(n) {
						again.Reset()
						again.Begin(mediaType, []int64{-1, 0, 1, int64(n), 1 << 60}[i%5])
						writeChopped(t, again, content, pieces)
						if err := again.Finish(); err != nil {
							t.Fatal(err)
						}
						if !bytes.Equal(packedBytes(t, again), want) {
							t.Errorf("%d bytes in pieces of %v come out otherwise", n, pieces)
						}
					}
					checkBitstream(t, again, content)
					again.Reset()
				}
			})
		}
	}
}

func TestWorkers(t *testing.T) {
	t.Parallel()
	list := mixed()
	var want [][]byte
	for _, f := range list {
		want = append(want, packedBytes(t, pack(t, packer, f)))
	}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for i, f := range list {
				b := packer.New()
				b.Begin(f.mediaType, int64(len(f.content)))
				b.Write(f.content)
				err := b.Finish()
				var got bytes.Buffer
				b.WriteTo(&got)
				if !bytes.Equal(got.Bytes(), want[i]) || errors.Join(err, b.Close()) != nil {
					t.Errorf("bitstream %d comes out otherwise, or with an error: %v", i, err)
				}
			}
		})
	}
	wait.Wait()
}

func TestSpill(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		level   int
		content []byte
		made    int64
	}{
		"little":             {6, noise(rawLimit, 1), 0},
		"just fits":          {0, noise(2*rawLimit, 1), 0},
		"a bit too much":     {0, noise(2*rawLimit+1, 1), 1},
		"stored":             {0, noise(1_000_001, 1), 1},
		"deflated":           {6, noise(1_000_001, 1), 1},
		"deflated to little": {6, text(3_000_001, 1), 1},
		"to much less":       {6, make([]byte, 2_000_000), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s spills
			p := &Packer{Policy: Policy{Level: c.level}, MaxMemory: 1, Spill: s.New}
			b := pack(t, p, file{content: c.content})
			checkBitstream(t, b, c.content)
			want := packedBytes(t, pack(t, &Packer{Policy: p.Policy}, file{content: c.content}))
			if !bytes.Equal(packedBytes(t, b), want) {
				t.Error("comes out otherwise than from memory")
			}
			if c.made > 0 && len(b.packed.parts) > 0 {
				t.Error("holds memory besides the spill")
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
			s.check(t, c.made)
		})
	}
}

// TestSpillDropped has bitstreams ended before they were finished.
func TestSpillDropped(t *testing.T) {
	t.Parallel()
	var s spills
	p := &Packer{Policy: Policy{Level: 1}, MaxMemory: 1, Spill: s.New}
	b := p.New()
	for range 3 {
		b.Write(noise(700_000, 1))
		b.Reset()
	}
	b.Write(noise(700_000, 1))
	for range 2 {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	b.Reset()
	s.check(t, 4)
}

func TestSpillFails(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"new", "write", "read", "close"} {
		s := spills{fail: op}
		p := &Packer{MaxMemory: 1, Spill: s.New}
		b := p.New()
		_, err1 := b.Write(noise(1_200_000, 1))
		_, err2 := b.Write(noise(700_000, 1))
		err3 := b.Finish()
		_, err4 := b.WriteTo(io.Discard)
		err5 := b.Close()
		for i, err := range []error{err1, err2, err3, err4, err5} {
			before := op == "new" || op == "write"
			want := before && i < 3 || op == "read" && i == 3 || op == "close" && i == 4
			if before && i == 3 {
				want = false
				if err != errNotFinished {
					t.Errorf("%s: WriteTo returned %v", op, err)
				}
			}
			if errors.Is(err, errTest) != want {
				t.Errorf("%s: error %d is %v", op, i, err)
			}
		}
		s.check(t, s.made.Load())
	}
}

// TestHeld looks at how much memory is used.
func TestHeld(t *testing.T) {
	t.Parallel()
	for _, content := range [][]byte{noise(100, 1), text(1000, 1), text(30_000, 1), noise(70_000, 1), text(200_000, 1)} {
		b := pack(t, packer, file{content: content})
		total := 0
		for _, part := range b.packed.parts {
			total += cap(part.data)
		}
		if limit := max(2*int(b.Compressed()), minBuffer); total > limit || len(b.raw.parts) > 0 {
			t.Errorf("%d bytes of memory for %d", total, b.Compressed())
		}
	}
	for size := range blockSize + 1 {
		if c := minBuffer << class(size); c < size || c > minBuffer && c >= 2*size {
			t.Fatalf("a buffer of %d bytes for %d", c, size)
		}
	}
}

func TestOrderOfCalls(t *testing.T) {
	t.Parallel()
	b := packer.New()
	if _, err := b.WriteTo(io.Discard); err == nil {
		t.Error("WriteTo before Finish")
	}
	if err := errors.Join(b.Finish(), b.Finish()); err != nil {
		t.Error(err)
	}
	if _, err := b.Write([]byte("x")); err == nil {
		t.Error("Write after Finish")
	}
	if _, err := b.WriteTo(short{}); err != nil {
		t.Error(err) // there is nothing to write
	}
	b.Reset()
	if _, err := b.Write([]byte("x")); err != nil {
		t.Error(err)
	}
	if err := b.Finish(); err != nil {
		t.Error(err)
	}
	if _, err := b.WriteTo(short{}); !errors.Is(err, io.ErrShortWrite) {
		t.Error("a short write goes by:", err)
	}
	b.Close()
	if b.Finish() == nil {
		t.Error("Finish after Close")
	}
	if _, err := b.WriteTo(io.Discard); err == nil {
		t.Error("WriteTo after Close")
	}
}
