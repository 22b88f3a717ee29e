package generator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/wellspring-sync/wellspring/internal/publish"
)

// RetainedFile is where a run that leaves bodies where they are says which must
// not be removed there: in the publication's folder, a path on each line.
const RetainedFile = "retain.txt"

// leavesBodies reports whether bodies stay where the last publication is.
func (r *run) leavesBodies() bool {
	return r.o.Previous.Place != "" && r.o.Previous.LeaveBodies && !r.o.DryRun
}

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
func (r *run) openBodies(ctx context.Context) (closeFar func(), err error) {
	dir, remove, err := makeFolder(r.tx.Root())
	if err != nil {
		return nil, err
	}
	far, err := r.openElsewhere(ctx, dir)
	if err != nil {
		remove()
		return nil, err
	}
	r.out = both{r.tx.Root().FS(), far}
	return func() { far.close(); remove() }, nil
}

// writeRetained says which bodies must stay where they are: those that the
// publication leads to, or keeps for a while, and that are not in the output
// directory.
func (r *run) writeRetained(ctx context.Context) error {
	if !r.leavesBodies() {
		return nil
	}
	files, err := r.readElsewhere(ctx, &elsewhere{FS: r.out, fetch: fetchNothing})
	if err != nil {
		return &RetainedError{err}
	}
	var text strings.Builder
	near := r.tx.Root().FS()
	for _, f := range files {
		if _, err := fs.Stat(near, f.Path); f.Body && errors.Is(err, fs.ErrNotExist) {
			text.WriteString(f.Path + "\n")
		}
	}
	root, temp := r.tx.Root(), publish.Folder+"/"+RetainedFile
	if err = root.WriteFile(temp, []byte(text.String()), 0o644); err == nil {
		err = root.Rename(temp, path.Join(r.layout.Folder, RetainedFile))
	}
	if err != nil {
		return &RetainedError{err}
	}
	return nil
}

// RetainedError says that a publication is complete, and the file is not that says what
// must stay where the last one is.
type RetainedError struct{ Err error }

func (e *RetainedError) Error() string {
	return fmt.Sprintf("the publication is complete, but %s could not be written: %v", RetainedFile, e.Err)
}

func (e *RetainedError) Unwrap() error { return e.Err }
