package links

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

const start = `<?xml version="1.0" encoding="UTF-8"?>
<%ROOT% xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
<rs:md capability="%CAPABILITY%" at="2026-01-01T00:00:00Z"/>
`

func document(root, capability, entries string) string {
	return strings.NewReplacer("%ROOT%", root, "%CAPABILITY%", capability).Replace(start) + entries + "</" + root + ">\n"
}

var files = map[string]string{
	"rs/resourcelist.xml": document("sitemapindex", "resourcelist", "<sitemap><loc>%BASE%/rs/parts/1.xml</loc></sitemap>\n<sitemap><loc>%BASE%/rs/parts/2.xml</loc></sitemap>\n"),
	"rs/parts/1.xml": document("urlset", "resourcelist", `<url><loc>https://o.example/a</loc><lastmod>2025-12-01T00:00:00Z</lastmod><rs:md hash="md5:1584abdf8ebdc9802ac0c6a7402c03b6" length="3" type="text/plain"/></url>
`),
	"rs/parts/2.xml": document("urlset", "resourcelist", `<url><loc>https://o.example/b</loc><rs:md length="4"/><rs:ln rel="via" href="https://first.example/b" hash="md5:1e0d5cb8ef6ba40c99b14c0237be735e"/></url>
<url><loc>https://o.example/odd</loc><lastmod>2025-12-01T00:00:00.5Z</lastmod><rs:md hash="nonsense" length="4" type="bad"/><rs:ln rel="via" href="not a URI"/></url>
`),
	"rs/changelist.xml": document("urlset", "changelist", ""),
	"rs/broken.xml":     "<urlset",
	"rs/elsewhere.xml":  document("sitemapindex", "resourcelist", "<sitemap><loc>https://elsewhere.invalid/x.xml</loc></sitemap>\n"),
	"rs/nested.xml":     document("sitemapindex", "resourcelist", "<sitemap><loc>%BASE%/rs/nested.xml</loc></sitemap>\n"),
}

func write(t *testing.T, base string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(strings.ReplaceAll(text, "%BASE%", base)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestRead(t *testing.T) {
	t.Parallel()
	var dir string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, filepath.Join(dir, filepath.FromSlash(r.URL.Path)))
	}))
	defer s.Close()
	dir = write(t, s.URL)
	for _, place := range []string{s.URL + "/rs/resourcelist.xml", filepath.Join(dir, "rs", "resourcelist.xml")} {
		l, err := ReadList(t.Context(), place, nil, "test")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		a, ok, err := l.Find("https://o.example/a")
		want := resourcesync.Link{
			Rel: "via", Href: "https://o.example/a", Modified: time.Date(2025, 12, 1, 0, 0, 0, 0, time.UTC),
			Hash: "md5:1584abdf8ebdc9802ac0c6a7402c03b6", Length: 3, HasLength: true, Type: "text/plain",
		}
		if err != nil || !ok || a != want {
			t.Errorf("%+v, %v, %v", a, ok, err)
		}
		b, ok, err := l.Find("https://o.example/b")
		if err != nil || !ok || b.Href != "https://first.example/b" || b.HasLength {
			t.Errorf("%+v, %v, %v", b, ok, err)
		}
		if _, ok, err := l.Find("https://o.example/c"); ok || err != nil {
			t.Errorf("%v, %v", ok, err)
		}
		odd, ok, err := l.Find("https://o.example/odd")
		if want := (resourcesync.Link{Rel: "via", Href: "https://o.example/odd", Modified: want.Modified, Length: 4, HasLength: true}); err != nil || !ok || odd != want {
			t.Errorf("%+v, %v, %v", odd, ok, err)
		}
		if len(l.at) != 3 {
			t.Errorf("%d resources", len(l.at))
		}
	}
}

func TestBadLists(t *testing.T) {
	t.Parallel()
	dir := write(t, "https://o.example")
	for name, want := range map[string]string{
		"rs/changelist.xml": "it is no Resource List", "rs/broken.xml": "not well-formed", "rs/nowhere.xml": "no such file",
		"rs/elsewhere.xml": "its part https://elsewhere.invalid/x.xml", "rs/nested.xml": "it is no Resource List",
	} {
		if _, err := ReadList(t.Context(), filepath.Join(dir, filepath.FromSlash(name)), nil, "test"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	s := httptest.NewServer(http.FileServer(http.Dir(write(t, "https://other.example"))))
	defer s.Close()
	if _, err := ReadList(t.Context(), s.URL+"/rs/resourcelist.xml", nil, "test"); err == nil || !strings.Contains(err.Error(), "on another host") {
		t.Errorf("%v", err)
	}
}
