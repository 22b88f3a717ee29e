package generator

import (
	"fmt"
	"time"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

// clockLead is how far a publication may be ahead of the clock without a word:
// several runs in one second are each a second later than the one before.
const clockLead = time.Minute

// checkClock decides on the time of the run.
func (r *run) checkClock() error {
	r.now = r.o.Now().UTC().Truncate(time.Second)
	last := r.last()
	if !r.o.FixedClock && !r.o.AcceptClock && !last.IsZero() && !r.now.After(last.Add(-24*time.Hour)) {
		return &Refusal{
			Why: fmt.Sprintf("the clock says %s, a day or more before the last publication of %s",
				resourcesync.FormatDateTime(r.now), resourcesync.FormatDateTime(last)),
			Flag: "--accept-clock",
		}
	}
	if r.now.Before(last.Add(-clockLead)) {
		r.warn("the clock (%s) is behind the last publication (%s), which is followed as if it were later",
			resourcesync.FormatDateTime(r.now), resourcesync.FormatDateTime(last))
	}
	return nil
}

// last is the latest time that was published, or zero.
func (r *run) last() (last time.Time) {
	for _, set := range r.sets {
		last = latestOf(last, set.prev.last)
	}
	return latestOf(last, r.top.last)
}

func latestOf(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// at returns the time of a run whose events need so many chunks, each with a
// second of its own: strictly later than the last publication.
func (r *run) at(chunks int) time.Time {
	last := r.last()
	earliest := last.Add(time.Duration(max(chunks, 1)) * time.Second)
	if !last.IsZero() && earliest.After(r.now) {
		return earliest
	}
	return r.now
}
