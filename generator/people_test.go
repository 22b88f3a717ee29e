package generator

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/templates"
)

var href = regexp.MustCompile(`href="([^":]+)"`)

// checkForPeople makes sure that each document of a publication leads to its style
// sheet, and the page to documents, wherever they are.
func checkForPeople(t tester, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		base := filepath.Base(name)
		switch {
		case base == "framework.xml": // as it is sent to hubs, where no style sheet is
		case filepath.Ext(name) == ".xml" || base == "resourcesync":
			checkStyle(t, name, b)
		case base == "index.html" || base == "resourcesync.html":
			for _, link := range href.FindAllSubmatch(b, -1) {
				to := filepath.Join(filepath.Dir(name), string(link[1]))
				if _, err := os.Stat(to); err != nil && !strings.Contains(string(link[1]), "%") {
					t.Errorf("%s leads to %s: %v", name, link[1], err)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkStyle(t tester, name string, b []byte) {
	t.Helper()
	doc, err := resourcesync.NewDecoder(bytes.NewReader(b), resourcesync.Limits{}).Document()
	if err != nil || doc.Metadata.Capability == "" || strings.HasSuffix(string(doc.Metadata.Capability), "-manifest") {
		return
	}
	style, err := os.ReadFile(filepath.Join(filepath.Dir(name), doc.Style))
	if err != nil || string(style) != string(templates.Style) {
		t.Errorf("%s leads to no style sheet with %q: %v", name, doc.Style, err)
	}
}

func readPage(t *testing.T, w *world) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(w.out, "resourcesync", "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestPageWithSets shows what is known of each set, and where it is found.
func TestPageWithSets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.file("a/x", "one", longAgo)
	w.file("b/y", "three", longAgo)
	w.options.Sets = []policy.Set{
		{Name: "Zebras", Resources: policy.Selection{Include: mustGlobs(t, "a/")}, DescribedBy: "https://example.org/zebras"},
		{Name: "apes", Folder: "else where/apes", Resources: policy.Selection{Include: mustGlobs(t, "b/")}, Dumps: policy.Dumps{Resource: true}},
		{Name: "Bees"},
	}
	w.build()
	w.file("a/z", "new", w.now.Add(-time.Minute))
	w.build()
	verified(t, w.out, 0)
	page := readPage(t, w)
	at := -1
	for _, want := range []string{
		`<dd>3</dd>`, "<bdi>apes</bdi>", "1 resource, 5 bytes</p>", `href="../else%20where/apes/resourcedump.xml"`,
		"<bdi>Bees</bdi>", "3 resources, 11 bytes; last change", "<bdi>Zebras</bdi>", "2 resources, 6 bytes; last change",
		`href="Zebras/resourcelist.xml"`, `href="https://example.org/zebras"`, "<td>1</td><td>0</td><td>0</td>",
	} {
		i := strings.Index(page, want)
		if i <= at {
			t.Errorf("%s is not behind what stands before it in\n%s", want, page)
		}
		at = i
	}
	before := tree(t, w.out)
	if r := w.build(); r.Wrote {
		t.Error("a second build wrote something")
	}
	if slices.ContainsFunc([]string{"resourcesync/Bees/publication.json"}, func(name string) bool { return before[name] == "" }) {
		t.Error("the record of a set is missing")
	}
}

// TestPageOfManySets shows the first of them.
func TestPageOfManySets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.file("x", "x", longAgo)
	for i := range 100 + 3 {
		w.options.Sets = append(w.options.Sets, policy.Set{Name: fmt.Sprintf("s%03d", i)})
	}
	w.build()
	page := readPage(t, w)
	if n := strings.Count(page, "<h3><bdi>"); n != 100 {
		t.Errorf("%d sets are shown", n)
	}
	if !strings.Contains(page, "There are 3 more sets, to which the") {
		t.Error("nothing is said of the others")
	}
}

// TestPageRemembers so many publications, and how far that goes back.
func TestPageRemembers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.file("x", "0", longAgo)
	w.build()
	since := w.now
	for i := range snapshot.MostChanged + 2 {
		w.file("x", strings.Repeat("x", i+2), longAgo)
		w.build()
	}
	record := w.record()
	if n := len(record.Past.Changes); n != snapshot.MostChanged || record.Past.Since.After(since) {
		t.Errorf("%d publications since %v are remembered", n, record.Past.Since)
	}
	page := readPage(t, w)
	if n := strings.Count(page, "<rect "); n != snapshot.MostChanged {
		t.Errorf("the picture has %d bars", n)
	}
	// Without the record, all but the Change Lists begins anew.
	if err := os.Remove(filepath.Join(w.out, "resourcesync", "publication.json")); err != nil {
		t.Fatal(err)
	}
	w.build()
	if p := w.record().Past; len(p.Changes) != 0 || !p.Since.Equal(record.Past.Since) {
		t.Errorf("without a record, %+v is remembered", p)
	}
}

// TestPageIsEnded removes it at once, with sets and without.
func TestPageIsEnded(t *testing.T) {
	t.Parallel()
	for _, sets := range [][]policy.Set{nil, {{Name: "a"}}} {
		w := newWorld(t, t.TempDir())
		w.file("x", "x", longAgo)
		w.options.Sets, w.options.DescribedBy = sets, "https://example.org/about"
		w.build()
		w.options.Page.None = true
		if r := w.build(func(o *Options) { o.DryRun = true }); !r.Wrote {
			t.Error("it is not foreseen")
		}
		if r := w.build(); !r.Wrote || r.Swept != 1 {
			t.Errorf("got %+v", r)
		}
		if _, err := os.Stat(filepath.Join(w.out, "resourcesync", "index.html")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("it is there: %v", err)
		}
		if r := w.build(); r.Wrote {
			t.Error("a second build wrote something")
		}
		w.options.Page.None = false
		w.build()
		verified(t, w.out, 0)
		readPage(t, w)
	}
}

// TestPageWithRebase follows the folder, and takes nothing from other pages.
func TestPageWithRebase(t *testing.T) {
	t.Parallel()
	for _, sets := range [][]policy.Set{nil, {{Name: "a"}}} {
		w := newWorld(t, t.TempDir())
		w.file("x", "x", longAgo)
		w.build()
		w.options.Sets = sets
		w.options.Identity.Folder, w.options.Rebase = "other", true
		w.build()
		if got := tree(t, w.out); got["resourcesync/index.html"] != "" || got["resourcesync/style.css"] != "" || got["other/index.html"] == "" {
			t.Errorf("there are %d files", len(got))
		}
		w.build()
		w.options.Rebase = false
		if r := w.build(); r.Wrote {
			t.Errorf("a second build wrote something: %+v", r)
		}
		w.options.Rebase, w.options.Sets, w.options.Page.None = true, nil, true
		w.build()
		if got := tree(t, w.out); got["other/index.html"] != "" || got["other/style.css"] == "" {
			t.Error("the page is there, or the style sheet is not")
		}
	}
}
