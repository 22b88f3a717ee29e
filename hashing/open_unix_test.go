//go:build unix

package hashing

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestRootOpener opens what may have taken a file's place since it was listed.
func TestRootOpener(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	link := func(target string) func(string) error {
		return func(name string) error { return os.Symlink(target, name) }
	}
	errAny := errors.New("any error")
	tests := []struct {
		name string
		make func(name string) error
		path string
		want error
	}{
		{"a file", func(name string) error { return os.WriteFile(name, []byte("inside"), 0o644) }, "x", nil},
		{"a pipe", func(name string) error { return syscall.Mkfifo(name, 0o644) }, "x", ErrNotRegular},
		{"a directory", func(name string) error { return os.Mkdir(name, 0o755) }, "x", ErrNotRegular},
		{"a link to a file inside", link("inside"), "x", nil},
		{"a link to a pipe", link("pipe"), "x", ErrNotRegular},
		{"a link to a file outside", link(outside), "x", errAny},
		{"a relative link to a file outside", link("../../" + filepath.Base(filepath.Dir(outside)) + "/outside"), "x", errAny},
		{"a link to a device", link("/dev/zero"), "x", errAny},
		{"a link to nothing", link("nothing"), "x", fs.ErrNotExist},
		{"a link to itself", link("x"), "x", errAny},
		{"a directory that is a link outside", link(filepath.Dir(outside)), "x/outside", errAny},
		{"nothing", func(string) error { return nil }, "x", fs.ErrNotExist},
		{"a path that leads out", func(string) error { return nil }, "../outside", errAny},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "inside"), []byte("inside"), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := test.make(filepath.Join(dir, "x")); err != nil {
				t.Fatal(err)
			}
			fp, err := newPatientReader(RootOpener{openRoot(t, dir)}).Read(t.Context(), test.path, "x", everything)
			if test.want == nil {
				if err != nil || fp.Hash != hashOf([]byte("inside")) {
					t.Errorf("got %v, %v", fp, err)
				}
				return
			}
			if err == nil || test.want != errAny && !errors.Is(err, test.want) {
				t.Errorf("got %v, %v, want %v", fp, err, test.want)
			}
		})
	}
}
