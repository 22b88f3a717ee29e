package scanner_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/wellspring-sync/wellspring/scanner"
)

func globs(t testing.TB, patterns ...string) []scanner.Glob {
	t.Helper()
	var list []scanner.Glob
	for _, p := range patterns {
		g, err := scanner.NewGlob(p)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, g)
	}
	return list
}

// usual has what is left out by default, and why.
var usual = map[string]scanner.Reason{
	".env":                      scanner.Hidden,
	".env.local":                scanner.Hidden,
	".htpasswd":                 scanner.Hidden,
	".htaccess":                 scanner.Hidden,
	".nojekyll":                 scanner.Hidden,
	"d/.hidden":                 scanner.Hidden,
	"...":                       scanner.Hidden,
	"x/.ssh/":                   scanner.Hidden,
	".wellspring/":              scanner.Hidden,
	".well-known/.hidden":       scanner.Hidden,
	".Well-Known/":              scanner.Hidden,
	".git/":                     scanner.VersionControl,
	"sub/.git/":                 scanner.VersionControl,
	"module/.git":               scanner.VersionControl,
	".gitignore":                scanner.VersionControl,
	".gitattributes":            scanner.VersionControl,
	".gitmodules":               scanner.VersionControl,
	".hg/":                      scanner.VersionControl,
	".svn/":                     scanner.VersionControl,
	".bzr/":                     scanner.VersionControl,
	"d/CVS/":                    scanner.VersionControl,
	"_darcs/":                   scanner.VersionControl,
	"_FOSSIL_":                  scanner.VersionControl,
	"wp-config.php~":            scanner.EditorFile,
	"d/page.html~":              scanner.EditorFile,
	"~$letter.docx":             scanner.EditorFile,
	".#lock":                    scanner.EditorFile,
	"#saved#":                   scanner.EditorFile,
	".page.html.swp":            scanner.EditorFile,
	"page.html.swo":             scanner.EditorFile,
	".DS_Store":                 scanner.EditorFile,
	"d/.DS_Store":               scanner.EditorFile,
	"Thumbs.db":                 scanner.EditorFile,
	"d/desktop.ini":             scanner.EditorFile,
	"__MACOSX/":                 scanner.EditorFile,
	"_headers":                  scanner.HostFile,
	"_redirects":                scanner.HostFile,
	"_worker.js":                scanner.HostFile,
	"netlify.toml":              scanner.HostFile,
	"vercel.json":               scanner.HostFile,
	"wellspring.toml":           scanner.HostFile,
	"staticwebapp.config.json":  scanner.HostFile,
	"web.config":                scanner.HostFile,
	"d/web.config":              scanner.HostFile,
	"id_rsa":                    scanner.PrivateKey,
	"d/id_ed25519":              scanner.PrivateKey,
	"server.pem":                scanner.PrivateKey,
	"d/e/key.pem":               scanner.PrivateKey,
	"a.txt":                     "",
	"d/_headers":                "",
	"d/netlify.toml":            "",
	"_headers.txt":              "",
	"index.html":                "",
	".well-known/security.txt":  "",
	"d/.well-known/x":           "",
	"#1":                        "",
	"#":                         "",
	"~":                         scanner.EditorFile,
	"~a":                        "",
	"a.b~c":                     "",
	"id_rsa.pub":                "",
	"pem":                       "",
	"git/config":                "",
	"robots.txt":                "",
	"CNAME":                     "",
	"404.html":                  "",
	"thumbs.txt":                "",
	"resourcesync/a":            "",
	"not.hidden/x":              "",
	"with\nnewline":             "",
	"caf\xe9":                   "",
	"d/\xff\xfe":                "",
	"d/a b & c.html":            "",
	"d/deep/er/and/er/file.txt": "",
}

// spread returns the paths of files of which some lie in folders that are named
// with a slash at the end.
func spread(names map[string]scanner.Reason) []string {
	var paths []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if strings.HasSuffix(name, "/") {
			name += "file"
		}
		paths = append(paths, name)
	}
	return paths
}

