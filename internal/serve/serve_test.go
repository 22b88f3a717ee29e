package serve

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var long = strings.Repeat("0123456789", 1000)

// site returns a server of two directories.
func site(t *testing.T) http.Handler {
	t.Helper()
	first, second := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"1/.well-known/resourcesync": "<?xml version=\"1.0\"?><urlset/>",
		"1/list.xml":                 "<urlset>" + long + "</urlset>",
		"1/dir/page.html":            "<p>first",
		"1/package.zip":              "PK" + long,
		"2/dir/page.html":            "<p>second",
		"2/dir/index.html":           "<p>index",
		"2/other/x.link":             "<a>",
		"2/a b?&#%é\n.txt":           "odd",
		"2/.hidden":                  "secret",
		"2/dir/.git/config":          "secret",
		"2/.well-known/.secret":      "secret",
		"2/empty":                    "",
	} {
		name := filepath.Join(first, "..", map[byte]string{'1': filepath.Base(first), '2': filepath.Base(second)}[name[0]], filepath.FromSlash(name[2:]))
		if strings.Contains(name, "\n") && runtime.GOOS == "windows" {
			continue
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	os.Symlink(os.TempDir(), filepath.Join(second, "out"))
	os.Symlink("dir", filepath.Join(second, "in"))
	o := Options{
		Type: func(name string, head []byte) string {
			return map[string]string{
				".xml": "application/xml", ".html": "text/html", ".zip": "application/zip", ".link": "application/link-format", ".txt": "text/plain",
			}[filepath.Ext(name)]
		},
		Link: func(name string) []string {
			if name == "dir/page.html" {
				return []string{`<https://example.org/c.xml>; rel="resourcesync"`}
			}
			return nil
		},
	}
	for _, dir := range []string{first, second} {
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { root.Close() })
		o.Roots = append(o.Roots, root)
	}
	return Handler(o)
}

func ask(h http.Handler, method, target string, header ...string) *http.Response {
	r := httptest.NewRequest(method, "/", nil)
	r.RequestURI = target
	u, err := r.URL.Parse(target)
	if err != nil {
		panic(err)
	}
	r.URL = u
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func text(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	h := site(t)
	for _, test := range []struct {
		target, want, mediaType string
		status                  int
	}{
		{"/list.xml", "<urlset>" + long + "</urlset>", "application/xml", 200},
		{"/dir/page.html", "<p>first", "text/html; charset=utf-8", 200},
		{"/dir/page", "<p>first", "text/html; charset=utf-8", 200},
		{"/dir/", "<p>index", "text/html; charset=utf-8", 200},
		{"/in/", "<p>index", "text/html; charset=utf-8", 200},
		{"/other/x.link", "<a>", "application/link-format", 200},
		{"/package.zip", "PK" + long, "application/zip", 200},
		{"/a%20b%3F&%23%25%C3%A9%0A.txt", "odd", "text/plain; charset=utf-8", 200},
		{"/empty", "", "application/octet-stream", 200},
		{"/other/", "404 not found\n", "text/plain; charset=utf-8", 404},
		{"/", "404 not found\n", "text/plain; charset=utf-8", 404},
		{"/nothing", "404 not found\n", "text/plain; charset=utf-8", 404},
		{"/list.xml/", "404 not found\n", "text/plain; charset=utf-8", 404},
		{"/list.xml/x", "404 not found\n", "text/plain; charset=utf-8", 404},
		{"/.hidden", "404 not found\n", "text/plain; charset=utf-8", 404},
		{"/dir/.git/config", "404 not found\n", "text/plain; charset=utf-8", 404},
		{"/in/.git/config", "404 not found\n", "text/plain; charset=utf-8", 404},
		{"/.well-known/.secret", "404 not found\n", "text/plain; charset=utf-8", 404},
		{"/dir//page.html", "404 not found\n", "text/plain; charset=utf-8", 404},
		{"/dir/%2e%2e/list.xml", "404 not found\n", "text/plain; charset=utf-8", 404},
		{"/dir/%00", "404 not found\n", "text/plain; charset=utf-8", 404},
		{"/%ff", "404 not found\n", "text/plain; charset=utf-8", 404},
		{"/out/", "404 not found\n", "text/plain; charset=utf-8", 404},
		{"/" + strings.Repeat("x", 5000), "404 not found\n", "text/plain; charset=utf-8", 404},
	} {
		r := ask(h, "GET", test.target)
		if got := text(t, r); r.StatusCode != test.status || got != test.want || r.Header.Get("Content-Type") != test.mediaType {
			t.Errorf("%.40s is %d %q %.40q, want %d %q %.40q", test.target, r.StatusCode, r.Header.Get("Content-Type"), got, test.status, test.mediaType, test.want)
		}
		if r.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%.40s may be sniffed", test.target)
		}
		head := ask(h, "HEAD", test.target)
		if head.StatusCode != test.status || test.status == 200 && (text(t, head) != "" || head.Header.Get("Content-Length") != r.Header.Get("Content-Length")) {
			t.Errorf("HEAD %.40s is %d with Content-Length %s", test.target, head.StatusCode, head.Header.Get("Content-Length"))
		}
	}
	if r := ask(h, "GET", "/dir?q=1"); r.StatusCode != 301 || r.Header.Get("Location") != "/dir/?q=1" {
		t.Errorf("a directory is %d, %s", r.StatusCode, r.Header.Get("Location"))
	}
	if r := ask(h, "GET", "/.well-known/resourcesync"); r.StatusCode != 200 {
		t.Errorf("the Source Description is %d", r.StatusCode)
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS"} {
		if r := ask(h, method, "/list.xml"); r.StatusCode != 405 || r.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s is %d", method, r.StatusCode)
		}
	}
	if got := ask(h, "GET", "/dir/page").Header.Get("Link"); got != `<https://example.org/c.xml>; rel="resourcesync"` {
		t.Errorf("the link is %s", got)
	}
}

