package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/internal/httpclient"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// readOlder reads an older copy of the publication, if there is one, and compares its documents with
// those of this one. What its changes were goes into the ledger.
func (a *auditor) readOlder(ctx context.Context) error {
	if a.o.Against == "" {
		return nil
	}
	o := *a.o
	o.Depth, o.Against, o.Resources = Documents, "", nil
	if top := a.all[0]; httpclient.IsURL(a.o.Against) && !sameHost(top.uri, a.o.Against) {
		// It is a copy at another place of what has the same URIs.
		if prefix, ok := strings.CutSuffix(top.uri, wellKnownPath); ok {
			o.Resources = []Mapping{{prefix, strings.TrimSuffix(a.o.Against, "/") + "/"}}
		}
	}
	where := httpclient.Redacted(a.o.Against)
	if w, ok := a.place.(*web); !ok || !sameHost(w.base.String(), a.o.Against) {
		o.Header = nil // which is for the publication's own host
	}
	p, err := openPlace(a.o.Against, &o)
	if err != nil {
		return fmt.Errorf("the older copy: %w", err)
	}
	older := newAuditor(p, &o)
	older.ledger, older.keepDigests, older.silent, older.firstID = a.ledger, true, true, uint32(len(a.all))
	a.older = older
	begin, err := p.start(ctx)
	if err != nil {
		return fmt.Errorf("the older copy %s: %w", where, err)
	}
	top, err := older.top(ctx, begin.uri)
	if err != nil {
		return err
	}
	if err := older.walk(ctx, top); err != nil {
		return err
	}
	for _, d := range older.all {
		if !d.whole {
			return fmt.Errorf("the older copy %s: %s cannot be read", where, clip(d.uri))
		}
	}
	a.compareCopies(ctx)
	return nil
}

func sameHost(x, y string) bool {
	return httpclient.IsURL(y) && strings.EqualFold(hostOf(normalURI(x)), hostOf(normalURI(y)))
}

// compareCopies compares what was closed, and where the two begin and end.
func (a *auditor) compareCopies(ctx context.Context) {
	for _, was := range a.older.all {
		is := a.known(was.uri)
		if is == nil && was.capability == resourcesync.ChangeList && !was.head.index && was.head.md.has&attrUntil == 0 {
			a.checkStillThere(ctx, was)
		}
		if is == nil || !is.read || !was.isClosed() || was.digests["sha-256"] == is.digests["sha-256"] {
			continue
		}
		is.report(closedAltered, spot{}, was.uri, "it is not what it was in the older copy, where it was closed")
	}
	for _, s := range a.sets {
		if old := a.older.setOf(s.list.uri); old != nil {
			s.compareTimes(old)
		} else {
			s.list.report(olderCopy, spot{}, s.list.uri, "the older copy has no Capability List of this URI")
		}
	}
}

// checkStillThere sees that a list that was open can still be read, since those who
// follow it do not look anywhere else. See Z39.99-2017 §12.1.
func (a *auditor) checkStillThere(ctx context.Context, was *document) {
	if err := a.leads(ctx, was.uri); errors.Is(err, errNotThere) && len(a.all) > 0 {
		a.all[0].report(eventLost, spot{}, was.uri, "the Change List %s was open in the older copy, and is not there any more: Destinations that follow it learn nothing", clip(was.uri))
	}
}

// isClosed reports whether a document may not change any more: it has until, or
// its content is stated.
func (d *document) isClosed() bool {
	return d.head.md.has&attrUntil != 0 || d.found.child != nil && d.found.child.md.Hash != ""
}

func (a *auditor) setOf(uri string) *set {
	if i := a.indexOfSet(uri); i >= 0 {
		return a.sets[i]
	}
	return nil
}

func (a *auditor) indexOfSet(uri string) int {
	return slices.IndexFunc(a.sets, func(s *set) bool { return s.list.uri == uri })
}

// compareTimes sees that somebody who followed the older copy can go on here.
func (s *set) compareTimes(old *set) {
	was, is := old.live[resourcesync.ResourceList], s.live[resourcesync.ResourceList]
	if was != nil && is != nil && is.head.md.At.Before(was.head.md.At) {
		is.report(olderCopy, is.head.md.spot, "", "the Resource List is of %s, that of the copy of %s",
			resourcesync.FormatDateTime(is.head.md.At), resourcesync.FormatDateTime(was.head.md.At))
		return
	}
	changes := s.live[resourcesync.ChangeList]
	if changes == nil || !changes.read || old.live[resourcesync.ChangeList] == nil {
		return
	}
	if end := old.lastKnown(); !end.IsZero() && changes.head.md.From.After(end) {
		changes.report(eventLost, changes.head.md.spot, resourcesync.FormatDateTime(changes.head.md.From),
			"the changes begin at %s, but the older copy ends at %s", resourcesync.FormatDateTime(changes.head.md.From), resourcesync.FormatDateTime(end))
	}
}

// lastKnown returns until when somebody knows all who has read the publication.
func (s *set) lastKnown() time.Time {
	var last time.Time
	for _, d := range s.liveChanges {
		last = latest(last, latest(d.head.md.Until, latest(d.head.md.From, d.state.last)))
	}
	if list := s.live[resourcesync.ResourceList]; list != nil {
		last = latest(last, list.head.md.At)
	}
	return last
}

func latest(x, y time.Time) time.Time {
	if x.After(y) {
		return x
	}
	return y
}

// prepareOlder gives the documents of the older copy their role.
func (j *judge) prepareOlder() {
	if j.a.older == nil {
		return
	}
	j.older = j.a.older.all
	for len(j.roles) < int(j.a.older.firstID)+len(j.older) {
		j.roles = append(j.roles, nil)
	}
	for _, old := range j.a.older.sets {
		i := j.a.indexOfSet(old.list.uri)
		if i < 0 {
			continue
		}
		for n, d := range old.changesInOrder() {
			j.add(d, role{set: i, kind: asOlder, order: n})
			j.cases[i].older = extend(j.cases[i].older, d, true)
		}
		for n := range j.cases[i].older {
			j.cases[i].older[n].sure-- // more may come within the same second
		}
	}
}

// compareOlder reports changes of the older copy that are not told any more, though
// their time is, and those that are told only now, though Destinations have passed
// their time.
func (j *judge) compareOlder(c *caseOf, events, older []*event) {
	if len(c.older) == 0 {
		return
	}
	j.eachIn(eventLost, older, events, c.told, "%s: the change that the older copy tells is not told any more")
	j.eachIn(eventLate, events, older, c.older, "%s: the change is told only now, behind others that the older copy tells")
}
