package generator

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

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
			n := s.stampBytes(&e)
			for at, less := range map[time.Time]int64{
				testStart: fractionBytes, testStart.Add(time.Millisecond): 3, testStart.Add(time.Microsecond): 0,
			} {
				e := e
				s.stamp(&e, at)
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

func TestContinues(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		standard           Standard
		entries, datetimes int
		want               bool
	}{
		{"", 3, 3, true}, {"", 3, 0, false}, {"", 3, 1, false},
		{Standard11, 3, 3, true}, {Standard11, 3, 2, false},
		{Standard10, 3, 0, true}, {Standard10, 3, 3, false}, {Standard10, 3, 1, false},
	} {
		if got := tt.standard.continues(&snapshot.OpenList{Entries: tt.entries, DateTimes: tt.datetimes}); got != tt.want {
			t.Errorf("%q with %d of %d: got %v", tt.standard, tt.datetimes, tt.entries, got)
		}
	}
}

// One list has one form; the other form begins another one. The lists and the
// packages tell the same.
func TestStandardChanges(t *testing.T) {
	t.Parallel()
	w := newDumps(t)
	w.options.PackageSize = 0
	w.build()
	before := read(t, w.out)
	for i, standard := range []Standard{"1.1", "1.1", "1.0", "1.0", "1.1", "1.0"} {
		w.options.Standard = standard
		w.file("new", strings.Repeat("x", i), longAgo)
		if i == 3 {
			w.remove("new")
		}
		w.build()
		w.build() // without changes nothing is written in another form
	}
	p := read(t, w.out)
	var got []string
	for _, list := range p.changes {
		s := ""
		for _, e := range list {
			s += fmt.Sprintf("%s %s, ", formOf(&e), e.Metadata.Change)
		}
		got = append(got, strings.TrimSuffix(s, ", "))
	}
	want := []string{"1.1 created, 1.1 updated", "1.0 updated, 1.0 deleted", "1.1 created", "1.0 updated"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	after := replay(t, before.resources, p, before.at)
	if diff := cmp.Diff(withoutTimes(p.resources), withoutTimes(after)); diff != "" {
		t.Errorf("(-published +replayed):\n%s", diff)
	}
}

// Deletions take more room in the form of 1.0, which the lists reckon with.
func TestStandardRoom(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.options.limits = smallLists
	w.options.limits.entries = 1000
	w.options.Standard = Standard10
	w.options.AllowEmpty = true
	for i := range 60 {
		w.file(fmt.Sprint(i), "x", longAgo)
	}
	w.build()
	for i := range 60 {
		w.remove(fmt.Sprint(i))
	}
	w.build(func(o *Options) { o.MaxDelete = &Limit{Count: 100, Percent: true} })
	p := read(t, w.out)
	if len(p.changes) < 3 {
		t.Errorf("%d lists", len(p.changes))
	}
	for name, content := range tree(t, w.out) {
		if strings.Contains(name, "changelist") && len(content) > int(smallLists.bytes) {
			t.Errorf("%s has %d bytes", name, len(content))
		}
	}
}
