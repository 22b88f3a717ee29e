package generator

import (
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/wellspring-sync/wellspring/internal/notify"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// checkHub returns an error for what cannot be the URL of a hub, unless there is none.
func checkHub(hub string) error {
	if hub == "" {
		return nil
	}
	if err := notify.CheckHub(hub); err != nil {
		return fmt.Errorf("the hub: %w", err)
	}
	return nil
}

// told is a document with a capability that a run puts in place, or a part of one under
// an Index, of which notifications tell. Those never tell of the Index itself. See
// Framework Notification 1.0 §2.
type told struct {
	layout.Ref
	capability resourcesync.Capability
	index      string // its URI, or empty
}

// tell notes a document for notifications.
func (s *stage) tell(c resourcesync.Capability, ref layout.Ref, index string) {
	s.told = append(s.told, told{ref, c, index})
}

// composeNotification stages what subscribers are told of this run, if it changes
// anything. It comes right before the Capability List, which names it, and so before that
// and the Source Description, of which it may tell: a hub fetches it when it is asked to,
// which is after all of it is there, but a Destination may follow a link at any time.
func (r *resourceSet) composeNotification(list description, at time.Time) error {
	if r.o.Hub == "" {
		return nil
	}
	changes := r.changesToTell(at)
	change, err := r.changeOfDescription(list, resourcesync.CapabilityList, at, r.isFirst())
	if err != nil {
		return err
	}
	source, err := r.changeOfSource(at)
	if err != nil {
		return err
	}
	return r.putNotification(slices.Concat(changes, change, source), at)
}

// putNotification stages a notification of changes. Without any, the last one stays, if
// it is there.
func (r *resourceSet) putNotification(changes []notify.Change, until time.Time) error {
	ref := r.layout.FrameworkNotification()
	if len(changes) == 0 && r.isThere(ref.Path) {
		return nil
	}
	n := notify.Notification{Channel: r.channel(), From: r.prev.last, Until: until, Changes: changes}
	if len(changes) > 0 {
		r.report.Notifications = append(r.report.Notifications, n)
	}
	b, err := n.Payload()
	if err != nil {
		return fmt.Errorf("writing the notification: %w", err)
	}
	return r.stage.putBytes(ref, b)
}

func (r *resourceSet) channel() notify.Channel {
	l := r.layout
	return notify.Channel{Set: r.name, Hub: r.o.Hub, Topic: l.FrameworkNotification().URI, CapabilityList: l.CapabilityList().URI}
}

// changesToTell returns the changes of what was staged so far: one for each capability,
// since one of several parts is enough to lead to the Index. See Framework Notification
// 1.0 §3.
func (r *resourceSet) changesToTell(at time.Time) (changes []notify.Change) {
	parts := r.partsBefore()
	for _, t := range r.stage.told {
		c := notify.Change{URI: t.URI, Capability: t.capability, Change: resourcesync.Created, DateTime: at, Index: t.index}
		switch was := !r.isFirst() && (parts[t.Path] || t.index == "" && r.isThere(t.Path)); {
		case was && t.index != "" && t.capability != resourcesync.ChangeList:
			continue // written once, and there already
		case was && t.capability != resourcesync.ResourceDump: // which can only be created (§2.1)
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
func (r *resourceSet) partsBefore() map[string]bool {
	parts := map[string]bool{}
	if r.isFirst() {
		return parts
	}
	s := r.prev.snapshot
	for _, path := range s.Bodies() {
		parts[path] = true
	}
	for _, a := range s.Archives {
		for _, p := range a.Parts {
			parts[p.Path] = true
		}
	}
	return parts
}

// changeOfDescription returns the change of a document that leads to others, or nothing
// if it is as it was.
func (r *run) changeOfDescription(d description, c resourcesync.Capability, at time.Time, first bool) ([]notify.Change, error) {
	same, err := r.isPublished(d)
	if err != nil || same {
		return nil, err
	}
	change := resourcesync.Updated
	if _, err := fs.Stat(r.out, d.ref.Path); first || err != nil {
		change = resourcesync.Created
	}
	return []notify.Change{{URI: d.ref.URI, Capability: c, Change: change, DateTime: at}}, nil
}

// changeOfSource returns the change of the Source Description or, if that is an Index, of
// one under it. All channels are told of it. See Framework Notification 1.0 §2.
func (r *run) changeOfSource(at time.Time) ([]notify.Change, error) {
	head, parts, err := r.sourceDescription()
	if err != nil {
		return nil, err
	}
	if len(parts) == 0 {
		return r.changeOfDescription(head, resourcesync.Description, at, r.report.First)
	}
	for _, d := range slices.Backward(parts) {
		change, err := r.changeOfDescription(d, resourcesync.Description, at, true)
		if err != nil {
			return nil, err
		}
		if len(change) > 0 {
			change[0].Index = head.ref.URI
			return change, nil
		}
	}
	return nil, nil
}

// tellOfEnd notes whom to tell that a set is published no more: those who have
// subscribed to its topic, which is gone then.
func (r *run) tellOfEnd(s *snapshot.Snapshot, l layout.Layout) {
	if s.Hub == "" {
		return
	}
	r.top.ended = append(r.top.ended, notify.Notification{
		Channel: notify.Channel{Set: l.Folder, Hub: s.Hub, Topic: l.FrameworkNotification().URI, CapabilityList: l.CapabilityList().URI},
		From:    s.Last,
		Changes: []notify.Change{{URI: l.CapabilityList().URI, Capability: resourcesync.CapabilityList, Change: resourcesync.Deleted}},
	})
}

// tellEnds completes the notifications of the ends of sets.
func (r *run) tellEnds(at time.Time) error {
	if len(r.top.ended) == 0 {
		return nil
	}
	source, err := r.changeOfSource(at)
	if err != nil {
		return err
	}
	for _, n := range r.top.ended {
		n.Until, n.Changes[0].DateTime = at, at
		n.Changes = append(n.Changes, source...)
		r.report.Notifications = append(r.report.Notifications, n)
	}
	return nil
}

// hadNotification reports whether the last publication of the set has a notification.
func (r *resourceSet) hadNotification() bool {
	s := r.prev.snapshot
	path := r.layout.FrameworkNotification().Path
	return s != nil && (s.Hub != "" || s.Record != nil && s.Record.Head(path) != nil) || slices.Contains(r.prev.remove, path)
}

// checkInTheWay makes sure that the first notification of a publication that is there does
// not replace a file that somebody else put there.
func (r *resourceSet) checkInTheWay() error {
	path := r.layout.FrameworkNotification().Path
	if r.o.Hub == "" || r.hadNotification() || !r.isThere(path) {
		return nil
	}
	return &Refusal{Why: fmt.Sprintf("with a hub, notifications are published as %s, and there is a file in the way that is none", path)}
}

// foreseeNotification reports whether a dry run would write a notification, when it would
// write other documents of the set or not.
func (r *resourceSet) foreseeNotification(others bool) (bool, error) {
	if r.o.Hub == "" || others || !r.isThere(r.layout.FrameworkNotification().Path) {
		return r.o.Hub != "", nil
	}
	source, err := r.changeOfSource(r.at())
	return len(source) > 0, err
}
