//go:build unix

package hashing

import (
	"os"
	"path/filepath"
	"syscall"
)

// openFlags neither wait for a pipe's other end nor follow a link that took a
// file's place.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOFOLLOW

// RootOpener opens the files below a root.
type RootOpener struct{ Root *os.Root }

// OpenFile implements [Opener].
func (o RootOpener) OpenFile(path string) (File, error) {
	f, err := o.Root.OpenFile(filepath.FromSlash(path), openFlags, 0)
	if err != nil {
		return nil, err
	}
	return f, nil
}
