package generator

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/verify"
)

const changeListPath = "resourcesync/changelist.xml"

// chunkTimes checks that all events of the last runs are of as many times, a step apart,
// up to the time of the last one.
func chunkTimes(t *testing.T, lists [][]resourcesync.Entry, chunks int, at time.Time, step time.Duration) {
	t.Helper()
	var times []time.Time
	for _, e := range slices.Concat(lists...) {
		if n := len(times); n == 0 || !e.ChangeTime().Equal(times[n-1]) {
			times = append(times, e.ChangeTime())
		}
	}
	if len(times) < chunks {
		t.Fatalf("%d times, want %d", len(times), chunks)
	}
	for i, got := range times[len(times)-chunks:] {
		if want := at.Add(-time.Duration(chunks-1-i) * step); !got.Equal(want) {
			t.Fatalf("chunk %d of %d is of %v, want %v", i, chunks, got, want)
		}
	}
}

// bodiesIn returns the names in a folder of the publication.
func (w *world) bodiesIn(folder string) (names []string) {
	for name := range tree(w.t, w.out) {
		if path.Dir(name) == "resourcesync/"+folder {
			names = append(names, path.Base(name))
		}
	}
	slices.Sort(names)
	return names
}

// Three files that are larger than a package of the Change Dump leave one plain Change
// List, which later runs extend.
func TestLargeFilesKeepOneList(t *testing.T) {
	t.Parallel()
	w := newDumps(t)
	w.options.Compression = 0
	first := w.build()
	large := strings.Repeat("x", int(w.options.PackageSize))
	for i := range 3 {
		w.file(fmt.Sprintf("large-%d", i), large, longAgo)
	}
	w.now = w.now.Add(123_456_789 * time.Nanosecond)
	began := w.now
	foreseen := w.build(func(o *Options) { o.DryRun = true })
	w.now = began
	report := w.build()
	if diff := cmp.Diff(foreseen.Heads, report.Heads); diff != "" {
		t.Errorf("(-foreseen +done):\n%s", diff)
	}
	p := readAll(t, w.out)
	if names := w.bodiesIn("changelist"); len(names) > 0 || len(p.changes) != 1 || len(p.changes[0]) != 3 {
		t.Errorf("%d lists: %q", len(p.changes), names)
	}
	if want := began.Truncate(time.Millisecond); !report.At.Equal(want) || !p.at.Equal(want) {
		t.Errorf("published at %v, its Resource List at %v, want %v", report.At, p.at, want)
	}
	chunkTimes(t, p.changes, 3, report.At, time.Millisecond)
	stamp := report.At.Format("20060102T150405Z")
	var zips []string
	for _, name := range w.bodiesIn("changedump") {
		if stem, isZIP := strings.CutSuffix(name, ".zip"); isZIP {
			zips = append(zips, stem[:strings.Index(stem, "-")])
		}
	}
	if want := []string{stamp + "121", stamp + "122", stamp + "123"}; !slices.Equal(zips, want) {
		t.Errorf("packages %q, want %q", zips, want)
	}
	if text := tree(t, w.out)[changeListPath]; !strings.Contains(text, `datetime="`+resourcesync.FormatDateTime(report.At)+`"`) ||
		!strings.Contains(text, `.121Z"`) {
		t.Errorf("the list is\n%s", text)
	}

	w.file("small", "x", longAgo)
	next := w.build()
	p = readAll(t, w.out)
	if len(p.changes) != 1 || len(p.changes[0]) != 4 || next.At.Nanosecond() != 0 || !p.changes[0][3].ChangeTime().Equal(next.At) {
		t.Errorf("one chunk at %v: %d lists", next.At, len(p.changes))
	}
	state := map[string]resourcesync.Entry{}
	for uri, e := range p.resources {
		if !strings.Contains(uri, "large") && !strings.Contains(uri, "small") {
			state[uri] = e
		}
	}
	if diff := cmp.Diff(withoutTimes(p.resources), withoutTimes(replay(t, state, p, first.At))); diff != "" {
		t.Errorf("(-published +replayed):\n%s", diff)
	}
}

