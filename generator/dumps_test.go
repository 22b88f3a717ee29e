package generator

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wellspring-sync/wellspring/generator/policy"
)

// newDumps returns a world with small packages, each build of which makes both
// dumps.
func newDumps(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, t.TempDir()).seed(60)
	w.options.Dumps = policy.Dumps{Resource: true, Change: true}
	w.options.PackageSize = 8000
	w.options.Compression = 6
	return w
}

// packages returns the paths of the packages in a folder of the publication.
func (w *world) packages(folder string) []string {
	w.t.Helper()
	names, err := filepath.Glob(filepath.Join(w.out, "resourcesync", folder, "*.zip"))
	if err != nil || len(names) == 0 {
		w.t.Fatalf("no packages in %s: %v", folder, err)
	}
	return names
}

// parts returns the paths of the dumps under an Index.
func (w *world) parts(folder string) (parts []string) {
	w.t.Helper()
	names, err := filepath.Glob(filepath.Join(w.out, "resourcesync", folder, "*.xml"))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, name := range names {
		if _, err := os.Stat(strings.TrimSuffix(name, ".xml") + ".zip"); err != nil {
			parts = append(parts, name)
		}
	}
	return parts
}

// The same source gives the same packages, whoever reads the files.
func TestDumpsAreRepeatable(t *testing.T) {
	t.Parallel()
	var trees []map[string]string
	for _, jobs := range []int{1, 8} {
		w := newDumps(t)
		w.options.Jobs = jobs
		w.build()
		trees = append(trees, tree(t, w.out))
	}
	if diff := cmp.Diff(trees[0], trees[1]); diff != "" {
		t.Errorf("(-1 worker +8 workers):\n%s", diff)
	}
}

// One change writes one package of the Resource Dump, and one of the Change Dump.
func TestDumpsOneChange(t *testing.T) {
	t.Parallel()
	w := newDumps(t)
	w.build()
	before := w.packages("resourcedump")
	w.file("d1/file-031.txt", "changed", longAgo)
	report := w.build()
	read(t, w.out)
	if after := w.packages("resourcedump"); len(after) != len(before)+1 || len(w.packages("changedump")) != 1 {
		t.Errorf("%d packages became %d", len(before), len(after))
	}
	if report.Bodies != 4 || report.Read != 1 {
		t.Errorf("%d bodies written, %d files read", report.Bodies, report.Read)
	}
}

// A package that is damaged is not copied from: what it held is read again.
func TestDumpsDamagedPackage(t *testing.T) {
	t.Parallel()
	w := newDumps(t)
	w.build()
	files := tree(t, w.out)
	damaged := 0
	for name, content := range files {
		zip := strings.TrimSuffix(name, ".xml") + ".zip"
		if !strings.Contains(content, "/d1/file-031.txt<") || files[zip] == "" {
			continue
		}
		b := []byte(files[zip])
		b[40] ^= 1
		if err := os.WriteFile(filepath.Join(w.out, zip), b, 0o644); err != nil {
			t.Fatal(err)
		}
		damaged++
	}
	w.file("d1/file-031.txt", "changed", longAgo)
	report := w.build()
	wantWarning(t, report, "is made anew from the source")
	read(t, w.out)
	if damaged != 1 || report.Read < 2 {
		t.Errorf("%d packages were damaged, %d files read", damaged, report.Read)
	}
}

// Another release or level packs anew what it has to write.
func TestDumpsOtherLevel(t *testing.T) {
	t.Parallel()
	w := newDumps(t)
	w.build()
	w.options.Compression = 0
	w.file("d1/file-031.txt", "changed", longAgo)
	if report := w.build(); report.Read != 1 {
		t.Errorf("%d files were read", report.Read)
	}
	read(t, w.out)
}

// A package of the Change Dump cannot be made anew.
func TestDumpsLostChanges(t *testing.T) {
	t.Parallel()
	w := newDumps(t)
	w.build()
	w.file("new", "new", longAgo)
	w.build()
	gone := w.packages("changedump")[0]
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	w.losesChanges(gone)
}

