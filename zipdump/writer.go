package zipdump

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"
)

// Header is what a package says of a bitstream besides its content.
type Header struct {
	Path     string    // as Path returns it
	Modified time.Time // to the second; if it is zero, readers see 1980-01-01
}

// Writer writes the bitstreams of one package, one after the other. Records for
// the directory go to a second writer, as many packages may be unfinished at the
// same time. Both get many small writes and should be buffered. It is not safe
// for concurrent use.
type Writer struct {
	zip, directory io.Writer
	end            End
	buf, name      []byte
	err            error
}

// NewWriter returns a Writer that begins a package.
func NewWriter(zip, directory io.Writer) *Writer {
	return &Writer{zip: zip, directory: directory}
}

// Size returns how many bytes have been written to the package.
func (w *Writer) Size() int64 { return w.end.Size }

// Entries returns how many bitstreams have been written.
func (w *Writer) Entries() int { return w.end.Entries }

// DirectorySize returns how many bytes have been written to the directory.
func (w *Writer) DirectorySize() int64 { return w.end.DirectorySize }

// End returns what has to be known to finish the package.
func (w *Writer) End() End { return w.end }

// Add writes a bitstream, which must be finished. Nothing has been written if
// the path cannot be used; it must be relative, UTF-8 without control
// characters and backslashes, have no segment that is empty, "." or "..", and
// not be that of the manifest. That no two are the same is up to the caller. If
// writing fails, the package is lost, and all further calls return that error.
func (w *Writer) Add(h Header, b *Bitstream) error {
	if w.err != nil {
		return w.err
	}
	if err := checkPath(h.Path); err != nil {
		return fmt.Errorf("adding a bitstream: %w", err)
	}
	return w.add(h, b)
}

func (w *Writer) add(h Header, b *Bitstream) error {
	if b.state != finished {
		return fmt.Errorf("adding %q: %w", h.Path, errNotFinished)
	}
	w.name = append(w.name[:0], h.Path...)
	e := entry{
		name:       w.name,
		method:     b.Method(),
		crc:        b.CRC32(),
		compressed: b.Compressed(),
		length:     b.Length(),
	}
	e.setTime(h.Modified)
	w.err = w.write(e, b)
	if w.err != nil {
		w.err = fmt.Errorf("adding %q: %w", h.Path, w.err)
	}
	return w.err
}

// write writes local header, content and directory record.
func (w *Writer) write(e entry, b *Bitstream) error {
	w.buf = e.appendLocal(w.buf[:0])
	if _, err := writeAll(w.zip, w.buf); err != nil {
		return fmt.Errorf("writing a header: %w", err)
	}
	n, err := b.WriteTo(w.zip)
	if err != nil {
		return fmt.Errorf("writing the content: %w", err)
	}
	if n != e.compressed {
		return fmt.Errorf("the content came as %d bytes instead of %d", n, e.compressed)
	}
	return w.record(e)
}

// record writes the directory record of what has been written to the package.
func (w *Writer) record(e entry) error {
	e.offset = w.end.Size
	w.buf = e.appendCentral(w.buf[:0])
	if _, err := writeAll(w.directory, w.buf); err != nil {
		return fmt.Errorf("writing to the directory: %w", err)
	}
	w.end.Entries++
	w.end.DirectorySize += int64(len(w.buf))
	w.end.Size += e.localLength() + e.compressed
	return nil
}

// End is what has to be known of a package to finish it.
type End struct {
	Entries       int   // without the manifest
	Size          int64 // of the entries, in bytes
	DirectorySize int64 // of their records, in bytes
}

// Closing is what comes after the bitstreams of a package.
type Closing struct {
	Manifest *Bitstream // must be finished
	Modified time.Time  // of the manifest
	Comment  string     // ASCII without control characters, up to 65,535 bytes
}

// Finish completes a package whose entries have all been written to zip: with
// manifest.xml, the directory, of which the records so far come from a reader,
// and the comment. It returns the size of the whole package in bytes.
func (e End) Finish(zip io.Writer, directory io.Reader, c Closing) (int64, error) {
	if err := checkComment(c.Comment); err != nil {
		return 0, err
	}
	var last bytes.Buffer
	w := &Writer{zip: zip, directory: &last, end: e}
	if err := w.add(Header{manifestName, c.Modified}, c.Manifest); err != nil {
		return 0, err
	}
	if err := copyDirectory(zip, directory, e.DirectorySize); err != nil {
		return 0, err
	}
	tail := appendEnd(last.Bytes(), w.end, c.Comment)
	if _, err := writeAll(zip, tail); err != nil {
		return 0, fmt.Errorf("writing the end of the directory: %w", err)
	}
	return w.end.Size + e.DirectorySize + int64(len(tail)), nil
}

// copyDirectory copies records, of which there must be size bytes.
func copyDirectory(zip io.Writer, directory io.Reader, size int64) error {
	n, err := io.Copy(zip, io.LimitReader(directory, size+1))
	if err != nil {
		return fmt.Errorf("copying the directory: %w", err)
	}
	if n != size {
		return fmt.Errorf("the directory is not %d bytes long, as it was written", size)
	}
	return nil
}

// checkComment refuses comments in which a reader could see something else.
func checkComment(s string) error {
	if len(s) > max16 {
		return fmt.Errorf("the comment has %d bytes, of %d that are possible", len(s), max16)
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return errors.New("the comment has characters that are not plain ASCII")
		}
	}
	return nil
}