// 300 of them are one list, whose times are not ahead of the clock.
func TestManyLargeFiles(t *testing.T) {
	t.Parallel()
	w := newDumps(t)
	w.options.Compression, w.options.PackageSize = 0, 500
	w.build()
	for i := range 300 {
		w.file(fmt.Sprintf("large-%03d", i), strings.Repeat("x", 500), longAgo)
	}
	began := w.now
	report := w.build()
	p := readAll(t, w.out)
	if len(p.changes) != 1 || len(p.changes[0]) != 300 || !report.At.Equal(began) || len(w.packages("changedump")) != 300 {
		t.Errorf("%d lists at %v", len(p.changes), report.At)
	}
	chunkTimes(t, p.changes, 300, began, time.Millisecond)
}

// So many lists, so soon after the last publication, are microseconds apart, and their
// names sort in time.
func TestManyChunksNeedMicroseconds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir()).seed(1)
	w.options.limits = policy.Limits{Entries: 20, Bytes: 1 << 20, CutBits: 4}
	w.build()
	for i := range 30 {
		w.file(fmt.Sprintf("a/%04d", i), "", longAgo)
	}
	w.now = testStart.Add(time.Minute + 950*time.Millisecond)
	last := w.build().At
	for i := range 3000 {
		w.file(fmt.Sprintf("b/%04d", i), "", longAgo)
	}
	w.now = testStart // which is made to be later
	report := w.build()
	if want := last.Add(chunkRoom); !report.At.Equal(want) {
		t.Errorf("published at %v, want %v", report.At, want)
	}
	p := readAll(t, w.out)
	if len(p.changes) != 152 {
		t.Errorf("%d lists", len(p.changes))
	}
	chunkTimes(t, p.changes, 150, report.At, time.Microsecond)
	names := w.bodiesIn("changelist")
	if len(names) != 152 || names[3] != "20260102T030506Z049851.xml" || names[151] != "20260102T030506Z049999.xml" {
		t.Errorf("%d names, from %q to %q", len(names), names[:4], names[len(names)-1])
	}
	var listed []string
	for line := range strings.Lines(tree(t, w.out)[changeListPath]) {
		if _, uri, ok := strings.Cut(line, "<loc>"); ok {
			uri, _, _ = strings.Cut(uri, "</loc>")
			listed = append(listed, path.Base(uri))
		}
	}
	if diff := cmp.Diff(names, listed); diff != "" {
		t.Errorf("the Index does not have the order of names (-names +listed):\n%s", diff)
	}
	w.file("c", "", longAgo)
	if report := w.build(); report.Created != 1 {
		t.Errorf("the next run: %+v", report)
	}
	readAll(t, w.out)
}

