package stage

import (
	"bufio"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

// File is a staged file, written from its beginning to its end.
type File struct {
	folder *folder
	name   string
	file   io.WriteCloser
	w      *bufio.Writer
	head   int64 // length of what stands before the entries
	// sum, if not nil, is the digest of all that was written. Only a file that is
	// written from its beginning to its end can have it.
	sum    *digests
	size   int64      // of all that was written
	tell   func(int)  // how much was written, if not nil
	synced chan error // if it is being made durable

	// Known once the file is durable. The length is in bytes, and MD5 is there if the
	// folder takes it.
	durable bool
	Length  int64
	Digest  [sha256.Size]byte
	MD5     [md5.Size]byte
}

func newFile(d *folder, name string, file io.WriteCloser, buffer int) *File {
	return &File{folder: d, name: name, file: file, w: bufio.NewWriterSize(file, buffer)}
}

func (f *File) Write(p []byte) (int, error) {
	f.size += int64(len(p))
	if f.tell != nil {
		f.tell(len(p))
	}
	return f.w.Write(p)
}

// WriteHead writes what stands before the entries of a document.
func (f *File) WriteHead(head *resourcesync.Document) error {
	b, err := resourcesync.AppendHead(nil, head)
	if err != nil {
		return err
	}
	f.head = int64(len(b))
	_, err = f.Write(b)
	return err
}

// SetHead replaces the head by one of the same length, and reports whether it has that.
// The file must be closed.
func (f *File) SetHead(head *resourcesync.Document) (same bool, err error) {
	b, err := resourcesync.AppendHead(nil, head)
	if err != nil || int64(len(b)) != f.head {
		return false, err
	}
	file, err := f.Open()
	if err != nil {
		return false, err
	}
	_, err = file.WriteAt(b, 0)
	return true, errors.Join(err, file.Close())
}

// EndEntries writes the end of a urlset, after which only the head can change.
// The file is closed, so that any number of documents can be ready.
func (f *File) EndEntries() error {
	if _, err := f.Write(resourcesync.AppendFoot(nil, false)); err != nil {
		return err
	}
	return f.Close()
}

// CopyEntries writes the entries, which are so many bytes, to w.
func (f *File) CopyEntries(w io.Writer, bytes int64) error {
	file, err := f.Open()
	if err != nil {
		return err
	}
	_, err = io.Copy(w, io.NewSectionReader(file, f.head, bytes))
	return errors.Join(err, file.Close())
}

// Close ends writing. Very many files can be closed and wait to be placed.
func (f *File) Close() error {
	err := errors.Join(f.w.Flush(), f.file.Close())
	f.w, f.file = nil, nil
	return err
}

// reopen goes on with a file that was closed.
func (f *File) reopen() error {
	file, err := f.folder.openEnd(f.name)
	if err != nil {
		return err
	}
	f.file = file
	f.w = bufio.NewWriterSize(f.file, 64<<10)
	if f.sum != nil {
		f.w.Reset(io.MultiWriter(f.file, f.sum))
	}
	return nil
}

// Open opens a file for reading that was closed.
func (f *File) Open() (*os.File, error) { return f.folder.OpenStaged(f.name) }

// Discard removes the file, which is not needed.
func (f *File) Discard() error { return f.folder.Discard(f.name) }

// SyncLater begins to make a file durable, while the run goes on.
func (f *File) SyncLater() {
	f.synced = make(chan error, 1)
	f.folder.syncing.Go(func() { f.synced <- f.makeDurable() })
}

// Sync makes the file durable, and takes its length and digest.
func (f *File) Sync() error {
	if f.durable {
		return nil
	}
	var err error
	if f.synced != nil {
		err = <-f.synced
	} else {
		err = f.makeDurable()
	}
	if err != nil {
		return fmt.Errorf("making a staged file durable: %w", err)
	}
	f.durable = true
	return nil
}

func (f *File) makeDurable() error {
	file, err := f.Open()
	if err != nil {
		return err
	}
	d := f.sum
	if d != nil {
		f.Length = f.size
	} else {
		d = newDigests(f.folder.withMD5)
		f.Length, err = io.Copy(d, file)
	}
	d.sha256.Sum(f.Digest[:0])
	if d.md5 != nil {
		d.md5.Sum(f.MD5[:0])
	}
	return errors.Join(err, file.Sync(), file.Close())
}

// Hash returns the file's digest, once it is durable, as an Index states it.
func (f *File) Hash() resourcesync.Hash {
	return resourcesync.Hash("sha-256:" + hex.EncodeToString(f.Digest[:]))
}

// digests are those of what is written to them: SHA-256, and MD5 if it is wanted.
type digests struct {
	sha256, md5 hash.Hash
	io.Writer
}

func newDigests(withMD5 bool) *digests {
	d := &digests{sha256: sha256.New()}
	d.Writer = d.sha256
	if withMD5 {
		d.md5 = md5.New()
		d.Writer = io.MultiWriter(d.sha256, d.md5)
	}
	return d
}
