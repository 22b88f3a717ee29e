package resourcesync

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// slowDecoder reads any well-formed document, with encoding/xml and checks of
// our own for what that lets pass.
type slowDecoder struct {
	d        *Decoder
	xml      *xml.Decoder
	source   *tokenReader
	depth    int
	seenRoot bool
	pending  *xml.StartElement // the first entry, met while reading the head

	// What the fast scanner took, less what stands in for it.
	skippedLines  int
	skippedOffset int64
}

func newSlowDecoder(d *Decoder, standIn string) *slowDecoder {
	source := newTokenReader(io.MultiReader(strings.NewReader(standIn), d.lines.rest()), d.limits.Token)
	return &slowDecoder{
		d: d, xml: xml.NewDecoder(source), source: source,
		skippedLines: d.lines.line - 1 - strings.Count(standIn, "\n"), skippedOffset: d.lines.offset - int64(len(standIn)),
	}
}

// errEncoding is for encodings that a byte order mark gives away.
var errEncoding = errors.New("the document is not in UTF-8")

// head reads up to the first entry, or to the end of a document without any.
func (s *slowDecoder) head() error {
	for {
		t, err := s.token()
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.ProcInst:
			if t.Target == styleTarget && !s.seenRoot && s.d.document.Style == "" {
				s.d.document.Style = styleOf(string(t.Inst))
			}
		case xml.StartElement:
			if done, err := s.headElement(t); done || err != nil {
				return err
			}
		case xml.EndElement:
			return s.end()
		}
	}
}

func (s *slowDecoder) headElement(t xml.StartElement) (done bool, err error) {
	if s.depth == 1 {
		return false, s.root(t)
	}
	if s.isEntry(t.Name) {
		t = t.Copy()
		s.pending = &t
		return true, nil
	}
	return false, s.documentElement(t)
}

func (s *slowDecoder) root(t xml.StartElement) error {
	switch t.Name {
	case xml.Name{Space: NamespaceSitemap, Local: "urlset"}:
		s.d.document.Index = false
	case xml.Name{Space: NamespaceSitemap, Local: "sitemapindex"}:
		s.d.document.Index = true
	default:
		return s.errorf("the root element is {%s}%s, not a urlset or sitemapindex of %s",
			clip(t.Name.Space), clip(t.Name.Local), NamespaceSitemap)
	}
	return nil
}

func (s *slowDecoder) isEntry(n xml.Name) bool {
	if n.Space != NamespaceSitemap {
		return false
	}
	if s.d.document.Index {
		return n.Local == "sitemap"
	}
	return n.Local == "url"
}

// documentElement reads a child of the root that is no entry.
func (s *slowDecoder) documentElement(t xml.StartElement) error {
	switch t.Name {
	case xml.Name{Space: NamespaceRS, Local: "md"}:
		if !s.d.document.Metadata.IsZero() {
			return s.errorf("a second rs:md element of the document")
		}
		if err := s.metadata(t, &s.d.document.Metadata); err != nil {
			return err
		}
	case xml.Name{Space: NamespaceRS, Local: "ln"}:
		var l Link
		if err := s.link(t, &l); err != nil {
			return err
		}
		s.d.document.Links = append(s.d.document.Links, l)
	}
	return s.skip()
}

// next reads one entry into e, or returns io.EOF.
func (s *slowDecoder) next(e *Entry) error {
	start := s.pending
	s.pending = nil
	for start == nil {
		t, err := s.token()
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.StartElement:
			if s.isEntry(t.Name) {
				start = &t
				break
			}
			if err := s.documentElement(t); err != nil {
				return err
			}
		case xml.EndElement:
			return s.end()
		}
	}
	if err := s.d.count(); err != nil {
		return s.errorf("%w", err)
	}
	return s.entry(e)
}

// end checks that nothing but comments and white space follows the root.
func (s *slowDecoder) end() error {
	for {
		t, err := s.token()
		if err != nil {
			return err // io.EOF, if all is well
		}
		if _, ok := t.(xml.StartElement); ok {
			return s.errorf("a second root element")
		}
	}
}

func (s *slowDecoder) entry(e *Entry) error {
	seenMetadata := false
	for {
		t, err := s.token()
		if err != nil {
			return noEOF(err)
		}
		switch t := t.(type) {
		case xml.EndElement:
			if e.Loc == "" {
				return s.errorf("an entry without loc")
			}
			s.d.position = Position{}
			return nil
		case xml.StartElement:
			if t.Name == (xml.Name{Space: NamespaceRS, Local: "md"}) {
				if seenMetadata {
					return s.errorf("a second rs:md element in one entry")
				}
				seenMetadata = true
			}
			if err := s.entryElement(t, e); err != nil {
				return noEOF(err)
			}
		}
	}
}

