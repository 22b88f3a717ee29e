package scanner_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/scanner"
)

// build makes a folder "source" with files at the paths in a directory of its
// own. A path with a slash at its end is a folder, "a/b -> c" is a link, and
// SOURCE in it stands for the absolute path of the source.
func build(t testing.TB, entries ...string) (source string) {
	t.Helper()
	source = filepath.Join(realDir(t, t.TempDir()), "source")
	if err := os.Mkdir(source, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		makeEntry(t, source, e)
	}
	return source
}

func makeEntry(t testing.TB, source, entry string) {
	t.Helper()
	name, target, isLink := strings.Cut(entry, " -> ")
	path := filepath.Join(source, filepath.FromSlash(name))
	dir := filepath.Dir(path)
	if strings.HasSuffix(name, "/") {
		dir = path
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var err error
	switch {
	case isLink:
		target = filepath.FromSlash(strings.ReplaceAll(target, "SOURCE", filepath.ToSlash(source)))
		if err = os.Symlink(target, path); err != nil && runtime.GOOS == "windows" {
			t.Skip("no symbolic links here:", err)
		}
	case dir != path:
		err = os.WriteFile(path, []byte(name), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// realDir returns a directory without links, as there are in the path of
// temporary directories on some systems.
func realDir(t testing.TB, dir string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func open(t testing.TB, dir string) scanner.Tree {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	tree, err := scanner.NewTree(root)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// checkScan checks which files there are, in order, and what is left out.
func checkScan(t testing.TB, got result, paths []string, left map[string]scanner.Reason) {
	t.Helper()
	if got.err != nil {
		t.Errorf("got the error %v", got.err)
	}
	if !slices.Equal(got.paths(), paths) {
		t.Errorf("got  %q\nwant %q", got.paths(), paths)
	}
	if !maps.Equal(got.leftOut, left) {
		t.Errorf("left out %v\nwant     %v", got.leftOut, left)
	}
}

// checkReal checks that files are what opening them finds.
func checkReal(t testing.TB, source string, got result) {
	t.Helper()
	root, err := os.OpenRoot(source)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, f := range got.files {
		info, err := root.Lstat(filepath.FromSlash(f.Real))
		if err != nil {
			t.Errorf("%q cannot be found: %v", f.Real, err)
			continue
		}
		if f.Size != info.Size() || !f.ModTime.Equal(info.ModTime()) || f.Mode != info.Mode().Type() {
			t.Errorf("%q has the status %+v, not that of %+v", f.Path, f.Stat, info)
		}
		if runtime.GOOS != "windows" && (f.Inode == 0 || f.ChangeTime.IsZero()) {
			t.Errorf("%q has no inode or change time: %+v", f.Path, f.Stat)
		}
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		entries []string
		want    []string
		left    map[string]scanner.Reason
	}{
		{
			name: "to a file", entries: []string{"a", "d/b", "l -> a", "m -> d/b", "d/n -> ../a", "d/o -> b"},
			want: []string{"a", "d/b", "d/n -> a", "d/o -> d/b", "l -> a", "m -> d/b"},
		},
		{
			name: "to a folder", entries: []string{"d/b", "d/e/f", "l -> d", "x/m -> ../d/e", "n -> d/"},
			want: []string{"d/b", "d/e/f", "l/b -> d/b", "l/e/f -> d/e/f", "n/b -> d/b", "n/e/f -> d/e/f", "x/m/f -> d/e/f"},
		},
		{
			name: "to a folder, in order", entries: []string{"d/b", "a -> d", "a-b", "a0"},
			want: []string{"a-b", "a/b -> d/b", "a0", "d/b"},
		},
		{
			name: "absolute, inside", entries: []string{"d/b", "l -> SOURCE/d/b", "m -> SOURCE/d", "n -> SOURCE/x/../d/b", "x/"},
			want: []string{"d/b", "l -> d/b", "m/b -> d/b", "n -> d/b"},
		},
		{
			name: "out and in again", entries: []string{"d/b", "l -> ../source/d/b", "d/m -> ../../source/d/b"},
			want: []string{"d/b", "d/m -> d/b", "l -> d/b"},
		},
		{
			name: "out of the source",
			entries: []string{
				"a", "l -> ../out", "m -> SOURCE/../out", "n -> ../outside/x", "o -> ../outside", "p -> ../source2/x", "q -> ..", "r -> /",
				"../out", "../outside/x", "../source2/x",
			},
			want: []string{"a"},
			left: map[string]scanner.Reason{
				"l": scanner.OutsideLink, "m": scanner.OutsideLink, "n": scanner.OutsideLink, "o": scanner.OutsideLink,
				"p": scanner.OutsideLink, "q": scanner.OutsideLink, "r": scanner.OutsideLink,
			},
		},
		{
			name:    "out of the source, through others",
			entries: []string{"a", "l -> m", "m -> d/n", "d/n -> ../../out", "e/o -> ../p/x", "p -> ../outside", "../out", "../outside/x"},
			want:    []string{"a"},
			left: map[string]scanner.Reason{
				"l": scanner.OutsideLink, "m": scanner.OutsideLink, "d/n": scanner.OutsideLink,
				"e/o": scanner.OutsideLink, "p": scanner.OutsideLink,
			},
		},
		{
			name: "to nothing", entries: []string{"a", "l -> nothing", "m -> d/nothing/at/all", "n -> ../nothing", "o -> a/b", "p -> l"},
			want: []string{"a"},
			left: map[string]scanner.Reason{
				"l": scanner.DanglingLink, "m": scanner.DanglingLink, "n": scanner.DanglingLink,
				"o": scanner.DanglingLink, "p": scanner.DanglingLink,
			},
		},
		{
			name: "in a circle", entries: []string{"a", "l -> l", "m -> n", "n -> m", "o -> o/p", "q -> l"},
			want: []string{"a"},
			left: map[string]scanner.Reason{
				"l": scanner.LoopLink, "m": scanner.LoopLink, "n": scanner.LoopLink, "o": scanner.LoopLink, "q": scanner.LoopLink,
			},
		},
		{
			name: "to what is above", entries: []string{"a", "l -> .", "d/m -> .", "d/n -> ..", "d/e/o -> ../../d", "d/e/p -> SOURCE"},
			want: []string{"a"},
			left: map[string]scanner.Reason{
				"l": scanner.LoopLink, "d/m": scanner.LoopLink, "d/n": scanner.LoopLink, "d/e/o": scanner.LoopLink, "d/e/p": scanner.LoopLink,
			},
		},
		{
			name: "to a neighbour of the same beginning", entries: []string{"d/l -> ../dd", "dd/a", "d-/m -> ../d", "d/b"},
			want: []string{"d-/m/b -> d/b", "d-/m/l/a -> dd/a", "d/b", "d/l/a -> dd/a", "dd/a"},
		},
		{
			name: "from two neighbours to each other", entries: []string{"a/l -> ../b", "a/x", "b/m -> ../a", "b/y"},
			want: []string{"a/l/y -> b/y", "a/x", "b/m/x -> a/x", "b/y"},
			left: map[string]scanner.Reason{"a/l/m": scanner.LoopLink, "b/m/l": scanner.LoopLink},
		},
		{
			name: "into a folder that leads back", entries: []string{"a/l -> ../b/c", "b/c/m -> ../../b", "b/x"},
			want: []string{"b/x"},
			left: map[string]scanner.Reason{"a/l/m": scanner.LoopLink, "b/c/m": scanner.LoopLink},
		},
		{
			name: "diamond", entries: []string{"a/l -> ../d", "b/l -> ../d", "d/x", "e/l -> ../a", "e/m -> ../b"},
			want: []string{"a/l/x -> d/x", "b/l/x -> d/x", "d/x", "e/l/l/x -> d/x", "e/m/l/x -> d/x"},
		},
		{
			name: "chain", entries: []string{"a/b", "l -> m", "m -> d/n", "d/n -> ../o", "o -> a/b", "p -> q", "q -> a", "r -> p/b"},
			want: []string{"a/b", "d/n -> a/b", "l -> a/b", "m -> a/b", "o -> a/b", "p/b -> a/b", "q/b -> a/b", "r -> a/b"},
		},
		{
			name: "to a folder of itself", entries: []string{"d/e/f", "d/l -> e"},
			want: []string{"d/e/f", "d/l/f -> d/e/f"},
		},
		{
			name: "to a folder left out", entries: []string{".hidden/a", ".hidden/.b", "l -> .hidden"},
			want: []string{"l/a -> .hidden/a"},
			left: map[string]scanner.Reason{".hidden": scanner.Hidden, "l/.b": scanner.Hidden},
		},
		{
			name: "left out by name", entries: []string{"a", ".l -> a", "m~ -> a"},
			want: []string{"a"},
			left: map[string]scanner.Reason{".l": scanner.Hidden, "m~": scanner.EditorFile},
		},
		{
			name: "awkward names", entries: []string{"a b&", "ä/ö", "ü -> a b&", "é -> ä"},
			want: []string{"a b&", "ä/ö", "é/ö -> ä/ö", "ü -> a b&"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			source := build(t, test.entries...)
			got := scan(t, open(t, source), scanner.Options{})
			checkScan(t, got, test.want, test.left)
			checkReal(t, source, got)

			got = scan(t, open(t, source), scanner.Options{SkipSymlinks: true})
			checkSkipped(t, source, got)
		})
	}
}

// checkSkipped checks a scan that followed no links.
func checkSkipped(t *testing.T, source string, got result) {
	t.Helper()
	if got.err != nil {
		t.Error(got.err)
	}
	for _, f := range got.files {
		if real := realDir(t, filepath.Join(source, filepath.FromSlash(f.Path))); real != filepath.Join(source, filepath.FromSlash(f.Path)) {
			t.Errorf("%q was followed to %s", f.Path, real)
		}
	}
	for path, why := range got.leftOut {
		info, err := os.Lstat(filepath.Join(source, filepath.FromSlash(path)))
		if err != nil {
			t.Fatal(err)
		}
		if isLink := info.Mode()&fs.ModeSymlink != 0; isLink != (why == scanner.Symlink) && why != scanner.Hidden && why != scanner.EditorFile {
			t.Errorf("%q is left out as %q", path, why)
		}
	}
}

// A source that is opened by another path is the same source.
func TestLinksOfLinkedSource(t *testing.T) {
	t.Parallel()
	source := build(t, "d/b", "l -> SOURCE/d", "m -> d/b", "n -> SOURCE/../alias/d/b", "../alias -> source")
	got := scan(t, open(t, filepath.Join(filepath.Dir(source), "alias")), scanner.Options{})
	checkScan(t, got, []string{"d/b", "l/b -> d/b", "m -> d/b", "n -> d/b"}, nil)
}

// A source may be named by a relative path.
func TestLinksOfRelativeSource(t *testing.T) {
	source := build(t, "d/b", "l -> SOURCE/d", "m -> d/b", "n -> ../out", "../out")
	t.Chdir(filepath.Dir(source))
	got := scan(t, open(t, "source"), scanner.Options{})
	checkScan(t, got, []string{"d/b", "l/b -> d/b", "m -> d/b"}, map[string]scanner.Reason{"n": scanner.OutsideLink})
}

// Two links to one file are two resources, but never one URI.
func TestLinksAndURIs(t *testing.T) {
	t.Parallel()
	l := newLayout(t, layout.CleanURIs)
	source := build(t, "a", "b.html", "d.html -> a", "e -> x", "x/index.html")
	got := scan(t, open(t, source), scanner.Options{Prefix: l.BaseURL, Key: l.AppendKey})
	checkScan(t, got, []string{"a", "b.html", "d.html -> a", "e/index.html -> x/index.html", "x/index.html"}, nil)
	var uris []string
	for _, f := range got.files {
		uris = append(uris, strings.TrimPrefix(f.URI, l.BaseURL))
	}
	if want := []string{"a", "b", "d", "e/", "x/"}; !slices.Equal(uris, want) {
		t.Errorf("got %q, want %q", uris, want)
	}

	makeEntry(t, source, "d -> b.html")
	got = scan(t, open(t, source), scanner.Options{Prefix: l.BaseURL, Key: l.AppendKey})
	checkError(t, got.err, []string{`"d"`, `"d.html"`, "https://example.org/x/d"})
}

// own describes what is Wellspring's in a directory.
func own(t testing.TB, dir string, names ...string) scanner.Own {
	t.Helper()
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	return scanner.Own{Dir: info, Names: names}
}

func TestOwn(t *testing.T) {
	t.Parallel()
	published := []string{
		"a", "pub/list.xml", "pub/list/1.xml", "pub2/x", "x/pub/list.xml",
		".well-known/resourcesync", ".well-known/security.txt", "resourcesync",
	}
	tests := []struct {
		name    string
		more    []string // beside what is published
		opened  string   // beside the source
		pub     string   // by which path the publication is known
		want    []string
		left    map[string]scanner.Reason
		renamed bool // after it was looked at
	}{
		{
			name: "by its own path", pub: "source/pub",
			want: []string{".well-known/security.txt", "a", "pub2/x", "resourcesync", "x/pub/list.xml"},
			left: map[string]scanner.Reason{
				".well-known/resourcesync": scanner.Published, "pub/list": scanner.Published, "pub/list.xml": scanner.Published,
			},
		},
		{
			name: "by a link beside the source", pub: "alias/pub", more: []string{"../alias -> source"},
			want: []string{".well-known/security.txt", "a", "pub2/x", "resourcesync", "x/pub/list.xml"},
			left: map[string]scanner.Reason{
				".well-known/resourcesync": scanner.Published, "pub/list": scanner.Published, "pub/list.xml": scanner.Published,
			},
		},
		{
			name: "with the source opened by a link", pub: "source/pub", opened: "alias", more: []string{"../alias -> source"},
			want: []string{".well-known/security.txt", "a", "pub2/x", "resourcesync", "x/pub/list.xml"},
			left: map[string]scanner.Reason{
				".well-known/resourcesync": scanner.Published, "pub/list": scanner.Published, "pub/list.xml": scanner.Published,
			},
		},
		{
			name: "through links in the source", pub: "source/pub",
			more: []string{"l -> pub", "m -> pub/list", "n -> pub/list.xml", "o -> pub/list/1.xml", "p -> .well-known", "q -> pub2/x"},
			want: []string{".well-known/security.txt", "a", "p/security.txt -> .well-known/security.txt", "pub2/x", "q -> pub2/x", "resourcesync", "x/pub/list.xml"},
			left: map[string]scanner.Reason{
				".well-known/resourcesync": scanner.Published, "pub/list": scanner.Published, "pub/list.xml": scanner.Published,
				"l/list": scanner.Published, "l/list.xml": scanner.Published, "m": scanner.Published, "n": scanner.Published,
				"o": scanner.Published, "p/resourcesync": scanner.Published,
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			source := build(t, append(published, test.more...)...)
			beside := filepath.Dir(source)
			o := scanner.Options{Own: []scanner.Own{
				own(t, filepath.Join(beside, filepath.FromSlash(test.pub)), "list.xml", "list"),
				own(t, filepath.Join(source, ".well-known"), "resourcesync"),
				own(t, source, "nothing", ".wellspring"),
			}}
			opened := "source"
			if test.opened != "" {
				opened = test.opened
			}
			checkScan(t, scan(t, open(t, filepath.Join(beside, opened)), o), test.want, test.left)
		})
	}
}

// Names that are left out of one directory are resources in another.
func TestOwnNames(t *testing.T) {
	t.Parallel()
	source := build(t, "list.xml", "list/1.xml", "d/list.xml", "a")
	o := scanner.Options{Own: []scanner.Own{own(t, source, "list.xml", "list")}}
	checkScan(t, scan(t, open(t, source), o), []string{"a", "d/list.xml"}, map[string]scanner.Reason{
		"list.xml": scanner.Published, "list": scanner.Published,
	})
	// A directory of the same name that is not the one is no publication.
	other := build(t, "list.xml")
	checkScan(t, scan(t, open(t, other), o), []string{"list.xml"}, nil)
}

// Files and folders that are deleted between listing and looking were never
// there, and what is put in their place is not taken for them.
func TestVanishedFiles(t *testing.T) {
	t.Parallel()
	source := build(t, "a", "b", "d/e", "f/g/h", "f/i", "l -> b", "m -> f", "z")
	removed := false
	tree := hookTree{Tree: open(t, source), listed: func(dir string) {
		if dir != "." || removed {
			return
		}
		removed = true
		for _, name := range []string{"b", "d", "f/g"} {
			if err := os.RemoveAll(filepath.Join(source, filepath.FromSlash(name))); err != nil {
				t.Error(err)
			}
		}
	}}
	checkScan(t, scan(t, tree, scanner.Options{}), []string{"a", "f/i", "m/i -> f/i", "z"}, map[string]scanner.Reason{
		"b": scanner.Vanished, "d": scanner.Vanished, "l": scanner.Vanished,
	})
	checkScan(t, scan(t, open(t, source), scanner.Options{}), []string{"a", "f/i", "m/i -> f/i", "z"}, map[string]scanner.Reason{
		"l": scanner.DanglingLink,
	})
}

func TestReplacedWhileListed(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, old, new string }{
		{"file by a folder", "b", "b/"},
		{"file by a link", "b", "b -> a"},
		{"folder by a file", "b/", "b"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			source := build(t, "a", test.old, "c")
			got := scan(t, hookTree{Tree: open(t, source), listed: func(string) {
				if err := os.RemoveAll(filepath.Join(source, "b")); err != nil {
					t.Error(err)
				}
				makeEntry(t, source, test.new)
			}}, scanner.Options{})
			checkError(t, got.err, []string{`"b"`})
			if !slices.Equal(got.paths(), []string{"a"}) {
				t.Errorf("got %q", got.paths())
			}
		})
	}
}

func TestNewTreeOfNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := os.Remove(dir); err != nil {
		t.Skip("a directory that is open cannot be removed here:", err)
	}
	if _, err := scanner.NewTree(root); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got the error %v", err)
	}
}

func TestOwnFolder(t *testing.T) {
	t.Parallel()
	source := t.TempDir()
	for _, name := range []string{"pub/list.xml", "pub/mine.txt", "a"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(source, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(source, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(source)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	tree, err := scanner.NewTree(root)
	if err != nil {
		t.Fatal(err)
	}
	folder := own(t, filepath.Join(source, "pub"), "list.xml")
	folder.Folder = true
	left := map[string]scanner.Reason{}
	o := scanner.Options{Own: []scanner.Own{folder}, LeftOut: func(path string, why scanner.Reason) { left[path] = why }}
	for f, err := range scanner.Scan(t.Context(), tree, o) {
		if err != nil || f.Path != "a" {
			t.Errorf("got %q, %v", f.Path, err)
		}
	}
	if left["pub/list.xml"] != scanner.Published || left["pub/mine.txt"] != scanner.InFolder {
		t.Errorf("left out: %v", left)
	}
}
