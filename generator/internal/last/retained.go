package last

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/publish"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
)

// LeavesBodies reports whether bodies stay where the last publication is.
func (f *Files) LeavesBodies() bool { return f.place.leavesBodies() }

// both has the files of the output directory and, where they are not there, those
// of the last publication.
type both struct{ near, far fs.FS }

func (b both) Open(name string) (fs.File, error) {
	f, err := b.near.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return b.far.Open(name)
	}
	return f, err
}

func (b both) Stat(name string) (fs.FileInfo, error) {
	info, err := fs.Stat(b.near, name)
	if errors.Is(err, fs.ErrNotExist) {
		return fs.Stat(b.far, name)
	}
	return info, err
}

// openBodies has the run find bodies where they are.
func (f *Files) openBodies(ctx context.Context) (closeFar func(), err error) {
	dir, remove, err := makeFolder(f.Tx.Root())
	if err != nil {
		return nil, err
	}
	far, err := f.place.openElsewhere(ctx, dir)
	if err != nil {
		remove()
		return nil, err
	}
	f.FS = both{f.Tx.Root().FS(), far}
	return func() { far.close(); remove() }, nil
}

// WriteRetained says, after the commit, which bodies must stay where they are: those that
// the publication leads to, or keeps for a while, and that are not in the output directory.
// It does nothing where bodies are here.
func (f *Files) WriteRetained(ctx context.Context, next *Next) error {
	if !f.LeavesBodies() {
		return nil
	}
	files, err := here(f.FS).read(ctx, next.Layout, next.hasNames(), silent)
	if err != nil {
		return &policy.RetainedError{Err: err}
	}
	var text strings.Builder
	root := f.Tx.Root()
	for _, file := range files {
		if _, err := fs.Stat(root.FS(), file.Path); file.Body && errors.Is(err, fs.ErrNotExist) {
			text.WriteString(file.Path + "\n")
		}
	}
	temp := publish.Folder + "/" + policy.RetainedFile
	if err = root.WriteFile(temp, []byte(text.String()), 0o644); err == nil {
		err = root.Rename(temp, path.Join(next.Layout.Folder, policy.RetainedFile))
	}
	if err != nil {
		return &policy.RetainedError{Err: err}
	}
	return nil
}

// CheckElsewhere makes sure that the last publication, if it is elsewhere, is still the
// one that this run goes on from.
func (f *Files) CheckElsewhere(ctx context.Context, l layout.Layout) error {
	if f.place.Previous.Place == "" {
		return nil
	}
	now, err := f.place.recordElsewhere(ctx, l)
	if err != nil {
		return fmt.Errorf("looking at the last publication again: %w", plain(err))
	}
	was, err := snapshot.ReadFile(f.FS, l.Record().Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("looking at the last publication again: %w", err)
	}
	first := f.place.Previous.First
	if !first && !bytes.Equal(now, was) || first && now != nil {
		return policy.ErrChanged
	}
	return nil
}
