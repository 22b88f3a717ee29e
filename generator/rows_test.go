package generator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/hashing"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/scanner"
)

// The tests in this file are named after the rows of docs/faults.md.

const base = "https://example.org/"

// uris returns the URIs of a publication's resources.
func (w *world) uris() map[string]resourcesync.Entry {
	w.t.Helper()
	return read(w.t, w.out).resources
}

// link makes a symbolic link in the source.
func (w *world) link(target, name string) {
	w.t.Helper()
	if err := os.Symlink(target, filepath.Join(w.source, name)); err != nil {
		w.t.Fatal(err)
	}
}

func wantWarning(t *testing.T, r *Report, parts ...string) {
	t.Helper()
	all := strings.Join(r.Warnings, "\n")
	for _, part := range parts {
		if !strings.Contains(all, part) {
			t.Errorf("no warning with %q in %q", part, all)
		}
	}
	if len(parts) == 0 && all != "" {
		t.Errorf("unexpected warnings: %q", all)
	}
}

// follow says how a run is expected to follow a last publication, by a clock that goes on
// while the run waits.
type follow struct {
	name    string
	last    string        // when the last publication was
	back    time.Duration // of the clock
	change  func(*Options)
	wait    time.Duration // before it begins
	at      string
	refused bool
	warned  bool
}

// check publishes, and once more.
func (f *follow) check(t *testing.T) {
	w := newWorld(t, t.TempDir()).seed(1)
	w.now = mustDate(f.last)
	if w.now.Nanosecond() > 0 { // which only runs with several chunks of events have
		w.options.limits = smallLists
		w.now = w.now.Add(-time.Minute)
		w.build()
		w.seed(20)
	}
	if report := w.build(); !report.At.Equal(mustDate(f.last)) {
		t.Fatalf("the last publication is of %v", report.At)
	}
	w.file("new", "", longAgo)
	began := time.Now()
	report, err := w.run(func(o *Options) {
		o.FixedClock, o.Now = false, func() time.Time { return mustDate(f.last).Add(-f.back + time.Since(began)) }
		if f.change != nil {
			f.change(o)
		}
	})
	if waited := time.Since(began); waited != f.wait {
		t.Errorf("it waited for %v, not %v", waited, f.wait)
	}
	if refusal, ok := errors.AsType[*policy.Refusal](err); ok != f.refused || ok && (refusal.Flag != "--accept-clock" || !refusal.Passes) {
		t.Fatalf("got error %v", err)
	}
	if f.refused {
		return
	}
	if !report.At.Equal(mustDate(f.at)) || len(report.Warnings) > 0 != f.warned {
		t.Errorf("at %v with warnings %q, want %v", report.At, report.Warnings, f.at)
	}
}

func followAll(t *testing.T, all []follow) {
	t.Helper()
	for _, f := range all {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, f.check)
		})
	}
}

func TestRow21ClockGoesBack(t *testing.T) {
	t.Parallel()
	const last, next = "2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z"
	fixed := func(o *Options) { o.FixedClock = true }
	accept := func(o *Options) { o.AcceptClock = true }
	dry := func(o *Options) { o.DryRun = true }
	stopped := func(o *Options) { o.Now = func() time.Time { return mustDate(last) } }
	followAll(t, []follow{
		{name: "a second", last: last, back: time.Second, wait: 2 * time.Second, at: next},
		{name: "four seconds", last: last, back: 4 * time.Second, wait: 5 * time.Second, at: next},
		{name: "a bit more", last: last, back: 4*time.Second + time.Millisecond, refused: true},
		{name: "six seconds", last: last, back: 6 * time.Second, refused: true},
		{name: "an hour", last: last, back: time.Hour, refused: true},
		{name: "a day", last: last, back: 24 * time.Hour, refused: true},
		{name: "a second, in a dry run", last: last, back: time.Second, change: dry, at: next},
		{name: "six seconds, in a dry run", last: last, back: 6 * time.Second, change: dry, refused: true},
		{name: "six seconds, with a time that is given", last: last, back: 6 * time.Second, change: fixed, at: next},
		{name: "a day, with a time that is given", last: last, back: 24 * time.Hour, change: fixed, at: next, warned: true},
		{name: "six seconds, accepted", last: last, back: 6 * time.Second, change: accept, at: next},
		{name: "a day, accepted", last: last, back: 24 * time.Hour, change: accept, at: next, warned: true},
		{name: "a clock that stands still", last: last, change: stopped, wait: 5 * time.Second, refused: true},
	})
}

