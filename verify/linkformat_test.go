package verify

import (
	"io"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// parseAll returns the links of a text, as target, relation, datetime and anchor.
func parseAll(text string) ([]string, error) {
	p := linkFormat{text: text}
	var all []string
	for {
		l, err := p.next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, strings.Join([]string{l.target, l.rel, l.datetime, l.anchor}, "|"))
	}
}

func TestLinkFormat(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, want, err string }{
		{"", "", ""},
		{" \r\n\t", "", ""},
		{"<a>", "a|||", ""},
		{"<>", "|||", ""},
		{"<a>,<b>\n, <c>,", "a||| b||| c|||", ""},
		{",, <a> ,\t,<b>", "a||| b|||", ""},
		{`<a>;rel="first memento";datetime="Tue, 20 Jun 2000 18:02:59 GMT"`, "a|first memento|Tue, 20 Jun 2000 18:02:59 GMT|", ""},
		{`<a> ; REL = memento ; x ; title*=UTF-8''a%20b; anchor="#b"`, "a|memento||#b", ""},
		{`<a>;rel="x";rel="y"`, "a|x||", ""},
		{`<a>;rel="a\"\\b,;<c>"`, `a|a"\b,;<c>||`, ""},
		{`<a>;title="Zürich"`, "a|||", ""},
		{"a", "", "line 1, byte 1: a link begins with <"},
		{"<a", "", "ends with >"},
		{"<a b>", "", "is a URI"},
		{"<a\nb>", "", "is a URI"},
		{"<ä>", "", "is a URI"},
		{"<a>\n <b>", "", "line 2, byte 2: a link is followed by"},
		{"<a>;", "", "has a name"},
		{"<a>;;rel=x", "", "has a name"},
		{"<a>;rel=", "", "has a value"},
		{"<a>;rel=,", "", "has a value"},
		{`<a>;rel="x`, "", "ends with a quote"},
		{`<a>;rel="x\`, "", "backslash"},
		{"<a>;rel=\"x\ny\"", "", "control characters"},
		{"<a>;rel=\"\xff\"", "", "UTF-8"},
		{"\ufeff<a>", "", "begins with <"},
		{"<html>\n<body>", "", "line 2, byte 1"},
	} {
		got, err := parseAll(test.text)
		switch {
		case err == nil && test.err != "" || err != nil && (test.err == "" || !strings.Contains(err.Error(), test.err)):
			t.Errorf("%q: %v, want %q", test.text, err, test.err)
		case err == nil && strings.Join(got, " ") != test.want:
			t.Errorf("%q: %q, want %q", test.text, got, test.want)
		}
	}
}

func TestMementoDatetime(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{
		"Tue, 20 Jun 2000 18:02:59 GMT": true, "Thu, 01 Jan 1970 00:00:00 GMT": true,
		"": false, "Wed, 20 Jun 2000 18:02:59 GMT": false, "Tue, 20 Jun 2000 18:02:59 UTC": false, "tue, 20 jun 2000 18:02:59 gmt": false,
		"Tuesday, 20-Jun-00 18:02:59 GMT": false, "2000-06-20T18:02:59Z": false, "Tue, 20 Jun 2000 18:02:59 GMT ": false,
		"Fri, 30 Feb 2001 00:00:00 GMT": false, "Tue, 20 Jun 2000 18:02 GMT": false,
	} {
		if got := isMementoDatetime(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}

// FuzzLinkFormat sees that the parser ends, keeps within its text, and reads again
// what it has read.
func FuzzLinkFormat(f *testing.F) {
	a, err := txtar.ParseFile("testdata/good.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range a.Files {
		if strings.HasSuffix(file.Name, ".link") {
			f.Add(string(file.Data))
		}
	}
	for _, seed := range []string{`<a>;rel="a\"\\b,;<c>"`, "<a>,,<b>; x; rel=y", "<a>;rel=\"x", "<a>;title*=UTF-8''a", "<>;anchor=\"\""} {
		f.Add(seed)
	}
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	f.Fuzz(func(t *testing.T, text string) {
		p := linkFormat{text: text}
		for last := -1; p.at > last; {
			last = p.at
			l, err := p.next()
			if p.at > len(text) || p.start > p.at || p.line > strings.Count(text, "\n") {
				t.Fatalf("at %d of %d, line %d from %d", p.at, len(text), p.line, p.start)
			}
			if err != nil {
				return
			}
			if strings.ContainsFunc(l.target, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
				t.Fatalf("the target %q", l.target)
			}
			again := "<" + l.target + ">; rel=\"" + quote.Replace(l.rel) + "\"; datetime=\"" + quote.Replace(l.datetime) + "\"; anchor=\"" + quote.Replace(l.anchor) + "\""
			q := linkFormat{text: again}
			m, err := q.next()
			if err != nil || m.target != l.target || m.rel != l.rel || m.datetime != l.datetime || m.anchor != l.anchor {
				t.Fatalf("%q: %+v, %v, want %+v", again, m, err, l)
			}
		}
		t.Fatal("the parser does not get on")
	})
}
