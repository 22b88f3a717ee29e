package publish

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/gofrs/flock"
)

// Some file systems of networks have no locks. There, the lock is a file that
// only one run can make. Unlike a lock it outlives its holder, so a later run on
// the same machine takes it over when the process is gone. Between machines this
// is not proof against everything, which is why the run is told.

const aloneName = Folder + "/held"

// isWithoutLocks reports whether a file system said that it has no locks.
func isWithoutLocks(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.ENOLCK)
}

// tryAlone is try where there are no locks.
func tryAlone(root *os.Root, f *flock.Flock) (*lock, error) {
	takeOver(root)
	file, err := root.OpenFile(aloneName, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil // the folder went away with the run before
	case errors.Is(err, fs.ErrExist):
		return nil, fmt.Errorf("%w (this file system has no locks; if that process has ended, remove %s)", lockedBy(root, aloneName), aloneName)
	case err != nil:
		return nil, fmt.Errorf("locking the output directory: %w", err)
	}
	_, err = file.Write(self().marshal())
	if err = errors.Join(err, file.Close()); err != nil {
		root.Remove(aloneName)
		return nil, fmt.Errorf("writing the lock file: %w", err)
	}
	return &lock{file: f, alone: true}, nil
}

// takeOver removes what a dead process of this machine left. Should another run
// have done so in between, and be the holder now, it gets its file back.
func takeOver(root *os.Root) {
	if o, ok := readOwner(root, aloneName); !ok || !o.isGone() {
		return
	}
	aside := fmt.Sprintf("%s.%d", aloneName, os.Getpid())
	if root.Rename(aloneName, aside) != nil {
		return
	}
	if o, ok := readOwner(root, aside); ok && !o.isGone() {
		root.Rename(aside, aloneName)
		return
	}
	root.Remove(aside)
}

// isGone reports whether a process of this machine has ended.
func (o owner) isGone() bool {
	host, err := os.Hostname()
	return err == nil && o.Host == host && o.PID != os.Getpid() && !isRunning(o.PID)
}
