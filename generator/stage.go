package generator

import (
	"bufio"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/wellspring-sync/wellspring/internal/publish"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// stage holds the files of the next publication of a set until all of them are
// ready. The order in which they are put is the order of the commit.
type stage struct {
	*staging
	// fresh says that nothing leads to any of the files before all of them are there,
	// so that they need no order.
	fresh bool
	heads []snapshot.Head // put by this run
	all   map[string]bool // paths put by this run
	told  []told          // what notifications tell of
}

// staging is what the stages of all sets share.
type staging struct {
	tx      *publish.Tx
	files   int
	bodies  int
	written int64
	// packages were put by this run, and are so many bytes.
	packages     int
	packageBytes int64
	// packed is told how many bytes go into packages, as they do.
	packed func(int)
	plan   *uploadPlan  // nil if none is made
	spills atomic.Int64 // temporary files, which workers make
	// many says that very many documents are open at the same time.
	many bool
}

func (s *stage) paths() map[string]bool { return s.all }

// document is a staged file, written from its beginning to its end.
type document struct {
	stage *stage
	name  string
	file  io.WriteCloser
	w     *bufio.Writer
	head  int64 // length of what stands before the entries
	// sum, if not nil, is the digest of all that was written. Only a document
	// that is written from its beginning to its end can have it.
	sum    *digests
	size   int64      // of all that was written
	tell   func(int)  // how much was written, if not nil
	synced chan error // if it is being made durable

	// Known once the document is durable.
	durable bool
	length  int64
	digest  [sha256.Size]byte
	md5     [md5.Size]byte // if a plan wants it
}

// create begins a new staged file.
func (s *stage) create() (*document, error) {
	s.files++
	name := fmt.Sprintf("%06d", s.files)
	f, err := s.tx.Create(name)
	if err != nil {
		return nil, err
	}
	if !s.many {
		return &document{stage: s, name: name, file: f, w: bufio.NewWriterSize(f, 64<<10)}, nil
	}
	file := &intermittent{s, name}
	return &document{stage: s, name: name, file: file, w: bufio.NewWriterSize(file, 4<<10)}, f.Close()
}

// intermittent is a staged file that is open only while something is written to it,
// where there are more of them than a process may have open.
type intermittent struct {
	stage *stage
	name  string
}

func (i *intermittent) Write(p []byte) (int, error) {
	f, err := i.stage.openEnd(i.name)
	if err != nil {
		return 0, err
	}
	n, err := f.Write(p)
	return n, errors.Join(err, f.Close())
}

func (i *intermittent) Close() error { return nil }

// openEnd opens a staged file to go on behind its end.
func (s *staging) openEnd(name string) (*os.File, error) {
	f, err := s.tx.OpenStaged(name)
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekEnd); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (d *document) Write(p []byte) (int, error) {
	d.size += int64(len(p))
	if d.tell != nil {
		d.tell(len(p))
	}
	return d.w.Write(p)
}

// createPackage begins a staged file that is too large to be read again for its
// digest.
func (s *stage) createPackage() (*document, error) {
	d, err := s.create()
	if err == nil {
		d.sum, d.tell = newDigests(s.plan != nil), s.packed
		d.w.Reset(io.MultiWriter(d.file, d.sum))
	}
	return d, err
}

// reopen goes on with a document that was closed.
func (d *document) reopen() error {
	f, err := d.stage.openEnd(d.name)
	if err != nil {
		return err
	}
	d.file, d.w = f, bufio.NewWriterSize(f, 64<<10)
	if d.sum != nil {
		d.w.Reset(io.MultiWriter(f, d.sum))
	}
	return nil
}

// open opens a document for reading that was closed.
func (d *document) open() (*os.File, error) { return d.stage.tx.OpenStaged(d.name) }

// syncLater begins to make a document durable, while the run goes on.
func (d *document) syncLater() {
	d.synced = make(chan error, 1)
	go func() { d.synced <- d.makeDurable() }()
}

// endEntries writes the end of a urlset, after which only the head can change.
// The file is closed, so that any number of documents can be ready.
func (d *document) endEntries() error {
	if _, err := d.Write(resourcesync.AppendFoot(nil, false)); err != nil {
		return err
	}
	return d.close()
}

func (d *document) close() error {
	err := errors.Join(d.w.Flush(), d.file.Close())
	d.w = nil
	return err
}

// setHead replaces the head by one of the same length.
func (d *document) setHead(b []byte) error {
	f, err := d.stage.tx.OpenStaged(d.name)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, 0)
	return errors.Join(err, f.Close())
}

