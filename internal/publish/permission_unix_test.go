//go:build unix

package publish

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// nobody is an ordinary user.
const nobody = 65534

// Exit codes of the child that is an ordinary user.
const (
	exitBegin  = 10 // Begin failed
	exitCommit = 11 // Commit failed, before anything was decided
	exitSkip   = 12 // it cannot be tried here
)

func init() {
	children["ordinary"] = func(args []string) error { // directory, path to put, path to remove
		if os.Getuid() == 0 {
			err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(nobody), syscall.Setuid(nobody))
			if err != nil {
				fmt.Println(err)
				os.Exit(exitSkip)
			}
		}
		if _, err := os.Stat(filepath.Dir(args[0])); err != nil { // the place for temporary files is not for everybody
			fmt.Println(err)
			os.Exit(exitSkip)
		}
		tx, err := Begin(context.Background(), args[0], Options{})
		if err != nil {
			fmt.Println(err)
			os.Exit(exitBegin)
		}
		defer tx.Close()
		if err := put(tx, "x", file{path: args[1], content: "new"}); err != nil {
			return err
		}
		if args[2] != "" {
			tx.Remove(args[2])
		}
		if err := tx.Commit(context.Background()); err != nil {
			closed := tx.Close()
			if IsIncomplete(err) || closed != nil {
				return errors.Join(err, closed)
			}
			fmt.Println(err)
			os.Exit(exitCommit)
		}
		return nil
	}
}

// ordinary runs a transaction as an ordinary user and returns how that ended,
// and what was said.
func ordinary(t *testing.T, dir, put, remove string) (code int, said string) {
	t.Helper()
	cmd := child(t, "ordinary", dir, put, remove)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	if code = cmd.ProcessState.ExitCode(); code == exitSkip {
		t.Skipf("an ordinary user cannot try that here: %s", out)
	}
	return code, string(out)
}

// give makes everything in a directory, and the directory, an ordinary user's.
func give(t *testing.T, dir string) {
	t.Helper()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() != 0 {
		return
	}
	err := filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = os.Lchown(name, nobody, nobody)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestPermission(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		readOnly    string // what an ordinary user may not change
		mode        fs.FileMode
		put, remove string
		want        int
		say         []string
	}{
		{"all is well", "", 0, "a/x", "b/y", 0, nil},
		{"a read-only directory", "out", 0o555, "x", "", exitBegin, []string{"/out", "permission denied"}},
		{"a directory that must not be entered", "out", 0o644, "x", "", exitBegin, []string{"/out", "permission denied"}},
		{"a read-only directory below", "out/a", 0o555, "a/x", "", exitCommit, []string{"/out/a", "permission denied"}},
		{"a read-only directory further below", "out/a", 0o555, "a/c/d/x", "", exitCommit, []string{"/out/a", "permission denied"}},
		{"a directory below that must not be entered", "out/a", 0o600, "a/x", "", exitCommit, []string{"a", "permission denied"}},
		{"a read-only directory to remove from", "out/b", 0o555, "x", "b/y", exitCommit, []string{"/out/b", "permission denied"}},
		{"a read-only file to replace", "out/a/x", 0o444, "a/x", "", 0, nil},
		{"a read-only file to remove", "out/b/y", 0o444, "x", "b/y", 0, nil},
		{"a read-only folder", "out/" + Folder, 0o555, "x", "", exitBegin, []string{"/out/" + Folder, "permission denied"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			top := tempDir(t)
			dir := filepath.Join(top, "out")
			tree{"a/x": "old", "b/y": "old", "b/z": "old"}.buildIn(t, dir)
			if strings.Contains(test.readOnly, Folder) {
				tree{Folder + "/": ""}.buildIn(t, dir)
			}
			give(t, dir)
			want := unchangeable(t, dir)
			restore := func() {}
			if test.readOnly != "" {
				restore = chmod(t, filepath.Join(top, test.readOnly), test.mode)
			}
			code, said := ordinary(t, dir, test.put, test.remove)
			restore()
			if code != test.want {
				t.Errorf("ended with %d, want %d: %s", code, test.want, said)
			}
			for _, say := range test.say {
				if !strings.Contains(said, say) {
					t.Errorf("%q does not say %s", said, say)
				}
			}
			if code != 0 {
				checkUnchanged(t, dir, want)
			}
		})
	}
}

// chmod changes a mode, and returns what changes it back.
func chmod(t *testing.T, name string, mode fs.FileMode) (restore func()) {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	restore = func() { os.Chmod(name, info.Mode()) }
	t.Cleanup(restore)
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
	return restore
}

// TestPermissionNewDirectory has to make the directory where that is not
// allowed.
func TestPermissionNewDirectory(t *testing.T) {
	t.Parallel()
	top := tempDir(t)
	above := filepath.Join(top, "above")
	if err := os.Mkdir(above, 0o755); err != nil {
		t.Fatal(err)
	}
	give(t, above)
	chmod(t, above, 0o555)
	code, said := ordinary(t, filepath.Join(above, "out"), "x", "")
	if code != exitBegin || !strings.Contains(said, "/above/out") || !strings.Contains(said, "permission denied") {
		t.Errorf("ended with %d: %s", code, said)
	}
	checkTree(t, "after all", treeOf(t, above), tree{})
}

// TestLockOfAnotherUser has a lock file that another user's run left when it
// was killed, and that this one must not write to.
func TestLockOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can leave files as another user")
	}
	dir := filepath.Join(tempDir(t), "out")
	tree{lockName: `{"pid":1}`}.buildIn(t, dir)
	give(t, dir)
	if err := os.Chown(filepath.Join(dir, lockName), 0, 0); err != nil {
		t.Fatal(err)
	}
	code, said := ordinary(t, dir, "x", "")
	if code != exitBegin || !strings.Contains(said, lockName) || !strings.Contains(said, "permission denied") {
		t.Errorf("ended with %d: %s", code, said)
	}
}
