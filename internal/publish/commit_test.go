package publish

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestCommit(t *testing.T) {
	t.Parallel()
	dir := sampleBefore.build(t)
	var order []string
	lastPuts, lastRemoves := 0, 0
	err, closed := sample.run(t.Context(), dir, func(op, name string) error {
		puts, removes := progress(t, dir)
		if puts < lastPuts || removes < lastRemoves {
			t.Errorf("before %s %s: %d files put and %d removed, but it was %d and %d", op, name, puts, removes, lastPuts, lastRemoves)
		}
		lastPuts, lastRemoves = puts, removes
		if op == "rename" && name != journalName || op == "remove" && !strings.HasPrefix(name, Folder+"/") {
			order = append(order, name)
		}
		return nil
	})
	if err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	checkTree(t, "after the commit", treeOf(t, dir), sampleAfter)
	var want []string
	for _, f := range sample.puts {
		want = append(want, f.path)
	}
	if want = append(want, sample.removes...); !slices.Equal(order, want) {
		t.Errorf("the order was %q, want %q", order, want)
	}
}

// TestCommitDurable checks that each file, and the directory that names it, is
// durable before another file refers to it.
func TestCommitDurable(t *testing.T) {
	t.Parallel()
	list := steps(t)
	journal := indexOf(t, list, decided)
	if i := indexOf(t, list, "sync "+stagingName); i > journal {
		t.Error("the names of staged files are made durable after the journal")
	}
	body := map[string]bool{}
	for _, f := range sample.puts {
		body[f.path] = f.body
	}
	// The first file may move as soon as the journal is durable.
	unsynced := map[string]bool{Folder: true, ".": true}
	for _, step := range list[journal+1:] {
		op, name, _ := strings.Cut(step, " ")
		switch op {
		case "sync":
			delete(unsynced, name)
		case "mkdir":
			if name != stagingName {
				unsynced[path.Dir(name)] = true
			}
		case "rename":
			for dir := range unsynced {
				if !body[name] || dir != path.Dir(name) {
					t.Errorf("%s is put in place before %s is synced", name, dir)
				}
			}
			unsynced[path.Dir(name)] = true
		case "remove":
			for dir := range unsynced {
				t.Errorf("%s is removed before %s is synced", name, dir)
			}
		}
	}
}

