package verify

import (
	"context"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// site serves a directory under any name of a host, as a good server would.
type site struct {
	dir    string
	server *httptest.Server
	// change may change how a request is answered. It returns true if it has
	// answered.
	change func(w http.ResponseWriter, r *http.Request) bool

	mu    sync.Mutex
	asked []string
}

func serve(t *testing.T, dir string) *site {
	t.Helper()
	s := &site{dir: dir, change: func(http.ResponseWriter, *http.Request) bool { return false }}
	s.server = httptest.NewServer(s)
	t.Cleanup(s.server.Close)
	return s
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.Method+" "+r.Host+r.URL.Path)
	s.mu.Unlock()
	typ := mime.TypeByExtension(filepath.Ext(r.URL.Path))
	switch filepath.Ext(r.URL.Path) {
	case ".xml", "":
		typ = "application/xml; charset=utf-8"
	case ".zip":
		typ = "application/zip"
	case ".txt":
		typ = "text/plain"
	}
	w.Header().Set("Content-Type", typ)
	if r.URL.Path == "/fish/framework.xml" {
		w.Header().Set("Link", `<http://lake.example/fish/framework.xml>; rel="self", <http://hub.example/>; rel="hub"`)
	}
	if s.change(w, r) {
		return
	}
	http.ServeFile(w, r, filepath.Join(s.dir, filepath.FromSlash(r.URL.Path)))
}

// options lead all requests to the server.
func (s *site) options() Options {
	return Options{
		Transport: &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, s.server.Listener.Addr().String())
		}},
		Stall: 5 * time.Second,
	}
}

const lake = "http://lake.example/"

func TestServerIsClean(t *testing.T) {
	t.Parallel()
	s := serve(t, good(t).write(t))
	for _, all := range []bool{false, true} {
		o := s.options()
		o.All = all
		r := audit(t, lake, o)
		if len(r.Findings) > 0 {
			t.Errorf("findings in what is good:\n%s", lines(r))
		}
		if r.Documents != 24 || r.Packages != 5 || r.Bitstreams != 11 || r.Resources != 3 {
			t.Errorf("%d documents, %d packages, %d bitstreams, %d resources", r.Documents, r.Packages, r.Bitstreams, r.Resources)
		}
	}
}

// answers are ways in which a server can be wrong about one path.
var answers = []struct {
	rule, path string
	do         func(w http.ResponseWriter, r *http.Request) bool
}{
	{"http-status", "/fish/list-2.xml", status(403)},
	{"http-status", "/fish/list-2.xml", status(500)},
	{"http-status", "/fish/list-2.xml", status(204)},
	{"http-status", "/fish/all.zip", status(503)},
	{"http-status", "/pike.txt", status(403)},
	{"http-status", "/fish/list-2.xml", func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, r.URL.Path, http.StatusFound)
		return true
	}},
	{"http-status", "/fish/list-2.xml", func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, r.URL.Path+"x", http.StatusFound)
		return true
	}},
	{"http-status", "/fish/list-2.xml", func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, "ftp://lake.example/", http.StatusFound)
		return true
	}},
	{"http-status", "/fish/list-2.xml", func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Content-Length", "1000")
		w.Write([]byte("<urlset"))
		return true
	}},
	{"http-status", "/fish/list-2.xml", func(w http.ResponseWriter, r *http.Request) bool {
		select {
		case <-r.Context().Done():
		case <-time.After(20 * time.Second):
		}
		return true
	}},
	{"document-missing", "/fish/list-2.xml", status(404)},
	{"document-missing", "/fish/list-2.xml", status(410)},
	{"contents-missing", "/fish/all.xml", status(404)},
	{"package-missing", "/fish/all.zip", status(404)},
	{"package-digest", "/fish/all.zip", text("application/zip", strings.Repeat("x", 10_000))},
	{"resource-missing", "/pike.txt", status(404)},
	{"resource-encoding", "/pike.txt", header("Content-Encoding", "br")},
	{"resource-digest", "/pike.txt", text("text/plain", "Pike: waited.\n")},
	{"resource-type", "/pike.txt", header("Content-Type", "text/markdown")},
	{"http-type", "/fish/list-2.xml", header("Content-Type", "application/octet-stream")},
	{"http-type", "/.well-known/resourcesync", func(w http.ResponseWriter, r *http.Request) bool {
		w.Header()["Content-Type"] = nil
		return false
	}},
	{"http-type", "/fish/all.zip", header("Content-Type", "text/plain")},
	{"http-redirect", "/fish/list-2.xml", elsewhere2},
	{"http-redirect", "/fish/all.zip", elsewhere2},
	{"http-redirect", "/pike.txt", elsewhere2},
	{"http-cache", "/fish/changelist.xml", header("Cache-Control", "public, max-age=86400")},
	{"http-cache", "/fish/changes-3.xml", header("Cache-Control", "immutable")},
	{"http-cache", "/fish/capabilitylist.xml", func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Expires", time.Now().Add(48*time.Hour).UTC().Format(http.TimeFormat))
		return false
	}},
	{"", "/fish/changes-2.xml", header("Cache-Control", "max-age=31536000, immutable")}, // which is closed
	{"", "/fish/changelist.xml", header("Cache-Control", "no-cache, max-age=86400")},
	{"", "/pike.txt", func(w http.ResponseWriter, r *http.Request) bool { return r.Method == "HEAD" && status(405)(w, r) }},
	{"", "/pike.txt", header("Link", `</fish/capabilitylist.xml>; rel=resourcesync`)},
	{"http-link", "/pike.txt", header("Link", `</fish/>; rel="resourcesync"`)},
	{"http-link", "/fish/resourcelist.xml", header("Link", `</style.css>; rel=preload, <http://lake.example/fish/changelist.xml>; title="a, b"; rel="x resourcesync"`)},
	{"topic-status", "/fish/framework.xml", header("Content-Type", "text/xml")},
	{"topic-link", "/fish/framework.xml", header("Link", `<http://lake.example/fish/framework.xml>; rel="self"`)},
	{"topic-link", "/fish/framework.xml", header("Link", `<http://hub.example/>; rel="hub"`)},
	{"", "/fish/framework.xml", text("application/xml", "")},
}

