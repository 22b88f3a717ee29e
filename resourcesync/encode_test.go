package resourcesync

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestMarshal(t *testing.T) {
	t.Parallel()
	doc := Document{
		Metadata: Metadata{Capability: ResourceList, At: date("2026-01-02T03:04:05Z")},
		Links:    []Link{{Rel: RelUp, Href: "https://example.org/capabilitylist.xml"}},
	}
	entry := Entry{Loc: "https://example.org/it's", LastModified: date("2026-01-01"), ChangeFreq: "daily",
		Metadata: Metadata{Hash: "md5:00", Type: "text/html"}}
	entry.Metadata.SetLength(12)
	got, err := Marshal(&doc, []Entry{entry})
	if err != nil {
		t.Fatal(err)
	}
	const want = `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
<rs:md capability="resourcelist" at="2026-01-02T03:04:05Z"/>
<rs:ln rel="up" href="https://example.org/capabilitylist.xml"/>
<url><loc>https://example.org/it&#39;s</loc><lastmod>2026-01-01T00:00:00Z</lastmod><changefreq>daily</changefreq><rs:md hash="md5:00" length="12" type="text/html"/></url>
</urlset>
`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestCannotBeWritten(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]Entry{
		"no URI":            {},
		"space in URI":      {Loc: "a b"},
		"control character": {Loc: "a", Metadata: Metadata{Path: "/\x01"}},
		"not UTF-8":         {Loc: "a", Metadata: Metadata{Path: "/\xff"}},
		"not a character":   {Loc: "a", Metadata: Metadata{Path: "/\uffff"}},
		"year 10000":        {Loc: "a", LastModified: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
		"negative year":     {Loc: "a", LastModified: time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)},
		"negative length":   {Loc: "a", Metadata: Metadata{Length: -1, HasLength: true}},
	} {
		if got, err := AppendEntry(nil, false, &e); err == nil {
			t.Errorf("%s: got %q, want an error", name, got)
		}
	}
}

// FuzzEscape compares with encoding/xml, which replaces what it cannot write.
func FuzzEscape(f *testing.F) {
	f.Add("a&b<c>d\"e'f\tg\nh\ri\x00\xff\ufffd\uffff😀")
	f.Fuzz(func(t *testing.T, s string) {
		w := writer{}
		w.escape(s)
		representable := utf8.ValidString(s)
		for _, r := range s {
			representable = representable && isXMLChar(r)
		}
		if (w.err == nil) != representable {
			t.Fatalf("%q: error %v, representable %v", s, w.err, representable)
		}
		if w.err != nil {
			return
		}
		var want bytes.Buffer
		if err := xml.EscapeText(&want, []byte(s)); err != nil {
			t.Fatal(err)
		}
		if string(w.dst) != want.String() {
			t.Errorf("got %q, want %q", w.dst, want.String())
		}
	})
}

// sample returns a Resource List of n entries, as Wellspring writes them.
func sample(n int) []byte {
	doc := Document{Metadata: Metadata{Capability: ResourceList, At: date("2026-01-02T03:04:05Z")}}
	b, _ := AppendHead(nil, &doc)
	for i := range n {
		e := sampleEntry(i)
		b, _ = AppendEntry(b, false, &e)
	}
	return AppendFoot(b, false)
}

func sampleEntry(i int) Entry {
	e := Entry{
		Loc:          fmt.Sprintf("https://example.org/collection/%04d/item-%08d.xml", i/1000, i),
		LastModified: date("2026-01-02T03:04:05Z"),
		Metadata: Metadata{
			Hash: Hash("sha-256:" + strings.Repeat("0123456789abcdef", 4)),
			Type: "application/xml",
		},
	}
	e.Metadata.SetLength(int64(1000 + i%977))
	return e
}

func BenchmarkDecoder(b *testing.B) {
	text := sample(50_000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		d := NewDecoder(bytes.NewReader(text), Limits{})
		for {
			if _, err := d.Next(); err == io.EOF {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkAppendEntry(b *testing.B) {
	e := sampleEntry(1)
	buf, _ := AppendEntry(nil, false, &e)
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
	for b.Loop() {
		buf, _ = AppendEntry(buf[:0], false, &e)
	}
}
