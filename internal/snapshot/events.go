package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

// Events yields what Change Lists that follow each other tell, in the order of
// time, each valid until the next. Order, identity and the digests of closed lists
// are checked on the way; the first error is yielded last.
func (s *Snapshot) Events(ctx context.Context, lists []ChangeList) iter.Seq2[*resourcesync.Entry, error] {
	return func(yield func(*resourcesync.Entry, error) bool) {
		var last time.Time
		for i := range lists {
			err := context.Cause(ctx)
			more := false
			if err == nil {
				more, err = s.eventsOf(&lists[i], &last, yield)
				err = damaged(lists[i].Path, err)
			}
			if err != nil {
				yield(nil, err)
			}
			if !more || err != nil {
				return
			}
		}
	}
}

// eventsOf yields the entries of one list, of which last is the time before.
func (s *Snapshot) eventsOf(c *ChangeList, last *time.Time, yield func(*resourcesync.Entry, error) bool) (more bool, err error) {
	f, err := open(s.files, c.Path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	sum := &summer{r: f, hash: sha256.New()}
	d := resourcesync.NewDecoder(sum, resourcesync.Limits{})
	if err := s.checkListed(c, d); err != nil {
		return false, err
	}
	for e, err := range entries(d) {
		if err == nil {
			err = s.checkEvent(c, *last, e)
		}
		if err == nil {
			err = checkChange(e)
		}
		if err != nil {
			return false, err
		}
		*last = e.ChangeTime()
		if !yield(e, nil) {
			return false, nil
		}
	}
	return true, c.check(sum)
}

func checkChange(e *resourcesync.Entry) error {
	switch e.Metadata.Change {
	case resourcesync.Created, resourcesync.Updated, resourcesync.Deleted:
		return nil
	}
	return fmt.Errorf("%s is %q, which is no change", quotedURI(e.Loc), e.Metadata.Change)
}

// checkListed checks that a list is the one that its Index names.
func (s *Snapshot) checkListed(c *ChangeList, d *resourcesync.Decoder) error {
	doc, err := head(d, resourcesync.ChangeList)
	if err != nil {
		return err
	}
	if md := doc.Metadata; doc.Index || !md.From.Equal(c.From) || !md.Until.Equal(c.Until) {
		return errors.New("it is not the Change List that its Index names")
	}
	return s.checkUp(doc)
}

// check compares a closed list with what its Index says of it.
func (c *ChangeList) check(sum *summer) error {
	want := c.Hash.Get("sha-256")
	if c.Until.IsZero() || want == "" {
		return nil
	}
	if got := hex.EncodeToString(sum.hash.Sum(nil)); got != want || sum.length != c.Length {
		return errors.New("it has another digest or length than its Index says")
	}
	return nil
}
