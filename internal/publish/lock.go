package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// ErrLocked is wrapped by the error that says who holds the lock.
var ErrLocked = errors.New("another run holds the lock")

// owner is written into the lock file, for people.
type owner struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Started time.Time `json:"started"`
}

// lock is held on the lock file, or, on a file system that has no locks, by a
// file of its own.
type lock struct {
	file  *flock.Flock
	alone bool
}

const (
	retryEvery = 100 * time.Millisecond
	// patience is for how many files that go away to try again at once. It
	// ends where the directory is no longer the one that has its name.
	patience = 100
)

// acquire locks the lock file. As the holder removes it in the end, a lock
// counts only if the file is still the one that has the name.
func acquire(ctx context.Context, root *os.Root, timeout time.Duration) (*lock, error) {
	deadline := time.Now().Add(timeout)
	for gone := 0; ; {
		l, err := try(root)
		if l == nil && err == nil { // the file went away in between
			if gone++; gone < patience {
				continue
			}
			err = ErrLocked
		}
		if !errors.Is(err, ErrLocked) || !time.Now().Before(deadline) {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(retryEvery):
		}
	}
}

// try returns a lock, or an error, or neither where it pays to try once more.
func try(root *os.Root) (*lock, error) {
	if err := root.Mkdir(Folder, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("writing to the output directory %s: %w", root.Name(), err)
	}
	if info, err := root.Lstat(Folder); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s in the output directory is not a directory", Folder)
	}
	if err := isRegular(root, lockName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("locking the output directory: %w", err)
	}
	native := filepath.Join(root.Name(), filepath.FromSlash(lockName))
	f := flock.New(native, flock.SetPermissions(0o644), flock.SetFlag(os.O_CREATE|os.O_RDWR))
	held, err := f.TryLock()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case isWithoutLocks(err):
		return tryAlone(root, f)
	case err != nil:
		return nil, fmt.Errorf("locking the output directory: %w", err)
	case !held:
		return nil, lockedBy(root, lockName)
	}
	if current, err := isCurrent(root, f); !current || err != nil {
		f.Unlock()
		return nil, err
	}
	l := &lock{file: f}
	if err := writeOwner(root); err != nil {
		l.release(root)
		return nil, err
	}
	return l, nil
}

// isCurrent reports whether the file that was locked still has its name, and no
// other one.
func isCurrent(root *os.Root, f *flock.Flock) (bool, error) {
	named, err := root.Lstat(lockName)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("locking the output directory: %w", err)
	}
	held, err := f.Stat()
	if err != nil || !os.SameFile(named, held) {
		return false, nil
	}
	if hasOtherNames(named) {
		return false, unlink(root)
	}
	return true, nil
}

// unlink takes its name here off a file that is somebody's under another name,
// and that writing the owner would overwrite. The next try makes a new one.
func unlink(root *os.Root) error {
	if err := root.Remove(lockName); err != nil {
		return fmt.Errorf("making a lock file that is no link to another file: %w", err)
	}
	return nil
}

func writeOwner(root *os.Root) error {
	if runtime.GOOS == "windows" {
		return nil // where a locked file cannot be written by another handle
	}
	if err := root.WriteFile(lockName, self().marshal(), 0o644); err != nil {
		return fmt.Errorf("writing the lock file: %w", err)
	}
	return nil
}

func self() owner {
	host, _ := os.Hostname()
	return owner{PID: os.Getpid(), Host: host, Started: time.Now().UTC().Truncate(time.Second)}
}

func (o owner) marshal() []byte {
	b, err := json.Marshal(o)
	if err != nil {
		panic(err) // numbers, texts and a time of this century
	}
	return b
}

// readOwner reads who holds a lock, and false where the file does not say.
func readOwner(root *os.Root, name string) (o owner, ok bool) {
	if isRegular(root, name) != nil {
		return o, false
	}
	f, err := root.Open(name)
	if err != nil {
		return o, false
	}
	defer f.Close()
	const most = 4096 // the name of a host is not that long
	return o, json.NewDecoder(io.LimitReader(f, most)).Decode(&o) == nil && o.PID > 0
}

func lockedBy(root *os.Root, name string) error {
	o, ok := readOwner(root, name)
	if !ok {
		return ErrLocked
	}
	return fmt.Errorf("%w: process %d on %s, since %s", ErrLocked, o.PID, o.hostName(), o.Started.Format(time.RFC3339))
}

// hostName returns the host for messages. What cannot be the name of one is
// quoted, as anybody may have written it.
func (o owner) hostName() string {
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-", r)
	}
	if o.Host == "" || strings.ContainsFunc(o.Host, odd) {
		return strconv.Quote(o.Host)
	}
	return o.Host
}

// release removes the lock file and its folder, unless there is still something
// in that, and lets go of the lock.
func (l *lock) release(root *os.Root) {
	if runtime.GOOS == "windows" { // an open file cannot be removed
		l.file.Unlock()
	}
	if l.alone {
		root.Remove(aloneName)
	}
	root.Remove(lockName)
	root.Remove(Folder)
	l.file.Unlock()
}
