package layout

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// isURI is RFC 3986 without query and fragment, and without names of users.
var isURI = regexp.MustCompile(`^https?://[-a-z0-9._~!$&'()*+,;=:\[\]]+(?:/(?:[-A-Za-z0-9._~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2})*)*$`)

// isEscaped is the path of a URI as Wellspring writes it: segments of RFC 3986's
// pchar, with escapes in upper case.
var isEscaped = regexp.MustCompile(`^(?:[-A-Za-z0-9._~!$&'()*+,;=:@/]|%[0-9A-F]{2})*$`)

// escapedBytes is what becomes of each of the 256 bytes. It must never change:
// published URIs depend on it.
const escapedBytes = "%00%01%02%03%04%05%06%07%08%09%0A%0B%0C%0D%0E%0F%10%11%12%13%14%15%16%17%18%19%1A%1B%1C%1D%1E%1F" +
	"%20!%22%23$%25&'()*+,-./0123456789:;%3C=%3E%3F@ABCDEFGHIJKLMNOPQRSTUVWXYZ%5B%5C%5D%5E_%60abcdefg" +
	"hijklmnopqrstuvwxyz%7B%7C%7D~%7F%80%81%82%83%84%85%86%87%88%89%8A%8B%8C%8D%8E%8F%90%91%92%93%94%" +
	"95%96%97%98%99%9A%9B%9C%9D%9E%9F%A0%A1%A2%A3%A4%A5%A6%A7%A8%A9%AA%AB%AC%AD%AE%AF%B0%B1%B2%B3%B4%" +
	"B5%B6%B7%B8%B9%BA%BB%BC%BD%BE%BF%C0%C1%C2%C3%C4%C5%C6%C7%C8%C9%CA%CB%CC%CD%CE%CF%D0%D1%D2%D3%D4%" +
	"D5%D6%D7%D8%D9%DA%DB%DC%DD%DE%DF%E0%E1%E2%E3%E4%E5%E6%E7%E8%E9%EA%EB%EC%ED%EE%EF%F0%F1%F2%F3%F4%" +
	"F5%F6%F7%F8%F9%FA%FB%FC%FD%FE%FF"

func TestEveryByte(t *testing.T) {
	t.Parallel()
	var all []byte
	for c := range 256 {
		all = append(all, byte(c))
	}
	l := mustNew(t, "https://example.org/b/", "", PlainURIs)
	if got, want := l.URI(string(all)), "https://example.org/b/"+escapedBytes; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, form := range []Form{PlainURIs, IndexURIs, CleanURIs} {
		l.Form = form
		for c := range 256 {
			name := "a" + string([]byte{byte(c)}) + "b"
			got := l.Paths(l.URI(name))
			if possible := c != 0 && c != '/'; !possible && form == PlainURIs {
				if c == 0 && got != nil {
					t.Errorf("a file may have a NUL in its name: %q", got)
				}
			} else if possible && (len(got) == 0 || got[0] != name) {
				t.Errorf("form %q: %q leads back to %q", form, name, got)
			}
		}
	}
}

