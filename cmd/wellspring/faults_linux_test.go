package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/wellspring-sync/wellspring/internal/publish"
)

// Variables for the whole harness, which takes minutes. By default a sample of
// it runs.
const (
	longVariable  = "WELLSPRING_LONG"  // every fault at every call
	killsVariable = "WELLSPRING_KILLS" // how many random kills
)

func isLong() bool { return os.Getenv(longVariable) != "" }

// binary builds the program as it is released, once for all tests.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "wellspring-faults")
	if err != nil {
		return "", err
	}
	atEnd = append(atEnd, func() { os.RemoveAll(dir) })
	name := filepath.Join(dir, "wellspring")
	cmd := exec.Command("go", "build", "-trimpath", "-o", name, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return name, nil
})

// site is a source, its publication and a cache.
type site struct {
	t                  testing.TB
	source, out, cache string
	flags              []string
}

func newSite(t testing.TB, dir string) *site {
	t.Helper()
	s := &site{t: t, source: filepath.Join(dir, "source"), out: filepath.Join(dir, "out"), cache: filepath.Join(dir, "cache")}
	if err := os.MkdirAll(s.source, 0o755); err != nil {
		t.Fatal(err)
	}
	return s
}

// faultsStart is the time of the first publications.
var faultsStart = time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)

// write writes a file that was modified long before its publication.
func (s *site) write(name, content string, modified time.Time) {
	s.t.Helper()
	name = filepath.Join(s.source, name)
	err := os.MkdirAll(filepath.Dir(name), 0o755)
	if err == nil {
		err = os.WriteFile(name, []byte(content), 0o644)
	}
	if err == nil {
		err = os.Chtimes(name, modified, modified)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) remove(name string) {
	s.t.Helper()
	if err := os.RemoveAll(filepath.Join(s.source, name)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) args(now time.Time, more ...string) []string {
	args := []string{"build", s.source, "--base-url", faultsURL, "--out", s.out, "--cache", filepath.Join(s.cache, "stat"),
		"--now", now.Format(time.RFC3339), "--quiet"}
	return append(append(args, s.flags...), more...)
}

// command is a build that is ready to start.
func (s *site) command(now time.Time, more ...string) *exec.Cmd {
	s.t.Helper()
	name, err := binary()
	if err != nil {
		s.t.Fatal(err)
	}
	return exec.Command(name, s.args(now, more...)...)
}

// ended says how a process did.
type ended struct {
	code   int // -1 if a signal ended it
	signal syscall.Signal
	stderr string
}

func (e ended) String() string {
	return fmt.Sprintf("exit %d, signal %d: %s", e.code, e.signal, e.stderr)
}

func endOf(t testing.TB, cmd *exec.Cmd, err error, stderr string) ended {
	t.Helper()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v: %v", cmd, err)
	}
	e := ended{code: cmd.ProcessState.ExitCode(), stderr: stderr}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.signal = status.Signal()
	}
	if strings.Contains(stderr, "goroutine ") {
		t.Errorf("the program crashed: %s", stderr)
	}
	return e
}

func execute(t testing.TB, cmd *exec.Cmd) ended {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	return endOf(t, cmd, err, stderr.String())
}

func (s *site) run(now time.Time, more ...string) ended {
	s.t.Helper()
	return execute(s.t, s.command(now, more...))
}

func (s *site) build(now time.Time, more ...string) {
	s.t.Helper()
	if e := s.run(now, more...); e.code != 0 {
		s.t.Fatalf("an undisturbed build: %v", e)
	}
	if exists(s.t, filepath.Join(s.out, publish.Folder)) {
		s.t.Fatalf("an undisturbed build left its folder")
	}
}

// first is the source of small scenarios.
func (s *site) first() {
	s.t.Helper()
	for _, name := range []string{"index.html", "data/a.csv", "data/b.csv", "data/deep/c.txt", "z.txt"} {
		s.write(name, "first "+name+"\n", faultsStart.Add(-time.Hour))
	}
}

// edit creates, updates and deletes.
func (s *site) edit() {
	s.t.Helper()
	s.write("data/b.csv", "a second b\n", faultsStart.Add(time.Minute))
	s.write("data/new.csv", "new\n", faultsStart.Add(time.Minute))
	s.write("other/new.txt", "new\n", faultsStart.Add(time.Minute))
	s.remove("data/deep")
}

// follower remembers the first state of a publication, from which the Change
// Lists have to lead to every later one.
type follower struct {
	site  *site
	first *published
	now   time.Time
}