func status(code int) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		w.WriteHeader(code)
		return true
	}
}

func header(name, value string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set(name, value)
		return false
	}
}

func text(typ, s string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Content-Type", typ)
		w.Header().Set("Content-Length", fmt.Sprint(len(s)))
		w.Write([]byte(s))
		return true
	}
}

// elsewhere2 redirects to another path, at which the same is.
func elsewhere2(w http.ResponseWriter, r *http.Request) bool {
	http.Redirect(w, r, "/moved"+r.URL.Path, http.StatusMovedPermanently)
	return true
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	dir := good(t).write(t)
	for i, a := range answers {
		t.Run(fmt.Sprintf("%02d %s", i, a.rule), func(t *testing.T) {
			t.Parallel()
			s := serve(t, dir)
			s.change = func(w http.ResponseWriter, r *http.Request) bool {
				if r.Host != "lake.example" {
					return status(404)(w, r)
				}
				if r.URL.Path == a.path || strings.HasPrefix(r.URL.Path, a.path+"x") {
					return a.do(w, r)
				}
				if path, ok := strings.CutPrefix(r.URL.Path, "/moved"); ok {
					http.ServeFile(w, r, filepath.Join(dir, filepath.FromSlash(path)))
					return true
				}
				return false
			}
			o := s.options()
			o.Stall = 300 * time.Millisecond
			r := audit(t, lake, o)
			if got := rulesOf(r); !slices.Equal(got, strings.Fields(a.rule)) {
				t.Errorf("broken: %v\n  want: %v\n%s", got, a.rule, lines(r))
			}
		})
	}
}

// TestDiscovery begins at several places, from each of which there is a way.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	dir := good(t).write(t)
	page := `<!doctype html><head><title>x</title><LINK href="/fish/capabilitylist.xml" REL="alternate ResourceSync"></head>`
	for name, test := range map[string]struct {
		url  string
		path string // which is answered in another way
		do   func(http.ResponseWriter, *http.Request) bool
		rule string
	}{
		"host":              {url: "http://lake.example"},
		"description":       {url: lake + ".well-known/resourcesync"},
		"capability list":   {url: lake + "fish/capabilitylist.xml"},
		"part":              {url: lake + "fish/list-2.xml"},
		"manifest":          {url: lake + "fish/day-4.xml"},
		"page, well-known":  {url: lake + "carp.html"},
		"page with a link":  {url: lake + "carp.html", path: "/carp.html", do: text("text/html", page), rule: "resource-digest"},
		"page with header":  {url: lake + "pike.txt", path: "/pike.txt", do: header("Link", `<fish/capabilitylist.xml>; rel=resourcesync`)},
		"nothing there":     {url: lake + "fish/nothing/at/all"},
		"closed top":        {url: lake, path: "/", do: status(403)},
		"robots.txt":        {url: lake, path: "/.well-known/resourcesync", do: status(404), rule: "document-missing well-known"},
		"below a directory": {url: lake + "sub/", path: "/sub/.well-known/resourcesync", do: moved("/.well-known/resourcesync"), rule: "http-redirect"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, dir)
			s.change = func(w http.ResponseWriter, r *http.Request) bool {
				switch r.URL.Path {
				case test.path:
					return test.do(w, r)
				case "/robots.txt":
					return text("text/plain", "User-agent: *\nSitemap: http://lake.example/nothing.xml\nsitemap:http://lake.example/fish/resourcelist.xml\n")(w, r)
				}
				return false
			}
			r := audit(t, test.url, s.options())
			if got := rulesOf(r); !slices.Equal(got, strings.Fields(test.rule)) {
				t.Errorf("broken: %v\n  want: %v\n%s", got, test.rule, lines(r))
			}
			if r.Resources != 3 {
				t.Errorf("%d resources", r.Resources)
			}
		})
	}
}

