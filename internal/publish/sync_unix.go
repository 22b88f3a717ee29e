//go:build unix

package publish

import (
	"errors"
	"os"
	"syscall"
)

// syncDir makes the names in a directory durable. Some file systems cannot do
// that, and say so.
func syncDir(root *os.Root, dir string) error {
	f, err := root.Open(dir)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, f.Close())
}