func follow(s *site, now time.Time) *follower {
	s.t.Helper()
	s.build(now)
	return &follower{site: s, first: readPublished(s.t, s.out), now: now}
}

// check reads what is there now, possibly in the midst of a commit.
func (f *follower) check() *published {
	f.site.t.Helper()
	p := readPublished(f.site.t, f.site.out)
	now := replay(f.site.t, f.first.resources, p.events, f.first.at, p.at)
	checkState(f.site.t, "the Resource List against the Change Lists", p.resources, now)
	return p
}

// settle builds undisturbed, after which the publication is what the source is.
func (f *follower) settle(more ...string) *published {
	f.site.t.Helper()
	f.now = f.now.Add(time.Minute)
	f.site.build(f.now, more...)
	p := f.check()
	want := stateOf(f.site.t, f.site.source)
	checkState(f.site.t, "the Resource List against the source", p.resources, want)
	all := replay(f.site.t, f.first.resources, p.events, f.first.at, p.last())
	checkState(f.site.t, "all changes against the source", all, want)
	return p
}

// populate makes a tree of so many files.
func (s *site) populate(r *rand.Rand, files int) {
	s.t.Helper()
	for i := range files {
		s.write(fmt.Sprintf("%d/%d/%03d", i%5, i%3, i), strings.Repeat("x", r.IntN(3000)), faultsStart.Add(-time.Hour))
	}
}

// someEdits changes a few files, of which some keep the time of now, which is
// later than the publication, and some get one before.
func (s *site) someEdits(r *rand.Rand, at time.Time) {
	s.t.Helper()
	for range 1 + r.IntN(6) {
		i := r.IntN(250)
		name := fmt.Sprintf("%d/%d/%03d", i%5, i%3, i)
		switch r.IntN(4) {
		case 0:
			s.remove(name)
		case 1:
			s.write(name, strings.Repeat("y", r.IntN(3000)), time.Now())
		default:
			s.write(name, fmt.Sprint(r.Int()), at.Add(-time.Duration(r.IntN(50))*time.Second))
		}
	}
}

func number(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	s := os.Getenv(variable)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// inCommit is how long to wait from when a commit has begun, as a negative
// duration.
func inCommit(r *rand.Rand) time.Duration {
	return -time.Duration(r.Int64N(int64(2 * time.Millisecond)))
}

// kill runs a build and kills it after some time or, if that is negative, so
// much after its commit has begun.
func (s *site) kill(cmd *exec.Cmd, wait time.Duration) ended {
	s.t.Helper()
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	done := make(chan struct{})
	var killer sync.WaitGroup
	killer.Go(func() {
		journal := filepath.Join(s.out, publish.Folder, "journal")
		for wait < 0 {
			if _, err := os.Lstat(journal); err == nil {
				wait = -wait
			}
			select {
			case <-done:
				return
			default:
			}
		}
		select {
		case <-done:
		case <-time.After(wait):
			cmd.Process.Kill()
		}
	})
	err := cmd.Wait()
	close(done)
	killer.Wait()
	return endOf(s.t, cmd, err, "")
}

// TestRandomKills kills builds at random moments, with edits in between.
func TestRandomKills(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	s := newSite(t, t.TempDir())
	s.populate(r, 200)
	f := follow(s, faultsStart)
	usual := 10 * time.Millisecond
	kills, tooLate, begun := number(t, killsVariable, 30), 0, 0
	for n := 0; n < kills && !t.Failed(); {
		f.now = f.now.Add(time.Minute)
		if r.IntN(3) > 0 { // else the next run begins with what the last one left
			s.someEdits(r, f.now)
		}
		began := time.Now()
		cmd := s.command(f.now)
		wait := time.Duration(r.Int64N(int64(usual)))
		if r.IntN(3) == 0 { // which is short
			wait = inCommit(r)
		}
		switch e := s.kill(cmd, wait); {
		case e.signal == syscall.SIGKILL:
			n++
			usual += 50 * time.Microsecond
		case e.code == 0: // it was faster than usual
			tooLate++
			usual = (usual + time.Since(began)) / 2
		default:
			t.Errorf("killed: %v", e)
		}
		if f.check().pending {
			begun++
		}
		if n%7 == 0 {
			f.settle()
		}
	}
	p := f.settle()
	t.Logf("%d kills, %d of them in a commit; %d builds ended before; %d events", kills, begun, tooLate, len(p.events))
}

// TestSeveralBuilds starts builds at the same time.
func TestSeveralBuilds(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	s := newSite(t, t.TempDir())
	s.populate(r, 60)
	f := follow(s, faultsStart)
	rounds, locked := 15, 0
	if isLong() {
		rounds = 300
	}
	for range rounds {
		f.now = f.now.Add(time.Minute)
		s.someEdits(r, f.now)
		var waiting []string
		if r.IntN(2) == 0 {
			waiting = []string{"--lock-timeout", "1m"}
		}
		ends := make([]ended, 3)
		var all sync.WaitGroup
		for i := range ends {
			cmd := s.command(f.now, waiting...)
			all.Go(func() { ends[i] = execute(t, cmd) })
		}
		all.Wait()
		done := 0
		for _, e := range ends {
			switch {
			case e.code == 0:
				done++
			case e.code == 5 && waiting == nil && strings.Contains(e.stderr, "another run holds the lock"):
				locked++
			default:
				t.Errorf("waiting: %v, %v", waiting != nil, e)
			}
		}
		if done == 0 || f.check().pending {
			t.Errorf("no build has come to its end: %v", ends)
		}
		checkState(t, "the Resource List against the source", f.check().resources, stateOf(t, s.source))
	}
	f.settle()
	t.Logf("%d of %d builds found the lock held", locked, 3*rounds)
}

const setPipeSize = 1031 // F_SETPIPE_SZ, which package syscall does not have

// stuck is a build that waits for somebody to read its output: it holds the
// lock, and has not published anything.
func (s *site) stuck(now time.Time) (cmd *exec.Cmd, stderr *bytes.Buffer) {
	s.t.Helper()
	out, w, err := os.Pipe()
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { out.Close() })
	const room = 4096 // the least that a pipe can have
	if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, w.Fd(), setPipeSize, room); errno != 0 {
		s.t.Fatal(errno)
	}
	for i := range 400 {
		s.write(fmt.Sprintf("%d/%0200d", i, i), "new", now.Add(-time.Minute))
	}
	cmd, stderr = s.command(now, "--quiet=false", "--verbose"), &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = w, stderr
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	w.Close()
	s.t.Cleanup(func() { cmd.Process.Kill() })
	waitFor(s.t, func() bool { return available(s.t, out) > room-300 })
	return cmd, stderr
}

