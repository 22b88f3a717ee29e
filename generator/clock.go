package generator

import (
	"context"
	"fmt"
	"time"

	"github.com/wellspring-sync/wellspring/generator/internal/edition"
	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/policy"
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

// clock says what time it is for a run: later than the last publication.
type clock struct {
	o     *Options
	began time.Time // when the survey begins, in microseconds
	last  time.Time // of the last publication, or zero
}

// startClock decides on the time of a run that follows a publication. A clock that is not
// later is waited for, and a time that was given is made later.
func startClock(ctx context.Context, o *Options, published time.Time) (c clock, warning string, err error) {
	c = clock{o: o, last: published}
	c.read()
	earliest := c.earliest()
	if o.FixedClock || o.AcceptClock {
		if c.began.Before(c.last.Add(-clockLead)) {
			warning = fmt.Sprintf("the clock (%s) is behind the last publication (%s), which is followed as if it were later",
				resourcesync.FormatDateTime(c.at()), resourcesync.FormatDateTime(c.last))
		}
		c.began = last.Latest(c.began, earliest)
		return c, warning, nil
	}
	for waited := time.Duration(0); c.began.Before(earliest); c.read() {
		ahead := earliest.Sub(c.began)
		if waited += ahead; waited > longestWait { // or the clock stands still
			return c, "", c.refusal()
		}
		if o.DryRun {
			c.began = earliest
			return c, "", nil
		}
		o.Log.Info("waiting, since a publication is later than the last one", "last", c.last, "for", ahead)
		select {
		case <-time.After(ahead):
		case <-ctx.Done():
			return c, "", context.Cause(ctx)
		}
	}
	return c, "", nil
}

// read reads the clock as finely as times are published.
func (c *clock) read() { c.began = c.o.Now().UTC().Truncate(time.Microsecond) }

func (c *clock) refusal() error {
	return &policy.Refusal{
		Why: fmt.Sprintf("the clock says %s, but the last publication is of %s: set the clock right, or wait until that time is past",
			resourcesync.FormatDateTime(c.at()), resourcesync.FormatDateTime(c.last)),
		Flag:   "--accept-clock",
		Passes: true,
	}
}

// earliest is when a run can begin, so that its time is after the last publication.
func (c *clock) earliest() time.Time {
	if c.last.IsZero() {
		return c.last
	}
	return last.Latest(c.last.Truncate(time.Second).Add(time.Second), c.last.Add(chunkRoom))
}

// at returns the time of a run with one chunk of events, or with none: when it began,
// in whole seconds.
func (c *clock) at() time.Time { return c.began.Truncate(time.Second) }

// times returns those of a run with so many chunks of events, all of them after the last
// publication.
func (c *clock) times(chunks int) (t edition.Times, err error) {
	t.At = c.at()
	if chunks > 1 {
		if t.At, t.Step, err = c.divided(chunks); err != nil {
			return t, err
		}
	}
	t.Completed = last.Latest(t.At, c.o.Now().UTC().Truncate(time.Second))
	return t, nil
}

// divided returns the time of a run with several chunks, and how long before it and each
// other the earlier ones are published.
func (c *clock) divided(chunks int) (at time.Time, step time.Duration, err error) {
	for _, step := range [...]time.Duration{time.Millisecond, time.Microsecond} {
		at := c.began.Truncate(step)
		if at.Add(-time.Duration(chunks-1) * step).After(c.last) {
			return at, step, nil
		}
	}
	return at, 0, fmt.Errorf("the changes take %d packages or lists, more than there are microseconds since the last publication of %s: run it again",
		chunks, resourcesync.FormatDateTime(c.last))
}