// TestRow22RunsInOneSecond has runs that follow each other at once: by the clock they wait,
// and a time that is given is made a second later each.
func TestRow22RunsInOneSecond(t *testing.T) {
	t.Parallel()
	const millisecond = time.Millisecond
	followAll(t, []follow{
		{name: "at once", last: "2026-01-02T03:04:05Z", wait: time.Second, at: "2026-01-02T03:04:06Z"},
		{name: "after a while", last: "2026-01-02T03:04:05Z", back: -400 * millisecond, wait: 600 * millisecond, at: "2026-01-02T03:04:06Z"},
		{name: "in the next second", last: "2026-01-02T03:04:05Z", back: -1234 * millisecond, at: "2026-01-02T03:04:06Z"},
		{name: "after chunks", last: "2026-01-02T03:04:05.300Z", wait: 700 * millisecond, at: "2026-01-02T03:04:06Z"},
		{name: "after chunks, in the next second", last: "2026-01-02T03:04:05.300Z", back: -701 * millisecond, at: "2026-01-02T03:04:06Z"},
		{name: "after chunks at its end", last: "2026-01-02T03:04:05.990Z", wait: 100 * millisecond, at: "2026-01-02T03:04:06Z"},
	})
	w := newWorld(t, t.TempDir()).seed(1)
	for i := range 5 {
		w.now = testStart
		w.file(fmt.Sprintf("new-%d", i), "", longAgo)
		if report, want := w.build(), testStart.Add(time.Duration(i)*time.Second); !report.At.Equal(want) {
			t.Errorf("run %d at %v, want %v", i, report.At, want)
		}
	}
}

// A run that waits ends when it is told to.
func TestRow22Interrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, dir).seed(1)
		w.build()
		began, stopped := time.Now(), errors.New("stopped")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(stopped) })
		o := w.options
		o.Now = func() time.Time { return testStart.Add(-3 * time.Second) }
		if _, err := Run(ctx, o); !errors.Is(err, stopped) || time.Since(began) != time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

func TestRow23ModifiedInTheFuture(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.file("a", "", testStart.AddDate(0, 0, 1))
	w.file("b", "", testStart.AddDate(1, 0, 0))
	wantWarning(t, w.build(), `"a" and 1 more were modified later than this publication`)
	for uri, e := range w.uris() {
		if !e.LastModified.Equal(testStart) {
			t.Errorf("%s: lastmod %v, want %v", uri, e.LastModified, testStart)
		}
	}
	if report := w.build(); report.Wrote {
		t.Errorf("again: %+v", report)
	}
}

func TestRow24TimesBefore1970(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	want := mustDate("1969-07-20T20:17:40Z")
	w.file("a", "", want)
	w.build()
	if got := w.uris()[base+"a"].LastModified; !got.Equal(want) {
		t.Errorf("lastmod %v, want %v", got, want)
	}
	if report := w.build(); report.Wrote || report.Read > 0 {
		t.Errorf("again: %+v", report)
	}
}

func TestRow26TimesOfACheckout(t *testing.T) {
	t.Parallel()
	const warning = "modified within two minutes"
	seed := func(n int, apart time.Duration) *world {
		w := newWorld(t, t.TempDir())
		for i := range n {
			w.file(fmt.Sprintf("f%d", i), fmt.Sprint(i), longAgo.Add(time.Duration(i)*apart))
		}
		return w
	}
	wantWarning(t, seed(49, 0).build())
	wantWarning(t, seed(50, 0).build(), warning)
	wantWarning(t, seed(60, time.Second).build(), warning)
	wantWarning(t, seed(60, time.Minute).build())

	// Another checkout of the same bytes changes nothing, and says nothing.
	w := seed(60, time.Minute)
	w.build()
	for i := range 60 {
		w.touch(fmt.Sprintf("f%d", i), testStart)
	}
	report := w.build()
	if report.Wrote || report.Read != 60 {
		t.Errorf("the same bytes: %+v", report)
	}
	wantWarning(t, report)
}

