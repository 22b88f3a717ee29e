package generator

import (
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/zipdump"
)

// events gathers the changes of a run, in the order of URIs, before it is known
// when they are published. They are cut where one Change List, or one package of the
// Change Dump, could not hold more; each chunk is then published with a time of its own.
type events struct {
	stage    *stage
	standard Standard
	limits   limits
	room     int64 // for entries in one list, in bytes
	file     *document
	chunks   []chunk
	total    int
	buf      []byte
	// inList are the events in the last list, and listBytes how long they are there, if
	// the open list of the last publication takes none.
	inList    int
	listBytes int64
	// What is written by now: of which chunk, and how many of its events.
	writing, written int
	// packageSize is how large the package of a chunk may be, in bytes; 0 if
	// there is no Change Dump.
	packageSize int64
	policy      zipdump.Policy
}

// chunk is a run of events with one time, which go into one Change List and into one
// package.
type chunk struct {
	at         time.Time // once it is known
	begins     bool      // another Change List than the chunk before
	start, end int64     // in the staged file
	entries    int
	bytes      int64 // as they will be published
	weight     int64 // in the package
	packing    *packing
}

func newEvents(st *stage, standard Standard, l layout.Layout, lim limits, packageSize int64, policy zipdump.Policy) (*events, error) {
	some := time.Unix(0, 1000) // with a fraction
	head := changeListHead(l, true, some, some)
	head.Links = append(head.Links, resourcesync.Link{Rel: resourcesync.RelArchives, Href: l.Archive(string(resourcesync.ChangeList)).URI})
	b, err := resourcesync.AppendHead(nil, &head)
	if err != nil {
		return nil, err
	}
	b = resourcesync.AppendFoot(b, false)
	return &events{stage: st, standard: standard, limits: lim, room: lim.bytes - int64(len(b)), packageSize: packageSize, policy: policy}, nil
}

// changeListHead returns the properties of a Change List, which is closed if
// until is not zero.
func changeListHead(l layout.Layout, indexed bool, from, until time.Time) resourcesync.Document {
	d := resourcesync.Document{
		Style:    l.StyleFor(l.ChangeList()),
		Metadata: resourcesync.Metadata{Capability: resourcesync.ChangeList, From: from, Until: until},
		Links:    []resourcesync.Link{{Rel: resourcesync.RelUp, Href: l.CapabilityList().URI}},
	}
	if indexed {
		d.Style = l.StyleFor(l.ChangeListFrom(from))
		d.Links = append(d.Links, resourcesync.Link{Rel: resourcesync.RelIndex, Href: l.ChangeList().URI})
	}
	return d
}

// date gives the chunks their times. The last one is published at the time at, and those
// before it a step earlier each.
func (e *events) date(at time.Time, step time.Duration) {
	for i := range e.chunks {
		e.chunks[i].at = at.Add(-time.Duration(len(e.chunks)-1-i) * step)
	}
}

// lists yields the chunks of each Change List that the events fill.
func (e *events) lists() iter.Seq[[]chunk] {
	return func(yield func([]chunk) bool) {
		start := 0
		for i := range e.chunks {
			if i > start && e.chunks[i].begins {
				if !yield(e.chunks[start:i]) {
					return
				}
				start = i
			}
		}
		if start < len(e.chunks) {
			yield(e.chunks[start:])
		}
	}
}

// place decides in which list, and in which package, a change is going to be. Its
// entry may become longer than it is by now, by at most so many bytes.
func (e *events) place(f *finding, more int64) error {
	if f.Type == "" {
		return nil
	}
	size, err := e.size(f, more)
	if err != nil {
		return err
	}
	weight := layout.Weight(f.entry.Loc, f.size)
	if f.patch != nil {
		weight += layout.Weight(f.entry.Loc, int64(len(f.patch.content)))
	}
	c, err := e.chunk(size, weight)
	if err != nil {
		return err
	}
	c.entries++
	c.bytes += size
	c.weight += weight
	e.inList++
	e.listBytes += size
	e.total++
	return c.pack(f, e.policy)
}

// pack puts what an event is about into the package.
func (c *chunk) pack(f *finding, policy zipdump.Policy) error {
	if c.packing == nil || f.Type == resourcesync.Deleted {
		return nil
	}
	if err := c.packing.add(f); err != nil || f.Type != resourcesync.Updated || f.patch == nil {
		return err
	}
	return c.packing.addPatch(f.patch, policy, f.entry.LastModified)
}

