package publish

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func mustBegin(t *testing.T, dir string) *Tx {
	t.Helper()
	tx, err := Begin(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

// checkLocked fails if an error does not say that a process holds the lock.
func checkLocked(t *testing.T, err error, pid int) {
	t.Helper()
	if !errors.Is(err, ErrLocked) || IsIncomplete(err) {
		t.Errorf("got %v, want %v", err, ErrLocked)
		return
	}
	host, _ := os.Hostname()
	for _, say := range []string{strconv.Itoa(pid), host} {
		if !strings.Contains(err.Error(), say) {
			t.Errorf("%q does not say %s", err, say)
		}
	}
}

func TestLocked(t *testing.T) {
	t.Parallel()
	dir := sampleBefore.build(t)
	tx := mustBegin(t, dir)
	if err := sample.stage(tx); err != nil {
		t.Fatal(err)
	}
	before := treeOf(t, dir)
	for range 3 {
		second, err := Begin(t.Context(), dir, Options{})
		if err == nil {
			second.Close()
		}
		checkLocked(t, err, os.Getpid())
	}
	checkTree(t, "after the second", treeOf(t, dir), before)
	if err := tx.Commit(t.Context()); err != nil {
		t.Error(err)
	}
	if err := tx.Close(); err != nil {
		t.Error(err)
	}
	checkTree(t, "after the first", treeOf(t, dir), sampleAfter)
	mustBegin(t, dir).Close()
}

// TestLockedByAnotherName has two ways to the same directory.
func TestLockedByAnotherName(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	link := filepath.Join(tempDir(t), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip(err)
	}
	defer mustBegin(t, dir).Close()
	tx, err := Begin(t.Context(), link, Options{})
	if err == nil {
		tx.Close()
	}
	checkLocked(t, err, os.Getpid())
}

func TestLockTimeout(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name          string
		held, timeout time.Duration
		want          error
		took          time.Duration
	}{
		{"no time at all", time.Hour, 0, ErrLocked, 0},
		{"too short", time.Hour, time.Second, ErrLocked, time.Second},
		{"long enough", time.Second + 10*time.Millisecond, time.Hour, nil, time.Second + retryEvery},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := tempDir(t)
			synctest.Test(t, func(t *testing.T) {
				first := mustBegin(t, dir)
				held := time.AfterFunc(test.held, func() { first.Close() })
				start := time.Now()
				tx, err := Begin(t.Context(), dir, Options{LockTimeout: test.timeout})
				if got := time.Since(start); !errors.Is(err, test.want) || got != test.took {
					t.Errorf("got %v after %v, want %v after %v", err, got, test.want, test.took)
				}
				if err == nil {
					err = tx.Close()
				} else {
					checkLocked(t, err, os.Getpid())
					held.Stop()
					err = first.Close()
				}
				if err != nil {
					t.Error(err)
				}
			})
			checkTree(t, "after all", treeOf(t, dir), tree{})
		})
	}
}

func TestLockCanceled(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	synctest.Test(t, func(t *testing.T) {
		defer mustBegin(t, dir).Close()
		stop := errors.New("stopped by hand")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second+time.Millisecond, func() { cancel(stop) })
		start := time.Now()
		_, err := Begin(ctx, dir, Options{LockTimeout: time.Hour})
		if got := time.Since(start); !errors.Is(err, stop) || got != time.Second+time.Millisecond {
			t.Errorf("got %v after %v, want %v", err, got, stop)
		}
	})
}

// TestLockOfRenamedDirectory renames the directory while another transaction
// waits for it: what that waits for is never to be had.
func TestLockOfRenamedDirectory(t *testing.T) {
	t.Parallel()
	top := tempDir(t)
	dir := filepath.Join(top, "out")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := os.Rename(dir, filepath.Join(top, "renamed")); err != nil {
		t.Skip(err)
	}
	within(t, func() {
		if l, err := acquire(t.Context(), root, 0); err == nil {
			l.release(root)
			t.Error("it got the lock of a directory that is no longer there")
		}
	})
}

