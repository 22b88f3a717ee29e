package verify

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/internal/httpclient"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// linkedKind says which links lead to files that are compared with what is stated
// of them.
type linkedKind uint8

const (
	linkedContent linkedKind = 1 << iota // a memento or a patch whose hash or length is stated
	linkedTimeMap
)

// linkedKindOf returns what a link leads to, or 0 if that is not looked at.
func linkedKindOf(l *link) linkedKind {
	switch {
	case strings.EqualFold(l.Rel, relTimemap):
		return linkedTimeMap
	case l.has&(attrHash|attrLength) == 0:
	case strings.EqualFold(l.Rel, relMemento), strings.EqualFold(l.Rel, relPatch):
		return linkedContent
	}
	return 0
}

// linkOf is where a link to a file stands.
type linkOf struct {
	list *listOfLinks
	kind linkedKind
	rel  string
	loc  string // the resource that has the link
	typ  string // of the file, as stated
	// current is true if the file must be there: it is named by an entry of the
	// state that Destinations read now.
	current bool
	// memento is where the same entry links to as its memento, or empty.
	memento string
}

// title says what a link leads to.
func (l *linkOf) title() string {
	switch l.rel {
	case relPatch:
		return "patch"
	case relTimemap:
		return "TimeMap"
	}
	return "memento"
}

// linkedCheck compares mementos, patches and TimeMaps of the publication with what
// links say of them. Many entries may name the same file, in one list or in several,
// and a URI may have led to another patch before: the last entry that names a file
// says what it is.
type linkedCheck struct {
	a      *auditor
	lists  []*listOfLinks
	byID   map[uint32]*listOfLinks
	ledger *ledger
	onDisk bool
	sample sample
}

// listOfLinks is a document whose links are followed.
type listOfLinks struct {
	*document
	set     *set
	current bool
	chosen  []chosenLink // in the order in which they stand there
}

// chosenLink is one that says what a file is.
type chosenLink struct {
	entry, link int
	current     bool
}

// checkLinked looks at what links lead to.
func (a *auditor) checkLinked(ctx context.Context) error {
	if a.o.Depth < Content {
		return nil
	}
	c := &linkedCheck{a: a, byID: map[uint32]*listOfLinks{}, ledger: newLedger(a.o.Limits.Memory, a.o.Limits.Records)}
	defer c.ledger.close()
	_, c.onDisk = a.place.(*disk)
	for _, s := range a.sets {
		c.addSet(s)
	}
	n, err := c.choose(ctx)
	if err != nil || n == 0 {
		return err
	}
	c.sample = a.newSample(n)
	return a.eachResource(ctx, c.list, c.check)
}

// addSet adds the live lists of a set with links to such files. What the Resource List
// and the open Change Lists name must be there, or what the last one does if all are
// closed.
func (c *linkedCheck) addSet(s *set) {
	for _, snap := range s.snapshots {
		if snap.live && !isDump(snap.doc.capability) {
			for _, d := range snap.lists {
				c.addList(s, d, true)
			}
		}
	}
	var end time.Time // of the last one that is closed
	open := false
	for _, d := range s.liveChanges {
		end = latest(end, d.head.md.Until)
		open = open || d.head.md.Until.IsZero()
	}
	for _, d := range s.liveChanges {
		until := d.head.md.Until
		c.addList(s, d, until.IsZero() || !open && until.Equal(end))
	}
}

func (c *linkedCheck) addList(s *set, d *document, current bool) {
	switch l := c.byID[d.id]; {
	case l != nil: // another set has it, too
		l.current = l.current || current
	case d.linked != 0:
		l = &listOfLinks{document: d, set: s, current: current}
		c.byID[d.id] = l
		c.lists = append(c.lists, l)
	}
}

// choose finds out which links say what the files are, and how many these are.
func (c *linkedCheck) choose(ctx context.Context) (n int, err error) {
	for _, l := range c.lists {
		if err := c.gather(ctx, l); err != nil {
			return 0, err
		}
	}
	err = c.ledger.groups(ctx, func(records []record) {
		last := slices.MaxFunc(records, func(x, y record) int {
			return cmp.Or(cmp.Compare(x.time, y.time), cmp.Compare(x.doc, y.doc), cmp.Compare(x.entry, y.entry), cmp.Compare(x.length, y.length))
		})
		current := slices.ContainsFunc(records, func(r record) bool { return r.change != 0 })
		n++
		l := c.byID[last.doc]
		l.chosen = append(l.chosen, chosenLink{int(last.entry), int(last.length), current})
	})
	for _, l := range c.lists {
		slices.SortFunc(l.chosen, func(x, y chosenLink) int {
			return cmp.Or(cmp.Compare(x.entry, y.entry), cmp.Compare(x.link, y.link))
		})
	}
	return n, err
}

// gather takes in the links of a list.
func (c *linkedCheck) gather(ctx context.Context, l *listOfLinks) error {
	last, err := c.lastChanges(ctx, l)
	if err != nil {
		return err
	}
	var failed error
	err = l.reread(ctx, func(e *entry) {
		n, isChange := last[c.ledger.key(e.loc)]
		for i := range e.links {
			if failed != nil || !l.leadsHere(&e.links[i]) {
				continue
			}
			r := c.record(l, e, i)
			if l.current && (!isChange || n == e.n || strings.EqualFold(e.links[i].Rel, relPatch)) {
				r.change = linkTo
			}
			failed = c.ledger.put(l.document, e, r)
		}
	})
	return errors.Join(err, failed)
}

