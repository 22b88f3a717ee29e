package generator

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/publish"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
)

const badDir = "../testdata/bad"

// badStart is when a build finds a bad publication, which is of the day before.
var badStart = time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC)

// expectation is what expect.txt says of a bad publication: the exit code, a
// part of the message, what is wrong, and a part of the message with which a
// rebase fails, should it do so.
type expectation struct{ code, message, about, rebase string }

func readExpectation(t *testing.T, name string) expectation {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(badDir, name, "expect.txt"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	lines = append(lines, "")
	if len(lines) < 4 || len(lines) > 5 || lines[0] != "1" && lines[0] != "4" || lines[1] == "" || lines[2] == "" {
		t.Fatalf("expect.txt has to be a code, a message and a description:\n%s", b)
	}
	return expectation{lines[0], lines[1], lines[2], lines[3]}
}

// copyBad copies a bad publication into a source of its own. What stands on the
// left of dots are the names of folders that begin with one.
func copyBad(t *testing.T, name string) *world {
	t.Helper()
	w := newWorld(t, t.TempDir())
	w.now, w.out, w.options.Out = badStart, w.source, w.source
	for path, content := range tree(t, filepath.Join(badDir, name, "source")) {
		w.file(strings.Replace(path, "well-known/", ".well-known/", 1), content, mustDate("2026-01-01"))
	}
	return w
}

// TestBadPublications builds upon publications that no one should build upon.
func TestBadPublications(t *testing.T) {
	t.Parallel()
	dirs, err := os.ReadDir(badDir)
	if err != nil || len(dirs) < 50 {
		t.Fatalf("%d bad publications, %v", len(dirs), err)
	}
	for _, dir := range dirs {
		t.Run(dir.Name(), func(t *testing.T) {
			t.Parallel()
			want := readExpectation(t, dir.Name())
			w := copyBad(t, dir.Name())
			before := tree(t, w.source)
			_, err := w.run(func(o *Options) { o.FixedClock = false })
			checkBad(t, w, err, want)
			_, err = w.run(func(o *Options) { o.FixedClock, o.DryRun = false, true })
			checkBad(t, w, err, want)
			if diff := cmp.Diff(before, tree(t, w.source)); diff != "" {
				t.Errorf("something changed:\n%s", diff)
			}
			rebaseBad(t, w, want)
		})
	}
}

// checkBad checks the error, and that it says what to look at.
func checkBad(t *testing.T, w *world, err error, want expectation) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want.message) {
		t.Errorf("got error %v\nwant %q, since: %s", err, want.message, want.about)
		return
	}
	var refusal *policy.Refusal
	code := "1"
	if errors.As(err, &refusal) {
		code = "4"
	}
	if code != want.code {
		t.Errorf("%v has the exit code %s, want %s", err, code, want.code)
	}
	var damaged *snapshot.DamagedError
	if code == "1" && (!errors.As(err, &damaged) || damaged.Path == "" || !strings.Contains(err.Error(), damaged.Path)) {
		t.Errorf("%v does not name the file at fault", err)
	}
	if len(err.Error()) > 2000 {
		t.Errorf("a message of %d bytes", len(err.Error()))
	}
	if _, err := os.Stat(filepath.Join(w.source, publish.Folder)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there", publish.Folder)
	}
}

// rebaseBad begins anew in place of a bad publication. Resources stay as they
// are, and what comes out is good.
func rebaseBad(t *testing.T, w *world, want expectation) {
	t.Helper()
	resources := func() map[string]string {
		files := tree(t, w.source)
		for path := range files {
			if strings.Contains(path, "/") && path != "resourcesync/notes.txt" {
				delete(files, path)
			}
		}
		return files
	}
	before := resources()
	report, err := w.run(func(o *Options) { o.Rebase = true })
	if want.rebase != "" {
		if err == nil || !strings.Contains(err.Error(), want.rebase) {
			t.Errorf("with Rebase: %v, want %q", err, want.rebase)
		}
		return
	}
	if err != nil {
		t.Fatalf("with Rebase: %v", err)
	}
	if diff := cmp.Diff(before, resources()); diff != "" {
		t.Errorf("with Rebase, resources changed:\n%s", diff)
	}
	if p := read(t, w.source); !report.Wrote || len(p.resources) != 2 && len(p.resources) != 3 {
		t.Errorf("with Rebase: %+v", report)
	}
	if again := w.build(); again.Wrote {
		t.Errorf("once more after Rebase: %+v", again)
	}
}