func TestURI(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, path, want string }{
		{"plain", "a.html", "a.html"},
		{"folders", "a/b/c.txt", "a/b/c.txt"},
		{"ampersand", "a&b", "a&b"},
		{"percent", "100%", "100%25"},
		{"what looks escaped", "a%20b", "a%2520b"},
		{"question mark", "why?", "why%3F"},
		{"hash", "c#", "c%23"},
		{"space", " a b ", "%20a%20b%20"},
		{"plus", "a+b", "a+b"},
		{"quotes", `'a' "b"`, "'a'%20%22b%22"},
		{"angle brackets", "<a>", "%3Ca%3E"},
		{"brackets", "[a]{b}", "%5Ba%5D%7Bb%7D"},
		{"end of a CDATA section", "]]>", "%5D%5D%3E"},
		{"marks", "-._~!$&'()*+,;=:@", "-._~!$&'()*+,;=:@"},
		{"other marks", "^`|\\", "%5E%60%7C%5C"},
		{"what looks like a scheme", "http:x", "http:x"},
		{"control characters", "a\tb\nc\rd\x7f\x1b[0m", "a%09b%0Ac%0Dd%7F%1B%5B0m"},
		{"emoji", "😀", "%F0%9F%98%80"},
		{"NFC", "\u00e9", "%C3%A9"},
		{"NFD", "e\u0301", "e%CC%81"},
		{"right to left", "\u202eabc", "%E2%80%AEabc"},
		{"byte order mark", "\ufeffa", "%EF%BB%BFa"},
		{"Latin-1", "caf\xe9", "caf%E9"},
		{"half a rune", "\xf0\x9f", "%F0%9F"},
		{"a surrogate", "\xed\xa0\x80", "%ED%A0%80"},
		{"a rune spelled too long", "\xc0\xaf", "%C0%AF"},
		{"dots", "..a/.../a..", "..a/.../a.."},
		{"folders that need escapes", "ä/%/ü", "%C3%A4/%25/%C3%BC"},
		{"index", "x/index.html", "x/index.html"},
		{"capitals", "INDEX.HTML", "INDEX.HTML"},
	}
	l := mustNew(t, "https://example.org/x%20y/", "", PlainURIs)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, want := l.URI(test.path), "https://example.org/x%20y/"+test.want
			if got != want {
				t.Fatalf("got %s, want %s", got, want)
			}
			if back := l.Paths(got); !slices.Equal(back, []string{test.path}) {
				t.Errorf("%s leads back to %q", got, back)
			}
		})
	}
}

// TestForms has the last segment under which odd names are served.
func TestForms(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, index, clean string }{
		{"index.html", "", ""},
		{"about.html", "about.html", "about"},
		{"about", "about", "about"},
		{"index", "index", "index"},
		{"index.htm", "index.htm", "index.htm"},
		{"Index.html", "Index.html", "Index"},
		{"index.HTML", "index.HTML", "index.HTML"},
		{"xindex.html", "xindex.html", "xindex"},
		{"index.html.html", "index.html.html", "index.html"},
		{"index.html.html.html", "index.html.html.html", "index.html.html"},
		{"about.html.html", "about.html.html", "about.html"},
		{".html", ".html", ".html"},
		{"..html", "..html", "..html"},
		{"...html", "...html", "...html"},
		{"....html", "....html", "..."},
		{".html.html", ".html.html", ".html"},
		{"..html.html", "..html.html", "..html"},
		{"...html.html", "...html.html", "...html"},
		{"html", "html", "html"},
		{"a.html.txt", "a.html.txt", "a.html.txt"},
		{"a b?.html", "a%20b%3F.html", "a%20b%3F"},
		{"404.html", "404.html", "404"},
	}
	for _, dir := range []struct{ path, uri string }{{"", ""}, {"x.html/index.html/é/", "x.html/index.html/%C3%A9/"}} {
		for _, test := range tests {
			for form, want := range map[Form]string{IndexURIs: test.index, CleanURIs: test.clean} {
				l := mustNew(t, "https://example.org/b/", "", form)
				got := l.URI(dir.path + test.name)
				if want := "https://example.org/b/" + dir.uri + want; got != want {
					t.Errorf("form %q: %q became %s, want %s", form, dir.path+test.name, got, want)
				}
				if !slices.Contains(l.Paths(got), dir.path+test.name) {
					t.Errorf("form %q: %s leads back to %q, not to %q", form, got, l.Paths(got), dir.path+test.name)
				}
			}
		}
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	const base = "https://example.org/b/"
	tests := []struct {
		uri                 string
		plain, index, clean []string
	}{
		{base + "a", []string{"a"}, []string{"a"}, []string{"a", "a.html"}},
		{base + "x/a", []string{"x/a"}, []string{"x/a"}, []string{"x/a", "x/a.html"}},
		{base, nil, []string{"index.html"}, []string{"index.html"}},
		{base + "x/", nil, []string{"x/index.html"}, []string{"x/index.html"}},
		{base + "index.html", []string{"index.html"}, nil, []string{"index.html.html"}},
		{base + "index", []string{"index"}, []string{"index"}, []string{"index"}},
		{base + "a.html", []string{"a.html"}, []string{"a.html"}, []string{"a.html.html"}},
		{base + ".html", []string{".html"}, []string{".html"}, []string{".html", ".html.html"}},
		{base + "..html", []string{"..html"}, []string{"..html"}, []string{"..html", "..html.html"}},
		{base + "...", []string{"..."}, []string{"..."}, []string{"...", "....html"}},
	}
	for _, test := range tests {
		for form, want := range map[Form][]string{PlainURIs: test.plain, IndexURIs: test.index, CleanURIs: test.clean} {
			l := mustNew(t, base, "", form)
			if got := l.Paths(test.uri); !slices.Equal(got, want) {
				t.Errorf("form %q: %s: got %q, want %q", form, test.uri, got, want)
			}
		}
	}
}

