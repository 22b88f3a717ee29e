package generator

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wellspring-sync/wellspring/publish"
	"github.com/wellspring-sync/wellspring/snapshot"
)

const badDir = "../testdata/bad"

// badStart is when a build finds a bad publication, which is of the day before.
var badStart = time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC)

// expectation is what expect.txt says of a bad publication: the exit code, a
// part of the message, and what is wrong.
type expectation struct{ code, message, about string }

func readExpectation(t *testing.T, name string) expectation {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(badDir, name, "expect.txt"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	if len(lines) != 3 || lines[0] != "1" && lines[0] != "4" || lines[1] == "" || lines[2] == "" {
		t.Fatalf("expect.txt has to be a code, a message and a description:\n%s", b)
	}
	return expectation{lines[0], lines[1], lines[2]}
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
			rebaseBad(t, w)
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
	var refusal *Refusal
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
func rebaseBad(t *testing.T, w *world) {
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