func TestRow27OnlyTheTimeChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir()).seed(2)
	w.build()
	before := tree(t, w.out)
	w.touch("d0/file-000.txt", longAgo.Add(time.Hour))
	report := w.build()
	if report.Wrote || report.Read != 1 || fmt.Sprint(before) != fmt.Sprint(tree(t, w.out)) {
		t.Errorf("got %+v", report)
	}
}

func TestRow28OnlyTheBytesChanged(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		modified time.Time
		checksum bool
		want     int
	}{
		{"long before", longAgo, false, 0},
		{"long before, with checksums", longAgo, true, 1},
		{"three seconds before", testStart.Add(-3 * time.Second), false, 0},
		{"two seconds before", testStart.Add(-2 * time.Second), false, 1},
		{"in the same second", testStart, false, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, t.TempDir())
			w.file("a", "one", tt.modified)
			w.build()
			w.file("a", "two", tt.modified)
			if report := w.build(func(o *Options) { o.Checksum = tt.checksum }); report.Updated != tt.want {
				t.Errorf("%d updated, want %d", report.Updated, tt.want)
			}
		})
	}
}

// TestRow29FormsOfTime has a last publication with times as others write them.
func TestRow29FormsOfTime(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"2016-12-31T23:59:60Z", "2017-01-01T00:59:59+01:00", "2016-12-31T18:59:59.000-05:00"} {
		w := newWorld(t, t.TempDir())
		w.out, w.options.Out = w.source, w.source
		w.file("a", "one", mustDate("2016-12-31T23:59:59Z"))
		w.build()
		list := "resourcesync/resourcelist.xml"
		text := tree(t, w.out)[list]
		w.remove("resourcesync/publication.json")
		w.file(list, strings.Replace(text, "2016-12-31T23:59:59Z", form, 1), longAgo)
		report := w.build()
		if report.Read != 0 || report.Events() != 0 {
			t.Errorf("%s: %+v", form, report)
		}
		if got := tree(t, w.out)[list]; !strings.Contains(got, "<lastmod>2016-12-31T23:59:59Z</lastmod>") {
			t.Errorf("%s is written again as it was:\n%s", form, got)
		}
	}
}

func TestRow34HardLinks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.file("a.txt", "one", longAgo)
	if err := os.Link(filepath.Join(w.source, "a.txt"), filepath.Join(w.source, "b.txt")); err != nil {
		t.Skip(err)
	}
	w.build()
	p := w.uris()
	a, b := p[base+"a.txt"], p[base+"b.txt"]
	if len(p) != 2 || a.Metadata != b.Metadata || !a.LastModified.Equal(b.LastModified) {
		t.Errorf("got %+v", p)
	}
	w.file("b.txt", "other", longAgo.Add(time.Hour)) // which is the same file
	if report := w.build(); report.Updated != 2 {
		t.Errorf("both changed: %+v", report)
	}
}

func TestRow35Sparse(t *testing.T) {
	if os.Getenv("WELLSPRING_LONG") == "" {
		t.Skip("reads more than 4 GiB; WELLSPRING_LONG=1 runs it")
	}
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.file("a.bin", "", longAgo)
	const size = 4<<30 + 1
	if err := os.Truncate(filepath.Join(w.source, "a.bin"), size); err != nil {
		t.Skip(err)
	}
	w.touch("a.bin", longAgo)
	report := w.build()
	if got := w.uris()[base+"a.bin"].Metadata.Length; got != size || report.ReadBytes != size {
		t.Errorf("length %d, read %d, want %d", got, report.ReadBytes, int64(size))
	}
}