// losesChanges checks that a run says which file of the Change Dump is lost, changes
// nothing, and goes on without that dump.
func (w *world) losesChanges(gone string) {
	w.t.Helper()
	before := tree(w.t, w.out)
	_, err := w.run()
	var lost *policy.LostChangesError
	if !errors.As(err, &lost) || !strings.Contains(err.Error(), filepath.Base(gone)) {
		w.t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(before, tree(w.t, w.out)); diff != "" {
		w.t.Errorf("something has changed:\n%s", diff)
	}
	w.options.Dumps.Change = false
	w.build()
	read(w.t, w.out)
}

// Very many packages are named by dumps under an Index. One that is lost is told.
func TestDumpIndexes(t *testing.T) {
	t.Parallel()
	w := newDumps(t)
	w.options.limits = policy.Limits{Entries: 7, Bytes: 50 << 20, CutBits: 2}
	w.build()
	for i := range 10 {
		w.file("new", strings.Repeat("x", i+1), longAgo)
		w.build()
	}
	p := read(t, w.out)
	if got := len(p.dumps.changes); got != 10 {
		t.Errorf("%d changes", got)
	}
	parts := w.parts("changedump")
	if len(parts) != 4 { // one is full, one is the last, and two were so
		t.Errorf("the parts are %v", parts)
	}
	w.options.Grace = -1
	w.file("new", "now it is y", longAgo)
	w.build()
	w.file("new", "and then it is z", longAgo)
	w.build()
	if parts := w.parts("changedump"); len(parts) > 3 {
		t.Errorf("old parts pile up: %v", parts)
	}
	read(t, w.out)

	part := w.parts("changedump")[0]
	if err := os.Truncate(part, 100); err != nil {
		t.Fatal(err)
	}
	w.losesChanges(part)
}

// Dumps of a large source have to be asked for, once.
func TestDumpsOfLargeSource(t *testing.T) {
	t.Parallel()
	w := newDumps(t)
	w.options.limits = policy.Limits{Entries: 50_000, Bytes: 50 << 20, Unasked: 100}
	byDefault := func(o *Options) { o.DumpsByDefault = true }
	_, err := w.run(byDefault)
	var refusal *policy.Refusal
	if !errors.As(err, &refusal) || !strings.Contains(refusal.Flag, "--dumps") {
		t.Errorf("got %v", err)
	}
	if len(tree(t, w.out)) > 0 {
		t.Error("something was published")
	}
	w.build()
	w.build(byDefault)
	read(t, w.out)
}

// What is larger than a package has one of its own, with a warning.
func TestDumpsLargeFile(t *testing.T) {
	t.Parallel()
	w := newDumps(t)
	w.file("d1/large", strings.Repeat("0123456789", 1000), longAgo)
	wantWarning(t, w.build(), `"d1/large" is larger than a package should be`)
	for _, list := range read(t, w.out).dumps.packages {
		for _, b := range list {
			if strings.HasSuffix(b.entry.Loc, "large") && len(list) != 1 {
				t.Errorf("it is in a package with %d others", len(list)-1)
			}
		}
	}
}

// Dumps that are not wanted any more go, and come back as they would at first.
func TestDumpsOffAndOn(t *testing.T) {
	t.Parallel()
	w := newDumps(t)
	w.options.Grace = -1
	w.build()
	w.options.Dumps = policy.Dumps{}
	w.build()
	w.file("new", "new", longAgo)
	w.build()
	for name := range tree(t, w.out) {
		if strings.Contains(name, "dump") {
			t.Errorf("%s is still there", name)
		}
	}
	w.options.Dumps = policy.Dumps{Resource: true, Change: true}
	w.build()
	w.file("new", "newer", longAgo)
	w.build()
	if p := read(t, w.out); len(p.dumps.content) != 61 || len(p.dumps.changes) != 1 {
		t.Errorf("%d bitstreams, %d changes", len(p.dumps.content), len(p.dumps.changes))
	}
}
