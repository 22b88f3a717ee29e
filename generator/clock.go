package generator

import (
	"context"
	"fmt"
	"time"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

const (
	// clockLead is how far behind the last publication a time may be that is given, or
	// a clock that is accepted, without a word.
	clockLead = time.Minute
	// longestWait is for how long a run waits until the clock is later than the last
	// publication. Runs that follow each other at once take a second of it.
	longestWait = 5 * time.Second
	// chunkRoom is how long after the last publication a run begins: time enough for
	// 100,000 chunks of events, each with a microsecond of its own.
	chunkRoom = 100 * time.Millisecond
)

// checkClock decides on the time of the run. A clock that is not later than the last
// publication is waited for, and a time that was given is made later.
func (r *run) checkClock(ctx context.Context) error {
	r.readClock()
	earliest := r.earliest()
	if r.o.FixedClock || r.o.AcceptClock {
		if r.now.Before(r.last().Add(-clockLead)) {
			r.warn("the clock (%s) is behind the last publication (%s), which is followed as if it were later",
				resourcesync.FormatDateTime(r.at()), resourcesync.FormatDateTime(r.last()))
		}
		r.now = latestOf(r.now, earliest)
		return nil
	}
	for waited := time.Duration(0); r.now.Before(earliest); r.readClock() {
		ahead := earliest.Sub(r.now)
		if waited += ahead; waited > longestWait { // or the clock stands still
			return r.refuseClock()
		}
		if r.o.DryRun {
			r.now = earliest
			return nil
		}
		r.o.Log.Info("waiting, since a publication is later than the last one", "last", r.last(), "for", ahead)
		if err := pause(ctx, ahead); err != nil {
			return err
		}
	}
	return nil
}

// readClock reads the clock as finely as times are published.
func (r *run) readClock() { r.now = r.o.Now().UTC().Truncate(time.Microsecond) }

func (r *run) refuseClock() error {
	return &Refusal{
		Why: fmt.Sprintf("the clock says %s, but the last publication is of %s: set the clock right, or wait until that time is past",
			resourcesync.FormatDateTime(r.at()), resourcesync.FormatDateTime(r.last())),
		Flag:   "--accept-clock",
		Passes: true,
	}
}

// pause waits, unless the context ends before.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
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

// earliest is when a run can begin, so that its time is after the last publication.
func (r *run) earliest() time.Time {
	last := r.last()
	if last.IsZero() {
		return last
	}
	return latestOf(last.Truncate(time.Second).Add(time.Second), last.Add(chunkRoom))
}

// at returns the time of a run with one chunk of events, or with none: when it began,
// in whole seconds.
func (r *run) at() time.Time { return r.now.Truncate(time.Second) }

// times returns the time of a run with so many chunks of events, and how long before it
// and each other the earlier ones are published, all of them after the last publication.
func (r *run) times(chunks int) (at time.Time, step time.Duration, err error) {
	if chunks <= 1 {
		return r.at(), 0, nil
	}
	for _, step := range [...]time.Duration{time.Millisecond, time.Microsecond} {
		at := r.now.Truncate(step)
		if at.Add(-time.Duration(chunks-1) * step).After(r.last()) {
			return at, step, nil
		}
	}
	return at, 0, fmt.Errorf("the changes take %d packages or lists, more than there are microseconds since the last publication of %s: run it again",
		chunks, resourcesync.FormatDateTime(r.last()))
}
