package scanner

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// A few links can stand for endlessly many files: the scan gives up. Here it
// has seen nearly as many as it takes.
func TestTooManyLinked(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		links int // how many led to the tree
		seen  int
		want  []string
		fails bool
	}{
		{"just so many", 1, maxLinked - 4, []string{"a", "b/c", "d"}, false},
		{"one more", 1, maxLinked - 3, []string{"a", "b/c"}, true},
		{"folders count", 1, maxLinked - 2, []string{"a"}, true},
		{"no link led here", 0, maxLinked, []string{"a", "b/c", "d"}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			tree := FSTree(fstest.MapFS{"a": {}, "b/c": {}, "d": {}})
			root, err := tree.OpenDir(".")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			w := walker{
				ctx: t.Context(), tree: tree, o: Options{Key: plainKey, LeftOut: func(string, Reason) {}},
				yield:  func(f *File, _ error) bool { got = append(got, f.Path); return true },
				linked: test.seen,
			}
			err = w.directory(root, place{links: test.links})
			if (err != nil) != test.fails || err != nil && !strings.Contains(err.Error(), "1000000 files") {
				t.Errorf("got the error %v", err)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// A link counts, too, wherever it is.
func TestTooManyLinks(t *testing.T) {
	t.Parallel()
	tree := FSTree(fstest.MapFS{"a": {}})
	root, err := tree.OpenDir(".")
	if err != nil {
		t.Fatal(err)
	}
	list := &listing{}
	for _, name := range []string{"l", "m"} {
		if err := list.add(plainKey, name, entry{link: "a"}); err != nil {
			t.Fatal(err)
		}
	}
	w := walker{ctx: t.Context(), tree: tree, yield: func(*File, error) bool { return true }, linked: maxLinked - 1}
	o := &opened{dir: root, list: list}
	if err := w.entry(o, nil, 0); err != nil {
		t.Error(err)
	}
	if err := w.entry(o, nil, 1); err == nil || !strings.Contains(err.Error(), `"m"`) {
		t.Errorf("got the error %v", err)
	}
}
