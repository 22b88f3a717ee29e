package zipdump

import (
	"fmt"
	"io"
)

// Take copies the entries from, from+1, … to-1 of an earlier package, with all
// that was said of them, as one range. If that fails, the package is lost, as
// with Add.
func (w *Writer) Take(p *Package, from, to int) error {
	if w.err != nil {
		return w.err
	}
	if from < 0 || from > to || to > p.Len() {
		return fmt.Errorf("taking entries %d to %d of a package that has %d", from, to, p.Len())
	}
	t := taker{w: w, buf: newBuffer(blockSize)}
	defer t.buf.free()
	start, end := p.entry(from).offset, p.entry(to).offset
	t.r = io.NewSectionReader(p.r, start, end-start)
	for i := from; i < to && w.err == nil; i++ {
		e := p.entry(i)
		if w.err = t.take(e); w.err != nil {
			w.err = fmt.Errorf("taking %q from a package: %w", e.name, w.err)
		}
	}
	return w.err
}

// taker reads a range in large blocks, and looks at the headers as they come by.
type taker struct {
	w   *Writer
	r   io.Reader
	buf *buffer
	// unread is what has been read of the range, and not yet been copied.
	unread []byte
}

func (t *taker) take(e entry) error {
	t.w.buf = e.appendLocal(t.w.buf[:0])
	if err := t.copy(e.localLength(), t.w.buf); err != nil {
		return err
	}
	if err := t.copy(e.compressed, nil); err != nil {
		return err
	}
	return t.w.record(e)
}

// copy copies n bytes, which must be the wanted ones if there are any.
func (t *taker) copy(n int64, want []byte) error {
	for n > 0 {
		if err := t.fill(); err != nil {
			return fmt.Errorf("reading: %w", err)
		}
		part := t.unread[:min(n, int64(len(t.unread)))]
		if want != nil && string(part) != string(want[:len(part)]) {
			return errLocal
		}
		if _, err := writeAll(t.w.zip, part); err != nil {
			return fmt.Errorf("writing: %w", err)
		}
		want = want[min(len(want), len(part)):]
		t.unread = t.unread[len(part):]
		n -= int64(len(part))
	}
	return nil
}

// fill reads on if there is nothing left.
func (t *taker) fill() error {
	if len(t.unread) > 0 {
		return nil
	}
	n, err := io.ReadAtLeast(t.r, t.buf.data[:blockSize], 1)
	t.unread = t.buf.data[:n]
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
