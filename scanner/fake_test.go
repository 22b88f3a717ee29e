package scanner_test

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/scanner"
)

// fakeTree is a tree in memory that knows links, takes any bytes as names, fails
// where it is told to, and counts what is open.
type fakeTree struct {
	dirs  map[string][]fakeEntry // by path, "." being the tree itself
	links map[string]string      // where a link leads
	fail  map[string]error       // by operation and path, such as "open a/b"

	opened, open, mostOpen atomic.Int64
}

type fakeEntry struct {
	name string
	mode fs.FileMode
}

// newFakeTree returns a tree with files at the paths; "a/b -> c" is a link.
func newFakeTree(paths ...string) *fakeTree {
	t := &fakeTree{dirs: map[string][]fakeEntry{".": nil}, links: map[string]string{}, fail: map[string]error{}}
	for _, p := range paths {
		p, target, isLink := strings.Cut(p, " -> ")
		mode := fs.FileMode(0)
		if isLink {
			mode, t.links[p] = fs.ModeSymlink, target
		}
		t.add(p, mode)
	}
	return t
}

func (t *fakeTree) add(p string, mode fs.FileMode) {
	dir, name := path.Split(p)
	dir = path.Clean(dir)
	if _, ok := t.dirs[dir]; !ok {
		t.add(dir, fs.ModeDir)
		t.dirs[dir] = nil
	}
	t.dirs[dir] = append(t.dirs[dir], fakeEntry{name, mode})
}

func (t *fakeTree) OpenDir(p string) (scanner.Dir, error) {
	if err := t.fail["open "+p]; err != nil {
		return nil, err
	}
	if _, ok := t.dirs[p]; !ok {
		return nil, &fs.PathError{Op: "open", Path: p, Err: fs.ErrNotExist}
	}
	t.opened.Add(1)
	t.mostOpen.Store(max(t.mostOpen.Load(), t.open.Add(1)))
	return &fakeDir{t, p}, nil
}

func (t *fakeTree) Lstat(p string) (scanner.Stat, error) {
	if err := t.fail["stat "+p]; err != nil {
		return scanner.Stat{}, err
	}
	if _, ok := t.dirs[p]; ok {
		return scanner.Stat{Mode: fs.ModeDir}, nil
	}
	for _, e := range t.dirs[path.Dir(p)] {
		if e.name == path.Base(p) {
			return scanner.Stat{Mode: e.mode, Size: int64(len(p))}, nil
		}
	}
	return scanner.Stat{}, &fs.PathError{Op: "lstat", Path: p, Err: fs.ErrNotExist}
}

func (t *fakeTree) Resolve(p string) (string, error) {
	if err := t.fail["follow "+p]; err != nil {
		return "", err
	}
	real := "."
	for name := range strings.SplitSeq(p, "/") {
		real = path.Join(real, name)
		if target, ok := t.links[real]; ok {
			real = target
		}
	}
	if _, err := t.Lstat(real); errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return real, nil
}

func (t *fakeTree) IsMoved() bool { return t.fail["moved"] != nil }

type fakeDir struct {
	tree *fakeTree
	path string
}

func (d *fakeDir) Entries(fn func(string, fs.FileMode) error) error {
	for _, e := range d.tree.dirs[d.path] {
		if err := fn(e.name, e.mode); err != nil {
			return err
		}
	}
	return d.tree.fail["list "+d.path] // behind the entries, as on a disk that fails
}

func (d *fakeDir) Lstat(name string) (scanner.Stat, error) {
	return d.tree.Lstat(path.Join(d.path, name))
}

func (d *fakeDir) OpenDir(name string) (scanner.Dir, error) {
	return d.tree.OpenDir(path.Join(d.path, name))
}

func (d *fakeDir) Info() (fs.FileInfo, error) { return nil, d.tree.fail["info "+d.path] }

func (d *fakeDir) Close() error {
	d.tree.open.Add(-1)
	return nil
}

// hookTree calls functions when a directory has been opened, if there is one for
// that, and when it has been listed, before anything else is done with it.
type hookTree struct {
	scanner.Tree
	listed func(dir string)
	opened func(dir string)
}

func (t hookTree) open(d scanner.Dir, p string, err error) (scanner.Dir, error) {
	if t.opened != nil {
		t.opened(p)
	}
	return hookDir{d, p, t}, err
}

func (t hookTree) OpenDir(p string) (scanner.Dir, error) {
	d, err := t.Tree.OpenDir(p)
	return t.open(d, p, err)
}

type hookDir struct {
	scanner.Dir
	path string
	tree hookTree
}

func (d hookDir) Entries(fn func(string, fs.FileMode) error) error {
	err := d.Dir.Entries(fn)
	d.tree.listed(d.path)
	return err
}

func (d hookDir) OpenDir(name string) (scanner.Dir, error) {
	sub, err := d.Dir.OpenDir(name)
	return d.tree.open(sub, path.Join(d.path, name), err)
}

// result is what a scan yields.
type result struct {
	files   []scanner.File
	leftOut map[string]scanner.Reason
	err     error
}

// scan lists a tree to the end. Nothing may come behind an error.
func scan(t testing.TB, tree scanner.Tree, o scanner.Options) result {
	t.Helper()
	r := result{leftOut: map[string]scanner.Reason{}}
	o.LeftOut = func(path string, why scanner.Reason) {
		if r.leftOut[path] != "" {
			t.Errorf("%q is left out twice, as %s and %s", path, r.leftOut[path], why)
		}
		r.leftOut[path] = why
	}
	for f, err := range scanner.Scan(t.Context(), tree, o) {
		if r.err != nil {
			t.Errorf("%v, %v came behind the error %v", f, err, r.err)
		}
		if r.err = err; err == nil {
			r.files = append(r.files, *f)
		}
	}
	return r
}

// paths returns the paths of files in their order. With links, a path that has
// another real path is written as "a -> b".
func (r *result) paths() []string {
	paths := []string{}
	for _, f := range r.files {
		p := f.Path
		if cmp.Or(f.Real, p) != p {
			p += " -> " + f.Real
		}
		paths = append(paths, p)
	}
	return paths
}

func newLayout(t testing.TB, form layout.Form) layout.Layout {
	t.Helper()
	l, err := layout.New(layout.Identity{BaseURL: "https://example.org/x/", Form: form})
	if err != nil {
		t.Fatal(err)
	}
	return l
}
