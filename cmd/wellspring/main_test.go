//go:build unix

// The scripts make links, permissions and file names that only Unix has.

package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/wellspring-sync/wellspring/internal/publish"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

var update = flag.Bool("update", false, "rewrite the files that scripts compare with")

func TestMain(m *testing.M) {
	testscript.Main(tests{m}, map[string]func(){
		"wellspring": wellspring,
		"as-user":    asUser,
	})
}

// atEnd is done when all tests have ended.
var atEnd []func()

type tests struct{ m *testing.M }

func (t tests) Run() int {
	defer func() {
		for _, f := range atEnd {
			f()
		}
	}()
	os.Unsetenv("GITHUB_ACTIONS") // the tests that are about it set it
	os.Unsetenv(summaryVariable)
	return t.m.Run()
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"asked":     asked,
			"entries":   entries,
			"exits":     exits,
			"hold-lock": holdLock,
			"hub":       startHub,
			"interrupt": interrupt,
			"json":      jsonHas,
			"live":      serveLive,
			"received":  received,
			"remember":  remember,
			"replace":   replace,
			"set-mtime": setMtime,
			"subscribe": subscribe,
			"unchanged": unchanged,
			"untouched": untouched,
			"write":     write,
		},
	})
}

// wellspring is the command, in a release that stays the same.
func wellspring() {
	version = "v0.0.0-test"
	main()
}

const nobody = 65534

// asUser runs the command in its arguments, which is wellspring, as an ordinary
// user who owns the current directory. Where the tests have no privileges there
// is nothing to give up.
func asUser() {
	if os.Getuid() == 0 {
		err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(path, nobody, nobody))
		})
		err = errors.Join(err, syscall.Setgroups(nil), syscall.Setgid(nobody), syscall.Setuid(nobody))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(99)
		}
	}
	os.Args = os.Args[1:]
	wellspring()
}

// extracted is when all files of an archive were modified.
var extracted = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// setup keeps scripts away from the user's files, zone and clock.
func setup(env *testscript.Env) error {
	env.Values[treeKey("")] = map[string]string{}
	env.Values[hubKey{}] = &hubs{}
	env.Values[lockKey("")] = map[string]*publish.Tx{}
	env.Setenv("URL", "https://example.org/")
	env.Setenv("HOME", filepath.Join(env.WorkDir, ".home"))
	env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, ".cache"))
	env.Setenv("TZ", "Asia/Kathmandu")
	if os.Getenv("GORACE") == "" {
		env.Setenv("GORACE", "atexit_sleep_ms=0")
	}
	if err := os.Chmod(filepath.Dir(env.WorkDir), 0o711); err != nil { // for as-user
		return err
	}
	return filepath.WalkDir(env.WorkDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.Chtimes(path, extracted, extracted)
	})
}

// exits CODE PROGRAM [ARGUMENT...] runs a program that has to exit with CODE.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARGUMENT...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) {
		ts.Fatalf("%v", err)
	}
	code := 0
	if status != nil {
		code = status.ExitCode()
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

// write TIME FILE [TEXT] writes a file with one line, or none, that was
// modified at TIME. A FILE in double quotes is a Go string.
func write(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: write TIME FILE [TEXT]")
	}
	name, text := args[1], ""
	if strings.HasPrefix(name, `"`) {
		var err error
		name, err = strconv.Unquote(name)
		ts.Check(err)
	}
	if len(args) == 3 {
		text = args[2] + "\n"
	}
	name = ts.MkAbs(name)
	ts.Check(os.MkdirAll(filepath.Dir(name), 0o777))
	ts.Check(os.WriteFile(name, []byte(text), 0o666))
	chtimes(ts, args[0], name)
}

// set-mtime TIME FILE... sets the modification time of files.
func setMtime(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: set-mtime TIME FILE...")
	}
	for _, name := range args[1:] {
		chtimes(ts, args[0], ts.MkAbs(name))
	}
}

func chtimes(ts *testscript.TestScript, at, name string) {
	t, err := resourcesync.ParseDateTime(at)
	ts.Check(err)
	ts.Check(os.Chtimes(name, t, t))
}

// replace FILE OLD NEW replaces the first OLD, both of them Go strings without
// their quotes, and keeps the modification time.
func replace(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: replace FILE OLD NEW")
	}
	unquote := func(s string) string {
		s, err := strconv.Unquote(`"` + strings.ReplaceAll(s, `"`, `\"`) + `"`)
		ts.Check(err)
		return s
	}
	name, from, to := ts.MkAbs(args[0]), unquote(args[1]), unquote(args[2])
	info, err := os.Stat(name)
	ts.Check(err)
	text := ts.ReadFile(name)
	if !strings.Contains(text, from) {
		ts.Fatalf("%s has no %q in it:\n%s", args[0], from, text)
	}
	ts.Check(os.WriteFile(name, []byte(strings.Replace(text, from, to, 1)), 0o666))
	ts.Check(os.Chtimes(name, info.ModTime(), info.ModTime()))
}

type treeKey string

// remember DIR... notes what trees look like, for unchanged and untouched.
func remember(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: remember DIR...")
	}
	trees := ts.Value(treeKey("")).(map[string]string)
	for _, dir := range args {
		trees[dir] = tree(ts.MkAbs(dir))
	}
}

// unchanged DIR... checks that no byte and no modification time has changed
// since remember. Only DIR itself may have a new one, since a run makes and
// removes its folder there.
func unchanged(ts *testscript.TestScript, neg bool, args []string) {
	compareTrees(ts, neg, args, func(tree string) string {
		_, below, _ := strings.Cut(tree, "\n")
		return below
	})
}

