package httpclient

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestIsWithin(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		from, to string
		want     bool
	}{
		{"http://a.example/x", "http://A.example:80/y", true},
		{"http://a.example/", "https://a.example:443/", true},
		{"https://a.example/", "http://a.example/", false},
		{"https://a.example/", "ftp://a.example/", false},
		{"http://a.example/", "http://b.example/", false},
		{"http://a.example:8000/", "http://a.example/", false},
	} {
		if got := IsWithin(parse(t, test.from), parse(t, test.to)); got != test.want {
			t.Errorf("%s to %s: %v", test.from, test.to, got)
		}
	}
}

// TestRedirect knows which redirects are followed, of what is asked and what is sent, and
// to anywhere.
func TestRedirect(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		from, to        string
		fine, elsewhere bool
	}{
		{"http://a.example/x", "https://a.example/x", true, true},
		{"http://a.example:80/x", "https://A.example:443/x", true, true},
		{"https://a.example/x", "https://a.example:443/y", true, true},
		{"https://a.example/x", "//a.example/y", true, true},
		{"https://a.example/x", "http://a.example/x", false, true},
		{"https://a.example/x", "https://a.example:8443/x", false, true},
		{"https://a.example/x", "https://a.example.evil.example/x", false, true},
		{"https://a.example/x", "https://evil.example\\@a.example/x", false, false},
		{"https://a.example/x", "javascript:1", false, false},
		{"https://a.example/x", "ftp://a.example/x", false, false},
		{"https://a.example/x", "", false, false},
	} {
		for _, code := range []int{301, 302, 303, 307, 308} {
			for _, method := range []string{"GET", "HEAD", "POST"} {
				for _, elsewhere := range []bool{false, true} {
					want := tt.fine
					if elsewhere {
						want = tt.elsewhere
					}
					if method == "POST" && code < 307 {
						want = false
					}
					r := &http.Response{StatusCode: code, Header: http.Header{}, Request: &http.Request{Method: method, URL: parse(t, tt.from)}}
					if tt.to != "" {
						r.Header.Set("Location", tt.to)
					}
					next, err := New(Options{Elsewhere: elsewhere}).next(r)
					if (err == nil) != want || (next == nil) == want {
						t.Errorf("%s, %d, elsewhere %t, from %s to %s: %v, %v", method, code, elsewhere, tt.from, tt.to, next, err)
					}
				}
			}
		}
	}
}

// TestRedirects says why one is not followed.
func TestRedirects(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		method, to string
		code       int
		tries      int
		want       string
	}{
		{"GET", "/a", 302, 1, "it redirects in a circle"},
		{"POST", "/a", 307, 3, "it redirects more than 2 times"},
		{"GET", "/%n", 302, 3, "it redirects more than 2 times"},
		{"GET", "http://a.example/?s3cret", 302, 1, "it redirects from https to http"},
		{"GET", "https://u:s3cret@b.example/?s3cret", 302, 1, `it "a.example" redirects to another host, "b.example"`},
		{"GET", "http://s3cret:x%zz/", 302, 1, "it answers 302 Found and not where to"},
		{"POST", "http://u:s3cret@a.example/?b", 308, 1, `it redirects from https to "http://a.example/?b", which is not followed`},
		{"POST", "https://b.example/?b", 308, 1, `it redirects to another host: if "https://b.example/?b" is where it is now, name that`},
		{"POST", "/b", 301, 1, `it answers 301 Moved Permanently to "https://a.example/b": if that is where it is now, name that`},
		{"POST", "", 303, 1, "it answers 303 See Other, and not where to"},
	} {
		s := &server{}
		s.answers = []any{func(*http.Request) (*http.Response, error) {
			return answer(test.code, "", "Location", strings.ReplaceAll(test.to, "%n", fmt.Sprint(len(s.asked)))), nil
		}}
		err := New(Options{Name: "it", Transport: s, Redirects: 2, Retry: Retry{Times: 3}}).Do(t.Context(), Request{Method: test.method, URL: "https://a.example/a"}, nil)
		if err == nil || err.Error() != test.want || len(s.asked) != test.tries {
			t.Errorf("%s, %d to %s: %v after %d requests, want %s", test.method, test.code, test.to, err, len(s.asked), test.want)
		}
	}
}
