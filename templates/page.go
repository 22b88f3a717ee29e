package templates

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Page is what there is to say to people of a publication. All that is in it is as
// it was published; nothing of it changes by itself.
type Page struct {
	// Title is what people call the Source.
	Title string
	// BaseURL is where the source is served, and PublicationURL where its publication is.
	BaseURL, PublicationURL string
	// DescribedBy is the URI of what describes the Source, if that is not the page.
	DescribedBy string
	// Description is the Source Description, with which everything begins.
	Description Document
	// Resources there are, and so many bytes, each counted once.
	Resources int
	Bytes     int64
	// Since is when the history begins that is known.
	Since time.Time
	// Sets are those that are shown, by name: one without a name if the publication has
	// no sets. There are so many more of them.
	Sets     []Set
	MoreSets int
	// Changes are the last publications with changes, the latest first.
	Changes []Change
	// Commands are what can be copied and pasted.
	Commands []Command
}

// Set is a set of resources.
type Set struct {
	Name        string
	DescribedBy string // a URI, or empty
	Resources   int
	Bytes       int64
	// Changed is when something in it last changed, or zero.
	Changed   time.Time
	Documents []Document
}

// Document is one that leads to resources.
type Document struct {
	Capability string // as in Z39.99-2017 §7
	Title      string // such as Resource List
	Text       string // what it is for
	Href       string // relative to the page, so that it works on any disk
	URI        string
}

// Change is what changed in one publication.
type Change struct {
	At                        time.Time
	Created, Updated, Deleted int
}

// Command is what somebody can do in a terminal.
type Command struct {
	Title, Text string
	Lines       string
}

// PageTemplate makes a page. The zero value stands for the one that is embedded.
type PageTemplate struct{ t *template.Template }

// MaxPage is how large a template for pages may be, in bytes.
const MaxPage = 1 << 20

//go:embed page.html
var pageText string

// Style is the style sheet with which browsers show documents.
//
//go:embed style.css
var Style []byte

var embedded = template.Must(parsePage("page.html", withPolicy(pageText)))

// ParsePage returns the template with a text, having tried it. Its name is in errors,
// which say in which line they are.
func ParsePage(name, text string) (PageTemplate, error) {
	if len(text) > MaxPage || !utf8.ValidString(text) {
		return PageTemplate{}, fmt.Errorf("the template %s is longer than 1 MiB, or not in UTF-8", name)
	}
	t, err := parsePage(name, text)
	if err != nil {
		return PageTemplate{}, plain(err)
	}
	p := PageTemplate{t}
	for _, sample := range samples() {
		if _, err := p.Render(sample); err != nil {
			return PageTemplate{}, plain(err)
		}
	}
	return p, nil
}

// plain takes off an error which package it is from.
func plain(err error) error {
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "html/template:"), "template: ")
	return errors.New(strings.TrimSpace(text))
}

func parsePage(name, text string) (*template.Template, error) {
	return template.New(name).Option("missingkey=error").Funcs(template.FuncMap{
		"number": number, "bytes": byteCount, "date": date, "time": clock, "iso": iso, "chart": NewChart,
	}).Parse(text)
}

var errEmptyPage = errors.New("the template makes an empty page")

// Render returns a page.
func (t PageTemplate) Render(p *Page) ([]byte, error) {
	from := t.t
	if from == nil {
		from = embedded
	}
	var b bytes.Buffer
	if err := from.Execute(&b, p); err != nil {
		return nil, err
	}
	if b.Len() == 0 {
		return nil, errEmptyPage
	}
	return b.Bytes(), nil
}

// withPolicy puts the digest of the style into the policy, which allows nothing else.
func withPolicy(text string) string {
	_, style, _ := strings.Cut(text, "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	sum := sha256.Sum256([]byte(style))
	return strings.Replace(text, "STYLE-DIGEST", "sha256-"+base64.StdEncoding.EncodeToString(sum[:]), 1)
}

// samples are pages with all that a page can have, and with nothing that it can be
// without, on which templates are tried.
func samples() []*Page {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	doc := NewDocument("resourcelist", "resourcelist.xml", "https://example.org/resourcesync/resourcelist.xml")
	least := &Page{Title: "t", BaseURL: "https://example.org/", PublicationURL: "https://example.org/", Since: at, Description: doc, Sets: []Set{{}}}
	set := Set{Name: "n", DescribedBy: "https://example.org/n", Resources: 1, Bytes: 1, Changed: at, Documents: []Document{doc}}
	full := &Page{
		Title: "t", BaseURL: least.BaseURL, PublicationURL: least.PublicationURL, DescribedBy: "https://example.org/d", Description: doc,
		Resources: 2, Bytes: 2, Since: at, Sets: []Set{set, set}, MoreSets: 1,
		Changes:  []Change{{at, 1, 2, 3}, {at, 3, 2, 1}},
		Commands: []Command{{"a", "b", "c"}},
	}
	return []*Page{least, full}
}

// number writes a number with commas.
func number(n int) string {
	digits := strconv.Itoa(n)
	var b strings.Builder
	for i, c := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 && digits[i-1] != '-' {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// byteCount writes a number of bytes as people read it, in powers of 1000.
func byteCount(n int64) string {
	if n == 1 {
		return "1 byte"
	}
	if n < 1000 {
		return strconv.FormatInt(n, 10) + " bytes"
	}
	units := []string{"kB", "MB", "GB", "TB", "PB", "EB"}
	size := float64(n)
	for i, unit := range units {
		size /= 1000
		if rounded := strconv.FormatFloat(size, 'f', 1, 64); len(rounded) < 4 {
			return rounded + " " + unit
		}
		if whole := strconv.FormatFloat(size, 'f', 0, 64); len(whole) < 4 || i == len(units)-1 {
			return whole + " " + unit
		}
	}
	return ""
}

func date(t time.Time) string  { return t.UTC().Format("2 Jan 2006") }
func clock(t time.Time) string { return t.UTC().Format("2 Jan 2006, 15:04") }
func iso(t time.Time) string   { return t.UTC().Format(time.RFC3339) }
