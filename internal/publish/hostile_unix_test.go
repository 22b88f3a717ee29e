//go:build unix

package publish

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// link is content that makes buildOdd make a symbolic link, pipe one that makes
// it make a named pipe.
const (
	link = "link to "
	pipe = "named pipe"
)

// buildOdd makes a tree with links and pipes in it.
func (tr tree) buildOdd(t *testing.T, dir string) {
	t.Helper()
	plain := tree{}
	for name, content := range tr {
		native := filepath.Join(dir, name)
		target, isLink := strings.CutPrefix(content, link)
		if !isLink && content != pipe {
			plain[name] = content
			continue
		}
		err := os.MkdirAll(filepath.Dir(native), 0o755)
		switch {
		case err != nil:
		case isLink:
			err = os.Symlink(target, native)
		default:
			err = syscall.Mkfifo(native, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	plain.buildIn(t, dir)
}

// TestOddTargets has links and pipes where a transaction puts or removes files.
// They have to be refused as long as nothing has been decided.
func TestOddTargets(t *testing.T) {
	t.Parallel()
	puts := plan{puts: []file{{path: "first", content: "1"}, {path: "a/x", content: "2"}}}
	tests := []struct {
		name   string
		before tree
		plan   plan
	}{
		{"a pipe", tree{"out/a/x": pipe}, puts},
		{"a link to a file", tree{"out/y": "y", "out/a/x": link + "../y"}, puts},
		{"a link to a file outside", tree{"out/a/x": link + "../../outside/x"}, puts},
		{"a link to nothing", tree{"out/a/x": link + "nothing"}, puts},
		{"a link to a directory", tree{"out/a/x": link + "."}, puts},
		{"a directory that is a link outside", tree{"out/a": link + "../outside"}, puts},
		{"a directory that is an absolute link outside", tree{"out/a": link + "/tmp"}, puts},
		{"a directory that is a link to nothing", tree{"out/a": link + "nothing"}, puts},
		{"a directory that is a link to itself", tree{"out/a": link + "a"}, puts},
		{"a directory that is a link to a file", tree{"out/y": "y", "out/a": link + "y"}, puts},
		{"a directory that is a pipe", tree{"out/a": pipe}, puts},
		{"removes behind a link outside", tree{"out/a": link + "../outside"}, plan{removes: []string{"a/x"}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			top := tempDir(t)
			dir := filepath.Join(top, "out")
			tree{"outside/x": "outside", "out/": ""}.buildIn(t, top)
			test.before.buildOdd(t, top)
			want := unchangeable(t, top)
			within(t, func() {
				err, closed := test.plan.run(t.Context(), dir, nil)
				if err == nil || IsIncomplete(err) || closed != nil {
					t.Errorf("got %v, %v", err, closed)
				}
			})
			got := unchangeable(t, top)
			delete(got, "out") // the folder came and went in it
			delete(want, "out")
			checkTree(t, "after all", tree(got), tree(want))
		})
	}
}

// TestLinksInside has links that stay inside: a publication may lie behind one.
func TestLinksInside(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	tree{"real/old": "old", "real/kept": "kept", "a": link + "real", "b": link + "real/old"}.buildOdd(t, dir)
	p := plan{
		puts:    []file{{path: "a/new", content: "new"}, {path: "a/deep/new", content: "new"}},
		removes: []string{"a/old", "b"},
	}
	if err, closed := p.run(t.Context(), dir, nil); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	checkTree(t, "after the commit", treeOf(t, dir), tree{
		"a": os.ModeSymlink.String(), "real/": "", "real/kept": "kept", "real/new": "new", "real/deep/": "", "real/deep/new": "new",
	})
}

// TestRemoveBehindLink removes the last file of a directory that has its name
// from a link: the link is not the directory.
func TestRemoveBehindLink(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	tree{"real/old": "old", "a": link + "real"}.buildOdd(t, dir)
	p := plan{removes: []string{"a/old"}}
	if err, closed := p.run(t.Context(), dir, nil); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	checkTree(t, "after the commit", treeOf(t, dir), tree{"a": os.ModeSymlink.String(), "real/": ""})
}

// TestOddJournal has a journal that is good, in a directory that has become
// another since.
func TestOddJournal(t *testing.T) {
	t.Parallel()
	good := journalOf(t, journal{
		Format:  journalFormat,
		Puts:    []Put{{Staged: "000001", Path: "a/x", Length: 1, SHA256: sumX}},
		Removes: []string{"b/y"},
	})
	tests := map[string]tree{
		"the journal is a pipe":                {"out/" + journalName: pipe},
		"the journal is a directory":           {"out/" + journalName + "/": ""},
		"the journal is a link":                {"out/journal": good, "out/" + journalName: link + "../journal"},
		"the journal is a link outside":        {"outside/journal": good, "out/" + journalName: link + "../../outside/journal"},
		"the journal is a link to nothing":     {"out/" + journalName: link + "nothing"},
		"a directory is a link outside":        {"out/a": link + "../outside"},
		"a directory is a link to nothing":     {"out/a": link + "nothing"},
		"the target is a pipe, and not staged": {"out/a/x": pipe, "out/" + stagingName + "/000001": ""},
		"a staged file is a pipe":              {"out/" + stagingName + "/000001": pipe},
		"a staged file is a link outside":      {"out/" + stagingName + "/000001": link + "../../../outside/x"},
		"a staged file is a link inside":       {"out/x": "x", "out/" + stagingName + "/000001": link + "../../x"},
		"the staging folder is a link outside": {"outside/000001": "x", "out/" + stagingName: link + "../../outside"},
	}
	for name, odd := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := tempDir(t)
			before := tree{
				"outside/x":                      "x",
				"outside/y":                      "y",
				"out/b/y":                        "y",
				"out/" + journalName:             good,
				"out/" + stagingName + "/000001": "x",
			}
			for name := range odd {
				name = strings.TrimSuffix(name, "/")
				for other := range before {
					if other == name || strings.HasPrefix(other, name+"/") {
						delete(before, other)
					}
				}
			}
			if name == "the target is a pipe, and not staged" {
				delete(odd, "out/"+stagingName+"/000001")
			}
			before.buildIn(t, top)
			odd.buildOdd(t, top)
			beginBroken(t, top, filepath.Join(top, "out"))
		})
	}
}

