package remote

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wellspring-sync/wellspring/internal/httpclient"
)

func TestPages(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		path, kind, content string
		page                bool
	}{
		{"a.xml", "text/html; charset=utf-8", "<urlset/>", true},
		{"a.xml", "TEXT/HTML", "", true},
		{"a.xml", "application/xhtml+xml", "<x/>", true},
		{"a.xml", "application/xml", "<!DOCTYPE html><p>", true},
		{"a.json", "application/json", "\r\n\t <!doctype HTML><p>", true},
		{"a.zip", "application/zip", "\ufeff<HTML lang=en>", true},
		{".well-known/resourcesync", "", "<html>", true},
		{"a.xml", "application/xml", "<?xml version='1.0'?><urlset/>", false},
		{"a.xml", "text/plain", "<!-- <html> -->", false},
		{"a.txt", "text/html", "<html>", false},
		{"a.xml", "application/xml", "", false},
	} {
		t.Run(fmt.Sprint(tt.path, tt.kind, tt.content), func(t *testing.T) {
			t.Parallel()
			s := serve(t, nil, func(w http.ResponseWriter, r *http.Request) bool {
				w.Header()["Content-Type"] = []string{tt.kind}
				io.WriteString(w, tt.content)
				return true
			})
			f, _ := setup(t, s, Options{})
			err := f.Fetch(t.Context(), []Want{{Path: tt.path, Length: int64(len(tt.content))}})
			if !tt.page {
				if err != nil {
					t.Errorf("got %v", err)
				}
				return
			}
			var failed *Error
			if !errors.Is(err, errPage) || !errors.As(err, &failed) || errors.Is(err, fs.ErrNotExist) {
				t.Errorf("got %v", err)
			}
			if len(s.asked()) != 1 {
				t.Errorf("asked for %q", s.asked())
			}
		})
	}
}

func TestPagesInsteadOfLengths(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Length", "7")
		return true
	})
	f, _ := setup(t, s, Options{})
	if _, err := f.Stat("a.zip"); !errors.Is(err, errPage) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// TestLongAnswers has servers that send more than they may, for ever even, and
// lie about it or not.
func TestLongAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		length string // as the server says it
		want   Want
		err    string
	}{
		{name: "said", length: "99999999999999", err: "the answer has more than 65536 bytes"},
		{name: "not said", err: "the answer has more than 65536 bytes"},
		{name: "more than stated", want: Want{Length: 100}, err: "it is not the file that was stated: it has more than 100 bytes"},
		{name: "said, more than stated", length: "101", want: Want{Length: 100}, err: "it is not the file that was stated: it has more than 100 bytes"},
		{name: "more than stated and allowed", want: Want{Length: 100_000}, err: "it is not the file that was stated: it has more than 100000 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, nil, func(w http.ResponseWriter, r *http.Request) bool {
				if tt.length != "" {
					w.Header().Set("Content-Length", tt.length)
				}
				for r.Context().Err() == nil {
					if _, err := io.WriteString(w, hold("<url/>")[:101]); err != nil {
						break
					}
				}
				return true
			})
			f, dir := setup(t, s, Options{MaxBytes: 64 << 10})
			tt.want.Path = "a.xml"
			err := f.Fetch(t.Context(), []Want{tt.want})
			if err == nil || !strings.HasSuffix(err.Error(), "a.xml: "+tt.err) {
				t.Errorf("got %v", err)
			}
			if got := s.asked(); len(got) != 1 {
				t.Errorf("asked for %q", got)
			}
			wantKept(t, dir, nil)
		})
	}
}

func TestStatedLengthMayPassTheLimit(t *testing.T) {
	t.Parallel()
	content := hold("PK")
	f, dir := setup(t, serve(t, map[string]string{"a.zip": content}, nil), Options{MaxBytes: 10})
	if err := f.Fetch(t.Context(), []Want{{Path: "a.zip", Length: int64(len(content)), SHA256: sum(content)}}); err != nil {
		t.Fatal(err)
	}
	wantKept(t, dir, map[string]string{"a.zip": content})
}

