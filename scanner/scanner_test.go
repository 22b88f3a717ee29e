package scanner_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/scanner"
)

// nastyNames sort one way as names, and another as URIs or below one another.
var nastyNames = []string{
	"a", "a-b", "a.txt", "a0", "a!", "a b", "a%", "a%2F", "a%20b", "a\tb", "a\x01", "a\x7f", "a&", "a'", "a;", "a=",
	"A", "Z", "_", "aa", "ab", "a.html", "a.html.html", "a-b.html", "index", "index.html", "index.html.html",
	".html", "..html", "...html", "....html", "404.html", "b", "z", "{", "é", "e\u0301", "É", "😀", "😀.html",
	"\u00a0", "\ufeffa", "日本", "~a", "+", "-", "..a", "a..", "…", "'", `"`, "<", "#1", "?",
}

// randomTree returns the paths of a tree in which no two files share a URI.
func randomTree(r *rand.Rand, l layout.Layout) []string {
	taken := map[string]bool{} // paths of all, URIs of files
	var paths []string
	var fill func(dir string, depth int)
	fill = func(dir string, depth int) {
		for range 1 + r.IntN(12) {
			p := dir + nastyNames[r.IntN(len(nastyNames))]
			if taken[p] {
				continue
			}
			if depth < 4 && r.IntN(3) == 0 {
				taken[p] = true
				fill(p+"/", depth+1)
			} else if uri := l.URI(p); !taken[uri] {
				taken[p], taken[uri] = true, true
				paths = append(paths, p)
			}
		}
	}
	fill("", 0)
	return paths
}

// The stream has every file, and is in the byte order of whole URIs.
func TestScanOrder(t *testing.T) {
	t.Parallel()
	for _, form := range []layout.Form{layout.PlainURIs, layout.IndexURIs, layout.CleanURIs} {
		l := newLayout(t, form)
		r := rand.New(rand.NewPCG(1, 2))
		for round := range 50 {
			paths := randomTree(r, l)
			fsys := fstest.MapFS{}
			for i, p := range paths {
				fsys[p] = &fstest.MapFile{Data: make([]byte, i), ModTime: time.Unix(int64(i), 0)}
			}
			want := map[string]string{}
			for _, p := range paths {
				want[l.URI(p)] = p
			}
			got := scan(t, scanner.FSTree(fsys), scanner.Options{
				Prefix: l.BaseURL, Key: l.AppendKey, Rules: scanner.Rules{Hidden: true},
			})
			if got.err != nil || len(got.leftOut) != 0 {
				t.Fatalf("form %q, round %d: got the error %v, left out %v", form, round, got.err, got.leftOut)
			}
			uris := slices.Sorted(maps.Keys(want))
			if len(got.files) != len(uris) {
				t.Fatalf("form %q, round %d: got %d files of %d", form, round, len(got.files), len(uris))
			}
			for i, f := range got.files {
				info := fsys[f.Path]
				if f.URI != uris[i] || f.Path != want[f.URI] || f.Real != f.Path {
					t.Fatalf("form %q, round %d: file %d is %q, %s, read at %q; want %q, %s",
						form, round, i, f.Path, f.URI, f.Real, want[uris[i]], uris[i])
				}
				if f.Size != int64(len(info.Data)) || !f.ModTime.Equal(info.ModTime) || !f.Mode.IsRegular() {
					t.Fatalf("form %q, round %d: %q has the status %+v, not that of %+v", form, round, f.Path, f.Stat, info)
				}
			}
		}
	}
}

// Without a Key, names stand for themselves.
func TestScanPlainKey(t *testing.T) {
	t.Parallel()
	got := scan(t, newFakeTree("b", "a/b", "a-b", "a.b", "a/b c", "a0"), scanner.Options{Prefix: "x:"})
	var uris []string
	for _, f := range got.files {
		uris = append(uris, f.URI)
	}
	want := []string{"x:a-b", "x:a.b", "x:a/b", "x:a/b c", "x:a0", "x:b"}
	if got.err != nil || !slices.Equal(uris, want) {
		t.Errorf("got %q, %v, want %q", uris, got.err, want)
	}
}