func TestRows36To39Names(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	want := map[string]string{
		"with space":         "with%20space",
		"a&b<c>\"d'e%f":      "a&b%3Cc%3E%22d'e%25f",
		"q?h#p+s;":           "q%3Fh%23p+s;",
		"\U0001f600":         "%F0%9F%98%80",
		"]]>":                "%5D%5D%3E",
		"nl\ntab\tbell\aesc": "nl%0Atab%09bell%07esc",
		"\xff\xe9":           "%FF%E9",
		"%2e%2e":             "%252e%252e",
	}
	if runtime.GOOS == "darwin" {
		delete(want, "\xff\xe9")
	}
	for name := range want {
		w.file(name, name, longAgo)
	}
	w.build()
	got := w.uris()
	for name, escaped := range want {
		if _, ok := got[base+escaped]; !ok {
			t.Errorf("%q has no URI %s", name, escaped)
		}
	}
	for path, text := range tree(t, w.out) {
		if strings.Contains(text, "]]>") || strings.Contains(text, "\ufffd") || strings.ContainsAny(text, "\a\t") {
			t.Errorf("%s has raw bytes of names:\n%s", path, text)
		}
	}
	if report := w.build(); report.Wrote {
		t.Errorf("again: %+v", report)
	}
}

func TestRow40NamesThatDifferInCase(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	for _, name := range []string{"README", "b/x", "B/x", "c/Name.txt", "c/d/e/name.txt", "c/name.txt", "readme", "É", "é", "other/readme"} {
		w.file(name, "", longAgo)
	}
	if len(tree(t, w.source)) != 10 {
		t.Skip("the file system ignores case")
	}
	report := w.build()
	wantWarning(t, report, `differ in nothing but case or Unicode normal form`, `"README" and "readme"`, `"B" and "b"`, `"c/Name.txt" and "c/name.txt"`, `"É" and "é"`)
	if all := strings.Join(report.Warnings, "\n"); strings.Count(all, `" and "`) != 4 || report.Resources != 10 {
		t.Errorf("warnings %q of %d resources", all, report.Resources)
	}
	w.file("other/new", "", longAgo)
	wantWarning(t, w.build()) // nothing new about the others
	for i := range 9 {
		w.file(fmt.Sprintf("many/f%d", i), "", longAgo)
		w.file(fmt.Sprintf("many/F%d", i), "", longAgo)
	}
	wantWarning(t, w.build(), "and 4 more pairs")
}

// TestRow40OtherForms keeps names in the two normal forms of Unicode apart.
func TestRow40OtherForms(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.file("\u00e9", "composed", longAgo)
	w.file("e\u0301", "decomposed", longAgo)
	if len(tree(t, w.source)) != 2 {
		t.Skip("the file system takes them for one")
	}
	wantWarning(t, w.build(), "Unicode normal form", `"\u00e9" and "e\u0301"`)
	if p := w.uris(); len(p) != 2 || p[base+"%C3%A9"].Metadata.Length != 8 || p[base+"e%CC%81"].Metadata.Length != 10 {
		t.Errorf("got %+v", p)
	}
}

func TestRow41LongURIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	dir := strings.Repeat(strings.Repeat("d", 249)+"/", 8)
	short := dir + strings.Repeat("a", 2048-1-len(dir)-len(base))
	w.file(short, "", longAgo)
	wantWarning(t, w.build())
	w.file(short+"a", "", longAgo)
	wantWarning(t, w.build(), `aa" has a URI of 2048 characters or more`)
	w.file(short+"b", "", longAgo)
	w.file(short+"c", "", longAgo)
	wantWarning(t, w.build(), `ab" and 1 more have URIs`)
	wantWarning(t, w.build())
	if p := newReader(t, w.out).p; len(p.resources) != 4 { // an audit warns of these URIs, too
		t.Errorf("%d resources", len(p.resources))
	}
}

