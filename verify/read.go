package verify

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

// reading reads one document and passes on what stands in it, element by element.
// What breaks a rule about XML or about the form of values is reported on the way;
// what values mean is for others.
type reading struct {
	limits *Limits
	open   func() (io.ReadCloser, error)
	// onHead is called once, before any entry. What it returns says whether the
	// entries are wanted.
	onHead  func(*head) bool
	onEntry func(*entry) error
	report  func(r *Rule, at spot, value, format string, args ...any)

	headDone bool
	wanted   bool
	entries  int // that were passed on
	whole    bool
}

// errStop ends a reading that has reported why.
var errStop = errors.New("the rest of the document is not read")

// run reads the document. The error is one of opening or reading it, or of
// onEntry.
//
// What is written just as package resourcesync writes it has nothing wrong with its
// form, and is read by its decoder, which is fast. From the first entry that has
// another form on, or for all of a document whose head has one, a parser looks at
// each token.
func (r *reading) run(ctx context.Context) error {
	plain, err := r.readPlain(ctx)
	if err != nil || plain {
		return err
	}
	f, err := r.open()
	if err != nil {
		return err
	}
	defer f.Close()
	p := newParser(r, f)
	err = p.document(ctx)
	if errors.Is(err, errStop) {
		return nil
	}
	r.whole = err == nil
	return err
}

// maxHead is how long a head may be that is taken for plain, in bytes.
const maxHead = 64 << 10

// readPlain reads a document as long as it is plain, and reports whether all of it
// is.
func (r *reading) readPlain(ctx context.Context) (bool, error) {
	f, err := r.open()
	if err != nil {
		return false, err
	}
	defer f.Close()
	b := bufio.NewReaderSize(f, maxHead)
	start, err := b.Peek(maxHead)
	if err != nil && err != io.EOF {
		return false, err
	}
	d := resourcesync.NewDecoder(b, resourcesync.Limits{
		Bytes: r.limits.DocumentBytes, Entries: r.limits.Entries + 1, Token: r.limits.Token,
	})
	lines, ok := r.plainHead(d, start)
	if !ok {
		return false, nil
	}
	return r.plainEntries(ctx, d, lines)
}

// plainHead passes the head on if it is plain, and returns how many lines it has.
func (r *reading) plainHead(d *resourcesync.Decoder, start []byte) (lines int, ok bool) {
	doc, err := d.Document()
	if err != nil || doc.Metadata.IsZero() || len(doc.Links) > r.limits.Links {
		return 0, false
	}
	text, err := resourcesync.AppendHead(nil, doc)
	if err != nil || !bytes.HasPrefix(start, text) {
		return 0, false
	}
	root := 2 // the line of the root element
	if doc.Style != "" {
		root++
	}
	h := &head{index: doc.Index, root: spot{root, 1}, md: plainMetadata(doc.Metadata)}
	h.md.spot = spot{root + 1, 1}
	for i, l := range doc.Links {
		h.links = append(h.links, plainLink(l))
		h.links[i].spot = spot{root + 2 + i, 1}
	}
	r.head(h)
	return root + 1 + len(doc.Links), true
}

func (r *reading) head(h *head) {
	if !r.headDone {
		r.headDone = true
		r.wanted = r.onHead(h)
	}
}

func (r *reading) plainEntries(ctx context.Context, d *resourcesync.Decoder, lines int) (bool, error) {
	doc, _ := d.Document()
	e := &entry{plain: true, index: doc.Index}
	for {
		p, err := d.Next()
		if err == io.EOF {
			r.whole = true
			return true, nil
		}
		if err != nil || !d.Position().Canonical {
			return false, nil // the parser reports what is wrong
		}
		if r.entries&1023 == 0 && ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		if len(p.Links) > r.limits.Links {
			return false, nil
		}
		e.fromPlain(p)
		e.n, e.spot = r.entries, spot{lines + 1 + r.entries, 1}
		if err := r.pass(e); err != nil {
			return false, err
		}
	}
}

// pass passes an entry on.
func (r *reading) pass(e *entry) error {
	r.entries++
	if r.entries > r.limits.Entries {
		r.report(auditLimit, e.spot, "", "the document has more than %d entries; the rest was not read", r.limits.Entries)
		return errStop
	}
	if !r.wanted {
		return nil
	}
	return r.onEntry(e)
}

// boundedReader ends a document that is too long.
type boundedReader struct {
	io.Reader
	left int64
}

var errTooLong = errors.New("the document is too long")

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLong
	}
	n, err := b.Reader.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// tokenReader keeps package encoding/xml, which gathers a token in memory, from
// being fed an endless one. It takes a byte order mark off the front.
type tokenReader struct {
	r     *bufio.Reader
	taken int
	most  int
	err   error
}

var errToken = errors.New("an element, text or comment is too long")

func newTokenReader(r io.Reader, most int) *tokenReader {
	t := &tokenReader{r: bufio.NewReaderSize(r, 64<<10), most: most}
	start, _ := t.r.Peek(3)
	switch {
	case bytes.HasPrefix(start, []byte("\xef\xbb\xbf")):
		t.r.Discard(3)
	case bytes.HasPrefix(start, []byte("\x1f\x8b")):
		t.err = fmt.Errorf("%w: it is compressed with gzip, which most Destinations do not expect of a file; servers may compress documents on the way", errCharset)
	case bytes.HasPrefix(start, []byte("\xfe\xff")), bytes.HasPrefix(start, []byte("\xff\xfe")):
		t.err = fmt.Errorf("%w: it begins with the byte order mark of UTF-16", errCharset)
	}
	return t
}

// ReadByte makes package encoding/xml use the reader as it is, without a buffer
// that would read ahead of the count.
func (t *tokenReader) ReadByte() (byte, error) {
	if t.err != nil {
		return 0, t.err
	}
	if t.taken++; t.taken > t.most {
		t.err = errToken
		return 0, t.err
	}
	b, err := t.r.ReadByte()
	t.err = err
	return b, err
}

// Read is not called: package encoding/xml reads bytes where it can.
func (*tokenReader) Read([]byte) (int, error) { return 0, errors.ErrUnsupported }
