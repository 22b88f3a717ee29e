package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wellspring-sync/wellspring/generator"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/watch"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/scanner"
)

// TestIgnored asks what need not be watched.
func TestIgnored(t *testing.T) {
	t.Parallel()
	glob := func(pattern string) scanner.Glob {
		g, err := scanner.NewGlob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip(err)
	}
	inSource := generator.Options{
		Source: dir, Identity: layout.Identity{Folder: "resourcesync"},
		Rules: scanner.Rules{Exclude: []scanner.Glob{glob("drafts/"), glob("*.tmp")}},
		Sets:  []policy.Set{{Name: "a", Folder: "sets/a"}, {Name: "b"}},
		Cache: filepath.Join(dir, "x", "cache"),
	}
	below := generator.Options{Source: link, Out: filepath.Join(dir, "public"), Identity: layout.Identity{Folder: "."}}
	beside := generator.Options{Source: dir, Out: dir + "-out", Identity: layout.Identity{Folder: "resourcesync"}}
	included := generator.Options{Source: dir, Out: dir + "-out", Rules: scanner.Rules{Include: []scanner.Glob{glob(".git/**")}}}
	for _, test := range []struct {
		name string
		o    *generator.Options
		path string
		dir  bool
		want bool
	}{
		{"a file", &inSource, "a.txt", false, false},
		{"the folder", &inSource, "resourcesync", true, true},
		{"in the folder", &inSource, "resourcesync/b/x.xml", false, true},
		{"a similar name", &inSource, "resourcesync2", true, false},
		{"the same name elsewhere", &inSource, "x/resourcesync", true, false},
		{"the Source Description", &inSource, ".well-known/resourcesync", false, true},
		{"beside it", &inSource, ".well-known/security.txt", false, false},
		{"staging", &inSource, ".wellspring/staging/1", false, true},
		{"the folder of a set", &inSource, "sets/a", true, true},
		{"above that", &inSource, "sets", true, false},
		{"the cache", &inSource, "x/cache", false, true},
		{"the next cache", &inSource, "x/cache.tmp", false, true},
		{"excluded", &inSource, "x/a.tmp", false, true},
		{"an excluded folder", &inSource, "drafts", true, true},
		{"in an excluded folder", &inSource, "drafts/x", false, true},
		{"a file with that name", &inSource, "drafts", false, false},
		{"version control", &inSource, "x/.git", true, true},
		{"included", &included, ".git", true, false},
		{"in the source", &below, "resourcelist.xml", false, false},
		{"a list at the top", &below, "public/resourcelist.xml", false, true},
		{"a part", &below, "public/resourcelist/x.xml", false, true},
		{"a file in --out", &below, "public/a.txt", false, false},
		{"a publication elsewhere", &beside, "resourcesync/x", false, false},
	} {
		if got := ignored(test.o)(test.path, test.dir); got != test.want {
			t.Errorf("%s: %s is ignored: %v", test.name, test.path, got)
		}
	}
}

// TestRefusedByTheClock tries again after a time, and says so once: the clock goes on.
func TestRefusedByTheClock(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	b := &rebuilder{cli: &cli{stderr: &stderr}}
	fail := func(why string, passes bool) error {
		return b.fail(&policy.Refusal{Why: why, Flag: "--a-flag", Passes: passes})
	}
	for _, why := range []string{"the clock says one", "the clock says two"} {
		if err := fail(why, true); !errors.Is(err, watch.ErrAgain) {
			t.Errorf("%s: got %v", why, err)
		}
	}
	if err := fail("no files", false); err != nil {
		t.Errorf("the source is looked at again before it changes: %v", err)
	}
	if err := fail("the clock says three", true); !errors.Is(err, watch.ErrAgain) {
		t.Errorf("got %v", err)
	}
	got := stderr.String()
	if strings.Count(got, "the clock says") != 2 || strings.Contains(got, "two") || !strings.Contains(got, "no files") {
		t.Errorf("it says:\n%s", got)
	}
}

// TestWarningsComeBack warns each time when something begins to be so, and not again while
// it is, whatever happens in between.
func TestWarningsComeBack(t *testing.T) {
	t.Parallel()
	pattern, err := scanner.NewGlob("*.pdf")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var stderr bytes.Buffer
	b, err := (&cli{stdout: io.Discard, stderr: &stderr}).newRebuilder(generator.Options{
		Source: dir, Identity: layout.Identity{BaseURL: "https://example.com/", Folder: "resourcesync"},
		Resources: policy.ResourceRules{{Name: "a rule", Match: []scanner.Glob{pattern}, ChangeFreq: "never"}},
		Now:       func() time.Time { return now }, FixedClock: true,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(name string) {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	write("a.txt", "a")
	for i, step := range []struct {
		change func()
		fails  bool
		warned int // times in all
	}{
		{change: func() {}, warned: 1},
		{change: func() {}, warned: 1},
		{change: func() { write("b.txt", "b") }, warned: 1},
		{change: func() { b.o.Source = dir + "/nowhere" }, fails: true, warned: 1},
		{change: func() { b.o.Source = dir }, warned: 1},
		{change: func() { write("c.pdf", "c") }, warned: 1},
		{change: func() { remove("c.pdf") }, warned: 2},
		{change: func() { write("b.txt", "another") }, warned: 2},
		{change: func() { write("c.pdf", "c") }, warned: 2},
		{change: func() {}, warned: 2},
		{change: func() { remove("c.pdf") }, warned: 3},
	} {
		step.change()
		now = now.Add(time.Minute)
		if err := b.build(t.Context()); (err != nil) != step.fails {
			t.Fatalf("step %d: %v\n%s", i, err, &stderr)
		}
		if got := strings.Count(stderr.String(), "a rule: no file matches the rule"); got != step.warned {
			t.Errorf("step %d: warned %d times, not %d:\n%s", i, got, step.warned, &stderr)
		}
	}
}
