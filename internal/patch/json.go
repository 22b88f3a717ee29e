package patch

import (
	"bytes"
	"encoding/json"
	"errors"
	"hash/maphash"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
)

// What is JSON, but beyond these bounds, is treated as anything else is.
const (
	maxJSON   = 8 << 20 // bytes
	maxValues = 400_000 // each of which takes 100 bytes
	maxDepth  = 128
)

// value is a JSON value that is written as it was read.
type value struct {
	text string     // of a string, a number, true, false or null, as it was written
	in   *container // of an object or array
	hash uint64     // equal for equal values
	size int        // how many bytes it takes without white space
}

// container is an object or array, in the order in which it was written.
type container struct {
	names []string // of members, as they were written, without quotes; nil in an array
	items []value  // without text and container: a member that was removed
	index map[string]int
	array bool
}

// manyMembers is how many an object has for which looking at each one is slower than a
// map, and takes long where names are chosen to that end.
const manyMembers = 16

// find returns where a member is, or -1.
func (c *container) find(name string) int {
	if len(c.names) > manyMembers {
		return c.findByIndex(name)
	}
	for i, n := range c.names {
		if c.items[i].isThere() && isWritten(name, n) {
			return i
		}
	}
	return -1
}

func (c *container) findByIndex(name string) int {
	if c.index == nil {
		c.index = make(map[string]int, len(c.names))
		for i, n := range c.names {
			if c.items[i].isThere() {
				c.index[unquote(n)] = i
			}
		}
	}
	if i, ok := c.index[name]; ok {
		return i
	}
	return -1
}

func (c *container) removeMember(i int) {
	c.items[i] = value{}
	delete(c.index, unquote(c.names[i]))
}

// addMember appends a member whose name, as it was written, is not there yet.
func (c *container) addMember(name string, v value) {
	if c.index != nil {
		c.index[unquote(name)] = len(c.names)
	}
	c.names = append(c.names, name)
	c.items = append(c.items, v)
}

func (v *value) isThere() bool { return v.text != "" || v.in != nil }

// isWritten reports whether a string can be written so, without quotes. An escape is up
// to six times as long as what it stands for; to look only at what may be it keeps long
// names with escapes from being read again and again.
func isWritten(s, written string) bool {
	return s == written || len(written) <= 6*len(s) && unquote(written) == s
}

// unquote returns what a string stands for that is written without its quotes.
func unquote(written string) string {
	if strings.IndexByte(written, '\\') < 0 {
		return written
	}
	var s string
	if json.Unmarshal([]byte(`"`+written+`"`), &s) != nil {
		return written // not reached: all that was parsed is valid
	}
	return s
}

// quote returns how a string is written, without quotes.
func quote(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' }) < 0 {
		return s
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil {
		return s // not reached: a string can be encoded
	}
	return strings.TrimSuffix(strings.TrimPrefix(b.String(), `"`), "\"\n")
}

// parser reads what is known to be JSON.
type parser struct {
	text   string
	at     int
	values int
	style  style // as far as it has been seen
}

var (
	errJSON      = errors.New("it is not JSON in UTF-8")
	errLarge     = errors.New("the JSON is too long or too deep")
	errAmbiguous = errors.New("an object has two members of the same name, or one with half a character")
)

func parse(b []byte) (root value, seen style, err error) {
	if len(b) > maxJSON {
		return value{}, style{}, errLarge
	}
	if !utf8.Valid(b) || !json.Valid(b) {
		return value{}, style{}, errJSON
	}
	p := parser{text: string(b)}
	if p.space() != "" {
		p.style.odd = true
	}
	root, err = p.value(0)
	p.style.end = p.space()
	return root, p.style, err
}

func (p *parser) space() string {
	start := p.at
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
	return p.text[start:p.at]
}

func (p *parser) value(depth int) (value, error) {
	if p.values++; p.values > maxValues {
		return value{}, errLarge
	}
	start := p.at
	switch p.text[p.at] {
	case '{', '[':
		return p.container(depth)
	case '"':
		p.string()
	default:
		for p.at < len(p.text) && strings.IndexByte(",]} \t\r\n", p.text[p.at]) < 0 {
			p.at++
		}
	}
	text := p.text[start:p.at]
	return value{text: text, hash: digest(text), size: len(text)}, nil
}

// string reads a string and returns how it is written, without quotes.
func (p *parser) string() string {
	p.at++
	start := p.at
	for p.text[p.at] != '"' {
		if p.text[p.at] == '\\' {
			p.at++
		}
		p.at++
	}
	p.at++
	return p.text[start : p.at-1]
}

func (p *parser) container(depth int) (value, error) {
	if depth == maxDepth {
		return value{}, errLarge
	}
	c := &container{array: p.text[p.at] == '['}
	open := p.text[p.at : p.at+1]
	closing := open[0] + 2 // in ASCII, for both kinds
	p.at++
	space := p.space()
	if p.text[p.at] == closing {
		p.at++
		p.style.sawEmpty(open, space)
		return c.whole(), nil
	}
	if depth == 0 {
		p.style.sawOpen(space)
	}
	for {
		if !c.array {
			c.names = append(c.names, p.name())
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return value{}, err
		}
		c.items = append(c.items, v)
		p.space()
		p.at++
		if p.text[p.at-1] == closing {
			break
		}
		p.style.sawComma(p.space())
	}
	if !c.namesAreUnique() {
		return value{}, errAmbiguous
	}
	return c.whole(), nil
}

// name reads the name of a member, and all that precedes its value.
func (p *parser) name() string {
	name := p.string()
	start := p.at
	p.space()
	p.at++
	p.space()
	p.style.sawColon(p.text[start:p.at])
	return name
}

// namesAreUnique reports whether a name leads to one member for all readers. Those of
// half a character, a surrogate, are read as one and the same by some.
func (c *container) namesAreUnique() bool {
	var few [manyMembers]string
	names := few[:0]
	for _, n := range c.names {
		name := unquote(n)
		if len(name) != len(n) && strings.ContainsRune(name, utf8.RuneError) {
			return false
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return len(slices.Compact(names)) == len(c.names)
}

var seed = maphash.MakeSeed()

func digest(s string) uint64 { return maphash.String(seed, s) }

// whole returns the value that has this in it.
func (c *container) whole() value {
	v := value{in: c, hash: 1, size: 2 + max(0, len(c.items)-1)}
	if c.array {
		v.hash = 2
	}
	add := func(h uint64) { v.hash = bits.RotateLeft64(v.hash^h, 23) * 0x9E3779B97F4A7C15 }
	for i := range c.items {
		if !c.array {
			add(digest(c.names[i]))
			v.size += len(`"":`) + len(c.names[i])
		}
		add(c.items[i].hash)
		v.size += c.items[i].size
	}
	return v
}
