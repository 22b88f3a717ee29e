//go:build linux || darwin

package scanner_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/scanner"
)

// Opening a pipe would wait for a writer, for ever.
func TestPipesAndSockets(t *testing.T) {
	t.Parallel()
	source := build(t, "a", "d/b", "l -> d/pipe", "z")
	if err := syscall.Mkfifo(filepath.Join(source, "d", "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	// The path of a socket may not be long.
	root, err := os.OpenRoot(source)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	short, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(short)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(short, "s"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if err := os.Rename(filepath.Join(short, "s"), filepath.Join(source, "socket")); err != nil {
		t.Fatal(err)
	}
	for _, namesOnly := range []bool{false, true} {
		got := scan(t, open(t, source), scanner.Options{NamesOnly: namesOnly})
		checkScan(t, got, []string{"a", "d/b", "z"}, map[string]scanner.Reason{
			"d/pipe": scanner.Special, "l": scanner.Special, "socket": scanner.Special,
		})
	}
}

// The change time is what a file's owner cannot set.
func TestChangeTime(t *testing.T) {
	t.Parallel()
	source := build(t, "a")
	old := time.Date(2001, 2, 3, 4, 5, 6, 789, time.UTC)
	if err := os.Chtimes(filepath.Join(source, "a"), old, old); err != nil {
		t.Fatal(err)
	}
	got := scan(t, open(t, source), scanner.Options{})
	checkScan(t, got, []string{"a"}, nil)
	if f := got.files[0]; !f.ModTime.Equal(old) || f.ChangeTime.Year() < 2020 {
		t.Errorf("got the modification time %v and the change time %v", f.ModTime, f.ChangeTime)
	}
}

func TestDeviceLink(t *testing.T) {
	t.Parallel()
	source := build(t, "a", "l -> /dev/null")
	checkScan(t, scan(t, open(t, source), scanner.Options{}), []string{"a"}, map[string]scanner.Reason{"l": scanner.OutsideLink})
}

// A directory that cannot be read to its end is no shorter directory.
func TestListingBreaksOff(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux is known to fail when a directory is deleted while it is read")
	}
	var entries []string
	for i := range 2000 {
		entries = append(entries, fmt.Sprintf("d/a file with a rather long name %04d", i))
	}
	source := build(t, entries...)
	d, err := open(t, source).OpenDir("d")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	n := 0
	err = d.Entries(func(string, fs.FileMode) error {
		if n++; n > 1 {
			return nil
		}
		return os.RemoveAll(filepath.Join(source, "d"))
	})
	if err == nil || n == 0 || n == len(entries) {
		t.Errorf("got %d of %d entries, and the error %v", n, len(entries), err)
	}
}

// Directories are swapped for others while they are listed: what is missing from
// the old ones says nothing of the new ones.
func TestDirectoriesAreReplaced(t *testing.T) {
	t.Parallel()
	swap := func(t *testing.T, source, name string) {
		t.Helper()
		old := filepath.Join(source, name)
		if err := os.Rename(old, old+".old"); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(old+".new", old); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(old + ".old"); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name string
		when string // it has been listed, or opened if it begins with "open "
		do   func(t *testing.T, source string)
		want []string
	}{
		{"a folder by another", "d", func(t *testing.T, s string) { swap(t, s, "d") }, []string{`"d"`, "replaced", "run again"}},
		{"before it is listed", "open d", func(t *testing.T, s string) { swap(t, s, "d") }, []string{`"d"`, "replaced", "run again"}},
		{"before it is opened", ".", func(t *testing.T, s string) { swap(t, s, "d") }, nil},
		{"the folder above", "d/e", func(t *testing.T, s string) { swap(t, s, "d") }, []string{`"d"`, "replaced", "run again"}},
		{"a folder that a link leads to", "real", func(t *testing.T, s string) { swap(t, s, "real") }, []string{`"l"`, "replaced", "run again"}},
		{"a link by another", "real", func(t *testing.T, s string) { // the way to switch to a new release
			if err := os.Symlink("real.new", filepath.Join(s, "l2")); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(filepath.Join(s, "l2"), filepath.Join(s, "l")); err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(filepath.Join(s, "real")); err != nil {
				t.Fatal(err)
			}
		}, []string{`"l"`, "replaced", "run again"}},
		{"the source", ".", func(t *testing.T, s string) { swap(t, filepath.Dir(s), "s") }, []string{"the source", "run again"}},
		{"the source, by nothing", ".", func(t *testing.T, s string) {
			if err := os.RemoveAll(s); err != nil {
				t.Fatal(err)
			}
		}, []string{"the source", "run again"}},
		{"removed as it is opened", "open d", func(t *testing.T, s string) {
			if err := os.RemoveAll(filepath.Join(s, "d")); err != nil {
				t.Fatal(err)
			}
		}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			top := build(t, "s/a", "s/d/e/f", "s/d/g", "s/d.new/e/f", "s/d.new/g", "s/l -> real", "s/real/x", "s/real.new/x", "s/z", "s.new/a")
			source := filepath.Join(top, "s")
			done := false
			at := func(now string) {
				if now == test.when && !done {
					done = true
					test.do(t, source)
				}
			}
			tree := hookTree{Tree: open(t, source), listed: at, opened: func(dir string) { at("open " + dir) }}
			got := scan(t, tree, scanner.Options{})
			if !done {
				t.Fatal("nothing was done")
			}
			checkError(t, got.err, test.want)
		})
	}
}

// Some links cannot even be followed to their end.
func TestLinksThatLeadNowhere(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long/", 800) + strings.Repeat("n", 90)
	source := build(t, "a", "l -> "+strings.Repeat("n", 300), "m -> "+long, "o -> a/b")
	checkScan(t, scan(t, open(t, source), scanner.Options{}), []string{"a"}, map[string]scanner.Reason{
		"l": scanner.DanglingLink, "m": scanner.DanglingLink, "o": scanner.DanglingLink,
	})
}

func TestAwkwardNames(t *testing.T) {
	t.Parallel()
	names := []string{"a\nb", "a\tb", "\x01", "\x1b[2J", "\x7f", "d\r/ ", " ", "'", `"`, "<&>", "%2e%2e", "%", `a\b`, "C:", "-rf", "*", "日本"}
	if runtime.GOOS == "linux" { // others refuse, or normalize
		names = append(names, "caf\xe9", "\xff\xfe/\x80", "caf\u00e9", "cafe\u0301", "\xed\xa0\x80")
	}
	source := build(t, names...)
	l := newLayout(t, layout.PlainURIs)
	got := scan(t, open(t, source), scanner.Options{Prefix: l.BaseURL, Key: l.AppendKey})
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(l.URI(a), l.URI(b)) })
	checkScan(t, got, names, nil)
	checkReal(t, source, got)
	for _, f := range got.files {
		if want := l.URI(f.Path); f.URI != want {
			t.Errorf("%q has the URI %s, want %s", f.Path, f.URI, want)
		}
	}
}

