package generator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/hashing"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// longAgo is well before any publication of a world.
var longAgo = testStart.Add(-100 * time.Hour)

// seed makes a source of n files.
func (w *world) seed(n int) *world {
	w.t.Helper()
	for i := range n {
		w.file(fmt.Sprintf("d%d/file-%03d.txt", i%3, i), fmt.Sprintf("content %d", i), longAgo.Add(time.Duration(i)*time.Second))
	}
	return w
}

func TestWorkersMakeNoDifference(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir()).seed(200)
	build := func(jobs int) map[string]string {
		out := filepath.Join(t.TempDir(), "out")
		now := testStart
		for range 2 {
			w.now = now
			w.build(func(o *Options) { o.Jobs, o.Out, o.Cache, o.limits = jobs, out, "", smallLists })
			w.file("d0/file-000.txt", "changed", longAgo.Add(time.Hour))
			now = now.Add(time.Hour)
		}
		w.file("d0/file-000.txt", "content 0", longAgo)
		return tree(t, out)
	}
	if diff := cmp.Diff(build(1), build(8)); diff != "" {
		t.Errorf("(-1 worker +8 workers):\n%s", diff)
	}
}

func TestDigestsCanChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir()).seed(5)
	w.build()
	sets := []hashing.Set{{hashing.MD5}, {hashing.MD5, hashing.SHA256}, {hashing.SHA512}, {hashing.SHA1, hashing.SHA256}}
	for _, set := range sets {
		w.file("d0/file-000.txt", "content 0", longAgo) // rewritten with the same bytes
		report := w.build(func(o *Options) { o.Hash = set })
		if report.Events() != 0 || report.Refreshed != 5 {
			t.Errorf("%v: %+v", set, report)
		}
		for uri, e := range read(t, w.out).resources {
			if got := hashing.Of(e.Metadata.Hash); !cmp.Equal(got, set) {
				t.Errorf("%s has %v, want %v", uri, got, set)
			}
		}
	}
	w.file("d0/file-000.txt", "changed 0", longAgo.Add(time.Second))
	if report := w.build(func(o *Options) { o.Hash = hashing.Set{hashing.MD5} }); report.Updated != 1 || report.Refreshed != 4 {
		t.Errorf("a change together with other digests: %+v", report)
	}
}

func TestChecksumFindsWhatTimesHide(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir()).seed(3)
	w.build()
	w.file("d0/file-000.txt", "CONTENT 0", longAgo) // same length, same time
	if report := w.build(); report.Wrote || report.Read != 0 {
		t.Errorf("the quick check should not have seen it: %+v", report)
	}
	if report := w.build(func(o *Options) { o.Checksum = true }); report.Updated != 1 || report.Read != 3 {
		t.Errorf("with checksums: %+v", report)
	}
}

func TestJustWrittenFilesAreNotTrusted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.options.Cache = ""
	w.file("a", "one", w.now)
	w.build()
	w.file("a", "two", testStart) // the same length and time
	if report := w.build(); report.Updated != 1 {
		t.Errorf("got %+v", report)
	}
}

func TestTimesOfPublication(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir()).seed(1)
	first := w.build()
	w.file("new", "x", longAgo)
	w.now = testStart.Add(-time.Hour) // a clock in the past
	second := w.build()
	if want := first.At.Add(time.Second); !second.At.Equal(want) {
		t.Errorf("published at %v, want %v", second.At, want)
	}
	w.file("newer", "x", w.now.Add(time.Hour*1000))
	w.build()
	p := read(t, w.out)
	if got := p.resources["https://example.org/newer"].LastModified; !got.Equal(p.at) {
		t.Errorf("lastmod %v of a file from the future, want %v", got, p.at)
	}
}

func TestEventsTakeManyLists(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir()).seed(1)
	w.options.limits = smallLists
	w.build()
	w.seed(40)
	report := w.build()
	p := read(t, w.out)
	if len(p.changes) < 5 || report.Created != 39 {
		t.Fatalf("%d Change Lists for %d events", len(p.changes), report.Created)
	}
	for i, list := range p.changes {
		want := report.At.Add(-time.Duration(len(p.changes)-1-i) * time.Millisecond)
		for _, e := range list {
			if !e.Metadata.DateTime.Equal(want) {
				t.Fatalf("list %d: datetime %v, want %v", i, e.Metadata.DateTime, want)
			}
		}
	}
}

