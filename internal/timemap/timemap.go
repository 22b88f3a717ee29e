// Package timemap reads and writes TimeMaps: lists of the prior versions of a
// resource, in application/link-format. See RFC 7089 §5 and RFC 6690.
package timemap

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// MediaType is that of a TimeMap.
const MediaType = "application/link-format"

// MaxBytes is how long a TimeMap may be that is read: it then has some hundred
// thousand versions.
const MaxBytes = 64 << 20

// TimeMap lists the versions of one resource.
type TimeMap struct {
	// Original is the URI of the resource. Self, that of the TimeMap, and TimeGate,
	// that of what finds the version of a time, may be empty.
	Original, Self, TimeGate string
	// Versions are in the order of their times.
	Versions []Version
}

// Version is a resource as it was at a time.
type Version struct {
	URI  string
	At   time.Time // since when, in UTC, to the second
	Type string    // its media type, or empty
}

// Sort brings the versions into the order of their times. Those of one time stay in
// the order in which they are.
func (m *TimeMap) Sort() {
	slices.SortStableFunc(m.Versions, func(a, b Version) int { return a.At.Compare(b.At) })
}

// Has reports whether one of the versions has a URI.
func (m *TimeMap) Has(uri string) bool {
	return slices.ContainsFunc(m.Versions, func(v Version) bool { return v.URI == uri })
}

// Marshal returns the TimeMap as it is published. URIs must have no > in them, and
// types no quotes.
func (m *TimeMap) Marshal() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "<%s>; rel=\"original\"", m.Original)
	if m.TimeGate != "" {
		fmt.Fprintf(&b, ",\n<%s>; rel=\"timegate\"", m.TimeGate)
	}
	if m.Self != "" {
		fmt.Fprintf(&b, ",\n<%s>; rel=\"self\"; type=\"%s\"", m.Self, MediaType)
		if n := len(m.Versions); n > 0 {
			fmt.Fprintf(&b, "; from=\"%s\"; until=\"%s\"", format(m.Versions[0].At), format(m.Versions[n-1].At))
		}
	}
	for i, v := range m.Versions {
		fmt.Fprintf(&b, ",\n<%s>; rel=\"%s\"; datetime=\"%s\"", v.URI, rel(i, len(m.Versions)), format(v.At))
		if v.Type != "" {
			fmt.Fprintf(&b, "; type=\"%s\"", v.Type)
		}
	}
	b.WriteString("\n")
	return []byte(b.String())
}

// rel says which of so many versions one is.
func rel(i, n int) string {
	switch {
	case n == 1:
		return "first last memento"
	case i == 0:
		return "first memento"
	case i == n-1:
		return "last memento"
	}
	return "memento"
}

func format(t time.Time) string { return t.UTC().Format(http.TimeFormat) }

// ErrMalformed is for what is no TimeMap.
var ErrMalformed = errors.New("it is no TimeMap")

// Parse reads a TimeMap. Links with other relations are left out. Its errors are
// ErrMalformed.
func Parse(b []byte) (*TimeMap, error) {
	m := &TimeMap{}
	p := parser{rest: string(b)}
	for first := true; ; first = false {
		p.space()
		if p.rest == "" && !first {
			break
		}
		if !first && !p.take(",") {
			return nil, p.fail("a comma is missing")
		}
		if err := p.link(m); err != nil {
			return nil, err
		}
	}
	if m.Original == "" {
		return nil, p.fail("it does not say of which resource it is")
	}
	m.Sort()
	return m, nil
}

// parser is where the reading of a TimeMap is.
type parser struct{ rest string }

func (p *parser) fail(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

func (p *parser) space() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

// take takes a text, if it comes next.
func (p *parser) take(text string) bool {
	p.space()
	rest, ok := strings.CutPrefix(p.rest, text)
	if ok {
		p.rest = rest
	}
	return ok
}

// link takes one link with its parameters.
func (p *parser) link(m *TimeMap) error {
	if !p.take("<") {
		return p.fail("a URI is missing")
	}
	uri, rest, ok := strings.Cut(p.rest, ">")
	if !ok || uri == "" {
		return p.fail("a URI does not end")
	}
	p.rest = rest
	params := map[string]string{}
	for p.take(";") {
		name, value, err := p.param()
		if err != nil {
			return err
		}
		if _, twice := params[name]; !twice { // the first counts
			params[name] = value
		}
	}
	return m.add(uri, params)
}

// param takes a name and, perhaps, a value, which may be quoted.
func (p *parser) param() (name, value string, err error) {
	p.space()
	end := strings.IndexAny(p.rest, "=;, \t\r\n")
	if end < 0 {
		end = len(p.rest)
	}
	if name = strings.ToLower(p.rest[:end]); name == "" {
		return "", "", p.fail("the name of a parameter is missing")
	}
	p.rest = p.rest[end:]
	if !p.take("=") {
		return name, "", nil
	}
	if p.take(`"`) {
		value, rest, ok := strings.Cut(p.rest, `"`)
		if !ok {
			return "", "", p.fail("the value of %s does not end", name)
		}
		p.rest = rest
		return name, value, nil
	}
	p.space()
	if end = strings.IndexAny(p.rest, ";, \t\r\n"); end < 0 {
		end = len(p.rest)
	}
	value, p.rest = p.rest[:end], p.rest[end:]
	return name, value, nil
}

// add takes what a link says.
func (m *TimeMap) add(uri string, params map[string]string) error {
	for r := range strings.FieldsSeq(params["rel"]) {
		switch strings.ToLower(r) {
		case "original":
			m.Original = uri
		case "self":
			m.Self = uri
		case "timegate":
			m.TimeGate = uri
		case "memento":
			at, err := http.ParseTime(params["datetime"])
			if err != nil {
				return fmt.Errorf("%w: the datetime of %q is %q", ErrMalformed, uri, params["datetime"])
			}
			m.Versions = append(m.Versions, Version{URI: uri, At: at.UTC(), Type: params["type"]})
		}
	}
	return nil
}
