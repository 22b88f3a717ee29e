package generator

import (
	"slices"

	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/templates"
)

// foresee says what a dry run would write.
func (r *run) foresee() error {
	heads := &r.report.Heads
	add := func(ref layout.Ref, changes bool) {
		if changes {
			*heads = append(*heads, ref.Path)
		}
	}
	style, err := r.isPublished(description{r.layout.Style(), templates.Style})
	if err != nil {
		return err
	}
	add(r.layout.Style(), !style)
	for _, set := range r.sets {
		n := len(*heads)
		if err := set.foresee(add); err != nil {
			return set.failed(err)
		}
		set.found.Wrote = len(*heads) > n || set.recordIsMissing()
		add(set.layout.Record(), set.found.Wrote && r.hasNames())
		r.report.Wrote = r.report.Wrote || set.found.Wrote
	}
	page, err := r.foreseePage()
	if err != nil {
		return err
	}
	add(r.layout.Page(), page)
	d, _, err := r.sourceDescription()
	if err != nil {
		return err
	}
	same, err := r.isPublished(d)
	if err != nil {
		return err
	}
	add(d.ref, !same)
	r.report.Wrote = r.report.Wrote || !style || page || r.endsPage() || !same || len(r.top.remove) > 0 || r.topIsMissing()
	add(r.layout.Record(), r.report.Wrote)
	r.report.At = r.last()
	if r.report.Wrote {
		r.report.At = r.at()
	}
	return nil
}

// foreseePage reports whether the page would be written.
func (r *run) foreseePage() (bool, error) {
	if r.o.Page.None {
		return false, nil
	}
	d, err := r.page(r.at())
	if err != nil {
		return false, err
	}
	same, err := r.isPublished(d)
	return !same, err
}

// topIsMissing reports whether there is no record above the sets, but should be.
func (r *run) topIsMissing() bool {
	return r.hasNames() && (r.top.published == nil || r.top.published.Record == nil)
}

// recordIsMissing reports whether there are documents without a record.
func (r *resourceSet) recordIsMissing() bool { return !r.isFirst() && r.prev.snapshot.Record == nil }

// foresee says which documents of the set would be written.
func (r *resourceSet) foresee(add func(ref layout.Ref, changes bool)) error {
	l, first, events, restyled := r.layout, r.isFirst(), r.found.Events() > 0, r.restyles()
	changes, err := r.foreseeChanges()
	if err != nil {
		return err
	}
	lists := first || events || restyled || r.found.Refreshed > 0
	add(l.ChangeDump(), r.o.Dumps.Change && (first || events || restyled || r.prev.snapshot.ChangeDump == nil))
	add(changes, first || events || restyled)
	add(l.ResourceDump(), r.o.Dumps.Resource && (lists || r.dumpIsStale()))
	add(l.ResourceList(), lists)
	r.foreseeArchives(add, lists)
	d := r.capabilityList()
	same, err := r.isPublished(d)
	if err != nil {
		return err
	}
	tells, err := r.foreseeNotification(lists || !same)
	add(l.FrameworkNotification(), tells)
	add(d.ref, !same)
	return err
}

// dumpIsStale reports whether the Resource Dump needs other packages although no
// resource has changed.
func (r *resourceSet) dumpIsStale() bool {
	dump, rule := r.prev.snapshot.ResourceDump, packagesOf(r.prev.snapshot)
	return dump == nil || dump.Lost != nil || rule == nil || rule.Size != r.o.PackageSize ||
		slices.ContainsFunc(dump.Packages, func(p *snapshot.Package) bool { return p.Lost != nil })
}

// foreseeChanges returns the document that the events will go into: the open
// Change List or, if that has no room, the Index of a new one.
func (r *resourceSet) foreseeChanges() (layout.Ref, error) {
	s := r.prev.snapshot
	if s == nil || r.found.Events() == 0 {
		return r.layout.ChangeList(), nil
	}
	open, err := s.OpenList()
	if err != nil {
		return layout.Ref{}, err
	}
	lists, at := r.changeLists(), r.at()
	if lists.isOver(open, at) || open.Entries+r.found.Events() > r.o.Rotate.most(r.o.limits.entries) || open.Bytes+r.foreseen > r.events.room {
		return r.layout.ChangeList(), nil
	}
	return open.Ref, nil
}
