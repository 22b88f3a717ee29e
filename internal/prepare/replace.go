package prepare

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// site is the directory in which files are replaced.
type site struct {
	root   *os.Root
	dryRun bool
	dirty  string // the directory with the last file that was replaced, or empty
}

// temporary is the name of a file on its way. One that is left from a run that was
// killed is never published, and goes with the next file of its directory.
const temporary = ".wellspring-prepare~"

// read returns a file that is not larger than most, and what it was when it was read.
func (s *site) read(name string, most int64) ([]byte, fs.FileInfo, error) {
	f, err := s.root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	content, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(content)) != min(info.Size(), most+1) {
		err = fmt.Errorf("%s changes while it is read: run again", name)
	}
	return content, info, err
}

// replace puts content in place of what a file was; was is nil if there is none.
func (s *site) replace(name string, content []byte, was fs.FileInfo) error {
	if s.dryRun {
		return nil
	}
	temp := filepath.FromSlash(path.Join(path.Dir(name), temporary))
	if err := s.root.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.write(temp, content, was); err != nil {
		return errors.Join(err, s.root.Remove(temp))
	}
	err := s.isAsItWas(name, was)
	if err == nil {
		err = s.root.Rename(temp, filepath.FromSlash(name))
	}
	if err != nil {
		return errors.Join(err, s.root.Remove(temp))
	}
	if dir := filepath.Dir(temp); dir != s.dirty {
		err = s.finish()
		s.dirty = dir
	}
	return err
}

// finish makes the last replacements last: directories are synced once for all of
// their files.
func (s *site) finish() error {
	if s.dirty == "" {
		return nil
	}
	dir := s.dirty
	s.dirty = ""
	return syncDir(s.root, dir)
}

func (s *site) write(temp string, content []byte, was fs.FileInfo) error {
	f, err := s.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, bytes.NewReader(content))
	if was != nil {
		err = errors.Join(err, f.Chmod(was.Mode().Perm()))
	}
	return errors.Join(err, f.Sync(), f.Close())
}

// isAsItWas returns an error if somebody else has changed a file.
func (s *site) isAsItWas(name string, was fs.FileInfo) error {
	now, err := s.root.Lstat(filepath.FromSlash(name))
	if was == nil && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && was != nil && os.SameFile(now, was) && now.Size() == was.Size() && now.ModTime().Equal(was.ModTime()) {
		return nil
	}
	return fmt.Errorf("%s was changed by something else meanwhile: run again", name)
}
