//go:build unix

package snapshot

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wellspring-sync/wellspring/layout"
)

// within fails the test if f takes long: to open a pipe may take for ever.
func within(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("it hangs")
	}
}

// TestPipes has a pipe, a link to one, or a folder in the place of each document.
func TestPipes(t *testing.T) {
	t.Parallel()
	l := testLayout(t)
	for _, ref := range []layout.Ref{l.SourceDescription(), l.CapabilityList(), l.ResourceList(), l.ChangeList(), l.Record()} {
		for kind, make := range map[string]func(name string) error{
			"a pipe":   func(name string) error { return syscall.Mkfifo(name, 0o644) },
			"a folder": func(name string) error { return os.Mkdir(name, 0o755) },
			"a link to a pipe": func(name string) error {
				return errors.Join(syscall.Mkfifo(filepath.Join(filepath.Dir(name), "pipe"), 0o644), os.Symlink("pipe", name))
			},
		} {
			t.Run(kind+" for "+ref.Path, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				files := smallPublication(t)
				files[ref.Path] = nil
				for path, f := range files {
					name := filepath.Join(dir, filepath.FromSlash(path))
					err := os.MkdirAll(filepath.Dir(name), 0o755)
					if err == nil && f == nil {
						err = make(name)
					} else if err == nil {
						err = os.WriteFile(name, f.Data, 0o644)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				within(t, func() {
					files := os.DirFS(dir)
					s, err := Open(files, l)
					if err == nil {
						_, err = s.OpenList()
					}
					if err == nil {
						for _, e := range s.Resources(t.Context()) {
							err = errors.Join(err, e)
						}
					}
					if ref == l.SourceDescription() {
						if err != nil || len(s.Missing) != 1 {
							t.Errorf("got %v, want that it counts as missing", err)
						}
					} else if !errors.Is(err, errNotRegular) || !strings.Contains(err.Error(), ref.Path+": it is no regular file") {
						t.Errorf("got %v", err)
					}
					LastOf(files, l)
					FolderOf(files, l)
					HeadOf(files, ref.Path)
					if _, err := ReadFile(files, ref.Path); !errors.Is(err, errNotRegular) {
						t.Errorf("reading it: %v", err)
					}
				})
			})
		}
	}
}

// racyFS shows regular files, and opens something else.
type racyFS struct{ fs.FS }

func (r racyFS) Stat(name string) (fs.FileInfo, error) { return fs.Stat(r.FS, "file") }

// TestNotRegularByNow has something take the place of a file after it was looked
// at.
func TestNotRegularByNow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "file"), nil, 0o644), os.Mkdir(filepath.Join(dir, "folder"), 0o755)); err != nil {
		t.Fatal(err)
	}
	if _, err := open(racyFS{os.DirFS(dir)}, "folder"); !errors.Is(err, errNotRegular) {
		t.Errorf("got %v", err)
	}
}
