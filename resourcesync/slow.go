package resourcesync

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
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
	source := &tokenReader{r: d.lines.rest(), most: d.limits.Token}
	if standIn != "" {
		source.prepend(standIn)
	}
	return &slowDecoder{
		d:             d,
		xml:           xml.NewDecoder(source),
		source:        source,
		skippedLines:  d.lines.line - 1 - strings.Count(standIn, "\n"),
		skippedOffset: d.lines.offset - int64(len(standIn)),
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

func (s *slowDecoder) metadata(t xml.StartElement, m *Metadata) error {
	for _, a := range t.Attr {
		if a.Name.Space != "" {
			continue
		}
		var err error
		switch a.Name.Local {
		case "capability":
			m.Capability = Capability(trimSpace(a.Value))
		case "change":
			m.Change = ChangeType(trimSpace(a.Value))
		case "datetime":
			err = s.time("datetime", a.Value, &m.DateTime)
		case "at":
			err = s.time("at", a.Value, &m.At)
		case "completed":
			err = s.time("completed", a.Value, &m.Completed)
		case "from":
			err = s.time("from", a.Value, &m.From)
		case "until":
			err = s.time("until", a.Value, &m.Until)
		case "hash":
			m.Hash = Hash(trimSpace(a.Value))
		case "length":
			err = s.length(a.Value, &m.Length, &m.HasLength)
		case "type":
			m.Type = trimSpace(a.Value)
		case "encoding":
			m.Encoding = trimSpace(a.Value)
		case "path":
			m.Path = a.Value
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *slowDecoder) link(t xml.StartElement, l *Link) error {
	for _, a := range t.Attr {
		if a.Name.Space != "" {
			continue
		}
		var err error
		switch a.Name.Local {
		case "rel":
			l.Rel = trimSpace(a.Value)
		case "pri":
			if l.Pri, err = parsePri(trimSpace(a.Value)); err != nil {
				err = s.errorf("pri is %q, not a number", clip(a.Value))
			}
		case "href":
			l.Href = trimSpace(a.Value)
		case "modified":
			err = s.time("modified", a.Value, &l.Modified)
		case "hash":
			l.Hash = Hash(trimSpace(a.Value))
		case "length":
			err = s.length(a.Value, &l.Length, &l.HasLength)
		case "type":
			l.Type = trimSpace(a.Value)
		case "encoding":
			l.Encoding = trimSpace(a.Value)
		case "path":
			l.Path = a.Value
		case "profile":
			l.Profile = trimSpace(a.Value)
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

func (s *slowDecoder) length(value string, n *int64, has *bool) error {
	if value = trimSpace(value); value == "" {
		return nil
	}
	var err error
	if *n, err = parseLength(value); err != nil {
		return s.errorf("length is %q, not a number of bytes", clip(value))
	}
	*has = true
	return nil
}

// token returns the next token, having checked what encoding/xml does not.
func (s *slowDecoder) token() (xml.Token, error) {
	s.source.restart()
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
		for _, b := range t.Attr[:i] {
			if a.Name == b.Name {
				return s.errorf("the attribute %s comes twice in one element", clip(a.Name.Local))
			}
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
	var syntax *xml.SyntaxError
	if errors.As(err, &syntax) {
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
	r       io.Reader
	buf     []byte
	pos     int
	taken   int
	most    int
	err     error
	started bool
}

func (t *tokenReader) restart() { t.taken = 0 }

func (t *tokenReader) prepend(s string) {
	t.buf = append(t.buf, s...)
	t.started = true
}

// ReadByte makes encoding/xml use the reader as it is, without a buffer that
// would read ahead of the count.
func (t *tokenReader) ReadByte() (byte, error) {
	if t.pos == len(t.buf) {
		if err := t.fill(); err != nil {
			return 0, err
		}
	}
	if t.taken++; t.taken > t.most {
		t.err = fmt.Errorf("%w: an element, text or comment is longer than %d bytes", errLimit, t.most)
		return 0, t.err
	}
	t.pos++
	return t.buf[t.pos-1], nil
}

func (t *tokenReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	b, err := t.ReadByte()
	if err != nil {
		return 0, err
	}
	p[0] = b
	return 1, nil
}

func (t *tokenReader) fill() error {
	if t.err != nil {
		return t.err
	}
	if cap(t.buf) < blockSize {
		t.buf = make([]byte, blockSize)
	}
	t.buf = t.buf[:cap(t.buf)]
	var n int
	for n < 4 && t.err == nil { // enough to see a byte order mark
		var m int
		m, t.err = t.r.Read(t.buf[n:])
		n += m
		if t.started && n > 0 {
			break
		}
	}
	t.buf, t.pos = t.buf[:n], 0
	if !t.started {
		t.started = true
		if err := t.byteOrderMark(); err != nil {
			t.err = err
			return err
		}
	}
	if t.pos == len(t.buf) {
		return t.err
	}
	return nil
}

func (t *tokenReader) byteOrderMark() error {
	switch b := t.buf; {
	case len(b) >= 3 && string(b[:3]) == "\xef\xbb\xbf":
		t.pos = 3
	case len(b) >= 2 && (string(b[:2]) == "\xfe\xff" || string(b[:2]) == "\xff\xfe"):
		t.buf = nil
		return errEncoding
	}
	return nil
}
