package timemap

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var day = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func some(n int) *TimeMap {
	m := &TimeMap{
		Original: "https://example.org/a,b;c", Self: "https://example.org/versions/timemap", TimeGate: "https://example.org/timegate/a",
	}
	for i := range n {
		m.Versions = append(m.Versions, Version{
			URI: "https://example.org/versions/" + strings.Repeat("x", i+1), At: day.AddDate(0, 0, i), Type: "text/html; charset=utf-8",
		})
	}
	return m
}

func TestMarshal(t *testing.T) {
	t.Parallel()
	want := `<https://example.org/a,b;c>; rel="original",
<https://example.org/timegate/a>; rel="timegate",
<https://example.org/versions/timemap>; rel="self"; type="application/link-format"; from="Fri, 02 Jan 2026 03:04:05 GMT"; until="Sun, 04 Jan 2026 03:04:05 GMT",
<https://example.org/versions/x>; rel="first memento"; datetime="Fri, 02 Jan 2026 03:04:05 GMT"; type="text/html; charset=utf-8",
<https://example.org/versions/xx>; rel="memento"; datetime="Sat, 03 Jan 2026 03:04:05 GMT"; type="text/html; charset=utf-8",
<https://example.org/versions/xxx>; rel="last memento"; datetime="Sun, 04 Jan 2026 03:04:05 GMT"; type="text/html; charset=utf-8"
`
	if diff := cmp.Diff(want, string(some(3).Marshal())); diff != "" {
		t.Error(diff)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for n := range 4 {
		want := some(n)
		got, err := Parse(want.Marshal())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d versions:\n%s", n, diff)
		}
	}
}

func TestParseOthers(t *testing.T) {
	t.Parallel()
	one := func(original string, v ...Version) *TimeMap { return &TimeMap{Original: original, Versions: v} }
	for _, tt := range []struct {
		name, text string
		want       *TimeMap // nil for an error
	}{
		{"without quotes and out of order", "<b>;rel=memento;datetime=\"Sat, 03 Jan 2026 03:04:05 GMT\",<a>;rel=original, <c> ; rel=\"memento\" ; datetime=\"Fri, 02 Jan 2026 03:04:05 GMT\"",
			one("a", Version{URI: "c", At: day}, Version{URI: "b", At: day.AddDate(0, 0, 1)})},
		{"unknown relations", "<a>;rel=original,<x>;rel=license,<y>;title", one("a")},
		{"comma in a value", `<a>; title="x, y; z"; rel="original"`, one("a")},
		{"empty", "", nil},
		{"spaces", " \n", nil},
		{"no original", "<b>;rel=self", nil},
		{"no URI", "a; rel=original", nil},
		{"URI without end", "<a; rel=original", nil},
		{"value without end", `<a>; rel="original`, nil},
		{"comma at the end", "<a>;rel=original,", nil},
		{"two without a comma", "<a>;rel=original <b>;rel=self", nil},
		{"memento without datetime", "<a>;rel=original,<b>;rel=memento", nil},
		{"memento with another datetime", `<a>;rel=original,<b>;rel=memento;datetime="2026-01-02"`, nil},
		{"parameter without name", "<a>;=x", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Parse([]byte(tt.text))
			if (err != nil) != (tt.want == nil) || err != nil && !errors.Is(err, ErrMalformed) {
				t.Fatalf("got error %v", err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// FuzzParse sees that what was read is read again out of what it is written as.
func FuzzParse(f *testing.F) {
	for n := range 3 {
		f.Add(string(some(n).Marshal()))
	}
	f.Add(`<a>;rel=original,<b>;rel=memento;datetime="Fri, 02 Jan 2026 03:04:05 GMT"`)
	f.Fuzz(func(t *testing.T, text string) {
		m, err := Parse([]byte(text))
		if err != nil {
			return
		}
		again, err := Parse(m.Marshal())
		if err != nil {
			t.Fatalf("%v in %q", err, m.Marshal())
		}
		if diff := cmp.Diff(m, again); diff != "" {
			t.Error(diff)
		}
	})
}