// count is what each of many transactions does: it adds one to a number in a
// file, and looks whether it is alone.
func count(ctx context.Context, dir string) error {
	tx, err := Begin(ctx, dir, Options{LockTimeout: time.Minute})
	if err != nil {
		return err
	}
	defer tx.Close()
	alone, err := tx.root.OpenFile(Folder+"/alone", os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("somebody else is here: %w", err)
	}
	alone.Close()
	b, err := tx.Root().ReadFile("count")
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(string(b))
	if err != nil {
		return err
	}
	if err := put(tx, "x", file{path: "count", content: strconv.Itoa(n + 1)}); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	if err := tx.root.Remove(Folder + "/alone"); err != nil {
		return err
	}
	return tx.Close()
}

func init() {
	children["count"] = func(args []string) error { // directory, how often
		n, err := strconv.Atoi(args[1])
		for range n {
			err = errors.Join(err, count(context.Background(), args[0]))
		}
		return err
	}
	children["hold"] = func(args []string) error { // directory
		tx, err := Begin(context.Background(), args[0], Options{})
		if err == nil {
			err = sample.stage(tx)
		}
		if err != nil {
			return err
		}
		fmt.Println("ready")
		io.Copy(io.Discard, os.Stdin) // until it is killed
		return nil
	}
}

// TestLockFileComesAndGoes locks and lets go as fast as it can. As the lock file
// is removed each time, one that was opened before is worth nothing.
func TestLockFileComesAndGoes(t *testing.T) {
	t.Parallel()
	const goroutines, times = 4, 2000
	root, err := os.OpenRoot(tempDir(t))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	var left, inside atomic.Int64
	left.Store(times)
	var wait sync.WaitGroup
	for range goroutines {
		wait.Go(func() {
			for left.Load() > 0 && !t.Failed() {
				l, err := try(root)
				if err != nil && !errors.Is(err, ErrLocked) {
					t.Error(err)
				}
				if l == nil {
					runtime.Gosched()
					continue
				}
				if inside.Add(1) != 1 {
					t.Error("two hold the lock")
				}
				runtime.Gosched()
				inside.Add(-1)
				left.Add(-1)
				l.release(root)
			}
		})
	}
	wait.Wait()
}

func checkCount(t *testing.T, dir string, want int) {
	t.Helper()
	checkTree(t, "after all", treeOf(t, dir), tree{"count": strconv.Itoa(want)})
}

func TestContendingProcesses(t *testing.T) {
	t.Parallel()
	const processes, times = 8, 20
	dir := tree{"count": "0"}.build(t)
	var wait sync.WaitGroup
	for range processes {
		cmd := child(t, "count", dir, strconv.Itoa(times))
		wait.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	wait.Wait()
	checkCount(t, dir, processes*times)
}

func TestContendingGoroutines(t *testing.T) {
	t.Parallel()
	const goroutines, times = 8, 10
	dir := tree{"count": "0"}.build(t)
	var wait sync.WaitGroup
	for range goroutines {
		wait.Go(func() {
			for range times {
				if err := count(t.Context(), dir); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	checkCount(t, dir, goroutines*times)
}

// TestDeadHolder has a lock that a process leaves behind when it is killed.
func TestDeadHolder(t *testing.T) {
	t.Parallel()
	dir := sampleBefore.build(t)
	cmd := child(t, "hold", dir)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	if line == "ready\n" {
		tx, err := Begin(t.Context(), dir, Options{})
		if err == nil {
			tx.Close()
		}
		checkLocked(t, err, cmd.Process.Pid)
	} else {
		t.Errorf("the child did not begin: %s", &complaint)
	}
	cmd.Process.Kill()
	cmd.Wait()
	if left := treeOf(t, dir); left[lockName] == "" || left[stagingName+"/000000"] == "" {
		t.Errorf("the child left nothing: %v", left)
	}
	if err, closed := sample.run(t.Context(), dir, nil); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	checkTree(t, "after all", treeOf(t, dir), sampleAfter)
}

// TestHolderUnknown has a lock file that does not say who holds the lock.
func TestHolderUnknown(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", "null?", "\x00\x00"} {
		dir := tempDir(t)
		tx := mustBegin(t, dir)
		tree{lockName: content}.buildIn(t, dir)
		if _, err := Begin(t.Context(), dir, Options{}); !errors.Is(err, ErrLocked) {
			t.Errorf("%q: got %v, want %v", content, err, ErrLocked)
		}
		if err := tx.Close(); err != nil {
			t.Error(err)
		}
	}
}