func TestTimes(t *testing.T) {
	t.Parallel()
	const millisecond, microsecond = time.Millisecond, time.Microsecond
	for _, tt := range []struct {
		name      string
		last, now string
		chunks    int
		at        string
		step      time.Duration
	}{
		{"a first run", "", "2026-01-02T03:04:05.678901Z", 0, "2026-01-02T03:04:05Z", 0},
		{"no changes", "2026-01-02T03:04:04Z", "2026-01-02T03:04:05.678901Z", 0, "2026-01-02T03:04:05Z", 0},
		{"one chunk", "2026-01-02T03:04:04Z", "2026-01-02T03:04:05.678901Z", 1, "2026-01-02T03:04:05Z", 0},
		{"two", "2026-01-02T03:04:04Z", "2026-01-02T03:04:05.678901Z", 2, "2026-01-02T03:04:05.678Z", millisecond},
		{"two in a whole second", "2026-01-02T03:04:04Z", "2026-01-02T03:04:05Z", 2, "2026-01-02T03:04:05Z", millisecond},
		{"1,000", "2026-01-02T03:04:04Z", "2026-01-02T03:04:05Z", 1000, "2026-01-02T03:04:05Z", millisecond},
		{"1,001", "2026-01-02T03:04:04Z", "2026-01-02T03:04:05Z", 1001, "2026-01-02T03:04:05Z", microsecond},
		{"1,678", "2026-01-02T03:04:04Z", "2026-01-02T03:04:05.678901Z", 1678, "2026-01-02T03:04:05.678Z", millisecond},
		{"1,679", "2026-01-02T03:04:04Z", "2026-01-02T03:04:05.678901Z", 1679, "2026-01-02T03:04:05.678901Z", microsecond},
		{"100,000 at once", "2026-01-02T03:04:04.950Z", "2026-01-02T03:04:05.050Z", 100_000, "2026-01-02T03:04:05.050Z", microsecond},
		{"too many", "2026-01-02T03:04:04.950Z", "2026-01-02T03:04:05.050Z", 100_001, "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := clock{o: &Options{Now: time.Now}, began: mustDate(tt.now)}
			if tt.last != "" {
				c.last = mustDate(tt.last)
			}
			if c.began.Before(c.earliest()) {
				t.Errorf("no run begins before %v", c.earliest())
			}
			times, err := c.times(tt.chunks)
			at, step := times.At, times.Step
			if tt.at == "" {
				if err == nil || !strings.Contains(err.Error(), "run it again") {
					t.Errorf("got %v, %v", at, err)
				}
				return
			}
			if err != nil || !at.Equal(mustDate(tt.at)) || step != tt.step {
				t.Errorf("got %v, %v, %v, want %s, %v", at, step, err, tt.at, tt.step)
			}
			if first := at.Add(-time.Duration(max(tt.chunks, 1)-1) * step); !first.After(c.last) || at.After(c.began) {
				t.Errorf("from %v to %v, after %v, by the clock %v", first, at, c.last, c.began)
			}
		})
	}
}

// A number of changes cuts lists, and packages cut none of them.
func TestRotationAndPackages(t *testing.T) {
	t.Parallel()
	w := newDumps(t)
	w.options.Compression, w.options.Rotate = 0, policy.Rotation{Changes: 10}
	w.build()
	large := strings.Repeat("x", int(w.options.PackageSize)/2)
	for i := range 25 { // two of which do not go into one package
		w.file(fmt.Sprintf("large-%02d", i), large, longAgo)
	}
	report := w.build()
	p := readAll(t, w.out)
	var sizes []int
	for _, list := range p.changes {
		sizes = append(sizes, len(list))
	}
	if !slices.Equal(sizes, []int{10, 10, 5}) || len(w.packages("changedump")) != 25 {
		t.Errorf("lists of %v events", sizes)
	}
	chunkTimes(t, p.changes, 25, report.At, time.Millisecond)
	from := report.At.Add(-5 * time.Millisecond)
	if names := w.bodiesIn("changelist"); len(names) != 3 || names[2] != from.Format("20060102T150405Z")+"995.xml" {
		t.Errorf("got %q", names)
	}
}

// A period closes a list by the run, whatever the number of chunks.
func TestRotationByRunWithChunks(t *testing.T) {
	t.Parallel()
	w := newDumps(t)
	w.options.Compression, w.options.Rotate = 0, policy.Rotation{Period: "run"}
	w.build()
	for i := range 3 {
		for j := range 4 {
			w.file(fmt.Sprintf("large-%d", j), strings.Repeat("x", int(w.options.PackageSize)+i), longAgo)
		}
		w.build()
	}
	p := readAll(t, w.out)
	if len(p.changes) != 3 || len(p.changes[0]) != 4 || len(p.changes[2]) != 4 {
		t.Errorf("%d lists", len(p.changes))
	}
}

