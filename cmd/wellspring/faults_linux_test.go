package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/wellspring-sync/wellspring/publish"
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

// copyTree copies a tree, with the times of its files, or nothing if there is
// none.
func copyTree(t testing.TB, to, from string) {
	t.Helper()
	if !exists(t, from) {
		return
	}
	err := os.CopyFS(to, os.DirFS(from))
	if err == nil {
		err = filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			return os.Chtimes(filepath.Join(to, strings.TrimPrefix(name, from)), info.ModTime(), info.ModTime())
		})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// scenario is a run into which faults are injected.
type scenario struct {
	calls []string // system calls that are disturbed
	now   time.Time
	site  *site             // source and flags of the run; out and cache are what it begins with
	old   map[string]string // what is published when it begins
	want  map[string]string // what an undisturbed run publishes
	begun bool              // a commit is pending when it begins
}

var allCalls = []string{"openat", "mkdirat", "write", "fsync", "close", "renameat", "renameat2", "unlinkat"}

// errorsOf are the errors that a call can have.
var errorsOf = map[string][]string{
	"openat":    {"EMFILE", "EIO", "ENOSPC"},
	"mkdirat":   {"ENOSPC", "EIO"},
	"write":     {"ENOSPC", "EIO"},
	"fsync":     {"EIO", "ENOSPC"},
	"close":     {"EIO"},
	"renameat":  {"EXDEV", "EIO", "ENOSPC"},
	"renameat2": {"EXDEV"},
	"unlinkat":  {"EIO"},
}

const killed = "KILL"

var errnos = map[string]syscall.Errno{
	"EMFILE": syscall.EMFILE, "EIO": syscall.EIO, "ENOSPC": syscall.ENOSPC, "EXDEV": syscall.EXDEV,
}

// fault is an injection at the n-th call on a path, counted for each thread.
type fault struct {
	call, path, how string
	n               int
}

func (f fault) String() string {
	return fmt.Sprintf("%s %d %s %s", f.call, f.n, filepath.Base(f.path), f.how)
}

// at returns a copy of the scenario's site in a directory of its own, with the
// same source.
func (sc *scenario) at(t testing.TB, dir string) *site {
	t.Helper()
	s := *sc.site
	s.t, s.out, s.cache = t, filepath.Join(dir, "out"), filepath.Join(dir, "cache")
	copyTree(t, s.out, sc.site.out)
	if sc.site.out == sc.site.source {
		s.source = s.out
	}
	copyTree(t, s.cache, sc.site.cache)
	return &s
}