// size returns how many bytes a change takes in a list, at most.
func (e *events) size(f *finding, more int64) (int64, error) {
	entry, err := e.entry(f)
	return int64(len(e.buf)) + more + e.standard.stampBytes(&entry), err
}

// entry puts what is staged of a change into the buffer. Of a deleted resource, only
// the URI is said. The path in the package is staged with it; Change Lists leave
// that out.
func (e *events) entry(f *finding) (resourcesync.Entry, error) {
	entry := f.entry
	if f.Type == resourcesync.Deleted { // here, if not in other sets
		entry = resourcesync.Entry{Loc: f.entry.Loc}
	}
	if e.packageSize > 0 && f.Type != resourcesync.Deleted {
		entry.Metadata.Path = manifestEntry(f).Metadata.Path
	}
	entry.Metadata.Change = f.Type
	if f.patch != nil && f.Type == resourcesync.Updated {
		l := f.patch.link
		if e.packageSize > 0 {
			l.Path = "/" + f.patch.path
		}
		entry.Links = append(entry.Links[:len(entry.Links):len(entry.Links)], l)
	}
	var err error
	e.buf, err = resourcesync.AppendEntry(e.buf[:0], false, &entry)
	return entry, err
}

// write stages a change, in the order in which they were placed.
func (e *events) write(f *finding) error {
	if f.Type == "" {
		return nil
	}
	if _, err := e.entry(f); err != nil {
		return err
	}
	if e.file == nil {
		var err error
		if e.file, err = e.stage.create(); err != nil {
			return err
		}
	}
	c := &e.chunks[e.writing]
	if e.written == c.entries { // the next one begins where this one ends
		end := c.end
		e.writing++
		e.written = 0
		c = &e.chunks[e.writing]
		c.start, c.end = end, end
	}
	e.written++
	c.end += int64(len(e.buf))
	_, err := e.file.Write(e.buf)
	return err
}

// chunk returns the chunk that an event of so many bytes belongs to.
func (e *events) chunk(size, weight int64) (*chunk, error) {
	next := chunk{}
	if n := len(e.chunks); n > 0 {
		c := &e.chunks[n-1]
		next.begins = e.inList == e.limits.entries || e.listBytes+size > e.room
		if !next.begins && (e.packageSize == 0 || c.weight+weight <= e.packageSize) {
			return c, nil
		}
		if err := c.pause(); err != nil {
			return nil, err
		}
	}
	if next.begins {
		e.inList, e.listBytes = 0, 0
	}
	if e.packageSize > 0 {
		var err error
		if next.packing, err = e.stage.newPacking(); err != nil {
			return nil, err
		}
	}
	e.chunks = append(e.chunks, next)
	return &e.chunks[len(e.chunks)-1], nil
}

// pause closes the package of a chunk to which nothing is added any more.
func (c *chunk) pause() error {
	if c.packing == nil {
		return nil
	}
	return c.packing.pause()
}

// finish ends the gathering.
func (e *events) finish() error {
	if e.file == nil {
		return nil
	}
	if err := e.chunks[len(e.chunks)-1].pause(); err != nil {
		return err
	}
	return e.file.close()
}

// toWrite is how many bytes the events take in their lists.
func (e *events) toWrite() (n int64) {
	for _, c := range e.chunks {
		n += c.bytes
	}
	return n
}

// each calls fn for the events of a chunk.
func (e *events) each(c chunk, fn func(*resourcesync.Entry) error) error {
	f, err := e.stage.tx.OpenStaged(e.file.name)
	if err != nil {
		return err
	}
	defer f.Close()
	head, err := resourcesync.AppendHead(nil, &resourcesync.Document{})
	if err != nil {
		return err
	}
	d := resourcesync.NewDecoder(io.MultiReader(
		strings.NewReader(string(head)),
		io.NewSectionReader(f, c.start, c.end-c.start),
		strings.NewReader(string(resourcesync.AppendFoot(nil, false))),
	), resourcesync.Limits{})
	for {
		entry, err := d.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the staged changes again: %w", err)
		}
		if err := fn(entry); err != nil {
			return err
		}
	}
}