// The room in a list is enough for times with microseconds, in both forms.
func TestRoomForFractions(t *testing.T) {
	t.Parallel()
	for _, standard := range []policy.Standard{policy.Standard10, policy.Standard11} {
		for extra := range int64(2) {
			t.Run(fmt.Sprintf("%s, %d", standard, extra), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, t.TempDir()).seed(1)
				limit := 2000 + 79*extra
				w.options.Standard = standard
				w.options.limits = policy.Limits{Entries: 1000, Bytes: limit, CutBits: 60}
				w.build()
				w.now = testStart.Add(time.Minute + 999*time.Millisecond)
				for i := range 20 {
					w.file(fmt.Sprintf("a/%03d", i), "", longAgo)
				}
				w.build()
				for i := range 800 {
					w.file(fmt.Sprintf("b/%04d", i), "", longAgo)
				}
				w.now = testStart
				report := w.build()
				longest := 0
				for name, text := range tree(t, w.out) {
					if strings.Contains(name, "/changelist/") {
						longest = max(longest, len(text))
					}
				}
				p := readAll(t, w.out)
				if report.Created != 800 || longest > int(limit) || longest < int(limit)-500 {
					t.Errorf("a list of %d bytes, where %d are allowed", longest, limit)
				}
				if at := p.changes[len(p.changes)-2][0].ChangeTime(); at.Nanosecond()%1_000_000 == 0 {
					t.Errorf("an event of %v", at)
				}
			})
		}
	}
}

// Publications of earlier releases have lists that begin a second after each other. Those
// go on with fractions, and without.
func TestChunksAfterSeconds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir()).seed(3)
	w.options.Rotate = policy.Rotation{Period: "run"}
	w.options.KeepChanges = policy.KeepAll
	w.build()
	before := read(t, w.out)
	for i := range 4 {
		w.now = testStart
		w.file("new", strings.Repeat("x", i), longAgo)
		w.build()
	}
	w.options.Rotate, w.options.limits = policy.Rotation{}, smallLists
	for i := range 3 {
		for j := range 20 {
			w.file(fmt.Sprintf("many-%d", j), strings.Repeat("x", i), longAgo)
		}
		w.now = testStart
		w.build()
		w.file("new", strings.Repeat("y", i), longAgo)
		w.now = testStart
		w.build()
	}
	p := readAll(t, w.out)
	after := replay(t, before.resources, p, before.at)
	if diff := cmp.Diff(withoutTimes(p.resources), withoutTimes(after)); diff != "" {
		t.Errorf("(-published +replayed):\n%s", diff)
	}
	if names := w.bodiesIn("changelist"); !slices.Contains(names, "20260102T030405Z.xml") ||
		!slices.ContainsFunc(names, func(name string) bool { return len(name) == len("20260102T030405Z123.xml") }) {
		t.Errorf("got %q", names)
	}
}

// The sets of a run share its time, and each has chunks of its own before it.
func TestChunksOfSets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir()).seed(5)
	w.options.Compression = 0
	w.options.Sets = []policy.Set{
		{Name: "all", Dumps: policy.Dumps{Change: true}, PackageSize: 2000},
		{Name: "lists"},
	}
	w.build()
	for i := range 4 {
		w.file(fmt.Sprintf("large-%d", i), strings.Repeat("x", 2000), longAgo)
	}
	report := w.build()
	verified(t, w.out, verify.Packages)
	for name, chunks := range map[string]int{"all": 4, "lists": 1} {
		text, err := os.ReadFile(filepath.Join(w.out, "resourcesync", name, "changelist.xml"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range chunks {
			at := resourcesync.FormatDateTime(report.At.Add(-time.Duration(i) * time.Millisecond))
			if n := strings.Count(string(text), `datetime="`+at+`"`); n != 4/chunks {
				t.Errorf("%s has %d events of %s, want %d", name, n, at, 4/chunks)
			}
		}
	}
}
