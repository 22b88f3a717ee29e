package verify

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// linkFormat reads the links of a document in application/link-format, one after
// the other. It is strict where RFC 8288 §3 is, but lets empty elements pass between
// commas, as lists in headers may have them. See RFC 6690 §2 and RFC 7089 §5.
type linkFormat struct {
	text string
	at   int
	// line is the number of the line, counted from 0, which begins at start.
	line, start int
}

// formatLink is one link. Of parameters that come twice, the first counts.
type formatLink struct {
	target   string // as it is written: it may be relative
	rel      string // relation types, separated by spaces
	datetime string
	anchor   string
	line     int // counted from 1
}

// has reports whether a relation is one of those of the link.
func (l *formatLink) has(rel string) bool {
	for r := range strings.FieldsSeq(l.rel) {
		if strings.EqualFold(r, rel) {
			return true
		}
	}
	return false
}

// next returns the next link, or io.EOF behind the last one. Any other error says
// in which line there is no link-format any more.
func (p *linkFormat) next() (*formatLink, error) {
	for p.skipSpace(); p.take(','); p.skipSpace() {
	}
	if p.at == len(p.text) {
		return nil, io.EOF
	}
	l := &formatLink{line: 1 + p.line}
	if !p.take('<') {
		return nil, p.failed("a link begins with <")
	}
	n := strings.IndexByte(p.text[p.at:], '>')
	if n < 0 {
		return nil, p.failed("the target of a link ends with >")
	}
	l.target = p.text[p.at : p.at+n]
	if !isReference(l.target) {
		return nil, p.failed("the target of a link is a URI")
	}
	p.at += n + 1
	for p.skipSpace(); p.take(';'); p.skipSpace() {
		if err := p.parameter(l); err != nil {
			return nil, err
		}
	}
	if p.at < len(p.text) && p.text[p.at] != ',' {
		return nil, p.failed("a link is followed by a semicolon or a comma")
	}
	return l, nil
}

// parameter reads what follows a semicolon.
func (p *linkFormat) parameter(l *formatLink) error {
	p.skipSpace()
	begin := p.at
	for p.at < len(p.text) && isTokenByte(p.text[p.at]) {
		p.at++
	}
	if p.at == begin {
		return p.failed("a parameter has a name")
	}
	name := strings.ToLower(p.text[begin:p.at])
	p.skipSpace()
	if !p.take('=') {
		return nil
	}
	p.skipSpace()
	value, err := p.value()
	if err != nil {
		return err
	}
	for _, known := range []struct {
		name string
		into *string
	}{{"rel", &l.rel}, {"datetime", &l.datetime}, {"anchor", &l.anchor}} {
		if known.name == name && *known.into == "" {
			*known.into = value
		}
	}
	return nil
}

// value reads a quoted string, or what stands without quotes up to white space, a
// semicolon or a comma.
func (p *linkFormat) value() (string, error) {
	if p.take('"') {
		return p.quoted()
	}
	begin := p.at
	for p.at < len(p.text) && p.text[p.at] > ' ' && p.text[p.at] < 0x7f && !strings.ContainsRune("\";,<>\\", rune(p.text[p.at])) {
		p.at++
	}
	if p.at == begin {
		return "", p.failed("a parameter has a value behind =")
	}
	return p.text[begin:p.at], nil
}

func (p *linkFormat) quoted() (string, error) {
	begin, escaped := p.at, false
	for ; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == '"':
			value := p.text[begin:p.at]
			if !utf8.ValidString(value) {
				return "", p.failed("text is in UTF-8")
			}
			p.at++
			if escaped {
				value = unescaped(value)
			}
			return value, nil
		case c < ' ' && c != '\t', c == 0x7f:
			return "", p.failed("there are no control characters within quotes")
		case c == '\\' && p.at+1 < len(p.text) && p.text[p.at+1] >= ' ' && p.text[p.at+1] < 0x7f:
			escaped = true
			p.at++
		case c == '\\':
			return "", p.failed("a backslash stands before a character")
		}
	}
	return "", p.failed("a quoted value ends with a quote")
}

// unescaped removes the backslashes that stand before characters.
func unescaped(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func (p *linkFormat) skipSpace() {
	for ; p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0; p.at++ {
		if p.text[p.at] == '\n' { // which can be nowhere else
			p.line++
			p.start = p.at + 1
		}
	}
}

func (p *linkFormat) take(c byte) bool {
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

// failed returns an error that says what there should be at this place.
func (p *linkFormat) failed(want string) error {
	return fmt.Errorf("line %d, byte %d: %s", 1+p.line, 1+p.at-p.start, want)
}

// isReference reports whether s has only what may stand in a URI reference.
func isReference(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f || strings.IndexByte("<>\"\\^`{|}", s[i]) >= 0 {
			return false
		}
	}
	return true
}

func isTokenByte(c byte) bool {
	return c > ' ' && c < 0x7f && strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) < 0
}
