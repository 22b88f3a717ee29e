package links

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

func TestPlan(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		rule policy.LinkRule
		path string
		want string // relation, href or file, and more
	}{
		{policy.LinkRule{Match: []string{"*.pdf"}, Rel: "describedby", File: "{path}.xml"}, "a/b.pdf", "describedby file:a/b.pdf.xml"},
		{policy.LinkRule{Match: []string{"*.pdf"}, Rel: "describedby", File: "meta/{dir}/{stem}.xml"}, "a/b.c.pdf", "describedby file:meta/a/b.c.xml"},
		{policy.LinkRule{Match: []string{"*.pdf"}, Rel: "describedby", File: "{dir}/{stem}.xml"}, "b.pdf", "describedby file:b.xml"},
		{policy.LinkRule{Match: []string{"papers/**/*.pdf"}, Rel: "describedby", File: "records/{1}/{2}.xml"}, "papers/2025/05/x.pdf", "describedby file:records/2025/05/x.xml"},
		{policy.LinkRule{Match: []string{"papers/**/*.pdf"}, Rel: "describedby", File: "records/{1}/{2}.xml"}, "papers/x.pdf", "describedby file:records/x.xml"},
		{policy.LinkRule{Match: []string{"papers/*.pdf"}, Rel: "describedby", File: "{path}.xml"}, "papers/2025/x.pdf", ""},
		{policy.LinkRule{Match: []string{"papers/*.pdf"}, Rel: "describedby", File: "{path}.xml"}, "more/papers/x.pdf", ""},
		{policy.LinkRule{Match: []string{"**"}, Rel: "duplicate", Pri: 2, Href: "https://mirror.example/{path}"}, "a b/ü.txt", "duplicate https://mirror.example/a%20b/%C3%BC.txt pri=2"},
		{policy.LinkRule{Match: []string{"*.{jpg,png}"}, Rel: "collection", Href: "https://x.example/{ext}"}, "a.png", "collection https://x.example/png"},
		{policy.LinkRule{Match: []string{"*.{jpg,png}"}, Rel: "collection", Href: "https://x.example/{ext}"}, "a.gif", ""},
		{policy.LinkRule{Match: []string{"[a-c]?.txt"}, Rel: "up", Href: "https://x.example/{name}"}, "b1.txt", "up https://x.example/b1.txt"},
		{policy.LinkRule{Match: []string{"[!a-c]*"}, Rel: "up", Href: "https://x.example/{1}"}, "dog", "up https://x.example/og"},
		{policy.LinkRule{Match: []string{"*.pdf"}, Rel: "describedby", File: "{dir}/../records/./{stem}.xml"}, "papers/b.pdf", "describedby file:records/b.xml"},
		{policy.LinkRule{Match: []string{"*.pdf"}, Rel: "describedby", File: "{dir}/../{stem}.xml"}, "b.pdf", ""},
		{policy.LinkRule{Match: []string{"*.pdf"}, Rel: "up", File: "{dir}", Profile: "https://p.example/"}, "b.pdf", ""},
		{policy.LinkRule{Match: []string{"[^a-c]*"}, Rel: "up", Href: "https://x.example/{1}"}, "dog", "up https://x.example/og"},
		{policy.LinkRule{Match: []string{"papers/"}, Rel: "collection", Href: "https://x.example/{1}"}, "old/papers/a/b", "collection https://x.example/a/b"},
		{policy.LinkRule{Match: []string{"/papers/"}, Rel: "collection", Href: "https://x.example/{1}"}, "old/papers/a", ""},
		{policy.LinkRule{Match: []string{`\*.txt`}, Rel: "up", Href: "https://x.example/"}, "*.txt", "up https://x.example/"},
		{policy.LinkRule{Match: []string{"a,b"}, Rel: "up", Href: "https://x.example/"}, "a,b", "up https://x.example/"},
		{policy.LinkRule{Match: []string{"**"}, Rel: "timegate", Href: "https://t.example/{uri}"}, "a b", "timegate https://t.example/https://e.example/a%20b"},
		{policy.LinkRule{Match: []string{"**"}, Rel: "https://r.example/seen", Href: "urn:sha256:{hash}"}, "a", "https://r.example/seen urn:sha256:00ff"},
		{policy.LinkRule{Match: []string{"*.rdf"}, Rel: "describes", File: "{dir}/{stem}", Profile: "https://p.example/dc"}, "x.pdf.rdf", "describes file:x.pdf, profile https://p.example/dc"},
	} {
		test.rule.Name = "x"
		rules, err := New([]policy.LinkRule{test.rule})
		if err != nil {
			t.Errorf("%+v: %v", test.rule, err)
			continue
		}
		planned, err := rules.Plan(&Resource{Path: test.path, URI: "https://e.example/" + escapePath(test.path), Hash: "00ff"}, nil)
		if err != nil {
			t.Errorf("%+v: %v", test.rule, err)
		}
		var got []string
		for _, p := range planned {
			text := p.Link.Rel + " " + p.Link.Href
			if p.File != "" && p.Link.Href == "" {
				text += "file:" + p.File
			}
			if p.Link.Pri > 0 {
				text += " pri=2"
			}
			got = append(got, text)
		}
		if s := strings.Join(got, ", "); s != test.want {
			t.Errorf("%v for %s: %q, want %q", test.rule.Match, test.path, s, test.want)
		}
	}
}

