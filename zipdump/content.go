package zipdump

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/flate"
)

// content is what an entry holds, decompressed and compared to what the
// directory says.
type content struct {
	entry
	r        io.Reader
	inflater io.ReadCloser // nil if stored, or closed
	read     int64         // in bytes
	sum      uint32
	err      error
}

// errLocal is for a header that would be read as something else by those who
// read a package from its beginning.
var errLocal = foreign("its header is not as in the directory")

func (p *Package) content(e entry) (*content, error) {
	want := e.appendLocal(nil)
	got := make([]byte, len(want))
	if err := readAt(p.r, got, e.offset); err != nil {
		return nil, err
	}
	if string(got) != string(want) {
		return nil, errLocal
	}
	c := &content{entry: e}
	c.r = io.NewSectionReader(p.r, e.offset+int64(len(want)), e.compressed)
	if e.method == Deflate {
		c.inflater = newInflater(c.r)
		c.r = c.inflater
	}
	return c, nil
}

func (c *content) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.r.Read(p)
	c.read += int64(n)
	c.sum = crc32.Update(c.sum, crc32.IEEETable, p[:n])
	if err == nil && c.read <= c.length {
		return n, nil
	}
	if c.err = c.verdict(err); c.err == io.EOF {
		return n, io.EOF
	}
	c.err = fmt.Errorf("reading %q in a package: %w", c.name, c.err)
	return 0, c.err
}

// verdict says what the end of the content, or an error, means.
func (c *content) verdict(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case c.read > c.length || err == io.EOF && c.read < c.length:
		return foreign("its length is not %d", c.length)
	case errors.As(err, &corrupt) || err == io.ErrUnexpectedEOF:
		return fmt.Errorf("%w: %w", ErrForeign, err)
	case err == io.EOF && c.sum != c.crc:
		return foreign("its checksum is not %08x", c.crc)
	}
	return err
}

// Close does not look at what has not been read.
func (c *content) Close() error {
	if c.inflater == nil {
		return nil
	}
	err := c.inflater.Close()
	inflaters.Put(c.inflater)
	c.inflater = nil
	if c.err == nil {
		c.err = errClosed
	}
	return err
}

var errClosed = errors.New("the content is closed")
