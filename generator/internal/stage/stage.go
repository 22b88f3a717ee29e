// Package stage holds the files of the next publication until all of them are ready:
// documents, packages and temporary files below the output directory, made durable and
// digested. Files have no names before they are placed; the order in which they are
// placed is the order of the commit. The upload plan, which tells of the same files, is
// here as well.
package stage

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/wellspring-sync/wellspring/internal/publish"
	"github.com/wellspring-sync/wellspring/zipdump"
)

// Area makes staged files. Only Spill may be called concurrently.
type Area struct {
	folder *folder
	o      Options
	files  int
	spills atomic.Int64 // temporary files, which workers make
}

// Options of an Area.
type Options struct {
	// MD5 says to take MD5 digests as well, as an upload plan wants them.
	MD5 bool
	// Packed is told how many bytes go into packages, as they do. It may be nil.
	Packed func(int)
	// Many says that very many documents are written at the same time, so that none
	// of them stays open.
	Many bool
}

// New returns an area of a transaction.
func New(tx *publish.Tx, o Options) *Area {
	return &Area{folder: &folder{Tx: tx, withMD5: o.MD5, open: map[*handle]bool{}}, o: o}
}

// Close closes the files that are still being written, where a survey ended early, and
// waits for those that are being made durable. It does nothing if a is nil.
func (a *Area) Close() {
	if a != nil {
		a.folder.close()
	}
}

// Clear closes and removes all files, none of which was placed. It does nothing if a is
// nil.
func (a *Area) Clear() error {
	if a == nil {
		return nil
	}
	a.Close()
	return a.folder.Clear()
}

// Create begins a staged file.
func (a *Area) Create() (*File, error) {
	a.files++
	name := fmt.Sprintf("%06d", a.files)
	f, err := a.folder.create(name)
	if err != nil {
		return nil, err
	}
	if !a.o.Many {
		return newFile(a.folder, name, f, 64<<10), nil
	}
	return newFile(a.folder, name, &intermittent{a.folder, name}, 4<<10), f.Close()
}

// createPackage begins a staged file that is too large to be read again for its
// digest.
func (a *Area) createPackage() (*File, error) {
	f, err := a.Create()
	if err == nil {
		f.sum, f.tell = newDigests(a.o.MD5), a.o.Packed
		f.w.Reset(io.MultiWriter(f.file, f.sum))
	}
	return f, err
}

// Complete stages a document that is in memory, and makes it durable.
func (a *Area) Complete(b []byte) (*File, error) {
	f, err := a.Create()
	if err != nil {
		return nil, err
	}
	if _, err := f.Write(b); err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	return f, f.Sync()
}

// spill is a staged file that nobody needs once it is closed.
type spill struct {
	*handle
	discard func() error
}

// Spill makes a temporary file. It may be called concurrently.
func (a *Area) Spill() (zipdump.Spill, error) {
	name := fmt.Sprintf("spill-%06d", a.spills.Add(1))
	f, err := a.folder.create(name)
	if err != nil {
		return nil, err
	}
	return &spill{f, func() error { return a.folder.Discard(name) }}, nil
}

func (s *spill) Close() error { return errors.Join(s.handle.Close(), s.discard()) }
