package survey

import (
	"testing"
	"time"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

var (
	testStart = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	longAgo   = time.Date(2020, 5, 6, 7, 8, 9, 0, time.UTC)
)

func mustDate(s string) time.Time {
	t, err := resourcesync.ParseDateTime(s)
	if err != nil {
		panic(err)
	}
	return t
}

// lastModified makes a finding of a file that was modified at a time, which the
// file system of a test may not be able to store.
func lastModified(t time.Time) (time.Time, int) {
	j := &judge{at: testStart, notes: &Notes{}}
	return j.inRange("a", t), j.notes.clamped
}

func TestRow24TimesBefore1970(t *testing.T) {
	t.Parallel()
	for _, want := range []string{"1969-12-31T23:59:59Z", "1901-12-13T20:45:52Z", "1601-01-01T00:00:00Z", "0000-01-01T00:00:00Z"} {
		if got, clamped := lastModified(mustDate(want)); resourcesync.FormatDateTime(got) != want || clamped != 0 {
			t.Errorf("got %v (%d), want %s", got, clamped, want)
		}
	}
}

func TestRow25TimesOutOfRange(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		modified, want time.Time
	}{
		{time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC), testStart},
		{time.Unix(1<<62, 0), testStart},
		{time.Unix(1<<63-1-1e9, 0), testStart},
		{time.Date(-1, 12, 31, 0, 0, 0, 0, time.UTC), time.Time{}},
		{time.Unix(-1<<62, 0), time.Time{}},
	} {
		if got, clamped := lastModified(tt.modified); !got.Equal(tt.want) || clamped != 1 {
			t.Errorf("%v: got %v (%d), want %v", tt.modified, got, clamped, tt.want)
		}
	}
}

func TestRow26ManyTimes(t *testing.T) {
	t.Parallel()
	var m modified
	for i := range 10 * manyMinutes {
		m.add(longAgo.Add(time.Duration(i) * time.Hour))
	}
	if m.atOnce() || len(m.minutes) > manyMinutes {
		t.Errorf("%d minutes", len(m.minutes))
	}
}

// TestAheadOfClock asks of files that were just modified, while the publication has
// times of its own.
func TestAheadOfClock(t *testing.T) {
	t.Parallel()
	wall := mustDate("2026-01-02T03:04:05.5Z")
	for _, tt := range []struct {
		name     string
		at       time.Time
		modified time.Time
		want     bool
	}{
		{"a clock that is right", wall.Truncate(time.Second), wall.Add(-time.Millisecond), false},
		{"a time given that is a second ahead", mustDate("2026-01-02T03:04:06Z"), wall.Add(-time.Millisecond), false},
		{"a time given that is four seconds ahead", mustDate("2026-01-02T03:04:09Z"), wall.Add(-time.Millisecond), true},
		{"four seconds ahead, an older file", mustDate("2026-01-02T03:04:09Z"), wall.Add(-2 * time.Second), false},
		{"a time given that is far ahead", mustDate("2030-01-01"), wall.Add(-time.Millisecond), true},
	} {
		d := &Detector{at: tt.at, wall: func() time.Time { return wall }}
		if got := d.aheadOfClock(tt.modified); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}
