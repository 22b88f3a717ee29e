package resourcesync

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Limits bound what a Decoder takes in. The zero value stands for the limits of
// the standard.
type Limits struct {
	// Bytes of one document; by default 50 MB and 5 %, since others count
	// megabytes in their own ways.
	Bytes int64
	// Entries of one document; by default 50,000.
	Entries int
	// Token is the longest element, text or comment, in bytes; by default 64 KiB.
	Token int
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Bytes: cmp.Or(l.Bytes, MaxBytes+MaxBytes/20), Entries: cmp.Or(l.Entries, MaxEntries), Token: cmp.Or(l.Token, 64<<10),
	}
}

// maxDepth is how deep elements may be nested. The standard needs three levels.
const maxDepth = 8

// SyntaxError says where a document could not be read.
type SyntaxError struct {
	Line   int   // counted from 1
	Offset int64 // in bytes
	Err    error
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d (byte %d): %v", e.Line, e.Offset, e.Err)
}

func (e *SyntaxError) Unwrap() error { return e.Err }

// errLimit is wrapped by each error about a limit that was exceeded.
var errLimit = errors.New("limit exceeded")

// Position says where an entry stands in its document, in bytes.
type Position struct {
	Start, End int64
	// Canonical is true if the bytes are just what [AppendEntry] writes.
	Canonical bool
}

// Decoder reads one document as a stream. What [AppendHead] and [AppendEntry]
// wrote goes through a fast scanner; from the first byte that deviates, the rest
// is read with encoding/xml, with the same results. Elements and attributes of
// other namespaces are passed over. Document type declarations and entities are
// refused.
//
// A Decoder is not safe for concurrent use.
type Decoder struct {
	limits   Limits
	lines    lines
	slow     *slowDecoder
	document Document
	begun    bool
	entry    Entry
	entries  int
	position Position
	err      error
}

// NewDecoder returns a Decoder that reads from r, up to the limits.
func NewDecoder(r io.Reader, limits Limits) *Decoder {
	limits = limits.withDefaults()
	return &Decoder{
		limits: limits,
		lines:  lines{r: &boundedReader{r: r, left: limits.Bytes}, line: 1, most: limits.Token},
	}
}

// Document returns the document's own properties. Only what stands before the
// first entry is sure to be in it, as the Sitemap schema demands. Errors are of
// type [*SyntaxError], but for those of the reader.
func (d *Decoder) Document() (*Document, error) {
	d.begin()
	if d.err != nil && d.err != io.EOF {
		return nil, d.err
	}
	return &d.document, nil
}

// Next returns the next entry, which is valid until the following call (its
// strings and links stay valid), or io.EOF after the last one, when the whole
// document has been seen to be well-formed.
func (d *Decoder) Next() (*Entry, error) {
	d.begin()
	if d.err != nil {
		return nil, d.err
	}
	d.entry = Entry{}
	if d.slow == nil && d.fastNext() {
		return &d.entry, nil
	}
	if d.slow == nil {
		return nil, d.err
	}
	return d.slowNext()
}

// Position returns where the last entry stands.
func (d *Decoder) Position() Position { return d.position }

// begin reads the head, once.
func (d *Decoder) begin() {
	if d.begun {
		return
	}
	d.begun = true
	if !d.fastHead() {
		d.fallBack("")
	}
}

func (d *Decoder) count() error {
	if d.entries++; d.entries > d.limits.Entries {
		return fmt.Errorf("%w: more than %d entries", errLimit, d.limits.Entries)
	}
	return nil
}

// fallBack hands the rest of the document to encoding/xml. standIn replaces
// what was scanned so far, so that nothing is read twice.
func (d *Decoder) fallBack(standIn string) {
	d.slow = newSlowDecoder(d, standIn)
	d.err = d.slow.head()
}

// root returns the start of the document that the fast scanner has seen.
func (d *Decoder) root() string {
	if d.document.Index {
		return headIdx
	}
	return headList
}

func (d *Decoder) slowNext() (*Entry, error) {
	if d.err == nil {
		d.err = d.slow.next(&d.entry)
	}
	if d.err != nil {
		return nil, d.err
	}
	return &d.entry, nil
}

// boundedReader fails where a document is longer than it may be.
type boundedReader struct {
	r    io.Reader
	left int64
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return b.probe()
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// probe tells a document that ends at the limit from one that goes on.
func (b *boundedReader) probe() (int, error) {
	var one [1]byte
	if n, err := b.r.Read(one[:]); n == 0 {
		return 0, err
	}
	return 0, fmt.Errorf("%w: the document is too long", errLimit)
}

// trimSpace removes XML's white space, and only that, from both ends.
func trimSpace(s string) string { return strings.Trim(s, " \t\r\n") }