// Names of any bytes come out as they are, each with a URI of its own.
func TestScanAnyBytes(t *testing.T) {
	t.Parallel()
	var paths []string
	for c := 1; c < 256; c++ {
		if c != '/' && c != '~' {
			paths = append(paths, "n"+string([]byte{byte(c)}), "d"+string([]byte{byte(c)})+"/f")
		}
	}
	l := newLayout(t, layout.PlainURIs)
	got := scan(t, newFakeTree(paths...), scanner.Options{Prefix: l.BaseURL, Key: l.AppendKey})
	if got.err != nil {
		t.Fatal(got.err)
	}
	slices.SortFunc(paths, func(a, b string) int { return strings.Compare(l.URI(a), l.URI(b)) })
	if !slices.Equal(got.paths(), paths) {
		t.Errorf("got %q\nwant %q", got.paths(), paths)
	}
}

func TestScanEmpty(t *testing.T) {
	t.Parallel()
	empty := fstest.MapFS{"a/b": {Mode: fs.ModeDir}, "c": {Mode: fs.ModeDir}}
	for name, tree := range map[string]scanner.Tree{"nothing": newFakeTree(), "empty folders": scanner.FSTree(empty)} {
		if got := scan(t, tree, scanner.Options{}); got.err != nil || len(got.files) != 0 || len(got.leftOut) != 0 {
			t.Errorf("%s: got %q, left out %v, %v", name, got.paths(), got.leftOut, got.err)
		}
	}
}

func TestScanSharedURI(t *testing.T) {
	t.Parallel()
	l := newLayout(t, layout.CleanURIs)
	tests := []struct {
		name  string
		paths []string
		want  []string // pieces of the error, none for no error
	}{
		{"at the top", []string{"about", "about.html", "z"}, []string{`"about"`, `"about.html"`, "https://example.org/x/about"}},
		{"below", []string{"d/e/b c", "d/e/b c.html"}, []string{`"d/e/b c"`, `"d/e/b c.html"`, "https://example.org/x/d/e/b%20c"}},
		{"control characters", []string{"\x1b[2J", "\x1b[2J.html"}, []string{`"\x1b[2J"`, `"\x1b[2J.html"`}},
		{"through a link", []string{"a.html", "b", "a -> b"}, []string{`"a"`, `"a.html"`}},
		{"a folder of that name", []string{"about/x", "about.html"}, nil},
		{"a folder and its index", []string{"x/index.html", "x.html"}, nil},
		{"one of them left out", []string{"about~", "about~.html"}, nil},
		{"indexes of two folders", []string{"index.html", "x/index.html"}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := scan(t, newFakeTree(test.paths...), scanner.Options{Prefix: l.BaseURL, Key: l.AppendKey})
			checkError(t, got.err, test.want)
		})
	}
}

// checkError checks that an error has all of the pieces, or that there is none.
func checkError(t *testing.T, err error, pieces []string) {
	t.Helper()
	if len(pieces) == 0 && err != nil {
		t.Errorf("got the error %v", err)
	}
	if len(pieces) > 0 && err == nil {
		t.Errorf("got no error, want one with %q", pieces)
	}
	for _, piece := range pieces {
		if err != nil && !strings.Contains(err.Error(), piece) {
			t.Errorf("got the error %q, without %q", err, piece)
		}
	}
}

// Whatever cannot be looked at ends the scan with an error that says what it is.
func TestScanErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fail string
		want string
	}{
		{"open .", "source"},
		{"list .", "the source"},
		{"info .", "the source"},
		{"open d", `"d"`},
		{"list d", `"d"`},
		{"info d", `"d"`},
		{"stat d/f", `"d/f"`},
		{"open d/e", `"d/e"`},
		{"list d/e", `"d/e"`},
		{"stat z", `"z"`},
		{"stat d/e/f", `"d/e/f"`},
		{"follow d/l", `"d/l"`},
		{"stat y/a", `"d/l"`},
		{"open y", `"d/l"`},
		{"info y", `"d/l"`},
		{"follow y/m", `"y/m"`},
	}
	for _, test := range tests {
		t.Run(test.fail, func(t *testing.T) {
			t.Parallel()
			tree := newFakeTree("a", "d/e/f", "d/f", "d/l -> y/a", "y/a", "y/m -> d/e", "z")
			op, name, _ := strings.Cut(test.fail, " ")
			tree.fail[test.fail] = &fs.PathError{Op: op, Path: path.Base(name), Err: syscall.EIO}
			got := scan(t, tree, scanner.Options{Own: []scanner.Own{{}}})
			if !errors.Is(got.err, syscall.EIO) || !strings.Contains(got.err.Error(), test.want) {
				t.Errorf("got the error %v, want one about %s", got.err, test.want)
			}
			if open := tree.open.Load(); open != 0 {
				t.Errorf("%d directories are still open", open)
			}
		})
	}
}

