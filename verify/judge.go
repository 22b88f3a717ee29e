package verify

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

// judge decides about one resource after the other whether what all documents of
// the Source say of it fits together.
type judge struct {
	a     *auditor
	roles []role // of documents, by their id
	cases []*caseOf
	// accused are the findings whose URI and line have still to be read, by
	// document.
	accused map[uint32][]accusation
	told    map[*Rule]int
	older   []*document // of the older copy; their ids follow those of a.all
}

// role is what a document is for.
type role struct {
	set       int   // plus 1; 0 if the document has no part in this
	snapshots []int // of which it is a part
	order     int   // of Change Lists
	changes   bool  // its entries are changes that a Change List tells
	dumped    bool  // its entries are changes that a Change Dump has
	older     bool  // it belongs to an older copy
	dated     bool  // its changes have datetimes
}

// caseOf is what is to be judged of one set of resources.
type caseOf struct {
	snapshots []moment
	told      []segment // the times of which all changes are known
	dumped    []segment // the times of which all changes are in Change Dumps
}

// moment is a snapshot: it shows each resource as it was at some time between two.
type moment struct {
	lo, hi  int64
	at      string
	dump    bool
	missing bool
	title   string
}

// segment is a time without gaps.
type segment struct{ from, until int64 }

const forever = math.MaxInt64

// covers reports whether all changes after one time and up to another are known.
func covers(segments []segment, after, upTo int64) bool {
	if after >= upTo {
		return true
	}
	for _, s := range segments {
		if s.from <= after && upTo <= s.until {
			return true
		}
	}
	return false
}

type accusation struct {
	rule  *Rule
	entry uint32
	text  string // %s stands for the URI
}

// judgeAll judges all resources of all sets.
func (a *auditor) judgeAll(ctx context.Context) error {
	j := &judge{a: a, roles: make([]role, len(a.all)), accused: map[uint32][]accusation{}, told: map[*Rule]int{}}
	for i, s := range a.sets {
		j.prepare(i, s)
	}
	j.prepareOlder()
	if err := a.ledger.groups(j.resource); err != nil {
		return err
	}
	return j.name(ctx)
}

// prepare gives each document of a set its role.
func (j *judge) prepare(i int, s *set) {
	c := &caseOf{}
	j.cases = append(j.cases, c)
	slices.SortStableFunc(s.snapshots, func(x, y *snapshotOf) int {
		return cmp.Or(x.doc.head.md.At.Compare(y.doc.head.md.At),
			compareBool(isDump(x.doc.capability), isDump(y.doc.capability)))
	})
	for _, snap := range s.snapshots {
		if snap.doc.head.md.At.IsZero() {
			continue
		}
		lists, missing := snap.all()
		m := snap.moment(lists)
		m.missing = m.missing || missing
		c.snapshots = append(c.snapshots, m)
		for _, d := range lists {
			r := &j.roles[d.id]
			r.set = i + 1
			r.snapshots = append(r.snapshots, len(c.snapshots)-1)
		}
	}
	changes := s.changesInOrder()
	for n, d := range changes {
		if d.head.md.From.IsZero() {
			continue // its place among the others is not known
		}
		r := &j.roles[d.id]
		r.set, r.changes, r.order, r.dated = i+1, true, n, d.state.dated
		c.told = extend(c.told, d.head.md.From, d.head.md.Until, true, d.whole)
	}
	for n, p := range s.changePackages() {
		if d := p.manifest; d != nil && d.read {
			r := &j.roles[d.id]
			r.set, r.dumped, r.order, r.dated = i+1, true, n, d.state.dated
			c.dumped = extend(c.dumped, d.head.md.From, d.head.md.Until, false, d.whole)
		}
	}
}

func compareBool(x, y bool) int {
	return map[bool]int{true: 1}[x] - map[bool]int{true: 1}[y]
}

// extend adds an interval to those without gaps. One without an end is open, if
// that can be, or else nothing.
func extend(all []segment, from, until time.Time, canBeOpen, whole bool) []segment {
	if from.IsZero() || until.IsZero() && !canBeOpen || !whole {
		return all
	}
	s := segment{micro(from), forever}
	if !until.IsZero() {
		s.until = micro(until)
	}
	if n := len(all); n > 0 && all[n-1].until == s.from {
		all[n-1].until = s.until
		return all
	}
	return append(all, s)
}

// all returns the documents that list the resources of a snapshot.
func (s *snapshotOf) all() (lists []*document, missing bool) {
	lists = s.lists
	for _, p := range s.packs {
		if p.manifest == nil || !p.manifest.read {
			missing = true
			continue
		}
		missing = missing || !p.manifest.whole
		lists = append(lists, p.manifest)
	}
	return lists, missing
}

