package verify

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

// parser reads a document token by token, and looks at everything in it.
type parser struct {
	*reading
	xml    *xml.Decoder
	source *tokenReader
	depth  int
	start  spot // of the last token

	namespace string              // of the elements of Sitemaps: that of the root
	declared  map[string]struct{} // namespaces
	told      map[string]struct{} // that need not be told twice
	head      head
	passed    bool // the head was passed on
	n         int  // entries so far
	tokens    int
	ctx       context.Context
	skip      int // entries that were passed on before
}

var errCharset = errors.New("the document is not in UTF-8")

func newParser(r *reading, f io.Reader) *parser {
	source := newTokenReader(&boundedReader{f, r.limits.DocumentBytes}, r.limits.Token)
	p := &parser{
		reading: r, xml: xml.NewDecoder(source), source: source, skip: r.entries,
		declared: map[string]struct{}{"": {}, "xmlns": {}, "http://www.w3.org/XML/1998/namespace": {}},
		told:     map[string]struct{}{},
	}
	p.xml.CharsetReader = func(name string, r io.Reader) (io.Reader, error) {
		if name = strings.ToLower(name); name == "us-ascii" || name == "ascii" { // which is a part of UTF-8
			return r, nil
		}
		return nil, errCharset
	}
	r.entries = 0
	return p
}

// document reads all of it.
func (p *parser) document(ctx context.Context) error {
	p.ctx = ctx
	root, err := p.firstElement()
	if err != nil {
		return err
	}
	if err := p.root(root); err != nil {
		return err
	}
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		t, err := p.token()
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.StartElement:
			if err := p.child(t); err != nil {
				return err
			}
		case xml.EndElement:
			if err := p.passHead(); err != nil {
				return err
			}
			return p.end()
		case xml.CharData:
			p.noText(t)
		}
	}
}

// firstElement passes over what stands before the root element.
func (p *parser) firstElement() (xml.StartElement, error) {
	for {
		t, err := p.token()
		if err != nil {
			return xml.StartElement{}, err
		}
		switch t := t.(type) {
		case xml.StartElement:
			return t, nil
		case xml.CharData:
			if strings.TrimSpace(string(t)) != "" {
				p.report(xmlWellFormed, p.start, string(t), "text stands before the root element")
				return xml.StartElement{}, errStop
			}
		}
	}
}

func (p *parser) root(t xml.StartElement) error {
	p.head.root = p.start
	p.namespace = t.Name.Space
	switch t.Name.Local {
	case "urlset":
	case "sitemapindex":
		p.head.index = true
	default:
		p.report(rootElement, p.start, t.Name.Local, "the root element is %s, not urlset or sitemapindex", t.Name.Local)
		return errStop
	}
	if t.Name.Space != resourcesync.NamespaceSitemap {
		p.report(xmlNamespace, p.start, t.Name.Space, "the root element is in the namespace %q, not %s",
			clip(t.Name.Space), resourcesync.NamespaceSitemap)
	}
	p.noAttributes(t)
	return nil
}

func (p *parser) isSitemap(n xml.Name) bool {
	return n.Space == p.namespace || n.Space == resourcesync.NamespaceSitemap
}

// isExtension reports whether an element is rs:md or rs:ln, or was meant to be.
func (p *parser) isExtension(n xml.Name) bool {
	if n.Space == resourcesync.NamespaceRS {
		return true
	}
	if n.Local != "md" && n.Local != "ln" || n.Space != p.namespace && !strings.Contains(n.Space, "openarchives.org/rs") && n.Space != "rs" {
		return false
	}
	if n.Space != "rs" { // which is a prefix that is not declared, and reported as such
		p.once(xmlNamespace, n.Space, "%s is in the namespace %q, not %s", n.Local, clip(n.Space), resourcesync.NamespaceRS)
	}
	return true
}

