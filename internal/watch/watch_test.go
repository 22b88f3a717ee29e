package watch

import (
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
)

// watched is a tree that is watched; each call sends what is then in it.
type watched struct {
	*testing.T
	dir   string
	calls chan string
	warns chan string
}

func start(t *testing.T, o Options) *watched {
	t.Helper()
	w := &watched{t, o.Root, make(chan string, 10_000), make(chan string, 10)}
	if o.Settle == 0 {
		o.Settle = 5 * time.Millisecond
	}
	o.Ignore = func(name string, dir bool) bool {
		return strings.HasSuffix(name, ".ignored") || dir && path.Base(name) == "ignored" || strings.HasPrefix(name, "ignored/")
	}
	o.Warn = func(text string) { w.warns <- text }
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- Watch(ctx, o, func(context.Context) error {
			w.calls <- list(o.Root)
			return nil
		})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != context.Canceled {
			t.Errorf("it ended with %v", err)
		}
	})
	return w
}

// list names the files of a tree, with what is in them.
func list(root string) string {
	var names []string
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "gone"
	}
	filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(root, name)
			text, _ := os.ReadFile(name)
			names = append(names, filepath.ToSlash(rel)+"="+string(text))
		}
		return nil
	})
	return strings.Join(names, " ")
}

// sees waits until a call saw the tree like this.
func (w *watched) sees(want string) {
	w.Helper()
	last := "nothing"
	late := time.After(20 * time.Second)
	for {
		select {
		case last = <-w.calls:
			if last == want {
				return
			}
		case <-late:
			w.Fatalf("the last call saw %q, want %q", last, want)
		}
	}
}

func (w *watched) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *watched) write(name, text string) {
	w.Helper()
	name = filepath.Join(w.dir, filepath.FromSlash(name))
	w.must(os.MkdirAll(filepath.Dir(name), 0o777))
	w.must(os.WriteFile(name, []byte(text), 0o666))
}

func (w *watched) rename(from, to string) {
	w.Helper()
	w.must(os.Rename(filepath.Join(w.dir, from), filepath.Join(w.dir, to)))
}

// edits does to a tree what people do to trees.
func edits(t *testing.T, o Options) *watched {
	o.Root = t.TempDir()
	w := start(t, o)
	w.sees("")
	w.write("a", "1")
	w.sees("a=1")
	w.write("a", "2 ")
	w.sees("a=2 ")
	w.write("x/y/z/b", "1")
	w.sees("a=2  x/y/z/b=1")
	w.write("x/y/z/b", "22")
	w.sees("a=2  x/y/z/b=22")
	w.rename("x", "u")
	w.sees("a=2  u/y/z/b=22")
	w.write("u/y/z/c", "3")
	w.sees("a=2  u/y/z/b=22 u/y/z/c=3")
	w.write("x/y/d", "4")
	w.sees("a=2  u/y/z/b=22 u/y/z/c=3 x/y/d=4")
	w.must(os.RemoveAll(filepath.Join(w.dir, "u", "y")))
	w.sees("a=2  x/y/d=4")
	w.rename("x", "u/y")
	w.sees("a=2  u/y/y/d=4")
	w.write("u/y/y/d", "five")
	w.sees("a=2  u/y/y/d=five")
	return w
}

func TestEvents(t *testing.T) {
	t.Parallel()
	w := edits(t, Options{})
	if len(w.warns) > 0 {
		t.Errorf("a warning: %s", <-w.warns)
	}
}

func TestPolling(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := edits(t, Options{NoEvents: true})
		if len(w.warns) > 0 {
			t.Errorf("a warning: %s", <-w.warns)
		}
	})
}

// eachWay runs a test with events, and with looking at all files, for which nobody has to
// wait: in a bubble, there is time between changes only.
func eachWay(t *testing.T, f func(*testing.T, Options)) {
	t.Run("events", func(t *testing.T) {
		t.Parallel()
		f(t, Options{})
	})
	t.Run("polling", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) { f(t, Options{NoEvents: true}) })
	})
}

