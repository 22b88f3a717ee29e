package publish

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const mountedVariable = "WELLSPRING_TEST_MOUNTED"

// withMount runs the rest of a test in a process that has a small file system
// of its own, which nobody else sees and which ends with it. Where that is not
// allowed, the test is skipped. In that process, it returns the file system.
func withMount(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv(mountedVariable); dir != "" {
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
			fmt.Println("cannot mount:", err)
			t.SkipNow()
		}
		return dir
	}
	cmd := child(t, "", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(cmd.Env, mountedVariable+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	switch {
	case cmd.ProcessState == nil:
		t.Skipf("mounting is not allowed: %v", err)
	case err != nil:
		t.Fatalf("%v\n%s", err, out)
	case strings.Contains(string(out), "cannot mount"):
		t.Skipf("%s", out)
	case !strings.Contains(string(out), "--- PASS: "+t.Name()):
		t.Fatalf("the test did not run:\n%s", out)
	}
	return ""
}

// fill takes all space but so many bytes, and returns what gives it back.
func fill(t *testing.T, dir string, spare int) func() {
	t.Helper()
	name := filepath.Join(dir, "filler")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err == nil {
		err = f.Truncate(info.Size() - int64(spare))
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() { os.Remove(name) }
}

// TestFullDisk runs out of space at each place where that can be.
func TestFullDisk(t *testing.T) {
	top := withMount(t)
	if top == "" {
		return
	}
	dir := filepath.Join(top, "out")
	tree{"x": "old"}.buildIn(t, dir)
	want := unchangeable(t, dir)
	check := func(t *testing.T, err error, closed error) {
		t.Helper()
		if !errors.Is(err, syscall.ENOSPC) || IsIncomplete(err) || closed != nil {
			t.Errorf("got %v, %v, want %v", err, closed, syscall.ENOSPC)
		}
		checkUnchanged(t, dir, want)
	}
	big := plan{puts: []file{{path: "x", content: strings.Repeat("new", 20_000)}}}
	many := plan{}
	for i := range 100 {
		many.puts = append(many.puts, file{path: fmt.Sprintf("a/%060d", i)}) // which takes a long journal
	}
	t.Run("no byte left", func(t *testing.T) {
		free := fill(t, top, 0)
		err, closed := big.run(t.Context(), dir, nil)
		check(t, err, closed)
		free()
		mustBegin(t, dir).Close() // the lock is free again
	})
	t.Run("staging", func(t *testing.T) {
		defer fill(t, top, 8192)()
		err, closed := big.run(t.Context(), dir, nil)
		check(t, err, closed)
	})
	t.Run("journal", func(t *testing.T) {
		defer fill(t, top, 12288)()
		err, closed := many.run(t.Context(), dir, nil)
		check(t, err, closed)
		if err == nil || !strings.Contains(err.Error(), "journal") {
			t.Errorf("%v does not say that it was the journal", err)
		}
	})
	t.Run("journal of which one byte fits", func(t *testing.T) {
		defer fill(t, top, 8192)()
		err, closed := many.run(t.Context(), dir, nil)
		check(t, err, closed)
	})
	t.Run("full after the journal", func(t *testing.T) {
		var free func()
		err, closed := many.run(t.Context(), dir, func(op, name string) error {
			if op+" "+name == decided {
				free = fill(t, top, 0)
			}
			return nil
		})
		if free == nil || err != nil || closed != nil {
			t.Fatalf("to move files takes no space: %v, %v", err, closed)
		}
		free()
		if got := treeOf(t, dir); len(got) != len(many.puts)+2 {
			t.Errorf("there are %d files, want %d", len(got), len(many.puts)+2)
		}
	})
}

// TestReadOnlyFileSystem begins where nothing can be written, and where a
// commit is pending.
func TestReadOnlyFileSystem(t *testing.T) {
	top := withMount(t)
	if top == "" {
		return
	}
	tree{"out/x": "x", "pending/" + journalName: `{"format":1}`}.buildIn(t, top)
	want := unchangeable(t, top)
	if err := syscall.Mount("", top, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"out", "pending", "new"} {
		_, err := Begin(t.Context(), filepath.Join(top, dir), Options{})
		if !errors.Is(err, syscall.EROFS) || !strings.Contains(err.Error(), filepath.Join(top, dir)) {
			t.Errorf("%s: got %v", dir, err)
		}
	}
	checkUnchanged(t, top, want)
}

func TestFree(t *testing.T) {
	top := withMount(t)
	if top == "" {
		return
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	before, err := Free(root)
	if err != nil || before <= 0 || before > 64<<10 {
		t.Errorf("got %d, %v, of 64 KiB", before, err)
	}
	f, err := root.Create("x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(f, zeros{}, 16<<10); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if after, err := Free(root); err != nil || after != before-16<<10 {
		t.Errorf("got %d, %v, want %d", after, err, before-16<<10)
	}
	if _, err := fs.Stat(root.FS(), "x"); err != nil {
		t.Error(err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestMountedFolder has another file system, or the same one once more, where
// documents go: no commit begins that could not be completed.
func TestMountedFolder(t *testing.T) {
	top := withMount(t)
	if top == "" {
		return
	}
	dir := filepath.Join(top, "out")
	tree{"far/": "", "out/x": "old", "out/sync/deep/": "", "out/other/": ""}.buildIn(t, top)
	if err := syscall.Mount("tmpfs", filepath.Join(dir, "sync"), "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("cannot mount:", err)
	}
	if err := syscall.Mount(filepath.Join(top, "far"), filepath.Join(dir, "other"), "", syscall.MS_BIND, ""); err != nil {
		t.Skip("cannot mount:", err)
	}
	want := unchangeable(t, dir)
	for _, test := range []struct{ path, says string }{
		{"sync/list", "above sync,"},
		{"sync/deep/list", "above sync,"},
		{"other/list", "above other,"},
		{"other/deep/list", "above other,"},
	} {
		p := plan{puts: []file{{path: "x", content: "new"}, {path: test.path, content: "new"}}}
		err, closed := p.run(t.Context(), dir, nil)
		if err == nil || !strings.Contains(err.Error(), test.says) || IsIncomplete(err) || closed != nil {
			t.Errorf("%s: got %v, %v", test.path, err, closed)
		}
		checkUnchanged(t, dir, want)
	}
	p := plan{puts: []file{{path: "x", content: "new"}, {path: "made/list", content: "new"}}}
	if err, closed := p.run(t.Context(), dir, nil); err != nil || closed != nil {
		t.Error(err, closed)
	}
}
