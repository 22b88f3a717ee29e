package verify

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

// judge decides about one resource after the other whether what all documents of
// the Source say of it fits together.
type judge struct {
	a     *auditor
	roles [][]role // of documents, by their id
	cases []*caseOf
	// accused are the findings whose URI and line have still to be read, by
	// document.
	accused map[uint32][]accusation
	told    map[*Rule]int
	older   []*document // of the older copy; their ids follow those of a.all

	present0 []*record // memory that is used again
}

// role is what a document is for in one set of resources.
type role struct {
	set       int
	kind      kindOfRole
	snapshots []int // of which it is a part
	order     int   // among its kind
}

type kindOfRole int

const (
	asSnapshot kindOfRole = iota // its entries are resources
	asChanges                    // its entries are changes that a Change List tells
	asDumped                     // its entries are changes that a Change Dump has
	asOlder                      // its entries are changes that an older copy told
)

// caseOf is what is to be judged of one set of resources.
type caseOf struct {
	snapshots []moment
	told      []segment // the times of which all changes are known
	dumped    []segment // the times of which all changes are in Change Dumps
	older     []segment // the times of which an older copy told all changes
}

// moment is a snapshot: it shows each resource as it was at some time between two.
type moment struct {
	lo, hi  int64 // hi may be forever
	dump    bool
	missing bool
	title   string
}

// segment is a time without gaps.
type segment struct {
	from, until int64
	// sure is until when changes are told; what comes later may still be added.
	sure int64
}

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

// isSure reports whether changes up to a time are not just still to come.
func isSure(segments []segment, t int64) bool {
	for _, s := range segments {
		if s.from <= t && t <= s.until {
			return t <= s.sure
		}
	}
	return true
}

type accusation struct {
	rule  *Rule
	entry uint32
	text  string // %s stands for the URI
}

// judgeAll judges all resources of all sets.
func (a *auditor) judgeAll(ctx context.Context) error {
	j := &judge{a: a, roles: make([][]role, len(a.all)), accused: map[uint32][]accusation{}, told: map[*Rule]int{}}
	for i, s := range a.sets {
		j.prepare(i, s)
	}
	j.prepareOlder()
	if err := a.ledger.groups(ctx, j.resource); err != nil {
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
		if snap.doc.head.md.At.IsZero() || snap.doc.head.md.coarse {
			continue
		}
		if len(c.snapshots) == j.a.o.Limits.Snapshots {
			snap.doc.report(auditLimit, spot{}, "", "there are more than %d Resource Lists and Resource Dumps; the others were not compared over time", j.a.o.Limits.Snapshots)
			break
		}
		lists, missing := snap.all()
		m := snap.moment(lists)
		m.missing = m.missing || missing
		c.snapshots = append(c.snapshots, m)
		for _, d := range lists {
			j.addToSnapshot(d, i, len(c.snapshots)-1)
		}
	}
	changes, dumps := s.changesInOrder(), s.changeManifests()
	kind := asDumped
	if len(changes) == 0 { // then the dumps alone tell of changes
		kind = asChanges
	}
	for n, d := range changes {
		if d.head.md.From.IsZero() || d.head.md.coarse {
			continue // its place among the others is not known
		}
		j.add(d, role{set: i, kind: asChanges, order: n})
		c.told = extend(c.told, d, true)
	}
	for n, d := range dumps {
		j.add(d, role{set: i, kind: kind, order: n})
		c.dumped = extend(c.dumped, d, false)
	}
	if len(changes) == 0 {
		c.told, c.dumped = c.dumped, nil
	}
}

func (j *judge) add(d *document, r role) { j.roles[d.id] = append(j.roles[d.id], r) }

// addToSnapshot makes a document a part of a snapshot, once.
func (j *judge) addToSnapshot(d *document, set, snapshot int) {
	for i := range j.roles[d.id] {
		if r := &j.roles[d.id][i]; r.set == set && r.kind == asSnapshot {
			if !slices.Contains(r.snapshots, snapshot) {
				r.snapshots = append(r.snapshots, snapshot)
			}
			return
		}
	}
	j.add(d, role{set: set, kind: asSnapshot, snapshots: []int{snapshot}})
}

func compareBool(x, y bool) int {
	return map[bool]int{true: 1}[x] - map[bool]int{true: 1}[y]
}