func (s *slowDecoder) entryElement(t xml.StartElement, e *Entry) error {
	switch t.Name {
	case xml.Name{Space: NamespaceSitemap, Local: "loc"}:
		return s.once("loc", &e.Loc)
	case xml.Name{Space: NamespaceSitemap, Local: "lastmod"}:
		var text string
		if err := s.once("lastmod", &text); err != nil {
			return err
		}
		return s.time("lastmod", text, &e.LastModified)
	case xml.Name{Space: NamespaceSitemap, Local: "changefreq"}:
		return s.once("changefreq", &e.ChangeFreq)
	case xml.Name{Space: NamespaceRS, Local: "md"}:
		if err := s.metadata(t, &e.Metadata); err != nil {
			return err
		}
	case xml.Name{Space: NamespaceRS, Local: "ln"}:
		var l Link
		if err := s.link(t, &l); err != nil {
			return err
		}
		e.Links = append(e.Links, l)
	}
	return s.skip()
}

// once reads the text of an element that may come once.
func (s *slowDecoder) once(name string, value *string) error {
	if *value != "" {
		return s.errorf("a second %s element in one entry", name)
	}
	text, err := s.elementText()
	*value = text
	return err
}

func (s *slowDecoder) elementText() (string, error) {
	var text []byte
	for {
		t, err := s.token()
		if err != nil {
			return "", noEOF(err)
		}
		switch t := t.(type) {
		case xml.CharData:
			if text = append(text, t...); len(text) > s.d.limits.Token {
				return "", s.errorf("%w: a text is longer than %d bytes", errLimit, s.d.limits.Token)
			}
		case xml.StartElement:
			return "", s.errorf("an element %s where text is expected", clip(t.Name.Local))
		case xml.EndElement:
			return trimSpace(string(text)), nil
		}
	}
}

// skip reads to the end of the element that was opened last.
func (s *slowDecoder) skip() error {
	for depth := s.depth; s.depth >= depth; {
		if _, err := s.token(); err != nil {
			return noEOF(err)
		}
	}
	return nil
}

// attribute says where the value of an attribute goes: to a *string or *untrimmed, of
// which the second keeps white space around it, or to what it has to have the form of.
type attribute struct {
	name string
	to   any
}

type untrimmed string

type length struct {
	bytes *int64
	has   *bool
}

func (s *slowDecoder) metadata(t xml.StartElement, m *Metadata) error {
	return s.attributes(t, []attribute{
		{"capability", (*string)(&m.Capability)}, {"change", (*string)(&m.Change)}, {"datetime", &m.DateTime},
		{"at", &m.At}, {"completed", &m.Completed}, {"from", &m.From}, {"until", &m.Until}, {"hash", (*string)(&m.Hash)},
		{"length", length{&m.Length, &m.HasLength}}, {"type", &m.Type}, {"encoding", &m.Encoding}, {"path", (*untrimmed)(&m.Path)},
	})
}

func (s *slowDecoder) link(t xml.StartElement, l *Link) error {
	return s.attributes(t, []attribute{
		{"rel", &l.Rel}, {"pri", &l.Pri}, {"href", &l.Href}, {"modified", &l.Modified}, {"hash", (*string)(&l.Hash)},
		{"length", length{&l.Length, &l.HasLength}}, {"type", &l.Type}, {"encoding", &l.Encoding}, {"path", (*untrimmed)(&l.Path)},
		{"profile", &l.Profile},
	})
}

