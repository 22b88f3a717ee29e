package front

import (
	"time"

	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
)

// chronicle knows what was published when, with a publication of the time at.
type chronicle struct {
	pub   *last.Publication
	at    time.Time
	found policy.Counts
	sets  []SetDecision
}

// past returns what is known of former publications once this one follows. A first one has
// no changes: it has all there is.
func (c *chronicle) past() *snapshot.Past {
	n := snapshot.Changed{Created: c.found.Created, Updated: c.found.Updated, Deleted: c.found.Deleted}
	if !n.Any() { // some may have gone from one set to another
		for i := range c.sets {
			if s := &c.sets[i]; !s.Set.IsFirst() {
				n.Created, n.Updated, n.Deleted = n.Created+s.Found.Created, n.Updated+s.Found.Updated, n.Deleted+s.Found.Deleted
			}
		}
	}
	if c.pub.First {
		n = snapshot.Changed{}
	}
	record := c.pub.Record()
	if record == nil || record.Past == nil {
		since := c.at
		for i := range c.sets {
			if from := c.followedSince(&c.sets[i]); from.Before(since) {
				since = from
			}
		}
		return (&snapshot.Past{Since: since}).With(c.at, n, snapshot.MostChanged)
	}
	return record.Past.With(c.at, n, snapshot.MostChanged)
}

// pastOf is the same for one set. One among others remembers only the last change.
func (c *chronicle) pastOf(s *SetDecision) *snapshot.Past {
	if !s.Set.HasName() {
		return c.past()
	}
	if s.Set.IsFirst() {
		return &snapshot.Past{Since: c.at}
	}
	n := snapshot.Changed{Created: s.Found.Created, Updated: s.Found.Updated, Deleted: s.Found.Deleted}
	if record := s.Set.Snapshot.Record; record != nil && record.Past != nil {
		return record.Past.With(c.at, n, 1)
	}
	return (&snapshot.Past{Since: c.followedSince(s)}).With(c.at, n, 1)
}

// followedSince is when the oldest Change List begins, which a record would know if it
// were there, or the time of the publication in a first one.
func (c *chronicle) followedSince(s *SetDecision) time.Time {
	if s.Set.IsFirst() || len(s.Set.Snapshot.Changes) == 0 {
		return c.at
	}
	return s.Set.Snapshot.Changes[0].From
}