// strace runs a build under strace, and returns what was traced.
func (s *site) strace(now time.Time, options ...string) (ended, string) {
	s.t.Helper()
	log := filepath.Join(filepath.Dir(s.out), "trace")
	options = append([]string{"-f", "-qqq", "-e", "signal=none", "-o", log}, options...)
	if !slices.ContainsFunc(options, func(o string) bool { return strings.Contains(o, "signal=KILL") }) {
		options = append(options, "--seccomp-bpf") // faster, but it knows of errors only
	}
	build := s.command(now)
	cmd := exec.Command("strace", append(options, build.Args...)...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	e := execute(s.t, cmd)
	b, err := os.ReadFile(log)
	if err != nil {
		s.t.Fatalf("%v: %v", err, e)
	}
	return e, string(b)
}

func (s *site) inject(now time.Time, f fault) (e ended, fired bool) {
	s.t.Helper()
	how := "error=" + f.how
	if f.how == killed {
		how = "signal=KILL"
	}
	options := []string{"-e", "trace=" + f.call, "-e", fmt.Sprintf("inject=%s:%s:when=%d", f.call, how, f.n)}
	if f.path != "" {
		options = append(options, "-P", f.path)
	}
	e, log := s.strace(now, options...)
	if f.how == killed {
		return e, e.signal == syscall.SIGKILL
	}
	return e, strings.Contains(log, "(INJECTED)")
}

var (
	traced    = regexp.MustCompile(`^\d+ +(\w+)\((.*)$`)
	quoted    = regexp.MustCompile(`"([^"]*)"`)
	described = regexp.MustCompile(`^\d+<([^>]*)>`)
)

// places finds out on which paths an undisturbed run calls what, and how often.
// A path under which the same call is found may be the last element only, as
// calls are made relative to open directories. Calls on any path are counted
// under "".
func (sc *scenario) places(t *testing.T) map[fault]int {
	t.Helper()
	s := sc.at(t, t.TempDir())
	e, log := s.strace(sc.now, "-y", "-e", "trace="+strings.Join(sc.calls, ","))
	if e.code != 0 {
		t.Fatal(e)
	}
	if got := differences(filesOf(t, s.out), sc.want); got != nil {
		t.Fatalf("under strace, the run publishes something else: %v", got)
	}
	top := filepath.Dir(s.out)
	places := map[fault]int{}
	for line := range strings.Lines(log) {
		m := traced.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		call, args := m[1], m[2]
		if !strings.Contains(args, top) && !strings.Contains(args, s.source) {
			continue
		}
		places[fault{call: call}]++
		name := ""
		if names := quoted.FindAllStringSubmatch(args, -1); names != nil && call != "write" {
			name = names[len(names)-1][1]
		} else if m := described.FindStringSubmatch(args); m != nil {
			name = m[1]
		}
		if strings.HasSuffix(name, ".tmp") && strings.Contains(name, "stat.") {
			continue // the next cache has another name each time
		}
		places[fault{call: call, path: strings.Replace(name, top, "TOP", 1)}]++
	}
	return places
}

// faults lists every fault: each error and the kill at each of the calls.
func (sc *scenario) faults(t *testing.T) []fault {
	t.Helper()
	var list []fault
	for place, calls := range sc.places(t) {
		step := 1
		if place.call == "write" && calls > 10 { // of one long file, where one is like the next
			step = 5
		}
		for n := 1; n <= calls; n += step {
			for _, how := range append([]string{killed}, errorsOf[place.call]...) {
				f := place
				f.n, f.how = n, how
				list = append(list, f)
			}
		}
	}
	slices.SortFunc(list, func(a, b fault) int {
		return strings.Compare(fmt.Sprintf("%s %s %6d %s", a.call, a.path, a.n, a.how), fmt.Sprintf("%s %s %6d %s", b.call, b.path, b.n, b.how))
	})
	return list
}

// disturb injects one fault, and checks what it leaves and that the next run
// makes up for it. It returns whether the fault came to be.
func (sc *scenario) disturb(t *testing.T, f fault) bool {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s := sc.at(t, dir)
	f.path = strings.Replace(f.path, "TOP", dir, 1)
	e, fired := s.inject(sc.now, f)
	p := readPublished(t, s.out)
	if fired {
		sc.check(t, s, f, e, p)
	} else if e.code != 0 {
		t.Errorf("the fault did not fire, but: %v", e)
	}
	if e := s.run(sc.now); e.code != 0 {
		t.Errorf("the run after: %v", e)
	}
	readPublished(t, s.out)
	if got := differences(filesOf(t, s.out), sc.want); got != nil {
		t.Errorf("the run after ends in something else: %v", got)
	}
	if exists(t, filepath.Join(s.out, publish.Folder)) {
		t.Errorf("the run after leaves its folder")
	}
	return fired
}

// check checks that a run did what it says.
func (sc *scenario) check(t *testing.T, s *site, f fault, e ended, p *published) {
	t.Helper()
	files := filesOf(t, s.out)
	isOld := differences(files, sc.old) == nil
	isNew := differences(files, sc.want) == nil
	if !isOld && !isNew && !p.pending {
		t.Errorf("what is published is neither old nor new, and nothing will complete it: %v", differences(files, sc.want))
	}
	switch {
	case f.how == killed:
		return
	case e.code == 0:
		if !isNew || p.pending {
			t.Errorf("the run says that it is done; pending: %v, %v", p.pending, differences(files, sc.want))
		}
		return
	case e.code != 1:
		t.Errorf("%v", e)
	}
	if f.call == "write" && f.path == "" {
		return // the message may be what could not be written
	}
	if !strings.Contains(e.stderr, errnos[f.how].Error()) {
		t.Errorf("the message does not have %q: %s", errnos[f.how], e.stderr)
	}
	if !names(e.stderr, f.path) {
		t.Errorf("the message does not name %s: %s", f.path, e.stderr)
	}
	nothing, begun := strings.Contains(e.stderr, "Nothing was published."), strings.Contains(e.stderr, "the commit was begun")
	if sc.begun { // the run has completed it, or not; it has nothing of its own
		isOld = isOld || isNew
		begun = begun || p.pending
		nothing = nothing && !p.pending
	}
	if nothing == begun || begun != p.pending || nothing && !isOld {
		t.Errorf("pending: %v, old: %v, but the message is: %s", p.pending, isOld, e.stderr)
	}
}

// names reports whether a message says where a fault was: at the path, in the
// folder that was being removed with it, or in the directory that was given.
func names(message, path string) bool {
	base := filepath.Base(path)
	return path == "" || strings.Contains(message, base) ||
		strings.HasPrefix(base, "00000") && strings.Contains(message, "staging") ||
		base == "out" && strings.Contains(message, "opening the source")
}

// needStrace skips a test where the program cannot be traced.
func needStrace(t *testing.T) {
	t.Helper()
	out, err := exec.Command("strace", "-f", "-qqq", "--seccomp-bpf", "-e", "inject=close:error=EIO:when=1000", "-o", os.DevNull, "true").CombinedOutput()
	if err != nil {
		t.Skipf("strace cannot be used here: %v %s", err, out)
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

// finish notes with what the scenario begins and in what it has to end.
func (sc *scenario) finish(t *testing.T) *scenario {
	t.Helper()
	sc.old = filesOf(t, sc.site.out)
	s := sc.at(t, t.TempDir())
	s.build(sc.now)
	sc.want = filesOf(t, s.out)
	readPublished(t, s.out)
	return sc
}

func firstScenario(t *testing.T) *scenario {
	s := newSite(t, t.TempDir())
	s.first()
	return (&scenario{calls: allCalls, now: faultsStart, site: s}).finish(t)
}

func secondScenario(t *testing.T) *scenario {
	s := newSite(t, t.TempDir())
	s.first()
	s.build(faultsStart)
	s.edit()
	return (&scenario{calls: allCalls, now: faultsStart.Add(time.Hour), site: s}).finish(t)
}

// insideScenario has its publication in the source, as is the default.
func insideScenario(t *testing.T) *scenario {
	s := newSite(t, t.TempDir())
	s.out = s.source
	s.first()
	s.build(faultsStart)
	s.edit()
	return (&scenario{calls: allCalls, now: faultsStart.Add(time.Hour), site: s}).finish(t)
}

// nothingScenario has nothing to publish.
func nothingScenario(t *testing.T) *scenario {
	s := newSite(t, t.TempDir())
	s.first()
	s.build(faultsStart)
	return (&scenario{calls: allCalls, now: faultsStart.Add(time.Hour), site: s}).finish(t)
}

// recoveryScenario begins with a commit that was killed in its midst.
func recoveryScenario(t *testing.T) *scenario {
	sc := secondScenario(t)
	s := sc.at(t, t.TempDir())
	if e, fired := s.inject(sc.now, fault{call: "renameat", path: "resourcelist.xml", how: killed, n: 1}); !fired {
		t.Fatal(e)
	}
	if p := readPublished(t, s.out); !p.pending || !p.last().After(p.at) {
		t.Fatalf("the run was not killed where it should: %+v", p)
	}
	sc.site, sc.begun = s, true
	return sc.finish(t)
}

// indexScenario has an Index, and sweeps bodies that were replaced before.
func indexScenario(t *testing.T) *scenario {
	if !isLong() {
		t.Skipf("more than 50,000 files take long; set %s", longVariable)
	}
	s := newSite(t, t.TempDir())
	s.flags = []string{"--grace", "1s"}
	modified := faultsStart.Add(-time.Hour)
	for i := range 50_100 {
		s.write(fmt.Sprintf("%02d/%05d", i/1000, i), "", modified)
	}
	s.build(faultsStart)
	s.write("20/20000", "changed", modified)
	s.build(faultsStart.Add(time.Hour))
	s.write("01/01000", "changed", modified)
	s.write("40/new", "new", modified)
	s.remove("30/30000")
	sc := (&scenario{calls: []string{"write", "fsync", "renameat", "mkdirat", "unlinkat"}, now: faultsStart.Add(2 * time.Hour), site: s}).finish(t)
	removed := 0
	for _, d := range differences(sc.want, sc.old) {
		if _, there := sc.want[d]; !there && path.Dir(d) == "resourcesync/resourcelist" {
			removed++
		}
	}
	if removed == 0 {
		t.Fatal("no body is swept")
	}
	return sc
}

// TestFaultAtEachCall stops or fails the program at each of its system calls
// that change or open a file.
func TestFaultAtEachCall(t *testing.T) {
	t.Parallel()
	needStrace(t)
	for name, make := range map[string]func(*testing.T) *scenario{
		"first":    firstScenario,
		"second":   secondScenario,
		"inside":   insideScenario,
		"nothing":  nothingScenario,
		"recovery": recoveryScenario,
		"index":    indexScenario,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sweep(t, make(t))
		})
	}
}

// sweep injects all faults, or a sample.
func sweep(t *testing.T, sc *scenario) {
	t.Helper()
	faults := sc.faults(t)
	stride := 1
	if !isLong() {
		stride = 47
	}
	began := time.Now()
	fired, tried := map[string]int{}, 0
	missed := map[fault]bool{}
	for i := 0; i < len(faults); i += stride {
		f := faults[i]
		tried++
		before := f
		before.n--
		// Threads count for themselves, so a call may be no thread's n-th.
		for try := 0; try < 2 && !missed[before]; try++ {
			ok := false
			t.Run(f.String(), func(t *testing.T) { ok = sc.disturb(t, f) })
			if ok {
				fired[f.call+" "+f.how]++
				break
			}
			if try == 1 {
				missed[f] = true
				if f.n == 1 && f.path != "" {
					t.Errorf("%v: it does not fire", f)
				}
			}
		}
		if missed[before] {
			missed[f] = true
		}
	}
	total := 0
	for _, n := range fired {
		total += n
	}
	t.Logf("%d of %d faults fired in %v: %v", total, tried, time.Since(began).Round(time.Second), fired)
	if total < tried/3 {
		t.Errorf("only %d of %d faults fired", total, tried)
	}
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

// TestSignals ends builds by signals, while they read and while they write.
func TestSignals(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run("first "+signal.String(), func(t *testing.T) {
			t.Parallel()
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
			e := endOf(t, cmd, cmd.Wait(), stderr.String())
			if e.code != 128+int(signal) || !strings.Contains(stderr.String(), "stopped by a signal") {
				t.Errorf("%v: %s", e, &stderr)
			}
			if took := time.Since(sent); took > 10*time.Second {
				t.Errorf("it went on for %v", took)
			}
			checkUntouched(t, s, before)
			s.remove("large")
			s.edit()
			f.settle()
		})
		t.Run("second "+signal.String(), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, t.TempDir())
			s.first()
			f := follow(s, faultsStart)
			before := filesOf(t, s.out)
			cmd, stderr := s.stuck(f.now.Add(time.Minute))
			stop := make(chan struct{})
			var sender sync.WaitGroup
			sender.Go(func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(5 * time.Millisecond):
						cmd.Process.Signal(signal)
					}
				}
			})
			err := cmd.Wait()
			close(stop)
			sender.Wait()
			// The first signal would have made it exit by itself.
			if e := endOf(t, cmd, err, stderr.String()); e.signal != signal {
				t.Errorf("%v", e)
			}
			if d := differences(filesOf(t, s.out), before); d != nil {
				t.Errorf("%v are published", d)
			}
			f.settle()
		})
	}
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
	s.out = filepath.Join(mount(t, "200k"), "out")
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
	for size := 190 << 10; size > 0; size -= 4 << 10 {
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

// mutator changes a tree while builds go on, and notes which bytes each file
// ever had, and which were gone at some time.
type mutator struct {
	t       *testing.T
	r       *rand.Rand
	site    *site
	outside string
	mu      sync.Mutex
	had     map[string]map[string]bool // by URI; "" stands for not being there
}

func (m *mutator) note(name, bytes string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	uri := faultsURL + name
	if m.had[uri] == nil {
		m.had[uri] = map[string]bool{}
	}
	m.had[uri][bytes] = true
}

const mutated = 40

// file is the name of a file, some of which are in a folder of their own.
func (m *mutator) file() string {
	i := m.r.IntN(mutated)
	return fmt.Sprintf("%d/%02d", i%4, i)
}

// set writes a file in place, by which it is empty for a moment.
func (m *mutator) set(name, content string) error {
	native := filepath.Join(m.site.source, name)
	if info, err := os.Lstat(native); err == nil && !info.Mode().IsRegular() {
		m.note(name, "")
		if err := os.RemoveAll(native); err != nil {
			return err
		}
	}
	m.note(name, bytesOf(nil))
	m.note(name, bytesOf([]byte(content)))
	return os.WriteFile(native, []byte(content), 0o644)
}

// step makes one change.
func (m *mutator) step() error {
	name := m.file()
	native := filepath.Join(m.site.source, name)
	content, err := []byte(nil), error(nil)
	if info, e := os.Lstat(native); e == nil && info.Mode().IsRegular() {
		content, err = os.ReadFile(native)
	} else {
		return m.set(name, "again")
	}
	if err != nil {
		return err
	}
	replace := func(make func() error) error {
		m.note(name, "")
		if err := os.Remove(native); err != nil {
			return err
		}
		return make()
	}
	switch m.r.IntN(20) {
	case 0: // vanish
		return replace(func() error { return nil })
	case 1: // grow
		more := strings.Repeat("+", 1+m.r.IntN(70_000))
		m.note(name, bytesOf(append(content, more...)))
		f, err := os.OpenFile(native, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteString(more)
		return errors.Join(err, f.Close())
	case 2: // shrink
		content = content[:len(content)/2]
		m.note(name, bytesOf(content))
		return os.Truncate(native, int64(len(content)))
	case 3:
		return replace(func() error { return syscall.Mkfifo(native, 0o644) })
	case 4:
		return replace(func() error { return os.Symlink(m.outside, native) })
	case 5:
		return replace(func() error {
			m.note(name+"/inner", bytesOf([]byte("inner")))
			m.note(name+"/inner", bytesOf(nil))
			m.note(name+"/inner", "")
			if err := os.Mkdir(native, 0o755); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(native, "inner"), []byte("inner"), 0o644)
		})
	case 6: // another file under the same name
		other := fmt.Sprint(m.r.Int())
		m.note(name, bytesOf([]byte(other)))
		if err := os.WriteFile(m.outside+".next", []byte(other), 0o644); err != nil {
			return err
		}
		return os.Rename(m.outside+".next", native)
	}
	return m.set(name, strings.Repeat(fmt.Sprint(m.r.Int()), 1+m.r.IntN(3000)))
}

// TestSourceInMotion builds while files vanish, grow, shrink and turn into
// other things. No digest and no event is published for what never was.
func TestSourceInMotion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := newSite(t, dir)
	m := &mutator{t: t, r: rand.New(rand.NewPCG(5, 6)), site: s, outside: filepath.Join(dir, "outside"), had: map[string]map[string]bool{}}
	if err := os.WriteFile(m.outside, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	for i := range mutated {
		if err := os.MkdirAll(filepath.Join(s.source, fmt.Sprint(i%4)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := m.set(fmt.Sprintf("%d/%02d", i%4, i), strings.Repeat("first", i)); err != nil {
			t.Fatal(err)
		}
	}
	s.flags = []string{"--max-delete", "100%", "--allow-empty"}
	f := follow(s, faultsStart)
	rounds, failed, steps := 40, 0, 0
	if isLong() {
		rounds = 1000
	}
	for round := range rounds {
		done := make(chan struct{})
		var changes sync.WaitGroup
		changes.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if err := m.step(); err != nil {
					t.Error(err)
					return
				}
				steps++
				time.Sleep(time.Duration(m.r.IntN(1000)) * time.Microsecond)
			}
		})
		f.now = f.now.Add(time.Minute)
		before := filesOf(t, s.out)
		var flags []string
		if round%5 == 0 {
			flags = []string{"--checksum"}
		}
		e := s.run(f.now, flags...)
		close(done)
		changes.Wait()
		switch e.code {
		case 0:
		case 1:
			failed++
			if !strings.Contains(e.stderr, "Nothing was published.") || !strings.Contains(e.stderr, `"`) {
				t.Errorf("%v", e)
			}
			checkUntouched(t, s, before)
		default:
			t.Errorf("%v", e)
		}
		m.checkEvents(f.check())
		if round%10 == 9 {
			f.settle()
		}
		if t.Failed() {
			return
		}
	}
	p := f.settle()
	t.Logf("%d changes in %d rounds, of which %d failed; %d events", steps, rounds, failed, len(p.events))
}

// checkEvents checks that all that is published was there at some time.
func (m *mutator) checkEvents(p *published) {
	m.t.Helper()
	for _, e := range p.events {
		bytes := e.bytes
		if e.change == "deleted" {
			bytes = ""
		}
		if !m.had[e.uri][bytes] {
			m.t.Errorf("%s was %s at %v: it never was %q", e.uri, e.change, e.at, bytes)
		}
	}
}
