package links

import (
	"fmt"
	"regexp"
	"strings"
)

// compileGlob turns a glob into an expression whose groups are what its wildcards
// stand for. A glob without a slash is about names at any depth; a slash at its end
// stands for all that is in a directory.
func compileGlob(glob string) (*regexp.Regexp, error) {
	body := strings.TrimSuffix(glob, "/")
	g := globber{glob: glob, rest: strings.TrimPrefix(body, "/")}
	if g.rest == "" {
		return nil, fmt.Errorf("%q is not a pattern", glob)
	}
	if !strings.Contains(body, "/") {
		g.b.WriteString(`(?:.*/)?`)
	}
	for g.rest != "" {
		if err := g.next(); err != nil {
			return nil, err
		}
	}
	if g.depth > 0 {
		return nil, fmt.Errorf("%q has a { without a }", glob)
	}
	if body != glob {
		g.b.WriteString(`/(.*)`)
	}
	return regexp.Compile(`(?s)\A` + g.b.String() + `\z`)
}

// globber translates a glob, piece by piece.
type globber struct {
	glob, rest string
	b          strings.Builder
	depth      int // of braces
}

func (g *globber) next() error {
	for _, wildcard := range [...][2]string{{"**/", `(?:(.*)/)?`}, {"**", `(.*)`}, {"*", `([^/]*)`}, {"?", `[^/]`}} {
		if rest, ok := strings.CutPrefix(g.rest, wildcard[0]); ok {
			g.rest = rest
			g.b.WriteString(wildcard[1])
			return nil
		}
	}
	c := g.rest[0]
	g.rest = g.rest[1:]
	switch {
	case c == '{':
		g.depth++
		g.b.WriteString(`(?:`)
	case c == '}':
		if g.depth--; g.depth < 0 {
			return fmt.Errorf("%q has a } without a {", g.glob)
		}
		g.b.WriteByte(')')
	case c == ',' && g.depth > 0:
		g.b.WriteByte('|')
	case c == '[':
		return g.class()
	case c == '\\':
		if g.rest == "" {
			return fmt.Errorf("%q ends with a backslash", g.glob)
		}
		c, g.rest = g.rest[0], g.rest[1:]
		g.b.WriteString(regexp.QuoteMeta(string([]byte{c})))
	default:
		g.b.WriteString(regexp.QuoteMeta(string([]byte{c})))
	}
	return nil
}

// class translates a choice of characters.
func (g *globber) class() error {
	class, rest, ok := strings.Cut(g.rest, "]")
	if !ok || class == "" {
		return fmt.Errorf("%q has a [ without a ]", g.glob)
	}
	g.rest = rest
	if class[0] == '!' || class[0] == '^' {
		class = "^/" + class[1:]
	}
	g.b.WriteString("[" + strings.ReplaceAll(class, `\`, `\\`) + "]")
	return nil
}