// TestPathsRefusesForeignURIs has URIs that no file has, though a server may
// take them for that of one.
func TestPathsRefusesForeignURIs(t *testing.T) {
	t.Parallel()
	const base = "https://example.org/b/"
	for _, uri := range []string{
		"", "a", "/b/a", "//example.org/b/a",
		"https://example.org/b", "https://example.org/", "https://example.org/ba", "https://example.org/c/a",
		"http://example.org/b/a", "https://example.com/b/a", "https://example.org.evil/b/a",
		"https://example.org:443/b/a", "https://EXAMPLE.ORG/b/a", "HTTPS://example.org/b/a",
		"https://me@example.org/b/a", "https://example.org/B/a", "https://example.org//b/a", "https://example.org/%62/a",
		base + "%41", base + "%7E", base + "%2D", base + "%2E", base + "%2e", base + "%26",
		base + "%2F", base + "a%2Fb", base + "a%2fb", base + "%00",
		base + "%c3%a9", base + "%C3%a9", base + "%C3%A9%", base + "%2", base + "%2G", base + "%%20", base + "% 0", base + "%+1",
		base + "é", base + "a b", base + `"`, base + "<", base + "a\\b", base + "a\n", base + "\x00", base + "a|b",
		base + "a?", base + "a?b", base + "a#", base + "a#b", base + "?", base + "#",
		base + ".", base + "..", base + "./a", base + "../a", base + "a/..", base + "a/../b", base + "a/./b",
		base + "./", base + "../", base + "a/../", base + "a/./",
		base + "/", base + "//", base + "/a", base + "a//b", base + "a//", base + "//a",
	} {
		for _, form := range []Form{PlainURIs, IndexURIs, CleanURIs} {
			l := mustNew(t, base, "", form)
			if got := l.Paths(uri); got != nil {
				t.Errorf("form %q: %q leads to %q", form, uri, got)
			}
		}
	}
}

func TestAppendKey(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		dir  bool
		want [3]string // for each form
	}{
		{"a b", false, [3]string{"a%20b", "a%20b", "a%20b"}},
		{"a b", true, [3]string{"a%20b/", "a%20b/", "a%20b/"}},
		{"index.html", false, [3]string{"index.html", "", ""}},
		{"index.html", true, [3]string{"index.html/", "index.html/", "index.html/"}},
		{"a.html", false, [3]string{"a.html", "a.html", "a"}},
		{"a.html", true, [3]string{"a.html/", "a.html/", "a.html/"}},
	}
	for _, test := range tests {
		for i, form := range []Form{PlainURIs, IndexURIs, CleanURIs} {
			l := mustNew(t, "https://example.org/", "", form)
			if got, want := string(l.AppendKey([]byte("x/"), test.name, test.dir)), "x/"+test.want[i]; got != want {
				t.Errorf("form %q: %q, directory %t: got %s, want %s", form, test.name, test.dir, got, want)
			}
		}
	}
}

// isPath reports whether a file can have the path.
func isPath(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "" || segment == "." || segment == ".." || strings.Contains(segment, "\x00") {
			return false
		}
	}
	return true
}

