package front

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/wellspring-sync/wellspring/generator/internal/edition"
	"github.com/wellspring-sync/wellspring/generator/internal/linking"
	"github.com/wellspring-sync/wellspring/generator/internal/stage"
	"github.com/wellspring-sync/wellspring/internal/notify"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
)

// Beside is what lies beside the documents of all sets: versions and patches.
type Beside struct {
	Bodies, TimeMaps []linking.Staged
	// Dropped are files that nothing names any more.
	Dropped []string
}

// Result is what came of a decision, once all files are placed.
type Result struct {
	// Placed are all files, in the order of the commit.
	Placed []stage.Placed
	// Reused counts the bodies that stayed in use, and Swept those that are removed.
	Reused, Swept int
	// Notifications are those of each set that has a hub.
	Notifications []notify.Notification
}

// writing carries a decision out.
type writing struct {
	d      *Decision
	area   *stage.Area
	beside Beside
	now    time.Time // of what is retired
	result Result
	// sets are what was placed and is unreached of each set, in their order.
	sets []setResult
}

type setResult struct {
	placed    []stage.Placed
	unreached []string
}

// Write places all files, in the order of the commit: versions and patches, then TimeMaps;
// for each set its documents; what leads to them; the record. It also plans to remove what
// is not kept any longer at a time.
func (d *Decision) Write(ctx context.Context, area *stage.Area, beside Beside, now time.Time) (*Result, error) {
	w := &writing{d: d, area: area, beside: beside, now: now}
	w.result.Notifications = nil
	top := &stage.Placer{Area: area}
	if err := w.placeBeside(top); err != nil {
		return nil, err
	}
	w.move(top)
	for i := range d.Sets {
		if err := w.set(ctx, &d.Sets[i]); err != nil {
			return nil, d.Sets[i].Set.Failed(err)
		}
	}
	w.result.Notifications = append(w.result.Notifications, d.ends()...)
	if err := w.describe(top); err != nil {
		return nil, err
	}
	w.move(top)
	if err := w.placeRecord(top); err != nil {
		return nil, err
	}
	w.move(top)
	return &w.result, nil
}

// move takes what was placed into the result.
func (w *writing) move(p *stage.Placer) {
	w.result.Placed = append(w.result.Placed, p.Placed...)
	p.Placed = nil
}

// placeBeside places versions and patches, which nothing names yet, then TimeMaps, and the
// style sheet.
func (w *writing) placeBeside(top *stage.Placer) error {
	for _, x := range w.beside.Bodies {
		if err := top.Place(x.File, x.Ref, stage.Body); err != nil {
			return err
		}
	}
	for _, x := range w.beside.TimeMaps {
		if err := top.Place(x.File, x.Ref, stage.Aside); err != nil {
			return err
		}
	}
	return w.d.style.place(top)
}

// set places the documents of a set and, if it has a name, its record.
func (w *writing) set(ctx context.Context, s *SetDecision) error {
	to := &stage.Placer{Area: w.area, Fresh: s.Set.HasName() && s.Set.IsFirst()}
	written, err := s.Edition.Write(ctx, to)
	if err != nil {
		return err
	}
	if s.notifies {
		if err := w.notify(s, written.Told, to); err != nil {
			return err
		}
	}
	if err := s.capabilityList.place(to); err != nil {
		return err
	}
	w.result.Reused += s.reused
	reached := setResult{placed: to.Placed, unreached: slices.DeleteFunc(slices.Clone(s.unreached), func(path string) bool { return written.Archived[path] })}
	if s.Set.HasName() && s.Wrote {
		if err := w.placeSetRecord(s, &reached, to); err != nil {
			return err
		}
		reached.placed = to.Placed
	}
	w.sets = append(w.sets, reached)
	w.move(to)
	return nil
}

