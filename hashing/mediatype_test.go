package hashing

import (
	"bytes"
	"compress/gzip"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// mediaTypeSyntax is RFC 6838's type-name "/" subtype-name, in lower case.
var mediaTypeSyntax = regexp.MustCompile(`^[a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9][a-z0-9!#$&^_.+-]*$`)

func TestByExtension(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"index.html":            "text/html",
		"INDEX.HTML":            "text/html",
		"Index.Html":            "text/html",
		"photo.JPG":             "image/jpeg",
		"app.WebManifest":       "application/manifest+json",
		"feed.xml":              "application/xml",
		"sitemap.xml.gz":        "application/gzip",
		"SITEMAP.XML.GZ":        "application/gzip",
		"crawl.warc":            "application/warc",
		"crawl.warc.gz":         "application/gzip",
		"crawl.wacz":            "application/wacz",
		"src.tar":               "application/x-tar",
		"src.tar.gz":            "application/gzip",
		"src.tgz":               "application/gzip",
		"src.tar.zst":           "application/zstd",
		"src.tar.Z":             "application/x-compress",
		"logo.svgz":             "image/svg+xml",
		"lib.min.js":            "text/javascript",
		"lib.min.js.map":        "application/json",
		"data.7z":               "application/x-7z-compressed",
		"records.mrc":           "application/marc",
		"dump.nt":               "application/n-triples",
		"track.opus":            "audio/ogg",
		"favicon.ico":           "image/x-icon",
		".tar.gz":               "application/gzip",
		"a b.pdf":               "application/pdf",
		"dir/page.html":         "text/html",
		"v1.2/page.html":        "text/html",
		"site.html/README":      "",
		"site.html/.css":        "",
		"site.html/":            "",
		"/":                     "",
		"":                      "",
		".":                     "",
		"..":                    "",
		"README":                "",
		"html":                  "",
		".html":                 "",
		"dir/.html":             "",
		"page.":                 "",
		"page.html.":            "",
		"page.html~":            "",
		"page.html ":            "",
		"stream.ts":             "",
		"index.php":             "",
		"a.unknown":             "",
		"A.UNKNOWN":             "",
		"track.\u212aml":        "", // the Kelvin sign folds to k in Unicode
		"TRACK.\u212aML":        "",
		"a.ABCDEFGHIJK":         "",
		"a.ABCDEFGHIJKL":        "",
		"a." + longName("X"):    "",
		"a." + longName("x"):    "",
		longName("a/") + "b.md": "text/markdown",
	} {
		if got := ByExtension(name); got != want {
			t.Errorf("ByExtension(%.40q) = %q, want %q", name, got, want)
		}
	}
}

func longName(s string) string { return strings.Repeat(s, 4096) }

// Every extension of the table is found in small and in capital letters.
func TestExtensionTypes(t *testing.T) {
	t.Parallel()
	checkLines(t)
	longest := 0
	for ext, mediaType := range extensionTypes {
		longest = max(longest, len(ext))
		if !isExtensionKey(ext) {
			t.Errorf("extension %q is not lower-case letters and digits", ext)
		}
		if !mediaTypeSyntax.MatchString(mediaType) {
			t.Errorf("extension %q: %q is not a lower-case media type", ext, mediaType)
		}
		checkFound(t, ext, mediaType)
	}
	if longest != longestExtension {
		t.Errorf("the longest extension has %d bytes, not %d", longest, longestExtension)
	}
}

// checkLines sees that no line of the table is passed over, or takes the place of another.
func checkLines(t *testing.T) {
	t.Helper()
	seen := map[string]bool{}
	for line := range strings.Lines(mediaTypes) {
		line, _, _ = strings.Cut(line, "#")
		switch fields := strings.Fields(line); {
		case len(fields) == 0:
		case len(fields) != 2:
			t.Errorf("%q is not an extension and its media type", line)
		case seen[fields[0]]:
			t.Errorf("the extension %q is in the table twice", fields[0])
		default:
			seen[fields[0]] = true
		}
	}
}