// TestOddFolder has links and pipes where lock and folder are to be.
func TestOddFolder(t *testing.T) {
	t.Parallel()
	for name, odd := range map[string]tree{
		"the folder is a link outside":      {"out/" + Folder: link + "../outside"},
		"the folder is a link inside":       {"out/inside/": "", "out/" + Folder: link + "inside"},
		"the folder is a link to nothing":   {"out/" + Folder: link + "nothing"},
		"the folder is a pipe":              {"out/" + Folder: pipe},
		"the lock is a link outside":        {"out/" + lockName: link + "../../outside/x"},
		"the lock is a link inside":         {"out/y": "y", "out/" + lockName: link + "../y"},
		"the lock is a link to nothing":     {"out/" + lockName: link + "../../outside/new"},
		"the lock is a link to another one": {"out/" + Folder + "/other": "", "out/" + lockName: link + "other"},
		"the lock is a pipe":                {"out/" + lockName: pipe},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := tempDir(t)
			tree{"outside/x": "outside", "out/": ""}.buildIn(t, top)
			odd.buildOdd(t, top)
			want := unchangeable(t, top)
			within(t, func() {
				tx, err := Begin(t.Context(), filepath.Join(top, "out"), Options{})
				if err == nil {
					tx.Close()
					t.Error("it began")
				}
			})
			checkUnchanged(t, top, want)
		})
	}
}