func TestRetiredBodiesAreSwept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir()).seed(40)
	w.options.limits = smallLists
	w.options.Grace = time.Hour
	w.build()
	first := bodies(tree(t, w.out))
	w.file("d0/file-000.txt", "new", longAgo)
	if report := w.build(); report.Swept != 0 || bodies(tree(t, w.out)) <= first || report.Reused == 0 {
		t.Errorf("one body should have been added, none swept: %+v", report)
	}
	w.now = w.now.Add(30 * time.Minute)
	w.file("d0/file-000.txt", "newer", longAgo)
	if report := w.build(); report.Swept != 0 {
		t.Errorf("swept in the grace time: %+v", report)
	}
	w.now = w.now.Add(45 * time.Minute)
	if report := w.build(); report.Wrote {
		t.Errorf("time alone is no reason to write: %+v", report)
	}
	w.file("d0/file-000.txt", "newest", longAgo)
	if report := w.build(); report.Swept != 1 {
		t.Errorf("the first retired body should be swept: %+v", report)
	}
	read(t, w.out)
}

func TestGuards(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		edit    func(*world)
		options func(*Options)
		flag    string
	}{
		{"empty source", func(w *world) { w.remove("d0"); w.remove("d1"); w.remove("d2") }, func(*Options) {}, "--allow-empty"},
		{"too many deletions", func(w *world) { w.remove("d0"); w.remove("d1") }, func(*Options) {}, "--max-delete=40"},
		{"more than a number", func(w *world) { w.remove("d0") }, func(o *Options) { o.MaxDelete = &policy.Limit{Count: 19} }, "--max-delete=20"},
		{"another base URL", func(*world) {}, func(o *Options) { o.Identity.BaseURL = "https://example.com/" }, "--rebase"},
		{"another publication URL", func(*world) {}, func(o *Options) { o.Identity.PublicationURL = "https://example.com/" }, "--rebase"},
		{"another folder", func(*world) {}, func(o *Options) { o.Identity.Folder = "elsewhere" }, "--rebase"},
		{"another form of URIs", func(*world) {}, func(o *Options) { o.Identity.Form = "index" }, "--rebase"},
		{"a clock far behind", func(*world) {}, func(o *Options) {
			o.FixedClock, o.Now = false, func() time.Time { return testStart.Add(-25 * time.Hour) }
		}, "--accept-clock"},
		{"a file with a URI of the publication", func(w *world) { w.file("resourcesync/x", "", longAgo) }, func(*Options) {}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, t.TempDir()).seed(60)
			w.build()
			before := tree(t, w.out)
			tt.edit(w)
			_, err := w.run(tt.options)
			var refusal *policy.Refusal
			if !errors.As(err, &refusal) || refusal.Flag != tt.flag {
				t.Fatalf("got %v, want a refusal with the flag %q", err, tt.flag)
			}
			if diff := cmp.Diff(before, tree(t, w.out)); diff != "" {
				t.Errorf("the publication changed:\n%s", diff)
			}
		})
	}
}

func TestGuardsCanBeOverridden(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir()).seed(60)
	w.build()
	w.remove("d0")
	w.remove("d1")
	if report := w.build(func(o *Options) { o.MaxDelete = &policy.Limit{Count: 40} }); report.Deleted != 40 {
		t.Errorf("deletions: %+v", report)
	}
	w.remove("d2")
	if report := w.build(func(o *Options) { o.AllowEmpty = true }); report.Deleted != 20 {
		t.Errorf("all deleted: %+v", report)
	}
	late := testStart.Add(-48 * time.Hour)
	w.file("a", "x", longAgo)
	report := w.build(func(o *Options) { o.AcceptClock, o.FixedClock, o.Now = true, false, func() time.Time { return late } })
	if !report.Wrote || len(report.Warnings) == 0 {
		t.Errorf("a clock far behind: %+v", report)
	}
}

