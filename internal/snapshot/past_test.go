package snapshot

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestPast(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p := &Past{Since: start}
	for i := range 5 {
		next := p.With(start.Add(time.Duration(i)*time.Hour), Changed{Created: i}, 3)
		if len(p.Changes) > 0 && next.Changes[0].Created == 0 {
			t.Fatalf("a publication without changes is remembered: %+v", next)
		}
		p = next
	}
	if len(p.Changes) != 3 || p.Changes[0].Created != 2 || !p.Last().Equal(start.Add(4*time.Hour)) || !p.Since.Equal(start) {
		t.Errorf("got %+v", p)
	}
	if err := p.check(); err != nil {
		t.Error(err)
	}
	if !(&Past{Since: start}).Last().IsZero() {
		t.Error("nothing changed, and yet there is a last change")
	}
}

// What a record says of the past cannot make a page that is wrong or huge.
func TestPastIsChecked(t *testing.T) {
	t.Parallel()
	const begin = `{"format":1,"release":"x","identity":{"base_url":"https://example.org/","publication_url":"https://example.org/","folder":"r"},
		"at":"2026-01-02T03:04:05Z","heads":[{"path":"r/resourcelist.xml","length":1,"sha256":"` + "0123456789012345678901234567890123456789012345678901234567890123" + `"}],"past":`
	const change = `{"at":"2026-01-02T03:04:05Z","created":1}`
	tooMany := strconv.Itoa(mostResources + 1)
	for past, want := range map[string]string{
		`{"since":"2026-01-01T00:00:00Z","changes":[` + change + `]}`: "",
		`null`:                             "",
		`{"since":"0001-01-01T00:00:00Z"}`: "incomplete",
		`{"since":"9999-01-01T00:00:00Z"}`: "incomplete",
		`{"since":"2026-01-01T00:00:00Z","changes":[` + change + `,` + change + `]}`:                           "order of time",
		`{"since":"2026-01-01T00:00:00Z","changes":[{"at":"2026-01-02T03:04:05Z"}]}`:                           "order of time",
		`{"since":"2026-01-01T00:00:00Z","changes":[{"at":"2026-01-02T03:04:05Z","deleted":-1}]}`:              "-1 resources",
		`{"since":"2026-01-01T00:00:00Z","changes":[{"at":"2026-01-02T03:04:05Z","updated":1e15}]}`:            "1e15",
		`{"since":"2026-01-01T00:00:00Z","changes":[{"at":"2026-01-02T03:04:05Z","updated":` + tooMany + `}]}`: tooMany + " resources",
		`{"since":"2026-01-01T00:00:00Z","changes":[` + strings.Repeat(change+",", 60) + change + `]}`:         "too much",
	} {
		_, err := ParseRecord([]byte(begin + past + "}"))
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.200s: got %v, want %s", past, err, want)
		}
	}
}