// describe places the page for people and the Source Description, which leads to it, with
// what is under that.
func (w *writing) describe(top *stage.Placer) error {
	if err := w.d.page.place(top); err != nil {
		return err
	}
	for i := range w.d.parts {
		r := &w.d.parts[i]
		if !r.write {
			continue
		}
		f, err := top.Complete(r.content)
		if err != nil {
			return err
		}
		if err := top.Place(f, r.ref, stage.Body); err != nil {
			return err
		}
	}
	return w.d.description.place(top)
}

// newRecord begins a record.
func (w *writing) newRecord(l layout.Layout, at time.Time) *snapshot.Record {
	return &snapshot.Record{Format: snapshot.RecordFormat, Release: w.d.o.Release, Identity: l.Identity, At: at}
}

// placeSetRecord places the record of one of several sets.
func (w *writing) placeSetRecord(s *SetDecision, reached *setResult, to *stage.Placer) error {
	record := w.newRecord(s.Set.Layout, w.d.recordAt(s))
	record.Past, record.Packages = w.d.pastOf(s), s.Edition.Packages()
	var err error
	if record.Heads, err = w.heads(reached.placed, sorted(headsOf(s))); err != nil {
		return err
	}
	if record.Retired, err = w.retireSet(s, reached); err != nil {
		return err
	}
	return placeRecord(record, s.Set.Layout, to)
}

// placeRecord places the record of the publication.
func (w *writing) placeRecord(top *stage.Placer) error {
	d := w.d
	record := w.newRecord(d.pub.Layout, d.at)
	record.Past = d.past()
	paths := append(d.pub.ForPeople(), d.pub.Layout.SourceDescription().Path)
	var err error
	if d.pub.HasNames() {
		var records []string
		for i := range d.Sets {
			l := d.Sets[i].Set.Layout
			record.Sets = append(record.Sets, l.Folder)
			records = append(records, l.Record().Path)
		}
		slices.Sort(record.Sets)
		paths = append(records, paths...)
		record.Retired, err = w.retireTop()
	} else {
		s := &d.Sets[0]
		record.At, record.Packages = d.recordAt(s), s.Edition.Packages()
		paths = sorted(append(paths, headsOf(s)...))
		w.sets[0].placed = w.result.Placed
		record.Retired, err = w.retireSet(s, &w.sets[0])
	}
	if err != nil {
		return err
	}
	if record.Heads, err = w.heads(w.result.Placed, paths); err != nil {
		return err
	}
	return placeRecord(record, d.pub.Layout, top)
}

func placeRecord(record *snapshot.Record, l layout.Layout, to *stage.Placer) error {
	b, err := record.Marshal()
	if err != nil {
		return err
	}
	return to.PlaceBytes(l.Record(), b)
}

// headsOf returns the paths of the heads of a set, as they will be.
func headsOf(s *SetDecision) []string {
	paths := []string{s.Set.Layout.CapabilityList().Path, s.Edition.OpenList()}
	for _, d := range edition.Documents(s.Set) {
		paths = append(paths, d.Path)
	}
	if s.Set.Options.Hub != "" {
		paths = append(paths, s.Set.Layout.FrameworkNotification().Path)
	}
	return paths
}

// sorted returns paths in their order, each once, so that what had to be written again
// leaves no trace in a record.
func sorted(paths []string) []string {
	slices.Sort(paths)
	return slices.Compact(paths)
}

// heads returns the heads of paths as they will be, those that are placed and those that
// stay.
func (w *writing) heads(placed []stage.Placed, paths []string) (heads []snapshot.Head, err error) {
	have := map[string]*stage.Placed{}
	for i := range placed {
		if placed[i].Kind == stage.Head { // of very many files
			have[placed[i].Path] = &placed[i]
		}
	}
	for _, path := range paths {
		if p := have[path]; p != nil {
			heads = append(heads, p.Head())
			continue
		}
		h, err := snapshot.HeadOf(w.d.pub.FS, path)
		if err != nil {
			return nil, fmt.Errorf("looking at %s: %w", path, err)
		}
		heads = append(heads, h)
	}
	return heads, nil
}
