package linking

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/wellspring-sync/wellspring/generator/internal/survey"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// How facts are written. Links are those to versions and patches alone: the others are
// found when a finding is described.

// changeTypes have numbers in the file.
var changeTypes = [...]resourcesync.ChangeType{"", resourcesync.Created, resourcesync.Updated, resourcesync.Deleted}

// appendFact appends what is remembered of a finding.
func appendFact(b []byte, f *survey.Finding) []byte {
	md := &f.Entry.Metadata
	b = appendTexts(b, f.Entry.Loc, f.Path, string(f.Type), f.Reason, string(md.Hash), md.Type, md.Encoding)
	b = appendTime(b, f.Entry.LastModified)
	b = binary.AppendVarint(b, f.Size)
	b = appendLinks(b, f.Entry.Links)
	b = appendPatch(b, f.Patch)
	b = binary.AppendUvarint(b, uint64(len(f.In)))
	for i := range f.In {
		m := &f.In[i]
		b = binary.AppendUvarint(b, uint64(m.Set.Number))
		b = append(b, byte(slices.Index(changeTypes[:], m.Change)))
	}
	return b
}

func appendTexts(b []byte, texts ...string) []byte {
	for _, s := range texts {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return b
}

// appendTime appends whether there is a time, and which.
func appendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return appendNumber(b, 0, false)
	}
	return appendNumber(b, t.Unix(), true)
}

// appendNumber appends whether a number says anything, and the number.
func appendNumber(b []byte, n int64, says bool) []byte {
	flag := byte(0)
	if says {
		flag = 1
	}
	return binary.AppendVarint(append(b, flag), n)
}

func appendLinks(b []byte, links []resourcesync.Link) []byte {
	b = binary.AppendUvarint(b, uint64(len(links)))
	for i := range links {
		l := &links[i]
		b = appendTexts(b, l.Rel, l.Href, string(l.Hash), l.Type, l.Path, l.Encoding)
		b = appendTime(b, l.Modified)
		b = appendNumber(b, l.Length, l.HasLength)
	}
	return b
}

// appendPatch appends a patch without its content, or that there is none.
func appendPatch(b []byte, p *survey.Patch) []byte {
	if p == nil {
		return appendTexts(b, "")
	}
	return appendLinks(appendTexts(b, p.Path), []resourcesync.Link{p.Link})
}

// readFact reads the next fact. It returns io.EOF only where nothing is left at all.
func readFact(r *bufio.Reader, f *fact) error {
	if _, err := r.Peek(1); err != nil {
		return err
	}
	d := decoder{r: r}
	d.fact(f)
	return d.err
}

// decoder reads what was appended, and keeps the first error.
type decoder struct {
	r   *bufio.Reader
	err error
}

func (d *decoder) fact(f *fact) {
	uri := d.text()
	f.found.Change = policy.Change{URI: uri, Path: d.text(), Type: resourcesync.ChangeType(d.text()), Reason: d.text()}
	e := resourcesync.Entry{Loc: uri}
	e.Metadata.Hash, e.Metadata.Type, e.Metadata.Encoding = resourcesync.Hash(d.text()), d.text(), d.text()
	e.LastModified = d.time()
	f.found.Size = d.signed()
	e.Links = d.links()
	f.found.Patch = d.patch()
	f.in = d.members()
	e.Metadata.SetLength(f.found.Size)
	if f.found.Type == resourcesync.Deleted {
		e = resourcesync.Entry{Loc: uri}
	}
	f.found.Entry = e
}

func (d *decoder) links() []resourcesync.Link {
	n := d.count()
	if n == 0 {
		return nil
	}
	links := make([]resourcesync.Link, 0, n)
	for ; n > 0 && d.err == nil; n-- {
		links = append(links, d.link())
	}
	return links
}

func (d *decoder) link() (l resourcesync.Link) {
	l.Rel, l.Href, l.Hash = d.text(), d.text(), resourcesync.Hash(d.text())
	l.Type, l.Path, l.Encoding = d.text(), d.text(), d.text()
	l.Modified = d.time()
	l.Length, l.HasLength = d.number()
	return l
}

func (d *decoder) patch() *survey.Patch {
	path := d.text()
	if path == "" {
		return nil
	}
	links := d.links()
	if len(links) != 1 {
		return nil
	}
	return &survey.Patch{Path: path, Link: links[0]}
}

func (d *decoder) members() []factIn {
	in := make([]factIn, d.count())
	for i := range in {
		in[i] = factIn{int(d.count()), changeTypes[d.byte()]}
	}
	return in
}

func (d *decoder) text() string {
	b := make([]byte, d.count())
	if d.err != nil {
		return ""
	}
	_, err := io.ReadFull(d.r, b)
	d.fail(err)
	return string(b)
}

func (d *decoder) time() time.Time {
	unix, dated := d.number()
	if !dated {
		return time.Time{}
	}
	return time.Unix(unix, 0).UTC()
}

// number reads a number, and whether it says anything.
func (d *decoder) number() (n int64, says bool) {
	flag := d.byte()
	return d.signed(), flag == 1
}

func (d *decoder) signed() int64 {
	if d.err != nil {
		return 0
	}
	n, err := binary.ReadVarint(d.r)
	d.fail(err)
	return n
}

// count reads a number that is not negative. It is zero after an error.
func (d *decoder) count() uint64 {
	if d.err != nil {
		return 0
	}
	n, err := binary.ReadUvarint(d.r)
	if d.fail(err); err != nil {
		return 0
	}
	return n
}

func (d *decoder) byte() byte {
	if d.err != nil {
		return 0
	}
	b, err := d.r.ReadByte()
	d.fail(err)
	return b
}

func (d *decoder) fail(err error) {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if d.err == nil {
		d.err = err
	}
}
