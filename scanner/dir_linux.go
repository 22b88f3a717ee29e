package scanner

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// osDir is an open directory. Linux has calls that are relative to one; with
// them, an entry costs one call and no memory, where package os looks at each
// entry while it lists a directory below a Root, and again when it is asked.
type osDir struct {
	file *os.File
	fd   int // of the file, which is open until Close
}

func newDir(f *os.File) *osDir { return &osDir{f, int(f.Fd())} }

func openDir(parent *os.Root, path string) (Dir, error) {
	f, err := parent.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	return newDir(f), nil
}

// OpenDir opens an entry, unless a link has taken its place.
func (d *osDir) OpenDir(name string) (Dir, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := retry(func() (int, error) { return unix.Openat(d.fd, name, flags, 0) })
	if err != nil {
		return nil, &fs.PathError{Op: "openat", Path: name, Err: err}
	}
	return newDir(os.NewFile(uintptr(fd), name)), nil
}

func (d *osDir) Info() (fs.FileInfo, error) { return d.file.Stat() }
func (d *osDir) Close() error               { return d.file.Close() }

func (d *osDir) Lstat(name string) (Stat, error) {
	var st unix.Stat_t
	_, err := retry(func() (int, error) { return 0, unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil {
		return Stat{}, &fs.PathError{Op: "lstat", Path: name, Err: err}
	}
	return Stat{
		Size:       st.Size,
		ModTime:    time.Unix(st.Mtim.Unix()),
		ChangeTime: time.Unix(st.Ctim.Unix()),
		Inode:      st.Ino,
		Mode:       fileMode(st.Mode),
	}, nil
}

// listBuffer holds some hundred entries of a directory.
const listBuffer = 32 << 10

func (d *osDir) Entries(fn func(string, fs.FileMode) error) error {
	if _, err := d.file.Seek(0, 0); err != nil {
		return err
	}
	buf := make([]byte, listBuffer)
	for {
		n, err := retry(func() (int, error) { return unix.Getdents(d.fd, buf) })
		if err != nil {
			return &fs.PathError{Op: "getdents", Path: ".", Err: err}
		}
		if n == 0 {
			return nil
		}
		if err := d.each(buf[:n], fn); err != nil {
			return err
		}
	}
}

// each calls fn for the entries that the kernel put into a buffer. Each begins
// with inode and offset, of 8 bytes each, its own length, of 2 bytes, and its
// type; its name ends with a zero byte.
func (d *osDir) each(buf []byte, fn func(string, fs.FileMode) error) error {
	const nameAt = 19
	for len(buf) > nameAt {
		length := int(binary.NativeEndian.Uint16(buf[16:]))
		kind, name := buf[18], buf[nameAt:length]
		buf = buf[length:]
		name = name[:bytes.IndexByte(name, 0)]
		if string(name) == "." || string(name) == ".." {
			continue
		}
		mode, known := direntMode(kind)
		if !known {
			st, err := d.Lstat(string(name))
			if err != nil {
				return err
			}
			mode = st.Mode.Type()
		}
		if err := fn(string(name), mode); err != nil {
			return err
		}
	}
	return nil
}

// direntMode returns the type that a directory states for its entry. Some file
// systems do not.
func direntMode(kind byte) (fs.FileMode, bool) {
	switch kind {
	case unix.DT_REG:
		return 0, true
	case unix.DT_DIR:
		return fs.ModeDir, true
	case unix.DT_LNK:
		return fs.ModeSymlink, true
	case unix.DT_FIFO:
		return fs.ModeNamedPipe, true
	case unix.DT_SOCK:
		return fs.ModeSocket, true
	case unix.DT_BLK, unix.DT_CHR:
		return fs.ModeDevice, true
	}
	return 0, false
}

// fileMode returns the type bits of a mode; permissions do not matter here.
func fileMode(mode uint32) fs.FileMode {
	m, known := direntMode(byte(mode & unix.S_IFMT >> 12))
	if !known {
		return fs.ModeIrregular
	}
	return m
}

// retry calls again what a signal interrupted.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != unix.EINTR {
			return n, err
		}
	}
}