// moment returns when a snapshot was taken. Parts that are later than the whole
// show what was at that time. See Z39.99-2017 §7, at and completed.
func (s *snapshotOf) moment(lists []*document) moment {
	md := s.doc.head.md
	m := moment{lo: micro(md.At), hi: micro(md.At), at: resourcesync.FormatDateTime(md.At), missing: s.missing}
	m.dump = isDump(s.doc.capability)
	m.title = titleOf(s.doc.capability, false) + " of " + m.at
	later := func(t time.Time) {
		if !t.IsZero() {
			m.hi = max(m.hi, micro(t))
		}
	}
	later(md.Completed)
	for _, d := range lists {
		if d.head.md.At.After(md.At) {
			later(d.head.md.At)
			later(d.head.md.Completed)
		}
	}
	return m
}

// changesInOrder returns the Change Lists, archived and live, each once.
func (s *set) changesInOrder() []*document {
	seen := map[*document]bool{}
	var all []*document
	for _, d := range slices.Concat(s.archivedChanges, s.liveChanges) {
		if !seen[d] {
			seen[d] = true
			all = append(all, d)
		}
	}
	slices.SortStableFunc(all, func(x, y *document) int { return x.head.md.From.Compare(y.head.md.From) })
	return all
}

// resource judges one resource by all that is said of it.
func (j *judge) resource(records []record) {
	for len(records) > 0 {
		// Most resources belong to one set.
		first := j.roles[records[0].doc].set
		n := 1
		for n < len(records) && j.roles[records[n].doc].set == first {
			n++
		}
		if n < len(records) {
			slices.SortStableFunc(records, func(x, y record) int {
				return cmp.Compare(j.roles[x.doc].set, j.roles[y.doc].set)
			})
			first = j.roles[records[0].doc].set
			for n = 1; n < len(records) && j.roles[records[n].doc].set == first; n++ {
			}
		}
		if first > 0 {
			j.inSet(j.cases[first-1], records[:n])
		}
		records = records[n:]
	}
}

// inSet judges one resource in one set.
func (j *judge) inSet(c *caseOf, records []record) {
	h := history{judge: j, c: c}
	var dumped, older []*record
	for i := range records {
		r := &records[i]
		role := &j.roles[r.doc]
		switch {
		case role.older:
			older = append(older, r)
		case role.changes:
			h.events = append(h.events, r)
		case role.dumped:
			dumped = append(dumped, r)
		default:
			h.listed = append(h.listed, r)
		}
	}
	if slices.ContainsFunc(slices.Concat(h.events, dumped), func(r *record) bool { return r.timed == odd }) {
		return // nothing follows from what cannot be
	}
	j.inOrder(h.events)
	j.inOrder(dumped)
	h.replay()
	j.compareDumped(c, h.events, dumped)
	j.compareOlder(c, h.events, older)
}

// inOrder puts changes into the order of their lists.
func (j *judge) inOrder(events []*record) {
	slices.SortStableFunc(events, func(x, y *record) int {
		return cmp.Or(cmp.Compare(j.roles[x.doc].order, j.roles[y.doc].order), cmp.Compare(x.entry, y.entry))
	})
}

// isTimed reports whether the time of a change is known.
func (j *judge) isTimed(r *record) bool {
	return r.timed == byDateTime || r.timed == byLastModified && !j.roles[r.doc].dated
}

// history is what is said of one resource in one set.
type history struct {
	*judge
	c      *caseOf
	events []*record
	listed []*record

	known bool
	at    int64   // the time of which the state is known
	state *record // nil if there is no resource
}

// replay goes through snapshots and changes in the order of time.
func (h *history) replay() {
	present := h.present()
	for _, e := range h.events {
		if !h.isTimed(e) {
			h.sequence()
			return
		}
	}
	next := 0
	for i := range h.c.snapshots {
		m := &h.c.snapshots[i]
		for ; next < len(h.events) && h.events[next].time <= m.lo; next++ {
			h.event(h.events[next])
		}
		h.snapshot(m, present[i], h.during(m))
	}
	for ; next < len(h.events); next++ {
		h.event(h.events[next])
	}
}

// sequence looks at changes alone, where it cannot be known when they were.
func (h *history) sequence() {
	for _, e := range h.events {
		e.time = math.MinInt64
		h.event(e)
	}
}

// present returns the entry of the resource in each snapshot.
func (h *history) present() []*record {
	if len(h.c.snapshots) == 0 {
		return nil
	}
	present := make([]*record, len(h.c.snapshots))
	for _, r := range h.listed {
		for _, i := range h.roles[r.doc].snapshots {
			if present[i] != nil && !h.c.snapshots[i].dump {
				h.accuse(locDuplicate, r, "%s is listed a second time in the "+h.c.snapshots[i].title)
				break
			}
			present[i] = r
		}
	}
	return present
}

// during reports whether the resource changed while a snapshot was taken, so that
// it may show either state.
func (h *history) during(m *moment) bool {
	for _, e := range h.events {
		if m.lo < e.time && e.time <= m.hi {
			return true
		}
	}
	return false
}