func TestBadRules(t *testing.T) {
	t.Parallel()
	good := policy.LinkRule{Name: "x", Match: []string{"*.pdf"}, Rel: "via", Href: "https://e.example/{path}"}
	for want, change := range map[string]func(*policy.LinkRule){
		"needs href or file":              func(r *policy.LinkRule) { r.Href = "" },
		"and not both":                    func(r *policy.LinkRule) { r.File = "a" },
		`rel is "descrbedby"`:             func(r *policy.LinkRule) { r.Rel = "descrbedby" },
		`type is "html"`:                  func(r *policy.LinkRule) { r.Type = "html" },
		"a patch needs a type":            func(r *policy.LinkRule) { r.Rel = "http://www.openarchives.org/rs/terms/patch" },
		`rel is "see also"`:               func(r *policy.LinkRule) { r.Rel = "see also" },
		"pri is 1000000":                  func(r *policy.LinkRule) { r.Pri = 1_000_000 },
		"{paht} is none of":               func(r *policy.LinkRule) { r.Href = "https://e.example/{paht}" },
		"{2} is not there: a pattern has": func(r *policy.LinkRule) { r.Href = "https://e.example/{2}" },
		"has a { without a }":             func(r *policy.LinkRule) { r.Href = "https://e.example/{path" },
		"has a } without a {":             func(r *policy.LinkRule) { r.Href = "https://e.example/path}" },
		"does not give a URI":             func(r *policy.LinkRule) { r.Href = "{path}" },
		"has a [ without a ]":             func(r *policy.LinkRule) { r.Match = []string{"[a"} },
		`"{a" has a {`:                    func(r *policy.LinkRule) { r.Match = []string{"{a"} },
		`"a}" has a }`:                    func(r *policy.LinkRule) { r.Match = []string{"a}"} },
		"is not a pattern":                func(r *policy.LinkRule) { r.Match = []string{""} },
	} {
		r := good
		change(&r)
		if _, err := New([]policy.LinkRule{r}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestUnused(t *testing.T) {
	t.Parallel()
	rules, err := New([]policy.LinkRule{
		{Name: "first", Match: []string{"*.a"}, Rel: "up", Href: "https://e.example/"},
		{Name: "second", Match: []string{"*.b"}, Rel: "up", Href: "https://e.example/"},
		{Name: "third", Match: []string{"*.a"}, Rel: "up", File: "{path}.x"},
	})
	if err != nil {
		t.Fatal(err)
	}
	tally := rules.NewTally()
	if _, err := rules.Plan(&Resource{Path: "x.a", URI: "https://e.example/x.a"}, tally); err != nil {
		t.Fatal(err)
	}
	if got := len(tally.Unused()); got != 1 {
		t.Errorf("%d", got)
	}
	tally.Missing(2, "x.a.x")
	if got := strings.Join(tally.Unused(), ", "); got != `second: the rule gives no link: no file matches it, third: the rule gives no link: nothing that it leads to is published, such as "x.a.x"` {
		t.Errorf("%s", got)
	}
	tally.Used(2)
	if got := len(tally.Unused()); got != 1 {
		t.Errorf("%d", got)
	}
}

func FuzzTemplate(f *testing.F) {
	f.Add("https://x.example/{path}/{1}", "a/b.pdf", "*.pdf")
	f.Fuzz(func(t *testing.T, text, path, glob string) {
		rules, err := New([]policy.LinkRule{{Name: "x", Match: []string{glob}, Rel: "via", Href: text}})
		if err != nil {
			return
		}
		planned, err := rules.Plan(&Resource{Path: path, URI: "https://e.example/"}, nil)
		if err != nil {
			return
		}
		for _, p := range planned {
			if !resourcesync.IsURI(p.Link.Href) || !utf8.ValidString(p.Link.Href) {
				t.Errorf("%q", p.Link.Href)
			}
		}
	})
}