// A directory that is a file when it is opened says nothing of what was below it.
func TestScanChangedDirectory(t *testing.T) {
	t.Parallel()
	tree := newFakeTree("a", "d/e/f")
	tree.fail["open d/e"] = &fs.PathError{Op: "open", Path: "e", Err: syscall.ENOTDIR}
	got := scan(t, tree, scanner.Options{Own: []scanner.Own{{}}})
	if got.err == nil || got.err.Error() != `the directory "d/e" changed into something else while the source was listed: run again` {
		t.Errorf("got the error %v", got.err)
	}
}

// What vanishes is no error, but is told.
func TestScanVanished(t *testing.T) {
	t.Parallel()
	gone := &fs.PathError{Op: "open", Path: "x", Err: syscall.ENOENT}
	tests := []struct {
		fail  string
		paths []string
		left  map[string]scanner.Reason
	}{
		{"stat a", []string{"d/e/f", "d/f", "z"}, map[string]scanner.Reason{"a": scanner.Vanished}},
		{"open d", []string{"a", "z"}, map[string]scanner.Reason{"d": scanner.Vanished}},
		{"open d/e", []string{"a", "d/f", "z"}, map[string]scanner.Reason{"d/e": scanner.Vanished}},
		{"stat d/e/f", []string{"a", "d/f", "z"}, map[string]scanner.Reason{"d/e/f": scanner.Vanished}},
	}
	for _, test := range tests {
		t.Run(test.fail, func(t *testing.T) {
			t.Parallel()
			tree := newFakeTree("a", "d/e/f", "d/f", "z")
			tree.fail[test.fail] = gone
			tree.fail[strings.Replace(test.fail, "open", "stat", 1)] = gone
			got := scan(t, tree, scanner.Options{})
			if got.err != nil || !slices.Equal(got.paths(), test.paths) || !maps.Equal(got.leftOut, test.left) {
				t.Errorf("got %q, left out %v, %v; want %q, %v", got.paths(), got.leftOut, got.err, test.paths, test.left)
			}
		})
	}
	// The source itself may not vanish, as everything would count as deleted.
	tree := newFakeTree("a")
	tree.fail["open ."] = gone
	if got := scan(t, tree, scanner.Options{}); got.err == nil {
		t.Error("the source has vanished, and there is no error")
	}
}

// Files are yielded as the scan goes, and of each level just the directory that
// is passed on and the next one are open at a time.
func TestScanStreams(t *testing.T) {
	t.Parallel()
	var paths []string
	for i := range 50 {
		paths = append(paths, fmt.Sprintf("a%02d/b/c/f", i), fmt.Sprintf("a%02d/d/f", i))
	}
	tree := newFakeTree(paths...)
	if got := scan(t, tree, scanner.Options{}); got.err != nil || !slices.Equal(got.paths(), paths) {
		t.Fatalf("got %q, %v", got.paths(), got.err)
	}
	const levels = 3
	if most := tree.mostOpen.Load(); most > 1+2*levels {
		t.Errorf("%d directories were open at a time, want %d at most", most, 1+2*levels)
	}
	if open, opened := tree.open.Load(), tree.opened.Load(); open != 0 || opened != 201 {
		t.Errorf("%d directories are open after %d were opened, want 0 after 201", open, opened)
	}
}

func TestScanEarlyStop(t *testing.T) {
	t.Parallel()
	paths := []string{"a", "b/c/d", "b/c/e", "b/f", "g/h"}
	for stop := 1; stop <= len(paths); stop++ {
		tree := newFakeTree(paths...)
		var got []string
		for f, err := range scanner.Scan(t.Context(), tree, scanner.Options{}) {
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, f.Path); len(got) == stop {
				break
			}
		}
		if !slices.Equal(got, paths[:stop]) {
			t.Errorf("got %q, want %q", got, paths[:stop])
		}
		if open := tree.open.Load(); open != 0 {
			t.Errorf("%d directories are open after a stop at %s", open, got[len(got)-1])
		}
		if opened := tree.opened.Load(); stop == 1 && opened != 1 {
			t.Errorf("%d directories were opened for the first file", opened)
		}
	}
}

