package resourcesync

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// document is all that a Decoder says of a document.
type document struct {
	Head    Document
	Entries []Entry
}

// decode reads a document, without the fast scanner if slowly is true.
func decode(r io.Reader, limits Limits, slowly bool) (document, error) {
	d := NewDecoder(r, limits)
	if slowly {
		d.begun = true
		d.fallBack("")
	}
	head, err := d.Document()
	if err != nil {
		return document{}, err
	}
	var entries []Entry
	for {
		e, err := d.Next()
		if err == io.EOF {
			return document{*head, entries}, nil
		}
		if err != nil {
			return document{}, err
		}
		entries = append(entries, *e)
	}
}

func mustDecode(t *testing.T, text string) document {
	t.Helper()
	got, err := decode(strings.NewReader(text), Limits{}, false)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func date(s string) time.Time {
	t, err := ParseDateTime(s)
	if err != nil {
		panic(err)
	}
	return t
}

// everything has each element and attribute, and the characters that are hard.
func everything() document {
	hard := "a&b<c>d\"e'f\tg\nh\rié漢😀\ufffdz"
	md := Metadata{
		Capability: ChangeDumpManifest, Change: Updated, DateTime: date("2026-01-02T03:04:05Z"),
		At: date("2026-01-02T03:04:06Z"), Completed: date("2026-01-02T03:04:07.25Z"),
		From: date("0001-02-03T04:05:06Z"), Until: date("9999-12-31T23:59:59Z"),
		Hash: HashOf([2]string{"md5", "d41d8cd98f00b204e9800998ecf8427e"}),
		Type: "text/html", Encoding: "gzip", Path: "/resources/ " + hard + " ",
	}
	md.SetLength(0)
	link := Link{
		Rel: "duplicate", Pri: 999_999, Href: "https://example.org/?a=1&b='2'", Modified: date("2026-01-02"),
		Hash: md.Hash, Length: 1 << 40, HasLength: true, Type: "a/b", Encoding: "br", Path: "/x", Profile: "urn:p",
	}
	return document{
		Head: Document{Style: "../a%20b/style.css", Metadata: md, Links: []Link{link, {Rel: "up", Href: "https://example.org/"}}},
		Entries: []Entry{
			{Loc: "https://example.org/a'b&c", LastModified: date("1601-01-01T00:00:00Z"), ChangeFreq: "daily", Metadata: md, Links: []Link{link, link}},
			{Loc: "https://example.org/plain"},
		},
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, index := range []bool{false, true} {
		want := everything()
		want.Head.Index = index
		text, err := Marshal(&want.Head, want.Entries)
		if err != nil {
			t.Fatal(err)
		}
		for _, slowly := range []bool{false, true} {
			got, err := decode(bytes.NewReader(text), Limits{}, slowly)
			if err != nil {
				t.Fatalf("index %v, slowly %v: %v", index, slowly, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("index %v, slowly %v (-want +got):\n%s", index, slowly, diff)
			}
		}
	}
}

func TestFastScannerTakesOwnDocuments(t *testing.T) {
	t.Parallel()
	doc := everything()
	text, err := Marshal(&doc.Head, doc.Entries)
	if err != nil {
		t.Fatal(err)
	}
	d := NewDecoder(iotest.OneByteReader(bytes.NewReader(text)), Limits{})
	for range doc.Entries {
		e, err := d.Next()
		if err != nil {
			t.Fatal(err)
		}
		p := d.Position()
		again, _ := AppendEntry(nil, false, e)
		if !p.Canonical || string(text[p.Start:p.End]) != string(again) {
			t.Errorf("position %+v of %s holds %q", p, e.Loc, text[p.Start:p.End])
		}
	}
	if _, err := d.Next(); err != io.EOF || d.slow != nil {
		t.Errorf("got %v, slow decoder %v", err, d.slow)
	}
}

// TestForeignForms has documents that others might write.
func TestForeignForms(t *testing.T) {
	t.Parallel()
	want := document{
		Head: Document{
			Metadata: Metadata{Capability: ResourceList, At: date("2026-01-02T00:00:00Z")},
			Links:    []Link{{Rel: "up", Href: "https://example.org/c.xml"}},
		},
		Entries: []Entry{{Loc: "https://example.org/a&b", LastModified: date("2025-12-31T23:00:00Z"), Metadata: Metadata{Type: "text/plain"}}},
	}
	const ns = `xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/"`
	tests := map[string]string{
		"byte order mark": "\ufeff" + `<?xml version="1.0"?><urlset ` + ns + `><rs:md capability="resourcelist" at="2026-01-02"/><rs:ln rel="up" href="https://example.org/c.xml"/><url><loc>https://example.org/a&amp;b</loc><lastmod>2026-01-01T00:00:00+01:00</lastmod><rs:md type="text/plain"/></url></urlset>`,
		"other prefixes": `<s:urlset xmlns:s="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns="http://www.openarchives.org/rs/terms/">
			<ln href="https://example.org/c.xml" rel="up"></ln><md at="2026-01-02T00:00Z" capability="resourcelist"/>
			<s:url><md type="text/plain"/><s:lastmod> 2025-12-31T23:00:00Z </s:lastmod><s:loc><![CDATA[https://example.org/a&b]]></s:loc></s:url></s:urlset>`,
		"comments, foreign elements and attributes": `<?xml version="1.0" encoding="utf-8"?><?xml-stylesheet href="x.css"?><!-- a --><urlset ` + ns + ` xmlns:x="urn:x"><!-- b -->
			<rs:md capability="resourcelist" at="2026-01-02" x:at="never"/><x:md capability="no"><x:y/></x:md><rs:ln rel="up" href="https://example.org/c.xml"/>
			<url x:a="1"><loc>https://exam<!-- c -->ple.org/a&#38;b</loc><x:loc>no</x:loc><lastmod>2025-12-31T23:00:00.000Z</lastmod><priority>0.5</priority><rs:md x:type="no" type="text/plain" rs:length="1"/></url></urlset>
			<!-- d -->`,
		"no declaration, Windows line ends": "<urlset " + ns + ">\r\n<rs:md capability='resourcelist' at='2026-01-02' until=''/>\r\n<rs:ln rel='up' href='https://example.org/c.xml'/>\r\n<url>\r\n<loc>\r\nhttps://example.org/a&amp;b\r\n</loc>\r\n<lastmod>2025-12-31T23:00:00Z</lastmod><rs:md type='text/plain'/></url>\r\n</urlset>\r\n",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(want, mustDecode(t, text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	const (
		md  = `<rs:md capability="resourcelist" at="2026-01-02T00:00:00Z"/>` + "\n"
		url = `<url><loc>https://example.org/a</loc></url>` + "\n"
	)
	list := func(body string) string { return headList + md + body + footList }
	tests := []struct{ name, text, want string }{
		{"empty", "", "the file is empty"},
		{"white space", " \n", "the file is empty"},
		{"text", "not found\n", "text outside the root element"},
		{"HTML", "<!DOCTYPE html><html></html>", "document type declarations are refused"},
		{"another root", "<html></html>", "the root element is {}html"},
		{"entities", `<!DOCTYPE r [<!ENTITY a "b">]><r>&a;</r>`, "document type declarations are refused"},
		{"unknown entity", list(`<url><loc>&a;</loc></url>`), "invalid character entity"},
		{"Latin-1", `<?xml version="1.0" encoding="ISO-8859-1"?><urlset/>`, "ISO-8859-1"},
		{"UTF-16", "\xff\xfe<\x00", "not in UTF-8"},
		{"not UTF-8", list("<url><loc>\xff</loc></url>"), "invalid UTF-8"},
		{"control character", list("<url><loc>\x01</loc></url>"), "illegal character code"},
		{"truncated in the head", headList[:90], "not well-formed"},
		{"truncated between entries", headList + md + url, "not well-formed"},
		{"truncated in an entry", headList + md + url[:20], "not well-formed"},
		{"truncated in the end tag", headList + md + url + "</urls", "not well-formed"},
		{"second root", list(url) + list(url), "a second root element"},
		{"text behind", list(url) + "x", "text outside the root element"},
		{"foot of another root", headList + md + footIdx, "not well-formed"},
		{"attribute twice", list(`<url><loc>a</loc><rs:md type="a" type="b"/></url>`), "comes twice"},
		{"loc twice", list("<url><loc>a</loc><loc>b</loc></url>"), "second loc"},
		{"no loc", list("<url><rs:md/></url>"), "without loc"},
		{"element in loc", list("<url><loc><b/></loc></url>"), "where text is expected"},
		{"md twice", list("<url><loc>a</loc><rs:md/><rs:md/></url>"), "second rs:md"},
		{"document md twice", headList + md + md + footList, "second rs:md"},
		{"bad time", list("<url><loc>a</loc><lastmod>yesterday</lastmod></url>"), "not a W3C Datetime"},
		{"bad length", list(`<url><loc>a</loc><rs:md length="-1"/></url>`), "not a number of bytes"},
		{"bad pri", list(`<url><loc>a</loc><rs:ln pri="first"/></url>`), "not a number"},
		{"deep", "<urlset xmlns='" + NamespaceSitemap + "'>" + strings.Repeat("<a>", 99), "nested more than"},
		{"long attribute of our own form", list(`<url><loc>a</loc><rs:md type="` + strings.Repeat("a", 70_000) + `"/></url>` + "\n"), "longer than"},
		{"long attribute", list(`<url><loc>` + strings.Repeat("a", 70_000) + `</loc></url>`), "longer than"},
		{"long line in pieces", list(`<url><loc>` + strings.Repeat("a<!---->", 70_000) + `</loc></url>`), "longer than"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, slowly := range []bool{false, true} {
				_, err := decode(strings.NewReader(tt.text), Limits{}, slowly)
				var located *SyntaxError
				if !errors.As(err, &located) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("slowly %v: got error %v, want one with %q", slowly, err, tt.want)
				}
			}
		})
	}
}

func TestErrorsAreLocated(t *testing.T) {
	t.Parallel()
	good := headList + `<rs:md capability="resourcelist"/>` + "\n" + strings.Repeat("<url><loc>a</loc></url>\n", 3)
	_, err := decode(strings.NewReader(good+"<url><loc>a</loc><loc/></url>\n"+footList), Limits{}, false)
	var got *SyntaxError
	if !errors.As(err, &got) || got.Line != 7 || got.Offset < int64(len(good)) || got.Offset > int64(len(good))+30 {
		t.Errorf("got %v, want an error in line 7 at about byte %d", err, len(good)+20)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	doc := Document{Metadata: Metadata{Capability: ResourceList}}
	text, err := Marshal(&doc, []Entry{{Loc: "a"}, {Loc: "b"}})
	if err != nil {
		t.Fatal(err)
	}
	size := int64(len(text))
	for _, tt := range []struct {
		limits Limits
		ok     bool
	}{
		{Limits{Entries: 2}, true}, {Limits{Entries: 1}, false},
		{Limits{Bytes: size}, true}, {Limits{Bytes: size - 1}, false},
	} {
		for _, slowly := range []bool{false, true} {
			_, err := decode(bytes.NewReader(text), tt.limits, slowly)
			if ok := err == nil; ok != tt.ok || !ok && !errors.Is(err, errLimit) {
				t.Errorf("%+v, slowly %v: got %v", tt.limits, slowly, err)
			}
		}
	}
}

func TestReadErrorsAreKept(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken disk")
	text := headList + `<rs:md capability="resourcelist"/>` + "\n<url><loc>a</loc></url>\n"
	r := io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken))
	if _, err := decode(r, Limits{}, false); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

// specExamples lists the standard's own examples, if they are at hand.
func specExamples(t testing.TB) []string {
	t.Helper()
	files, _ := filepath.Glob("../../shared/spec-examples/*.xml")
	if len(files) == 0 {
		t.Skip("the standard's examples are not beside the project")
	}
	return files
}

func TestStandardExamples(t *testing.T) {
	t.Parallel()
	for _, file := range specExamples(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got := mustDecode(t, string(text))
		if got.Head.Metadata.Capability == "" {
			t.Errorf("%s: no capability", file)
		}
		again, err := Marshal(&got.Head, got.Entries)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(got, mustDecode(t, string(again))); diff != "" {
			t.Errorf("%s changes when it is written (-read +again):\n%s", file, diff)
		}
	}
}

// FuzzDecoder checks that the fast scanner and encoding/xml agree, and that what
// is read can be written and read again.
// oddStyles are processing instructions that AppendHead does not write.
var oddStyles = []string{
	styleStart + "a.css" + styleEnd + styleStart + "b.css" + styleEnd,
	`<?xml-stylesheet  type="text/css" href="a.css"?>` + "\n",
	`<?xml-stylesheet type="text/xsl" href="a.xsl"?>` + "\n" + styleStart + "a.css" + styleEnd,
	styleStart + "javascript:alert(1)" + styleEnd,
	styleStart + "a&amp;b" + styleEnd,
	styleStart + styleEnd,
	"<!-- -->" + styleStart + "a.css" + styleEnd,
	`<?xml-stylesheet?>`,
}

func TestStyle(t *testing.T) {
	t.Parallel()
	for i, want := range []string{"a.css", "a.css", "a.css", "", "", "", "a.css", ""} {
		for _, slowly := range []bool{false, true} {
			text := prolog + oddStyles[i] + rootList + footList
			got, err := decode(strings.NewReader(text), Limits{}, slowly)
			if err != nil || got.Head.Style != want {
				t.Errorf("%q, slowly %t: got %q, %v, want %q", oddStyles[i], slowly, got.Head.Style, err, want)
			}
		}
	}
	for _, ref := range []string{"a.css", "../%C3%A4/style.css", `a"b`, "a b", "a?b", "javascript:x", "ä", "a&b", "a>b", "a'b"} {
		b, err := AppendHead(nil, &Document{Style: ref})
		if (err == nil) != IsStyle(ref) {
			t.Errorf("%q: got %s, %v", ref, b, err)
		}
	}
}

func TestSetStyle(t *testing.T) {
	t.Parallel()
	doc := everything()
	text, err := Marshal(&doc.Head, doc.Entries)
	if err != nil {
		t.Fatal(err)
	}
	doc.Head.Style = "../../style.css"
	want, err := Marshal(&doc.Head, doc.Entries)
	if err != nil {
		t.Fatal(err)
	}
	if got := SetStyle(text, doc.Head.Style); string(got) != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	doc.Head.Style = ""
	if text, err = Marshal(&doc.Head, nil); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{"", "x", prolog, string(text)} {
		if got := SetStyle([]byte(other), "a.css"); string(got) != other {
			t.Errorf("%q became %q", other, got)
		}
	}
}

func FuzzDecoder(f *testing.F) {
	doc := everything()
	text, err := Marshal(&doc.Head, doc.Entries)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(headIdx + `<rs:md capability="changelist" from="2026-01-01T00:00:00Z"/>` + "\n<sitemap><loc>a</loc><rs:md/></sitemap>\n" + footIdx))
	f.Add([]byte(headList + `<rs:md capability="resourcelist" at="2026-12-31T23:59:60Z"/>` + "\n" +
		`<url><loc>a</loc><lastmod>0001-01-01T00:00:00Z</lastmod><rs:md length="007"/><rs:ln pri="+1"/></url>` + "\n" + footList))
	for _, instruction := range oddStyles {
		f.Add([]byte(prolog + instruction + rootList + footList))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		fast, errFast := decode(bytes.NewReader(text), Limits{}, false)
		slow, errSlow := decode(bytes.NewReader(text), Limits{}, true)
		if (errFast == nil) != (errSlow == nil) {
			t.Fatalf("fast: %v, slow: %v", errFast, errSlow)
		}
		if diff := cmp.Diff(slow, fast); diff != "" {
			t.Fatalf("(-slow +fast):\n%s", diff)
		}
		if errFast == nil {
			checkCanonical(t, text)
		}
	})
}

func checkCanonical(t *testing.T, text []byte) {
	d := NewDecoder(bytes.NewReader(text), Limits{})
	for {
		e, err := d.Next()
		if err != nil {
			return
		}
		p := d.Position()
		if !p.Canonical {
			continue
		}
		again, err := AppendEntry(nil, d.document.Index, e)
		if err != nil || string(again) != string(text[p.Start:p.End]) {
			t.Fatalf("canonical entry %q is written as %q (%v)", text[p.Start:p.End], again, err)
		}
	}
}
