package resourcesync

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// lines cuts a document into lines. Lines are substrings of one string for each
// block read, so that whatever is taken out of them stays valid and costs no
// memory of its own.
type lines struct {
	r      io.Reader
	block  string // whole lines, of which pos bytes have been taken
	pos    int
	buf    []byte // what follows: its first n bytes are read, no line feed in them
	n      int
	err    error
	offset int64 // of pos, in the document
	line   int   // at pos, counted from 1
	most   int   // the longest line, in bytes
}

const blockSize = 64 << 10

// peek returns the next line with its line feed, or "" where there is no whole
// line of a sensible length.
func (l *lines) peek() string {
	for {
		rest := l.block[l.pos:]
		if i := strings.IndexByte(rest, '\n'); i > l.most {
			return "" // which the slow decoder has to judge, token by token
		} else if i >= 0 {
			return rest[:i+1]
		}
		if !l.fill() {
			return ""
		}
	}
}

// take goes on behind a line that peek returned.
func (l *lines) take(line string) {
	l.pos += len(line)
	l.offset += int64(len(line))
	l.line++
}

// fill reads the next block, and reports whether there is a whole line in it.
// It is called when all of the last block has been taken.
func (l *lines) fill() bool {
	if l.buf == nil {
		l.buf = make([]byte, blockSize)
	}
	for l.err == nil && l.n <= l.most {
		if l.n == len(l.buf) {
			l.buf = append(l.buf, make([]byte, len(l.buf))...)
		}
		m, err := l.r.Read(l.buf[l.n:])
		l.err = err
		end := bytes.LastIndexByte(l.buf[l.n:l.n+m], '\n') + 1
		if end == 0 {
			l.n += m
			continue
		}
		end += l.n
		l.block, l.pos = string(l.buf[:end]), 0
		l.n = copy(l.buf, l.buf[end:l.n+m])
		return true
	}
	return false
}

// atEnd reports whether nothing follows.
func (l *lines) atEnd() bool {
	return l.peek() == "" && l.pos == len(l.block) && l.n == 0 && l.err == io.EOF
}

// rest returns all that was not taken.
func (l *lines) rest() io.Reader {
	end := l.r
	if l.err != nil {
		end = failingReader{l.err}
	}
	return io.MultiReader(strings.NewReader(l.block[l.pos:]), bytes.NewReader(l.buf[:l.n]), end)
}

type failingReader struct{ err error }

func (f failingReader) Read([]byte) (int, error) { return 0, f.err }

// fastHead reads what AppendHead wrote, or returns false with nothing taken.
func (d *Decoder) fastHead() bool {
	line := d.lines.peek()
	if line != prolog {
		return false
	}
	d.lines.take(line)
	d.fastStyle()
	switch line = d.lines.peek(); line {
	case rootIdx:
		d.document.Index = true
	case rootList:
	default:
		d.fallBack(prolog)
		return true
	}
	d.lines.take(line)
	if !d.fastHeadElements() {
		d.fallBack(d.root())
	}
	return true
}

// fastHeadElements reads the document's own rs:md and rs:ln elements. It
// returns false if there is something else before the first entry.
func (d *Decoder) fastHeadElements() bool {
	line := d.lines.peek()
	s := scanner{rest: line}
	var m Metadata
	if !s.metadata(&m) || s.rest != "\n" {
		return false
	}
	d.document.Metadata = m
	d.lines.take(line)
	for line = d.lines.peek(); strings.HasPrefix(line, "<rs:ln"); line = d.lines.peek() {
		var link Link
		s = scanner{rest: line}
		if !s.link(&link) || s.rest != "\n" {
			return false
		}
		d.document.Links = append(d.document.Links, link)
		d.lines.take(line)
	}
	start, _, foot := d.forms()
	return strings.HasPrefix(line, start) || line == foot
}

// forms returns how entries start and end, and how the document ends.
func (d *Decoder) forms() (start, end, foot string) {
	if d.document.Index {
		return entryIdx, endIdx, footIdx
	}
	return entryList, endList, footList
}

// fastNext reads one entry that AppendEntry wrote. It returns false at the end,
// after an error, and where there is something else, which it hands to the slow
// decoder.
func (d *Decoder) fastNext() bool {
	line := d.lines.peek()
	start, end, foot := d.forms()
	s := scanner{rest: line}
	switch {
	case line == foot:
		d.fastEnd(line)
		return false
	case !s.entry(start, end, &d.entry):
		d.entry = Entry{}
		d.fallBack(d.root())
		return false
	}
	d.position = Position{Start: d.lines.offset, End: d.lines.offset + int64(len(line)), Canonical: !s.odd}
	if err := d.count(); err != nil {
		d.err = &SyntaxError{Line: d.lines.line, Offset: d.lines.offset, Err: err}
		return false
	}
	d.lines.take(line)
	return true
}

