package snapshot

import (
	"errors"
	"io"
	"io/fs"
)

var errNotRegular = errors.New("it is no regular file")

// open opens a file of the publication. All of them are opened here: whatever
// else has the name may be a pipe, and to open that may take for ever.
func open(files fs.FS, path string) (fs.File, error) {
	if _, err := stat(files, path); err != nil {
		return nil, err
	}
	f, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	if _, err := regular(path, f.Stat); err != nil { // by now
		f.Close()
		return nil, err
	}
	return f, nil
}

// stat describes a file of the publication.
func stat(files fs.FS, path string) (fs.FileInfo, error) {
	return regular(path, func() (fs.FileInfo, error) { return fs.Stat(files, path) })
}

func regular(path string, stat func() (fs.FileInfo, error)) (fs.FileInfo, error) {
	info, err := stat()
	if err == nil && !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errNotRegular}
	}
	return info, err
}

// ReadFile reads a small document of a publication whole. Anything but a regular
// file is an error.
func ReadFile(files fs.FS, path string) ([]byte, error) {
	return ReadFileAtMost(files, path, 256<<20)
}

// ReadFileAtMost is ReadFile for a file of so many bytes at most.
func ReadFileAtMost(files fs.FS, path string, most int64) ([]byte, error) {
	f, err := open(files, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = &fs.PathError{Op: "read", Path: path, Err: errors.New("the file is too long")}
	}
	return b, err
}
