package patch

import (
	"bytes"
	"errors"
	"slices"
	"strings"
)

// style is how JSON is laid out: where the white space is.
type style struct {
	newline     string // before each value in an object or array, or empty if all is on one line
	indent      string // behind it, once for each level
	comma       string // with the space behind it, if all is on one line
	colon       string // with the space around it
	emptyArray  string
	emptyObject string
	end         string
	odd         bool // there is white space that none of this explains
}

// compact is the style of values in a JSON Patch.
var compact = style{comma: ",", colon: ":", emptyArray: "[]", emptyObject: "{}"}

// saw keeps the first thing of a kind that was seen.
func saw(s *string, text string) {
	if *s == "" {
		*s = text
	}
}

func (s *style) sawEmpty(open, space string) {
	if open == "[" {
		saw(&s.emptyArray, "["+space+"]")
	} else {
		saw(&s.emptyObject, "{"+space+"}")
	}
}

func (s *style) sawOpen(space string) {
	s.indent = strings.TrimLeft(space, "\r\n")
	s.newline = space[:len(space)-len(s.indent)]
}

func (s *style) sawComma(space string) { saw(&s.comma, ","+space) }

func (s *style) sawColon(text string) { saw(&s.colon, text) }

// complete fills in what has not been seen, with what usually goes with the rest.
func (s *style) complete() {
	loose := s.newline != "" || s.comma == ", " || s.comma == "" && s.colon == ": "
	if loose {
		saw(&s.colon, ": ")
		saw(&s.comma, ", ")
	}
	saw(&s.colon, ":")
	saw(&s.comma, ",")
	saw(&s.emptyArray, "[]")
	saw(&s.emptyObject, "{}")
}

// isUsual reports whether there are programs that write in this style, so that a
// Destination may be able to.
func (s *style) isUsual() bool {
	return !s.odd &&
		isOneOf(s.newline, "", "\n", "\r\n") &&
		(s.newline == "" && s.indent == "" && isOneOf(s.comma, ",", ", ") ||
			s.newline != "" && (s.indent == "\t" || len(s.indent) <= 8 && strings.Trim(s.indent, " ") == "")) &&
		isOneOf(s.colon, ":", ": ", " : ") &&
		isOneOf(s.emptyArray, "[]", "[ ]") &&
		isOneOf(s.emptyObject, "{}", "{ }") &&
		isOneOf(s.end, "", "\n", "\r\n")
}

func isOneOf(s string, choices ...string) bool {
	return slices.Contains(choices, s)
}

// document is JSON in one style throughout.
type document struct {
	root  value
	style style
	// How long it was, in bytes, and is, about.
	length int
	work   int // how many elements have been moved to apply a description
}

var errStyle = errors.New("the JSON is not laid out in one of the usual styles throughout")

// parseStyled reads JSON that would be written again as it is.
func parseStyled(b []byte) (*document, error) {
	root, s, err := parse(b)
	if err != nil {
		return nil, err
	}
	if s.complete(); !s.isUsual() {
		return nil, errStyle
	}
	d := &document{root: root, style: s, length: len(b)}
	if again, err := d.write(); err != nil || !bytes.Equal(again, b) {
		return nil, errStyle
	}
	return d, nil
}

func (d *document) write() ([]byte, error) {
	w := writer{style: d.style, max: MaxLength, b: make([]byte, 0, d.length)}
	w.value(&d.root, 0)
	w.b = append(w.b, d.style.end...)
	if len(w.b) > w.max {
		return nil, errLong
	}
	return w.b, nil
}

var errLong = errors.New("what comes out is too long")

// writer writes values in a style.
type writer struct {
	style
	b   []byte
	max int // bytes, after which no more is written
}

func (w *writer) value(v *value, depth int) {
	switch {
	case v.in == nil:
		w.b = append(w.b, v.text...)
	case v.in.array:
		w.container(v.in, depth, "[", "]", w.emptyArray)
	default:
		w.container(v.in, depth, "{", "}", w.emptyObject)
	}
}

func (w *writer) container(c *container, depth int, open, closing, empty string) {
	between := open
	for i := range c.items {
		if !c.items[i].isThere() {
			continue
		}
		if len(w.b) > w.max {
			return
		}
		w.b = append(w.b, between...)
		w.line(depth + 1)
		if !c.array {
			w.b = append(append(append(w.b, '"'), c.names[i]...), '"')
			w.b = append(w.b, w.colon...)
		}
		w.value(&c.items[i], depth+1)
		if between = w.comma; w.newline != "" {
			between = ","
		}
	}
	if between == open {
		w.b = append(w.b, empty...)
		return
	}
	w.line(depth)
	w.b = append(w.b, closing...)
}

// line begins a line.
func (w *writer) line(depth int) {
	if w.newline == "" {
		return
	}
	w.b = append(w.b, w.newline...)
	for range depth {
		w.b = append(w.b, w.indent...)
	}
}
