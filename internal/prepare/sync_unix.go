//go:build unix

package prepare

import (
	"errors"
	"os"
	"syscall"
)

// syncDir makes a renaming last. Some file systems cannot sync directories.
func syncDir(root *os.Root, dir string) error {
	d, err := root.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
