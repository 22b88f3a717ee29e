// Package last knows what is published: it locks the output directory, completes what an
// interrupted run left, brings a publication here that is elsewhere, and reads all sets of
// it. What it returns is only read from then on.
package last

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/publish"
	"github.com/wellspring-sync/wellspring/layout"
)

// Place is an output directory, and where the publication is from which a run goes on.
type Place struct {
	Out         string
	Previous    policy.Previous
	LockTimeout time.Duration
	Release     string
	// DryRun says that nothing is written, so that nothing is locked.
	DryRun bool
	Log    *slog.Logger
}

// Next is what the next publication is going to be, as far as that decides what of the
// last one goes on.
type Next struct {
	Layout layout.Layout
	// Sets are its sets of resources. One without a name is all of a publication whose
	// sets have no names.
	Sets   []policy.Set
	Limits policy.Limits
	// Rebase says that it takes the place of the last one, whatever that is.
	Rebase bool
	// Page, Versions and Patches say whether it has them.
	Page, Versions, Patches bool
	// AsIs says that the last publication goes on as it is, with its hubs and dumps.
	AsIs bool
}

// hasNames reports whether the sets have names, each with a folder and a record of its
// own.
func (n *Next) hasNames() bool { return n.Sets[0].Name != "" }

// Files are those of the last publication, where a run finds them. They are locked unless
// nothing is going to be written.
type Files struct {
	FS fs.FS
	// Tx puts files into the output directory; it is nil in a dry run.
	Tx *publish.Tx
	// Recovered is true if an interrupted commit was completed first.
	Recovered bool
	Warnings  []string

	place Place
	close func()
}

// Open opens the output directory, completes an interrupted commit, and brings the last
// publication there if it is elsewhere.
func Open(ctx context.Context, place Place, next *Next) (*Files, error) {
	if place.Previous.Place == "" {
		return OpenHere(ctx, place, next.Layout)
	}
	f := &Files{place: place, close: func() {}}
	if place.DryRun {
		return f, f.look(ctx, next)
	}
	var err error
	if f.Recovered, err = place.carry(ctx, next, f.warn); err != nil {
		return f, err
	}
	return f, f.lock(ctx, next.Layout)
}

// OpenHere opens the output directory for a publication that is in it, and completes an
// interrupted commit.
func OpenHere(ctx context.Context, place Place, l layout.Layout) (*Files, error) {
	f := &Files{place: place, close: func() {}}
	if !place.DryRun {
		return f, f.lock(ctx, l)
	}
	f.FS = os.DirFS(place.Out)
	return f, place.checkPending()
}

// Close gives the lock back and removes what nobody needs any more.
func (f *Files) Close() { f.close() }

// look has a dry run look at the last publication where it is. It has to be one that
// could be brought here, also if it is going to be replaced.
func (f *Files) look(ctx context.Context, next *Next) error {
	if err := f.place.checkPending(); err != nil {
		return err
	}
	from, err := f.place.openElsewhere(ctx, nil)
	if err != nil {
		return err
	}
	f.FS, f.close = from, func() { from.close() }
	if !next.Rebase {
		return nil
	}
	_, err = f.place.filesElsewhere(ctx, from, next, f.warn)
	return err
}

func (f *Files) lock(ctx context.Context, l layout.Layout) (err error) {
	if f.Tx, err = f.place.begin(ctx, l); err != nil {
		return err
	}
	f.FS = f.Tx.Root().FS()
	f.Recovered = f.Recovered || f.Tx.Recovered
	if f.Tx.Unlocked {
		f.warn("the file system of %s has no locks: make sure that no other run writes there at the same time", f.place.Out)
	}
	f.close = func() {
		if err := f.Tx.Close(); err != nil {
			f.place.Log.Warn("cleaning up", "error", err)
		}
	}
	if !f.LeavesBodies() {
		return nil
	}
	closeFar, err := f.openBodies(ctx)
	if err != nil {
		f.close()
		f.close = func() {}
		return err
	}
	closeTx := f.close
	f.close = func() { closeFar(); closeTx() }
	return nil
}

func (f *Files) warn(format string, args ...any) {
	f.Warnings = append(f.Warnings, fmt.Sprintf(format, args...))
}

// IsThere reports whether there is a file.
func (f *Files) IsThere(path string) bool {
	_, err := fs.Stat(f.FS, path)
	return err == nil
}

// MayBeThere reports whether there is a file, or may be one far away.
func (f *Files) MayBeThere(path string) bool {
	_, err := fs.Stat(f.FS, path)
	return !errors.Is(err, fs.ErrNotExist) || f.LeavesBodies()
}