func TestRulesDefault(t *testing.T) {
	t.Parallel()
	got := scan(t, newFakeTree(spread(usual)...), scanner.Options{})
	checkUsual(t, got, func(string) bool { return false })
}

// checkUsual checks that all that is left out by default is, but for some.
func checkUsual(t *testing.T, got result, taken func(name string) bool) {
	t.Helper()
	if got.err != nil {
		t.Fatal(got.err)
	}
	for name, why := range usual {
		path := strings.TrimSuffix(name, "/")
		if taken(name) {
			why = ""
		}
		if got.leftOut[path] != why {
			t.Errorf("%q: left out as %q, want %q", path, got.leftOut[path], why)
		}
		file := path
		if path != name {
			file += "/file"
		}
		if is := slices.Contains(got.paths(), file); is != (why == "") {
			t.Errorf("%q: listed: %t, want %t", file, is, why == "")
		}
	}
}

// Hidden takes names with a dot, but not those that are left out for another
// reason.
func TestRulesHidden(t *testing.T) {
	t.Parallel()
	got := scan(t, newFakeTree(spread(usual)...), scanner.Options{Rules: scanner.Rules{Hidden: true}})
	checkUsual(t, got, func(name string) bool { return usual[name] == scanner.Hidden })
}

func TestRules(t *testing.T) {
	t.Parallel()
	site := []string{
		"a.html", "a.tmp", "docs/a.html", "docs/b.txt", "docs/deep/a.html", "docs/deep/x.tmp", "drafts/a.html",
		"index.html", "old/docs/a.html", "old/drafts/c.html", "sub/drafts",
	}
	secret := []string{
		"a.txt", ".env", ".git/config", ".htaccess", "_headers", "cert.pem", "d/.htaccess", "d/b.txt", "d/key.pem",
		"d/page~", "netlify.toml", ".cache/.x/y", ".cache/z",
	}
	tests := []struct {
		name             string
		files            []string
		include, exclude []string
		hidden           bool
		want             []string // in any order
	}{
		{
			name: "name at any depth", files: site, include: []string{"a.html"},
			want: []string{"a.html", "docs/a.html", "docs/deep/a.html", "drafts/a.html", "old/docs/a.html"},
		},
		{
			name: "name from the top", files: site, include: []string{"/a.html"},
			want: []string{"a.html"},
		},
		{
			name: "star stops at a slash", files: site, include: []string{"docs/*.html"},
			want: []string{"docs/a.html"},
		},
		{
			name: "star in a name", files: site, include: []string{"*.tmp"},
			want: []string{"a.tmp", "docs/deep/x.tmp"},
		},
		{
			name: "two stars", files: site, include: []string{"docs/**/*.html"},
			want: []string{"docs/a.html", "docs/deep/a.html"},
		},
		{
			name: "two stars in front", files: site, include: []string{"**/drafts/*.html"},
			want: []string{"drafts/a.html", "old/drafts/c.html"},
		},
		{
			name: "two stars at the end", files: site, include: []string{"docs/**"},
			want: []string{"docs/a.html", "docs/b.txt", "docs/deep/a.html", "docs/deep/x.tmp"},
		},
		{
			name: "folder at any depth", files: site, include: []string{"docs"},
			want: []string{"docs/a.html", "docs/b.txt", "docs/deep/a.html", "docs/deep/x.tmp", "old/docs/a.html"},
		},
		{
			name: "folder from the top", files: site, include: []string{"/docs/"},
			want: []string{"docs/a.html", "docs/b.txt", "docs/deep/a.html", "docs/deep/x.tmp"},
		},
		{
			name: "slash at the end is about folders", files: site, include: []string{"drafts/"},
			want: []string{"drafts/a.html", "old/drafts/c.html"},
		},
		{
			name: "without it, about files too", files: site, include: []string{"drafts"},
			want: []string{"drafts/a.html", "old/drafts/c.html", "sub/drafts"},
		},
		{
			name: "path to a folder", files: site, include: []string{"docs/deep"},
			want: []string{"docs/deep/a.html", "docs/deep/x.tmp"},
		},
		{
			name: "choices", files: site, include: []string{"{a,b}.{tmp,txt}", "[h-j]ndex.html"},
			want: []string{"a.tmp", "docs/b.txt", "index.html"},
		},
		{
			name: "question mark", files: site, include: []string{"?.t?p"},
			want: []string{"a.tmp", "docs/deep/x.tmp"},
		},
		{name: "nothing", files: site, include: []string{"nothing"}, want: nil},
		{
			name: "exclude a name", files: site, exclude: []string{"a.html", "*.tmp"},
			want: []string{"docs/b.txt", "index.html", "old/drafts/c.html", "sub/drafts"},
		},
		{
			name: "exclude a folder", files: site, exclude: []string{"drafts/", "docs"},
			want: []string{"a.html", "a.tmp", "index.html", "sub/drafts"},
		},
		{
			name: "exclude a folder from the top", files: site, exclude: []string{"/drafts", "docs/deep/"},
			want: []string{"a.html", "a.tmp", "docs/a.html", "docs/b.txt", "index.html", "old/docs/a.html", "old/drafts/c.html", "sub/drafts"},
		},
		{
			name: "exclude all below", files: site, exclude: []string{"docs/**", "old/**/*.html"},
			want: []string{"a.html", "a.tmp", "drafts/a.html", "index.html", "sub/drafts"},
		},
		{name: "exclude all", files: site, exclude: []string{"**"}, want: nil},
		{name: "exclude all names", files: site, exclude: []string{"*"}, want: nil},
		{
			name: "exclude wins", files: site, include: []string{"docs", "a.*"}, exclude: []string{"*.html", "old"},
			want: []string{"a.tmp", "docs/b.txt", "docs/deep/x.tmp"},
		},
		{
			name: "exclude wins over the same", files: site, include: []string{"index.html"}, exclude: []string{"index.html"},
			want: nil,
		},
		{
			name: "nothing in an excluded folder is included", files: site, include: []string{"docs/deep/a.html"},
			exclude: []string{"docs"}, want: nil,
		},
		{
			name: "case counts", files: site, include: []string{"A.HTML"}, want: nil,
		},

		{
			name: "wildcards bring in nothing", files: secret, include: []string{"*", "**", "**/*", "?env", "d/*"},
			want: []string{"a.txt", "d/b.txt"},
		},
		{
			name: "folders bring in nothing", files: secret, include: []string{"d/", "a.txt"},
			want: []string{"a.txt", "d/b.txt"},
		},
		{
			name: "a dot alone brings in nothing", files: secret, include: []string{".*", "**/.*/**", ".?*", ".???"},
			want: nil,
		},
		{
			name: "hidden name spelled out", files: secret, include: []string{".htaccess"},
			want: []string{".htaccess", "d/.htaccess"},
		},
		{
			name: "hidden name and all else", files: secret, include: []string{"*", "/.htaccess"},
			want: []string{".htaccess", "a.txt", "d/b.txt"},
		},
		{
			name: "hidden name from the top", files: secret, include: []string{"/.htaccess"},
			want: []string{".htaccess"},
		},
		{
			name: "hidden name below", files: secret, include: []string{"**/.htaccess"},
			want: []string{".htaccess", "d/.htaccess"},
		},
		{
			name: "beginning of a hidden name", files: secret, include: []string{".ht*"},
			want: []string{".htaccess", "d/.htaccess"},
		},
		{
			name: "end of a hidden name", files: secret, include: []string{"*htaccess"}, want: nil,
		},
		{
			name: "what is below a hidden folder", files: secret, include: []string{".cache/z"},
			want: []string{".cache/z"},
		},
		{
			name: "hidden folder", files: secret, include: []string{".cache/"},
			want: []string{".cache/z"},
		},
		{
			name: "hidden folder in a hidden folder", files: secret, include: []string{".cache/.x/**"},
			want: []string{".cache/.x/y"},
		},
		{
			name: "version control", files: secret, include: []string{".git/config"},
			want: []string{".git/config"},
		},
		{
			name: "host's file", files: secret, include: []string{"_headers", "netlify.*"},
			want: []string{"_headers", "netlify.toml"},
		},
		{
			name: "key", files: secret, include: []string{"cert.pem"}, want: []string{"cert.pem"},
		},
		{
			name: "keys by extension", files: secret, include: []string{"*.pem"}, want: []string{"cert.pem", "d/key.pem"},
		},
		{
			name: "editor's file", files: secret, include: []string{"d/page~"}, want: []string{"d/page~"},
		},
		{
			name: "exclude wins over what is spelled out", files: secret, include: []string{".htaccess"},
			exclude: []string{"d"}, want: []string{".htaccess"},
		},
		{
			name: "hidden and include", files: secret, hidden: true, include: []string{"d/*", ".env"},
			want: []string{".env", "d/.htaccess", "d/b.txt"},
		},
		{
			name: "hidden and exclude", files: secret, hidden: true, exclude: []string{".ht*", "/.cache"},
			want: []string{".env", "a.txt", "d/b.txt"},
		},
		{
			name: "quoted wildcards", files: []string{"a*b", "axb", "a[1]", "a1", "a?", "{a,b}", `a\b`},
			include: []string{`a\*b`, `a\[1\]`, `a\?`, `\{a,b\}`, `a\\b`}, want: []string{"a*b", "a[1]", "a?", "{a,b}", `a\b`},
		},
		{
			name: "names that are not UTF-8", files: []string{"caf\xe9", "d\xff/x", "café"},
			include: []string{"caf\xe9", "d*"}, want: []string{"caf\xe9", "d\xff/x"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			rules := scanner.Rules{Include: globs(t, test.include...), Exclude: globs(t, test.exclude...), Hidden: test.hidden}
			got := scan(t, newFakeTree(test.files...), scanner.Options{Rules: rules})
			if got.err != nil {
				t.Fatal(got.err)
			}
			paths := slices.Sorted(slices.Values(got.paths()))
			want := slices.Sorted(slices.Values(test.want))
			if !slices.Equal(paths, want) {
				t.Errorf("got  %q\nwant %q\nleft out %v", paths, want, got.leftOut)
			}
		})
	}
}

