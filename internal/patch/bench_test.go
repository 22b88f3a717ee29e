package patch

import (
	"fmt"
	"testing"
)

func benchmark(b *testing.B, name, mediaType string, before, now []byte) {
	p, err := Make(mediaType, before, now)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("Make/"+name, func(b *testing.B) {
		b.SetBytes(int64(len(now)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Make(mediaType, before, now); err != nil {
				b.Fatal(err)
			}
		}
		if p != nil {
			b.ReportMetric(float64(len(p.Content)), "bytes/patch")
		}
	})
	if p == nil {
		return
	}
	b.Run("Apply/"+name, func(b *testing.B) {
		b.SetBytes(int64(len(now)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Apply(p.Type, before, p.Content); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkDelta(b *testing.B) {
	for _, n := range []int{4 << 10, 64 << 10, 1 << 20, 8 << 20, MaxLength} {
		r := random(1)
		before := randomBytes(r, n)
		benchmark(b, fmt.Sprintf("bytes=%d", n), "application/octet-stream", before, editBytes(r, before[:n-500]))
		benchmark(b, fmt.Sprintf("hopeless,bytes=%d", n), "application/octet-stream", before, randomBytes(r, n))
	}
}

func BenchmarkJSON(b *testing.B) {
	for _, n := range []int{100, 10_000, 60_000} {
		r := random(1)
		var records []any
		for i := range n {
			records = append(records, object{{"id", fmt.Sprint(i)}, {"title", `"` + sentence(r) + `"`}, {"tags", []any{`"a"`, `"b"`}}})
		}
		now := append(records[:n/2:n/2], records[n/2+1:]...)
		now[n/4] = object{{"id", "0"}}
		l := layouts["two spaces"]
		before := l.text(records)
		benchmark(b, fmt.Sprintf("records=%d", n), "application/json", before, l.text(now))
	}
}
