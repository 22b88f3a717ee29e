package generator

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

func TestParseRotation(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]Rotation{
		"full": {}, "run": {Period: "run"}, "daily": {Period: "daily"}, "1": {Changes: 1}, "5000": {Changes: 5000},
	} {
		if got, err := ParseRotation(s); err != nil || got != want {
			t.Errorf("%q: got %+v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "yearly", "0", "-1", "1.5", "Daily", "3 "} {
		if got, err := ParseRotation(s); err == nil {
			t.Errorf("%q: got %+v", s, got)
		}
	}
}

func TestParseKeep(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"90d": "90d", "36h": "36h", "12w": "12w", "6m": "180d", "2y": "2y", "all": "all", "0": "0", "0d": "0", "730d": "2y", "24h": "1d",
	} {
		k, err := ParseKeep(s)
		if err != nil || k.String() != want {
			t.Errorf("%q: got %v, %v", s, k, err)
		}
		if again, err := ParseKeep(k.String()); err != nil || again != k {
			t.Errorf("%q: %v is read as %v, %v", s, k, again, err)
		}
	}
	for _, s := range []string{"", "d", "90", "-1d", "90D", "1s", "101y", "99999999999d", "1.5d", "90 d"} {
		if k, err := ParseKeep(s); err == nil {
			t.Errorf("%q: got %v", s, k)
		}
	}
}

// Lists are closed by the first run with events for the next one.
func TestRotation(t *testing.T) {
	t.Parallel()
	times := []string{ // runs with an event each; the publication begins an hour before
		"2026-01-30T10:00:00Z", "2026-01-30T10:20:00Z", "2026-01-30T23:59:59Z", "2026-01-31T00:00:00Z",
		"2026-02-01T12:00:00Z", "2026-02-02T00:00:00Z", "2026-02-09T00:00:00Z", "2026-02-09T00:59:59Z",
	}
	for rotate, want := range map[string][]int{ // events in each list
		"full":    {8},
		"run":     {1, 1, 1, 1, 1, 1, 1, 1},
		"hourly":  {2, 1, 1, 1, 1, 2},
		"daily":   {3, 1, 1, 1, 2},
		"weekly":  {5, 1, 2},
		"monthly": {4, 4},
		"3":       {3, 3, 2},
	} {
		t.Run(rotate, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, t.TempDir()).seed(3)
			w.options.Rotate, _ = ParseRotation(rotate)
			w.options.KeepChanges = Keep{forever: true}
			w.now = mustDate(times[0]).Add(-time.Hour)
			w.build()
			for i, at := range times {
				w.now = mustDate(at)
				w.file("new", strings.Repeat("x", i), longAgo)
				w.build()
				w.build() // without events nothing is closed
			}
			var got []int
			for _, list := range readAll(t, w.out).changes {
				got = append(got, len(list))
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// A number of changes divides those of one run, too, each part with a time of its own.
func TestRotationOfOneRun(t *testing.T) {
	t.Parallel()
	w := newDumps(t)
	w.options.PackageSize = 0
	w.build()
	w.options.Rotate = Rotation{Changes: 10}
	for i := range 35 {
		w.file(fmt.Sprintf("new/%02d", i), "x", longAgo)
	}
	w.build()
	p := readAll(t, w.out)
	if len(p.changes) != 4 || len(p.changes[0]) != 10 || len(p.changes[3]) != 5 {
		t.Errorf("%d lists", len(p.changes))
	}
}

// What ended longer ago than is kept goes, but never the last closed list.
func TestKeepChanges(t *testing.T) {
	t.Parallel()
	for keep, want := range map[string]int{"all": 10, "90d": 10, "5d": 6, "1d": 2, "0": 2} {
		t.Run(keep, func(t *testing.T) {
			t.Parallel()
			w := newDumps(t)
			w.options.Rotate = Rotation{Period: "daily"}
			w.options.KeepChanges, _ = ParseKeep(keep)
			w.options.Grace = -1
			w.now = mustDate("2026-03-01T03:00:00Z")
			w.build()
			for i := range 10 {
				w.now = mustDate("2026-03-01T04:00:00Z").Add(time.Duration(i) * oneDay)
				w.file("new", strings.Repeat("x", i), longAgo)
				w.build()
			}
			p := readAll(t, w.out)
			if len(p.changes) != want || p.from.After(p.at) {
				t.Errorf("%d lists from %v, want %d", len(p.changes), p.from, want)
			}
			if got := len(p.dumps.changes); got != want {
				t.Errorf("the Change Dump has %d changes, want %d", got, want)
			}
			if !p.dumps.from.Equal(p.from) {
				t.Errorf("the Change Dump is from %v, the Change List from %v", p.dumps.from, p.from)
			}
			if got := len(w.packages("changedump")); got > want+1 { // one may be in its grace time
				t.Errorf("%d packages are kept for %d", got, want)
			}
		})
	}
}

// Retention alone is no reason to write.
func TestKeepChangesAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir()).seed(3)
	w.options.Rotate = Rotation{Period: "run"}
	w.build()
	for i := range 5 {
		w.file("new", strings.Repeat("x", i), longAgo)
		w.build()
	}
	w.now = w.now.AddDate(1, 0, 0)
	if report := w.build(); report.Wrote {
		t.Errorf("got %+v", report)
	}
	if p := readAll(t, w.out); len(p.changes) != 5 {
		t.Errorf("%d lists", len(p.changes))
	}
	w.file("new", "", longAgo)
	w.options.Rotate = Rotation{} // so that the open list is extended
	w.build()
	p := readAll(t, w.out)
	if len(p.changes) != 2 || p.changes[1][len(p.changes[1])-1].Metadata.Change != resourcesync.Updated {
		t.Errorf("%d lists", len(p.changes))
	}
}