// child reads a child of the root.
func (p *parser) child(t xml.StartElement) error {
	want := "url"
	if p.head.index {
		want = "sitemap"
	}
	switch {
	case p.isExtension(t.Name) && t.Name.Local == "md":
		if p.head.md.there {
			p.report(elementOnce, p.start, "md", "a second rs:md element of the document")
			return p.skipElement()
		}
		p.late()
		return p.metadata(t, &p.head.md)
	case p.isExtension(t.Name) && t.Name.Local == "ln":
		p.late()
		var l link
		err := p.link(t, &l)
		p.head.links = append(p.head.links, l)
		return p.fewLinks(p.head.links, err)
	case p.isSitemap(t.Name) && t.Name.Local == want:
		return p.entry(t)
	}
	p.unknown(t, "here")
	return p.skipElement()
}

// late reports an element of the document that comes after an entry.
func (p *parser) late() {
	if p.n > 0 {
		p.once(elementOrder, "", "an element of the document stands behind its entries")
	}
}

// passHead passes the head on. If the document's rs:md did not come before the
// entries, it is looked for behind them.
func (p *parser) passHead() error {
	if p.passed {
		return nil
	}
	p.passed = true
	if p.n == 0 || p.head.md.there || p.headDone {
		p.reading.head(&p.head)
		return nil
	}
	f, err := p.open()
	if err != nil {
		return err
	}
	defer f.Close()
	silent := *p.reading
	silent.report = func(*Rule, spot, string, string, ...any) {}
	silent.headDone, silent.wanted = true, false // nothing is passed on
	behind := newParser(&silent, f)
	if err := behind.document(p.ctx); err != nil {
		behind.head = p.head
	}
	behind.head.index = p.head.index
	p.reading.head(&behind.head)
	return nil
}

func (p *parser) entry(t xml.StartElement) error {
	p.n++
	if err := p.passHead(); err != nil {
		return err
	}
	e := &entry{n: p.n - 1, index: p.head.index, spot: p.start}
	if p.n <= p.skip { // which was plain
		p.reading.entries++
		return p.skipElement()
	}
	p.noAttributes(t)
	if err := p.entryElements(e); err != nil {
		return err
	}
	return p.pass(e)
}

func (p *parser) entryElements(e *entry) error {
	seen := map[string]bool{}
	last := -1
	for {
		t, err := p.token()
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.EndElement:
			return nil
		case xml.CharData:
			p.noText(t)
		case xml.StartElement:
			rank := p.rank(t.Name)
			if rank < 0 {
				rank = last
			}
			if rank < last && !seen[t.Name.Local] {
				p.once(elementOrder, t.Name.Local, "%s stands behind what it should come before", t.Name.Local)
			}
			last = max(last, rank)
			if err := p.entryElement(t, e, seen); err != nil {
				return err
			}
		}
	}
}

// rank orders the elements of an entry as the schema of Sitemaps does. It is less
// than 0 for those that are unknown.
func (p *parser) rank(n xml.Name) int {
	if p.isSitemap(n) {
		for i, name := range []string{"loc", "lastmod", "changefreq", "priority"} {
			if n.Local == name {
				return i
			}
		}
		if n.Local != "md" && n.Local != "ln" {
			return -1
		}
	}
	if n.Space == resourcesync.NamespaceRS && n.Local != "md" && n.Local != "ln" {
		return -1
	}
	return 4
}

