package resourcesync

import (
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"
)

// The text around documents and entries. One element stands on each line, so
// that a document can be read with grep and diff, and so that the Decoder can
// tell entries apart without parsing them. The Decoder depends on this form.
const (
	prolog   = `<?xml version="1.0" encoding="UTF-8"?>` + "\n"
	xmlns    = ` xmlns="` + NamespaceSitemap + `" xmlns:rs="` + NamespaceRS + `">` + "\n"
	rootList = `<urlset` + xmlns
	rootIdx  = `<sitemapindex` + xmlns
	headList = prolog + rootList
	headIdx  = prolog + rootIdx
	footList = "</urlset>\n"
	footIdx  = "</sitemapindex>\n"

	entryList = "<url><loc>"
	entryIdx  = "<sitemap><loc>"
	endList   = "</url>\n"
	endIdx    = "</sitemap>\n"
)

// AppendHead appends the XML declaration, the link to a style sheet, the root
// element's start tag, and the document's own metadata and links. It fails where a
// value cannot stand in XML; dst is then to be thrown away.
func AppendHead(dst []byte, d *Document) ([]byte, error) {
	w := writer{dst: append(dst, prolog...)}
	if d.Style != "" {
		w.style(d.Style)
	}
	if d.Index {
		w.text(rootIdx)
	} else {
		w.text(rootList)
	}
	w.metadata(&d.Metadata)
	w.text("\n")
	for i := range d.Links {
		w.link(&d.Links[i])
		w.text("\n")
	}
	return w.dst, w.err
}

// AppendEntry appends one entry: a sitemap element if index is true, else a url
// element. Children come in the order of the Sitemap schema, attributes always
// in the same order. It fails if the entry has no URI or a value cannot stand
// in XML; dst is then to be thrown away.
func AppendEntry(dst []byte, index bool, e *Entry) ([]byte, error) {
	start, end := entryList, endList
	if index {
		start, end = entryIdx, endIdx
	}
	w := writer{dst: append(dst, start...)}
	w.uri(e.Loc)
	w.text("</loc>")
	if !e.LastModified.IsZero() {
		w.text("<lastmod>")
		w.time(e.LastModified)
		w.text("</lastmod>")
	}
	if e.ChangeFreq != "" {
		w.text("<changefreq>")
		w.escape(e.ChangeFreq)
		w.text("</changefreq>")
	}
	if !e.Metadata.IsZero() {
		w.metadata(&e.Metadata)
	}
	for i := range e.Links {
		w.link(&e.Links[i])
	}
	w.text(end)
	if w.err != nil {
		return w.dst, fmt.Errorf("writing the entry %q: %w", clip(e.Loc), w.err)
	}
	return w.dst, nil
}

// AppendFoot appends the root element's end tag.
func AppendFoot(dst []byte, index bool) []byte {
	if index {
		return append(dst, footIdx...)
	}
	return append(dst, footList...)
}

// Marshal returns a whole document.
func Marshal(d *Document, entries []Entry) ([]byte, error) {
	b, err := AppendHead(nil, d)
	if err != nil {
		return nil, err
	}
	for i := range entries {
		if b, err = AppendEntry(b, d.Index, &entries[i]); err != nil {
			return nil, err
		}
	}
	return AppendFoot(b, d.Index), nil
}

// writer appends XML and keeps the first error.
type writer struct {
	dst []byte
	err error
}

func (w *writer) text(s string) { w.dst = append(w.dst, s...) }

func (w *writer) metadata(m *Metadata) {
	w.text("<rs:md")
	w.attr(` capability="`, string(m.Capability))
	w.attr(` change="`, string(m.Change))
	w.timeAttr(` datetime="`, m.DateTime)
	w.timeAttr(` at="`, m.At)
	w.timeAttr(` completed="`, m.Completed)
	w.timeAttr(` from="`, m.From)
	w.timeAttr(` until="`, m.Until)
	w.attr(` hash="`, string(m.Hash))
	w.length(m.Length, m.HasLength)
	w.attr(` type="`, m.Type)
	w.attr(` encoding="`, m.Encoding)
	w.attr(` path="`, m.Path)
	w.text("/>")
}

