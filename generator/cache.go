package generator

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/hashing"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/scanner"
)

// The stat cache remembers, for files whose times do not settle whether they
// have changed, what they looked like when they were read. It saves reading and
// nothing else: what is published is the same without it.

// cached is what is known of one file.
type cached struct {
	uri   string
	stat  scanner.Stat
	began time.Time // when it was read
	hash  resourcesync.Hash
	typ   string
}

// matches reports whether a file is still as it was when it was read.
func (c *cached) matches(f *scanner.File) bool {
	return c.stat.Size == f.Size && c.stat.ModTime.Equal(f.ModTime) &&
		c.stat.ChangeTime.Equal(f.ChangeTime) && c.stat.Inode == f.Inode && c.settled()
}

// settled reports whether the file had kept still for long enough when it was
// read, so that a later change shows in its times.
func (c *cached) settled() bool {
	if c.stat.ChangeTime.IsZero() {
		return c.stat.ModTime.Add(2 * time.Second).Before(c.began)
	}
	return c.stat.ChangeTime.Before(c.began)
}

const cacheMagic = "wellspring stat cache 1\n"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// CacheFile returns the name of the cache for a source that is published under
// a URL, in the user's cache directory.
func CacheFile(source, baseURL string) (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	if source, err = filepath.Abs(source); err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(source + "\n" + baseURL))
	return filepath.Join(dir, "wellspring", hex.EncodeToString(sum[:12])+".stat"), nil
}

// CheckCache returns an error if the cache would overwrite something else, or
// lie among the documents of the publication.
func (o *Options) CheckCache() error {
	name := o.Cache
	if o.isAmongDocuments(name) {
		return fmt.Errorf("%s is in the publication's folder: choose another place", name)
	}
	info, err := os.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is there, and is no regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil // the cache cannot be written either, or there is nothing
	}
	defer f.Close()
	magic := make([]byte, len(cacheMagic))
	n, err := io.ReadFull(f, magic)
	switch {
	case n == 0 && err == io.EOF, string(magic) == cacheMagic:
		return nil
	case err != nil && err != io.EOF && err != io.ErrUnexpectedEOF:
		return err
	}
	return fmt.Errorf("%s is there, and is no stat cache", name)
}

// isAmongDocuments reports whether a file lies, or would lie, where only the
// publication's documents do.
func (o *Options) isAmongDocuments(name string) bool {
	l, err := layout.New(o.Identity)
	if err != nil {
		return false // as will be said elsewhere
	}
	relative, err := filepath.Rel(realPath(cmp.Or(o.Out, o.Source)), filepath.Join(realPath(filepath.Dir(name)), filepath.Base(name)))
	if err != nil {
		return false
	}
	relative = filepath.ToSlash(relative)
	return layout.IsOwned(relative) || l.Folder != "." && strings.HasPrefix(relative, l.Folder+"/")
}

// realPath is the absolute path of a file without symbolic links, as far as it
// is there.
func realPath(name string) string {
	name, err := filepath.Abs(name)
	if err != nil {
		return name
	}
	real, err := filepath.EvalSymlinks(name)
	if err == nil {
		return real
	}
	if name == filepath.Dir(name) {
		return name
	}
	return filepath.Join(realPath(filepath.Dir(name)), filepath.Base(name))
}

// cacheReader goes through a cache in the order of URIs.
type cacheReader struct {
	file *os.File
	r    *bufio.Reader
	next cached
	ok   bool // next holds an entry
}

// openCache returns a reader of the cache, which is empty if there is none or
// it is damaged.
func openCache(name string) *cacheReader {
	c := &cacheReader{}
	f, err := os.Open(name)
	if err != nil {
		return c
	}
	size, ok := intactCache(f)
	if !ok {
		f.Close()
		return c
	}
	c.file = f
	c.r = bufio.NewReaderSize(io.NewSectionReader(f, int64(len(cacheMagic)), size-int64(len(cacheMagic))), 64<<10)
	c.advance()
	return c
}

// intactCache checks the sum at the end, and returns where that begins.
func intactCache(f *os.File) (size int64, ok bool) {
	info, err := f.Stat()
	if err != nil || info.Size() < int64(len(cacheMagic)+crc32.Size) {
		return 0, false
	}
	size = info.Size() - crc32.Size
	h := crc32.New(castagnoli)
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, size)); err != nil {
		return 0, false
	}
	var sum [crc32.Size]byte
	var magic [len(cacheMagic)]byte
	if _, err := f.ReadAt(sum[:], size); err != nil {
		return 0, false
	}
	_, err = f.ReadAt(magic[:], 0)
	return size, err == nil && string(magic[:]) == cacheMagic && binary.BigEndian.Uint32(sum[:]) == h.Sum32()
}