// A stream can be ranged over again, and sees the tree as it is then.
func TestScanTwice(t *testing.T) {
	t.Parallel()
	tree := newFakeTree("a", "l -> a")
	stream := scanner.Scan(t.Context(), tree, scanner.Options{})
	for _, want := range []int{2, 3} {
		n := 0
		for _, err := range stream {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != want {
			t.Errorf("got %d files, want %d", n, want)
		}
		tree.add("b", 0)
	}
}

func TestScanCanceled(t *testing.T) {
	t.Parallel()
	why := errors.New("the user had enough")
	for name, paths := range map[string][]string{
		"among files":   {"a", "b", "c", "d"},
		"among folders": {"a/a", "b/b", "c/c", "d/d"},
		"in the depth":  {"a", "b/c/d/e", "b/c/d/f", "b/c/g"},
	} {
		for after := range 4 {
			ctx, cancel := context.WithCancelCause(t.Context())
			tree := newFakeTree(paths...)
			if after == 0 {
				cancel(why)
			}
			n := 0
			var got error
			for _, err := range scanner.Scan(ctx, tree, scanner.Options{}) {
				if got = err; err != nil {
					continue
				}
				if n++; n == after {
					cancel(why)
				}
			}
			cancel(nil)
			// Behind the last file, there is nothing left to stop.
			if got != why && after < len(paths) || n != after {
				t.Errorf("%s, canceled after %d files: got %d files, %v", name, after, n, got)
			}
			if open := tree.open.Load(); open != 0 {
				t.Errorf("%s: %d directories are still open", name, open)
			}
		}
	}
}

// A scan for names alone lists the same files, and looks at none.
func TestScanNamesOnly(t *testing.T) {
	t.Parallel()
	tree := newFakeTree("a", "d/e", ".git/x", "l -> a", "m -> d", "n -> nothing")
	want := scan(t, tree, scanner.Options{})
	for _, p := range []string{"stat d/e", "stat d"} {
		tree.fail[p] = syscall.EIO
	}
	delete(tree.fail, "stat d") // where a link leads is looked at in either case
	got := scan(t, tree, scanner.Options{NamesOnly: true})
	if want.err != nil || got.err != nil {
		t.Fatal(want.err, got.err)
	}
	if !slices.Equal(got.paths(), want.paths()) || !maps.Equal(got.leftOut, want.leftOut) {
		t.Errorf("got %q, left out %v; want %q, %v", got.paths(), got.leftOut, want.paths(), want.leftOut)
	}
	for _, f := range got.files {
		if f.Stat != (scanner.Stat{}) {
			t.Errorf("%q was looked at: %+v", f.Path, f.Stat)
		}
	}
}

// What is listed as one thing and then is another is neither.
func TestScanChangedKind(t *testing.T) {
	t.Parallel()
	tree := newFakeTree("a", "b", "c")
	swap := func(mode fs.FileMode) scanner.Tree {
		tree := newFakeTree("a", "b", "c")
		return hookTree{Tree: tree, listed: func(string) { tree.dirs["."][1].mode = mode }}
	}
	for name, mode := range map[string]fs.FileMode{
		"link": fs.ModeSymlink, "folder": fs.ModeDir, "pipe": fs.ModeNamedPipe, "device": fs.ModeDevice,
	} {
		got := scan(t, swap(mode), scanner.Options{})
		checkError(t, got.err, []string{`"b"`, "changed"})
		if !slices.Equal(got.paths(), []string{"a"}) {
			t.Errorf("%s: got %q", name, got.paths())
		}
	}
	if got := scan(t, tree, scanner.Options{}); got.err != nil {
		t.Error(got.err)
	}
}

// Special files are left out, whatever they are.
func TestScanSpecial(t *testing.T) {
	t.Parallel()
	tree := newFakeTree("a", "l -> pipe")
	left := map[string]scanner.Reason{"l": scanner.Special}
	for name, mode := range map[string]fs.FileMode{
		"pipe": fs.ModeNamedPipe, "socket": fs.ModeSocket, "disk": fs.ModeDevice,
		"terminal": fs.ModeDevice | fs.ModeCharDevice, "odd": fs.ModeIrregular,
	} {
		tree.add(name, mode)
		left[name] = scanner.Special
	}
	got := scan(t, tree, scanner.Options{})
	if got.err != nil || !slices.Equal(got.paths(), []string{"a"}) || !maps.Equal(got.leftOut, left) {
		t.Errorf("got %q, left out %v, %v", got.paths(), got.leftOut, got.err)
	}
}

func TestScanManyLinksDeep(t *testing.T) {
	t.Parallel()
	chain := func(n int) *fakeTree {
		tree := newFakeTree("e/f", "d00/a")
		for i := range n {
			link := fmt.Sprintf("d%02d/next", i)
			tree.links[link] = fmt.Sprintf("d%02d", i+1)
			if i == n-1 {
				tree.links[link] = "e"
			}
			tree.add(link, fs.ModeSymlink)
		}
		return tree
	}
	got := scan(t, chain(40), scanner.Options{})
	if want := "d00" + strings.Repeat("/next", 40) + "/f -> e/f"; got.err != nil || !slices.Contains(got.paths(), want) {
		t.Errorf("40 links: got %q, %v, want %s among them", got.paths(), got.err, want)
	}
	got = scan(t, chain(41), scanner.Options{})
	checkError(t, got.err, []string{`"d00/next`, "40 symbolic links"})
}

func BenchmarkScan(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		b.Run(fmt.Sprintf("entries=%d", n), func(b *testing.B) {
			tree := newFlatTree(n)
			l := newLayout(b, layout.CleanURIs)
			b.ReportAllocs()
			for b.Loop() {
				got := 0
				o := scanner.Options{Prefix: l.BaseURL, Key: l.AppendKey}
				for _, err := range scanner.Scan(b.Context(), tree, o) {
					if err != nil {
						b.Fatal(err)
					}
					got++
				}
				if got != n {
					b.Fatalf("got %d files, want %d", got, n)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/entry")
		})
	}
}

// flatTree is one directory with many files in an order of their own.
type flatTree struct {
	*fakeTree
	names []string
}

func newFlatTree(n int) *flatTree {
	t := &flatTree{fakeTree: newFakeTree()}
	r := rand.New(rand.NewPCG(5, 6))
	for _, i := range r.Perm(n) {
		t.names = append(t.names, fmt.Sprintf("page number %07d.html", i))
	}
	return t
}

func (t *flatTree) OpenDir(string) (scanner.Dir, error) { return t, nil }

func (t *flatTree) Entries(fn func(string, fs.FileMode) error) error {
	for _, name := range t.names {
		if err := fn(name, 0); err != nil {
			return err
		}
	}
	return nil
}

func (t *flatTree) Lstat(string) (scanner.Stat, error) { return scanner.Stat{}, nil }
func (t *flatTree) Info() (fs.FileInfo, error)         { return nil, nil }
func (t *flatTree) Close() error                       { return nil }

// TestLargeDirectory has a directory so large that a second goroutine looks at
// its files, with a subdirectory in the middle.
func TestLargeDirectory(t *testing.T) {
	t.Parallel()
	for _, n := range []int{255, 256, 257, 1000, 1024} {
		fsys := fstest.MapFS{}
		var want []string
		for i := range n {
			name := fmt.Sprintf("d/f%05d", i)
			fsys[name] = &fstest.MapFile{Data: make([]byte, i)}
			want = append(want, name)
		}
		fsys["d/f00100/x"] = &fstest.MapFile{}
		delete(fsys, "d/f00100")
		want[100] = "d/f00100/x"
		var got []string
		for f, err := range scanner.Scan(t.Context(), scanner.FSTree(fsys), scanner.Options{}) {
			if err != nil {
				t.Fatal(err)
			}
			if i := len(got); i != 100 && f.Size != int64(i) {
				t.Errorf("%s has %d bytes, want %d", f.Path, f.Size, i)
			}
			got = append(got, f.Path)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d files: got %d, %q", n, len(got), got[:3])
		}

		ctx, cancel := context.WithCancel(t.Context())
		seen := 0
		for _, err := range scanner.Scan(ctx, scanner.FSTree(fsys), scanner.Options{}) {
			if err != nil {
				break
			}
			if seen++; seen == n/2 {
				cancel()
			}
		}
		cancel()
		if seen != n/2 {
			t.Errorf("%d files: %d were seen after the context had ended", n, seen-n/2)
		}
	}
}

// A URI that no reader takes stops the run, as does a directory that only such
// URIs can be below.
func TestLongURIs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 125) + "/" // 750 bytes when they are escaped
	fits := strings.Repeat(long, 16)
	l := newLayout(t, layout.PlainURIs)
	for _, test := range []struct {
		path string
		want []string
	}{
		{path: fits + "f"},
		{path: fits + strings.Repeat("é", 50), want: []string{"12288 bytes", "--exclude", `"…"`}},
		{path: fits + long + "f", want: []string{"12288 bytes", "--exclude", `"…"`}},
	} {
		got := scan(t, newFakeTree(test.path), scanner.Options{Prefix: l.BaseURL, Key: l.AppendKey})
		checkError(t, got.err, test.want)
		if got.err != nil && len(got.err.Error()) > 500 {
			t.Errorf("a message of %d bytes", len(got.err.Error()))
		}
	}
}
