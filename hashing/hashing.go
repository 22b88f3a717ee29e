// Package hashing reads files: each is opened once and read once, for its
// length, its digests by any number of algorithms and its media type. Many are
// read at the same time, and come out in order. Which files are to be read, and
// whether they have changed since another time, is for others to say.
package hashing

import (
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

// Algorithm is a digest algorithm, by the name that hash attributes use.
type Algorithm string

// The algorithms, in the order in which digests are written.
const (
	MD5    Algorithm = "md5"
	SHA1   Algorithm = "sha-1"
	SHA256 Algorithm = "sha-256"
	SHA512 Algorithm = "sha-512"
)

var algorithms = []Algorithm{MD5, SHA1, SHA256, SHA512}

func (a Algorithm) new() hash.Hash {
	switch a {
	case MD5:
		return md5.New()
	case SHA1:
		return sha1.New()
	case SHA512:
		return sha512.New()
	}
	return sha256.New()
}

// Set is a set of algorithms, in the order in which digests are written.
type Set []Algorithm

// NewSet sorts names of algorithms into a Set. Names are taken in any case and
// without their hyphens, too; one that is unknown is an error.
func NewSet(names ...string) (Set, error) {
	var s Set
	for _, name := range names {
		a, err := parse(name)
		if err != nil {
			return nil, err
		}
		s = append(s, a)
	}
	return s.sorted(), nil
}

func parse(name string) (Algorithm, error) {
	plain := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), "-", "") }
	for _, a := range algorithms {
		if plain(name) == plain(string(a)) {
			return a, nil
		}
	}
	return "", fmt.Errorf("unknown digest algorithm %q (there are md5, sha-1, sha-256 and sha-512)", name)
}

func (s Set) sorted() Set {
	rank := func(a Algorithm) int { return slices.Index(algorithms, a) }
	slices.SortFunc(s, func(a, b Algorithm) int { return rank(a) - rank(b) })
	return slices.Compact(s)
}

// With returns the union of two sets.
func (s Set) With(more Set) Set { return slices.Concat(s, more).sorted() }

// Of returns the algorithms that a hash attribute has digests by, as far as
// they are known.
func Of(h resourcesync.Hash) Set {
	var s Set
	for _, a := range algorithms {
		if h.Get(string(a)) != "" {
			s = append(s, a)
		}
	}
	return s
}

// Select returns the digests by the algorithms of the set, and false if not all
// of them are there.
func (s Set) Select(h resourcesync.Hash) (resourcesync.Hash, bool) {
	pairs := make([][2]string, len(s))
	for i, a := range s {
		digest := h.Get(string(a))
		if digest == "" {
			return "", false
		}
		pairs[i] = [2]string{string(a), digest}
	}
	return resourcesync.HashOf(pairs...), true
}

// Agree reports whether two hash attributes have a digest in common, and no
// known one by which they differ.
func Agree(a, b resourcesync.Hash) bool {
	common := false
	for _, algorithm := range Of(a) {
		x, y := a.Get(string(algorithm)), b.Get(string(algorithm))
		if y != "" && x != y {
			return false
		}
		common = common || y != ""
	}
	return common
}

// Fingerprint is what was learned from the bytes of a file.
type Fingerprint struct {
	Length int64             // in bytes
	Hash   resourcesync.Hash // digests in the order of a Set
	Type   string            // the media type, or "" where it is unknown
	// State is the file's status when it was opened, which was still the same
	// after the last byte had been read.
	State fs.FileInfo
	// Began is when the reading began.
	Began time.Time
}

// File is an open file.
type File interface {
	io.Reader
	io.Seeker
	io.Closer
	Stat() (fs.FileInfo, error)
}

// Opener opens files by their slash paths. It must not follow a symbolic link
// out of their tree, and must not wait for the other end of a pipe.
type Opener interface {
	OpenFile(path string) (File, error)
}

// Errors that say what became of a file between its listing and its reading.
var (
	// ErrUnstable is for a file that did not keep still for three readings.
	ErrUnstable = errors.New("the file changes while it is read")
	// ErrNotRegular is for a file that was replaced by something else.
	ErrNotRegular = errors.New("no longer a regular file")
)

const readings = 3

// Reader reads files one after the other, with buffers of its own. It is not
// safe for concurrent use.
type Reader struct {
	opener Opener
	buf    []byte
	text   []byte
	sum    [sha512.Size]byte
	hashes map[Algorithm]hash.Hash
	now    func() time.Time
	// Progress, if not nil, is told of bytes as they are read.
	Progress func(bytes int)
}

// bufferSize is where larger buffers stop to pay.
const bufferSize = 256 << 10

// NewReader returns a Reader of the files that opener opens.
func NewReader(opener Opener) *Reader {
	return &Reader{
		opener: opener,
		buf:    make([]byte, bufferSize),
		hashes: map[Algorithm]hash.Hash{},
		now:    time.Now,
	}
}

