package verify

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
)

// token returns the next token, and keeps what package encoding/xml lets pass.
func (p *parser) token() (xml.Token, error) {
	if p.tokens++; p.tokens%1024 == 0 && p.ctx.Err() != nil {
		return nil, context.Cause(p.ctx)
	}
	p.source.taken = 0
	line, column := p.xml.InputPos()
	p.start = spot{line, column}
	t, err := p.xml.Token()
	if err != nil {
		return nil, p.tokenError(err)
	}
	switch t := t.(type) {
	case xml.StartElement:
		if len(t.Attr) > p.limits.Links {
			p.report(auditLimit, p.start, "", "an element has more than %d attributes; the rest was not read", p.limits.Links)
			return nil, errStop
		}
		if p.depth++; p.depth > p.limits.Depth {
			p.report(auditLimit, p.start, "", "elements are nested more than %d deep; the rest was not read", p.limits.Depth)
			return nil, errStop
		}
		p.namespaces(t)
	case xml.EndElement:
		p.depth--
	case xml.Directive:
		if strings.Contains(string(t), "[") {
			p.report(xmlDoctype, p.start, string(t), "a document type declaration with declarations in it; the rest was not read")
			return nil, errStop
		}
		p.report(contentUnknown, p.start, string(t), "a document type declaration has no meaning here")
	}
	return t, nil
}

// namespaces keeps those that an element declares, and reports prefixes that
// nobody declared.
func (p *parser) namespaces(t xml.StartElement) {
	for i, a := range t.Attr {
		if a.Name.Space == "xmlns" || a.Name == (xml.Name{Local: "xmlns"}) {
			p.declared[a.Value] = struct{}{}
		}
		if slices.ContainsFunc(t.Attr[:i], func(b xml.Attr) bool { return a.Name == b.Name }) {
			p.report(xmlWellFormed, p.start, a.Name.Local, "the attribute %s comes twice", clip(a.Name.Local))
		}
	}
	if len(p.declared) > 1000 { // nobody needs as many, and each takes memory
		p.declared = map[string]struct{}{}
	}
	p.declaredPrefix(t.Name.Space)
	for _, a := range t.Attr {
		p.declaredPrefix(a.Name.Space)
	}
}

func (p *parser) declaredPrefix(space string) {
	if _, ok := p.declared[space]; !ok {
		p.once(xmlNamespace, space, "the prefix %s is not declared", clip(space))
	}
}

// once reports what is the same for many elements only the first time.
func (p *parser) once(r *Rule, value, format string, args ...any) {
	key := r.Name + " " + clip(value)
	if _, ok := p.told[key]; ok || len(p.told) > 100 {
		return
	}
	p.told[key] = struct{}{}
	p.report(r, p.start, value, format, args...)
}

// tokenError reports why a document cannot be read on. Only errors of reading the
// file itself are returned as they are.
func (p *parser) tokenError(err error) error {
	var syntax *xml.SyntaxError
	line, column := p.xml.InputPos()
	at := spot{line, column}
	switch {
	case errors.Is(p.source.err, errToken):
		return p.tooLong()
	case errors.Is(p.source.err, errTooLong):
		p.report(auditLimit, at, "", "the document is longer than %d bytes; the rest was not read", p.limits.DocumentBytes)
	case errors.Is(err, errCharset), errors.Is(p.source.err, errCharset):
		p.report(xmlEncoding, at, "", "%v", cmp.Or(p.source.err, errCharset))
	case p.source.err != nil && p.source.err != io.EOF:
		return p.source.err
	case err == io.EOF:
		p.report(xmlWellFormed, at, "", "the document is empty, or ends before its root element does")
	case errors.As(err, &syntax) && strings.Contains(syntax.Msg, "invalid UTF-8"):
		p.report(xmlEncoding, at, "", "there are bytes that are not UTF-8")
	case errors.As(err, &syntax):
		p.report(xmlWellFormed, at, "", "not well-formed: %s; the rest was not read", clip(syntax.Msg))
	default:
		p.report(xmlWellFormed, at, "", "not well-formed: %s; the rest was not read", clip(err.Error()))
	}
	return errStop
}

func (p *parser) tooLong() error {
	p.report(auditLimit, p.start, "", "an element, text or comment is longer than %d bytes; the rest was not read", p.limits.Token)
	return errStop
}

// end looks at what follows the root element.
func (p *parser) end() error {
	for {
		p.source.taken = 0
		line, column := p.xml.InputPos()
		t, err := p.xml.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return p.tokenError(err)
		}
		text, isText := t.(xml.CharData)
		_, isElement := t.(xml.StartElement)
		if isElement || isText && trimSpace(string(text)) != "" {
			p.report(xmlWellFormed, spot{line, column}, "", "something follows the root element")
			return errStop
		}
	}
}
