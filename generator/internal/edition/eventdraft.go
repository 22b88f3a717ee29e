package edition

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/internal/stage"
	"github.com/wellspring-sync/wellspring/generator/internal/survey"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/zipdump"
)

// eventDraft gathers the changes of a run before it is known when they are published:
// in the order of URIs. They are cut into chunks, each with a
// time of its own, where one Change List or one package of the Change Dump could not hold
// more.
type eventDraft struct {
	standard policy.Standard
	entries  int   // that a list may have
	room     int64 // for entries in a list, in bytes
	// packageSize is how large a package may be, in bytes; 0 if there is no Change Dump.
	packageSize int64
	spool       *eventSpool // nil in a dry run

	chunks []chunk
	list   fill // of the list that is being gathered
	total  int
	buf    []byte
	// What is written by now: of which chunk, and how many of its events.
	writing, written int
}

// fill is how full a document is.
type fill struct {
	entries int
	bytes   int64
}

// chunk is a run of events with one time.
type chunk struct {
	start, end int64 // in the staged file
	entries    int
	bytes      int64 // in a list, at most
	weight     int64 // in the package
	beginsList bool
	packing    *stage.Packing // nil if there is no package
}

func newEventDraft(set *last.Set, rules Rules, area *stage.Area) (*eventDraft, error) {
	some := time.Unix(0, 1000) // with a fraction
	head := changeListHead(set.Layout, true, some, some)
	head.Links = append(head.Links, resourcesync.Link{Rel: resourcesync.RelArchives, Href: set.Layout.Archive(string(resourcesync.ChangeList)).URI})
	b, err := resourcesync.AppendHead(nil, &head)
	if err != nil {
		return nil, err
	}
	b = resourcesync.AppendFoot(b, false)
	e := &eventDraft{
		standard: rules.Standard, entries: set.Options.Rotate.Most(rules.Limits.Entries), room: rules.Limits.Bytes - int64(len(b)),
	}
	if set.Options.Dumps.Change {
		e.packageSize = set.Options.PackageSize
	}
	if area != nil {
		e.spool = &eventSpool{area: area, policy: rules.Policy}
	}
	return e, nil
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

// Room is an upper bound of what is not known of an event when it is placed, in bytes.
type Room struct {
	Entry   int64 // all its links, and what rules say of the resource
	Package int64 // what goes into a package beside the bitstream
}

// place decides in which list, and in which package, a change is going to be, and packs
// what it is about.
func (e *eventDraft) place(f *survey.Finding, m *survey.Member, room Room) error {
	bare := *f
	bare.Entry.Links, bare.Entry.ChangeFreq, bare.Patch = nil, "", nil
	entry, err := e.encode(&bare, m)
	if err != nil {
		return err
	}
	size := int64(len(e.buf)) + room.Entry + e.standard.StampBytes(&entry)
	weight := layout.Weight(f.Entry.Loc, f.Size) + room.Package
	c, err := e.chunk(size, weight)
	if err != nil {
		return err
	}
	c.entries++
	c.bytes += size
	c.weight += weight
	e.list.entries++
	e.list.bytes += size
	e.total++
	return e.spool.pack(c, f, m)
}

// chunk returns the chunk that an event of so many bytes belongs to.
func (e *eventDraft) chunk(size, weight int64) (*chunk, error) {
	n := len(e.chunks)
	isFull := n == 0 || e.list.entries >= e.entries || e.list.bytes+size > e.room
	if !isFull && (e.packageSize == 0 || e.chunks[n-1].weight+weight <= e.packageSize) {
		return &e.chunks[n-1], nil
	}
	if n > 0 {
		if err := e.chunks[n-1].pause(); err != nil {
			return nil, err
		}
	}
	if isFull {
		e.list = fill{}
	}
	e.chunks = append(e.chunks, chunk{beginsList: isFull})
	c := &e.chunks[n]
	if e.packageSize == 0 {
		return c, nil
	}
	var err error
	c.packing, err = e.spool.newPacking()
	return c, err
}

// encode puts the entry of a change into the buffer, without its time. Of a deleted
// resource, only the URI is said. The path in the package is staged with it; Change Lists
// leave that out.
func (e *eventDraft) encode(f *survey.Finding, m *survey.Member) (resourcesync.Entry, error) {
	entry := f.Entry
	if m.Change == resourcesync.Deleted { // here, if not in other sets
		entry = resourcesync.Entry{Loc: f.Entry.Loc}
	} else if e.packageSize > 0 {
		entry.Metadata.Path = "/" + zipdump.Path(f.Path)
	}
	entry.Metadata.Change = m.Change
	if f.Patch != nil && m.Change == resourcesync.Updated {
		l := f.Patch.Link
		if e.packageSize > 0 {
			l.Path = "/" + f.Patch.Path
		}
		entry.Links = append(entry.Links[:len(entry.Links):len(entry.Links)], l)
	}
	var err error
	e.buf, err = resourcesync.AppendEntry(e.buf[:0], false, &entry)
	return entry, err
}

// write stages a change, in the order in which they were placed.
func (e *eventDraft) write(f *survey.Finding, m *survey.Member) error {
	if e.spool == nil {
		return nil
	}
	if _, err := e.encode(f, m); err != nil {
		return err
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
	return e.spool.write(e.buf)
}

// bytes is how many the events take in lists, at most.
func (e *eventDraft) bytes() (n int64) {
	for i := range e.chunks {
		n += e.chunks[i].bytes
	}
	return n
}

// count is how many chunks there are.
func (e *eventDraft) count() int {
	if e == nil {
		return 0
	}
	return len(e.chunks)
}

// isEmpty reports whether there are no events, as in a set that is pruned.
func (e *eventDraft) isEmpty() bool { return e.count() == 0 }

// listEnd returns which chunk begins the list after the one that a chunk begins.
func (e *eventDraft) listEnd(first int) int {
	end := first + 1
	for end < len(e.chunks) && !e.chunks[end].beginsList {
		end++
	}
	return end
}

// fit reports whether the open list can take all events, also once it has been given
// what a closed list under an Index needs.
func (e *eventDraft) fit(open *snapshot.OpenList) bool {
	return open.Entries+e.total <= e.entries && open.Bytes+e.bytes() <= e.room
}

// continues reports whether all changes of a list are in the form of this version. A list
// has one form: to rewrite one would lose when its resources were modified, or tell it
// otherwise than the packages do.
func (e *eventDraft) continues(open *snapshot.OpenList) bool {
	if e.standard.HasDateTimes() {
		return open.DateTimes == open.Entries
	}
	return open.DateTimes == 0
}

// each calls fn for the events of a chunk, with their time.
func (e *eventDraft) each(i int, at time.Time, fn func(*resourcesync.Entry) error) error {
	return e.spool.each(&e.chunks[i], func(entry *resourcesync.Entry) error {
		e.standard.Stamp(entry, at)
		return fn(entry)
	})
}

// packing returns the package of a chunk.
func (e *eventDraft) packing(i int) *stage.Packing { return e.chunks[i].packing }

// pause closes the package of a chunk to which nothing is added any more.
func (c *chunk) pause() error {
	if c.packing == nil {
		return nil
	}
	return c.packing.Pause()
}

// finish ends the gathering.
func (e *eventDraft) finish() error {
	if n := len(e.chunks); n > 0 {
		if err := e.chunks[n-1].pause(); err != nil {
			return err
		}
	}
	return e.spool.close()
}

// eventSpool stages events, and what they are about in packages. Its methods do nothing if
// it is nil.
type eventSpool struct {
	area   *stage.Area
	policy zipdump.Policy
	file   *stage.File // of all events
}

func (s *eventSpool) newPacking() (*stage.Packing, error) {
	if s == nil {
		return nil, nil
	}
	return s.area.NewPacking()
}

// pack puts what an event is about into the package.
func (s *eventSpool) pack(c *chunk, f *survey.Finding, m *survey.Member) error {
	if s == nil || c.packing == nil || m.Change == resourcesync.Deleted {
		return nil
	}
	if err := packContent(c.packing, f); err != nil || m.Change != resourcesync.Updated || f.Patch == nil {
		return err
	}
	h := zipdump.Header{Path: f.Patch.Path, Modified: f.Entry.LastModified}
	return c.packing.Pack(h, s.policy, f.Patch.Link.Type, int64(len(f.Patch.Content)), strings.NewReader(string(f.Patch.Content)))
}

func (s *eventSpool) write(b []byte) (err error) {
	if s.file == nil {
		if s.file, err = s.area.Create(); err != nil {
			return err
		}
	}
	_, err = s.file.Write(b)
	return err
}

func (s *eventSpool) close() error {
	if s == nil || s.file == nil {
		return nil
	}
	return s.file.Close()
}

// each calls fn for the events of a chunk.
func (s *eventSpool) each(c *chunk, fn func(*resourcesync.Entry) error) error {
	f, err := s.file.Open()
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
