package verify

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"hash/maphash"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

// ledger gathers what all documents say of each resource, so that it can be judged
// together. There may be millions of resources and any number of snapshots, so a
// URI is kept as a digest of it, the records lie in piles by that, and piles go to
// temporary files when there are too many. Where a URI is wanted for a message, it is
// read again from its document.
type ledger struct {
	seeds    [2]maphash.Seed
	most     int // records in memory
	mostEver int // records in all

	mu    sync.Mutex
	n     int // in memory
	total int
	piles [pileCount]pile
	dir   string // of the files, or empty
}

// pileCount divides a ledger that is larger than memory into parts that are not.
const pileCount = 64

type pile struct {
	records []record
	file    *os.File
	w       *bufio.Writer
}

// record is what one entry says of a resource.
type record struct {
	key    [2]uint64 // the URI
	time   int64     // of the change, in microseconds since 1970; of a link, a part of the key of its other end
	length int64     // in bytes, or -1
	digest [2]uint64 // of the content's digests
	doc    uint32    // the document
	entry  uint32    // which of its entries, counted from 0
	alg    [2]uint8  // of these digests, or 0
	change uint8
	timed  uint8
	rel    relations
}

const recordSize = 8*6 + 4*2 + 5

// changes as they stand in a record. Zero is no change.
const (
	changeCreated = 1 + iota
	changeUpdated
	changeDeleted
	linkTo   // no change, but what a link says of the resource
	linkFrom // nor this: the resource has a link
)

// isLink reports whether it is what a link says.
func (r *record) isLink() bool { return r.change == linkTo || r.change == linkFrom }

// relations are those that are judged by more than one entry.
type relations uint8

const (
	toMetadata  relations = 1 << iota // rel="describedby"
	toDescribed                       // rel="describes"
	toOriginal                        // rel="via"
)

func relationOf(l *link) relations {
	switch strings.ToLower(l.Rel) {
	case resourcesync.RelDescribedBy:
		return toMetadata
	case relDescribes:
		return toDescribed
	case relVia:
		return toOriginal
	}
	return 0
}

// How the time of a change is known.
const (
	untimed = iota
	odd     // something is wrong with the change
	byDateTime
)

