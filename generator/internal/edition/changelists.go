package edition

import (
	"fmt"
	"time"

	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/internal/stage"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// changesDecision says what becomes of the Change Lists.
type changesDecision struct {
	// lists are written, in the order of the commit.
	lists []changeList
	// index are the lists that the Index names, if it is written.
	index []snapshot.ChangeList
	// dropped are lists that the Index names no more.
	dropped []snapshot.ChangeList
}

// changeList is a Change List that is written: the entries of one of the last
// publication, and then those of chunks.
type changeList struct {
	snapshot.ChangeList      // which is open if Until is zero
	live                bool // it is the one that the Capability List names
	old                 *snapshot.OpenList
	first, end          int // of the chunks
}

// changesDecider decides on the Change Lists of a set.
type changesDecider struct {
	set    *last.Set
	events *eventDraft
	times  Times
}

func (c *changesDecider) decide() (d changesDecision, err error) {
	if c.set.IsFirst() {
		live := changeList{live: true}
		live.Ref, live.From = c.set.Layout.ChangeList(), c.times.At
		return changesDecision{lists: []changeList{live}}, nil
	}
	relinked := linksChange(c.set, resourcesync.ChangeList)
	if c.events.isEmpty() && !relinked {
		return d, nil
	}
	open, err := c.set.Snapshot.OpenList()
	switch {
	case err != nil:
		return d, err
	case c.events.isEmpty():
		return c.relink(open), nil
	case !c.isOver(open) && c.events.fit(open):
		return c.extend(open, relinked), nil
	}
	return c.closeAndBegin(open), nil
}

// isIndexed reports whether the lists are under an Index already.
func (c *changesDecider) isIndexed() bool {
	return c.set.Snapshot.Changes[0].Path != c.set.Layout.ChangeList().Path
}

// isOver reports whether the open list has been open for long enough, or has changes in
// the form of another version.
func (c *changesDecider) isOver(open *snapshot.OpenList) bool {
	if open.Entries == 0 {
		return false
	}
	return c.set.Options.Rotate.Ends(open.Last, c.times.At) || !c.events.continues(open)
}

// again is the open list with the events of so many chunks behind its own.
func (c *changesDecider) again(open *snapshot.OpenList, chunks int) changeList {
	return changeList{ChangeList: open.ChangeList, live: !c.isIndexed(), old: open, end: chunks}
}

// relink writes the live documents again, with other links or another style, and
// nothing else.
func (c *changesDecider) relink(open *snapshot.OpenList) (d changesDecision) {
	if !c.isIndexed() || c.set.Restyles() { // else the Index alone has links
		d.lists = []changeList{c.again(open, 0)}
	}
	if c.isIndexed() {
		d.index = c.set.Snapshot.Changes
	}
	return d
}

// extend appends the events to the open list.
func (c *changesDecider) extend(open *snapshot.OpenList, relinked bool) (d changesDecision) {
	d.lists = []changeList{c.again(open, c.events.count())}
	if !c.isIndexed() {
		return d
	}
	kept := d.retain(c, c.set.Snapshot.Changes, c.times.At)
	if len(d.dropped) > 0 || relinked {
		d.index = kept
	}
	return d
}

// retain leaves out the lists that ended too long ago, but keeps two.
func (d *changesDecision) retain(c *changesDecider, lists []snapshot.ChangeList, at time.Time) []snapshot.ChangeList {
	n, before := 0, len(c.set.Snapshot.Changes)-1 // those that this run closes stay
	for n < before && len(lists)-n > 2 && c.set.Options.KeepChanges.IsPast(lists[n].Until, at) {
		n++
	}
	d.dropped = lists[:n:n]
	return lists[n:]
}

// closeAndBegin closes the open list, unless it is empty, and begins as many as the
// events need. Each begins when the one before ends.
func (c *changesDecider) closeAndBegin(open *snapshot.OpenList) (d changesDecision) {
	before := c.set.Snapshot.Changes
	lists := before[: len(before)-1 : len(before)-1]
	from := open.From
	var closed *changeList
	if open.Entries > 0 {
		closed = &changeList{old: open}
		closed.Ref, closed.From, closed.Until = c.set.Layout.ChangeListFrom(open.From), open.From, c.set.Snapshot.Last
		from = closed.Until
		lists = append(lists, closed.ChangeList)
	}
	for first := 0; first < c.events.count(); {
		l := c.begin(first, from)
		first, from = l.end, l.Until
		d.lists = append(d.lists, l)
		lists = append(lists, l.ChangeList)
	}
	if closed != nil { // which is only closed once the next one is there
		d.lists = append(d.lists, *closed)
	}
	d.index = d.retain(c, lists, c.times.At)
	return d
}

// begin begins a list with a chunk, and all those that go into it. It is open if there are
// no more.
func (c *changesDecider) begin(first int, from time.Time) changeList {
	l := changeList{first: first, end: c.events.listEnd(first)}
	l.Ref, l.From = c.set.Layout.ChangeListFrom(from), from
	if l.end < c.events.count() {
		l.Until = c.times.of(l.end-1, c.events.count())
	}
	return l
}

// heads returns the paths of heads that are written.
func (d *changesDecision) heads(live string) (paths []string) {
	for i := range d.lists {
		if d.lists[i].Until.IsZero() {
			paths = append(paths, d.lists[i].Path)
		}
	}
	if d.index != nil {
		paths = append(paths, live)
	}
	return paths
}

// open returns the path of the open list, if it is written.
func (d *changesDecision) open() string {
	for i := range d.lists {
		if d.lists[i].Until.IsZero() {
			return d.lists[i].Path
		}
	}
	return ""
}

// droppedPaths returns those of lists that the Index names no more.
func (d *changesDecision) droppedPaths() (paths []string) {
	for _, list := range d.dropped {
		paths = append(paths, list.Path)
	}
	return paths
}

// changesWriter writes Change Lists.
type changesWriter struct {
	out    *writer
	set    *last.Set
	times  Times
	events *eventDraft
}

func (w *changesWriter) write(d *changesDecision) error {
	stated := map[string]*stage.File{} // the closed lists, as the Index states them
	for i := range d.lists {
		l := &d.lists[i]
		f, err := w.list(l)
		if err != nil {
			return err
		}
		kind := stage.Head
		if l.Until.IsZero() {
			w.tell(l)
		} else {
			kind, stated[l.Path] = stage.Body, f
		}
		if err := w.out.Place(f, l.Ref, kind); err != nil {
			return err
		}
	}
	if d.index == nil {
		return nil
	}
	return w.index(d.index, stated)
}

func (w *changesWriter) tell(l *changeList) {
	index := ""
	if !l.live {
		index = w.set.Layout.ChangeList().URI
	}
	w.out.tell(resourcesync.ChangeList, l.Ref, index)
}

// list stages a Change List.
func (w *changesWriter) list(l *changeList) (*stage.File, error) {
	head := changeListHead(w.set.Layout, !l.live, l.From, l.Until)
	if l.live {
		head.Links = append(head.Links, archiveLink(w.set, resourcesync.ChangeList)...)
	}
	f, err := w.out.Create()
	if err != nil {
		return nil, err
	}
	if err := f.WriteHead(&head); err != nil {
		return nil, err
	}
	var buf []byte
	write := func(e *resourcesync.Entry) (err error) {
		if buf, err = resourcesync.AppendEntry(buf[:0], false, e); err == nil {
			_, err = f.Write(buf)
		}
		return err
	}
	if l.old != nil {
		if err := w.set.Snapshot.EachChange(l.old.ChangeList, write); err != nil {
			return nil, err
		}
	}
	for i := l.first; i < l.end; i++ {
		if err := w.chunk(i, write); err != nil {
			return nil, err
		}
	}
	return f, f.EndEntries()
}

// chunk writes the events of a chunk, with its time and without what is said in packages
// only.
func (w *changesWriter) chunk(i int, write func(*resourcesync.Entry) error) error {
	return w.events.each(i, w.times.of(i, w.events.count()), func(e *resourcesync.Entry) error {
		e.Metadata.Path = ""
		for i := range e.Links {
			e.Links[i].Path = ""
		}
		return write(e)
	})
}

// index stages the Change List Index.
func (w *changesWriter) index(lists []snapshot.ChangeList, stated map[string]*stage.File) error {
	if len(lists) > resourcesync.MaxEntries {
		return fmt.Errorf("%d Change Lists are more than one Index can hold (%d)", len(lists), resourcesync.MaxEntries)
	}
	ref := w.set.Layout.ChangeList()
	head := changeListHead(w.set.Layout, false, lists[0].From, time.Time{})
	head.Links = append(head.Links, archiveLink(w.set, resourcesync.ChangeList)...)
	head.Index = true
	entries := make([]resourcesync.Entry, len(lists))
	for i, l := range lists {
		entries[i] = resourcesync.Entry{Loc: l.URI, Metadata: resourcesync.Metadata{From: l.From, Until: l.Until}}
		if l.Until.IsZero() {
			continue
		}
		if f := stated[l.Path]; f != nil {
			l.Hash, l.Length = f.Hash(), f.Length
		}
		entries[i].Metadata.Hash = l.Hash
		entries[i].Metadata.SetLength(l.Length)
	}
	return w.out.PlaceDocument(ref, &head, entries)
}