// available is how many bytes can be read out of a pipe.
func available(t testing.TB, f *os.File) int {
	t.Helper()
	c, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var n int32
	c.Control(func(fd uintptr) {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCINQ, uintptr(unsafe.Pointer(&n))); errno != 0 {
			err = errno
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}

func waitFor(t testing.TB, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not happen")
		}
	}
}

// TestDeadLock finds the lock of a process that was killed while it held it.
func TestDeadLock(t *testing.T) {
	t.Parallel()
	s := newSite(t, t.TempDir())
	s.first()
	f := follow(s, faultsStart)
	before := filesOf(t, s.out)
	f.now = f.now.Add(time.Minute)
	cmd, _ := s.stuck(f.now)
	if e := s.run(f.now); e.code != 5 || !strings.Contains(e.stderr, fmt.Sprintf("process %d on ", cmd.Process.Pid)) {
		t.Errorf("while it lives: %v", e)
	}
	cmd.Process.Kill()
	cmd.Wait()
	if !exists(t, filepath.Join(s.out, publish.Folder, "lock")) {
		t.Error("no lock is left behind")
	}
	if d := differences(filesOf(t, s.out), before); d != nil {
		t.Errorf("%v are published", d)
	}
	f.settle()
}

// TestSignals ends builds by signals.
func TestSignals(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run("first "+signal.String(), func(t *testing.T) {
			t.Parallel()
			testFirstSignal(t, signal)
		})
		t.Run("second "+signal.String(), func(t *testing.T) {
			t.Parallel()
			testSecondSignal(t, signal)
		})
	}
}

// testFirstSignal ends a build while it reads a large file.
func testFirstSignal(t *testing.T, signal syscall.Signal) {
	s := newSite(t, t.TempDir())
	s.first()
	f := follow(s, faultsStart)
	before := filesOf(t, s.out)
	large := filepath.Join(s.source, "large")
	s.write("large", "", faultsStart)
	if err := os.Truncate(large, 64<<30); err != nil {
		t.Skipf("no large sparse files here: %v", err)
	}
	var stderr bytes.Buffer
	cmd := s.command(f.now.Add(time.Minute))
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return hasOpen(cmd.Process.Pid, large) })
	sent := time.Now()
	cmd.Process.Signal(signal)
	err := cmd.Wait()
	e := endOf(t, cmd, err, stderr.String())
	if e.code != 128+int(signal) || !strings.Contains(e.stderr, "stopped by a signal") {
		t.Errorf("%v", e)
	}
	if took := time.Since(sent); took > 10*time.Second {
		t.Errorf("it went on for %v", took)
	}
	checkUntouched(t, s, before)
	s.remove("large")
	s.edit()
	f.settle()
}