// changeLists writes the Change Lists that a run changes or adds.
type changeLists struct {
	stage    *stage
	layout   layout.Layout
	events   *events
	last     *snapshot.Snapshot
	links    []resourcesync.Link // of the live document
	linked   bool                // the live document has other links than before, or another style
	restyled bool                // all of them have another style
	rotate   Rotation
	keep     Keep
	standard Standard
	// dropped are lists that the Index names no more.
	dropped []snapshot.ChangeList
}

func (r *resourceSet) changeLists() *changeLists {
	return &changeLists{
		stage: r.stage, layout: r.layout, events: r.events, last: r.prev.snapshot, rotate: r.o.Rotate, keep: r.o.KeepChanges, standard: r.o.Standard,
		links: r.archives.links(resourcesync.ChangeList), linked: r.linksChange(resourcesync.ChangeList), restyled: r.restyles(),
	}
}

// first stages the empty open list with which a publication begins.
func (c *changeLists) first(at time.Time) error {
	head := c.liveHead(at)
	c.stage.tell(resourcesync.ChangeList, c.layout.ChangeList(), "")
	return c.stage.putDocument(c.layout.ChangeList(), &head, nil)
}

// liveHead returns the properties of the live document, a list or the Index.
func (c *changeLists) liveHead(from time.Time) resourcesync.Document {
	head := changeListHead(c.layout, false, from, time.Time{})
	head.Links = append(head.Links, c.links...)
	return head
}

// relink stages the live documents again, with other links or another style, and
// nothing else.
func (c *changeLists) relink() error {
	if c.indexed() && !c.restyled { // the Index alone has links
		return c.index(c.last.Changes)
	}
	open, err := c.last.OpenList()
	if err != nil {
		return err
	}
	head, index := c.liveHead(open.From), ""
	if c.indexed() {
		head, index = changeListHead(c.layout, true, open.From, time.Time{}), c.layout.ChangeList().URI
	}
	doc, err := c.list(&head, open, nil)
	if err != nil {
		return err
	}
	c.stage.tell(resourcesync.ChangeList, open.Ref, index)
	if err := c.stage.put(doc, open.Ref, false); err != nil || !c.indexed() {
		return err
	}
	return c.index(c.last.Changes)
}

// write stages what the events change.
func (c *changeLists) write(at time.Time) error {
	open, err := c.last.OpenList()
	if err != nil {
		return err
	}
	if c.fits(open, at) {
		return c.extend(open, at)
	}
	return c.closeAndBegin(open, at)
}

// fits reports whether the open list can take the events of a run of the time at, also
// once it has been given what a closed list under an Index needs.
func (c *changeLists) fits(open *snapshot.OpenList, at time.Time) bool {
	e := c.events
	return !c.isOver(open, at) && open.Entries+e.total <= e.limits.entries && open.Bytes+e.toWrite() <= e.room
}

// isOver reports whether the open list has been open for long enough, or has
// changes in the form of another version.
func (c *changeLists) isOver(open *snapshot.OpenList, at time.Time) bool {
	return open.Entries > 0 && (c.rotate.ends(open.Last, at) || !c.standard.continues(open))
}

// indexed reports whether the lists are under an Index already.
func (c *changeLists) indexed() bool {
	return c.last.Changes[0].Path != c.layout.ChangeList().Path
}

// extend appends the events to the open list.
func (c *changeLists) extend(open *snapshot.OpenList, at time.Time) error {
	head, index := c.liveHead(open.From), ""
	if c.indexed() {
		head, index = changeListHead(c.layout, true, open.From, time.Time{}), c.layout.ChangeList().URI
	}
	c.stage.tell(resourcesync.ChangeList, open.Ref, index)
	doc, err := c.list(&head, open, c.events.chunks)
	if err != nil {
		return err
	}
	if err := c.stage.put(doc, open.Ref, false); err != nil || !c.indexed() {
		return err
	}
	if lists := c.retain(c.last.Changes, at); len(c.dropped) > 0 || c.linked {
		return c.index(lists)
	}
	return nil
}

// retain leaves out the lists that ended too long ago, but keeps two.
func (c *changeLists) retain(lists []snapshot.ChangeList, at time.Time) []snapshot.ChangeList {
	n, before := 0, len(c.last.Changes)-1 // those that this run closes stay
	for n < before && len(lists)-n > 2 && c.keep.isPast(lists[n].Until, at) {
		n++
	}
	c.dropped = lists[:n:n]
	return lists[n:]
}

