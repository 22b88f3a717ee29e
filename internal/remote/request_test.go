package remote

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wellspring-sync/wellspring/internal/httpclient"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status int
		asked  int
		want   string
	}{
		{status: 404, asked: 1, want: "file does not exist"},
		{status: 410, asked: 1, want: "file does not exist"},
		{status: 401, asked: 1, want: "the server answers 401 Unauthorized (--header can carry credentials)"},
		{status: 403, asked: 1, want: "the server answers 403 Forbidden (--header can carry credentials)"},
		{status: 400, asked: 1, want: "the server answers 400 Bad Request"},
		{status: 405, asked: 1, want: "the server answers 405 Method Not Allowed"},
		{status: 408, asked: 1, want: "the server answers 408 Request Timeout"},
		{status: 204, asked: 1, want: "the server answers 204 No Content"},
		{status: 206, asked: 1, want: "the server answers 206 Partial Content"},
		{status: 300, asked: 1, want: "the server answers 300 Multiple Choices"},
		{status: 304, asked: 1, want: "the server answers 304 Not Modified"},
		{status: 302, asked: 1, want: "the server answers 302 Found and not where to"},
		{status: 499, asked: 1, want: "the server answers 499"},
		{status: 429, asked: 3, want: "the server answers 429 Too Many Requests"},
		{status: 500, asked: 3, want: "the server answers 500 Internal Server Error"},
		{status: 501, asked: 3, want: "the server answers 501 Not Implemented"},
		{status: 503, asked: 3, want: "the server answers 503 Service Unavailable"},
	} {
		t.Run(fmt.Sprint(tt.status), func(t *testing.T) {
			t.Parallel()
			s := serve(t, nil, func(w http.ResponseWriter, _ *http.Request) bool {
				w.WriteHeader(tt.status)
				return true
			})
			f, dir := setup(t, s, Options{Retries: 2})
			_, err := f.Open("a.xml")
			if want := fmt.Sprintf("open a.xml: %s/pub/a.xml: %s", s.URL, tt.want); err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
			var failed *Error
			if missing := tt.status == 404 || tt.status == 410; errors.Is(err, fs.ErrNotExist) != missing || errors.As(err, &failed) == missing {
				t.Errorf("got %#v", err)
			}
			if got := s.asked(); len(got) != tt.asked {
				t.Errorf("asked for %q", got)
			}
			wantKept(t, dir, nil)
		})
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]string{"a.xml": "<a/>", "b.xml": "<b/>", "c.zip": "PK"}, nil)
	own := http.Header{"x-own": {"1", "2"}, "Accept-Encoding": {"br"}}
	f, _ := setup(t, s, Options{Header: own, Release: "1.2", IsBody: func(path string) bool { return path != "a.xml" }})
	for _, name := range []string{"a.xml", "b.xml", "c.zip"} {
		if _, err := fs.ReadFile(f, name); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []struct{ cache, encoding string }{{"no-cache", "gzip"}, {"", "gzip"}, {"", "identity"}} {
		h := s.requests[i].Header
		if h.Get("Cache-Control") != want.cache || h.Get("Accept-Encoding") != want.encoding {
			t.Errorf("%s: got %v", s.requests[i].URL, h)
		}
		if h.Get("User-Agent") != "wellspring/1.2" || !slices.Equal(h.Values("X-Own"), []string{"1", "2"}) {
			t.Errorf("%s: got %v", s.requests[i].URL, h)
		}
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]http.Header{
		"no name":         {"": {"s3cret"}},
		"value in a name": {"Bearer s3cret": {""}},
		"two lines":       {"X": {"s3cret\r\nY: 1"}},
		"no ASCII":        {"s3cret\u00e4": {"1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := Open(t.Context(), "http://localhost/", nil, Options{Header: h}); err == nil || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestUserInURL(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		header http.Header
		want   string
	}{
		{name: "alone", want: "Basic bWU6czNjcmV0"},
		{name: "a header comes first", header: http.Header{"authorization": {"Bearer x"}}, want: "Bearer x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, map[string]string{"a.xml": "<a/>"}, nil)
			f, _ := open(t, withUser(t, s.URL+"/pub"), Options{Header: tt.header})
			if _, err := fs.ReadFile(f, "a.xml"); err != nil {
				t.Fatal(err)
			}
			if got := s.requests[0].Header.Get("Authorization"); got != tt.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

// TestSecrets lets requests fail in all ways, and looks for what must not be seen
// in errors, logs, and on another host.
func TestSecrets(t *testing.T) {
	t.Parallel()
	other := serve(t, map[string]string{"a.xml": "<a/>"}, nil)
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request){
		"403":              func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) },
		"404":              func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) },
		"503":              func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) },
		"break":            func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"page":             func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") },
		"other host":       to(other.URL + "/pub/a.xml?s3cret"),
		"other host, user": to(withUser(t, other.URL) + "/pub/a.xml"),
		"circle":           to("?s3cret"),
		"no URL":           to("http://s3cret:x%zz/"),
		"other scheme":     to("ftp://s3cret@localhost/"),
		"then refused": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.RawQuery == "" {
				to("?s3cret")(w, r)
				return
			}
			w.WriteHeader(500)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, nil, func(w http.ResponseWriter, r *http.Request) bool {
				if r.Header.Get("Authorization") == "" || r.Header.Get("X-Token") != "s3cret" {
					t.Errorf("got the header %v", r.Header)
				}
				answer(w, r)
				return true
			})
			log, told := logged()
			f, _ := open(t, withUser(t, s.URL+"/pub"), Options{Header: http.Header{"X-Token": {"s3cret"}}, Log: log})
			_, errOpen := f.Open("a.xml")
			_, errStat := f.Stat("b.xml")
			for _, err := range []error{errOpen, errStat} {
				if err == nil || strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "me:") {
					t.Errorf("got %v", err)
				}
			}
			if got := told.String(); strings.Contains(got, "s3cret") || strings.Contains(got, "czNjcmV0") {
				t.Errorf("the log was told %s", got)
			}
			if got := other.asked(); len(got) > 0 {
				t.Errorf("the other host was asked for %q", got)
			}
		})
	}
}

