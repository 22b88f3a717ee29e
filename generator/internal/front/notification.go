package front

import (
	"slices"
	"time"

	"github.com/wellspring-sync/wellspring/generator/internal/edition"
	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/internal/notify"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// notifier makes what subscribers are told.
type notifier struct {
	pub    *last.Publication
	until  time.Time
	source []notify.Change // of the Source Description, of which all channels are told
}

// notification is what subscribers of a set are told of what was placed. It comes right
// before the Capability List, which names it, and so before that and the Source
// Description, of which it may tell: a hub fetches it when it is asked to, which is after
// all of it is there, but a Destination may follow a link at any time.
func (n *notifier) notification(s *SetDecision, told []edition.Told) notify.Notification {
	l, until := s.Set.Layout, last.Latest(n.until, s.Set.At) // the clock may be behind
	changes := slices.Concat(n.changesOf(s, told), s.capabilityList.change(resourcesync.CapabilityList, s.Set.IsFirst()), n.source)
	for i := range changes {
		changes[i].DateTime = until
	}
	return notify.Notification{
		Channel: notify.Channel{
			Set: s.Set.Options.Name, Hub: s.Set.Options.Hub, Topic: l.FrameworkNotification().URI, CapabilityList: l.CapabilityList().URI,
		},
		From: s.Set.At, Until: until, Changes: changes,
	}
}

// changesOf returns the changes of documents: one for each capability, since one of several
// parts is enough to lead to the Index. See Framework Notification 1.0 §3.
func (n *notifier) changesOf(s *SetDecision, told []edition.Told) (changes []notify.Change) {
	parts := partsBefore(s)
	for _, t := range told {
		c := notify.Change{URI: t.URI, Capability: t.Capability, Change: resourcesync.Created, Index: t.Index}
		switch was := !s.Set.IsFirst() && (parts[t.Path] || t.Index == "" && n.pub.Files.IsThere(t.Path)); {
		case was && t.Index != "" && t.Capability != resourcesync.ChangeList:
			continue // written once, and there already
		case was && t.Capability != resourcesync.ResourceDump: // which can only be created (§2.1)
			c.Change = resourcesync.Updated
		}
		same := func(x notify.Change) bool { return x.Capability == c.Capability }
		if i := slices.IndexFunc(changes, same); i >= 0 {
			changes[i] = c // the latest of the parts
		} else {
			changes = append(changes, c)
		}
	}
	return changes
}

// partsBefore returns the paths of what stood under an Index in the last publication.
func partsBefore(s *SetDecision) map[string]bool {
	parts := map[string]bool{}
	if s.Set.IsFirst() {
		return parts
	}
	for _, path := range s.Set.Snapshot.Bodies() {
		parts[path] = true
	}
	for _, a := range s.Set.Snapshot.Archives {
		for _, p := range a.Parts {
			parts[p.Path] = true
		}
	}
	return parts
}

// ends are the notifications of the ends of sets.
func (n *notifier) ends() (all []notify.Notification) {
	for _, end := range n.pub.Leaving.Notifications {
		end.Until, end.Changes = n.until, slices.Concat(end.Changes, n.source)
		for i := range end.Changes {
			end.Changes[i].DateTime = n.until
		}
		all = append(all, end)
	}
	return all
}