func TestConditionsAndRanges(t *testing.T) {
	t.Parallel()
	h := site(t)
	plain := ask(h, "GET", "/list.xml")
	tag, modified := plain.Header.Get("ETag"), plain.Header.Get("Last-Modified")
	zipped := ask(h, "GET", "/list.xml", "Accept-Encoding", "gzip")
	zippedTag := zipped.Header.Get("ETag")
	if tag == "" || modified == "" || strings.HasPrefix(tag, "W/") || tag == zippedTag {
		t.Fatalf("tags %s and %s, modified %s", tag, zippedTag, modified)
	}
	for _, test := range []struct {
		name   string
		header []string
		status int
	}{
		{"the same tag", []string{"If-None-Match", tag}, 304},
		{"the tag of the other form", []string{"If-None-Match", zippedTag}, 200},
		{"the same tag, compressed", []string{"If-None-Match", zippedTag, "Accept-Encoding", "gzip"}, 304},
		{"another tag", []string{"If-None-Match", `"x"`}, 200},
		{"not modified", []string{"If-Modified-Since", modified}, 304},
		{"not modified, compressed", []string{"If-Modified-Since", modified, "Accept-Encoding", "gzip"}, 304},
		{"another tag than demanded", []string{"If-Match", `"x"`}, 412},
		{"a range", []string{"Range", "bytes=8-17"}, 206},
		{"a range, where compression would do", []string{"Range", "bytes=8-17", "Accept-Encoding", "gzip"}, 206},
		{"a range of this", []string{"Range", "bytes=8-17", "If-Range", tag}, 206},
		{"a range of something else", []string{"Range", "bytes=8-17", "If-Range", zippedTag}, 200},
		{"an impossible range", []string{"Range", "bytes=99999-"}, 416},
	} {
		r := ask(h, "GET", "/list.xml", test.header...)
		got := text(t, r)
		if r.StatusCode != test.status || r.StatusCode == 206 && (got != "0123456789" || r.Header.Get("Content-Encoding") != "") {
			t.Errorf("%s: %d %.40q", test.name, r.StatusCode, got)
		}
		if r.StatusCode < 400 && r.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: Vary is %q", test.name, r.Header.Get("Vary"))
		}
		if r.StatusCode == 304 && (got != "" || r.Header.Get("Content-Encoding") != "") {
			t.Errorf("%s: %.40q in %q", test.name, got, r.Header.Get("Content-Encoding"))
		}
	}
}

