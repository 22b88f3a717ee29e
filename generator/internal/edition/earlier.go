package edition

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"
	"time"

	"github.com/wellspring-sync/wellspring/generator/internal/stage"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/zipdump"
)

// LostError says that a package of the last publication cannot be used.
type LostError struct {
	Path string
	Err  error
}

func (e *LostError) Error() string { return fmt.Sprintf("the package %s: %v", e.Path, e.Err) }
func (e *LostError) Unwrap() error { return e.Err }

var errOtherContent = errors.New("it does not hold what the Resource List says")

// earlier takes bitstreams out of packages of the last publication. Each package
// is read through and compared with its digest before anything of it is used.
type earlier struct {
	last   *snapshot.Snapshot
	policy zipdump.Policy

	// The package that is open.
	of       *snapshot.Package
	file     snapshot.PackageFile
	zip      *zipdump.Package
	manifest []byte
	entries  []manifestAt
}

// manifestAt is where an entry stands in a manifest, and of what.
type manifestAt struct {
	start, end int64
	uri        string
	modified   time.Time
}

// open opens a package, unless it is.
func (e *earlier) open(p *snapshot.Package) error {
	if e.of == p {
		return nil
	}
	if err := e.close(); err != nil {
		return err
	}
	err := p.Lost
	if err == nil {
		e.of = p
		err = e.load()
	}
	if err == nil {
		return nil
	}
	e.close()
	if errno := syscall.Errno(0); errors.As(err, &errno) && !errors.Is(err, fs.ErrNotExist) {
		// What cannot be read now is not lost, and an archive may name it.
		return fmt.Errorf("a package of the last publication cannot be read (if that does not pass, remove it: what is in it is then made anew from the source): %w", err)
	}
	return &LostError{p.Path, err}
}

func (e *earlier) load() (err error) {
	if e.file, err = e.last.OpenPackage(e.of); err != nil {
		return err
	}
	h := sha256.New()
	length, err := io.Copy(h, e.file)
	if err != nil {
		return err
	}
	if length != e.of.Length || hex.EncodeToString(h.Sum(nil)) != e.of.Hash.Get("sha-256") {
		return errors.New("it has another length or digest than the dump says")
	}
	if e.zip, err = zipdump.Open(e.file, length); err != nil {
		return err
	}
	return e.readManifest()
}

func (e *earlier) readManifest() error {
	f, err := e.zip.Manifest()
	if err != nil {
		return err
	}
	defer f.Close()
	if e.manifest, err = io.ReadAll(io.LimitReader(f, 2*resourcesync.MaxBytes)); err != nil {
		return err
	}
	d := resourcesync.NewDecoder(bytes.NewReader(e.manifest), resourcesync.Limits{})
	if _, err := d.Document(); err != nil {
		return err
	}
	e.entries = e.entries[:0]
	for {
		entry, err := d.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		at := d.Position()
		if !at.Canonical {
			return errors.New("its manifest is not of the expected form")
		}
		e.entries = append(e.entries, manifestAt{at.Start, at.End, entry.Loc, entry.LastModified})
	}
	if len(e.entries) != e.zip.Len() {
		return fmt.Errorf("its manifest lists %d of %d bitstreams", len(e.entries), e.zip.Len())
	}
	return nil
}

// take copies bitstreams into another package.
func (e *earlier) take(to *stage.Packing, s span) error {
	if err := e.open(s.pkg); err != nil {
		return err
	}
	if s.to > len(e.entries) || e.entries[s.from].uri != s.first || e.entries[s.to-1].uri != s.last {
		return &LostError{s.pkg.Path, errOtherContent}
	}
	if e.zip.Comment() == e.policy.Comment() {
		return e.lost(to.Take(e.zip, s.from, s.to))
	}
	for i := s.from; i < s.to; i++ {
		if err := e.repack(to, i); err != nil {
			return err
		}
	}
	return nil
}

// openBitstream opens what was published of a resource, which is valid until another
// package is opened.
func (e *earlier) openBitstream(b *snapshot.Previous) (io.ReadCloser, error) {
	if err := e.open(b.Package); err != nil {
		return nil, err
	}
	if i := b.InPackage; i >= len(e.entries) || e.entries[i].uri != b.Loc {
		return nil, &LostError{b.Package.Path, errOtherContent}
	}
	content, err := e.zip.Open(b.InPackage)
	return content, e.lost(err)
}

// lost makes a lostError of an error that says something of the package.
func (e *earlier) lost(err error) error {
	if errors.Is(err, zipdump.ErrForeign) {
		return &LostError{e.of.Path, err}
	}
	return err
}

// repack compresses a bitstream anew, as another release or level would.
func (e *earlier) repack(to *stage.Packing, i int) error {
	content, err := e.zip.Open(i)
	if err != nil {
		return e.lost(err)
	}
	defer content.Close()
	h := zipdump.Header{Path: e.zip.Path(i), Modified: e.entries[i].modified}
	return e.lost(to.Pack(h, e.policy, "", e.zip.Length(i), content))
}

// copyEntries copies the entries of bitstreams that were taken.
func (e *earlier) copyEntries(to io.Writer, s span) error {
	_, err := to.Write(e.manifest[e.entries[s.from].start:e.entries[s.to-1].end])
	return err
}

// close closes the package that is open, if there is one.
func (e *earlier) close() error {
	e.of, e.zip, e.manifest = nil, nil, nil
	if e.file == nil {
		return nil
	}
	err := e.file.Close()
	e.file = nil
	return err
}
