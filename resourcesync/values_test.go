package resourcesync

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestParseDateTime(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026":                           "2026-01-01T00:00:00Z",
		"2026-02":                        "2026-02-01T00:00:00Z",
		"2026-02-03":                     "2026-02-03T00:00:00Z",
		"2026-02-03T04:05Z":              "2026-02-03T04:05:00Z",
		"2026-02-03T04:05+01:30":         "2026-02-03T02:35:00Z",
		"2026-02-03T04:05:06Z":           "2026-02-03T04:05:06Z",
		"2026-02-03T04:05:06-01:00":      "2026-02-03T05:05:06Z",
		"2026-02-03T04:05:06.5Z":         "2026-02-03T04:05:06.500Z",
		"2026-02-03T04:05:06.340Z":       "2026-02-03T04:05:06.340Z",
		"2026-02-03T04:05:06.000Z":       "2026-02-03T04:05:06Z",
		"2026-02-03T04:05:06.001200Z":    "2026-02-03T04:05:06.001200Z",
		"2026-02-03T04:05:06.340000Z":    "2026-02-03T04:05:06.340Z",
		"2026-02-03T04:05:06.5+01:00":    "2026-02-03T03:05:06.500Z",
		"2026-02-03T04:05:06.0000001Z":   "2026-02-03T04:05:06.000000100Z",
		"2016-12-31T23:59:60Z":           "2016-12-31T23:59:59Z",
		"2016-12-31T23:59:60.5+00:00":    "2016-12-31T23:59:59.500Z",
		"0000-01-01T00:00:00Z":           "0000-01-01T00:00:00Z",
		"2024-02-29T00:00:00Z":           "2024-02-29T00:00:00Z",
		"9999-12-31T23:59:59.999999999Z": "9999-12-31T23:59:59.999999999Z",
	} {
		got, err := ParseDateTime(text)
		if err != nil || FormatDateTime(got) != want || got.Location() != time.UTC {
			t.Errorf("%q: got %s, %v, want %s", text, FormatDateTime(got), err, want)
		}
	}
	for _, text := range []string{"", "26", "2026-1", "2026-13-01", "2026-02-30T00:00:00Z", "2023-02-29T00:00:00Z",
		"2026-02-03T04:05:06", "2026-02-03T4:05:06Z", "2026-02-03 04:05:06Z", "2026-02-03T24:00:00Z",
		"2026-02-03T04:05:61Z", "2026-02-03T04:05:06,5Z", "2026-02-03T04:05:06,500Z", "2026-02-03T04:05:06.5x0Z", "2026-02-03T04:05:06.Z", "12026-01-01", "-026-01-01T00:00:00Z", "2026-02-03t04:05:06z"} {
		if got, err := ParseDateTime(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}

var fastForm = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3}|\.\d{6})?Z$`)

// FuzzDateTime compares the fast form with package time.
func FuzzDateTime(f *testing.F) {
	f.Add("2026-02-03T04:05:06Z")
	f.Add("2026-02-03T04:05:06.344Z")
	f.Add("2026-02-03T04:05:06.344123Z")
	f.Add("0000-02-29T23:59:59Z")
	f.Add("1900-02-29T00:00:00.25-23:59")
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseDateTime(s)
		if want, errTime := time.Parse("2006-01-02T15:04:05Z", s); errTime == nil && fastForm.MatchString(s) {
			if err != nil || !got.Equal(want) {
				t.Fatalf("%q: got %v, %v, want %v", s, got, err, want)
			}
		}
		if err != nil || got.Year() < 0 || got.Year() > 9999 {
			return
		}
		again, err := ParseDateTime(FormatDateTime(got))
		if err != nil || !again.Equal(got) {
			t.Fatalf("%q: %v is written as %s", s, got, FormatDateTime(got))
		}
	})
}

func TestHash(t *testing.T) {
	t.Parallel()
	h := Hash(" md5:D41D8CD98F00B204E9800998ECF8427E\n\tsha-256:" + strings.Repeat("ab", 32) + " x:ff ")
	if err := h.Check(); err != nil {
		t.Error(err)
	}
	if got := h.Get("md5"); got != "d41d8cd98f00b204e9800998ecf8427e" {
		t.Errorf("md5 is %q", got)
	}
	if got := h.Get("sha-1"); got != "" {
		t.Errorf("sha-1 is %q", got)
	}
	for _, bad := range []Hash{"", " ", "md5", "md5:", ":ab", "md5:zz", "md5:abc", "md5:abcd", "x:ab x:ab", "sha-256:" + Hash(strings.Repeat("a", 63))} {
		if err := bad.Check(); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func FuzzHash(f *testing.F) {
	f.Add("md5:d41d8cd98f00b204e9800998ecf8427e sha-1:da39a3ee5e6b4b0d3255bfef95601890afd80709")
	f.Add("a:b\x00 :c d: e")
	f.Fuzz(func(t *testing.T, s string) {
		h := Hash(s)
		var pairs [][2]string
		for a, d := range h.All() {
			pairs = append(pairs, [2]string{a, d})
		}
		if h.Check() != nil {
			return
		}
		again := HashOf(pairs...)
		if err := again.Check(); err != nil {
			t.Fatalf("%q came out as %q: %v", h, again, err)
		}
		for _, p := range pairs {
			if got := again.Get(p[0]); got != strings.ToLower(p[1]) {
				t.Fatalf("%q: %s is %q", again, p[0], got)
			}
		}
	})
}
