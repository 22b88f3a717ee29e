package publish

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// killAt returns a hook that ends this process at the n-th step, at once and
// with nothing cleaned up, as a crash does.
func killAt(n int) func(op, path string) error {
	return func(string, string) error {
		if n--; n >= 0 {
			return nil
		}
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			return err
		}
		self.Kill()
		select {}
	}
}

func init() {
	children["sample"] = func(args []string) error { // directory, step
		n, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		err, closed := sample.run(context.Background(), args[0], killAt(n))
		return errors.Join(err, closed)
	}
}

// crash runs the sample transaction in a child that is killed at the n-th step,
// or ends if there is none.
func crash(t *testing.T, dir string, n int) (killed bool) {
	t.Helper()
	out, err := child(t, "sample", dir, fmt.Sprint(n)).CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && !exit.Exited() {
		return true
	}
	if err != nil {
		t.Fatalf("the child did not end as it should: %v\n%s", err, out)
	}
	return false
}

// next runs a transaction that does nothing but recover what was left, and
// checks that it ends in the old state if no commit was decided, and in the new
// one if there was.
func next(t *testing.T, dir string) {
	t.Helper()
	pending := Pending(dir)
	tx, err := Begin(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := sampleBefore
	if puts, _ := progress(t, dir); puts > 0 || pending {
		want = sampleAfter
	}
	checkTree(t, "after the next Begin", published(t, dir), want)
	if tx.Recovered != pending {
		t.Errorf("Recovered is %t, but whether there was a journal is %t", tx.Recovered, pending)
	}
	if err := tx.Close(); err != nil {
		t.Error(err)
	}
	checkTree(t, "after the next Close", treeOf(t, dir), want)
}

// TestCrash kills the transaction at each of its steps.
func TestCrash(t *testing.T) {
	t.Parallel()
	list := steps(t)
	journal := indexOf(t, list, decided)
	for n, step := range append(list, "after all") {
		t.Run(fmt.Sprintf("%d before %s", n, step), func(t *testing.T) {
			t.Parallel()
			dir := sampleBefore.build(t)
			if killed := crash(t, dir, n); killed != (n < len(list)) {
				t.Fatalf("killed: %t", killed)
			}
			puts, removes := progress(t, dir)
			if n <= journal && puts+removes > 0 {
				t.Errorf("%d files are in place and %d removed, though nothing was decided", puts, removes)
			}
			if ended := indexOf(t, list, "remove "+journalName) < n; Pending(dir) != (n > journal && !ended) {
				t.Errorf("Pending is %t", Pending(dir))
			}
			next(t, dir)
		})
	}
}

// TestCrashAgain runs the same transaction over what a killed one left.
func TestCrashAgain(t *testing.T) {
	t.Parallel()
	list := steps(t)
	for n, step := range list {
		t.Run(fmt.Sprintf("%d before %s", n, step), func(t *testing.T) {
			t.Parallel()
			dir := sampleBefore.build(t)
			crash(t, dir, n)
			if err, closed := sample.run(t.Context(), dir, nil); err != nil || closed != nil {
				t.Fatal(err, closed)
			}
			checkTree(t, "after the second try", treeOf(t, dir), sampleAfter)
		})
	}
}

var errCrash = errors.New("crashed")

// crashHere does as crash does, but within this process: from the n-th step on
// all of them fail, nothing is cleaned up, and the system lets go of the lock.
// It returns whether it came to that.
func crashHere(t *testing.T, dir string, n int, p *plan) (crashed bool) {
	t.Helper()
	tx := &Tx{log: slog.New(slog.DiscardHandler), step: func(string, string) error {
		if n--; n < 0 {
			return errCrash
		}
		return nil
	}}
	err := tx.open(dir)
	if err == nil {
		tx.lock, err = acquire(t.Context(), tx.root, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		tx.lock.file.Unlock()
		tx.root.Close()
	}()
	err = tx.prepare()
	if err == nil {
		err = p.stage(tx)
	}
	if err == nil {
		err = tx.Commit(t.Context())
	}
	if err != nil && !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	return err != nil
}

// fullVariable, if set, has nothing left out to save time.
const fullVariable = "WELLSPRING_TEST_FULL"

// TestCrashTwice stops the commit at its steps, and then the recovery at each of
// its own.
func TestCrashTwice(t *testing.T) {
	t.Parallel()
	list := steps(t)
	first, last := indexOf(t, list, decided)+1, indexOf(t, list, "remove "+journalName)
	stride := 4
	if os.Getenv(fullVariable) != "" {
		stride = 1
	}
	for n := first; n <= last; n += stride {
		t.Run(fmt.Sprintf("%d before %s", n, list[n]), func(t *testing.T) {
			t.Parallel()
			for m := 0; ; m++ {
				dir := sampleBefore.build(t)
				if !crashHere(t, dir, n, &sample) {
					t.Fatal("the first did not crash")
				}
				puts, removes := progress(t, dir)
				crashed := crashHere(t, dir, m, &plan{})
				again, more := progress(t, dir)
				if again < puts || more < removes {
					t.Errorf("step %d: %d files put and %d removed, but it was %d and %d", m, again, more, puts, removes)
				}
				next(t, dir)
				if t.Failed() || !crashed {
					return
				}
				if m > len(list) {
					t.Fatal("the recovery never ends")
				}
			}
		})
	}
}

// TestCrashNewDirectory crashes where the directory was made.
func TestCrashNewDirectory(t *testing.T) {
	t.Parallel()
	p := plan{puts: []file{{"a/one", "1", true}, {"two", "2", false}}}
	for n := 0; ; n++ {
		dir := filepath.Join(tempDir(t), "out")
		crashed := crashHere(t, dir, n, &p)
		pending := Pending(dir)
		tx, err := Begin(t.Context(), dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := tx.Close(); err != nil {
			t.Error(err)
		}
		want := tree{}
		if pending || !crashed {
			want = tree{"a/": "", "a/one": "1", "two": "2"}
		}
		checkTree(t, fmt.Sprintf("step %d", n), treeOf(t, dir), want)
		if !crashed {
			return
		}
	}
}

// TestFail has each step fail once; the steps after it work, if there are any.
func TestFail(t *testing.T) {
	t.Parallel()
	list := steps(t)
	journal, ended := indexOf(t, list, decided), indexOf(t, list, "remove "+journalName)
	broken := errors.New("broken")
	for n, step := range list {
		t.Run(fmt.Sprintf("%d %s", n, step), func(t *testing.T) {
			t.Parallel()
			dir := sampleBefore.build(t)
			want := unchangeable(t, dir)
			i := -1
			err, closed := sample.run(t.Context(), dir, func(op, path string) error {
				if i++; i == n {
					return fmt.Errorf("%s %s: %w", op, path, broken)
				}
				return nil
			})
			switch {
			case n <= journal:
				if !errors.Is(err, broken) || IsIncomplete(err) || closed != nil {
					t.Errorf("got %v and %v, want that nothing was decided", err, closed)
				}
				checkUnchanged(t, dir, want)
				return
			case n <= ended:
				if !errors.Is(err, broken) || !IsIncomplete(err) || closed != nil {
					t.Errorf("got %v and %v, want that it is incomplete", err, closed)
				}
				if !Pending(dir) {
					t.Error("nothing is pending")
				}
			default:
				if err != nil || !errors.Is(closed, broken) {
					t.Errorf("got %v and %v, want that it is done, but for the cleaning up", err, closed)
				}
			}
			progress(t, dir)
			next(t, dir)
		})
	}
}

// TestFailRecovery has each step of a recovery fail once.
func TestFailRecovery(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	list := steps(t)
	middle := indexOf(t, list, "rename "+sample.puts[3].path)
	for n := 0; ; n++ {
		dir := sampleBefore.build(t)
		crashHere(t, dir, middle, &sample)
		i := -1
		failed := ""
		tx, err := begin(t.Context(), dir, Options{}, func(op, path string) error {
			if i++; i == n {
				failed = op + " " + path
				return broken
			}
			return nil
		})
		if failed == "" {
			if err != nil {
				t.Fatal(err)
			}
			tx.Close()
			return
		}
		if err == nil {
			t.Fatalf("it began though %s failed", failed)
		}
		if !errors.Is(err, broken) || IsIncomplete(err) != Pending(dir) {
			t.Errorf("%s: got %v, but whether a commit is pending is %t", failed, err, Pending(dir))
		}
		next(t, dir)
		if t.Failed() {
			return
		}
	}
}

// TestFailedCommitStaysCommitted checks that Close removes nothing of a commit
// that was decided, even if it made the directory.
func TestFailedCommitStaysCommitted(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(tempDir(t), "out")
	p := plan{puts: []file{{"x", "x", false}}}
	err, closed := p.run(t.Context(), dir, func(op, path string) error {
		if op == "rename" && path == "x" {
			return errors.New("broken")
		}
		return nil
	})
	if !IsIncomplete(err) || closed != nil {
		t.Errorf("got %v, %v", err, closed)
	}
	tx, err := Begin(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Close()
	checkTree(t, "after the next Begin", published(t, dir), tree{"x": "x"})
}

// TestFailNewDirectory has each step before the commit fail where the directory
// was made: nothing is left of that.
func TestFailNewDirectory(t *testing.T) {
	t.Parallel()
	p := plan{puts: []file{{"a/x", "x", false}}}
	for n := 0; ; n++ {
		top := tempDir(t)
		i := -1
		last := false
		err, closed := p.run(t.Context(), filepath.Join(top, "a", "out"), func(op, path string) error {
			if i++; i == n {
				last = op+" "+path == decided
				return errors.New("broken")
			}
			return nil
		})
		if err == nil || IsIncomplete(err) || closed != nil {
			t.Errorf("step %d: got %v, %v", n, err, closed)
		}
		checkTree(t, fmt.Sprintf("step %d", n), treeOf(t, top), tree{})
		if last || t.Failed() {
			return
		}
	}
}
