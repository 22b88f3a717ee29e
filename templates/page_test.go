package templates

import (
	"crypto/sha256"
	"encoding/base64"
	"html"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestParsePage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"<h1>{{.Title}}</h1>":                       "",
		"{{with chart .Changes}}{{.Most}}{{end}}x":  "",
		"one\n{{if}}":                               "my.html:2: missing value for if",
		"{{.Nothing}}":                              "my.html:1:2: executing",
		"{{(index .Sets 1).Name}}":                  "my.html:1:", // there may be one
		"{{len}}":                                   "my.html:1:",
		"<a href='{{if .Title}}\"{{else}}'{{end}}>": "my.html:1",
		"<script>{{.Title}}":                        "my.html",
		"":                                          "empty page",
		"\xff":                                      "not in UTF-8",
		strings.Repeat("x", MaxPage+1):              "longer than 1 MiB",
	} {
		_, err := ParsePage("my.html", text)
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.50q: got %v, want %s", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "template: ") {
			t.Errorf("%.50q: %v", text, err)
		}
	}
}

// The page says all there is, lets nothing but its own style in, and has no script.
func TestPage(t *testing.T) {
	t.Parallel()
	style := regexp.MustCompile(`(?s)<style>(.*)</style>`)
	for _, sample := range samples() {
		b, err := PageTemplate{}.Render(sample)
		if err != nil {
			t.Fatal(err)
		}
		page := string(b)
		sum := sha256.Sum256([]byte(style.FindStringSubmatch(page)[1]))
		if policy := "style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(page, policy) {
			t.Errorf("the policy does not let the style in: %s", policy)
		}
		for _, not := range []string{"<script", "style=", "onload", "ZgotmplZ", "<no value>", "STYLE-DIGEST"} {
			if strings.Contains(page, not) {
				t.Errorf("it has %s in it", not)
			}
		}
	}
}

// Nothing of what is inserted acts as markup, wherever it is inserted.
func TestPageEscapes(t *testing.T) {
	t.Parallel()
	const evil = `"'><script>alert(1)</script>{{.Title}}<!--&amp;` + "\u202e`"
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	doc := Document{Title: evil, Text: evil, Href: evil, URI: evil}
	p := &Page{
		Title: evil, BaseURL: "https://example.org/" + evil, PublicationURL: evil, DescribedBy: "javascript:alert(1)//" + evil, Description: doc, Since: at,
		Sets:     []Set{{Name: evil, DescribedBy: evil, Documents: []Document{doc}}, {Name: evil}},
		Changes:  []Change{{At: at, Created: 1}, {At: at, Updated: 1}},
		Commands: []Command{{evil, evil, evil}},
	}
	b, err := PageTemplate{}.Render(p)
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	_, body, _ := strings.Cut(page, "</style>")
	if strings.Contains(body, "<script") || strings.Contains(body, "<!--") || strings.Contains(body, `="javascript:`) {
		t.Errorf("something acts as markup in\n%s", body)
	}
	if n := strings.Count(html.UnescapeString(body), evil); n < 8 {
		t.Errorf("only %d of the texts are shown as they are", n)
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234", -999: "-999"} {
		if got := number(n); got != want {
			t.Errorf("%d: got %s", n, got)
		}
	}
	for n, want := range map[int64]string{
		0: "0 bytes", 1: "1 byte", 999: "999 bytes", 1000: "1.0 kB", 1049: "1.0 kB", 9949: "9.9 kB", 9999: "10 kB", 12345: "12 kB",
		999_499: "999 kB", 999_999: "1.0 MB", 1_500_000_000: "1.5 GB", 1<<63 - 1: "9.2 EB",
	} {
		if got := byteCount(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}

func TestChart(t *testing.T) {
	t.Parallel()
	at := func(day int) time.Time { return time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC) }
	if NewChart(nil) != nil || NewChart([]Change{{at(1), 1, 0, 0}}) != nil {
		t.Error("a picture of nothing")
	}
	c := NewChart([]Change{{at(3), 0, 0, 30}, {at(2), 1, 0, 0}, {at(1), 40, 30, 0}})
	if c.Width != 300 || c.Height != 1000 || c.Line != 700 || c.Most != 70 || c.Least != 30 || !c.From.Equal(at(1)) || !c.Until.Equal(at(3)) {
		t.Errorf("got %+v", c)
	}
	want := []Bar{
		{"updated", 271, 400, 8, 300}, {"created", 271, 0, 8, 400}, {"created", 281, 690, 8, 10}, {"deleted", 291, 700, 8, 300},
	}
	if len(c.Bars) != len(want) {
		t.Fatalf("got %+v", c.Bars)
	}
	for i, bar := range c.Bars {
		if bar != want[i] {
			t.Errorf("got %+v, want %+v", bar, want[i])
		}
	}
	// The greatest numbers that a record can have.
	const most = min(1<<40, math.MaxInt/4)
	huge := NewChart([]Change{{at(2), most, most, most}, {at(1), 1, 1, 1}})
	for _, bar := range huge.Bars {
		if bar.Height <= 0 || bar.Height > 1000 {
			t.Errorf("got %+v", bar)
		}
	}
}

// The templates in the documentation work.
func TestDocumentedTemplates(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../docs/page.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```html\n(.*?)```").FindAllStringSubmatch(string(b), -1)
	if len(blocks) < 2 {
		t.Fatal("there are no templates")
	}
	for _, block := range blocks {
		p, err := ParsePage("docs/page.md", block[1])
		if err != nil {
			t.Error(err)
			continue
		}
		for _, sample := range samples() {
			if got, err := p.Render(sample); err != nil || strings.Contains(string(got), "{{") {
				t.Errorf("got %s, %v", got, err)
			}
		}
	}
}
