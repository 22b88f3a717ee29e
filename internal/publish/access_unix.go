//go:build linux || darwin

package publish

import (
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// checkWritable returns an error if names in a directory cannot be changed.
func checkWritable(root *os.Root, dir string) error {
	native := filepath.Join(root.Name(), filepath.FromSlash(dir))
	if err := unix.Faccessat(unix.AT_FDCWD, native, unix.W_OK|unix.X_OK, unix.AT_EACCESS); err != nil {
		return &fs.PathError{Op: "access", Path: native, Err: err}
	}
	return nil
}
