package generator

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

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
			w.options.Rotate, _ = policy.ParseRotation(rotate)
			w.options.KeepChanges = policy.KeepAll
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
	w.options.Rotate = policy.Rotation{Changes: 10}
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
			w.options.Rotate = policy.Rotation{Period: "daily"}
			w.options.KeepChanges, _ = policy.ParseKeep(keep)
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
	w.options.Rotate = policy.Rotation{Period: "run"}
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
	w.options.Rotate = policy.Rotation{} // so that the open list is extended
	w.build()
	p := readAll(t, w.out)
	if len(p.changes) != 2 || p.changes[1][len(p.changes[1])-1].Metadata.Change != resourcesync.Updated {
		t.Errorf("%d lists", len(p.changes))
	}
}
