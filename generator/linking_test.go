package generator

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/scanner"
	"github.com/wellspring-sync/wellspring/verify"
)

// TestLinksWithinLimits tells changes with links, and hints, in lists that none of
// them makes too long.
func TestLinksWithinLimits(t *testing.T) {
	t.Parallel()
	for _, freq := range []string{"", "monthly"} {
		for _, bytes := range []int64{20_000, 50_000, 75_000} {
			w := newWorld(t, t.TempDir())
			w.options.limits = smallLists
			w.options.limits.Bytes = bytes
			w.options.limits.Entries = 10_000
			w.options.Links = linkRules("", "{dir}/a & b.txt")
			if freq != "" {
				glob, err := scanner.NewGlob("*")
				if err != nil {
					t.Fatal(err)
				}
				w.options.Resources = policy.ResourceRules{{Name: "x", Match: []scanner.Glob{glob}, ChangeFreq: freq}}
			}
			w.file("d/a & b.txt", "a", longAgo)
			w.build()
			for i := range 400 {
				w.file(fmt.Sprintf("d/%s %d.txt", strings.Repeat("&", i%20), i), "x", longAgo)
			}
			w.now = w.now.Add(oneDay)
			foreseen := w.build(func(o *Options) { o.DryRun = true })
			if done := w.build(func(o *Options) { o.Now = func() time.Time { return foreseen.At } }); !slices.Equal(done.Heads, foreseen.Heads) {
				t.Errorf("foreseen: %v, done: %v", foreseen.Heads, done.Heads)
			}
			lists := 0
			err := filepath.WalkDir(filepath.Join(w.out, "resourcesync"), func(name string, d fs.DirEntry, err error) error {
				if err != nil || !strings.Contains(name, "changelist") || d.IsDir() {
					return err
				}
				info, err := os.Stat(name)
				if err != nil {
					return err
				}
				if lists++; info.Size() > bytes {
					return fmt.Errorf("%s has %d bytes, more than %d", name, info.Size(), bytes)
				}
				return nil
			})
			if err != nil || lists < 3 {
				t.Errorf("%q, %d bytes: %d lists, %v", freq, bytes, lists, err)
			}
			readAll(t, w.out)
			report := w.build()
			if report.Wrote {
				t.Error("something was written though nothing changed")
			}
		}
	}
}

// TestLinksAreToFiles looks for files, and not for the URIs that they have.
func TestLinksAreToFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.options.Identity.Form = "clean"
	w.options.Links = linkRules("", "{dir}/{stem}")
	w.file("a.html", "a", longAgo)
	w.file("b.html", "b", longAgo)
	w.file("b.html.gz", "b", longAgo)
	w.build()
	list, err := os.ReadFile(filepath.Join(w.out, "resourcesync", "resourcelist.xml"))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(string(list), `<rs:ln rel="related"`); got != 1 || !strings.Contains(string(list), `<rs:ln rel="related" href="https://example.org/b"`) {
		t.Errorf("%d links in\n%s", got, list)
	}
}

// TestRoomOfWhatLeavesASet is none for links, which an event has not that a resource was
// deleted in a set, also if it stays in others.
func TestRoomOfWhatLeavesASet(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.options.AllowEmpty, w.options.limits = true, smallLists
	w.options.Links = linkRules("https://example.org/"+strings.Repeat("x", 400)+"/{name}", "")
	w.options.Sets = []policy.Set{{Name: "all"}, {Name: "small", Resources: policy.Selection{MaxSize: 12}}}
	for _, size := range []int{1, 20} {
		for i := range 4 {
			w.file(fmt.Sprint(i), strings.Repeat("x", size), longAgo)
		}
		w.build()
	}
	if list := tree(t, w.out)["resourcesync/small/changelist.xml"]; strings.Count(list, `change="deleted"`) != 4 {
		t.Errorf("they are not in one list:\n%s", list)
	}
	verified(t, w.out, verify.Content)
}