// fastEnd checks that nothing follows the root element.
func (d *Decoder) fastEnd(foot string) {
	d.lines.take(foot)
	if d.lines.atEnd() {
		d.err = io.EOF
		return
	}
	d.fallBack(d.root() + foot)
}

// scanner takes an entry apart that has the form in which AppendEntry writes
// it. Its methods return false as soon as it has another.
type scanner struct {
	rest string
	odd  bool // the bytes may differ from what AppendEntry writes
}

func (s *scanner) entry(start, end string, e *Entry) bool {
	var ok bool
	if !s.skip(start) {
		return false
	}
	if e.Loc, ok = s.until('<'); !ok || e.Loc == "" || hasSpace(e.Loc) || !s.skip("</loc>") {
		return false
	}
	if s.skip("<lastmod>") {
		text, ok := s.raw('<')
		t, err := ParseDateTime(text)
		if !ok || err != nil || !s.skip("</lastmod>") {
			return false
		}
		e.LastModified = t
		s.odd = s.odd || !isCanonicalTime(text, t)
	}
	if s.skip("<changefreq>") {
		if e.ChangeFreq, ok = s.until('<'); !ok || e.ChangeFreq == "" || hasSpace(e.ChangeFreq) || !s.skip("</changefreq>") {
			return false
		}
	}
	if strings.HasPrefix(s.rest, "<rs:md") {
		if !s.metadata(&e.Metadata) {
			return false
		}
		s.odd = s.odd || e.Metadata.IsZero()
	}
	for strings.HasPrefix(s.rest, "<rs:ln") {
		var link Link
		if !s.link(&link) {
			return false
		}
		e.Links = append(e.Links, link)
	}
	return s.rest == end
}

func (s *scanner) metadata(m *Metadata) bool {
	if !s.skip("<rs:md") {
		return false
	}
	// Resources, which come by the million, begin with their hash.
	if !strings.HasPrefix(s.rest, ` hash="`) && !s.metadataBeforeHash(m) {
		return false
	}
	return s.attr(` hash="`, (*string)(&m.Hash)) && s.length(&m.Length, &m.HasLength) &&
		s.attr(` type="`, &m.Type) && s.attr(` encoding="`, &m.Encoding) &&
		s.untrimmedAttr(` path="`, &m.Path) && s.skip("/>")
}

func (s *scanner) metadataBeforeHash(m *Metadata) bool {
	return s.attr(` capability="`, (*string)(&m.Capability)) && s.attr(` change="`, (*string)(&m.Change)) &&
		s.timeAttr(` datetime="`, &m.DateTime) &&
		s.timeAttr(` at="`, &m.At) && s.timeAttr(` completed="`, &m.Completed) &&
		s.timeAttr(` from="`, &m.From) && s.timeAttr(` until="`, &m.Until)
}

func (s *scanner) link(l *Link) bool {
	if !s.skip("<rs:ln") {
		return false
	}
	var pri string
	ok := s.attr(` rel="`, &l.Rel) && s.attr(` pri="`, &pri) && s.attr(` href="`, &l.Href) &&
		s.timeAttr(` modified="`, &l.Modified) &&
		s.attr(` hash="`, (*string)(&l.Hash)) && s.length(&l.Length, &l.HasLength) &&
		s.attr(` type="`, &l.Type) && s.attr(` encoding="`, &l.Encoding) &&
		s.untrimmedAttr(` path="`, &l.Path) && s.attr(` profile="`, &l.Profile)
	if pri != "" {
		n, err := parsePri(pri)
		if err != nil {
			return false
		}
		l.Pri = n
		s.odd = s.odd || n == 0 || strconv.Itoa(n) != pri
	}
	return ok && s.skip("/>")
}

func (s *scanner) skip(text string) bool {
	if !strings.HasPrefix(s.rest, text) {
		return false
	}
	s.rest = s.rest[len(text):]
	return true
}

// attr reads an attribute if it comes next.
func (s *scanner) attr(start string, value *string) bool {
	return s.untrimmedAttr(start, value) && !hasSpaceAround(*value)
}