func TestRebase(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir()).seed(30)
	w.options.limits = smallLists
	w.build()
	w.file("d0/file-000.txt", "changed", longAgo)
	w.build()
	before := read(t, w.out)
	report := w.build(func(o *Options) { o.Rebase, o.limits = true, policy.Limits{} })
	after := read(t, w.out)
	if !report.First || len(after.changes) != 1 || len(after.changes[0]) != 0 || !after.at.After(before.at) {
		t.Errorf("not a new history: %+v", report)
	}
	record := w.record()
	if len(record.Retired) < 5 {
		t.Errorf("the old bodies should be retired: %+v", record.Retired)
	}
	w.file("d0/file-000.txt", "changed again", longAgo)
	if report := w.build(func(o *Options) { o.Grace, o.limits = -1, policy.Limits{} }); report.Swept < 5 {
		t.Errorf("the old bodies should be swept: %+v", report)
	}
	if n := bodies(tree(t, w.out)); n != 0 {
		t.Errorf("%d old bodies are left", n)
	}
}

func (w *world) record() *snapshot.Record {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(w.out, "resourcesync", "publication.json"))
	if err != nil {
		w.t.Fatal(err)
	}
	r, err := snapshot.ParseRecord(b)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func TestLostDocumentsAreWrittenAgain(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".well-known/resourcesync", "resourcesync/capabilitylist.xml", "resourcesync/publication.json"} {
		w := newWorld(t, t.TempDir()).seed(3)
		w.build()
		before := tree(t, w.out)
		if err := os.Remove(filepath.Join(w.out, filepath.FromSlash(name))); err != nil {
			t.Fatal(err)
		}
		report := w.build()
		after := tree(t, w.out)
		if !report.Wrote || len(report.Warnings) == 0 {
			t.Errorf("%s: %+v", name, report)
		}
		delete(before, "resourcesync/publication.json") // its time is new
		delete(after, "resourcesync/publication.json")
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("%s (-before +after):\n%s", name, diff)
		}
		read(t, w.out)
		if again := w.build(); again.Wrote {
			t.Errorf("%s: written once more: %+v", name, again)
		}
	}
}

func TestCancelLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir()).seed(50)
	w.build()
	w.file("new", "x", longAgo)
	before := tree(t, w.out)
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	o := w.options
	o.OnChange = func(policy.Change) { cancel(stopped) }
	o.Now, o.FixedClock = func() time.Time { return w.now }, true
	if _, err := Run(ctx, o); !errors.Is(err, stopped) {
		t.Errorf("got %v, want %v", err, stopped)
	}
	if diff := cmp.Diff(before, tree(t, w.out)); diff != "" {
		t.Errorf("something changed:\n%s", diff)
	}
}

func TestSomethingElseChangesThePublication(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir()).seed(5)
	w.build()
	w.file("new", "x", longAgo)
	record := filepath.Join(w.out, "resourcesync", "publication.json")
	_, err := w.run(func(o *Options) {
		o.OnChange = func(policy.Change) {
			b, _ := os.ReadFile(record)
			if err := os.WriteFile(record, append(b, '\n'), 0o644); err != nil {
				t.Error(err)
			}
		}
	})
	if !errors.Is(err, policy.ErrChanged) {
		t.Errorf("got %v, want %v", err, policy.ErrChanged)
	}
}

// TestClockAhead builds with a time far in the future and edits a file within
// the second of its publication. The next build must not be fooled.
func TestClockAhead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.now = time.Now().AddDate(1, 0, 0)
	w.options.Cache = ""
	name := filepath.Join(w.source, "a")
	if err := os.WriteFile(name, []byte("one"), 0o644); err != nil {
		t.Fatal(err)
	}
	w.build()
	if err := os.WriteFile(name, []byte("two"), 0o644); err != nil {
		t.Fatal(err)
	}
	if report := w.build(); report.Updated != 1 {
		t.Errorf("got %+v", report)
	}
}