// TestBrokenAnswers breaks the first answers off, and wants the whole file in the
// end, from its beginning.
func TestBrokenAnswers(t *testing.T) {
	t.Parallel()
	content := hold("<a/>")
	for name, answer := range map[string]func(http.ResponseWriter){
		"before its length": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", fmt.Sprint(len(content)))
			io.WriteString(w, "something else"+content[:20_000])
		},
		"before its last chunk": func(w http.ResponseWriter) {
			io.WriteString(w, "something else"+content[:20_000])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		},
		"before its beginning": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "5")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		},
		"before its header": func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			s := serve(t, map[string]string{"a.xml": content}, func(w http.ResponseWriter, r *http.Request) bool {
				broken := strings.HasSuffix(r.URL.Path, "b.xml") || asked.Add(1) < 3
				if broken {
					answer(w)
				}
				return broken
			})
			f, dir := setup(t, s, Options{Retries: 3})
			if b, err := fs.ReadFile(f, "a.xml"); err != nil || string(b) != content {
				t.Errorf("got %d bytes, %v", len(b), err)
			}
			_, err := f.Open("b.xml")
			var failed *Error
			if !errors.As(err, &failed) || errors.Is(err, fs.ErrNotExist) {
				t.Errorf("got %v", err)
			}
			wantKept(t, dir, map[string]string{"a.xml": content})
		})
	}
}

// TestStalledAnswers has servers that never answer, stop in the middle, or send
// a byte now and then.
func TestStalledAnswers(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request){
		"nothing": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"a header": func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
		"the middle": func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, hold("<a/>"))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
		"drops": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				io.WriteString(w, "a")
				w.(http.Flusher).Flush()
				httpclient.Sleep(r.Context(), time.Second)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newServer(nil, func(w http.ResponseWriter, r *http.Request) bool {
					answer(w, r)
					return true
				})
				f, dir := open(t, "http://localhost/pub", Options{Retries: 1, Transport: s.overPipes(t)})
				if _, err := f.Open("a.xml"); !errors.Is(err, httpclient.ErrStalled) {
					t.Errorf("got %v", err)
				}
				if got := s.asked(); len(got) > 2 {
					t.Errorf("asked for %q", got)
				}
				wantKept(t, dir, nil)
			})
		})
	}
}

// TestEveryRequestMayFail fails each request in turn, or all from then on, in each
// way. The run ends with the right files or with an error, and with nothing else.
func TestEveryRequestMayFail(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		".well-known/resourcesync": "<urlset/>", "r/a.xml": hold("<a/>"), "r/b.xml": hold("<b/>"), "r/c.zip": hold("PK"),
	}
	ways := map[string]func(http.ResponseWriter, *http.Request){
		"500":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"403":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) },
		"page":  func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<!DOCTYPE html>") },
		"away":  to("http://other.example/"),
		"break": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"short": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "40000")
			io.WriteString(w, hold("<a/>"))
		},
		"other": func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, hold("<other/>")) },
	}
	for way, fail := range ways {
		for _, forGood := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%t", way, forGood), func(t *testing.T) {
				t.Parallel()
				for n := 1; n <= len(files)+1; n++ { // one is sized, and then fetched
					checkFailure(t, files, n, forGood, fail)
				}
			})
		}
	}
}

func checkFailure(t *testing.T, files map[string]string, n int, forGood bool, fail func(http.ResponseWriter, *http.Request)) {
	t.Helper()
	var asked atomic.Int64
	s := serve(t, files, func(w http.ResponseWriter, r *http.Request) bool {
		i := asked.Add(1)
		broken := i == int64(n) || forGood && i > int64(n)
		if broken {
			fail(w, r)
		}
		return broken
	})
	f, dir := setup(t, s, Options{Retries: 2})
	var want []Want
	for name, content := range files {
		want = append(want, Want{Path: name, Length: int64(len(content)), SHA256: sum(content)})
	}
	_, err := f.Stat("r/a.xml")
	if err == nil {
		err = f.Fetch(t.Context(), want)
	}
	if errors.Is(err, fs.ErrNotExist) {
		t.Errorf("request %d: a failure is taken for a missing file: %v", n, err)
	}
	got := kept(t, dir)
	for name, content := range got {
		if files[name] != content {
			t.Errorf("request %d: %s holds %d wrong bytes", n, name, len(content))
		}
	}
	if err == nil && len(got) != len(files) {
		t.Errorf("request %d: no error, and %d files", n, len(got))
	}
	if forGood && err == nil {
		t.Errorf("request %d: no error", n)
	}
}