func moved(to string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, to, http.StatusFound)
		return true
	}
}

func TestNoSource(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir())
	s.change = func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Server", "nginx/1.22")
		return false
	}
	_, err := Check(t.Context(), "http://user:secret@lake.example/docs/?key=secret", s.options())
	if err == nil {
		t.Fatal("a Source was found where there is none")
	}
	for _, want := range []string{"no Source was found", "prepare --host nginx", "/docs/.well-known/resourcesync"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nhas no %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("%v tells a secret", err)
	}
}

// TestHeadersStayAtHome sends what the user gave to the host that he named only.
func TestHeadersStayAtHome(t *testing.T) {
	t.Parallel()
	w := good(t)
	w.replace(t, part2, "http://lake.example/tench.json", "http://other.example/tench.json")
	s := serve(t, w.write(t))
	var mu sync.Mutex
	leaked, sent := 0, 0
	s.change = func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if r.Host != "lake.example" && (r.Header.Get("X-Key") != "" || r.Header.Get("Authorization") != "") {
			leaked++
		}
		if r.Host == "lake.example" && r.Header.Get("X-Key") == "k" && r.Header.Get("Authorization") != "" {
			sent++
		}
		if r.URL.Path == "/pike.txt" {
			http.Redirect(w, r, "http://third.example/pike.txt", http.StatusFound)
			return true
		}
		return r.URL.Path == "/third" && status(200)(w, r)
	}
	o := s.options()
	o.Header = http.Header{"X-Key": {"k"}}
	r := audit(t, "http://me:password@lake.example/", o)
	if leaked > 0 || sent == 0 {
		t.Errorf("headers were sent to others %d times, and home %d times", leaked, sent)
	}
	if strings.Contains(r.Place+lines(r), "password") {
		t.Error("the report holds the password")
	}
}

// TestEndlessAnswers reads no more than it needs to see that something is wrong.
func TestEndlessAnswers(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/fish/list-2.xml": "audit-limit", "/fish/all.zip": "package-digest", "/fish/day-1.zip": "package-digest", "/pike.txt": "resource-digest",
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			s := serve(t, good(t).write(t))
			s.change = func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path != path || r.Method == http.MethodHead {
					return r.URL.Path == path && status(405)(w, r)
				}
				w.Write([]byte("<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">"))
				chunk := []byte(strings.Repeat("<!-- x -->\n", 1000))
				for r.Context().Err() == nil {
					if _, err := w.Write(chunk); err != nil {
						return true
					}
				}
				return true
			}
			o := s.options()
			o.All = true
			o.Limits = Limits{DocumentBytes: 1 << 20, PackageBytes: 1 << 20}
			r := audit(t, lake, o)
			if got := strings.Join(rulesOf(r), " "); !strings.Contains(want, strings.Fields(got + " none")[0]) {
				t.Errorf("broken: %v, want %v\n%s", got, want, lines(r))
			}
		})
	}
}

// TestStaging audits what has the URIs of another host than the one that serves it by
// now, and compares it with a copy that is served elsewhere.
func TestStaging(t *testing.T) {
	t.Parallel()
	dir := good(t).write(t)
	staging := httptest.NewServer(serveAs(dir))
	defer staging.Close()
	o := Options{Resources: []Mapping{{lake, staging.URL + "/"}}, All: true}
	r := audit(t, staging.URL+"/", o)
	if len(r.Findings) > 0 || r.Resources != 3 || r.Bitstreams != 11 {
		t.Errorf("%d resources, %d bitstreams\n%s", r.Resources, r.Bitstreams, lines(r))
	}
	r = audit(t, dir, Options{Against: staging.URL})
	if len(r.Findings) > 0 {
		t.Errorf("%s", lines(r))
	}
}

// serveAs serves a directory as a good server would.
func serveAs(dir string) http.Handler {
	s := &site{dir: dir, change: func(http.ResponseWriter, *http.Request) bool { return false }}
	return s
}
