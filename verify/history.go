package verify

import (
	"cmp"
	"math"
	"slices"
)

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
	own    []listing // its own links

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
