package generator

import (
	"context"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/templates"
)

var update = flag.Bool("update", false, "rewrite the golden trees in testdata")

// TestGolden publishes the sample site, edits it, and publishes it again, with
// lists that fit into one document and with lists that do not.
func TestGolden(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*Options)
	}{
		{"plain", func(*Options) {}},
		{"indexed", func(o *Options) { o.limits = smallLists }},
		{"clean", func(o *Options) { o.Identity.Form, o.Identity.Folder = "clean", "." }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := sampleSite(t)
			tt.change(&w.options)
			w.build()
			compareGolden(t, filepath.Join("testdata", "golden", tt.name, "first"), w.out)
			editSite(w)
			w.build()
			compareGolden(t, filepath.Join("testdata", "golden", tt.name, "second"), w.out)
		})
	}
}

// TestGoldenHistories publishes a few files as settings change.
func TestGoldenHistories(t *testing.T) {
	t.Parallel()
	day := func(w *world) { w.now = w.now.Add(oneDay) }
	build := func(w *world) { w.build() }
	edited := all(day, edit, func(w *world) { w.remove("e/01.txt") }, build)
	for _, tt := range []struct {
		name  string
		given func(w *world)
		steps []goldenStep
	}{
		{"prune", all(withArchives, withDumps, withRotation, keepingAll), []goldenStep{
			{"pruned", all(build, edited, edited, edited, edited, day, pruneGolden)},
			{"swept", all(day, day, edited)},
		}},
		{"rebase", all(withArchives, withHub), []goldenStep{
			{"base", all(build, edited, day, rebasedTo("https://example.com/sub/", ""), build)},
			{"folder", all(day, rebasedTo("https://example.com/sub/", "other"), build)},
			{"continued", all(func(w *world) { w.options.Rebase = false }, edited)},
		}},
		{"sets", goldenSets, []goldenStep{
			{"first", build},
			{"second", edited},
			{"removed", all(day, func(w *world) { w.options.Sets = w.options.Sets[:2] }, build)},
		}},
		{"hub", withHub, []goldenStep{
			{"first", build},
			{"second", edited},
			{"other", all(day, func(w *world) { w.options.Hub = "https://hub.example/other" }, build)},
			{"ended", all(day, func(w *world) { w.options.Hub = "" }, build)},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, t.TempDir())
			w.file("e/00", "one", longAgo)
			w.file("e/01.txt", "two", longAgo)
			w.file("f/a & b.html", "<!DOCTYPE html>", longAgo)
			tt.given(w)
			for _, step := range tt.steps {
				step.do(w)
				compareGolden(t, filepath.Join("testdata", "golden", tt.name, step.name), w.out)
			}
		})
	}
}

// goldenStep leads to a publication that is compared with what it was.
type goldenStep struct {
	name string
	do   func(w *world)
}

func keepingAll(w *world) { w.options.KeepChanges, _ = policy.ParseKeep("all") }

func rebasedTo(base, folder string) func(*world) {
	return func(w *world) {
		w.options.Rebase = true
		w.options.Identity.BaseURL, w.options.Identity.Folder = base, folder
	}
}

// goldenSets are alike in nothing.
func goldenSets(w *world) {
	yes := true
	w.options.DescribedBy = "https://example.org/about"
	w.options.Sets = []policy.Set{
		{Name: "all", Dumps: policy.Dumps{Resource: true, Change: true}, Hub: testHub},
		{Name: "html", Folder: "elsewhere/html", Resources: policy.Selection{Types: []string{"text/html"}}, DescribedBy: "https://example.org/html"},
		{Name: "folder", Resources: policy.Selection{Include: mustGlobs(w.t, "e/")}, Archive: &yes, Hub: testHub},
	}
}

func pruneGolden(w *world) {
	o, now := w.options, w.now
	o.Now = func() time.Time { return now }
	o.KeepChanges, _ = policy.ParseKeep("1d")
	o.ArchiveKeep, _ = policy.ParseArchiveKeep("daily=2")
	p, err := Prune(context.Background(), o)
	if err != nil {
		w.t.Fatal(err)
	}
	if p.Lists == 0 || p.Packages == 0 || p.Snapshots == 0 {
		w.t.Fatalf("%+v", p)
	}
}

// sampleSite copies the sample site, so that times can be set.
func sampleSite(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, t.TempDir())
	w.options.Cache = ""
	if err := os.CopyFS(w.source, os.DirFS("../testdata/site")); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(w.source, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		modified := testStart.Add(-time.Duration(len(name)-len(w.source)) * time.Hour)
		return os.Chtimes(name, modified, modified)
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func editSite(w *world) {
	before := w.now.Add(-time.Minute / 2)
	w.file("index.html", "<!DOCTYPE html>\n<title>The Harbour Museum</title>\n", before)
	w.file("news.html", "<!DOCTYPE html>\n<title>News</title>\n", before)
	w.remove("data/empty.dat")
	w.touch("style.css", before)
	w.file("guide/visit/map.svg", "<svg/>\n", before)
}

// withoutStyles takes away how things look, which is judged by looking.
func withoutStyles(t *testing.T, files map[string]string) {
	t.Helper()
	for name, content := range files {
		switch {
		case content == string(templates.Style):
			files[name] = "(the style sheet)\n"
		case strings.HasSuffix(name, ".html"): // the page, wherever it is
			start, end := strings.Index(content, "<meta charset"), strings.Index(content, "</head>")
			files[name] = content[:start] + content[end:]
		}
	}
}

func compareGolden(t *testing.T, golden, dir string) {
	t.Helper()
	got := tree(t, dir)
	withoutStyles(t, got)
	if *update {
		if err := os.RemoveAll(golden); err != nil {
			t.Fatal(err)
		}
		for name, content := range got {
			name = filepath.Join(golden, strings.TrimPrefix(name, "."))
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := tree(t, golden)
	// Dot folders are stored without their dot, which some tools lose.
	if content, ok := want["well-known/resourcesync"]; ok {
		want[".well-known/resourcesync"] = content
		delete(want, "well-known/resourcesync")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", golden, diff)
	}
}