// TestOverflow has a queue that is nearly always too short.
func TestOverflow(t *testing.T) {
	t.Parallel()
	w := edits(t, Options{queue: 1})
	for i := range 200 {
		w.write("many/"+strconv.Itoa(i)+"/f", "x")
	}
	for i := range 200 {
		w.must(os.RemoveAll(filepath.Join(w.dir, "many", strconv.Itoa(i))))
	}
	w.write("many/after", "y")
	w.sees("a=2  many/after=y u/y/y/d=five")
	w.write("many/after", "z")
	w.sees("a=2  many/after=z u/y/y/d=five")
}

// TestLimit has a system that lets two directories be watched.
func TestLimit(t *testing.T) {
	t.Parallel()
	added := 0
	o := Options{Poll: 10 * time.Millisecond, add: func(n *fsnotify.Watcher, name string) error {
		if added++; added > 2 {
			return &os.PathError{Op: "inotify_add_watch", Path: name, Err: syscall.ENOSPC}
		}
		return n.Add(name)
	}}
	w := edits(t, o)
	if got := <-w.warns; !strings.Contains(got, "looking at all files every 10ms") {
		t.Errorf("the warning is %q", got)
	}
	if len(w.warns) > 0 {
		t.Errorf("another warning: %s", <-w.warns)
	}
}

// TestIgnored changes what is of no interest, and then something that is.
func TestIgnored(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, o Options) {
		o.Root, o.Settle = t.TempDir(), -1
		w := start(t, o)
		w.sees("")
		w.must(os.Mkdir(filepath.Join(w.dir, "ignored"), 0o777))
		for i := range 20 {
			w.write("ignored/x", strconv.Itoa(i))
			w.write("ignored/y/z", strconv.Itoa(i))
			w.write("b.ignored", strconv.Itoa(i))
		}
		w.write("c", "1")
		if got, want := <-w.calls, "b.ignored=19 c=1 ignored/x=19 ignored/y/z=19"; got != want && got != strings.Replace(want, "c=1", "c=", 1) {
			t.Errorf("the first call saw %q, want %q", got, want)
		}
	})
}

// TestRoot takes the root away and gives others in its place.
func TestRoot(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, o Options) {
		top := t.TempDir()
		o.Root = filepath.Join(top, "root")
		w := start(t, o)
		w.sees("gone")
		w.write("a", "1")
		w.sees("a=1")
		w.must(os.RemoveAll(o.Root))
		w.sees("gone")
		w.write("a/b", "2")
		w.sees("a/b=2")
		w.must(os.Rename(o.Root, filepath.Join(top, "other")))
		w.sees("gone")
		w.must(os.Mkdir(filepath.Join(top, "third"), 0o777))
		if err := os.Symlink("other", o.Root); err != nil {
			t.Skip(err)
		}
		w.sees("a/b=2")
		w.write("a/b", "33")
		w.sees("a/b=33")
		w.must(os.Symlink("third", o.Root+".new"))
		w.must(os.Rename(o.Root+".new", o.Root))
		w.sees("")
		w.write("c", "4")
		w.sees("c=4")
	})
}

// TestManyAtOnce changes a tree as fast as it can, while calls are made.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	w := start(t, Options{Root: t.TempDir()})
	for i := range 30 {
		for j := range 10 {
			w.write(filepath.Join("d"+strconv.Itoa(j), strconv.Itoa(i), "f"), "1")
		}
		w.rename("d"+strconv.Itoa(i%10), "e")
		w.rename("e", "d"+strconv.Itoa(i%10))
	}
	for j := range 10 {
		w.must(os.RemoveAll(filepath.Join(w.dir, "d"+strconv.Itoa(j))))
	}
	w.sees("")
	w.write("d0/last", "1")
	w.sees("d0/last=1")
	w.write("d0/last", "2")
	w.sees("d0/last=2")
}
