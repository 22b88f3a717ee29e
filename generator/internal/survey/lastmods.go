package survey

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/gitlog"
)

// lastMods finds the times for one run.
type lastMods struct {
	kind policy.LastMod
	at   time.Time // of the run
	// log is read when the first file needs it.
	log func() (*gitlog.Times, error)

	committed, uncommitted int
	firstUncommitted       string
	shallow                bool
}

func newLastMods(ctx context.Context, kind policy.LastMod, dir string, at time.Time) lastMods {
	return lastMods{kind: kind, at: at, log: sync.OnceValues(func() (*gitlog.Times, error) {
		return gitlog.Read(ctx, dir)
	})}
}

// of returns the time for a file that is new or has changed, and that says of itself
// when it was modified.
func (l *lastMods) of(path string, modified time.Time) (time.Time, error) {
	switch l.kind {
	case policy.LastModRun:
		return l.at, nil
	case policy.LastModGit:
	default:
		return modified, nil
	}
	log, err := l.log()
	if err != nil {
		return modified, fmt.Errorf("finding out when files were last committed, as lastmod asks for it: %w", err)
	}
	l.shallow = log.Shallow
	at, ok := log.Of(path)
	if !ok {
		if l.uncommitted++; l.uncommitted == 1 {
			l.firstUncommitted = path
		}
		return modified, nil
	}
	l.committed++
	return at, nil
}

// warn says where the log did not help.
func (l *lastMods) warn(warn func(format string, args ...any)) {
	if l.shallow {
		warn("the log of git is cut off, so that old files seem to have been committed when it begins: fetch all of it (with fetch-depth: 0, or git fetch --unshallow)")
	}
	switch {
	case l.uncommitted == 1:
		warn("%q is not committed: its lastmod is the file's own modification time", l.firstUncommitted)
	case l.uncommitted > 1:
		warn("%q and %d more are not committed: their lastmod is the files' own modification time", l.firstUncommitted, l.uncommitted-1)
	}
}

// fromFiles reports whether times are those of files, of which a checkout makes one.
func (l *lastMods) fromFiles() bool { return l.kind != policy.LastModRun && l.committed == 0 }
