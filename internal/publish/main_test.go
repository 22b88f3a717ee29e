package publish

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// children are what the test binary does as a process of its own, by the name
// in childVariable. What they print is theirs.
var children = map[string]func(args []string) error{}

const childVariable = "WELLSPRING_TEST_CHILD"

func TestMain(m *testing.M) {
	if name := os.Getenv(childVariable); name != "" {
		if err := children[name](os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child returns a command that runs one of the children.
func child(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, args...)
	cmd.Env = append(os.Environ(), childVariable+"="+name)
	return cmd
}

// tree maps paths to contents, and paths that end in a slash to nothing.
type tree map[string]string

// build makes a tree in a directory of its own.
func (tr tree) build(t *testing.T) string {
	t.Helper()
	dir := tempDir(t)
	tr.buildIn(t, dir)
	return dir
}

// tempDir returns a directory for one test, in memory where there is a place
// for that: what is made durable here some ten thousand times need not be.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "publish")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (tr tree) buildIn(t *testing.T, dir string) {
	t.Helper()
	for name, content := range tr {
		native := filepath.Join(dir, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(native), 0o755)
		if err == nil && strings.HasSuffix(name, "/") {
			err = os.MkdirAll(native, 0o755)
		} else if err == nil {
			err = os.WriteFile(native, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// treeOf returns all that is in a directory.
func treeOf(t *testing.T, dir string) tree {
	t.Helper()
	tr := tree{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
		case d.IsDir():
			tr[name+"/"] = ""
		case d.Type() == 0:
			var b []byte
			b, err = os.ReadFile(filepath.Join(dir, name))
			tr[name] = string(b)
		default:
			tr[name] = d.Type().String()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// published returns all that is in a directory but what a transaction has there.
func published(t *testing.T, dir string) tree {
	t.Helper()
	tr := treeOf(t, dir)
	maps.DeleteFunc(tr, func(name, _ string) bool { return strings.HasPrefix(name, Folder+"/") })
	return tr
}

// files returns a tree without its directories.
func (tr tree) files() tree {
	tr = maps.Clone(tr)
	maps.DeleteFunc(tr, func(name, _ string) bool { return strings.HasSuffix(name, "/") })
	return tr
}

// withParents adds the directories that the paths of a tree are in.
func (tr tree) withParents() tree {
	all := maps.Clone(tr)
	for name := range tr {
		for dir := path.Dir(strings.TrimSuffix(name, "/")); dir != "."; dir = path.Dir(dir) {
			all[dir+"/"] = ""
		}
	}
	return all
}

func checkTree(t *testing.T, what string, got, want tree) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if content, ok := got[name]; !ok {
			t.Errorf("%s: %s is missing", what, name)
		} else if content != want[name] {
			t.Errorf("%s: %s is %q, want %q", what, name, content, want[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: there is %s", what, name)
		}
	}
}

// file is what a transaction puts in place.
type file struct {
	path, content string
	body          bool
}

// put stages a file and plans to put it in place.
func put(tx *Tx, name string, f file) error {
	w, err := tx.Create(name)
	if err != nil {
		return err
	}
	_, err = w.WriteString(f.content)
	if err := errors.Join(err, w.Sync(), w.Close()); err != nil {
		return err
	}
	tx.Put(planned(name, f))
	return nil
}

func planned(name string, f file) Put {
	sum := sha256.Sum256([]byte(f.content))
	return Put{Staged: name, Path: f.path, Length: int64(len(f.content)), SHA256: hex.EncodeToString(sum[:]), Body: f.body}
}

// plan is a whole transaction.
type plan struct {
	puts    []file
	removes []string
}

// stage stages and plans all of it, and a file that is discarded.
func (p *plan) stage(tx *Tx) error {
	for i, f := range p.puts {
		if err := put(tx, fmt.Sprintf("%06d", i), f); err != nil {
			return err
		}
	}
	w, err := tx.Create("not needed")
	if err != nil {
		return err
	}
	if err := errors.Join(w.Close(), tx.Discard("not needed")); err != nil {
		return err
	}
	for _, name := range p.removes {
		tx.Remove(name)
	}
	return nil
}

// run does all of it, from Begin to Close. The error of Close is apart: it
// undoes nothing.
func (p *plan) run(ctx context.Context, dir string, step func(op, path string) error) (err, closed error) {
	tx, err := begin(ctx, dir, Options{}, step)
	if err != nil {
		return err, nil
	}
	defer func() { closed = tx.Close() }()
	if err := p.stage(tx); err != nil {
		return err, nil
	}
	return tx.Commit(ctx), nil
}

// The sample transaction has bodies in one and in several directories, heads
// that are new, replaced, beside a body and in new directories, files to remove
// of which some are not there, directories that become empty and others that do
// not.
var (
	sampleBefore = tree{
		"index.html":                             "a resource",
		"empty/":                                 "",
		"resourcesync/publication.json":          "old record",
		"resourcesync/capabilitylist.xml":        "old capability list",
		"resourcesync/resourcelist.xml":          "old resource list",
		"resourcesync/resourcelist/kept.xml":     "kept part",
		"resourcesync/resourcelist/old.xml":      "old part",
		"resourcesync/changelist/old.xml":        "old changes",
		"resourcesync/changelist/deep/older.xml": "older changes",
	}.withParents()

	sample = plan{
		puts: []file{
			{"resourcesync/resourcelist/aa.xml", "part aa", true},
			{"resourcesync/resourcelist/bb.xml", "part bb", true},
			{"resourcesync/resourcedump/new/cc.zip", "package cc", true},
			{"resourcesync/ee.xml", "body ee", true},
			{"resourcesync/changelist.xml", "new changes", false},
			{"resourcesync/resourcelist.xml", "new resource list", false},
			{"resourcesync/resourcelist/dd.xml", "part dd", true},
			{".well-known/resourcesync", "source description", false},
			{"resourcesync/publication.json", "new record", false},
		},
		removes: []string{
			"resourcesync/resourcelist/old.xml",
			"resourcesync/resourcelist/missing.xml",
			"nowhere/missing.xml",
			"resourcesync/changelist/deep/older.xml",
			"resourcesync/changelist/old.xml",
		},
	}

	sampleAfter = tree{
		"index.html":                           "a resource",
		"empty/":                               "",
		"resourcesync/publication.json":        "new record",
		"resourcesync/capabilitylist.xml":      "old capability list",
		"resourcesync/ee.xml":                  "body ee",
		"resourcesync/changelist.xml":          "new changes",
		"resourcesync/resourcelist.xml":        "new resource list",
		"resourcesync/resourcelist/kept.xml":   "kept part",
		"resourcesync/resourcelist/aa.xml":     "part aa",
		"resourcesync/resourcelist/bb.xml":     "part bb",
		"resourcesync/resourcelist/dd.xml":     "part dd",
		"resourcesync/resourcedump/new/cc.zip": "package cc",
		".well-known/resourcesync":             "source description",
	}.withParents()
)

// progress says how far a commit of the sample has come: how many files are in
// place, and how many are removed. It fails if what is there is nothing that a
// reader may see: if a file is there before one that is put earlier, if one is
// in pieces, or if anything else has changed.
func progress(t *testing.T, dir string) (puts, removes int) {
	t.Helper()
	got := published(t, dir)
	want := sampleBefore.files()
	matches := func() bool { return maps.Equal(got.files(), want) }
	for _, f := range sample.puts {
		if matches() {
			return puts, 0
		}
		want[f.path] = f.content
		puts++
	}
	for _, name := range sample.removes {
		if matches() {
			return puts, removes
		}
		delete(want, name)
		removes++
	}
	if !matches() {
		t.Errorf("it is no state between the old and the new one: %v", got)
	}
	return puts, removes
}

// steps returns the steps of the sample transaction.
func steps(t *testing.T) []string {
	t.Helper()
	var list []string
	err, closed := sample.run(t.Context(), sampleBefore.build(t), func(op, path string) error {
		list = append(list, op+" "+path)
		return nil
	})
	if err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	return list
}

// decided is the step after which a commit can only go forward.
const decided = "rename " + journalName

func indexOf(t *testing.T, list []string, step string) int {
	t.Helper()
	i := slices.Index(list, step)
	if i < 0 {
		t.Fatalf("no step is %q: %q", step, list)
	}
	return i
}