// Each reason is told for what it is about, and nothing for what lies below.
func TestRulesReasons(t *testing.T) {
	t.Parallel()
	rules := scanner.Rules{Include: globs(t, "a*", "d/", "e/**/a"), Exclude: globs(t, "*.tmp", "x/")}
	got := scan(t, newFakeTree(
		"a", "b", "a.tmp", "d/b", "d/.b", "d/x/a", "e/a", "e/b", "e/f/a", "x/a", ".git/a", ".tmp",
	), scanner.Options{Rules: rules})
	if want := []string{"a", "d/b", "e/a", "e/f/a"}; got.err != nil || !slices.Equal(got.paths(), want) {
		t.Errorf("got %q, %v, want %q", got.paths(), got.err, want)
	}
	want := map[string]scanner.Reason{
		"b": scanner.NotIncluded, "a.tmp": scanner.Excluded, "d/.b": scanner.Hidden, "d/x": scanner.Excluded,
		"e/b": scanner.NotIncluded, "x": scanner.Excluded, ".git": scanner.VersionControl, ".tmp": scanner.Excluded,
	}
	if !maps.Equal(got.leftOut, want) {
		t.Errorf("got %v\nwant %v", got.leftOut, want)
	}
}

// Links are judged by their own names, as what they lead to.
func TestRulesLinks(t *testing.T) {
	t.Parallel()
	tree := newFakeTree("a", "d/b", ".l -> a", "l.tmp -> a", "m -> d", "n -> a", "o -> nothing", "p.tmp -> nothing")
	got := scan(t, tree, scanner.Options{Rules: scanner.Rules{Exclude: globs(t, "*.tmp", "n/", "m/")}})
	if want := []string{"a", "d/b", "n -> a"}; got.err != nil || !slices.Equal(got.paths(), want) {
		t.Errorf("got %q, %v, want %q", got.paths(), got.err, want)
	}
	want := map[string]scanner.Reason{
		".l": scanner.Hidden, "l.tmp": scanner.Excluded, "m": scanner.Excluded, "o": scanner.DanglingLink, "p.tmp": scanner.Excluded,
	}
	if !maps.Equal(got.leftOut, want) {
		t.Errorf("got %v\nwant %v", got.leftOut, want)
	}
	got = scan(t, tree, scanner.Options{Rules: scanner.Rules{Include: globs(t, "m/", "n")}})
	if want := []string{"m/b -> d/b", "n -> a"}; got.err != nil || !slices.Equal(got.paths(), want) {
		t.Errorf("got %q, %v, want %q", got.paths(), got.err, want)
	}
}