func (p *parser) entryElement(t xml.StartElement, e *entry, seen map[string]bool) error {
	name := t.Name.Local
	extension := p.isExtension(t.Name)
	switch {
	case extension && name == "ln":
		var l link
		err := p.link(t, &l)
		e.links = append(e.links, l)
		return p.fewLinks(e.links, err)
	case extension && name == "md", p.isSitemap(t.Name) && p.rank(t.Name) >= 0 && p.rank(t.Name) < 4:
	default:
		p.unknown(t, "in an entry")
		return p.skipElement()
	}
	if seen[name] {
		p.report(elementOnce, p.start, name, "a second %s element in one entry", name)
		return p.skipElement()
	}
	seen[name] = true
	at := p.start
	if name == "md" {
		return p.metadata(t, &e.md)
	}
	p.noAttributes(t)
	text, err := p.text()
	if err != nil {
		return err
	}
	switch name {
	case "loc":
		e.loc, e.locSpot = text, at
	case "lastmod":
		p.time("lastmod", text, at, &e.lastModified)
	case "changefreq":
		e.changeFreq, e.freqSpot = text, at
	}
	return nil
}

// fewLinks ends a document with more links in one place than anybody needs.
func (p *parser) fewLinks(links []link, err error) error {
	if err == nil && len(links) > p.limits.Links {
		p.report(auditLimit, p.start, "", "there are more than %d links in one place; the rest was not read", p.limits.Links)
		return errStop
	}
	return err
}

// text reads the text of an element.
func (p *parser) text() (string, error) {
	var b []byte
	for {
		t, err := p.token()
		if err != nil {
			return "", err
		}
		switch t := t.(type) {
		case xml.CharData:
			if b = append(b, t...); len(b) > p.limits.Token {
				return "", p.tooLong()
			}
		case xml.StartElement:
			p.unknown(t, "where text is expected")
			if err := p.skipElement(); err != nil {
				return "", err
			}
		case xml.EndElement:
			return trimSpace(string(b)), nil
		}
	}
}

// skipElement reads to the end of the element that was opened last.
func (p *parser) skipElement() error {
	for depth := p.depth; p.depth >= depth; {
		if _, err := p.token(); err != nil {
			return err
		}
	}
	return nil
}

// leaf reads to the end of an element that has only attributes.
func (p *parser) leaf() error {
	for depth := p.depth; p.depth >= depth; {
		t, err := p.token()
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.StartElement:
			p.unknown(t, "in rs:md or rs:ln")
		case xml.CharData:
			p.noText(t)
		}
	}
	return nil
}

// unknown reports an element that has no meaning where it is, unless it belongs to
// others.
func (p *parser) unknown(t xml.StartElement, where string) {
	if p.isSitemap(t.Name) || t.Name.Space == resourcesync.NamespaceRS {
		p.report(contentUnknown, p.start, t.Name.Local, "the element %s has no meaning %s", clip(t.Name.Local), where)
	}
}

func (p *parser) noText(t xml.CharData) {
	if s := trimSpace(string(t)); s != "" {
		p.report(contentUnknown, p.start, s, "text stands where none belongs: %q", clip(s))
	}
}

// noAttributes reports attributes of an element that has none of its own.
func (p *parser) noAttributes(t xml.StartElement) {
	for _, a := range t.Attr {
		if a.Name.Space == "" && a.Name.Local != "xmlns" {
			p.report(attributeUnknown, p.start, a.Name.Local, "the element %s has no attribute %s", t.Name.Local, clip(a.Name.Local))
		}
	}
}

// attribute returns which attribute of an element it is, or 0 if it is none of
// the standard's.
func (p *parser) attribute(element string, a xml.Attr, known attrs) attrs {
	which := attrNames[a.Name.Local] & known
	switch {
	case a.Name.Space == resourcesync.NamespaceRS || a.Name.Space == "rs" && which != 0:
		p.report(attributePrefix, p.start, a.Name.Local, "the attribute %s of rs:%s has a prefix", clip(a.Name.Local), element)
		return which
	case a.Name.Space != "" || a.Name.Local == "xmlns":
		return 0
	case which == 0:
		p.report(attributeUnknown, p.start, a.Name.Local, "rs:%s has no attribute %s", element, clip(a.Name.Local))
	}
	return which
}

// attribute says where the value of an attribute goes: to a *string or *untrimmed, of
// which the second keeps white space around it, or to what it has to have the form of.
type attribute struct {
	which attrs
	to    any
}

