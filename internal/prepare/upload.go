package prepare

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/wellspring-sync/wellspring/layout"
)

// Upload is what was found out about files that go to hosts.
type Upload struct {
	// Passed are the limits of the hosts that are passed.
	Passed []Passed
	// Unread is how many folders and files could not be looked at, and Err is why, for
	// the first of them.
	Unread int
	Err    error
}

// CheckUpload compares the files in some directories, which go to the hosts together,
// with the limits of these. It reads no content. What changes while it looks is counted
// as it happens to be, and what cannot be looked at is left out and counted apart. The
// folders of version control do not count, since no deployer takes them; links to files
// do, and links to folders do not. The error is that of the context.
func CheckUpload(ctx context.Context, dirs, hosts []string) (*Upload, error) {
	u := &upload{ctx: ctx, gauges: gaugesFor(hosts)}
	if len(u.gauges) == 0 {
		return &u.found, nil
	}
	for _, dir := range dirs {
		if err := u.top(dir); err != nil {
			return nil, err
		}
	}
	u.found.Passed = passed(u.gauges)
	return &u.found, nil
}

type upload struct {
	ctx    context.Context
	gauges []gauge
	found  Upload
}

func (u *upload) unread(err error) {
	if u.found.Unread++; u.found.Err == nil {
		u.found.Err = err
	}
}

func (u *upload) top(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		u.unread(err)
		return nil
	}
	defer root.Close()
	return u.folder(root.FS(), ".")
}

// folder counts what is in a folder, and below it.
func (u *upload) folder(fsys fs.FS, name string) error {
	entries, err := fs.ReadDir(fsys, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		u.unread(err)
	}
	files := int64(0)
	for _, e := range entries {
		if err := context.Cause(u.ctx); err != nil {
			return err
		}
		p := path.Join(name, e.Name())
		switch {
		case e.IsDir() && isDeployed(e.Name()):
			if err := u.folder(fsys, p); err != nil {
				return err
			}
		case !e.IsDir() && u.file(fsys, p, e):
			files++
		}
	}
	for i := range u.gauges {
		u.gauges[i].folder(name, files)
	}
	return nil
}

// isDeployed reports whether a folder is uploaded by anybody.
func isDeployed(name string) bool {
	switch name {
	case ".git", ".hg", ".svn", ".bzr", ".wellspring":
		return false
	}
	return true
}

// file counts a file, and reports whether it is one.
func (u *upload) file(fsys fs.FS, name string, e fs.DirEntry) bool {
	info, err := e.Info()
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if info, err = fs.Stat(fsys, name); err != nil { // it leads to nothing, or out of the directory
			return false
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist): // gone by now
		return false
	case err != nil:
		u.unread(err)
		return false
	case !info.Mode().IsRegular():
		return false
	}
	for i := range u.gauges {
		u.gauges[i].file(name, info.Size())
	}
	return true
}

// isPackage reports whether a file is a package of a dump.
func isPackage(name string) bool {
	return strings.HasSuffix(name, ".zip") && layout.IsWrittenOnce(name)
}