// A link that is left out is no trouble, wherever it leads.
func TestRulesLinksThatFail(t *testing.T) {
	t.Parallel()
	tree := newFakeTree("a", ".l -> a", "l.tmp -> a")
	tree.fail["follow .l"], tree.fail["follow l.tmp"] = errors.New("hidden"), errors.New("excluded")
	got := scan(t, tree, scanner.Options{Rules: scanner.Rules{Exclude: globs(t, "*.tmp")}})
	want := map[string]scanner.Reason{".l": scanner.Hidden, "l.tmp": scanner.Excluded}
	if got.err != nil || !maps.Equal(got.leftOut, want) {
		t.Errorf("got %v, left out %v", got.err, got.leftOut)
	}
}

func TestNewGlobRefuses(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{
		"", "/", "//", "[", "[a", "a[]", "{a", "a}", `a\`, "a/[b/c", "./a", "a/./b", "../a", "a/..", "a//b", "//a", ".", "..", "/../a",
	} {
		if g, err := scanner.NewGlob(pattern); err == nil {
			t.Errorf("%q became %v", pattern, g)
		} else if !strings.Contains(err.Error(), strings.TrimPrefix(pattern, `a\`)) {
			t.Errorf("%q: the error does not name it: %v", pattern, err)
		}
	}
}

// FuzzRules puts any patterns on any path: nothing crashes, exclude wins, and
// what is left out by default stays so if only wildcards include it.
func FuzzRules(f *testing.F) {
	for _, seed := range [][3]string{
		{"*.tmp", "a/", "a/b.tmp"}, {"**/x", "{a,b}", "b/c/x"}, {"[a-z]*", `\*`, "*"}, {"**", ".git", ".git/x"},
		{"{a/b,c}", "a/[/]b", "a/b"}, {"a\xff", "?", "a\xff"}, {"***/**", "{,a}", "a"}, {"a/{b/", "{/}", "a"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, one, two, path string) {
		if len(one)+len(two)+len(path) > 200 || strings.Count(one+two, "*")+strings.Count(one+two, "{") > 12 {
			return // matching may take exponential time
		}
		for segment := range strings.SplitSeq(path, "/") {
			if segment == "" || segment == "." || segment == ".." {
				return
			}
		}
		a, errA := scanner.NewGlob(one)
		b, errB := scanner.NewGlob(two)
		if errA != nil || errB != nil {
			return
		}
		tree := newFakeTree(strings.ReplaceAll(path, " -> ", ""))
		taken := func(r scanner.Rules) bool { return len(scan(t, tree, scanner.Options{Rules: r}).files) > 0 }
		all := scanner.Rules{Hidden: true}
		only := scanner.Rules{Hidden: true, Include: []scanner.Glob{a}}
		both := scanner.Rules{Hidden: true, Include: []scanner.Glob{a, b}}
		not := scanner.Rules{Hidden: true, Include: []scanner.Glob{a, b}, Exclude: []scanner.Glob{b}}
		if taken(only) && !taken(both) {
			t.Fatalf("%q is taken with --include %q, but not with --include %q too", path, one, two)
		}
		if taken(not) && (taken(scanner.Rules{Hidden: true, Include: []scanner.Glob{b}}) || !taken(both)) {
			t.Fatalf("%q is taken with --include %q, --include %q and --exclude %[3]q", path, one, two)
		}
		wild := strings.Trim(one, "*?/") == ""
		if wild && taken(only) && !taken(all) {
			t.Fatalf("%q is left out by default, and taken with --include %q", path, one)
		}
	})
}