func TestRow44Links(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.file("a/file", "inside", longAgo)
	if err := os.WriteFile(filepath.Join(filepath.Dir(w.source), "secret"), []byte("outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.link("a/file", "link")
	w.link("a", "twin")
	w.link("../secret", "escape")
	w.link(filepath.Join(filepath.Dir(w.source), "secret"), "absolute")
	w.link("nowhere", "dangling")
	w.link("..", "a/loop")
	w.link("self", "self")
	report := w.build()
	p := w.uris()
	if len(p) != 3 || p[base+"link"].Metadata.Length != 6 || p[base+"twin/file"].Metadata.Length != 6 {
		t.Errorf("got %+v", p)
	}
	wantWarning(t, report, `"escape"`, `"absolute"`, `"dangling"`, `"a/loop"`, `"self"`)
	if report := w.build(func(o *Options) { o.SkipSymlinks = true }); report.Deleted != 2 || report.Resources != 1 {
		t.Errorf("without links: %+v", report)
	}
}

func TestRows46And47EmptyFilesAndDirectories(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.file("a.html", "", longAgo)
	w.file("none", "", longAgo)
	if err := os.MkdirAll(filepath.Join(w.source, "empty", "below"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.build()
	p := w.uris()
	html, none := p[base+"a.html"].Metadata, p[base+"none"].Metadata
	const digest = "sha-256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	if len(p) != 2 || !html.HasLength || html.Length != 0 || html.Hash != digest || html.Type != "text/html" || none.Type != "" {
		t.Errorf("got %+v", p)
	}
}

func TestRows48And49EmptySource(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	var refusal *policy.Refusal
	if _, err := w.run(); !errors.As(err, &refusal) || refusal.Flag != "--allow-empty" {
		t.Errorf("a first run: %v", err)
	}
	allow := func(o *Options) { o.AllowEmpty = true }
	w.build(allow)
	if p := w.uris(); len(p) != 0 {
		t.Errorf("got %+v", p)
	}
	w.seed(3)
	w.build()
	w.remove("d0")
	w.remove("d1")
	w.remove("d2")
	if _, err := w.run(); !errors.As(err, &refusal) || !strings.Contains(refusal.Why, "all 3 resources") {
		t.Errorf("all files gone: %v", err)
	}
	w.remove(".")
	if _, err := w.run(); err == nil || errors.As(err, new(*policy.Refusal)) {
		t.Errorf("the source gone: %v", err)
	}
	if p := w.uris(); len(p) != 3 {
		t.Errorf("%d resources are left", len(p))
	}
}

// TestRow50OutputAndSource has one in the other, by other names than the real
// ones.
func TestRow50OutputAndSource(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, source, out string }{
		{"the same", "site", "site"},
		{"output in source", "site", "site/sub/out"},
		{"output in source by a link", "site", "link/sub/out"},
		{"source in output", "site/sub", "site"},
		{"source by a link", "link", "site"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			w := newWorld(t, dir)
			if err := errors.Join(os.MkdirAll(filepath.Join(dir, "site", "sub", "out"), 0o755),
				os.Symlink("site", filepath.Join(dir, "link"))); err != nil {
				t.Fatal(err)
			}
			w.source, w.out = filepath.Join(dir, tt.source), filepath.Join(dir, tt.out)
			w.options.Source, w.options.Out = w.source, w.out
			w.file("sub/a", "", longAgo)
			for range 2 {
				w.build()
				if p := w.uris(); len(p) != 1 {
					t.Fatalf("got %+v", p)
				}
			}
		})
	}
}

func TestRow51Secrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	secret := []string{".env", ".git/config", ".htpasswd", ".DS_Store", ".ssh/id", "id_rsa", "key.pem", "a.txt.swp", "wp-config.php~", "_headers", "_redirects", "netlify.toml"}
	for _, name := range append(secret, "a.txt", ".well-known/security.txt") {
		w.file(name, "", longAgo)
	}
	report := w.build()
	p := w.uris()
	if _, ok := p[base+".well-known/security.txt"]; !ok {
		t.Error(".well-known is left out")
	}
	for _, name := range secret {
		if _, ok := p[base+name]; ok {
			t.Errorf("%s is published", name)
		}
	}
	if n := report.LeftOut[scanner.Hidden]; n == 0 {
		t.Errorf("left out: %v", report.LeftOut)
	}
}

func TestRow52PublishedBefore(t *testing.T) {
	t.Parallel()
	w := newDumps(t)
	w.options.Rules.Hidden = true
	w.file(".env", "secret", longAgo)
	w.file(".env2", "secret", longAgo)
	w.file("gone", "x", longAgo)
	w.build()
	w.options.Rules.Hidden = false
	w.remove("gone")
	report := w.build()
	if report.Deleted != 3 {
		t.Errorf("got %+v", report)
	}
	wantWarning(t, report, `".env" and 1 more are left out now and were published before`)
	w.file("new", "x", longAgo)
	wantWarning(t, w.build())
}

