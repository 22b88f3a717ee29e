package hashing

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func BenchmarkReader(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10, 64 << 20} {
		for _, set := range []Set{nil, {SHA256}, {MD5, SHA256}} {
			b.Run(fmt.Sprintf("bytes=%d/digests=%d", size, len(set)), func(b *testing.B) {
				data, info := make([]byte, size), statOf(b, size)
				f := inMemory(info, data, nil)
				r := newPatientReader(openerFunc(func(string) (File, error) { return f, f.seek() }))
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := r.Read(b.Context(), Job{Path: "x.html", Name: "x.html", Want: set}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkOpen reads one small file again and again.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a", "b", "c"), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a", "b", "c", "file.html"), make([]byte, 1<<10), 0o644); err != nil {
		b.Fatal(err)
	}
	root := openRoot(b, dir)
	o, closeOpener, err := NewOpener(root)
	if err != nil {
		b.Fatal(err)
	}
	defer closeOpener()
	for name, opener := range map[string]Opener{"RootOpener": RootOpener{root}, "NewOpener": o} {
		b.Run(name, func(b *testing.B) {
			r := newPatientReader(opener)
			b.SetBytes(1 << 10)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Read(b.Context(), Job{Path: "a/b/c/file.html", Name: "file.html", Want: Set{SHA256}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// jobless is a variable so that the compiler does not see through it.
var jobless = func(*int) (Job, bool) { return Job{}, false }

// BenchmarkFiles is for what it costs an item to go through, without any
// reading.
func BenchmarkFiles(b *testing.B) {
	const items = 100_000
	b.Run(fmt.Sprintf("items=%d", items), func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, err := range Files(b.Context(), Pool{Workers: 2}, numbers(items, nil), jobless) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*items), "ns/item")
	})
}