// lastChanges returns which entry of a current Change List is the last one of each
// resource. The mementos of others are of versions that may have been thinned out since,
// or are gone with the resource and its TimeMap, while the patches lead from one to the
// next.
func (c *linkedCheck) lastChanges(ctx context.Context, l *listOfLinks) (map[[2]uint64]int, error) {
	if !l.current || !l.form.changes {
		return nil, nil
	}
	last := map[[2]uint64]int{}
	return last, l.reread(ctx, func(e *entry) { last[c.ledger.key(e.loc)] = e.n })
}

// leadsHere reports whether a link leads to a file on the host of the publication: what
// others have is not the publication's to answer for.
func (l *listOfLinks) leadsHere(link *link) bool {
	return linkedKindOf(link) != 0 && resourcesync.IsURI(link.Href) && l.isHere(link.Href)
}

func (l *listOfLinks) isHere(uri string) bool {
	return strings.EqualFold(hostOf(uri), hostOf(l.set.list.uri))
}

// record returns what stands for a link: the file, the time of which the entry tells,
// and, as its length, which link of the entry it is. A TimeMap is compared with each
// resource that links to it. If the file must be there, the record has a change.
func (c *linkedCheck) record(l *listOfLinks, e *entry, i int) record {
	name := e.links[i].Href
	if linkedKindOf(&e.links[i]) == linkedTimeMap {
		name += "\n" + e.loc
	}
	at := e.md.DateTime
	if at.IsZero() {
		at = latest(l.head.md.At, l.head.md.From)
	}
	return record{key: c.ledger.key(name), time: micro(at), length: int64(i), doc: l.id, entry: uint32(e.n)}
}

// list passes on the files, each once.
func (c *linkedCheck) list(ctx context.Context, pass func(resource)) error {
	for _, l := range c.lists {
		if len(l.chosen) == 0 {
			continue
		}
		left := l.chosen
		err := l.reread(ctx, func(e *entry) {
			for ; len(left) > 0 && left[0].entry == e.n; left = left[1:] {
				if i := left[0].link; i < len(e.links) {
					r := l.file(e, i, left[0].current)
					r.full = c.sample.next() || c.onDisk
					pass(r)
				}
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// file returns the file to which a link of an entry leads.
func (l *listOfLinks) file(e *entry, i int, current bool) resource {
	link := &e.links[i]
	at := link.spot
	if e.plain {
		at = e.spot // which is the same line
	}
	to := &linkOf{list: l, kind: linkedKindOf(link), rel: strings.ToLower(link.Rel), loc: e.loc, typ: essence(link.Type), current: current}
	if m := findLink(e.links, relMemento); m != nil {
		to.memento = m.Href
	}
	return resource{
		uri: link.Href, doc: l.document, at: at, link: to,
		md: resourcesync.Metadata{Hash: usable(link.Hash), Length: link.Length, HasLength: link.HasLength, Encoding: link.Encoding},
	}
}

// check compares one file with what is stated of it.
func (c *linkedCheck) check(ctx context.Context, reader resourceReader, r *resource) error {
	if r.link.kind == linkedTimeMap && r.full && (r.link.typ == "" || r.link.typ == "application/link-format") {
		text, err := reader.text(ctx, r.uri, c.a.o.Limits.TimeMapBytes+1)
		if err := c.had(ctx, r, int64(len(text)), err); err != nil || text == nil {
			return err
		}
		return c.checkTimeMap(ctx, reader, r, string(text))
	}
	r.bare = r.link.kind == linkedTimeMap
	r.full = r.full && !r.bare
	got, err := reader.read(ctx, r)
	if err != nil {
		return c.had(ctx, r, 0, err)
	}
	if got.length < 0 {
		r.md.HasLength = false
	}
	if what := mismatch(r.md, got.length, got.sums); what != "" && !r.bare {
		r.doc.report(linkedDigest, r.at, r.uri, "the %s %s: %s", r.link.title(), clip(r.uri), what)
	}
	return c.had(ctx, r, got.read, nil)
}

// had counts a file of which some bytes were read, or reports that it could not be
// had, if it should be there.
func (c *linkedCheck) had(ctx context.Context, r *resource, n int64, err error) error {
	status, isStatus := errors.AsType[*httpclient.Error](err)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case isOurs(err):
		return err
	case err == nil:
		c.a.linked.Add(1)
		c.a.counted(n)
	case errors.Is(err, errElsewhere):
	case isStatus:
		r.doc.report(httpStatus, r.at, r.uri, "the %s %s: %v", r.link.title(), clip(r.uri), status)
	case r.link.current && c.isExpected(r):
		r.doc.report(linkedMissing, r.at, r.uri, "the %s %s of %s: %v", r.link.title(), clip(r.uri), clip(r.link.loc), err)
	}
	return nil
}

// isExpected reports whether a file that is not there should be. In a directory, a
// TimeMap is expected beside a memento only, since others are made by servers; and
// where resources lie elsewhere, files that may lie with them are expected only in the
// folder of the lists.
func (c *linkedCheck) isExpected(r *resource) bool {
	s := r.link.list.set
	switch {
	case !c.onDisk:
		return true
	case r.link.kind == linkedTimeMap && folderOf(r.uri) != folderOf(r.link.memento):
		return false
	case !s.elsewhere:
		return true
	}
	return strings.HasPrefix(r.uri, s.folder())
}

// folder returns the folder in which the documents of the set lie: that of its
// Capability List or, if it is not the top of a host, the one in which those of all
// sets are.
func (s *set) folder() string {
	own := folderOf(s.list.uri)
	all := own
	for _, other := range s.a.sets {
		for all != "" && !strings.HasPrefix(other.list.uri, all) {
			all = folderOf(strings.TrimSuffix(all, "/"))
		}
	}
	if strings.Count(all, "/") > strings.Count("http://host/", "/") {
		return all
	}
	return own
}

// folderOf returns a URI up to its last slash.
func folderOf(uri string) string { return uri[:strings.LastIndexByte(uri, '/')+1] }
