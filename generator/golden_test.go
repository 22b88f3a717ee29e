package generator

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
		case strings.HasSuffix(name, "resourcesync.html"), strings.HasSuffix(name, "resourcesync/index.html"):
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
