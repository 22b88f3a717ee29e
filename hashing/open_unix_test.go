//go:build unix

package hashing

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// openers are the ways to open files below a root.
var openers = map[string]func(t *testing.T, root *os.Root) Opener{
	"RootOpener": func(_ *testing.T, root *os.Root) Opener { return RootOpener{root} },
	"NewOpener": func(t *testing.T, root *os.Root) Opener {
		o, closeOpener, err := NewOpener(root)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := closeOpener(); err != nil {
				t.Error(err)
			}
		})
		return o
	},
}

// TestOpeners opens what may have taken a file's place since it was listed.
func TestOpeners(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	link := func(target string) func(string) error {
		return func(name string) error { return os.Symlink(target, name) }
	}
	nothing := func(string) error { return nil }
	errAny := errors.New("any error")
	tests := []struct {
		name string
		make func(name string) error
		path string
		want error
		// strict is what comes of a link where the kernel follows none.
		strict error
	}{
		{"a file", func(name string) error { return os.WriteFile(name, []byte("inside"), 0o644) }, "x", nil, nil},
		{"a file below", nothing, "dir/inside", nil, nil},
		{"a pipe", func(name string) error { return syscall.Mkfifo(name, 0o644) }, "x", ErrNotRegular, nil},
		{"a directory", func(name string) error { return os.Mkdir(name, 0o755) }, "x", ErrNotRegular, nil},
		{"a link to a file inside", link("inside"), "x", nil, ErrNotRegular},
		{"a link to a pipe", link("pipe"), "x", ErrNotRegular, ErrNotRegular},
		{"a link to a file outside", link(outside), "x", errAny, ErrNotRegular},
		{"a relative link to a file outside", link("../../" + filepath.Base(filepath.Dir(outside)) + "/outside"), "x", errAny, ErrNotRegular},
		{"a link to a device", link("/dev/zero"), "x", errAny, ErrNotRegular},
		{"a link to nothing", link("nothing"), "x", fs.ErrNotExist, ErrNotRegular},
		{"a link to itself", link("x"), "x", errAny, ErrNotRegular},
		{"a directory that is a link inside", link("dir"), "x/inside", nil, ErrNotRegular},
		{"a directory that is a link outside", link(filepath.Dir(outside)), "x/outside", errAny, ErrNotRegular},
		{"nothing", nothing, "x", fs.ErrNotExist, nil},
		{"nothing below", nothing, "dir/x", fs.ErrNotExist, nil},
		{"below a file", nothing, "inside/x", errAny, nil},
		{"a path that leads out", nothing, "../outside", errAny, nil},
		{"an absolute path", nothing, outside, errAny, nil},
	}
	for name, opener := range openers {
		for _, test := range tests {
			t.Run(name+"/"+test.name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				if err := os.Mkdir(filepath.Join(dir, "dir"), 0o755); err != nil {
					t.Fatal(err)
				}
				for _, inside := range []string{"inside", "dir/inside"} {
					if err := os.WriteFile(filepath.Join(dir, inside), []byte("inside"), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
					t.Fatal(err)
				}
				if err := test.make(filepath.Join(dir, "x")); err != nil {
					t.Fatal(err)
				}
				want := test.want
				if name == "NewOpener" && runtime.GOOS == "linux" && test.strict != nil {
					want = test.strict
				}
				fp, err := newPatientReader(opener(t, openRoot(t, dir))).Read(t.Context(), Job{Path: test.path, Name: "x", Want: everything})
				if want == nil {
					if err != nil || fp.Hash != hashOf([]byte("inside")) {
						t.Errorf("got %v, %v", fp, err)
					}
					return
				}
				if err == nil || want != errAny && !errors.Is(err, want) {
					t.Errorf("got %v, %v, want %v", fp, err, want)
				}
			})
		}
	}
}

// TestOpenersMoving has a real file change while it is read, by each opener.
func TestOpenersMoving(t *testing.T) {
	t.Parallel()
	for name, opener := range openers {
		for what, change := range changes {
			for times := range 4 {
				t.Run(fmt.Sprintf("%s/%s/times=%d", name, what, times), func(t *testing.T) {
					t.Parallel()
					open := func(name string) (File, error) {
						return opener(t, openRoot(t, filepath.Dir(name))).OpenFile(filepath.Base(name))
					}
					testMovingFile(t, times, open, func(name string, n int) { change(t, name, n) })
				})
			}
		}
	}
}

// TestOpenersState compares what is known of an open file with what package os
// says.
func TestOpenersState(t *testing.T) {
	t.Parallel()
	for name, opener := range openers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			native := filepath.Join(dir, "file")
			if err := os.WriteFile(native, make([]byte, 1234), 0o640); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(native, time.Time{}, time.Unix(-1e9, 123456789)); err != nil {
				t.Fatal(err)
			}
			want, err := os.Stat(native)
			if err != nil {
				t.Fatal(err)
			}
			f, err := opener(t, openRoot(t, dir)).OpenFile("file")
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			got, err := f.Stat()
			if err != nil {
				t.Fatal(err)
			}
			if got.Name() != "file" || got.Size() != want.Size() || got.Mode() != want.Mode() || got.IsDir() ||
				!got.ModTime().Equal(want.ModTime()) || !changeTime(got).Equal(changeTime(want)) {
				t.Errorf("got %v, want %v", fs.FormatFileInfo(got), fs.FormatFileInfo(want))
			}
			if got.Sys().(*syscall.Stat_t).Ino != want.Sys().(*syscall.Stat_t).Ino {
				t.Error("it has another inode")
			}
		})
	}
}

// TestOpenersLongPath has a path that is too long for one call of the system.
func TestOpenersLongPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	step, name := strings.Repeat("d", 250), ""
	root := openRoot(t, dir)
	for range 20 {
		if err := root.Mkdir(step, 0o755); err != nil {
			t.Skip(err)
		}
		below, err := root.OpenRoot(step)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { below.Close() })
		root, name = below, name+step+"/"
	}
	if err := root.WriteFile("file", []byte("deep"), 0o644); err != nil {
		t.Fatal(err)
	}
	for opened, opener := range openers {
		fp, err := newPatientReader(opener(t, openRoot(t, dir))).Read(t.Context(), Job{Path: name + "file", Name: "file", Want: everything})
		if err != nil || fp.Hash != hashOf([]byte("deep")) {
			t.Errorf("%s: got %v, %v", opened, fp, err)
		}
	}
}
