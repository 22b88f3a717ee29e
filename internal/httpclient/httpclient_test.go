package httpclient

import (
	"net/url"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":                              0,
		"7":                             7 * time.Second,
		"-7":                            0,
		"99999999999999999999":          0,
		"soon":                          0,
		"Fri, 02 Jan 2026 03:04:15 GMT": 10 * time.Second,
		"Fri, 02 Jan 2026 03:04:00 GMT": 0,
	} {
		if got := RetryAfter(value, now); got != want {
			t.Errorf("%q: got %v, want %v", value, got, want)
		}
	}
	for tried := range 100 {
		if d := BackOff(time.Second, tried); d < time.Second/2 || d > LongestWait {
			t.Errorf("after %d tries: %v", tried, d)
		}
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		from, to              string
		keepsScheme, sameHost bool
	}{
		{"http://a.example/x", "http://A.example:80/y", true, true},
		{"http://a.example/", "https://a.example:443/", true, true},
		{"https://a.example/", "http://a.example/", false, true},
		{"https://a.example/", "ftp://a.example/", false, true},
		{"http://a.example/", "http://b.example/", true, false},
		{"http://a.example:8000/", "http://a.example/", true, false},
	} {
		from, err := url.Parse(test.from)
		if err != nil {
			t.Fatal(err)
		}
		to, err := url.Parse(test.to)
		if err != nil {
			t.Fatal(err)
		}
		if got := KeepsScheme(from, to); got != test.keepsScheme {
			t.Errorf("%s to %s: the scheme is kept: %v", from, to, got)
		}
		if got := SameHost(from, to); got != test.sameHost {
			t.Errorf("%s to %s: the same host: %v", from, to, got)
		}
	}
}