// mayShare reports whether two files may have one URI: with clean URIs about and
// about.html, but for the index, which has that of its folder.
func mayShare(form Form, a, b string) bool {
	short, long := a, b
	if len(a) > len(b) {
		short, long = b, a
	}
	_, name := split(long)
	return form == CleanURIs && long == short+".html" && name != "index.html"
}

// FuzzURI makes URIs of any two paths and goes back.
func FuzzURI(f *testing.F) {
	for _, pair := range [][2]string{
		{"a", "a.html"}, {"index.html", "index.html.html"}, {"x/index.html", "x"}, {"é", "e\u0301"}, {"a%2Fb", "a/b"},
		{"..html", "...html"}, {"caf\xe9", "café"}, {"a\nb", "a\tb"}, {"\xff\x80/ \x7f", "]]>"}, {"a?b#c", "a&b;c"},
	} {
		for form := range uint8(3) {
			f.Add(form, pair[0], pair[1])
		}
	}
	const base = "https://example.org/b%20c/"
	f.Fuzz(func(t *testing.T, form uint8, a, b string) {
		if !isPath(a) || !isPath(b) {
			return
		}
		l := mustNew(t, base, "", []Form{PlainURIs, IndexURIs, CleanURIs}[form%3])
		uri := l.URI(a)
		checkURI(t, l, a, uri)
		if same := uri == l.URI(b); same && a != b && !mayShare(l.Form, a, b) {
			t.Fatalf("form %q: %q and %q share the URI %s", l.Form, a, b, uri)
		}
		ref := l.ref(a)
		if path, ok := l.PathOf(ref.URI); !ok || path != a {
			t.Fatalf("the document %q has the URI %s, which leads back to %q, %t", a, ref.URI, path, ok)
		}
		if _, ok := l.PathOf(ref.URI + "/"); ok {
			t.Fatalf("the document %q may have a slash behind its URI", a)
		}
	})
}

func checkURI(t *testing.T, l Layout, path, uri string) {
	t.Helper()
	rest, ok := strings.CutPrefix(uri, l.BaseURL)
	if !ok || !isEscaped.MatchString(rest) {
		t.Fatalf("form %q: %q has the URI %q, which is not made of segments of RFC 3986", l.Form, path, uri)
	}
	u, err := url.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	if u.String() != uri || u.ResolveReference(&url.URL{}).String() != uri {
		t.Fatalf("form %q: %q has the URI %s, which is read as %s", l.Form, path, uri, u)
	}
	if want := "/b c/" + path; l.Form == PlainURIs && u.Path != want {
		t.Fatalf("%q has the URI %s, which is the path %q", path, uri, u.Path)
	}
	paths := l.Paths(uri)
	if !slices.Contains(paths, path) {
		t.Fatalf("form %q: %q has the URI %s, which leads back to %q", l.Form, path, uri, paths)
	}
	for _, p := range paths {
		if l.URI(p) != uri {
			t.Fatalf("form %q: %s leads back to %q, which has the URI %s", l.Form, uri, p, l.URI(p))
		}
	}
}

// FuzzPaths goes the way back from any URI: what it leads to has that URI.
func FuzzPaths(f *testing.F) {
	for _, s := range []string{"", "a", "a/", "%41", "%C3%A9", "a//b", "..", "%2F", "index.html", ".html", "a%00"} {
		for form := range uint8(3) {
			f.Add(form, s)
		}
	}
	f.Fuzz(func(t *testing.T, form uint8, rest string) {
		l := mustNew(t, "https://example.org/b/", "", []Form{PlainURIs, IndexURIs, CleanURIs}[form%3])
		uri := l.BaseURL + rest
		for _, path := range l.Paths(uri) {
			if !isPath(path) || l.URI(path) != uri {
				t.Fatalf("form %q: %q leads to %q, which has the URI %q", l.Form, uri, path, l.URI(path))
			}
		}
		if path, ok := l.PathOf(uri); ok && (!isPath(path) || l.ref(path).URI != uri) {
			t.Fatalf("%q leads to the document %q, which has the URI %q", uri, path, l.ref(path).URI)
		}
	})
}