// untouched DIR... is unchanged for DIR itself, too.
func untouched(ts *testscript.TestScript, neg bool, args []string) {
	compareTrees(ts, neg, args, func(tree string) string { return tree })
}

func compareTrees(ts *testscript.TestScript, neg bool, dirs []string, part func(string) string) {
	trees := ts.Value(treeKey("")).(map[string]string)
	for _, dir := range dirs {
		was, known := trees[dir]
		if neg || !known {
			ts.Fatalf("%s was not remembered", dir)
		}
		if now := tree(ts.MkAbs(dir)); part(now) != part(was) {
			ts.Fatalf("%s changed; it was\n%s\nand is\n%s", dir, was, now)
		}
	}
}

// tree describes a directory and all that is below it.
func tree(root string) string {
	var b strings.Builder
	filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		fmt.Fprintf(&b, "%q", strings.TrimPrefix(path, root))
		if d == nil {
			fmt.Fprintf(&b, " %v\n", err)
			return nil
		}
		if info, err := d.Info(); err == nil {
			fmt.Fprint(&b, " ", info.Mode(), " ", info.ModTime().UTC().Format(time.RFC3339Nano))
		}
		switch content, err := os.ReadFile(path); {
		case d.IsDir():
		case d.Type()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			fmt.Fprintf(&b, " -> %q", target)
		case err != nil:
			fmt.Fprintf(&b, " %v", err)
		default:
			fmt.Fprintf(&b, " %d bytes %x", len(content), sha256.Sum256(content))
		}
		b.WriteByte('\n')
		return nil
	})
	return b.String()
}

// entries FILE [ATTRIBUTE...] prints the URI of each entry of a document, with
// its lastmod and attributes of its rs:md as far as they are asked for.
func entries(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: entries FILE [ATTRIBUTE...]")
	}
	type entry struct {
		Loc      string `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 loc"`
		LastMod  string `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 lastmod"`
		Metadata struct {
			Attributes []xml.Attr `xml:",any,attr"`
		} `xml:"http://www.openarchives.org/rs/terms/ md"`
	}
	var document struct {
		Resources []entry `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 url"`
		Documents []entry `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 sitemap"`
	}
	ts.Check(xml.Unmarshal([]byte(ts.ReadFile(args[0])), &document))
	out := ts.Stdout()
	for _, e := range append(document.Resources, document.Documents...) {
		values := map[string]string{"lastmod": e.LastMod}
		for _, a := range e.Metadata.Attributes {
			values[a.Name.Local] = a.Value
		}
		fmt.Fprint(out, e.Loc)
		for _, name := range args[1:] {
			if v, ok := values[name]; ok && v != "" {
				fmt.Fprint(out, " ", v)
			} else {
				fmt.Fprint(out, " -")
			}
		}
		fmt.Fprintln(out)
	}
}

// json FILE KEY=VALUE... checks values of an object. Dots in a KEY lead into
// objects in it; a VALUE that is no string is written as JSON.
func jsonHas(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: json FILE KEY=VALUE...")
	}
	var object any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &object))
	for _, arg := range args[1:] {
		path, want, _ := strings.Cut(arg, "=")
		value := object
		for key := range strings.SplitSeq(path, ".") {
			members, _ := value.(map[string]any)
			value = members[key]
		}
		got, ok := value.(string)
		if !ok {
			b, err := json.Marshal(value)
			ts.Check(err)
			got = string(b)
		}
		if got != want {
			ts.Fatalf("%s is %s, want %s", path, got, want)
		}
	}
}

type lockKey string

// hold-lock DIR holds the lock of a directory until ! hold-lock DIR, or until
// the script ends.
func holdLock(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: [!] hold-lock DIR")
	}
	locks := ts.Value(lockKey("")).(map[string]*publish.Tx)
	release := func() {
		if tx := locks[args[0]]; tx != nil {
			delete(locks, args[0])
			ts.Check(tx.Close())
		}
	}
	if release(); neg {
		return
	}
	var err error
	locks[args[0]], err = publish.Begin(context.Background(), ts.MkAbs(args[0]), publish.Options{})
	ts.Check(err)
	ts.Defer(release)
}

// interrupt N DIR NEXT PATH... leaves a commit in DIR as a run does that was
// killed after N renames of those that would have put each PATH of NEXT there.
func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: interrupt N DIR NEXT PATH...")
	}
	done, err := strconv.Atoi(args[0])
	ts.Check(err)
	folder := ts.MkAbs(filepath.Join(args[1], publish.Folder))
	ts.Check(os.MkdirAll(filepath.Join(folder, "staging"), 0o777))
	puts := make([]publish.Put, len(args)-3)
	for i, path := range args[3:] {
		content := ts.ReadFile(filepath.Join(args[2], path))
		puts[i] = publish.Put{
			Staged: fmt.Sprintf("%06d", i+1), Path: path,
			Length: int64(len(content)), SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(content))),
		}
		target := filepath.Join(folder, "staging", puts[i].Staged)
		if i < done {
			target = ts.MkAbs(filepath.Join(args[1], path))
		}
		ts.Check(os.WriteFile(target, []byte(content), 0o666))
	}
	journal, err := json.Marshal(map[string]any{"format": 1, "puts": puts})
	ts.Check(err)
	ts.Check(os.WriteFile(filepath.Join(folder, "journal"), journal, 0o666))
}
