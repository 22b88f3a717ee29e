package scanner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Tree is what can be scanned.
type Tree interface {
	// OpenDir opens a directory by its slash path, "." being the tree itself.
	OpenDir(path string) (Dir, error)
	// Lstat describes what is at a slash path, without following a link.
	Lstat(path string) (Stat, error)
	// Resolve returns the path that a symbolic link leads to, free of links
	// itself, or ErrOutside if that is not in the tree.
	Resolve(path string) (string, error)
	// IsMoved reports whether the tree's name is gone or leads to another
	// directory now.
	IsMoved() bool
}

// Dir is an open directory.
type Dir interface {
	// Entries calls fn for each entry, in any order, with its type.
	Entries(fn func(name string, mode fs.FileMode) error) error
	Lstat(name string) (Stat, error)
	OpenDir(name string) (Dir, error)
	// Info tells directories apart.
	Info() (fs.FileInfo, error)
	Close() error
}

// ErrOutside is returned for symbolic links that lead out of the tree.
var ErrOutside = errors.New("the link leads out of the source")

var errLoop = errors.New("the link leads to itself")

// sameFile tells what os.SameFile cannot take from what it can.
func sameFile(a, b fs.FileInfo) bool { return a != nil && b != nil && os.SameFile(a, b) }

// NewTree returns the tree below an open root. It is safe for concurrent use.
func NewTree(root *os.Root) (Tree, error) {
	real, err := filepath.EvalSymlinks(root.Name())
	if err != nil {
		return nil, err
	}
	if real, err = filepath.Abs(real); err != nil {
		return nil, err
	}
	return &osTree{root: root, real: real}, nil
}

type osTree struct {
	root *os.Root
	real string // native, absolute, without links
}

func (t *osTree) OpenDir(path string) (Dir, error) { return openDir(t.root, path) }

func (t *osTree) Lstat(path string) (Stat, error) { return lstat(t.root, path) }

func (t *osTree) Resolve(path string) (string, error) {
	real, err := filepath.EvalSymlinks(filepath.Join(t.real, filepath.FromSlash(path)))
	if err != nil {
		return "", t.unresolved(err)
	}
	relative, ok := t.relative(real)
	if !ok {
		return "", ErrOutside
	}
	return relative, nil
}

// unresolved says why a link leads nowhere.
func (t *osTree) unresolved(err error) error {
	var p *fs.PathError
	switch {
	case strings.Contains(err.Error(), "too many links"):
		return errLoop
	case errors.Is(err, fs.ErrPermission) && errors.As(err, &p):
		if _, inside := t.relative(p.Path); !inside {
			return ErrOutside
		}
	}
	return err
}

// relative returns the slash path of a file in the tree.
func (t *osTree) relative(real string) (string, bool) {
	relative, err := filepath.Rel(t.real, real)
	return filepath.ToSlash(relative), err == nil && filepath.IsLocal(relative)
}

func (t *osTree) IsMoved() bool {
	now, err := os.Stat(t.real)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	opened, err := t.root.Stat(".")
	return err == nil && !os.SameFile(now, opened)
}

func lstat(root *os.Root, path string) (Stat, error) {
	info, err := root.Lstat(filepath.FromSlash(path))
	if err != nil {
		return Stat{}, err
	}
	return StatOf(info), nil
}

// FSTree returns the tree of a file system of another kind, such as one for
// tests. It has no symbolic links.
func FSTree(fsys fs.FS) Tree { return fsTree{fsys} }

type fsTree struct{ fsys fs.FS }

func (t fsTree) OpenDir(path string) (Dir, error) {
	sub, err := fs.Sub(t.fsys, path)
	if err != nil {
		return nil, err
	}
	return fsDir{fsTree{sub}}, nil
}

func (t fsTree) Lstat(path string) (Stat, error) {
	info, err := fs.Stat(t.fsys, path)
	if err != nil {
		return Stat{}, err
	}
	return StatOf(info), nil
}

func (t fsTree) Resolve(path string) (string, error) {
	return "", fmt.Errorf("%s: %w", path, errors.ErrUnsupported)
}

func (t fsTree) IsMoved() bool { return false }

type fsDir struct{ fsTree }

func (d fsDir) Entries(fn func(string, fs.FileMode) error) error {
	entries, err := fs.ReadDir(d.fsys, ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := fn(e.Name(), e.Type()); err != nil {
			return err
		}
	}
	return nil
}

func (d fsDir) Info() (fs.FileInfo, error) { return nil, nil }
func (d fsDir) Close() error               { return nil }

// StatOf takes what is needed out of a FileInfo.
func StatOf(info fs.FileInfo) Stat {
	st := Stat{Size: info.Size(), ModTime: info.ModTime(), Mode: info.Mode().Type()}
	st.addSystem(info)
	return st
}
