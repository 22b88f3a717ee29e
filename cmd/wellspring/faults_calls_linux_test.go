package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wellspring-sync/wellspring/internal/publish"
)

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
	large bool              // there are so many calls that a part of the sample has to do
	slow  bool              // a run takes so long that a sample of the faults has to do
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

	"read":       {"EIO"},
	"pread64":    {"EIO"},
	"getdents64": {"EIO"},
	"fstat":      {"EIO"},
	"newfstatat": {"EIO"},
}

// readingCalls change nothing, so that to kill the run there shows nothing.
var readingCalls = []string{"read", "pread64", "getdents64", "fstat", "newfstatat"}

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
		m, names := described.FindStringSubmatch(args), quoted.FindAllStringSubmatch(args, -1)
		switch content := call == "write" || call == "read" || call == "pread64"; {
		case names != nil && !content:
			name = names[len(names)-1][1]
		case m != nil:
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
			hows := errorsOf[place.call]
			if !slices.Contains(readingCalls, place.call) {
				hows = append([]string{killed}, hows...)
			}
			for _, how := range hows {
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
	case e.code == 2 && strings.Contains(e.stderr, "--cache") && isOld:
		return // the cache that was asked for cannot be read
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
		base == "out" && strings.Contains(message, "opening the source") ||
		base == "source" && (strings.Contains(message, "the source: ") || namesEntry(message, path))
}

// namesEntry reports whether a message names a file of a directory: a call relative to the
// directory counts as one of it.
func namesEntry(message, dir string) bool {
	entries, _ := os.ReadDir(dir)
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.Contains(message, strconv.Quote(e.Name())) })
}

// needStrace skips a test where the program cannot be traced.
func needStrace(t *testing.T) {
	t.Helper()
	out, err := exec.Command("strace", "-f", "-qqq", "--seccomp-bpf", "-e", "inject=close:error=EIO:when=1000", "-o", os.DevNull, "true").CombinedOutput()
	if err != nil {
		t.Skipf("strace cannot be used here: %v %s", err, out)
	}
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

// readingScenario has errors where something is read.
func readingScenario(t *testing.T) *scenario {
	sc := secondScenario(t)
	sc.calls = readingCalls
	return sc
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

// archivesScenario closes a list in each run, archives what is superseded, thins
// that out, and sweeps what came of it before.
func archivesScenario(t *testing.T) *scenario {
	s := newSite(t, t.TempDir())
	s.flags = []string{"--grace", "1s", "--rotate", "run", "--archive", "--archive-keep", "daily=1"}
	s.first()
	for i := range 4 {
		s.write("again", strings.Repeat("x", i), faultsStart.Add(-time.Hour))
		s.build(faultsStart.Add(time.Duration(i) * time.Minute))
	}
	s.edit()
	sc := (&scenario{calls: allCalls, now: faultsStart.Add(time.Hour), site: s, large: true}).finish(t)
	removed := 0
	for _, d := range differences(sc.want, sc.old) {
		if _, there := sc.want[d]; !there {
			removed++
		}
	}
	if removed == 0 {
		t.Fatal("nothing is swept")
	}
	return sc
}

// setsScenario has several sets, one of which is new and one gone, versions and
// patches, and sweeps versions of what is gone.
func setsScenario(t *testing.T) *scenario {
	dir := t.TempDir()
	s := newSite(t, dir)
	all := "[versions]\n[patches]\n[[set]]\nname = \"all\"\n"
	config := func(name, text string) []string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return []string{"--grace", "1s", "--config", name}
	}
	s.first()
	s.flags = config("before.toml", all+"[[set]]\nname = \"gone\"\ninclude = [\"*.csv\"]\n")
	for i, text := range []string{"former", "later"} {
		s.write("data/rows.csv", strings.Repeat("some rows of a table\n", 100)+text, faultsStart.Add(-time.Hour))
		s.write("data/deep/c.txt", text, faultsStart.Add(-time.Hour))
		s.build(faultsStart.Add(time.Duration(i) * time.Minute))
	}
	s.remove("data/deep")
	s.build(faultsStart.Add(2 * time.Minute))
	s.flags = config("after.toml", all+"[[set]]\nname = \"new\"\ninclude = [\"other/\"]\n")
	s.edit()
	s.write("data/rows.csv", strings.Repeat("some rows of a table\n", 100)+"now", faultsStart.Add(-time.Hour))
	sc := (&scenario{calls: allCalls, now: faultsStart.Add(time.Hour), site: s, large: true}).finish(t)
	for _, d := range []string{"patches/", "versions/", "new/changelist.xml"} {
		if !slices.ContainsFunc(differences(sc.want, sc.old), func(name string) bool { return strings.Contains(name, d) }) {
			t.Fatalf("nothing is different in %s", d)
		}
	}
	return sc
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
	sc := (&scenario{calls: []string{"write", "fsync", "renameat", "mkdirat", "unlinkat"}, now: faultsStart.Add(2 * time.Hour), site: s, slow: true}).finish(t)
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
// that change, open or read a file.
func TestFaultAtEachCall(t *testing.T) {
	t.Parallel()
	needStrace(t)
	for name, make := range map[string]func(*testing.T) *scenario{
		"first":    firstScenario,
		"second":   secondScenario,
		"inside":   insideScenario,
		"nothing":  nothingScenario,
		"recovery": recoveryScenario,
		"reading":  readingScenario,
		"index":    indexScenario,
		"archives": archivesScenario,
		"sets":     setsScenario,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sweep(t, make(t))
		})
	}
}

// sample takes a few faults of each call. Most calls open and close directories.
func sample(faults []fault) []fault {
	var some []fault
	seen := map[string]int{}
	for _, f := range faults {
		stride := 11 // which takes each error in turn
		if f.call == "openat" || f.call == "close" {
			stride = 91
		}
		if seen[f.call]++; seen[f.call]%stride == 1 {
			some = append(some, f)
		}
	}
	return some
}

// sweep injects all faults, or a sample.
func sweep(t *testing.T, sc *scenario) {
	t.Helper()
	faults := sc.faults(t)
	if !isLong() || sc.slow {
		faults = sample(faults)
	}
	if !isLong() && sc.large {
		some := faults[:0]
		for i := 0; i < len(faults); i += 3 {
			some = append(some, faults[i])
		}
		faults = some
	}
	began := time.Now()
	fired := map[string]int{}
	missed := map[fault]bool{}
	for _, f := range faults {
		before := f
		before.n--
		tries := 2 // threads count for themselves, so a call may be no thread's n-th
		if missed[before] {
			tries = 0
		}
		ok := false
		for ; tries > 0 && !ok; tries-- {
			t.Run(f.String(), func(t *testing.T) { ok = sc.disturb(t, f) })
		}
		switch {
		case ok:
			fired[f.call+" "+f.how]++
		case f.n == 1 && f.path != "":
			t.Errorf("%v: it does not fire", f)
		default:
			missed[f] = true
		}
	}
	total := 0
	for _, n := range fired {
		total += n
	}
	t.Logf("%d of %d faults fired in %v: %v", total, len(faults), time.Since(began).Round(time.Second), fired)
	if total < len(faults)/3 {
		t.Errorf("only %d of %d faults fired", total, len(faults))
	}
}
