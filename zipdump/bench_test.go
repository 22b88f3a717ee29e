package zipdump

import (
	"io"
	"testing"
)

func BenchmarkPack(b *testing.B) {
	for _, c := range []struct {
		name string
		size int
	}{{"1KiB", 1 << 10}, {"16KiB", 16 << 10}, {"1MiB", 1 << 20}} {
		b.Run("size="+c.name, func(b *testing.B) {
			content := text(c.size, 1)
			w := NewWriter(io.Discard, io.Discard)
			h := Header{Path("some/file.txt"), day}
			b.SetBytes(int64(c.size))
			b.ReportAllocs()
			for b.Loop() {
				s := packer.New()
				s.Begin("text/plain", int64(c.size))
				s.Write(content)
				if err := s.Finish(); err != nil {
					b.Fatal(err)
				}
				if err := w.Add(h, s); err != nil {
					b.Fatal(err)
				}
				s.Close()
			}
		})
	}
}
