package httpclient

import (
	"net/http"
	"testing"
)

// TestSecretsStayAtHome has each URL lead to the next one, and looks at what each is told.
func TestSecretsStayAtHome(t *testing.T) {
	t.Parallel()
	header := http.Header{"x-own": {"1", "2"}, "accept-encoding": {"br"}}
	for _, test := range []struct {
		url  string
		home bool
		auth string
	}{
		{"http://a.example/x", true, "Basic bWU6czNjcmV0"},
		{"https://a.example/", true, "Basic bWU6czNjcmV0"},
		{"https://a.example:8443/", false, ""},
		{"http://b.example/", false, ""},
		{"http://u:p@b.example/", false, "Basic dTpw"}, // which was asked for so
	} {
		s := &server{answers: []any{answer(200, "")}}
		c := New(Options{Home: parse(t, "http://me:s3cret@a.example:80/pub"), Header: header, Transport: s, Release: "wellspring 1.2"})
		if err := c.Do(t.Context(), Request{URL: test.url, Header: http.Header{"Cache-Control": {"no-cache"}}}, nil); err != nil {
			t.Fatal(err)
		}
		h := s.asked[0].Header
		if (len(h.Values("X-Own")) == 2) != test.home || h.Get("Authorization") != test.auth {
			t.Errorf("%s was told %v", test.url, h)
		}
		if h.Get("User-Agent") != "wellspring/1.2" || h.Get("Cache-Control") != "no-cache" || h.Get("Accept-Encoding") != "" {
			t.Errorf("%s was told %v", test.url, h)
		}
	}
}

// TestRedirectsTellNothing follows to another host, which is told nothing, and back.
func TestRedirectsTellNothing(t *testing.T) {
	t.Parallel()
	s := &server{answers: []any{
		answer(302, "", "Location", "https://me:s3cret@b.example/"), answer(302, "", "Location", "https://a.example/y"), answer(200, ""),
	}}
	c := New(Options{Home: parse(t, "https://a.example/"), Header: http.Header{"X-Own": {"1"}}, Transport: s, Elsewhere: true})
	if err := c.Do(t.Context(), Request{URL: "https://a.example/x"}, nil); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"1", "", "1"} {
		if h := s.asked[i].Header; h.Get("X-Own") != want || h.Get("Authorization") != "" {
			t.Errorf("%s was told %v", s.asked[i].URL, h)
		}
	}
}

func TestCheckHeader(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, value string
		fine        bool
	}{
		{"Authorization", "Bearer x\ty", true},
		{"x-1!#$%&'*+.^_`|~", "\u00e4", true},
		{"", "x", false},
		{"Bearer x", "", false},
		{"X:", "", false},
		{"X\r", "", false},
		{"\u00e4", "1", false},
		{"X", "x\r\nY: 1", false},
		{"X", "x\x7f", false},
	} {
		if err := CheckHeader(http.Header{test.name: {test.value}}); (err == nil) != test.fine {
			t.Errorf("%q: %q: %v", test.name, test.value, err)
		}
	}
}

func TestRedacted(t *testing.T) {
	t.Parallel()
	for place, want := range map[string]string{
		"https://me:s3cret@a.example:8000/b%20c?d#e": "https://a.example:8000/b%20c",
		"http://a.example":                           "http://a.example",
		"https://me:s3cret@a.example:x/":             "the URL",
		"some/folder?":                               "some/folder?",
		"":                                           "",
	} {
		if got := Redacted(place); got != want {
			t.Errorf("%q: got %q, want %q", place, got, want)
		}
	}
}