// TestManyChunksAtOnce has many chunks of events right after another run, by the clock.
// Their times are not ahead of it, so that a file which is changed once more within the
// second of its publication is found.
func TestManyChunksAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir()).seed(1)
	w.options.Cache, w.options.limits = "", smallLists
	build := func() *Report {
		return w.build(func(o *Options) { o.FixedClock, o.Now = false, time.Now })
	}
	build()
	name := filepath.Join(w.source, "new-000")
	for i := range 60 {
		w.file(fmt.Sprintf("new-%03d", i), "one", longAgo)
	}
	if err := os.WriteFile(name, []byte("one"), 0o644); err != nil {
		t.Fatal(err)
	}
	if report := build(); report.Created != 60 || report.At.After(time.Now()) {
		t.Fatalf("got %+v", report)
	}
	if err := os.WriteFile(name, []byte("two"), 0o644); err != nil {
		t.Fatal(err)
	}
	if report := build(); report.Updated != 1 {
		t.Errorf("got %+v", report)
	}
	read(t, w.out)
}

func TestDryRunSaysWhatHappens(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir()).seed(5)
	dry := func(o *Options) { o.DryRun = true }
	if report := w.build(dry); !report.Wrote || len(tree(t, w.out)) != 0 || len(tree(t, filepath.Dir(w.cache))) != 0 {
		t.Errorf("first: %+v", report)
	}
	w.build()
	w.file("new", "x", longAgo)
	before := tree(t, w.out)
	foreseen := w.build(dry)
	if diff := cmp.Diff(before, tree(t, w.out)); diff != "" {
		t.Errorf("a dry run changed something:\n%s", diff)
	}
	done := w.build()
	if diff := cmp.Diff(foreseen.Heads, done.Heads); diff != "" || foreseen.Created != 1 {
		t.Errorf("(-foreseen +done):\n%s", diff)
	}
	if report := w.build(dry); report.Wrote {
		t.Errorf("nothing is left to do: %+v", report)
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		limit string
		n, of int
		want  bool
	}{
		{"0", 0, 10, true}, {"0", 1, 10, false}, {"5", 5, 5, true}, {"5", 6, 1000, false},
		{"50%", 500, 1000, true}, {"50%", 501, 1000, false}, {"50%", 20, 20, true}, {"0%", 21, 1000, false}, {"100%", 9, 9, true},
	} {
		limit, err := policy.ParseLimit(tt.limit)
		if err != nil || limit.String() != tt.limit || limit.Allows(tt.n, tt.of) != tt.want {
			t.Errorf("%+v: %v, %v", tt, limit, err)
		}
	}
	for _, bad := range []string{"", "x", "-1", "101%", "%", "1.5"} {
		if _, err := policy.ParseLimit(bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func TestReasonsAreGiven(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir()).seed(4)
	w.build()
	w.file("d0/file-000.txt", "longer than before", longAgo)
	w.file("d1/file-001.txt", "CONTENT 1", longAgo)
	w.file("d3/new", "", longAgo)
	w.remove("d2/file-002.txt")
	var got []policy.Change
	w.build(func(o *Options) { o.OnChange = func(c policy.Change) { got = append(got, c) } })
	want := []policy.Change{
		{Type: resourcesync.Updated, Reason: "length", Path: "d0/file-000.txt", URI: "https://example.org/d0/file-000.txt"},
		{Type: resourcesync.Updated, Reason: "digest", Path: "d1/file-001.txt", URI: "https://example.org/d1/file-001.txt"},
		{Type: resourcesync.Deleted, Reason: "not there any more", Path: "", URI: "https://example.org/d2/file-002.txt"},
		{Type: resourcesync.Created, Reason: "new", Path: "d3/new", URI: "https://example.org/d3/new"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRetiredButNamed has a record that calls parts retired which the Index
// names: they are not removed before they are retired in truth.
func TestRetiredButNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir()).seed(40)
	w.options.limits = smallLists
	w.options.Grace = -1
	w.build()
	files := tree(t, w.out)
	var parts []string
	for name := range files {
		if strings.Contains(name, "/resourcelist/") {
			parts = append(parts, name)
		}
	}
	var retired []string
	for _, path := range parts {
		retired = append(retired, fmt.Sprintf(`{"path": %q, "since": "2020-01-01T00:00:00Z"}`, path))
	}
	record := strings.Replace(files["resourcesync/publication.json"], `"heads":`,
		`"retired": [`+strings.Join(retired, ",")+`], "heads":`, 1)
	if err := os.WriteFile(filepath.Join(w.out, "resourcesync", "publication.json"), []byte(record), 0o644); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		w.file("new", fmt.Sprint(i), longAgo)
		w.build()
		read(t, w.out)
	}
}
