package zipdump

import (
	"errors"
	"hash/crc32"
	"io"
)

// Packer makes Bitstreams. It is safe for concurrent use while its fields stay
// as they are.
type Packer struct {
	Policy Policy
	// MaxMemory is how much of one bitstream is held in memory once it is
	// compressed, in bytes: 16 MiB if it is 0, and never less than 512 KiB.
	MaxMemory int64
	// Spill makes the temporary file for a bitstream that needs more. If it is
	// nil, all of them stay in memory.
	Spill func() (Spill, error)
}

// defaultMemory lets nearly all files do without a temporary one, and a handful
// of workers do with the memory of a small machine.
const defaultMemory = 16 << 20

// rawLimit is how much content waits until it is known whether it is wanted. It
// is a multiple of the block size.
const rawLimit = 256 << 10

// New returns an empty Bitstream.
func (p *Packer) New() *Bitstream {
	b := &Bitstream{policy: p.Policy}
	b.packed.open = p.Spill
	b.packed.max = p.MaxMemory
	if b.packed.max == 0 {
		b.packed.max = defaultMemory
	}
	b.packed.max = max(b.packed.max, 2*rawLimit)
	return b
}

// Bitstream takes the content of one file as it is read, and holds it as it
// goes into packages. Up to 256 KiB are compressed no sooner than by Finish, so
// that a file which turns out to be unchanged costs nothing; what is larger is
// compressed as it comes. It is not safe for concurrent use. Close must be
// called in the end.
type Bitstream struct {
	policy    Policy
	mediaType string
	raw       held // not yet compressed, up to rawLimit
	packed    held
	method    int
	started   bool // the method is decided
	deflater  *deflater
	state     state
	length    int64
	crc       uint32
	err       error
}

type state int

const (
	taking state = iota
	finished
	closed
)

// Errors for calls in the wrong order.
var (
	errNotTaking   = errors.New("the bitstream is finished or closed")
	errNotFinished = errors.New("the bitstream is not finished, or closed")
)

// Begin says what comes, before the first Write. The media type may be empty.
// The size in bytes need not be right; it saves memory if it is.
func (b *Bitstream) Begin(mediaType string, size int64) {
	b.mediaType = mediaType
	b.raw.expect = size
}

// Reset drops what came so far, as the file is read again from its beginning.
// What Begin said still holds. A closed Bitstream stays closed.
func (b *Bitstream) Reset() {
	if b.state != closed {
		b.discard() // nobody misses a temporary file, even if it cannot be closed
		b.state = taking
	}
}

// Write takes more of the content. Its errors are those of the temporary file,
// and are returned by all further calls, too.
func (b *Bitstream) Write(p []byte) (int, error) {
	if b.state != taking {
		return 0, errNotTaking
	}
	for rest := p; len(rest) > 0; {
		if b.err == nil && b.raw.size == rawLimit {
			b.err = b.drain()
		}
		if b.err != nil {
			return len(p) - len(rest), b.err
		}
		n, err := b.raw.Write(rest[:min(int64(len(rest)), rawLimit-b.raw.size)])
		b.err = err
		b.length += int64(n)
		b.crc = crc32.Update(b.crc, crc32.IEEETable, rest[:n])
		rest = rest[n:]
	}
	return len(p), b.err
}

// drain makes room for more raw content.
func (b *Bitstream) drain() error {
	if err := b.start(); err != nil {
		return err
	}
	if err := b.feed(); err != nil {
		return err
	}
	return b.raw.close()
}

// start decides the method, of which the first block must not be gone yet.
func (b *Bitstream) start() (err error) {
	if b.started {
		return nil
	}
	b.started = true
	var first []byte
	if len(b.raw.parts) > 0 {
		first = b.raw.parts[0].data
	}
	if b.method, err = b.policy.method(b.mediaType, first); b.method == Deflate {
		b.deflater, err = newDeflater(&b.packed, b.policy.level())
	}
	return err
}

// feed packs the raw content. It goes in full blocks but for the last, however
// it came.
func (b *Bitstream) feed() error {
	to := io.Writer(&b.packed)
	if b.deflater != nil {
		to = b.deflater
	}
	_, err := b.raw.WriteTo(to)
	return err
}

// Finish says that all is there. Afterwards only compressed bytes are held. Its
// errors are those of Write.
func (b *Bitstream) Finish() error {
	if b.state == finished || b.err != nil {
		return b.err
	}
	if b.state == closed {
		return errNotTaking
	}
	if b.err = b.finish(); b.err == nil {
		b.state = finished
	}
	return b.err
}

func (b *Bitstream) finish() error {
	whole := !b.started
	if err := b.start(); err != nil {
		return err
	}
	if !whole || b.method == Deflate {
		if err := b.feed(); err != nil {
			return err
		}
	}
	if b.deflater != nil {
		if err := b.deflater.Close(); err != nil {
			return err
		}
		b.release()
	}
	if whole && (b.method == Store || b.packed.size >= b.length) {
		b.method = Store
		b.packed.swap(&b.raw) // neither is so large as to need a spill
	}
	if err := b.raw.close(); err != nil {
		return err
	}
	return b.packed.settle()
}

func (b *Bitstream) release() {
	if b.deflater != nil {
		b.deflater.free()
		b.deflater = nil
	}
}

// discard frees everything.
func (b *Bitstream) discard() error {
	b.release()
	b.raw.close() // is in memory
	err := b.packed.close()
	b.started, b.method = false, Store
	b.length, b.crc, b.err = 0, 0, nil
	return err
}

// Close drops what is held, at any time. It may be called again.
func (b *Bitstream) Close() error {
	if b.state == closed {
		return nil
	}
	b.state = closed
	return b.discard()
}

// Length returns how many bytes of content there are.
func (b *Bitstream) Length() int64 { return b.length }

// CRC32 returns the checksum of the content.
func (b *Bitstream) CRC32() uint32 { return b.crc }

// Method returns Store or Deflate. It is decided once Finish has returned.
func (b *Bitstream) Method() int { return b.method }

// Compressed returns how many bytes WriteTo writes, once Finish has returned.
func (b *Bitstream) Compressed() int64 { return b.packed.size }

// WriteContent writes the content as it was before it was compressed, and may be
// called any number of times once Finish has returned.
func (b *Bitstream) WriteContent(w io.Writer) error {
	if b.state != finished {
		return errNotFinished
	}
	if b.method == Store {
		_, err := b.packed.WriteTo(w)
		return err
	}
	r := newInflater(b.packed.reader())
	defer inflaters.Put(r)
	n, err := io.Copy(w, r)
	if err == nil && n != b.length {
		err = io.ErrUnexpectedEOF
	}
	return errors.Join(err, r.Close())
}

// WriteTo writes the compressed content, and may be called any number of times
// once Finish has returned.
func (b *Bitstream) WriteTo(w io.Writer) (int64, error) {
	if b.state != finished {
		return 0, errNotFinished
	}
	return b.packed.WriteTo(w)
}