func newLedger(memory int64, most int) *ledger {
	return &ledger{
		seeds:    [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		most:     int(max(memory/recordSize, 16)),
		mostEver: most,
	}
}

// key returns what stands for a URI.
func (l *ledger) key(uri string) [2]uint64 {
	return [2]uint64{maphash.String(l.seeds[0], uri), maphash.String(l.seeds[1], uri)}
}

// ranked are the algorithms by which states are compared, the best first. Any two
// of a hash attribute are kept.
var ranked = []string{"sha-256", "md5", "sha-1", "sha-512", "sha-384", "sha-224", "sha3-256", "sha3-512"}

// newRecord returns what an entry says.
func (l *ledger) newRecord(d *document, e *entry) record {
	r := record{key: l.key(e.loc), length: -1, doc: d.id, entry: uint32(e.n)}
	if e.md.HasLength {
		r.length = e.md.Length
	}
	l.addDigests(&r, e.md.Hash)
	switch e.md.Change {
	case resourcesync.Created:
		r.change = changeCreated
	case resourcesync.Updated:
		r.change = changeUpdated
	case resourcesync.Deleted:
		r.change = changeDeleted
	}
	switch {
	case e.odd:
		r.timed = odd
	case !e.md.DateTime.IsZero() && !e.md.coarse:
		r.time, r.timed = e.md.DateTime.UnixMicro(), byDateTime
	}
	return r
}

func (l *ledger) addDigests(r *record, h resourcesync.Hash) {
	if h == "" {
		return
	}
	if digest, ok := strings.CutPrefix(string(h), "sha-256:"); ok && !strings.Contains(digest, " ") {
		r.alg[0], r.digest[0] = 1, maphash.String(l.seeds[0], strings.ToLower(digest))
		return
	}
	n := 0
	for i, algorithm := range ranked {
		if digest := h.Get(algorithm); digest != "" && n < len(r.alg) {
			r.alg[n], r.digest[n] = uint8(i+1), maphash.String(l.seeds[0], digest)
			n++
		}
	}
}

// differs says in which way the content that two records state differs, or nothing.
func differs(x, y *record) string {
	if x.length >= 0 && y.length >= 0 && x.length != y.length {
		return "length"
	}
	for i, a := range x.alg {
		for j, b := range y.alg {
			if a != 0 && a == b && x.digest[i] != y.digest[j] {
				return ranked[a-1]
			}
		}
	}
	return ""
}

// entry takes in what an entry of a document says.
func (l *ledger) entry(d *document, e *entry) error {
	if d.unrecorded || d.older && !d.form.changes {
		return nil
	}
	own := l.newRecord(d, e)
	if d.form.changes || d.form.manifest {
		return l.put(d, e, own)
	}
	for i := range e.links {
		if err := l.link(d, e, &e.links[i], &own); err != nil {
			return err
		}
	}
	return l.put(d, e, own)
}

// link takes in a link, under the URI that it leads to. A link between a resource
// and metadata stands under that of its own resource, too, to be found from there.
func (l *ledger) link(d *document, e *entry, link *link, own *record) error {
	rel := relationOf(link)
	if link.Href == e.loc { // which is judged by the entry itself
		rel = 0
	}
	own.rel |= rel & toOriginal
	switch {
	case rel == toOriginal && !strings.EqualFold(hostOf(link.Href), d.state.host): // to another Source
		return nil
	case rel == 0 && link.has&(attrHash|attrLength) == 0:
		return nil
	}
	to := l.linkRecord(d, e, link)
	to.rel, to.time = rel, int64(own.key[0])
	if err := l.put(d, e, to); err != nil || rel == toOriginal || rel == 0 {
		return err
	}
	return l.put(d, e, record{key: own.key, time: int64(to.key[0]), length: -1, doc: d.id, entry: uint32(e.n), change: linkFrom, rel: rel})
}

// linkRecord returns what a link says of the resource that it leads to.
func (l *ledger) linkRecord(d *document, e *entry, link *link) record {
	r := record{key: l.key(link.Href), length: -1, doc: d.id, entry: uint32(e.n), change: linkTo}
	if link.HasLength {
		r.length = link.Length
	}
	l.addDigests(&r, usable(link.Hash))
	return r
}

func (l *ledger) put(d *document, e *entry, r record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.total++; l.total > l.mostEver {
		if l.total == l.mostEver+1 {
			d.report(auditLimit, e.spot, "", "there are more than %d entries; the others were not compared with each other", l.mostEver)
		}
		return nil
	}
	p := &l.piles[r.key[0]%pileCount]
	p.records = append(p.records, r)
	if l.n++; l.n >= l.most {
		return l.spill()
	}
	return nil
}

// spill moves all records to files.
func (l *ledger) spill() error {
	if l.dir == "" {
		dir, err := os.MkdirTemp("", "wellspring-verify-")
		if err != nil {
			return err
		}
		l.dir = dir
	}
	for i := range l.piles {
		if err := l.piles[i].spill(l.dir); err != nil {
			return err
		}
	}
	l.n = 0
	return nil
}

func (p *pile) spill(dir string) error {
	if p.file == nil {
		f, err := os.CreateTemp(dir, "")
		if err != nil {
			return err
		}
		p.file, p.w = f, bufio.NewWriterSize(f, 32<<10)
	}
	var b [recordSize]byte
	for i := range p.records {
		p.records[i].encode(&b)
		if _, err := p.w.Write(b[:]); err != nil {
			return err
		}
	}
	p.records = p.records[:0]
	return nil
}

func (r *record) encode(b *[recordSize]byte) {
	for i, v := range [6]uint64{r.key[0], r.key[1], uint64(r.time), uint64(r.length), r.digest[0], r.digest[1]} {
		binary.LittleEndian.PutUint64(b[8*i:], v)
	}
	binary.LittleEndian.PutUint32(b[48:], r.doc)
	binary.LittleEndian.PutUint32(b[52:], r.entry)
	b[56], b[57], b[58], b[59], b[60] = r.alg[0], r.alg[1], r.change, r.timed, uint8(r.rel)
}

func (r *record) decode(b *[recordSize]byte) {
	at := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	*r = record{
		key: [2]uint64{at(0), at(1)}, time: int64(at(2)), length: int64(at(3)), digest: [2]uint64{at(4), at(5)},
		doc: binary.LittleEndian.Uint32(b[48:]), entry: binary.LittleEndian.Uint32(b[52:]),
		alg: [2]uint8{b[56], b[57]}, change: b[58], timed: b[59], rel: relations(b[60]),
	}
}

// mostAtOnce is how many records of a pile are looked at together. A pile that has
// more is read several times, each time for some of its URIs.
const mostAtOnce = 1 << 19

// mostOfOne is how many records of one URI are looked at, besides those of links: more
// than anybody has, and few enough to be compared with each other. Any number of
// resources may link to one.
const mostOfOne = 20_000

// length returns how many records a pile has.
func (p *pile) length() (int, error) {
	n := len(p.records)
	if p.file == nil {
		return n, nil
	}
	if err := p.w.Flush(); err != nil {
		return 0, err
	}
	size, err := p.file.Seek(0, io.SeekEnd)
	return n + int(size/recordSize), err
}

// some returns the records of some of the URIs of a pile: one part of several. They
// are in the order of their URIs, documents and entries.
func (p *pile) some(part, parts uint64) ([]record, error) {
	var records []record
	type counted struct {
		key    [2]uint64
		isLink bool
	}
	count := map[counted]int{} // of URIs that come very often
	add := func(r *record) {
		if r.key[1]%parts != part {
			return
		}
		if len(records) >= 2*mostAtOnce { // some URI does
			c := counted{r.key, r.isLink()}
			if count[c]++; count[c] > mostOfOne {
				return
			}
		}
		records = append(records, *r)
	}
	for i := range p.records {
		add(&p.records[i])
	}
	if p.file != nil {
		if err := p.readBack(add); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(records, func(x, y record) int {
		return cmp.Or(cmp.Compare(x.key[0], y.key[0]), cmp.Compare(x.key[1], y.key[1]),
			cmp.Compare(x.doc, y.doc), cmp.Compare(x.entry, y.entry))
	})
	return records, nil
}

func (p *pile) readBack(add func(*record)) error {
	size, err := p.file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	in := bufio.NewReaderSize(io.NewSectionReader(p.file, 0, size), 256<<10)
	var b [recordSize]byte
	for range size / recordSize {
		if _, err := io.ReadFull(in, b[:]); err != nil {
			return err
		}
		var r record
		r.decode(&b)
		add(&r)
	}
	return nil
}

// groups calls do with the records of each URI.
func (l *ledger) groups(ctx context.Context, do func([]record)) error {
	for i := range l.piles {
		p := &l.piles[i]
		n, err := p.length()
		if err != nil {
			return err
		}
		parts := uint64(n/mostAtOnce + 1)
		for part := range parts {
			records, err := p.some(part, parts)
			if err != nil {
				return err
			}
			if err := eachGroup(ctx, records, do); err != nil {
				return err
			}
		}
		p.close()
	}
	return nil
}

func eachGroup(ctx context.Context, records []record, do func([]record)) error {
	for count := 0; len(records) > 0; count++ {
		if count%256 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n := 1
		for n < len(records) && records[n].key == records[0].key {
			n++
		}
		do(records[:n])
		records = records[n:]
	}
	return nil
}

func (p *pile) close() {
	if p.file != nil {
		p.file.Close()
		os.Remove(p.file.Name())
	}
	*p = pile{}
}

func (l *ledger) reset() {
	for i := range l.piles {
		l.piles[i].close()
	}
	l.n, l.total = 0, 0
}

func (l *ledger) close() error {
	l.reset()
	return os.RemoveAll(l.dir) // which does nothing if that is empty
}

func micro(t time.Time) int64 { return t.UnixMicro() }