// to redirects.
func to(location string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", location)
		w.WriteHeader(http.StatusFound)
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		to   map[string]string
		want string // of the error
	}{
		{name: "elsewhere on the host", to: map[string]string{"start.xml": "b?c=d", "b": "/pub/a.xml"}},
		{name: "five times", to: map[string]string{"start.xml": "b", "b": "c", "c": "d", "d": "e", "e": "a.xml"}},
		{name: "six times", to: map[string]string{"start.xml": "b", "b": "c", "c": "d", "d": "e", "e": "f", "f": "a.xml"}, want: "redirects more than 5 times"},
		{name: "a circle", to: map[string]string{"start.xml": "b", "b": "start.xml"}, want: "redirects in a circle"},
		{name: "to itself", to: map[string]string{"start.xml": "start.xml"}, want: "redirects in a circle"},
		{name: "to another host", to: map[string]string{"start.xml": "http://other.example/"}, want: `" redirects to another host, "other.example"`},
		{name: "to another port", to: map[string]string{"start.xml": "http://127.0.0.1:1/"}, want: `redirects to another host, "127.0.0.1:1"`},
		{name: "to something else", to: map[string]string{"start.xml": "file:///etc/passwd"}, want: "redirects from http to file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, map[string]string{"a.xml": "<a/>"}, func(w http.ResponseWriter, r *http.Request) bool {
				next, ok := tt.to[strings.TrimPrefix(r.URL.Path, "/pub/")]
				if ok {
					to(next)(w, r)
				}
				return ok
			})
			f, _ := setup(t, s, Options{})
			b, err := fs.ReadFile(f, "start.xml")
			if tt.want == "" && (err != nil || string(b) != "<a/>") {
				t.Errorf("got %q, %v", b, err)
			}
			if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || errors.Is(err, fs.ErrNotExist)) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestRetries(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	s := serve(t, map[string]string{"a.xml": "<a/>"}, func(w http.ResponseWriter, _ *http.Request) bool {
		switch asked.Add(1) {
		case 1:
			w.WriteHeader(502)
		case 2:
			w.Header().Set("Retry-After", "20")
			w.WriteHeader(429)
		case 3:
			w.Header().Set("Retry-After", "99999999")
			w.Header().Set("Connection", "close") // or net/http itself tries again
			w.WriteHeader(503)
		case 4:
			panic(http.ErrAbortHandler)
		default:
			return false
		}
		return true
	})
	var waits []time.Duration
	f, _ := setup(t, s, Options{sleep: func(_ context.Context, d time.Duration) error {
		waits = append(waits, d)
		return nil
	}})
	if b, err := fs.ReadFile(f, "a.xml"); err != nil || string(b) != "<a/>" {
		t.Errorf("got %q, %v", b, err)
	}
	within := func(i int, low, high time.Duration) {
		if i >= len(waits) || waits[i] < low || waits[i] > high {
			t.Errorf("waited %v; want between %v and %v at %d", waits, low, high, i)
		}
	}
	within(0, firstPause/2, firstPause)
	within(1, 20*time.Second, 20*time.Second)
	within(2, time.Minute, time.Minute)
	within(3, 4*firstPause, 8*firstPause)
}

func TestWaitEndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(nil, func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(503)
			return true
		})
		f, _ := open(t, "http://localhost/pub", Options{Transport: s.overPipes(t), sleep: httpclient.Sleep})
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if err := f.Fetch(ctx, []Want{{Path: "a.xml"}}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, nil)
	s.Close()
	f, _ := setup(t, s, Options{Retries: 1})
	_, err := f.Open("a.xml")
	var failed *Error
	if !errors.As(err, &failed) || failed.URL != s.URL+"/pub/a.xml" || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestUntrustedCertificateIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(nil)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	f, _ := open(t, s.URL, Options{sleep: func(context.Context, time.Duration) error {
		t.Error("it waits")
		return nil
	}})
	if _, err := f.Open("a.xml"); err == nil {
		t.Error("it was trusted")
	}
	trusting, _ := open(t, s.URL, Options{Transport: s.Client().Transport})
	if _, err := trusting.Open("a.xml"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestCompressedAnswers(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.WriteString(z, hold("<a/>"))
		z.Close()
		return true
	})
	f, dir := setup(t, s, Options{MaxBytes: 1 << 20})
	if b, err := fs.ReadFile(f, "a.xml"); err != nil || string(b) != hold("<a/>") {
		t.Errorf("got %d bytes, %v", len(b), err)
	}
	if _, err := f.Open("a.zip"); err == nil || !strings.Contains(err.Error(), `Content-Encoding "gzip"`) {
		t.Errorf("got %v", err)
	}
	small, _ := setup(t, s, Options{MaxBytes: 1 << 10})
	if _, err := small.Open("a.xml"); err == nil || !strings.Contains(err.Error(), "more than 1024 bytes") {
		t.Errorf("got %v", err)
	}
	wantKept(t, dir, map[string]string{"a.xml": hold("<a/>")})
}