func (w *writer) link(l *Link) {
	w.text("<rs:ln")
	w.attr(` rel="`, l.Rel)
	if l.Pri != 0 {
		w.attr(` pri="`, strconv.Itoa(l.Pri))
	}
	w.attr(` href="`, l.Href)
	w.timeAttr(` modified="`, l.Modified)
	w.attr(` hash="`, string(l.Hash))
	w.length(l.Length, l.HasLength)
	w.attr(` type="`, l.Type)
	w.attr(` encoding="`, l.Encoding)
	w.attr(` path="`, l.Path)
	w.attr(` profile="`, l.Profile)
	w.text("/>")
}

// attr writes an attribute, unless it has no value. start is its name with the
// space before and the quote after it.
func (w *writer) attr(start, value string) {
	if value == "" {
		return
	}
	w.text(start)
	w.escape(value)
	w.text(`"`)
}

func (w *writer) timeAttr(start string, t time.Time) {
	if t.IsZero() {
		return
	}
	w.text(start)
	w.time(t)
	w.text(`"`)
}

func (w *writer) time(t time.Time) {
	var err error
	w.dst, err = AppendDateTime(w.dst, t)
	w.fail(err)
}

func (w *writer) length(n int64, has bool) {
	if !has {
		return
	}
	if n < 0 {
		w.fail(errors.New("negative length"))
	}
	w.text(` length="`)
	w.dst = strconv.AppendInt(w.dst, n, 10)
	w.text(`"`)
}

var errNotURI = errors.New("not a URI")

// uri writes the content of a loc element. A URI has neither white space nor
// control characters, so a reader may trim what stands around it.
func (w *writer) uri(s string) {
	if s == "" {
		w.fail(errNotURI)
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] == 0x7f {
			w.fail(errNotURI)
		}
	}
	w.escape(s)
}

func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// mustEscape marks the bytes that cannot simply be copied: markup, white space
// that a reader would change, what XML cannot carry, and all of UTF-8's
// continuation, which has to be checked.
var mustEscape = func() (t [256]bool) {
	for i := range t {
		t[i] = i < 0x20 || i >= 0x7f
	}
	for _, c := range `&<>"'` {
		t[c] = true
	}
	return t
}()

// escape writes s as xml.EscapeText would, but refuses what that would replace.
func (w *writer) escape(s string) {
	start := 0
	for i := 0; i < len(s); {
		if !mustEscape[s[i]] {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		esc, ok := escapeRune(r, size)
		if !ok {
			w.fail(fmt.Errorf("%q has a character that XML cannot carry", clip(s)))
			return
		}
		if esc != "" {
			w.text(s[start:i])
			w.text(esc)
			start = i + size
		}
		i += size
	}
	w.text(s[start:])
}

// escapeRune returns what stands for a rune in XML, or "" where it stands for
// itself, and false where there is no way to write it.
func escapeRune(r rune, size int) (string, bool) {
	switch r {
	case '&':
		return "&amp;", true
	case '<':
		return "&lt;", true
	case '>':
		return "&gt;", true
	case '"':
		return "&#34;", true
	case '\'':
		return "&#39;", true
	case '\t':
		return "&#x9;", true
	case '\n':
		return "&#xA;", true
	case '\r':
		return "&#xD;", true
	case utf8.RuneError:
		return "", size > 1 // U+FFFD itself may stand, a broken sequence may not
	}
	return "", isXMLChar(r)
}

// isXMLChar reports whether XML 1.0 allows the character. See XML 1.0 §2.2.
func isXMLChar(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' ||
		r >= 0x20 && r <= 0xd7ff || r >= 0xe000 && r <= 0xfffd || r >= 0x10000 && r <= 0x10ffff
}
