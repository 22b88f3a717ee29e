package snapshot

import (
	"context"
	"iter"
	"time"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

// Events are changes in the order of time, each valid until the next. An error is
// the last of them.
type Events = iter.Seq2[*resourcesync.Entry, error]

// Since yields the changes of Change Lists that follow each other, from a time on.
// Lists that ended before it are not read.
func Since(ctx context.Context, s *Snapshot, lists []ChangeList, since time.Time) Events {
	for len(lists) > 0 && !lists[0].Until.IsZero() && lists[0].Until.Before(since) {
		lists = lists[1:]
	}
	return filter(s.Events(ctx, lists), func(e *resourcesync.Entry) bool { return !e.ChangeTime().Before(since) })
}

// EventsOf yields the changes of one resource.
func EventsOf(events Events, uri string) Events {
	return filter(events, func(e *resourcesync.Entry) bool { return e.Loc == uri })
}

func filter(events Events, takes func(*resourcesync.Entry) bool) Events {
	return func(yield func(*resourcesync.Entry, error) bool) {
		for e, err := range events {
			if (err != nil || takes(e)) && !yield(e, err) {
				return
			}
		}
	}
}

// Run is what one run published.
type Run struct {
	At                        time.Time
	Created, Updated, Deleted int
}

// chunkStep is how far apart the times are, at most, at which one run publishes changes that
// do not go into one package. Two runs are further apart.
const chunkStep = time.Millisecond

// Runs yields the runs that changes come from, in the order of time. Each is of the
// time of its last changes.
func Runs(events Events) iter.Seq2[Run, error] {
	return func(yield func(Run, error) bool) {
		var r Run
		for e, err := range events {
			if err != nil {
				yield(Run{}, err)
				return
			}
			at := e.ChangeTime()
			if at.Sub(r.At) > chunkStep && r != (Run{}) {
				if !yield(r, nil) {
					return
				}
				r = Run{}
			}
			r.At = at
			r.count(e.Metadata.Change)
		}
		if r != (Run{}) {
			yield(r, nil)
		}
	}
}

func (r *Run) count(c resourcesync.ChangeType) {
	switch c {
	case resourcesync.Created:
		r.Created++
	case resourcesync.Updated:
		r.Updated++
	case resourcesync.Deleted:
		r.Deleted++
	}
}
