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
	d          *Decision
	area       *stage.Area
	notifier   *notifier
	retirement *retirement
	result     Result
}

// Write places all files, in the order of the commit: versions and patches, then TimeMaps;
// for each set its documents; what leads to them; the record. It also plans to remove what
// is not kept any longer at a time.
func (d *Decision) Write(ctx context.Context, area *stage.Area, beside Beside, now time.Time) (*Result, error) {
	w := &writing{d: d, area: area, notifier: &notifier{pub: d.pub, until: d.until, source: d.source.change(d.pub.First)}}
	w.retirement = newRetirement(d, now, beside.Dropped)
	top := &stage.Placer{Area: area}
	if err := w.placeBeside(top, beside); err != nil {
		return nil, err
	}
	w.move(top)
	for i := range d.Sets {
		if err := w.set(ctx, &d.Sets[i]); err != nil {
			return nil, d.Sets[i].Set.Failed(err)
		}
	}
	w.result.Notifications = append(w.result.Notifications, w.notifier.ends()...)
	if err := w.describe(top); err != nil {
		return nil, err
	}
	w.move(top)
	if err := w.placeRecord(top); err != nil {
		return nil, err
	}
	w.move(top)
	w.result.Swept = w.retirement.sweep(d.pub.Files.Tx)
	return &w.result, nil
}

// move takes what was placed into the result.
func (w *writing) move(p *stage.Placer) {
	w.result.Placed = append(w.result.Placed, p.Placed...)
	p.Placed = nil
}

// placeBeside places versions and patches, which nothing names yet, then TimeMaps, and the
// style sheet.
func (w *writing) placeBeside(top *stage.Placer, beside Beside) error {
	for _, x := range beside.Bodies {
		if err := top.Place(x.File, x.Ref, stage.Body); err != nil {
			return err
		}
	}
	for _, x := range beside.TimeMaps {
		if err := top.Place(x.File, x.Ref, stage.Aside); err != nil {
			return err
		}
	}
	return w.d.style.place(top, stage.Head)
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
	if err := s.capabilityList.place(to, stage.Head); err != nil {
		return err
	}
	w.result.Reused += s.reused
	unreached := slices.DeleteFunc(slices.Clone(s.unreached), func(path string) bool { return written.Archived[path] })
	w.retirement.add(unreached)
	if s.Set.HasName() && s.Wrote {
		if err := w.placeSetRecord(s, unreached, to); err != nil {
			return err
		}
	}
	w.move(to)
	return nil
}

// notify places the notification of a set.
func (w *writing) notify(s *SetDecision, told []edition.Told, to *stage.Placer) error {
	n := w.notifier.notification(s, told)
	if len(n.Changes) > 0 {
		w.result.Notifications = append(w.result.Notifications, n)
	}
	b, err := n.Payload()
	if err != nil {
		return fmt.Errorf("writing the notification: %w", err)
	}
	return to.PlaceBytes(s.Set.Layout.FrameworkNotification(), b)
}

// describe places the page for people and the Source Description, which leads to it.
func (w *writing) describe(top *stage.Placer) error {
	if err := w.d.page.place(top, stage.Head); err != nil {
		return err
	}
	return w.d.source.place(top)
}
