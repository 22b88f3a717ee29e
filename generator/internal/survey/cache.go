package survey

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/hashing"
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

// IsCache reports whether a file that begins with some bytes is a stat cache.
func IsCache(begin []byte) bool { return strings.HasPrefix(string(begin), cacheMagic) }

// CacheMagic is how many bytes IsCache needs.
const CacheMagic = len(cacheMagic)

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

// CacheWriter writes the next cache beside the last one. Its errors cost time
// in the next run, and are no more than a warning.
type CacheWriter struct {
	name string
	file *os.File
	w    *bufio.Writer
	sum  uint32
	buf  []byte
	err  error
}

// CreateCache begins a cache beside the one of a name.
func CreateCache(name string) *CacheWriter {
	c := &CacheWriter{name: name}
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

// add remembers a file. It does nothing if c is nil.
func (c *CacheWriter) add(e *cached) {
	if c == nil {
		return
	}
	c.buf = appendCached(c.buf[:0], e)
	c.write(c.buf)
}

func (c *CacheWriter) write(b []byte) {
	if c.err != nil {
		return
	}
	c.sum = crc32.Update(c.sum, castagnoli, b)
	_, c.err = c.w.Write(b)
}

// Finish puts the new cache in the old one's place. It does nothing if c is nil.
func (c *CacheWriter) Finish() error {
	if c == nil {
		return nil
	}
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

// Abandon leaves the old cache as it is. Nothing happens if c is nil.
func (c *CacheWriter) Abandon() {
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
