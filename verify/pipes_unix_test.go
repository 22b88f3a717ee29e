//go:build unix

package verify

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestPipes meets pipes wherever files and directories are expected, and waits for
// none of them.
func TestPipes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"pike.txt", framework, part2, allZIP, "aaa", "old", description, capList, resList} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := good(t).write(t)
			pipe := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.RemoveAll(pipe); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mkfifo(pipe, 0o644); err != nil {
				t.Fatal(err)
			}
			r, err := Check(t.Context(), dir, Options{})
			if err == nil && name != "aaa" && name != "old" && len(r.Findings) == 0 {
				t.Error("nothing was found")
			}
		})
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	dir := good(t).write(t)
	for _, o := range []Options{{Resources: []Mapping{{"http://lake.example/", pipe}}}, {Against: pipe}} {
		if _, err := Check(t.Context(), dir, o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}
