package generator

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// tester is what *testing.T and *rapid.T have in common.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
}

// world is a source, its publication and a clock.
type world struct {
	t       tester
	source  string
	out     string
	cache   string
	now     time.Time
	options Options
	live    *live // if builds are uploaded
}

const oneDay = 24 * time.Hour

var testStart = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func newWorld(t tester, dir string) *world {
	w := &world{
		t:      t,
		source: filepath.Join(dir, "source"),
		out:    filepath.Join(dir, "out"),
		cache:  filepath.Join(dir, "cache", "stat"),
		now:    testStart,
	}
	if err := os.MkdirAll(w.source, 0o755); err != nil {
		t.Fatal(err)
	}
	w.options = Options{
		Source: w.source, Out: w.out, Cache: w.cache, Jobs: 2, Release: "wellspring test",
		Identity: layout.Identity{BaseURL: "https://example.org/"},
	}
	return w
}

// smallLists makes documents of a few entries, so that small sources have all
// the forms of large ones. joinedLists have so many parts that they are joined.
var (
	smallLists  = policy.Limits{Entries: 7, Bytes: 2000, CutBits: 2}
	joinedLists = policy.Limits{Entries: 7, Bytes: 2000, ManyParts: 8, CutBits: 1}
)

// file writes a file and gives it a modification time, with the directories
// above it.
func (w *world) file(name, content string, modified time.Time) {
	w.t.Helper()
	native := filepath.Join(w.source, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(native), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(native, []byte(content), 0o644); err != nil {
		w.t.Fatal(err)
	}
	w.touch(name, modified)
}

func (w *world) touch(name string, modified time.Time) {
	w.t.Helper()
	if err := os.Chtimes(filepath.Join(w.source, filepath.FromSlash(name)), modified, modified); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) remove(name string) {
	w.t.Helper()
	if err := os.RemoveAll(filepath.Join(w.source, filepath.FromSlash(name))); err != nil {
		w.t.Fatal(err)
	}
}

// run builds at the world's time, which goes on by a minute.
func (w *world) run(change ...func(*Options)) (*Report, error) {
	o := w.options
	now := w.now
	o.Now, o.FixedClock = func() time.Time { return now }, true
	for _, c := range change {
		c(&o)
	}
	w.now = w.now.Add(time.Minute)
	if w.live == nil {
		return Run(context.Background(), o)
	}
	o.Plan = w.live.plan
	report, err := Run(context.Background(), o)
	if err == nil && !o.DryRun {
		w.live.built()
	}
	return report, err
}

func (w *world) build(change ...func(*Options)) *Report {
	w.t.Helper()
	report, err := w.run(change...)
	if err != nil {
		w.t.Fatal(err)
	}
	return report
}

// tree returns the files below a directory, with their content.
func tree(t tester, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		relative, _ := filepath.Rel(dir, name)
		files[filepath.ToSlash(relative)] = string(b)
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return files
}

// replay applies the events since a time to a state.
func replay(t tester, state map[string]resourcesync.Entry, p publication, since time.Time) map[string]resourcesync.Entry {
	t.Helper()
	now := map[string]resourcesync.Entry{}
	for uri, e := range state {
		now[uri] = e
	}
	for _, e := range slices.Concat(p.changes...) {
		if !e.ChangeTime().After(since) {
			continue
		}
		_, exists := now[e.Loc]
		if exists == (e.Metadata.Change == resourcesync.Created) {
			t.Errorf("%s is %s at %v, but existed before: %v", e.Loc, e.Metadata.Change, e.ChangeTime(), exists)
		}
		if e.Metadata.Change == resourcesync.Deleted {
			delete(now, e.Loc)
			continue
		}
		e.Metadata.Change, e.Metadata.DateTime = "", time.Time{}
		now[e.Loc] = e
	}
	return now
}

// describe says what a state is made of, but for modification times.
func describe(parts [][]resourcesync.Entry) string {
	var b strings.Builder
	for i, part := range parts {
		fmt.Fprintf(&b, "part %d\n", i)
		for _, e := range part {
			fmt.Fprintf(&b, "%s %d %s %s\n", e.Loc, e.Metadata.Length, e.Metadata.Hash, e.Metadata.Type)
		}
	}
	return b.String()
}

// describePackages says how bitstreams are cut into packages, but for their
// times.
func describePackages(p publication) [][]string {
	var packages [][]string
	for _, list := range p.dumps.packages {
		var names []string
		for _, b := range list {
			names = append(names, b.entry.Loc+" "+b.content)
		}
		packages = append(packages, names)
	}
	return packages
}

// replayContent applies the packages of a Change Dump since a time to what a
// Resource Dump held.
func replayContent(state map[string]string, p publication, since time.Time) map[string]string {
	now := map[string]string{}
	for uri, content := range state {
		now[uri] = content
	}
	for _, b := range p.dumps.changes {
		switch md := b.entry.Metadata; {
		case !b.entry.ChangeTime().After(since):
		case md.Change == resourcesync.Deleted:
			delete(now, b.entry.Loc)
		default:
			now[b.entry.Loc] = b.content
		}
	}
	return now
}

// bodies counts the files in the folders of the publication that grow.
func bodies(files map[string]string) (n int) {
	for name := range files {
		if path.Base(path.Dir(name)) == "resourcelist" {
			n++
		}
	}
	return n
}

func mustDate(s string) time.Time {
	t, err := resourcesync.ParseDateTime(s)
	if err != nil {
		panic(err)
	}
	return t
}

var _ tester = (*testing.T)(nil)