// event applies a change.
func (h *history) event(e *record) {
	if h.known && (e.time == math.MinInt64 || covers(h.c.told, h.at, e.time)) {
		switch {
		case e.change == changeCreated && h.state != nil:
			h.accuse(eventPossible, e, "%s is created, but did exist before")
		case e.change == changeUpdated && h.state == nil:
			h.accuse(eventPossible, e, "%s is updated, but did not exist before")
		case e.change == changeDeleted && h.state == nil:
			h.accuse(eventPossible, e, "%s is deleted, but did not exist before")
		}
	}
	h.known, h.at, h.state = true, e.time, e
	if e.change == changeDeleted {
		h.state = nil
	}
}

// snapshot compares what is known with what a snapshot shows.
func (h *history) snapshot(m *moment, shown *record, fuzzy bool) {
	switch {
	case m.missing && shown == nil:
		return
	case fuzzy:
		h.known = h.known && m.dump
		return
	case h.known && covers(h.c.told, h.at, m.lo):
		h.compare(m, shown)
	}
	if m.dump && h.known {
		return // Resource Lists say it better
	}
	h.known, h.at, h.state = true, m.lo, shown
}

func (h *history) compare(m *moment, shown *record) {
	rule := replayState
	if m.dump {
		rule = coverageDump
	}
	switch {
	case h.state == nil && shown == nil:
	case h.state == nil:
		h.accuse(rule, shown, "%s is in the "+m.title+", though it did not exist then: nothing says that it was created")
	case shown == nil:
		h.accuse(rule, h.state, "%s is not in the "+m.title+", though it existed then: nothing says that it was deleted")
	default:
		if what := differs(h.state, shown); what != "" {
			h.accuse(rule, shown, "%s has another "+what+" in the "+m.title+" than before, and nothing says that it was updated")
		}
	}
}

// compareDumped compares the changes of Change Lists with those of Change Dumps.
func (j *judge) compareDumped(c *caseOf, listed, dumped []*record) {
	if len(c.told) == 0 || len(c.dumped) == 0 {
		return
	}
	j.eachIn(listed, dumped, c.dumped, "%s: the change is in no Change Dump")
	j.eachIn(dumped, listed, c.told, "%s: the change is in no Change List")
}

// eachIn reports changes that are not among others which cover their time.
func (j *judge) eachIn(some, others []*record, times []segment, text string) {
	for _, e := range some {
		if !j.isTimed(e) || !covers(times, e.time-1, e.time) || !covers(times, e.time-int64(time.Second/time.Microsecond), e.time) {
			continue
		}
		same := slices.IndexFunc(others, func(o *record) bool {
			return (o.time == e.time || !j.isTimed(o)) && o.change == e.change && differs(e, o) == ""
		})
		if same < 0 {
			j.accuse(coverageChanges, e, text)
		}
	}
}

// accuse remembers a finding until its URI is known.
func (j *judge) accuse(r *Rule, e *record, text string) {
	if j.told[r]++; j.told[r] > j.a.o.Limits.Findings {
		j.a.findings.count(r)
		return
	}
	j.accused[e.doc] = append(j.accused[e.doc], accusation{r, e.entry, text})
}

// name reads the entries that were accused, and reports them.
func (j *judge) name(ctx context.Context) error {
	for id, accused := range j.accused {
		d := j.document(id)
		byEntry := map[int][]accusation{}
		for _, x := range accused {
			byEntry[int(x.entry)] = append(byEntry[int(x.entry)], x)
		}
		about := d
		if d.older { // whose findings nobody sees
			about = j.a.sets[j.roles[id].set-1].live[resourcesync.ChangeList]
		}
		err := d.reread(ctx, func(e *entry) {
			for _, x := range byEntry[e.n] {
				if about != d {
					about.report(x.rule, spot{}, e.loc, x.text, clip(e.loc))
					continue
				}
				d.report(x.rule, e.atLoc(), e.loc, x.text, clip(e.loc))
			}
		})
		if err != nil {
			return fmt.Errorf("reading %s again: %w", clip(d.uri), err)
		}
	}
	return nil
}

func (j *judge) document(id uint32) *document {
	if int(id) < len(j.a.all) {
		return j.a.all[id]
	}
	return j.older[int(id)-len(j.a.all)]
}

// reread reads the entries of a document once more, without judging them.
func (d *document) reread(ctx context.Context, do func(*entry)) error {
	r := &reading{
		limits: &d.a.o.Limits,
		open:   d.open,
		onHead: func(*head) bool { return true },
		onEntry: func(e *entry) error {
			e.md.Hash = usable(e.md.Hash)
			do(e)
			return nil
		},
		report: func(*Rule, spot, string, string, ...any) {},
	}
	return r.run(ctx)
}

// open opens a document that was read before.
func (d *document) open() (io.ReadCloser, error) {
	if d.opener != nil {
		return d.opener()
	}
	return d.a.place.again(d.uri)
}