// attributes reads those of an element that are known, and have no prefix.
func (s *slowDecoder) attributes(t xml.StartElement, known []attribute) error {
	for _, a := range t.Attr {
		i := slices.IndexFunc(known, func(k attribute) bool { return k.name == a.Name.Local })
		if i < 0 || a.Name.Space != "" {
			continue
		}
		var err error
		switch to := known[i].to.(type) {
		case *string:
			*to = trimSpace(a.Value)
		case *untrimmed:
			*to = untrimmed(a.Value)
		case *time.Time:
			err = s.time(a.Name.Local, a.Value, to)
		case length:
			err = s.length(a.Value, to)
		case *int:
			if *to, err = parsePri(trimSpace(a.Value)); err != nil {
				err = s.errorf("pri is %q, not a number", clip(a.Value))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// time reads a time; an empty one counts as absent.
func (s *slowDecoder) time(name, value string, t *time.Time) error {
	if value = trimSpace(value); value == "" {
		return nil
	}
	var err error
	if *t, err = ParseDateTime(value); err != nil {
		return s.errorf("%s: %w", name, err)
	}
	return nil
}

func (s *slowDecoder) length(value string, to length) error {
	if value = trimSpace(value); value == "" {
		return nil
	}
	var err error
	if *to.bytes, err = parseLength(value); err != nil {
		return s.errorf("length is %q, not a number of bytes", clip(value))
	}
	*to.has = true
	return nil
}

// token returns the next token, having checked what encoding/xml does not.
func (s *slowDecoder) token() (xml.Token, error) {
	s.source.taken = 0
	t, err := s.xml.Token()
	if err == io.EOF && !s.seenRoot {
		return nil, s.errorf("no document: the file is empty")
	}
	if err != nil {
		return nil, s.readError(err)
	}
	switch t := t.(type) {
	case xml.StartElement:
		s.seenRoot = true
		if s.depth++; s.depth > maxDepth {
			return nil, s.errorf("%w: elements are nested more than %d deep", errLimit, maxDepth)
		}
		return t, s.checkAttributes(t)
	case xml.EndElement:
		s.depth--
	case xml.Directive:
		return nil, s.errorf("document type declarations are refused")
	case xml.CharData:
		if s.depth == 0 && trimSpace(string(t)) != "" && string(t) != "\ufeff" {
			return nil, s.errorf("text outside the root element")
		}
	}
	return t, nil
}

func (s *slowDecoder) checkAttributes(t xml.StartElement) error {
	for i, a := range t.Attr {
		if slices.ContainsFunc(t.Attr[:i], func(b xml.Attr) bool { return a.Name == b.Name }) {
			return s.errorf("the attribute %s comes twice in one element", clip(a.Name.Local))
		}
	}
	return nil
}

// readError locates an error, unless it is the reader's own.
func (s *slowDecoder) readError(err error) error {
	if err == io.EOF {
		return err
	}
	if e := s.source.err; e != nil && e != io.EOF && !errors.Is(e, errLimit) && e != errEncoding {
		return e
	}
	if syntax, ok := errors.AsType[*xml.SyntaxError](err); ok {
		return s.errorf("not well-formed XML: %s", syntax.Msg)
	}
	return s.errorf("%w", err)
}

func (s *slowDecoder) errorf(format string, args ...any) error {
	line, _ := s.xml.InputPos()
	return &SyntaxError{
		Line:   line + s.skippedLines,
		Offset: s.xml.InputOffset() + s.skippedOffset,
		Err:    fmt.Errorf(format, args...),
	}
}

// noEOF is for the middle of an element, where the end is an error.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// tokenReader counts the bytes of each token, so that encoding/xml, which
// gathers a token in memory, cannot be fed an endless one. It takes a byte order
// mark off the front.
type tokenReader struct {
	r     *bufio.Reader
	block []byte // what of it is buffered, of which pos bytes have been taken
	pos   int
	taken int
	most  int
	err   error
}

func newTokenReader(r io.Reader, most int) *tokenReader {
	t := &tokenReader{r: bufio.NewReaderSize(r, blockSize), most: most}
	start, _ := t.r.Peek(3) // an error comes again
	switch {
	case string(start) == "\xef\xbb\xbf":
		t.r.Discard(len(start))
	case bytes.HasPrefix(start, []byte("\xfe\xff")), bytes.HasPrefix(start, []byte("\xff\xfe")):
		t.err = errEncoding
	}
	return t
}

// ReadByte makes encoding/xml use the reader as it is, without a buffer that
// would read ahead of the count.
func (t *tokenReader) ReadByte() (byte, error) {
	if t.pos == len(t.block) {
		if err := t.fill(); err != nil {
			return 0, err
		}
	}
	if t.taken++; t.taken > t.most {
		t.err = fmt.Errorf("%w: an element, text or comment is longer than %d bytes", errLimit, t.most)
		return 0, t.err
	}
	t.pos++
	return t.block[t.pos-1], nil
}

func (t *tokenReader) fill() error {
	if t.err == nil {
		t.r.Discard(len(t.block))
		_, t.err = t.r.Peek(1)
		t.block, _ = t.r.Peek(t.r.Buffered())
		t.pos = 0
	}
	return t.err
}

// Read is not called: package encoding/xml reads bytes where it can.
func (*tokenReader) Read([]byte) (int, error) { return 0, errors.ErrUnsupported }
