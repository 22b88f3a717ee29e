package links

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

// template is a text with places for parts of a path.
type template struct {
	text   string
	parts  []part
	escape bool // what is put in is escaped as in a URI
}

type part struct {
	text    string
	value   func(*Resource) string // nil for a text or a capture
	capture int                    // counted from 1
	raw     bool                   // it is a URI already
}

// values are what can stand in braces, beside numbers.
var values = map[string]func(*Resource) string{
	"path": func(r *Resource) string { return r.Path },
	"dir":  func(r *Resource) string { return dirOf(r.Path) },
	"name": func(r *Resource) string { return path.Base(r.Path) },
	"stem": func(r *Resource) string { name := path.Base(r.Path); return strings.TrimSuffix(name, path.Ext(name)) },
	"ext":  func(r *Resource) string { return strings.TrimPrefix(path.Ext(r.Path), ".") },
	"uri":  func(r *Resource) string { return r.URI },
	"hash": func(r *Resource) string { return r.Hash },
}

// Variables are the names that can stand in the braces of a template.
const Variables = "{path}, {dir}, {name}, {stem}, {ext}, {uri}, {hash}, and {1}, {2} and so on for what * and ** stood for"

func dirOf(p string) string {
	if i := strings.LastIndexByte(p, '/'); i >= 0 {
		return p[:i]
	}
	return ""
}

// parseTemplate checks a template, where so many captures can be used.
func parseTemplate(text string, captures int, escape bool) (*template, error) {
	t := &template{text: text, escape: escape}
	for rest := text; rest != ""; {
		before, after, ok := strings.Cut(rest, "{")
		if strings.Contains(before, "}") {
			return nil, fmt.Errorf("%q has a } without a {", text)
		}
		if before != "" {
			t.parts = append(t.parts, part{text: before})
		}
		if !ok {
			break
		}
		name, end, ok := strings.Cut(after, "}")
		if !ok {
			return nil, fmt.Errorf("%q has a { without a }", text)
		}
		p := part{value: values[name], raw: name == "uri"}
		if p.value == nil {
			n, err := strconv.Atoi(name)
			if err != nil || n < 1 {
				return nil, fmt.Errorf("{%s} is none of %s", name, Variables)
			}
			if n > captures {
				return nil, fmt.Errorf("{%d} is not there: a pattern has %d wildcards", n, max(captures, 0))
			}
			p.capture = n
		}
		t.parts = append(t.parts, p)
		rest = end
	}
	return t, nil
}

// expand puts in what there is to say of a resource. A {dir} that is empty takes the
// slash behind it along.
func (t *template) expand(r *Resource, captures []string) string {
	var b strings.Builder
	swallow := false
	for _, p := range t.parts {
		text := p.text
		switch {
		case p.value != nil:
			text = p.value(r)
		case p.capture > 0:
			text = captures[p.capture-1]
		case swallow:
			text = strings.TrimPrefix(text, "/")
		}
		swallow = text == "" && (p.value != nil || p.capture > 0)
		if t.escape && !p.raw && (p.value != nil || p.capture > 0) {
			text = escapePath(text)
		}
		b.WriteString(text)
	}
	return b.String()
}

// escapePath escapes all but what stands for itself in the path of any URI. See RFC
// 3986 §2.3.
func escapePath(s string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~/", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(digits[c>>4])
		b.WriteByte(digits[c&15])
	}
	return b.String()
}