// copyEntries writes the entries, which are so many bytes, to w.
func (d *document) copyEntries(w io.Writer, bytes int64) error {
	f, err := d.stage.tx.OpenStaged(d.name)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, io.NewSectionReader(f, d.head, bytes))
	return errors.Join(err, f.Close())
}

func (d *document) discard() error { return d.stage.tx.Discard(d.name) }

// sync makes the document durable, and takes its length and digest.
func (d *document) sync() error {
	if d.durable {
		return nil
	}
	var err error
	if d.synced != nil {
		err = <-d.synced
	} else {
		err = d.makeDurable()
	}
	if err != nil {
		return fmt.Errorf("making a staged file durable: %w", err)
	}
	d.durable = true
	return nil
}

func (d *document) makeDurable() error {
	f, err := d.open()
	if err != nil {
		return err
	}
	if h := d.sum; h != nil {
		d.length = d.size
		h.sum(d)
	} else {
		h = newDigests(d.stage.plan != nil)
		d.length, err = io.Copy(h, f)
		h.sum(d)
	}
	return errors.Join(err, f.Sync(), f.Close())
}

// hash returns the document's digest, once it is durable, as an Index states it.
func (d *document) hash() resourcesync.Hash {
	return resourcesync.Hash("sha-256:" + hex.EncodeToString(d.digest[:]))
}

// put plans to publish a staged document.
func (s *stage) put(d *document, ref layout.Ref, body bool) error {
	if err := d.sync(); err != nil {
		return err
	}
	hexDigest := hex.EncodeToString(d.digest[:])
	if s.tx != nil {
		s.tx.Put(publish.Put{Staged: d.name, Path: ref.Path, Length: d.length, SHA256: hexDigest, Body: body || s.fresh})
	}
	if body {
		s.bodies++
	} else {
		s.heads = append(s.heads, snapshot.Head{Path: ref.Path, Length: d.length, SHA256: hexDigest})
	}
	return s.note(d, ref)
}

// putAside plans to publish a document that changes in place, and of which no record
// speaks.
func (s *stage) putAside(d *document, ref layout.Ref) error {
	if err := d.sync(); err != nil {
		return err
	}
	if s.tx != nil {
		s.tx.Put(publish.Put{Staged: d.name, Path: ref.Path, Length: d.length, SHA256: hex.EncodeToString(d.digest[:])})
	}
	s.bodies++
	return s.note(d, ref)
}

// note counts what is put, and plans its upload.
func (s *stage) note(d *document, ref layout.Ref) error {
	s.written += d.length
	if s.all == nil {
		s.all = map[string]bool{}
	}
	s.all[ref.Path] = true
	return s.plan.document(d, ref)
}

// putDocument plans to publish a document that is small enough to be in memory.
func (s *stage) putDocument(ref layout.Ref, doc *resourcesync.Document, entries []resourcesync.Entry) error {
	b, err := resourcesync.Marshal(doc, entries)
	if err != nil {
		return err
	}
	return s.putBytes(ref, b)
}

func (s *stage) putBytes(ref layout.Ref, b []byte) error {
	d, err := s.complete(b)
	if err != nil {
		return err
	}
	return s.put(d, ref, false)
}

// complete stages a document that is in memory, and makes it durable. In a dry
// run nothing is staged, and all else is known of it.
func (s *stage) complete(b []byte) (*document, error) {
	if s.tx == nil {
		return &document{stage: s, durable: true, length: int64(len(b)), digest: sha256.Sum256(b)}, nil
	}
	d, err := s.create()
	if err != nil {
		return nil, err
	}
	if _, err := d.Write(b); err != nil {
		return nil, err
	}
	if err := d.close(); err != nil {
		return nil, err
	}
	return d, d.sync()
}
