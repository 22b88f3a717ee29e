package hashing

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// NewOpener returns an Opener of the files below a root, and a function that
// closes it. It asks the kernel to keep within the root, and to follow no link
// on the way, in one call for each file; where the kernel cannot do that, it
// opens files as package os does.
func NewOpener(root *os.Root) (Opener, func() error, error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, nil, err
	}
	return &beneath{dir: dir, fd: int(dir.Fd()), fallback: RootOpener{root}}, dir.Close, nil
}

type beneath struct {
	dir      *os.File
	fd       int // of dir
	fallback RootOpener
}

var openHow = unix.OpenHow{
	Flags:   unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOFOLLOW | unix.O_CLOEXEC,
	Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
}

// OpenFile implements [Opener].
func (b *beneath) OpenFile(name string) (File, error) {
	fd, err := b.open(name)
	switch err {
	case nil:
		return &rawFile{fd: fd, name: name}, nil
	case unix.ELOOP:
		return nil, ErrNotRegular
	case unix.ENOSYS, unix.EPERM, unix.E2BIG, unix.ENAMETOOLONG:
		return b.fallback.OpenFile(name)
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: err}
}

// open waits, up to a second, for a file server's client that has the file to
// itself and is asked to let go of it.
func (b *beneath) open(name string) (int, error) {
	how := openHow
	for tries := 0; ; tries++ {
		fd, err := unix.Openat2(b.fd, name, &how)
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN && tries < 100:
			time.Sleep(10 * time.Millisecond)
		default:
			return fd, err
		}
	}
}

// rawFile is a file without what package os adds for files of all kinds, which
// takes longer than to read a small one.
type rawFile struct {
	fd   int
	name string
}

func (f *rawFile) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: f.name, Err: err}
}

func (f *rawFile) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(f.fd, p)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return 0, f.fail("read", err)
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

func (f *rawFile) Seek(offset int64, whence int) (int64, error) {
	n, err := unix.Seek(f.fd, offset, whence)
	return n, f.fail("seek", err)
}

func (f *rawFile) Close() error { return f.fail("close", unix.Close(f.fd)) }

func (f *rawFile) Stat() (fs.FileInfo, error) {
	info := &rawInfo{name: path.Base(f.name)}
	err := syscall.Fstat(f.fd, &info.sys)
	for errors.Is(err, syscall.EINTR) {
		err = syscall.Fstat(f.fd, &info.sys)
	}
	return info, f.fail("stat", err)
}

// rawInfo is what Stat says of a rawFile.
type rawInfo struct {
	name string
	sys  syscall.Stat_t
}

func (i *rawInfo) Name() string       { return i.name }
func (i *rawInfo) Size() int64        { return i.sys.Size }
func (i *rawInfo) ModTime() time.Time { return time.Unix(i.sys.Mtim.Unix()) }
func (i *rawInfo) IsDir() bool        { return i.Mode().IsDir() }
func (i *rawInfo) Sys() any           { return &i.sys }

func (i *rawInfo) Mode() fs.FileMode {
	if i.sys.Mode&syscall.S_IFMT == syscall.S_IFREG {
		return fs.FileMode(i.sys.Mode & 0o777)
	}
	return fs.ModeIrregular // which kind does not matter here
}
