package gitlog

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// repository is a working tree for a test.
type repository struct {
	t   *testing.T
	dir string
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not here")
	}
	r := &repository{t, t.TempDir()}
	r.git("init", "-q")
	return r
}

func (r *repository) git(args ...string) {
	r.t.Helper()
	r.gitAt(time.Unix(1, 0), args...)
}

func (r *repository) gitAt(at time.Time, args ...string) {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	date := at.UTC().Format(time.RFC3339)
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (r *repository) write(name, content string) {
	r.t.Helper()
	name = filepath.Join(r.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *repository) commit(at time.Time) {
	r.t.Helper()
	r.git("add", "-A")
	r.gitAt(at, "commit", "-q", "-m", "x")
}

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestRead(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	day := func(n int) time.Time { return start.AddDate(0, 0, n) }
	r.write("site/old.txt", "a")
	r.write("site/often.txt", "a")
	r.write("site/é \"x\"\n.txt", "a")
	r.write("site/dirty.txt", "a")
	r.write("site/moved.txt", "a")
	r.write("other/a.txt", "a")
	r.commit(day(0))
	r.write("site/often.txt", "b")
	r.commit(day(1))
	r.write("site/often.txt", "c")
	r.git("mv", "site/moved.txt", "site/there.txt")
	r.commit(day(2))
	r.write("other/a.txt", "b")
	r.commit(day(3))
	r.write("site/dirty.txt", "b")
	r.write("site/new.txt", "a")
	got, err := Read(context.Background(), filepath.Join(r.dir, "site"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]time.Time{
		"old.txt": day(0), "often.txt": day(2), "é \"x\"\n.txt": day(0), "there.txt": day(2),
		"dirty.txt": {}, "new.txt": {}, "moved.txt": {}, "other/a.txt": {}, "../other/a.txt": {},
	} {
		at, ok := got.Of(name)
		if ok == want.IsZero() || ok && !at.Equal(want) {
			t.Errorf("%q: got %v, %v, want %v", name, at, ok, want)
		}
	}
	if got.Shallow {
		t.Error("the log counts as cut off")
	}
}

func TestReadShallow(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.write("a.txt", "a")
	r.commit(start)
	r.write("b.txt", "a")
	r.commit(start.AddDate(0, 0, 1))
	clone := filepath.Join(t.TempDir(), "clone")
	r.git("clone", "-q", "--depth", "1", "file://"+filepath.ToSlash(r.dir), clone)
	got, err := Read(context.Background(), clone)
	if err != nil {
		t.Fatal(err)
	}
	if at, ok := got.Of("a.txt"); !got.Shallow || !ok || !at.Equal(start.AddDate(0, 0, 1)) {
		t.Errorf("got %v, %v, shallow: %v", at, ok, got.Shallow)
	}
}

func TestReadNothing(t *testing.T) {
	t.Parallel()
	if _, err := Read(context.Background(), t.TempDir()); !errors.Is(err, ErrNone) {
		t.Errorf("got %v", err)
	}
	r := newRepository(t)
	got, err := Read(context.Background(), r.dir) // which has no commit
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := got.Of("a.txt"); ok {
		t.Error("a file that is not there was committed")
	}
	r.write("a.txt", "a")
	r.git("add", "-A")
	if _, err := Read(context.Background(), r.dir); err == nil || errors.Is(err, ErrNone) {
		t.Errorf("without a commit: got %v", err)
	}
}