// extend adds the interval of a document to those without gaps. One without an end
// is open, if that can be, or else nothing.
func extend(all []segment, d *document, canBeOpen bool) []segment {
	from, until := d.head.md.From, d.head.md.Until
	if from.IsZero() || until.IsZero() && !canBeOpen || !d.whole || d.head.md.coarse {
		return all
	}
	s := segment{from: micro(from), until: forever, sure: micro(latest(from, d.state.last))}
	if !until.IsZero() {
		s.until = micro(until)
		s.sure = s.until
	}
	if n := len(all); n > 0 && s.from <= all[n-1].until && s.from >= all[n-1].from {
		if s.until > all[n-1].until {
			all[n-1].until, all[n-1].sure = s.until, s.sure
		}
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

// moment returns when a snapshot was taken. It shows what was at some time since
// at, up to completed; without that, it is not known until when. Parts may have
// been taken later than the whole. See Z39.99-2017 §7, at and completed.
func (s *snapshotOf) moment(lists []*document) moment {
	md := s.doc.head.md
	m := moment{lo: micro(md.At), hi: micro(md.At), missing: s.missing, dump: isDump(s.doc.capability)}
	m.title = titleOf(s.doc.capability, false) + " of " + resourcesync.FormatDateTime(md.At)
	m.extend(md.At, md.Completed, md.Completed)
	for _, d := range lists {
		if d.head.md.At.After(md.At) {
			m.extend(d.head.md.At, d.head.md.Completed, md.Completed)
		}
	}
	return m
}

// extend makes a moment last until something was completed, or if that is not said,
// until the whole was.
func (m *moment) extend(at, completed, whole time.Time) {
	switch {
	case !completed.IsZero():
		m.hi = max(m.hi, micro(completed))
	case !whole.IsZero():
		m.hi = max(m.hi, micro(at), micro(whole))
	default:
		m.hi = forever
	}
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

// changeManifests returns the manifests of Change Dumps in the order of time.
func (s *set) changeManifests() []*document {
	var all []*document
	for _, p := range s.changePackages() {
		if d := p.manifest; d.read && !slices.Contains(all, d) {
			all = append(all, d)
		}
	}
	return all
}

// resource judges one resource by all that is said of it.
func (j *judge) resource(records []record) {
	if len(records) > mostOfOne {
		j.accuse(auditLimit, &records[0], "%s: there are more than "+strconv.Itoa(mostOfOne)+" entries for this resource; they were not compared with each other")
		return
	}
	var one [1]int
	for _, set := range j.setsOf(records, one[:0]) {
		h := history{judge: j, c: j.cases[set]}
		var dumped, older []*event
		for i := range records {
			r := &records[i]
			for n := range j.roles[r.doc] {
				role := &j.roles[r.doc][n]
				if role.set != set {
					continue
				}
				switch role.kind {
				case asSnapshot:
					if r.change == linkTo {
						h.links = append(h.links, listing{r, role.snapshots})
						continue
					}
					h.listed = append(h.listed, listing{r, role.snapshots})
				case asChanges:
					h.events = append(h.events, &event{r, role.order})
				case asDumped:
					dumped = append(dumped, &event{r, role.order})
				case asOlder:
					older = append(older, &event{r, role.order})
				}
			}
		}
		h.judge.inSet(&h, dumped, older)
	}
}

// setsOf returns the sets in which a resource is.
func (j *judge) setsOf(records []record, sets []int) []int {
	for i := range records {
		for _, role := range j.roles[records[i].doc] {
			if !slices.Contains(sets, role.set) {
				sets = append(sets, role.set)
			}
		}
	}
	return sets
}

// event is what an entry says of a change.
type event struct {
	*record
	order int // of its document
}

// listing is what an entry says of a resource, in some snapshots.
type listing struct {
	*record
	snapshots []int
}

// inSet judges one resource in one set.
func (j *judge) inSet(h *history, dumped, older []*event) {
	present := h.present()
	h.checkLinks(present)
	isOdd := func(e *event) bool { return e.timed == odd }
	if slices.ContainsFunc(h.events, isOdd) || slices.ContainsFunc(dumped, isOdd) {
		return // nothing follows from what cannot be
	}
	h.events = inOrder(h.events)
	dumped = inOrder(dumped)
	h.replay(present)
	j.compareDumped(h.c, h.events, dumped)
	j.compareOlder(h.c, h.events, inOrder(older))
}

// isTimed reports whether the time of a change is known. lastmod does not say it.
// See Z39.99-2017 §7.
func (e *event) isTimed() bool { return e.timed == byDateTime }

// same reports whether two entries tell the same change.
func (e *event) same(o *event) bool {
	return e.change == o.change && (e.time == o.time || !e.isTimed() || !o.isTimed()) && differs(e.record, o.record) == ""
}

// inOrder puts changes into the order of time or, where that is not said, of their
// documents. What two documents tell, since their intervals meet or overlap, counts
// once.
func inOrder(events []*event) []*event {
	if len(events) < 2 {
		return events
	}
	timed := !slices.ContainsFunc(events, func(e *event) bool { return !e.isTimed() })
	slices.SortStableFunc(events, func(x, y *event) int {
		byTime := 0
		if timed {
			byTime = cmp.Compare(x.time, y.time)
		}
		return cmp.Or(byTime, cmp.Compare(x.order, y.order), cmp.Compare(x.entry, y.entry))
	})
	if !timed {
		return events
	}
	once := events[:0]
	for _, e := range events {
		again := false
		for i := len(once) - 1; i >= 0 && once[i].time == e.time && !again; i-- {
			again = once[i].order != e.order && once[i].same(e)
		}
		if !again {
			once = append(once, e)
		}
	}
	return once
}

// history is what is said of one resource in one set.
type history struct {
	*judge
	c      *caseOf
	events []*event
	listed []listing
	links  []listing // what links to the resource say of it

	known bool
	at    int64   // the time of which the state is known
	state *record // nil if there is no resource
}

// replay goes through snapshots and changes in the order of time.
func (h *history) replay(present []*record) {
	if slices.ContainsFunc(h.events, func(e *event) bool { return !e.isTimed() }) {
		// It cannot be known when they were.
		for _, e := range h.events {
			h.apply(e, math.MinInt64)
		}
		return
	}
	next := 0
	for i := range h.c.snapshots {
		m := &h.c.snapshots[i]
		for ; next < len(h.events) && h.events[next].time < m.lo; next++ {
			h.apply(h.events[next], h.events[next].time)
		}
		during := next
		for during < len(h.events) && h.events[during].time <= m.hi {
			during++
		}
		next += h.snapshot(m, present[i], h.events[next:during])
	}
	for ; next < len(h.events); next++ {
		h.apply(h.events[next], h.events[next].time)
	}
}

// present returns the entry of the resource in each snapshot.
func (h *history) present() []*record {
	if len(h.c.snapshots) == 0 {
		return nil
	}
	// Most resources are in few documents, and there may be many snapshots.
	if cap(h.present0) < len(h.c.snapshots) {
		h.present0 = make([]*record, len(h.c.snapshots))
	}
	present := h.present0[:len(h.c.snapshots)]
	clear(present)
	told := false
	for _, l := range h.listed {
		for _, i := range l.snapshots {
			if present[i] != nil && !h.c.snapshots[i].dump && !told {
				told = true
				h.accuse(locDuplicate, l.record, "%s is listed a second time in the "+h.c.snapshots[i].title)
			}
			present[i] = l.record
		}
	}
	return present
}

// checkLinks compares what links say of the resource with what the same Resource
// List says.
func (h *history) checkLinks(present []*record) {
	for _, l := range h.links {
		for _, i := range l.snapshots {
			if present[i] == nil {
				continue
			}
			if what := differs(l.record, present[i]); what != "" {
				h.accuse(linkContent, l.record, "%s: a link says another "+what+" of a resource than its own entry does")
				break
			}
		}
	}
}

// apply applies a change.
func (h *history) apply(e *event, t int64) {
	if h.known && (t == math.MinInt64 || covers(h.c.told, h.at, t)) {
		switch {
		case e.change == changeCreated && h.state != nil:
			h.accuse(eventPossible, e.record, "%s is created, but did exist before")
		case e.change == changeUpdated && h.state == nil:
			h.accuse(eventPossible, e.record, "%s is updated, but did not exist before")
		case e.change == changeDeleted && h.state == nil:
			h.accuse(eventPossible, e.record, "%s is deleted, but did not exist before")
		}
	}
	h.known, h.at, h.state = true, t, e.after()
}

// after returns the state of the resource after a change.
func (e *event) after() *record {
	if e.change == changeDeleted {
		return nil
	}
	return e.record
}

// snapshot compares what is known with what a snapshot shows: the state before, or
// that after any of the changes during it. It returns how many of these it is known to
// show.
func (h *history) snapshot(m *moment, shown *record, during []*event) int {
	if m.missing && shown == nil {
		return 0
	}
	if h.known && h.isComparable(m) {
		switch {
		case !h.shows(shown, during):
			h.blame(m, shown)
			if !m.dump { // which says it better
				return h.settle(m, shown, during)
			}
		case len(during) == 0:
			h.at = m.lo
		}
		return 0
	}
	if !m.dump || !h.known {
		return h.settle(m, shown, during)
	}
	return 0
}

// isComparable reports whether all changes between what is known and a snapshot are
// known as well, also those while it was taken.
func (h *history) isComparable(m *moment) bool {
	if h.at == m.lo && m.hi > m.lo && !covers(h.c.told, m.lo, min(m.hi, m.lo+1)) {
		return false // one of two at the same time may show more
	}
	return covers(h.c.told, h.at, m.lo)
}

// shows reports whether a snapshot shows a state that there was.
func (h *history) shows(shown *record, during []*event) bool {
	if equal(h.state, shown) {
		return true
	}
	return slices.ContainsFunc(during, func(e *event) bool { return equal(e.after(), shown) })
}

func equal(x, y *record) bool {
	if x == nil || y == nil {
		return x == y
	}
	return differs(x, y) == ""
}

// settle takes a snapshot for what is known, unless changes during it leave that
// open. It returns how many of these the snapshot shows.
func (h *history) settle(m *moment, shown *record, during []*event) int {
	h.known, h.at, h.state = true, m.lo, shown
	if !slices.ContainsFunc(during, func(e *event) bool { return equal(e.after(), shown) }) {
		return 0 // it shows what was before all of them
	}
	// All up to its time must be in it, and seems to be.
	n := 0
	for n < len(during) && during[n].time == m.lo {
		n++
	}
	if n == len(during) && equal(during[n-1].after(), shown) {
		return n
	}
	h.known = false
	return 0
}

// blame reports a snapshot that shows another state than there was.
func (h *history) blame(m *moment, shown *record) {
	rule := replayState
	switch {
	case !isSure(h.c.told, m.lo) && m.dump && h.at < m.lo:
		return // the open list may just not tell yet
	case m.dump:
		rule = coverageDump
	case !isSure(h.c.told, m.lo):
		rule = replayLag
	}
	switch {
	case m.dump && h.at == m.lo && h.state != nil && shown != nil:
		h.accuse(rule, shown, "%s has another "+differs(h.state, shown)+" in the "+m.title+" than in the Resource List of that time")
	case h.state == nil:
		h.accuse(rule, shown, "%s is in the "+m.title+", though it did not exist then: no change up to that time says that it was created")
	case shown == nil:
		h.accuse(rule, h.state, "%s is not in the "+m.title+", though it existed then: no change up to that time says that it was deleted")
	default:
		h.accuse(rule, shown, "%s has another "+differs(h.state, shown)+" in the "+m.title+" than before, and no change up to that time says that it was updated")
	}
}

// compareDumped compares the changes of Change Lists with those of Change Dumps.
func (j *judge) compareDumped(c *caseOf, listed, dumped []*event) {
	if len(c.told) == 0 || len(c.dumped) == 0 {
		return
	}
	j.eachIn(coverageChanges, listed, dumped, c.dumped, "%s: the change is in no Change Dump")
	j.eachIn(coverageChanges, dumped, listed, c.told, "%s: the change is in no Change List")
}

// eachIn reports changes that are not among others which cover their time. A change
// just at the beginning of a time may belong to the one before.
func (j *judge) eachIn(rule *Rule, some, others []*event, times []segment, text string) {
	byTime := map[int64][]*event{}
	var untimed []*event
	for _, o := range others {
		if o.isTimed() {
			byTime[o.time] = append(byTime[o.time], o)
		} else if len(untimed) < 100 { // some of those that may match are enough
			untimed = append(untimed, o)
		}
	}
	for _, e := range some {
		if e.isTimed() && tells(times, e.time) && !slices.ContainsFunc(byTime[e.time], e.same) && !slices.ContainsFunc(untimed, e.same) {
			j.accuse(rule, e.record, text)
		}
	}
}

// tells reports whether all changes of a time are told: it lies within an interval,
// not just at its beginning, nor later than anything that is told.
func tells(times []segment, t int64) bool {
	return slices.ContainsFunc(times, func(s segment) bool { return s.from < t && t <= s.until && t <= s.sure })
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
		err := d.reread(ctx, func(e *entry) {
			for _, x := range byEntry[e.n] {
				if d.older { // whose findings nobody sees
					j.reporterFor(id).report(x.rule, spot{}, e.loc, x.text, clip(e.loc))
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

// reporterFor returns the document to which findings about one of an older copy
// belong: the live Change List, or else the Capability List.
func (j *judge) reporterFor(id uint32) *document {
	s := j.a.sets[j.roles[id][0].set]
	if d := s.live[resourcesync.ChangeList]; d != nil {
		return d
	}
	return s.list
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