// testSecondSignal sends signals to a build that cannot end by itself.
func testSecondSignal(t *testing.T, signal syscall.Signal) {
	s := newSite(t, t.TempDir())
	s.first()
	f := follow(s, faultsStart)
	before := filesOf(t, s.out)
	cmd, stderr := s.stuck(f.now.Add(time.Minute))
	done := make(chan struct{})
	var sender sync.WaitGroup
	sender.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
				cmd.Process.Signal(signal)
			}
		}
	})
	err := cmd.Wait()
	close(done)
	sender.Wait()
	// By the first signal alone it would have exited, with a code.
	if e := endOf(t, cmd, err, stderr.String()); e.signal != signal {
		t.Errorf("%v", e)
	}
	if d := differences(filesOf(t, s.out), before); d != nil {
		t.Errorf("%v are published", d)
	}
	f.settle()
}

// hasOpen reports whether a process has a file open.
func hasOpen(pid int, name string) bool {
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	return slices.ContainsFunc(links, func(link string) bool {
		target, err := os.Readlink(link)
		return err == nil && target == name
	})
}

func checkUntouched(t *testing.T, s *site, before map[string]string) {
	t.Helper()
	if d := differences(filesOf(t, s.out), before); d != nil {
		t.Errorf("%v are published", d)
	}
	if exists(t, filepath.Join(s.out, publish.Folder)) {
		t.Error("the run leaves its folder")
	}
}

// mount makes a small file system. It skips the test where that is not allowed.
func mount(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("mounting is not allowed: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestFullFileSystem publishes where there is no room for it.
func TestFullFileSystem(t *testing.T) {
	t.Parallel()
	s := newSite(t, t.TempDir())
	s.out = filepath.Join(mount(t, "480k"), "out")
	s.first()
	f := follow(s, faultsStart)
	before := filesOf(t, s.out)
	for i := range 1000 {
		s.write(fmt.Sprintf("many/%0100d", i), "", faultsStart)
	}
	f.now = f.now.Add(time.Minute)
	e := s.run(f.now)
	if e.code != 1 || !strings.Contains(e.stderr, syscall.ENOSPC.Error()) || !strings.Contains(e.stderr, s.out) ||
		!strings.Contains(e.stderr, "Nothing was published.") {
		t.Errorf("staging: %v", e)
	}
	checkUntouched(t, s, before)

	// Fewer fit once, and not twice.
	for i := 80; i < 1000; i++ {
		s.remove(fmt.Sprintf("many/%0100d", i))
	}
	filler := filepath.Join(filepath.Dir(s.out), "filler")
	for size := 470 << 10; size > 0; size -= 8 << 10 {
		if err := os.WriteFile(filler, make([]byte, size), 0o644); err != nil && !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		e := s.run(f.now)
		if e.code == 0 {
			break
		}
		if (e.code != 1 || !strings.Contains(e.stderr, syscall.ENOSPC.Error())) && (e.code != 4 || !strings.Contains(e.stderr, "too little space")) {
			t.Errorf("%d bytes taken: %v", size, e)
		}
		checkUntouched(t, s, before)
	}
	os.Remove(filler)
	f.settle()
}

// TestReadOnlyFileSystem publishes where nothing can be written. What an
// ordinary user must not write is in the script not_writable.
func TestReadOnlyFileSystem(t *testing.T) {
	t.Parallel()
	s := newSite(t, t.TempDir())
	top := mount(t, "1m")
	s.out = filepath.Join(top, "out")
	s.first()
	f := follow(s, faultsStart)
	before := filesOf(t, s.out)
	s.edit()
	remount := func(flags uintptr) {
		t.Helper()
		if err := syscall.Mount("", top, "", syscall.MS_REMOUNT|flags, ""); err != nil {
			t.Fatal(err)
		}
	}
	remount(syscall.MS_RDONLY)
	for range 2 {
		if e := s.run(f.now.Add(time.Minute)); e.code != 1 || !strings.Contains(e.stderr, syscall.EROFS.Error()) || !strings.Contains(e.stderr, s.out) {
			t.Errorf("%v", e)
		}
		checkUntouched(t, s, before)
		s.write("large", strings.Repeat("x", 1<<20), faultsStart)
	}
	remount(0)
	f.settle()
}