// closeAndBegin closes the open list, unless it is empty, and begins as many as the
// events need. Each begins when the one before ends.
func (c *changeLists) closeAndBegin(open *snapshot.OpenList, at time.Time) error {
	closed := append([]snapshot.ChangeList(nil), c.last.Changes[:len(c.last.Changes)-1]...)
	from := open.From
	var old *document
	if open.Entries > 0 {
		list := snapshot.ChangeList{Ref: c.layout.ChangeListFrom(open.From), From: open.From, Until: c.last.Last}
		doc, err := c.closedList(&list, open, nil)
		if err != nil {
			return err
		}
		old, from = doc, list.Until
		closed = append(closed, list)
	}
	for chunks := range c.events.lists() {
		list := snapshot.ChangeList{Ref: c.layout.ChangeListFrom(from), From: from}
		from = chunks[len(chunks)-1].at
		if from.Equal(at) { // the last one
			if err := c.openList(list, chunks); err != nil {
				return err
			}
			closed = append(closed, list)
			break
		}
		list.Until = from
		doc, err := c.closedList(&list, nil, chunks)
		if err != nil {
			return err
		}
		if err := c.stage.put(doc, list.Ref, true); err != nil {
			return err
		}
		closed = append(closed, list)
	}
	if old != nil {
		if err := c.stage.put(old, c.layout.ChangeListFrom(open.From), true); err != nil {
			return err
		}
	}
	return c.index(c.retain(closed, at))
}

// closedList stages a list with its end, and completes what the Index says of
// it.
func (c *changeLists) closedList(list *snapshot.ChangeList, open *snapshot.OpenList, chunks []chunk) (*document, error) {
	head := changeListHead(c.layout, true, list.From, list.Until)
	doc, err := c.list(&head, open, chunks)
	if err != nil {
		return nil, err
	}
	if err := doc.sync(); err != nil {
		return nil, err
	}
	list.Hash, list.Length = doc.hash(), doc.length
	return doc, nil
}

func (c *changeLists) openList(list snapshot.ChangeList, chunks []chunk) error {
	head := changeListHead(c.layout, true, list.From, time.Time{})
	c.stage.tell(resourcesync.ChangeList, list.Ref, c.layout.ChangeList().URI)
	doc, err := c.list(&head, nil, chunks)
	if err != nil {
		return err
	}
	return c.stage.put(doc, list.Ref, false)
}

// list stages a Change List with the entries of an old one, of chunks, or both.
func (c *changeLists) list(head *resourcesync.Document, open *snapshot.OpenList, chunks []chunk) (*document, error) {
	doc, err := c.stage.create()
	if err != nil {
		return nil, err
	}
	buf, err := resourcesync.AppendHead(nil, head)
	if err != nil {
		return nil, err
	}
	if _, err := doc.Write(buf); err != nil {
		return nil, err
	}
	write := func(e *resourcesync.Entry) error {
		var err error
		if buf, err = resourcesync.AppendEntry(buf[:0], false, e); err != nil {
			return err
		}
		_, err = doc.Write(buf)
		return err
	}
	if open != nil {
		if err := c.last.EachChange(open.ChangeList, write); err != nil {
			return nil, err
		}
	}
	for _, k := range chunks {
		err := c.events.each(k, func(e *resourcesync.Entry) error {
			c.standard.stamp(e, k.at)
			withoutPaths(e)
			return write(e)
		})
		if err != nil {
			return nil, err
		}
	}
	return doc, doc.endEntries()
}

// index stages the Change List Index.
func (c *changeLists) index(lists []snapshot.ChangeList) error {
	if len(lists) > resourcesync.MaxEntries {
		return fmt.Errorf("%d Change Lists are more than one Index can hold (%d)", len(lists), resourcesync.MaxEntries)
	}
	head := c.liveHead(lists[0].From)
	head.Index = true
	entries := make([]resourcesync.Entry, len(lists))
	for i, l := range lists {
		entries[i] = resourcesync.Entry{Loc: l.URI, Metadata: resourcesync.Metadata{From: l.From, Until: l.Until}}
		if !l.Until.IsZero() {
			entries[i].Metadata.Hash = l.Hash
			entries[i].Metadata.SetLength(l.Length)
		}
	}
	return c.stage.putDocument(c.layout.ChangeList(), &head, entries)
}
