//go:build !linux

package scanner

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

type osDir struct{ root *os.Root }

func openDir(parent *os.Root, path string) (Dir, error) {
	root, err := parent.OpenRoot(filepath.FromSlash(path))
	if err != nil {
		return nil, err
	}
	return &osDir{root}, nil
}

// entriesAtOnce bounds how much of a large directory is held twice.
const entriesAtOnce = 512

func (d *osDir) Entries(fn func(string, fs.FileMode) error) error {
	f, err := d.root.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		entries, err := f.ReadDir(entriesAtOnce)
		for _, e := range entries {
			if err := fn(e.Name(), e.Type()); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (d *osDir) Lstat(name string) (Stat, error)  { return lstat(d.root, name) }
func (d *osDir) OpenDir(name string) (Dir, error) { return openDir(d.root, name) }
func (d *osDir) Info() (fs.FileInfo, error)       { return d.root.Stat(".") }
func (d *osDir) Close() error                     { return d.root.Close() }
