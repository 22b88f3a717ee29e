package policy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

var (
	longAgo   = time.Date(2020, 5, 6, 7, 8, 9, 0, time.UTC)
	testStart = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
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

func TestParseStandard(t *testing.T) {
	t.Parallel()
	for s, ok := range map[string]bool{"1.0": true, "1.1": true, "": false, "1": false, "2.0": false, "1.1 ": false} {
		if got, err := ParseStandard(s); (err == nil) != ok || ok && string(got) != s {
			t.Errorf("%q: got %q, %v", s, got, err)
		}
	}
}

// The room that is reckoned with for a time is what it takes with microseconds.
func TestStampBytes(t *testing.T) {
	t.Parallel()
	for _, s := range []Standard{"", Standard10, Standard11} {
		for _, modified := range []time.Time{{}, longAgo, time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)} {
			e := resourcesync.Entry{Loc: "https://example.org/", LastModified: modified, Metadata: resourcesync.Metadata{Change: resourcesync.Updated}}
			before, err := resourcesync.AppendEntry(nil, false, &e)
			if err != nil {
				t.Fatal(err)
			}
			n := s.StampBytes(&e)
			for at, less := range map[time.Time]int64{
				testStart: fractionBytes, testStart.Add(time.Millisecond): 3, testStart.Add(time.Microsecond): 0,
			} {
				e := e
				s.Stamp(&e, at)
				after, err := resourcesync.AppendEntry(nil, false, &e)
				if err != nil {
					t.Fatal(err)
				}
				if int64(len(after)-len(before)) != n-less {
					t.Errorf("standard %q, modified %v, at %v: %d bytes, not %d", s, modified, at, len(after)-len(before), n-less)
				}
				if !e.ChangeTime().Equal(at) {
					t.Errorf("standard %q: the change is of %v", s, e.ChangeTime())
				}
			}
		}
	}
}

func TestArchiveKeep(t *testing.T) {
	t.Parallel()
	var list []time.Time // two a day, for two years
	for at := time.Date(2024, 1, 1, 6, 0, 0, 0, time.UTC); at.Year() < 2026; at = at.Add(12 * time.Hour) {
		list = append(list, at)
	}
	for s, want := range map[string][]string{
		"daily=2":             {"2025-12-30T18", "2025-12-31T18"},
		"weekly=2":            {"2025-12-28T18", "2025-12-31T18"},
		"monthly=3":           {"2025-10-31T18", "2025-11-30T18", "2025-12-31T18"},
		"yearly=all":          {"2024-12-31T18", "2025-12-31T18"},
		"yearly=1":            {"2025-12-31T18"},
		"daily=1,yearly=all":  {"2024-12-31T18", "2025-12-31T18"},
		"daily=2, monthly=2":  {"2025-11-30T18", "2025-12-30T18", "2025-12-31T18"},
		"daily=1,monthly=all": nil,
	} {
		k, err := ParseArchiveKeep(s)
		if err != nil {
			t.Errorf("%q: %v", s, err)
		}
		kept := thinned(k, list)
		var got []string
		for _, at := range kept {
			got = append(got, at.Format("2006-01-02T15"))
		}
		if want == nil {
			if len(got) != 24 {
				t.Errorf("%q: %v", s, got)
			}
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", s, diff)
		}
		if again := thinned(k, kept); len(again) != len(kept) {
			t.Errorf("%q: thinned again, %d of %d are kept", s, len(again), len(kept))
		}
		if k2, err := ParseArchiveKeep(k.String()); err != nil || k2 != k {
			t.Errorf("%q is read as %v, %v", k, k2, err)
		}
	}
	for _, s := range []string{"", "daily", "daily=", "hourly=3", "daily=-1", "daily=0", "7", "daily=7;weekly=1"} {
		if k, err := ParseArchiveKeep(s); err == nil {
			t.Errorf("%q: got %v", s, k)
		}
	}
}

// One by one or all at once, what is thinned out is the same.
func TestArchiveKeepStepByStep(t *testing.T) {
	t.Parallel()
	var all, kept []time.Time
	for at := time.Date(2024, 1, 1, 6, 0, 0, 0, time.UTC); at.Year() < 2026; at = at.Add(7 * time.Hour) {
		all, kept = append(all, at), append(kept, at)
		kept = thinned(DefaultArchiveKeep, kept)
	}
	want := thinned(DefaultArchiveKeep, all)
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("(-at once +step by step):\n%s", diff)
	}
}

func thinned(k ArchiveKeep, times []time.Time) (kept []time.Time) {
	for i, keep := range k.Thin(times) {
		if keep {
			kept = append(kept, times[i])
		}
	}
	return kept
}