// TestRow61LimitOfBytes goes over the limit byte by byte. Room is kept for the
// longest head, so that a list may be cut a little before it has to be.
func TestRow61LimitOfBytes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir()).seed(20)
	build := func(bytes int64) (publication, int64) {
		w.out = filepath.Join(t.TempDir(), "out")
		w.build(func(o *Options) {
			o.Out, o.limits = w.out, policy.Limits{Entries: 100, Bytes: bytes, CutBits: 60}
		})
		var longest int64
		for path, text := range tree(t, w.out) {
			if strings.HasPrefix(path, "resourcesync/resourcelist") {
				longest = max(longest, int64(len(text)))
			}
		}
		p := read(t, w.out)
		if len(p.resources) != 20 || longest > bytes {
			t.Errorf("limit %d: a document of %d bytes, %d resources", bytes, longest, len(p.resources))
		}
		return p, longest
	}
	_, exact := build(1 << 20)
	if p, _ := build(exact - 1); !p.indexed {
		t.Errorf("one byte too few, and no Index")
	}
	if p, _ := build(exact + 300); p.indexed {
		t.Errorf("an Index although there is room")
	}
	for bytes := exact - 3; bytes < exact+300; bytes += 7 {
		build(bytes)
	}
}

func TestRow61LimitOfEntries(t *testing.T) {
	t.Parallel()
	for n, indexed := range map[int]bool{19: false, 20: false, 21: true} {
		w := newWorld(t, t.TempDir()).seed(n)
		w.options.limits = policy.Limits{Entries: 20, Bytes: 1 << 20, CutBits: 60}
		w.build()
		if p := read(t, w.out); p.indexed != indexed || len(p.resources) != n {
			t.Errorf("%d resources: indexed %v, %d listed", n, p.indexed, len(p.resources))
		}
	}
}

func TestRow63OtherDigests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir()).seed(3)
	w.build()
	w.file("d0/file-000.txt", "changed", longAgo)
	report := w.build(func(o *Options) { o.Hash = hashing.Set{hashing.SHA512} })
	if report.Updated != 1 || report.Refreshed != 2 || !report.Wrote {
		t.Errorf("got %+v", report)
	}
	for uri, e := range w.uris() {
		if !strings.HasPrefix(string(e.Metadata.Hash), "sha-512:") || strings.Contains(string(e.Metadata.Hash), "sha-256") {
			t.Errorf("%s: %s", uri, e.Metadata.Hash)
		}
	}
}

// TestRow64OtherType has a publication of a release that knew other media types.
func TestRow64OtherType(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir()).seed(3)
	w.out, w.options.Out = w.source, w.source
	w.build()
	list := "resourcesync/resourcelist.xml"
	before := tree(t, w.out)
	w.remove("resourcesync/publication.json")
	w.file(list, strings.ReplaceAll(before[list], "text/plain", "text/x-plain"), longAgo)
	report := w.build()
	if report.Events() != 0 || report.Refreshed != 3 || report.Read != 0 {
		t.Errorf("got %+v", report)
	}
	after := tree(t, w.out)
	if !strings.Contains(after[list], "text/plain") || strings.Contains(after[list], "text/x-plain") {
		t.Errorf("the list is\n%s", after[list])
	}
	if changes := "resourcesync/changelist.xml"; after[changes] != before[changes] {
		t.Errorf("the Change List is\n%s", after[changes])
	}
}

// TestRow68TemporaryFolderAndLocale is run by itself, for the environment's sake.
func TestRow68TemporaryFolderAndLocale(t *testing.T) {
	w := newWorld(t, t.TempDir()).seed(3)
	w.file("\u00c4", "", longAgo)
	build := func(out string) map[string]string {
		w.now = testStart
		w.build(func(o *Options) { o.Out = out })
		return tree(t, out)
	}
	want := build(filepath.Join(t.TempDir(), "out"))
	out := filepath.Join(t.TempDir(), "out")
	t.Setenv("TMPDIR", filepath.Join(w.source, "nowhere"))
	t.Setenv("LC_ALL", "tr_TR.ISO-8859-9")
	t.Setenv("TZ", "Asia/Kathmandu")
	if !maps.Equal(want, build(out)) {
		t.Error("the environment makes a difference")
	}
}