// TestOddLeftOver has links among what an earlier run left to throw away.
func TestOddLeftOver(t *testing.T) {
	t.Parallel()
	for name, odd := range map[string]tree{
		"the staging folder is a link":        {"out/" + stagingName: link + "../../outside"},
		"the staging folder is a link inside": {"out/" + stagingName: link + "../a"},
		"a link in the staging folder":        {"out/" + stagingName + "/l": link + "../../../outside", "out/" + stagingName + "/x": "x"},
		"half a journal is a link":            {"out/" + journalTemp: link + "../../outside/x"},
		"half a journal is a link inside":     {"out/" + journalTemp: link + "../a/x"},
		"half a journal is a pipe":            {"out/" + journalTemp: pipe},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := tempDir(t)
			tree{"outside/x": "outside", "out/a/x": "inside"}.buildIn(t, top)
			odd.buildOdd(t, top)
			p := plan{puts: []file{{path: "new", content: "new"}}}
			within(t, func() {
				if err, closed := p.run(t.Context(), filepath.Join(top, "out"), nil); err != nil || closed != nil {
					t.Error(err, closed)
				}
			})
			checkTree(t, "after all", treeOf(t, top), tree{
				"outside/": "", "outside/x": "outside", "out/": "", "out/a/": "", "out/a/x": "inside", "out/new": "new",
			})
		})
	}
}

// TestLinkedLock has a lock file that is somebody's under another name.
func TestLinkedLock(t *testing.T) {
	t.Parallel()
	top := tempDir(t)
	tree{"notes": "mine", "out/x": "x", "out/" + Folder + "/": ""}.buildIn(t, top)
	dir := filepath.Join(top, "out")
	if err := os.Link(filepath.Join(top, "notes"), filepath.Join(dir, filepath.FromSlash(lockName))); err != nil {
		t.Skip(err)
	}
	tx := mustBegin(t, dir)
	checkTree(t, "outside", tree{"notes": treeOf(t, top)["notes"]}, tree{"notes": "mine"})
	_, err := Begin(t.Context(), dir, Options{})
	checkLocked(t, err, os.Getpid())
	if err := tx.Close(); err != nil {
		t.Error(err)
	}
	checkTree(t, "after all", treeOf(t, top), tree{"notes": "mine", "out/": "", "out/x": "x"})
}

// TestOutBehindLink has a path in which ".." comes behind a link: the system goes
// up from where the link leads.
func TestOutBehindLink(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]bool{"that is there": true, "that is made": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := tempDir(t)
			tree{"far/deep/": "", "link": link + "far/deep"}.buildOdd(t, top)
			if make {
				tree{"far/out/": ""}.buildIn(t, top)
			}
			dir := top + "/link/../out"
			tx := mustBegin(t, dir)
			if _, err := os.Lstat(filepath.Join(top, "far/out", lockName)); err != nil {
				t.Error(err)
			}
			if _, err := os.Lstat(filepath.Join(top, "out")); err == nil {
				t.Error("something was made beside the link")
			}
			_, err := Begin(t.Context(), filepath.Join(top, "far/out"), Options{})
			checkLocked(t, err, os.Getpid())
			if err := tx.Close(); err != nil {
				t.Error(err)
			}
			p := plan{puts: []file{{path: "a/x", content: "new"}}}
			if err, closed := p.run(t.Context(), dir, nil); err != nil || closed != nil {
				t.Fatal(err, closed)
			}
			checkTree(t, "after all", treeOf(t, top), tree{
				"link": os.ModeSymlink.String(), "far/": "", "far/deep/": "", "far/out/": "", "far/out/a/": "", "far/out/a/x": "new",
			})
		})
	}
}

// TestOwnerOfOthers has lock files that say anything of who holds them.
func TestOwnerOfOthers(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		`{"pid":7,"host":"build-1.example.org","started":"2026-01-02T03:04:05Z"}`: ": process 7 on build-1.example.org, since 2026-01-02T03:04:05Z",
		`{"pid":7,"host":"a\u001b[2J, since ever"}`:                               `: process 7 on "a\x1b[2J, since ever", since 0001-01-01T00:00:00Z`,
		`{"pid":7}`: `: process 7 on "", since 0001-01-01T00:00:00Z`,
		`{"pid":7,"host":"` + strings.Repeat("x", 5000) + `"}`: "",
		`{}`: "",
		``:   "",
		pipe: "",
	} {
		dir := tempDir(t)
		tree{"held": content}.buildOdd(t, dir)
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		within(t, func() {
			if got := lockedBy(root, "held"); got.Error() != ErrLocked.Error()+want {
				t.Errorf("%.80s: got %q, want %q", content, got, want)
			}
		})
	}
}
