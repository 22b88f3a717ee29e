package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wellspring-sync/wellspring/internal/publish"
)

// noLocks is a build on a file system that says it has no locks.
func (s *site) noLocks(now time.Time) ended {
	s.t.Helper()
	e, log := s.strace(now, "-e", "trace=flock", "-e", "inject=flock:error=EOPNOTSUPP")
	if !strings.Contains(log, "(INJECTED)") {
		s.t.Fatalf("nothing was locked: %v", e)
	}
	return e
}

// TestRow12NoLocks has file systems without locks: the lock is then a file.
func TestRow12NoLocks(t *testing.T) {
	t.Parallel()
	needStrace(t)
	dir := t.TempDir()
	s := newSite(t, dir)
	s.first()
	if e := s.noLocks(faultsStart); e.code != 0 || !strings.Contains(e.stderr, "has no locks") {
		t.Errorf("a first build: %v", e)
	}
	if exists(t, filepath.Join(s.out, publish.Folder)) {
		t.Errorf("%s is left behind", publish.Folder)
	}
	f := follow(s, faultsStart.Add(time.Minute))
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	held := filepath.Join(s.out, publish.Folder, "held")
	for _, test := range []struct {
		name, host string
		pid, code  int
	}{
		{"a living process", host, os.Getppid(), 5},
		{"a process elsewhere", "elsewhere.invalid", dead.ProcessState.Pid(), 5},
		{"a dead process", host, dead.ProcessState.Pid(), 0},
	} {
		lock := fmt.Sprintf(`{"pid":%d,"host":%q,"started":"2024-05-01T00:00:00Z"}`, test.pid, test.host)
		if err := os.MkdirAll(filepath.Dir(held), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(held, []byte(lock), 0o644); err != nil {
			t.Fatal(err)
		}
		e := s.noLocks(f.now)
		if e.code != test.code {
			t.Errorf("%s: %v", test.name, e)
		}
		if said := fmt.Sprintf("process %d on %s", test.pid, test.host); test.code == 5 && !strings.Contains(e.stderr, said) {
			t.Errorf("%s: it does not say %q: %v", test.name, said, e)
		}
	}
	s.edit()
	f.settle()
}

// TestRow9FewFiles lets the program open fewer and fewer files. It succeeds, or
// says what to do and has published nothing.
func TestRow9FewFiles(t *testing.T) {
	t.Parallel()
	s := newSite(t, t.TempDir())
	s.write("a/b/c/d/e/f/g/h/i/j/k", "deep", faultsStart.Add(-time.Hour))
	f := follow(s, faultsStart)
	s.edit()
	f.now = f.now.Add(time.Hour)
	succeeded := false
	for limit := 8; limit <= 64 && !succeeded; limit += 4 {
		before := filesOf(t, s.out)
		build := s.command(f.now)
		e := execute(t, exec.Command("sh", append([]string{"-c", fmt.Sprintf(`ulimit -n %d && exec "$@"`, limit), "sh"}, build.Args...)...))
		switch {
		case e.code == 0:
			succeeded = true
			continue
		case e.code != 1 || !strings.Contains(e.stderr, "ulimit -n"):
			t.Errorf("with %d files: %v", limit, e)
		}
		if d := differences(filesOf(t, s.out), before); d != nil {
			t.Errorf("with %d files, %v are published", limit, d)
		}
	}
	if !succeeded {
		t.Error("64 open files are not enough")
	}
	f.settle()
}

// TestRow70ClosedPipe has a reader of the output who does not wait for the end.
func TestRow70ClosedPipe(t *testing.T) {
	t.Parallel()
	s := newSite(t, t.TempDir())
	for i := range 2000 {
		s.write(fmt.Sprintf("%04d", i), "", faultsStart.Add(-time.Hour))
	}
	f := follow(s, faultsStart)
	for i := range 2000 {
		s.write(fmt.Sprintf("%04d", i), "changed", faultsStart.Add(-time.Minute))
	}
	f.now = f.now.Add(time.Hour)
	build := s.command(f.now, "--quiet=false", "--verbose")
	sh := exec.Command("bash", append([]string{"-c", `set -o pipefail; "$@" | head -n 1 >/dev/null`, "sh"}, build.Args...)...)
	if e := execute(t, sh); e.code != 1 || !strings.Contains(e.stderr, "broken pipe") {
		t.Errorf("%v", e)
	}
	if exists(t, filepath.Join(s.out, publish.Folder)) {
		t.Error("the run ended before it had cleaned up")
	}
	f.settle()
}
