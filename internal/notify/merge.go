package notify

import (
	"slices"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

// Merge returns one notification for what was not told yet of an earlier publication, and
// for a later one, or what there is of both; either may be nil. Gone reports whether a
// document of the earlier one is there no more. The result is nil if nothing is left.
func Merge(earlier, later *Notification, gone func(uri string) bool) *Notification {
	switch {
	case earlier == nil || later != nil && later.IsLast():
		return later
	case later == nil && gone(earlier.Topic) && !earlier.IsLast():
		return nil // there is no channel any more
	case later == nil:
		later = &Notification{Channel: earlier.Channel, From: earlier.From, Until: earlier.Until}
	}
	n := *later
	n.From = earlier.From
	n.Changes = slices.Clone(later.Changes)
	for _, c := range earlier.Changes {
		i := slices.IndexFunc(n.Changes, func(l Change) bool { return l.Capability == c.Capability })
		switch {
		case i < 0 && (c.Change == resourcesync.Deleted || !gone(c.URI)):
			n.Changes = append(n.Changes, c)
		case i >= 0 && n.Changes[i].URI == c.URI && c.Change == resourcesync.Created && n.Changes[i].Change == resourcesync.Updated:
			n.Changes[i].Change = resourcesync.Created
		}
	}
	if len(n.Changes) == 0 {
		return nil
	}
	return &n
}