// Copy takes the content of a file from the same reading as the digests.
type Copy interface {
	// Begin is called before the first byte, with the media type and the length
	// in bytes that the file seems to have. It is called once more where the
	// file has to be read again.
	Begin(mediaType string, length int64)
	io.Writer
	// End is called once the whole file has been read and has kept still.
	End(*Fingerprint) error
}

// Read reads a file. One that changes meanwhile is read again, three times at
// most; then the error is ErrUnstable. A file that is gone gives fs.ErrNotExist.
// When the job may begin is for its caller.
func (r *Reader) Read(ctx context.Context, j Job) (Fingerprint, error) {
	f, err := r.opener.OpenFile(j.Path)
	if err != nil {
		return Fingerprint{}, err
	}
	defer f.Close()
	for range readings {
		fp, err := r.once(ctx, f, &j)
		if err != errChanged {
			return fp, err
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return Fingerprint{}, err
		}
	}
	return Fingerprint{}, ErrUnstable
}

var errChanged = errors.New("changed")

func (r *Reader) once(ctx context.Context, f File, j *Job) (Fingerprint, error) {
	before, err := f.Stat()
	if err != nil {
		return Fingerprint{}, err
	}
	if !before.Mode().IsRegular() {
		return Fingerprint{}, ErrNotRegular
	}
	if err := r.settle(ctx, before); err != nil {
		return Fingerprint{}, err
	}
	fp := Fingerprint{State: before, Began: r.now(), Type: ByExtension(j.Name)}
	hashes := r.reset(j.Want)
	if fp.Length, err = r.drain(ctx, f, &fp, hashes, j.Copy); err != nil {
		return Fingerprint{}, err
	}
	after, err := f.Stat()
	if err != nil {
		return Fingerprint{}, err
	}
	if fp.Length != before.Size() || !sameState(before, after) {
		return Fingerprint{}, errChanged
	}
	fp.Hash = r.digests(j.Want, hashes)
	if j.Copy != nil {
		err = j.Copy.End(&fp)
	}
	return fp, err
}

// digests writes the digests as a hash attribute.
func (r *Reader) digests(want Set, hashes []hash.Hash) resourcesync.Hash {
	text := r.text[:0]
	for i, h := range hashes {
		if i > 0 {
			text = append(text, ' ')
		}
		text = append(append(text, want[i]...), ':')
		text = hex.AppendEncode(text, h.Sum(r.sum[:0]))
	}
	r.text = text
	return resourcesync.Hash(text)
}

// tick is the coarsest clock by which systems stamp files; coarseTick is that
// of file systems which store whole seconds, or every other one.
const (
	tick       = 20 * time.Millisecond
	coarseTick = 2 * time.Second
)

// settle waits until a later change of a file would show in its times. Until
// then, it could be changed once more within the same tick of the clock, after
// it was read, and look the same. Times in the future are not waited for.
func (r *Reader) settle(ctx context.Context, info fs.FileInfo) error {
	changed, wait := info.ModTime(), tick
	if c := changeTime(info); c.After(changed) {
		changed = c
	}
	if changed.Nanosecond() == 0 && info.ModTime().Nanosecond() == 0 {
		wait = coarseTick
	}
	age := r.now().Sub(changed)
	if age < 0 || age >= wait {
		return nil
	}
	return sleep(ctx, wait-age)
}

func (r *Reader) reset(want Set) []hash.Hash {
	list := make([]hash.Hash, len(want))
	for i, a := range want {
		if r.hashes[a] == nil {
			r.hashes[a] = a.new()
		}
		r.hashes[a].Reset()
		list[i] = r.hashes[a]
	}
	return list
}

// drain reads to the end, or until it has more than the file is long, and looks
// at the first bytes where the extension said nothing.
func (r *Reader) drain(ctx context.Context, f File, fp *Fingerprint, hashes []hash.Hash, to Copy) (int64, error) {
	var length int64
	for {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		n, err := readFull(f, r.part(fp.State.Size()-length))
		if length == 0 && fp.Type == "" {
			fp.Type = Sniff(r.buf[:min(n, SniffLength)])
		}
		for _, h := range hashes {
			h.Write(r.buf[:n])
		}
		if to != nil {
			if err := r.copy(to, r.buf[:n], length == 0, fp); err != nil {
				return 0, err
			}
		}
		length += int64(n)
		if r.Progress != nil {
			r.Progress(n)
		}
		if err == io.EOF {
			return length, nil
		}
		if err != nil {
			return 0, err
		}
		if length >= fp.State.Size() {
			return length, nil // more would show in the status
		}
	}
}

// copy passes content on, of which this may be the first.
func (r *Reader) copy(to Copy, content []byte, first bool, fp *Fingerprint) error {
	if first {
		to.Begin(fp.Type, fp.State.Size())
	}
	_, err := to.Write(content)
	return err
}

// part returns as much of the buffer as the rest of a file fills.
func (r *Reader) part(rest int64) []byte {
	if rest <= 0 || rest > int64(len(r.buf)) {
		return r.buf
	}
	return r.buf[:rest]
}

// readFull fills buf, and returns io.EOF as soon as the end has been seen.
func readFull(f io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var m int
		m, err = f.Read(buf[n:])
		n += m
	}
	return n, err
}
