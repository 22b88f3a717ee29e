//go:build !unix

package hashing

import (
	"os"
	"path/filepath"
)

// RootOpener opens the files below a root. A link that took a file's place is
// followed as far as it stays inside, as [os.Root] does.
type RootOpener struct{ Root *os.Root }

// OpenFile implements [Opener].
func (o RootOpener) OpenFile(path string) (File, error) {
	f, err := o.Root.Open(filepath.FromSlash(path))
	if err != nil {
		return nil, err
	}
	return f, nil
}
