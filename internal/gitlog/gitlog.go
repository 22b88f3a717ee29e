// Package gitlog tells when files were last committed, out of the log of git: a
// checkout gives all files the time at which it was made. It runs the program git,
// and reads the log from its end until it has seen all files.
package gitlog

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// ErrNone says that a directory is not in a working tree of git, or that there is no
// git.
var ErrNone = errors.New("there is no log of git")

// Times says when the files of a directory were last committed. It is safe for
// concurrent use.
type Times struct {
	seed  maphash.Seed
	times map[uint64]int64 // by the hash of the path, in seconds
	// Shallow says that the log was cut off, as checkouts on build servers have it:
	// what is older counts as committed where the log begins.
	Shallow bool
}

// Of returns when a file was last committed, by its slash path relative to the
// directory, and false if it was not, or has changed since then.
func (t *Times) Of(path string) (time.Time, bool) {
	seconds, ok := t.times[maphash.String(t.seed, path)]
	return time.Unix(seconds, 0).UTC(), ok && seconds > 0
}

// Read reads the log of the working tree that a directory is in. Its errors are
// ErrNone, or say what git says.
func Read(ctx context.Context, dir string) (*Times, error) {
	t := &Times{seed: maphash.MakeSeed(), times: map[uint64]int64{}}
	shallow, err := output(ctx, dir, "rev-parse", "--is-shallow-repository")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNone, err)
	}
	t.Shallow = strings.TrimSpace(shallow) == "true"
	left := 0
	err = t.each(ctx, dir, func(name string) bool {
		if h := maphash.String(t.seed, name); t.times[h] == 0 {
			t.times[h] = missing
			left++
		}
		return true
	}, "ls-files", "-z")
	if err != nil || left == 0 {
		return t, err
	}
	if err := t.readLog(ctx, dir, left); err != nil {
		return nil, err
	}
	// What has changed since the last commit has the time of its file.
	return t, t.each(ctx, dir, func(name string) bool {
		delete(t.times, maphash.String(t.seed, name))
		return true
	}, "diff", "--name-only", "--no-renames", "--relative", "-z", "HEAD", "--", ".")
}

// missing stands for a file whose commit has not been seen yet.
const missing = -1

// readLog reads the log until it has the times of so many files.
func (t *Times) readLog(ctx context.Context, dir string, left int) error {
	mark := rand.Text() // which no file is called
	at := int64(0)
	return t.each(ctx, dir, func(item string) bool {
		item = strings.TrimPrefix(item, "\n")
		if seconds, ok := strings.CutPrefix(item, mark); ok {
			seconds, name, named := strings.Cut(seconds, "\n")
			at, _ = strconv.ParseInt(seconds, 10, 64)
			if !named {
				return true
			}
			item = name
		}
		if h := maphash.String(t.seed, item); t.times[h] == missing {
			t.times[h] = at
			left--
		}
		return left > 0
	}, "log", "--format=format:"+mark+"%ct", "--name-only", "--no-renames", "--relative", "-z", "--", ".")
}

// each calls fn for each item that git writes, until it returns false.
func (t *Times) each(ctx context.Context, dir string, fn func(item string) bool, args ...string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd, stderr := command(ctx, dir, args)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("running git: %w", err)
	}
	r := bufio.NewReaderSize(out, 64<<10)
	for {
		item, err := r.ReadString(0)
		if item = strings.TrimSuffix(item, "\x00"); item != "" && !fn(item) {
			cancel() // enough is known
			cmd.Wait()
			return nil
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("reading what git says: %w", errors.Join(err, cmd.Wait()))
		}
	}
	if err := cmd.Wait(); err != nil {
		return failed(args, err, stderr)
	}
	return nil
}

func output(ctx context.Context, dir string, args ...string) (string, error) {
	cmd, stderr := command(ctx, dir, args)
	b, err := cmd.Output()
	if err != nil {
		return "", failed(args, err, stderr)
	}
	return string(b), nil
}

// command prepares git to say nothing but what it is asked, whatever its settings are.
func command(ctx context.Context, dir string, args []string) (*exec.Cmd, *strings.Builder) {
	quiet := []string{"--no-pager", "-c", "log.showSignature=false", "-c", "core.fsmonitor=false", "-c", "core.quotepath=false", "-C", dir}
	cmd := exec.CommandContext(ctx, "git", append(quiet, args...)...)
	stderr := &strings.Builder{}
	cmd.Stderr = stderr
	cmd.WaitDelay = time.Second
	return cmd, stderr
}

func failed(args []string, err error, stderr *strings.Builder) error {
	if text, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n"); text != "" {
		return fmt.Errorf("git %s: %s", args[0], text)
	}
	return fmt.Errorf("git %s: %w", args[0], err)
}