// lookup returns what is known of a URI. URIs have to come in their order.
func (c *cacheReader) lookup(uri string) *cached {
	for c.ok && c.next.uri < uri {
		c.advance()
	}
	if !c.ok || c.next.uri != uri {
		return nil
	}
	return &c.next
}

func (c *cacheReader) advance() {
	var err error
	c.next, err = readCached(c.r)
	c.ok = err == nil
}

func (c *cacheReader) close() {
	if c.file != nil {
		c.file.Close()
	}
}

func readCached(r *bufio.Reader) (c cached, err error) {
	text := func() string {
		n, e := binary.ReadUvarint(r)
		if e == nil && n > 1<<20 {
			e = errors.New("too long")
		}
		if err = errors.Join(err, e); err != nil {
			return ""
		}
		b := make([]byte, n)
		_, err = io.ReadFull(r, b)
		return string(b)
	}
	number := func() int64 {
		n, e := binary.ReadVarint(r)
		err = errors.Join(err, e)
		return n
	}
	moment := func() time.Time {
		sec, nsec := number(), number()
		if sec == 0 && nsec == -1 {
			return time.Time{}
		}
		return time.Unix(sec, nsec)
	}
	c.uri = text()
	c.stat.Size = number()
	c.stat.Inode = uint64(number())
	c.stat.ModTime, c.stat.ChangeTime, c.began = moment(), moment(), moment()
	c.hash, c.typ = resourcesync.Hash(text()), text()
	return c, err
}

func appendCached(b []byte, c *cached) []byte {
	text := func(s string) {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	moment := func(t time.Time) {
		if t.IsZero() {
			b = binary.AppendVarint(binary.AppendVarint(b, 0), -1)
			return
		}
		b = binary.AppendVarint(b, t.Unix())
		b = binary.AppendVarint(b, int64(t.Nanosecond()))
	}
	text(c.uri)
	b = binary.AppendVarint(b, c.stat.Size)
	b = binary.AppendVarint(b, int64(c.stat.Inode))
	moment(c.stat.ModTime)
	moment(c.stat.ChangeTime)
	moment(c.began)
	text(string(c.hash))
	text(c.typ)
	return b
}

// cacheWriter writes the next cache beside the last one. Its errors cost time
// in the next run, and are no more than a warning.
type cacheWriter struct {
	name string
	file *os.File
	w    *bufio.Writer
	sum  uint32
	buf  []byte
	err  error
}

func createCache(name string) *cacheWriter {
	c := &cacheWriter{name: name}
	if c.err = os.MkdirAll(filepath.Dir(name), 0o700); c.err != nil {
		return c
	}
	// The name is always the same, so that what a killed run left does not pile
	// up. Should two runs meet there, the checksum tells.
	os.Remove(name + ".tmp")
	if c.file, c.err = os.OpenFile(name+".tmp", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); c.err != nil {
		return c
	}
	c.w = bufio.NewWriterSize(c.file, 64<<10)
	c.write([]byte(cacheMagic))
	return c
}

func (c *cacheWriter) add(e *cached) {
	c.buf = appendCached(c.buf[:0], e)
	c.write(c.buf)
}

func (c *cacheWriter) write(b []byte) {
	if c.err != nil {
		return
	}
	c.sum = crc32.Update(c.sum, castagnoli, b)
	_, c.err = c.w.Write(b)
}

// finish puts the new cache in the old one's place.
func (c *cacheWriter) finish() error {
	if c.err == nil {
		_, c.err = c.w.Write(binary.BigEndian.AppendUint32(nil, c.sum))
	}
	if c.err == nil {
		c.err = c.w.Flush()
	}
	if c.file == nil {
		return c.err
	}
	c.err = errors.Join(c.err, c.file.Close())
	if c.err == nil {
		c.err = os.Rename(c.file.Name(), c.name)
	}
	if c.err != nil {
		os.Remove(c.file.Name())
	}
	c.file = nil
	return c.err
}

// abandon leaves the old cache as it is. Nothing happens if c is nil.
func (c *cacheWriter) abandon() {
	if c != nil && c.file != nil {
		c.file.Close()
		os.Remove(c.file.Name())
	}
}

// has reports whether the digests by all algorithms of a set are known.
func (c *cached) has(want hashing.Set) bool {
	_, ok := want.Select(c.hash)
	return ok
}
