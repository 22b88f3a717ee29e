package snapshot

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Past is what is known of former publications, for the page for people: documents
// leave it out in time, and a page is made without reading them.
type Past struct {
	// Since is when what is known begins, in UTC.
	Since time.Time `json:"since"`
	// Changes are the last publications with changes, in the order of time.
	Changes []Changed `json:"changes,omitempty"`
}

// Changed is how many resources were changed by one publication.
type Changed struct {
	At      time.Time `json:"at"`
	Created int       `json:"created,omitempty"`
	Updated int       `json:"updated,omitempty"`
	Deleted int       `json:"deleted,omitempty"`
}

// Any reports whether there were changes.
func (c *Changed) Any() bool { return c.Created+c.Updated+c.Deleted > 0 }

// MostChanged is how many publications a record remembers.
const MostChanged = 60

// mostResources is more than there can be, so that sums stay numbers.
const mostResources = min(1<<40, math.MaxInt/4)

// With returns what is known once a publication of the time at has followed, of which
// so many are remembered.
func (p *Past) With(at time.Time, c Changed, most int) *Past {
	next := &Past{Since: p.Since, Changes: p.Changes[:len(p.Changes):len(p.Changes)]}
	if c.Any() {
		c.At = at
		next.Changes = append(next.Changes, c)
	}
	next.Changes = next.Changes[max(0, len(next.Changes)-most):]
	return next
}

// Last is when the last change was published that is known, or zero.
func (p *Past) Last() time.Time {
	if len(p.Changes) == 0 {
		return time.Time{}
	}
	return p.Changes[len(p.Changes)-1].At
}

// check makes sure that a page can be made of it.
func (p *Past) check() error {
	if p == nil {
		return nil
	}
	if p.Since.IsZero() || !leavesRoom(p.Since) || len(p.Changes) > MostChanged {
		return errors.New("what it says of former publications is incomplete, or too much")
	}
	last := time.Time{}
	for _, c := range p.Changes {
		for _, n := range [...]int{c.Created, c.Updated, c.Deleted} {
			if n < 0 || n > mostResources {
				return fmt.Errorf("it says that a publication changed %d resources", n)
			}
		}
		if !c.Any() || !c.At.After(last) || !leavesRoom(c.At) {
			return errors.New("what it says of former publications is not in the order of time")
		}
		last = c.At
	}
	return nil
}
