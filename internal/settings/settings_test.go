package settings

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var testKeys = []Key{
	{"base_url", Text}, {"include", List}, {"jobs", Number}, {"hidden", Bool}, {"now", Text}, {"package_size", Text}, {"max_delete", Text},
}

func TestParse(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"plain":            "base_url = \"https://example.org/\"\ninclude = [\"*.html\", \"a/**\"]\njobs = 3\nhidden = true\nnow = 2026-01-02T03:04:05Z\nmax_delete = 20\n",
		"byte order mark":  "\xef\xbb\xbfbase_url = \"https://example.org/\"\ninclude = [\"*.html\", \"a/**\"]\njobs = 3\nhidden = true\nnow = \"2026-01-02T03:04:05Z\"\nmax_delete = \"20\"\n",
		"Windows and tabs": "\tbase_url\t= \"https://example.org/\"\r\n\r\ninclude = [\r\n\t\"*.html\",\r\n\t\"a/**\",\r\n]\r\njobs = 3\r\nhidden = true\r\nnow = 2026-01-02T03:04:05Z\r\nmax_delete = 20\r\n",
	} {
		f, err := Parse("x.toml", []byte(text), testKeys)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for key, want := range map[string][]string{
			"base_url": {"https://example.org/"}, "include": {"*.html", "a/**"}, "jobs": {"3"}, "hidden": {"true"},
			"now": {"2026-01-02T03:04:05Z"}, "max_delete": {"20"},
		} {
			if got := f.Values[key]; !slices.Equal(got.Text, want) || got.Line == 0 {
				t.Errorf("%s: %s is %q on line %d, want %q", name, key, got.Text, got.Line, want)
			}
		}
		if _, ok := f.Values["package_size"]; ok {
			t.Errorf("%s: package_size is set", name)
		}
	}
}

func TestParseTables(t *testing.T) {
	t.Parallel()
	f, err := Parse("x.toml", []byte("described_by = \"about.html\"\nhub = \"https://hub.example/\"\n[[resource]]\nmatch = [\"a/\"]\nchangefreq = \"never\"\n[[resource]]\nmatch = [\"b\"]\nchangefreq = \"daily\"\n[[link]]\nmatch = [\"*.pdf\"]\nrel = \"via\"\nhref = \"https://x.example/{path}\"\n"), testKeys)
	if err != nil {
		t.Fatal(err)
	}
	if f.DescribedBy != "about.html" || f.Hub != "https://hub.example/" || f.Values["hub"].Line != 2 || len(f.Resources) != 2 || f.Resources[1].ChangeFreq != "daily" || f.Resources[1].Line != 6 || len(f.Links) != 1 || f.Links[0].Line != 9 {
		t.Errorf("%+v", f.Tables)
	}
}

