package front

import (
	"fmt"
	"slices"
	"time"

	"github.com/wellspring-sync/wellspring/generator/internal/edition"
	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/internal/notify"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// notification is what subscribers of a set are told of what was placed. It comes right
// before the Capability List, which names it, and so before that and the Source
// Description, of which it may tell: a hub fetches it when it is asked to, which is after
// all of it is there, but a Destination may follow a link at any time.
func (d *Decision) notification(s *SetDecision, told []edition.Told) notify.Notification {
	l, until := s.Set.Layout, last.Latest(d.until, s.Set.At) // the clock may be behind
	changes := slices.Concat(d.changesOf(s, told, until), d.changeOf(&s.capabilityList, resourcesync.CapabilityList, s.Set.IsFirst()), d.changeOfSource())
	return notify.Notification{
		Channel: notify.Channel{
			Set: s.Set.Options.Name, Hub: s.Set.Options.Hub, Topic: l.FrameworkNotification().URI, CapabilityList: l.CapabilityList().URI,
		},
		From: s.Set.At, Until: until, Changes: changes,
	}
}

// changesOf returns the changes of documents: one for each capability, since one of several
// parts is enough to lead to the Index. See Framework Notification 1.0 §3.
func (d *Decision) changesOf(s *SetDecision, told []edition.Told, until time.Time) (changes []notify.Change) {
	parts := partsBefore(s)
	for _, t := range told {
		c := notify.Change{URI: t.URI, Capability: t.Capability, Change: resourcesync.Created, DateTime: until, Index: t.Index}
		switch was := !s.Set.IsFirst() && (parts[t.Path] || t.Index == "" && d.pub.IsThere(t.Path)); {
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

// changeOf returns the change of a document that leads to others, or nothing if it is as
// it was.
func (d *Decision) changeOf(r *rendered, c resourcesync.Capability, first bool) []notify.Change {
	if !r.write {
		return nil
	}
	change := resourcesync.Updated
	if first || r.isNew {
		change = resourcesync.Created
	}
	return []notify.Change{{URI: r.ref.URI, Capability: c, Change: change, DateTime: d.at}}
}

// changeOfSource returns the change of the Source Description or, if that is an Index, of
// one under it. All channels are told of it. See Framework Notification 1.0 §2.
func (d *Decision) changeOfSource() []notify.Change {
	if len(d.parts) == 0 {
		return d.changeOf(&d.description, resourcesync.Description, d.pub.First)
	}
	for i := range slices.Backward(d.parts) {
		if change := d.changeOf(&d.parts[i], resourcesync.Description, true); change != nil {
			change[0].Index = d.description.ref.URI
			return change
		}
	}
	return nil
}

// ends are the notifications of the ends of sets.
func (d *Decision) ends() (all []notify.Notification) {
	for _, n := range d.pub.Leaving.Notifications {
		n.Until = d.at
		n.Changes = append(slices.Clone(n.Changes), d.changeOfSource()...)
		n.Changes[0].DateTime = d.at
		all = append(all, n)
	}
	return all
}

// notify places the notification of a set. Without any changes, the last one stays, if it
// is there.
func (w *writing) notify(s *SetDecision, told []edition.Told, to placer) error {
	n := w.d.notification(s, told)
	if len(n.Changes) > 0 {
		w.result.Notifications = append(w.result.Notifications, n)
	}
	b, err := n.Payload()
	if err != nil {
		return fmt.Errorf("writing the notification: %w", err)
	}
	return to.PlaceBytes(s.Set.Layout.FrameworkNotification(), b)
}

// placer places documents that are in memory.
type placer interface {
	PlaceBytes(ref layout.Ref, b []byte) error
}