// untrimmedAttr is for attributes in which white space at the ends counts.
func (s *scanner) untrimmedAttr(start string, value *string) bool {
	if !s.skip(start) {
		return true
	}
	v, ok := s.until('"')
	if !ok || v == "" || !s.skip(`"`) {
		return false
	}
	*value = v
	return true
}

func (s *scanner) timeAttr(start string, t *time.Time) bool {
	if !s.skip(start) {
		return true
	}
	text, ok := s.raw('"')
	if !ok || !s.skip(`"`) {
		return false
	}
	parsed, err := ParseDateTime(text)
	*t = parsed
	s.odd = s.odd || !isCanonicalTime(text, parsed)
	return err == nil
}

// isCanonicalTime reports whether t would be written as text. The zero time
// would not be written at all, and a leap second as the second before it.
func isCanonicalTime(text string, t time.Time) bool {
	const second = len("2006-01-02T15:04:05Z")
	return !t.IsZero() && (len(text) == second && text[17] != '6' || len(text) > second && text == FormatDateTime(t))
}

func (s *scanner) length(n *int64, has *bool) bool {
	if !s.skip(` length="`) {
		return true
	}
	text, ok := s.raw('"')
	if !ok || text == "" || !s.skip(`"`) {
		return false
	}
	var err error
	*n, err = parseLength(text)
	*has = true
	s.odd = s.odd || text[0] == '0' && len(text) > 1
	return err == nil
}

// raw returns the text before the next end character as it stands, for values
// that are parsed anyway.
func (s *scanner) raw(end byte) (string, bool) {
	i := strings.IndexByte(s.rest, end)
	if i < 0 {
		return "", false
	}
	text := s.rest[:i]
	s.rest = s.rest[i:]
	return text, true
}

// until returns the text before the next end character, unescaped. It returns
// false for what only a real XML parser may judge.
func (s *scanner) until(end byte) (string, bool) {
	text, ok := s.raw(end)
	if !ok || isPlain(text) {
		return text, ok
	}
	return s.unescape(text)
}

// isPlain reports whether all bytes stand for themselves. It looks at eight of
// them at once.
func isPlain(s string) bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for ; len(s) >= 8; s = s[8:] {
		x := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		// For a byte of v that is 0, (v-ones)&^v has its top bit set; with
		// spaces for ones, for one that is less than a space. Bytes that differ
		// in one bit are tested together: & and ', < and >.
		and, tags, quote := (x|ones)^'\''*ones, (x|2*ones)^'>'*ones, x^'"'*ones
		odd := x | (x + ones) | (x-' '*ones)&^x | (and-ones)&^and | (tags-ones)&^tags | (quote-ones)&^quote
		if odd&tops != 0 {
			return false
		}
	}
	for i := range len(s) {
		if mustEscape[s[i]] {
			return false
		}
	}
	return true
}

// unescape undoes the escaping of AppendEntry, and of nobody else.
func (s *scanner) unescape(text string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case !mustEscape[c]:
			b.WriteByte(c)
			i++
		case c == '&':
			plain, size := unescapeOne(text[i:])
			if size == 0 {
				return "", false
			}
			b.WriteString(plain)
			i += size
		default:
			r, size := utf8.DecodeRuneInString(text[i:])
			if esc, ok := escapeRune(r, size); !ok || esc != "" {
				return "", false
			}
			b.WriteString(text[i : i+size])
			i += size
		}
	}
	return b.String(), true
}

func unescapeOne(s string) (plain string, size int) {
	for _, p := range [...][2]string{
		{"&amp;", "&"}, {"&#39;", "'"}, {"&lt;", "<"}, {"&gt;", ">"},
		{"&#34;", `"`}, {"&#x9;", "\t"}, {"&#xA;", "\n"}, {"&#xD;", "\r"},
	} {
		if strings.HasPrefix(s, p[0]) {
			return p[1], len(p[0])
		}
	}
	return "", 0
}

func hasSpace(s string) bool {
	return strings.IndexByte(s, ' ') >= 0 || !isPlain(s) && strings.ContainsAny(s, "\t\r\n")
}

func hasSpaceAround(s string) bool {
	return s != "" && (isSpace(s[0]) || isSpace(s[len(s)-1]))
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

func parseLength(s string) (int64, error) {
	n, err := strconv.ParseUint(s, 10, 63)
	return int64(n), err
}

func parsePri(s string) (int, error) { return strconv.Atoi(s) }