// unchangeable returns all that can be seen of the files in a directory, and of
// the directories in it, but for itself.
func unchangeable(t *testing.T, dir string) map[string]string {
	t.Helper()
	seen := map[string]string{}
	content := treeOf(t, dir)
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		info, err := d.Info()
		if err == nil {
			seen[name] = info.Mode().String() + " " + info.ModTime().String() + " " + content[name]
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

func checkUnchanged(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	got := unchangeable(t, dir)
	checkTree(t, "unchanged", tree(got), tree(want))
}

func TestNothingVisibleBeforeCommit(t *testing.T) {
	t.Parallel()
	dir := sampleBefore.build(t)
	want := unchangeable(t, dir)
	tx, err := Begin(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkTree(t, "after Begin", published(t, dir), sampleBefore)
	if err := sample.stage(tx); err != nil {
		t.Fatal(err)
	}
	checkTree(t, "before Commit", published(t, dir), sampleBefore)
	if Pending(dir) {
		t.Error("a commit is pending that was not begun")
	}
	if err := tx.Close(); err != nil {
		t.Error(err)
	}
	checkUnchanged(t, dir, want)
}

func TestCloseRightAway(t *testing.T) {
	t.Parallel()
	dir := sampleBefore.build(t)
	want := unchangeable(t, dir)
	tx, err := Begin(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if tx.Recovered {
		t.Error("Recovered is true, though there was nothing to complete")
	}
	if err := tx.Close(); err != nil {
		t.Error(err)
	}
	checkUnchanged(t, dir, want)
}

func TestCommitNothing(t *testing.T) {
	t.Parallel()
	dir := sampleBefore.build(t)
	want := unchangeable(t, dir)
	if err, closed := new(plan).run(t.Context(), dir, nil); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	checkUnchanged(t, dir, want)
}

// TestCommitLeavesOthersAlone compares all that a commit has no reason to touch.
func TestCommitLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	dir := sampleBefore.build(t)
	old := time.Date(2020, 1, 2, 3, 4, 5, 6000, time.UTC)
	others := []string{"index.html", "empty", "resourcesync/capabilitylist.xml", "resourcesync/resourcelist/kept.xml"}
	for _, name := range others {
		if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err, closed := sample.run(t.Context(), dir, nil); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	for _, name := range others {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || !info.ModTime().Equal(old) {
			t.Errorf("%s was touched: %v, %v", name, info, err)
		}
	}
}

func TestNewDirectory(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{"one": "out", "several": "a/b/out", "with a slash": "a/out/"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := tempDir(t)
			dir := top + "/" + dir
			tx, err := Begin(t.Context(), dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := put(tx, "x", file{path: "x", content: "x"}); err != nil {
				t.Fatal(err)
			}
			if err := tx.Close(); err != nil {
				t.Error(err)
			}
			checkTree(t, "without a commit", treeOf(t, top), tree{})

			if err, closed := new(plan).run(t.Context(), dir, nil); err != nil || closed != nil {
				t.Fatal(err, closed)
			}
			checkTree(t, "with a commit of nothing", treeOf(t, dir), tree{})

			p := plan{puts: []file{{path: "x/y", content: "z"}}}
			if err, closed := p.run(t.Context(), dir, nil); err != nil || closed != nil {
				t.Fatal(err, closed)
			}
			checkTree(t, "with a commit", treeOf(t, dir), tree{"x/": "", "x/y": "z"})
		})
	}
}

// TestNewDirectoryInUse has somebody else put something into a directory that
// the transaction made.
func TestNewDirectoryInUse(t *testing.T) {
	t.Parallel()
	top := tempDir(t)
	tx, err := Begin(t.Context(), filepath.Join(top, "a", "b"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	tree{"a/theirs": "theirs"}.buildIn(t, top)
	if err := tx.Close(); err != nil {
		t.Error(err)
	}
	checkTree(t, "after Close", treeOf(t, top), tree{"a/": "", "a/theirs": "theirs"})
}

func TestBadDirectory(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]tree{
		"a file":                       {"out": "a file"},
		"below a file":                 {"file": "a file", "out/": ""},
		"the folder is a file":         {"out/" + Folder: "a file"},
		"the lock is a directory":      {"out/" + lockName + "/": ""},
		"the lock is a full directory": {"out/" + lockName + "/x": "x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := before.build(t)
			dir := "out"
			if name == "below a file" {
				dir = "file/out"
			}
			want := unchangeable(t, top)
			tx, err := Begin(t.Context(), filepath.Join(top, dir), Options{})
			if err == nil {
				tx.Close()
				t.Fatal("it began")
			}
			if errors.Is(err, ErrLocked) || IsIncomplete(err) {
				t.Errorf("the error says something else: %v", err)
			}
			got := unchangeable(t, top)
			delete(got, "out") // its time is that of what was tried in it
			delete(want, "out")
			checkTree(t, "untouched", tree(got), tree(want))
		})
	}
}

func TestCommitCanceled(t *testing.T) {
	t.Parallel()
	stop := errors.New("stopped by hand")
	dir := sampleBefore.build(t)
	tx, err := Begin(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := sample.stage(tx); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if err := tx.Commit(ctx); !errors.Is(err, stop) || IsIncomplete(err) {
		t.Errorf("got %v, want %v", err, stop)
	}
	if err := tx.Close(); err != nil {
		t.Error(err)
	}
	checkTree(t, "after all", treeOf(t, dir), sampleBefore)
}

// TestCommitCanceledTooLate cancels once the journal is there.
func TestCommitCanceledTooLate(t *testing.T) {
	t.Parallel()
	dir := sampleBefore.build(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err, closed := sample.run(ctx, dir, func(op, name string) error {
		if op+" "+name == decided {
			cancel()
		}
		return nil
	})
	if err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	checkTree(t, "after all", treeOf(t, dir), sampleAfter)
}

func TestCreate(t *testing.T) {
	t.Parallel()
	tx, err := Begin(t.Context(), tempDir(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Close()
	if err := put(tx, "one", file{path: "x", content: "0123456789"}); err != nil {
		t.Fatal(err)
	}
	if f, err := tx.Create("one"); !errors.Is(err, fs.ErrExist) {
		f.Close()
		t.Errorf("a second file of the same name: %v, want %v", err, fs.ErrExist)
	}
	f, err := tx.OpenStaged("one")
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4)
	if _, err := f.WriteAt([]byte("abc"), 2); err != nil {
		t.Error(err)
	}
	if _, err := f.ReadAt(b, 1); err != nil || string(b) != "1abc" {
		t.Errorf("got %q, %v", b, err)
	}
	f.Close()
	if err := tx.Discard("one"); err != nil {
		t.Error(err)
	}
	if _, err := tx.OpenStaged("one"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a discarded file: %v, want %v", err, fs.ErrNotExist)
	}
	if f, err := tx.Create("../../x"); err == nil {
		f.Close()
		t.Error("a staged file was made outside the staging folder, outside the directory")
	}
}

func TestPrune(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name          string
		before, after tree
		removes       []string
	}{
		{"the last file", tree{"a/x": "", "b/y": ""}, tree{"b/": "", "b/y": ""}, []string{"a/x"}},
		{"one of two", tree{"a/x": "", "a/y": ""}, tree{"a/": "", "a/y": ""}, []string{"a/x"}},
		{"both", tree{"a/x": "", "a/y": ""}, tree{}, []string{"a/x", "a/y"}},
		{"an empty directory beside it", tree{"a/x": "", "b/": ""}, tree{"b/": ""}, []string{"a/x"}},
		{"an empty directory in it", tree{"a/x": "", "a/b/": ""}, tree{"a/": "", "a/b/": ""}, []string{"a/x"}},
		{"not those above", tree{"a/b/x": ""}, tree{"a/": ""}, []string{"a/b/x"}},
		{"the top stays", tree{"x": ""}, tree{}, []string{"x"}},
		{"nothing there", tree{"a/y": ""}, tree{"a/": "", "a/y": ""}, []string{"a/x", "b/x", "x"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := test.before.build(t)
			p := plan{removes: test.removes}
			if err, closed := p.run(t.Context(), dir, nil); err != nil || closed != nil {
				t.Fatal(err, closed)
			}
			checkTree(t, "after the commit", treeOf(t, dir), test.after)
		})
	}
}

// TestImpossible has plans that cannot be carried out. They have to be refused
// as long as nothing has been decided.
func TestImpossible(t *testing.T) {
	t.Parallel()
	puts := func(paths ...string) plan {
		var p plan
		for _, path := range paths {
			p.puts = append(p.puts, file{path: path, content: "new " + path})
		}
		return p
	}
	tests := []struct {
		name   string
		before tree
		plan   plan
	}{
		{"a directory in the way", tree{"a/": ""}, puts("a")},
		{"a full directory in the way", tree{"a/b": "x"}, puts("a")},
		{"a file above", tree{"a": "x"}, puts("a/b")},
		{"a file further above", tree{"a": "x"}, puts("a/b/c")},
		{"after one that could be put", tree{"b/": ""}, puts("a", "b")},
		{"out of the directory", nil, puts("../x")},
		{"out by a detour", tree{"a/": ""}, puts("a/../../x")},
		{"absolute", nil, puts("/x")},
		{"the directory itself", nil, puts(".")},
		{"no path", nil, puts("")},
		{"not the shortest", nil, puts("./x")},
		{"two slashes", tree{"a/": ""}, puts("a//x")},
		{"a slash at the end", nil, puts("x/")},
		{"not UTF-8, which the journal cannot hold", nil, puts("\xff")},
		{"the folder", nil, puts(Folder)},
		{"the lock", nil, puts(lockName)},
		{"the journal", nil, puts(journalName)},
		{"deep in the folder", nil, puts(stagingName + "/x")},
		{"the same twice", nil, puts("x", "x")},
		{"put and removed", nil, plan{puts: []file{{path: "x", content: "x"}}, removes: []string{"x"}}},
		{"removes a directory", tree{"a/": ""}, plan{removes: []string{"a"}}},
		{"removes a full directory", tree{"a/x": ""}, plan{removes: []string{"a"}}},
		{"removes outside", nil, plan{removes: []string{"../x"}}},
		{"removes the journal", nil, plan{removes: []string{journalName}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			top := tempDir(t)
			tree{"x": "outside", "out/": ""}.buildIn(t, top)
			dir := filepath.Join(top, "out")
			test.before.buildIn(t, dir)
			want := treeOf(t, top)
			err, closed := test.plan.run(t.Context(), dir, nil)
			if err == nil || IsIncomplete(err) {
				t.Errorf("Commit: %v", err)
			}
			if closed != nil {
				t.Errorf("Close: %v", closed)
			}
			checkTree(t, "after all", treeOf(t, top), want)
		})
	}
}

// TestStagedNames has a staged file by a name that no journal may hold.
func TestStagedNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", ".", "..", "a/b", "../journal", "/x"} {
		dir := tempDir(t)
		tx, err := Begin(t.Context(), dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		tx.Put(planned(name, file{path: "x", content: "x"}))
		if err := tx.Commit(t.Context()); err == nil || IsIncomplete(err) {
			t.Errorf("%q: %v", name, err)
		}
		if err := tx.Close(); err != nil {
			t.Error(err)
		}
		checkTree(t, name, treeOf(t, dir), tree{})
	}
}

// TestStagedInPart has a staged file that was not written to its end.
func TestStagedInPart(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	tx := mustBegin(t, dir)
	if err := put(tx, "x", file{path: "x", content: "half"}); err != nil {
		t.Fatal(err)
	}
	tx.journal.Puts[0] = planned("x", file{path: "x", content: "half and half"})
	if err := tx.Commit(t.Context()); err == nil || IsIncomplete(err) {
		t.Errorf("Commit: %v", err)
	}
	if err := tx.Close(); err != nil {
		t.Error(err)
	}
	checkTree(t, "after all", treeOf(t, dir), tree{})
}

// TestNeverStaged plans to put what was not staged.
func TestNeverStaged(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	tx, err := Begin(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	tx.Put(planned("nothing", file{path: "x", content: "x"}))
	if err := tx.Commit(t.Context()); err == nil || IsIncomplete(err) {
		t.Errorf("Commit: %v", err)
	}
	if err := tx.Close(); err != nil {
		t.Error(err)
	}
	checkTree(t, "after all", treeOf(t, dir), tree{})
}