// Paths may be longer than what system calls take at once.
func TestLongPaths(t *testing.T) {
	t.Parallel()
	source := build(t, "z")
	root, err := os.OpenRoot(source)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { root.Close() }()
	name := strings.Repeat("long", 50)
	path := ""
	for len(path) < 6000 {
		if err := root.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
		next, err := root.OpenRoot(name)
		if err != nil {
			t.Fatal(err)
		}
		root.Close()
		root, path = next, path+name+"/"
	}
	if err := root.WriteFile("file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	l := newLayout(t, layout.PlainURIs)
	got := scan(t, open(t, source), scanner.Options{Prefix: l.BaseURL, Key: l.AppendKey})
	checkScan(t, got, []string{path + "file", "z"}, nil)
	checkReal(t, source, got)

	if err := root.Symlink("file", "link"); err != nil {
		t.Fatal(err)
	}
	got = scan(t, open(t, source), scanner.Options{SkipSymlinks: true})
	checkScan(t, got, []string{path + "file", "z"}, map[string]scanner.Reason{path + "link": scanner.Symlink})
	got = scan(t, open(t, source), scanner.Options{Rules: scanner.Rules{Exclude: globs(t, "link")}})
	checkScan(t, got, []string{path + "file", "z"}, map[string]scanner.Reason{path + "link": scanner.Excluded})
}

// What may not be read must never be taken for what is not there.
func TestNoPermission(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		runAsNobody(t)
		return
	}
	tests := []struct {
		name  string
		path  string
		mode  fs.FileMode
		rules scanner.Rules
		want  []string // pieces of the error, none for no error
	}{
		{name: "unreadable folder", path: "d", mode: 0o333, want: []string{`"d"`, "permission denied"}},
		{name: "unreadable folder below", path: "d/e", mode: 0o333, want: []string{`"d/e"`, "permission denied"}},
		{name: "unsearchable folder", path: "d", mode: 0o666, want: []string{"d/", "permission denied"}},
		{name: "unsearchable folder below", path: "d/e", mode: 0o666, want: []string{"d/e/", "permission denied"}},
		{name: "closed folder", path: "d/e", mode: 0, want: []string{`"d/e"`, "permission denied"}},
		{name: "closed empty folder", path: "empty", mode: 0, want: []string{`"empty"`, "permission denied"}},
		{name: "unsearchable source", path: ".", mode: 0o444, want: []string{"permission denied"}},
		{name: "link into a closed folder", path: "d/e", mode: 0, rules: scanner.Rules{Exclude: globs(t, "d/")}, want: []string{`"x/l"`, "permission denied"}},
		{name: "folder that is excluded", path: "d/e", mode: 0, rules: scanner.Rules{Exclude: globs(t, "/d/e", "l")}},
		{name: "hidden folder", path: ".d", mode: 0},
		{name: "link to a closed folder outside", path: "../closed", mode: 0},
		{name: "unreadable file", path: "d/f", mode: 0}, // reading it fails, not listing it
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			top := build(t, "s/a", "s/d/e/f", "s/d/f", "s/empty/", "s/.d/a", "s/x/l -> ../d/e/f", "s/x/out -> ../../closed/f", "s/z", "closed/f")
			source := filepath.Join(top, "s")
			tree := open(t, source)
			path := filepath.Join(source, filepath.FromSlash(test.path))
			if err := os.Chmod(path, test.mode); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.Chmod(path, 0o755) })
			got := scan(t, tree, scanner.Options{Rules: test.rules})
			checkError(t, got.err, test.want)
			if got.err != nil && !errors.Is(got.err, fs.ErrPermission) {
				t.Errorf("the error is %T, not fs.ErrPermission", got.err)
			}
			for path, why := range got.leftOut {
				if why == scanner.Vanished || why == scanner.DanglingLink {
					t.Errorf("%q counts as %s", path, why)
				}
			}
			if got.err == nil && !slices.Contains(got.paths(), "z") {
				t.Errorf("got %q without an error", got.paths())
			}
		})
	}
}

// nobody is a user whom permissions hold back.
const nobody = 65534

// runAsNobody runs the test again in a process of an ordinary user.
func runAsNobody(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "test")
	copyProgram(t, program)
	temp := filepath.Join(dir, "temp")
	if err := os.Mkdir(temp, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(temp, nobody, nobody); err != nil {
		t.Skip("root may not give files away here:", err)
	}
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Dir = temp
	cmd.Env = append(os.Environ(), "TMPDIR="+temp, "HOME="+temp)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if _, started := errors.AsType[*exec.ExitError](err); err != nil && !started {
		t.Skipf("no process of another user can be started here: %v", err)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()+" ") {
		t.Errorf("as user %d: %v\n%s", nobody, err, out)
	}
}

// copyProgram copies the test's program to where others may run it.
func copyProgram(t *testing.T, to string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o755); err != nil {
		t.Fatal(err)
	}
}