// mistakes are files with what has to be said of each.
var mistakes = map[string]string{
	"base_ulr = \"x\"":                     `x.toml:1:1: there is no setting base_ulr; did you mean base_url?`,
	"\nbase-url = \"x\"":                   `x.toml:2:1: there is no setting base-url; did you mean base_url?`,
	"colour = 1":                           `x.toml:1:1: there is no setting colour`,
	"hidden = \"yes\"":                     `x.toml:1:10: `,
	"jobs = 1.5":                           `x.toml:1:8: `,
	"include = \"*.html\"":                 `x.toml:1:11: `,
	"base_url = {a = 1}":                   `x.toml:1:1: base_url: map[a:1] is not a string`,
	"hidden = true\nhidden = false":        `x.toml:2:`,
	"hidden = ":                            `x.toml:1:`,
	"[[link]]\nmatch=[\"*\"]\nrel=\"via\"": `neither href nor file`,
	"[[link]]\nmatch=[\"*\"]\nhref=\"x\"":  `no rel`,
	"[[link]]\nmatch=[\"*\"]\nrel=\"a\"\nhref=\"x\"\npri=1000000": `pri is 1000000`,
	"[[link]]\nmatch=[\"a\"]\nhrfe=\"\"":                          `x.toml:3:1: there is no setting link.hrfe; did you mean href?`,
	"[[links]]\nrel=\"a\"":                                        `did you mean link?`,
	"[[resource]]\nchangefreq=\"never\"":                          `x.toml:1:1: the resource rule: it has no match`,
	"[[resource]]\nmatch=[\"a\"]\nchangefreq=\"x\"":               `changefreq is "x", none of always, hourly`,
	"include = \"*.txt\"":                                         `include has to be a list of strings, such as ["a", "b"]`,
	"jobs = \"2\"":                                                `jobs has to be a whole number, without quotes`,
	"[[link]]\nmatch = \"*\"":                                     `link.match has to be a list of strings`,
	"[[link]]\nmatch = [\"*\"]\njobs = 3":                         `there is no setting link.jobs; settings for all stand above the first [[…]]`,
	"now = 1.0":                                                   `now: write it in quotes`,
	"[[link]]\nmatch=[\"*\"]\nrel=\"a\"\nhref=\"x\"\npri=0":       `pri is 0`,
	"\n[[Link]]\nMATCH=[\"*\"]":                                   `x.toml:2:1: the link: it has no rel`,
	"\nHIDDEN = \"yes\"":                                          `x.toml:2:10: HIDDEN has to be true or false`,
	"\nBase_URL = true":                                           `x.toml:2:1: base_url: true is not a string`,
	"\"a\\nb\" = 1":                                               `x.toml:1:1: there is no setting "a\nb"`,
	"\"a\\nb\" = 1\n\"a\\nb\" = 2":                                `x.toml:2:1: `,
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for text, want := range mistakes {
		_, err := Parse("x.toml", []byte(text), testKeys)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
			continue
		}
		if _, ok := errors.AsType[*Error](err); !ok {
			t.Errorf("%q: %T", text, err)
		}
	}
}

// FuzzParse sees that an error says where it is, and that what is right stays so with a
// mark before it and a comment behind.
func FuzzParse(f *testing.F) {
	f.Add("hidden = true\n[[resource]]\nmatch = [\"a\"]\n[[link]]\nmatch=[\"*\"]\nrel=\"via\"\nhref=\"x\"")
	for text := range mistakes {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		first, err := Parse("x.toml", []byte(text), testKeys)
		if err != nil {
			checkPlace(t, text, err)
			return
		}
		for key, v := range first.Values {
			if v.Line < 1 || v.Line > lineCount(text) || len(v.Text) == 0 && !isList(key) {
				t.Errorf("%s is %+v", key, v)
			}
		}
		for _, same := range []string{text, text + "\n# a comment\n", "\ufeff" + strings.TrimPrefix(text, "\ufeff")} {
			again, err := Parse("x.toml", []byte(same), testKeys)
			if err != nil || !reflect.DeepEqual(again, first) {
				t.Errorf("%q is %+v, %v; want %+v", same, again, err, first)
			}
		}
	})
}

func isList(name string) bool { return slices.Contains(testKeys, Key{name, List}) }

func lineCount(text string) int { return strings.Count(text, "\n") + 1 }

// checkPlace checks that an error leads to a place in a text: at the end of a line, it is
// behind that.
func checkPlace(t *testing.T, text string, err error) {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("the error is a %T: %v", err, err)
	}
	if e.File != "x.toml" || e.Message == "" || strings.Contains(e.Message, "\n") {
		t.Errorf("%s: %q", e.File, e.Message)
	}
	lines := strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n")
	if e.Line < 1 || e.Line > len(lines) || e.Column < 1 || e.Column > len(lines[e.Line-1])+1 {
		t.Errorf("%q: the error is at %d:%d: %s", text, e.Line, e.Column, e.Message)
	}
}

// TestSingleTables are written with one pair of brackets by mistake.
func TestSingleTables(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"set", "link", "resource"} {
		_, err := Parse("x.toml", []byte("\n["+name+"]\n"), nil)
		if err == nil || !strings.HasPrefix(err.Error(), "x.toml:2:1: "+name+" has to be written as [["+name+"]]") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