// TestHugeBadPublications has publications that are too big for testdata. They
// are refused before they take more memory than a good one may. It is not run
// beside others, whose memory would count.
func TestHugeBadPublications(t *testing.T) {
	const (
		list  = "resourcesync/resourcelist.xml"
		entry = "<url><loc>https://example.org/a.txt</loc>"
	)
	body := func(s string) func(string) string {
		return func(good string) string { return strings.Replace(good, "<url>", s+"<url>", 1) }
	}
	for _, tt := range []struct {
		name, path string
		edit       func(good string) string
		message    string
		most       uint64 // bytes allocated
	}{
		{"elements nested in 6 MB", list, body(entry + strings.Repeat("<x>", 2<<20)), "nested more than 8 deep", 4 << 20},
		{"elements open before the root", list, func(string) string { return strings.Repeat("<x>", 2<<20) }, "the root element is {}x", 4 << 20},
		{"an attribute of 10 MB", list, body(entry + "<rs:md hash=\"" + strings.Repeat("a", 10<<20) + "\"/></url>"), "longer than 65536 bytes", 4 << 20},
		{"a name of 10 MB", list, body("<" + strings.Repeat("a", 10<<20) + "/>"), "longer than 65536 bytes", 4 << 20},
		{"a comment of 10 MB", list, body("<!--" + strings.Repeat("a", 10<<20) + "-->"), "longer than 65536 bytes", 4 << 20},
		{"a text of 10 MB", list, body("<url><loc>" + strings.Repeat("a", 10<<20) + "</loc></url>"), "longer than 65536 bytes", 4 << 20},
		{"a text of 10 MB in pieces", list, body("<url><loc>" + strings.Repeat("a<!---->", 10<<17) + "</loc></url>"), "longer than 65536 bytes", 48 << 20},
		{"a line of 10 MB", list, func(string) string { return strings.Repeat(" ", 10<<20) }, "longer than 65536 bytes", 4 << 20},
		{"a document of 60 MB", list, body(manyEntries(40_000, 1340)), "the document is too long", 240 << 20},
		{"50,001 entries", list, body(manyEntries(50_001, 0)), "more than 50000 entries", 64 << 20},
		{"50,001 events", "resourcesync/changelist.xml", func(good string) string {
			events := strings.ReplaceAll(manyEntries(50_001, 0), "/></url>", " change=\"created\" datetime=\"2026-01-02T03:04:05Z\"/></url>")
			return strings.Replace(good, "</urlset>", events+"</urlset>", 1)
		}, "more than 50000 entries", 96 << 20},
		{"a Capability List of 50,001", "resourcesync/capabilitylist.xml", body(manyEntries(50_001, 0)), "more than 50000 entries", 128 << 20},
		{"a record of 10 MB", "resourcesync/publication.json", func(string) string { return strings.Repeat("[", 10<<20) }, "the record is malformed", 192 << 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, t.TempDir())
			w.out, w.options.Out = w.source, w.source
			w.file("a.txt", "first\n", longAgo)
			w.file("b.txt", "second\n", longAgo)
			w.build()
			good := tree(t, w.source)
			w.remove("resourcesync/publication.json")
			w.file(tt.path, tt.edit(good[tt.path]), longAgo)
			before := tree(t, w.source)
			started := allocated()
			_, err := w.run()
			used := allocated() - started
			checkBad(t, w, err, expectation{code: "1", message: tt.message, about: tt.name})
			if used > tt.most {
				t.Errorf("%d bytes were allocated, want no more than %d", used, tt.most)
			}
			if !maps.Equal(before, tree(t, w.source)) {
				t.Error("something changed")
			}
			rebaseBad(t, w, expectation{})
		})
	}
}

// manyEntries are entries that a good list could have, each with a URI that is
// longer by so many bytes.
func manyEntries(n, longer int) string {
	var b strings.Builder
	more := strings.Repeat("a", longer)
	for i := range n {
		fmt.Fprintf(&b, "<url><loc>https://example.org/%06d%s</loc><rs:md length=\"1\"/></url>\n", i, more)
	}
	return b.String()
}

// allocated is how many bytes were ever allocated.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