func TestCompression(t *testing.T) {
	t.Parallel()
	h := site(t)
	for _, test := range []struct {
		accepts, target string
		compressed      bool
	}{
		{"gzip", "/list.xml", true},
		{"br, GZIP;q=0.5", "/list.xml", true},
		{"*", "/list.xml", true},
		{"*;q=0", "/list.xml", false},
		{"*, gzip;q=0", "/list.xml", false},
		{"gzip; q=0.0", "/list.xml", false},
		{"br", "/list.xml", false},
		{"", "/list.xml", false},
		{"gzip", "/package.zip", false},
		{"gzip", "/dir/page.html", false},
	} {
		r := ask(h, "GET", test.target, "Accept-Encoding", test.accepts)
		if got := r.Header.Get("Content-Encoding") == "gzip"; got != test.compressed {
			t.Errorf("%q %s: compressed is %v", test.accepts, test.target, got)
			continue
		}
		if !test.compressed {
			continue
		}
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(z); err != nil || string(b) != "<urlset>"+long+"</urlset>" {
			t.Errorf("%q: %.40q, %v", test.accepts, b, err)
		}
		if r.Header.Get("Content-Length") != "" || r.Header.Get("Accept-Ranges") != "" {
			t.Errorf("%q: the headers are %v", test.accepts, r.Header)
		}
	}
	if got := ask(h, "GET", "/package.zip").Header.Get("Vary"); got != "" {
		t.Errorf("Vary of a package is %q", got)
	}
	if got := ask(h, "HEAD", "/list.xml", "Accept-Encoding", "gzip"); got.Header.Get("Content-Encoding") != "gzip" || text(t, got) != "" {
		t.Errorf("HEAD is %v", got.Header)
	}
}

// pipes is a listener to which somebody in the same program connects.
type pipes struct {
	connections chan net.Conn
	closed      chan struct{}
	close       func()
}

func listen() *pipes {
	p := &pipes{connections: make(chan net.Conn), closed: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.closed) })
	return p
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.connections:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.close(); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.connections <- there:
		return here, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// TestRunEnds lets an answer be completed, but not for ever, and takes no other request.
func TestRunEnds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		takes time.Duration
		whole bool
	}{
		{"an answer that is soon complete", graceful - time.Second, true},
		{"an answer that takes long", graceful + time.Second, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := listen()
				client := http.Client{Transport: &http.Transport{DialContext: l.dial}}
				defer client.CloseIdleConnections()
				enough := errors.New("enough")
				ctx, stop := context.WithCancelCause(t.Context())
				answered := make(chan struct{})
				defer func() { <-answered }()
				h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					defer close(answered)
					stop(enough)
					time.Sleep(test.takes)
					io.WriteString(w, "whole")
				})
				began := time.Now()
				ended := make(chan error, 1)
				go func() { ended <- Run(ctx, l, h) }()
				r, err := client.Get("http://here/")
				if (err == nil) != test.whole {
					t.Errorf("the answer is %v, %v", r, err)
				}
				if err == nil {
					if got := text(t, r); got != "whole" {
						t.Errorf("the answer is %q", got)
					}
					r.Body.Close()
				}
				if err := <-ended; err != enough {
					t.Errorf("it ended with %v", err)
				}
				if took := time.Since(began); took > graceful {
					t.Errorf("it ended after %v", took)
				}
				if _, err := client.Get("http://here/"); !errors.Is(err, net.ErrClosed) {
					t.Errorf("a request after the end: %v", err)
				}
			})
		})
	}
}