type untrimmed string

type length struct {
	bytes *int64
	has   *bool
}

func (p *parser) metadata(t xml.StartElement, m *metadata) error {
	m.there, m.spot = true, p.start
	m.coarse = p.attributes(t, "md", &m.has, []attribute{
		{attrCapability, (*string)(&m.Capability)}, {attrChange, (*string)(&m.Change)}, {attrDateTime, &m.DateTime},
		{attrAt, &m.At}, {attrCompleted, &m.Completed}, {attrFrom, &m.From}, {attrUntil, &m.Until}, {attrHash, (*string)(&m.Hash)},
		{attrLength, length{&m.Length, &m.HasLength}}, {attrType, &m.Type}, {attrEncoding, &m.Encoding}, {attrPath, (*untrimmed)(&m.Path)},
	})
	return p.leaf()
}

func (p *parser) link(t xml.StartElement, l *link) error {
	l.spot = p.start
	p.attributes(t, "ln", &l.has, []attribute{
		{attrRel, &l.Rel}, {attrHref, &l.Href}, {attrPri, &l.Pri}, {attrModified, &l.Modified}, {attrHash, (*string)(&l.Hash)},
		{attrLength, length{&l.Length, &l.HasLength}}, {attrType, &l.Type}, {attrEncoding, &l.Encoding}, {attrPath, (*untrimmed)(&l.Path)},
		{attrProfile, &l.Profile},
	})
	return p.leaf()
}

// attributes reads those that an element may have, and takes note of which it has. It
// returns true if a time does not say the second.
func (p *parser) attributes(t xml.StartElement, element string, has *attrs, may []attribute) (coarse bool) {
	var known attrs
	for _, m := range may {
		known |= m.which
	}
	for _, a := range t.Attr {
		which := p.attribute(element, a, known)
		i := slices.IndexFunc(may, func(m attribute) bool { return m.which == which })
		if i < 0 {
			continue
		}
		*has |= which
		value := trimSpace(a.Value)
		switch to := may[i].to.(type) {
		case *string:
			*to = value
		case *untrimmed:
			*to = untrimmed(a.Value)
		case *time.Time:
			coarse = p.time(a.Name.Local, value, p.start, to) || coarse
		case length:
			p.length(value, to)
		case *int:
			p.pri(value, to)
		}
	}
	return coarse
}

// time reads a time, and reports one that has another form than it should have. It
// returns true if the time does not say the second.
func (p *parser) time(name, value string, at spot, t *time.Time) (coarse bool) {
	parsed, err := resourcesync.ParseDateTime(value)
	if err != nil {
		p.report(datetimeForm, at, value, "%s is %q, which is no W3C Datetime such as 2026-01-02T03:04:05Z", name, clip(value))
		return false
	}
	if len(value) < len("2006-01-02T15:04:05Z") || !strings.HasSuffix(value, "Z") {
		p.report(datetimeUTC, at, value, "%s is %q, not a complete time in UTC such as %s", name, value, resourcesync.FormatDateTime(parsed))
	}
	*t = parsed
	return len(value) < len("2006-01-02T15:04:05Z")
}

func (p *parser) length(value string, to length) {
	parsed, err := strconv.ParseUint(value, 10, 63)
	if err != nil {
		p.report(lengthForm, p.start, value, "length is %q, not a number of bytes", clip(value))
		return
	}
	*to.bytes, *to.has = int64(parsed), true
}

func (p *parser) pri(value string, n *int) {
	parsed, err := strconv.Atoi(value)
	if err != nil || parsed == 0 { // other numbers are looked at later
		p.report(priRange, p.start, value, "pri is %q, not a number from 1 to 999,999", clip(value))
		return
	}
	*n = parsed
}

// trimSpace removes XML's white space from both ends.
func trimSpace(s string) string { return strings.Trim(s, " \t\r\n") }
