package zipdump

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"sync"
)

// Spill is a temporary file that is gone once it is closed.
type Spill interface {
	io.Writer
	io.ReaderAt
	io.Closer
}

// Buffers come in sizes of powers of two.
const (
	minBuffer = 256
	blockSize = 64 << 10
)

// buffer is memory that goes back to its pool.
type buffer struct{ data []byte }

var buffers [9]sync.Pool // by class: 256 bytes to 64 KiB

func class(size int) int {
	return bits.Len(uint(min(max(size, minBuffer), blockSize)-1) / minBuffer)
}

// newBuffer returns an empty buffer of at least size bytes, or of 64 KiB.
func newBuffer(size int) *buffer {
	c := class(size)
	if b, _ := buffers[c].Get().(*buffer); b != nil {
		b.data = b.data[:0]
		return b
	}
	return &buffer{make([]byte, 0, minBuffer<<c)}
}

func (b *buffer) free() { buffers[class(cap(b.data))].Put(b) }

// resized moves what a buffer holds to one of another size.
func (b *buffer) resized(size int) *buffer {
	other := newBuffer(size)
	other.data = append(other.data, b.data...)
	b.free()
	return other
}

// held holds bytes in memory up to a limit. Then all of them move to a spill,
// and those that follow go there as well.
type held struct {
	expect int64     // how many bytes are likely to come
	size   int64     // in bytes, with those in the spill
	parts  []*buffer // all but the last are full blocks
	max    int64     // in bytes
	open   func() (Spill, error)
	spill  Spill
}

func (h *held) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		last, err := h.room()
		if err != nil {
			return len(p) - len(rest), err
		}
		n := min(len(rest), cap(last.data)-len(last.data))
		last.data = append(last.data, rest[:n]...)
		rest = rest[n:]
		h.size += int64(n)
	}
	return len(p), nil
}

// room returns a buffer that is not full. The first is made larger by and by, so
// that a small bitstream takes little.
func (h *held) room() (*buffer, error) {
	n := len(h.parts)
	switch {
	case n > 0 && len(h.parts[n-1].data) < cap(h.parts[n-1].data):
		return h.parts[n-1], nil
	case n > 0 && cap(h.parts[n-1].data) < blockSize:
		h.parts[n-1] = h.parts[n-1].resized(2 * cap(h.parts[n-1].data))
	case n > 0 && h.open != nil && (h.spill != nil || int64(n)*blockSize >= h.max):
		if err := h.unload(); err != nil {
			return nil, err
		}
		h.parts = append(h.parts, newBuffer(blockSize))
	case n > 0:
		h.parts = append(h.parts, newBuffer(blockSize))
	default:
		h.parts = append(h.parts, newBuffer(int(min(max(h.expect, 0), blockSize))))
	}
	return h.parts[len(h.parts)-1], nil
}

// unload moves what is in memory to the spill.
func (h *held) unload() error {
	if h.spill == nil {
		spill, err := h.open()
		if err != nil {
			return fmt.Errorf("making a temporary file: %w", err)
		}
		h.spill = spill
	}
	for _, b := range h.parts {
		if _, err := writeAll(h.spill, b.data); err != nil {
			return fmt.Errorf("writing to a temporary file: %w", err)
		}
	}
	h.drop()
	return nil
}

// drop forgets what is in memory.
func (h *held) drop() {
	for _, b := range h.parts {
		b.free()
	}
	clear(h.parts)
	h.parts = h.parts[:0]
}

// swap exchanges what two hold, all of it in memory.
func (h *held) swap(other *held) {
	h.parts, other.parts = other.parts, h.parts
	h.size, other.size = other.size, h.size
}

// settle is for when nothing more comes: it keeps no more memory than needed.
func (h *held) settle() error {
	if h.spill != nil {
		return h.unload()
	}
	if n := len(h.parts); n > 0 {
		if last := h.parts[n-1]; class(len(last.data)) < class(cap(last.data)) {
			h.parts[n-1] = last.resized(len(last.data))
		}
	}
	return nil
}

// WriteTo writes everything. It is for after settle, and may be called again.
func (h *held) WriteTo(w io.Writer) (int64, error) {
	if h.spill != nil {
		return h.writeSpill(w)
	}
	var total int64
	for _, b := range h.parts {
		n, err := writeAll(w, b.data)
		total += int64(n)
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// reader returns a reader of everything. It is for after settle.
func (h *held) reader() io.Reader {
	if h.spill != nil {
		return io.NewSectionReader(h.spill, 0, h.size)
	}
	readers := make([]io.Reader, len(h.parts))
	for i, b := range h.parts {
		readers[i] = bytes.NewReader(b.data)
	}
	return io.MultiReader(readers...)
}

func (h *held) writeSpill(w io.Writer) (int64, error) {
	b := newBuffer(blockSize)
	defer b.free()
	var total int64
	for total < h.size {
		part := b.data[:min(h.size-total, blockSize)]
		if err := readAt(h.spill, part, total); err != nil {
			return total, fmt.Errorf("reading a temporary file: %w", err)
		}
		n, err := writeAll(w, part)
		total += int64(n)
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// close forgets everything.
func (h *held) close() error {
	h.drop()
	h.size = 0
	if h.spill == nil {
		return nil
	}
	err := h.spill.Close()
	h.spill = nil
	if err != nil {
		return fmt.Errorf("closing a temporary file: %w", err)
	}
	return nil
}

// writeAll writes p, and takes it for an error if less was taken.
func writeAll(w io.Writer, p []byte) (int, error) {
	n, err := w.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	return n, err
}

// readAt fills p, and takes it for an error if there is less.
func readAt(r io.ReaderAt, p []byte, offset int64) error {
	n, err := r.ReadAt(p, offset)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