func isExtensionKey(ext string) bool {
	const allowed = "abcdefghijklmnopqrstuvwxyz0123456789"
	return ext != "" && strings.Trim(ext, allowed) == ""
}

func checkFound(t *testing.T, ext, want string) {
	t.Helper()
	for _, name := range []string{"name." + ext, "NAME." + strings.ToUpper(ext)} {
		if got := ByExtension(name); got != want {
			t.Errorf("ByExtension(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestSniff(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		head []byte
		want string
	}{
		{"nil", nil, ""},
		{"empty", []byte{}, ""},
		{"pdf", []byte("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"), "application/pdf"},
		{"png", []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"), "image/png"},
		{"gzip", gzipped(t, "text"), "application/gzip"},
		{"html", []byte("<!DOCTYPE html><html><title>x</title></html>"), "text/html"},
		{"html with a charset", []byte(`<html><meta charset="iso-8859-1">`), "text/html"},
		{"plain text", []byte("just some words\n"), "text/plain"},
		{"utf-16 text", []byte("\xff\xfeh\x00i\x00"), "text/plain"},
		{"go source", []byte("package x\n\nfunc f() {}\n"), "text/plain"},
		{"short json", []byte(`{"a": 1}`), "application/json"},
		{"start of a long json", longJSON()[:SniffLength], "application/json"},
		{"more than is wanted", longJSON(), "application/json"},
		{"random", randomBytes(SniffLength), ""},
		{"zeros", make([]byte, SniffLength), ""},
	} {
		if got := Sniff(test.head); got != test.want {
			t.Errorf("%s: Sniff = %q, want %q", test.name, got, test.want)
		}
	}
}

func gzipped(t *testing.T, s string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func longJSON() []byte {
	return []byte(`["` + strings.Repeat("words ", SniffLength) + `"]`)
}

// randomBytes has a fixed seed: the odd random start does look like a format.
func randomBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b) // never fails
	return b
}

func TestMediaType(t *testing.T) {
	t.Parallel()
	pdf := []byte("%PDF-1.7\n")
	for _, test := range []struct {
		name string
		head []byte
		want string
	}{
		{"a.html", pdf, "text/html"},
		{"a.html", nil, "text/html"},
		{"a.unknown", pdf, "application/pdf"},
		{"a", pdf, "application/pdf"},
		{".html", pdf, "application/pdf"},
		{"a", randomBytes(64), ""},
		{"a", nil, ""},
		{"", nil, ""},
	} {
		if got := MediaType(test.name, test.head); got != test.want {
			t.Errorf("MediaType(%q, %.8q) = %q, want %q", test.name, test.head, got, test.want)
		}
	}
}

func FuzzMediaType(f *testing.F) {
	f.Add("a.html", []byte("<html>"))
	f.Add("A.TAR.GZ", []byte("\x1f\x8b"))
	f.Add("a", []byte("<?xml version=\"1.0\" encoding=\"a;b c\"?><a/>"))
	f.Fuzz(func(t *testing.T, name string, head []byte) {
		for _, got := range []string{ByExtension(name), Sniff(head), MediaType(name, head)} {
			if got != "" && !mediaTypeSyntax.MatchString(got) {
				t.Errorf("%q, %q: %q is not a media type", name, head, got)
			}
		}
	})
}

// Not parallel: AllocsPerRun counts the allocations of the whole process.
func TestByExtensionAllocates(t *testing.T) {
	for _, name := range []string{"a/b.c/page.html", "a/b.c/page.unknown", "a/README", "a/PHOTO.JPG"} {
		if n := testing.AllocsPerRun(100, func() { ByExtension(name) }); n != 0 {
			t.Errorf("ByExtension(%q) allocates %v times", name, n)
		}
	}
}

func BenchmarkByExtension(b *testing.B) {
	for _, name := range []string{"a/b.c/page.html", "a/b.c/page.unknown", "a/PHOTO.JPG"} {
		b.Run(name[strings.LastIndexByte(name, '/')+1:], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ByExtension(name)
			}
		})
	}
}
