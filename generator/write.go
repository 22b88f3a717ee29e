package generator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/wellspring-sync/wellspring/generator/internal/front"
	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/internal/stage"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/plan"
	"github.com/wellspring-sync/wellspring/internal/publish"
)

// written is what a run has put in place. It is nil if there was nothing to write.
type written struct {
	*front.Result
	warnings []string
}

// write carries the decision out, and decides nothing: it stages all files, makes sure that
// nothing else has changed the publication, and commits.
func (d *decision) write(ctx context.Context) (w *written, err error) {
	s := d.survey
	w = &written{}
	if !d.front.Wrote {
		err = s.keepPlan(s.pub.At())
	} else {
		err = d.commit(ctx, w)
	}
	if err != nil {
		return w, err
	}
	if err := s.cache.Finish(); err != nil {
		w.warnings = append(w.warnings, fmt.Sprintf("the stat cache could not be written, so the next run may read more files: %v", err))
	}
	return w, s.from.files.WriteRetained(ctx, s.from.next)
}

func (d *decision) commit(ctx context.Context, w *written) error {
	s := d.survey
	if err := d.checkSpace(); err != nil {
		return err
	}
	k := &s.linking
	beside := front.Beside{Bodies: slices.Concat(k.versions.Files(), k.patches.Files()), TimeMaps: k.versions.TimeMaps(), Dropped: k.versions.Dropped()}
	result, err := d.front.Write(ctx, s.area, beside, d.front.At())
	if err != nil {
		return err
	}
	c := &committing{o: s.from.o, files: s.from.files, pub: s.pub, plan: s.plan, at: d.front.At()}
	err = c.commit(ctx, result)
	if _, isCommitted := errors.AsType[*policy.PlanError](err); isCommitted || err == nil {
		w.Result = result
	}
	return err
}

// committing commits what was placed.
type committing struct {
	o     *Options
	files *last.Files
	pub   *last.Publication
	plan  *stage.Plan
	at    time.Time
}

// commit makes sure that the publication is still the one that this run goes on from,
// writes the upload plan beside, commits, and puts the plan in place.
func (c *committing) commit(ctx context.Context, result *front.Result) error {
	changed, err := c.pub.Changed()
	if err != nil {
		return fmt.Errorf("comparing the publication once more: %w", err)
	}
	if changed {
		return policy.ErrChanged
	}
	if err := c.files.CheckElsewhere(ctx, c.pub.Layout); err != nil {
		return err
	}
	tx := c.files.Tx
	if err := c.plan.Prepare(c.o.planHeader(c.pub, c.at), result.Placed, tx.Removes(), result.Notifications); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	return c.putPlan()
}

// putPlan puts the upload plan in place, after the commit. What was published stays so.
func (c *committing) putPlan() error {
	if err := c.plan.Commit(); err != nil {
		return &policy.PlanError{Err: err}
	}
	return nil
}

// checkSpace makes sure that what has to be written in addition to the staged
// pieces has room.
func (d *decision) checkSpace() error {
	s := d.survey
	free, err := publish.Free(s.from.files.Tx.Root())
	if err != nil {
		if !errors.Is(err, errors.ErrUnsupported) {
			s.from.o.Log.Info("could not find out how much space is free", "error", err)
		}
		return nil
	}
	need := int64(0)
	for i := range s.sets {
		x := &s.sets[i]
		need += x.draft.ToWrite()
		if x.set.IsFirst() || x.draft.Chunks() == 0 {
			continue
		}
		changes := x.set.Snapshot.Changes
		if info, err := fs.Stat(s.pub.Files.FS, changes[len(changes)-1].Path); err == nil {
			need += info.Size()
		}
	}
	if need <= free {
		return nil
	}
	return &policy.Refusal{Why: fmt.Sprintf("too little space in the output directory: %d bytes are needed, %d are free", need, free)}
}

// beginPlan begins the upload plan, once it is known what was published.
func (s *surveyed) beginPlan() (err error) {
	o := s.from.o
	if o.Plan == "" || o.DryRun {
		return nil
	}
	var behind bool
	if s.plan, behind, err = o.newPlan(s.pub); behind && o.Previous.Place == "" {
		s.warnings = append(s.warnings, planIsBehind(o.Plan))
	}
	return err
}

func planIsBehind(name string) string {
	return fmt.Sprintf("the upload plan %s did not lead to what is published here, and is replaced: if it was not carried out, "+
		"make a new one against what is live, with --previous", name)
}

// newPlan begins the upload plan of a run that goes on from a publication.
func (o *Options) newPlan(pub *last.Publication) (p *stage.Plan, behind bool, err error) {
	from, err := stage.StateOf(pub.Files.FS, pub.Layout, pub.At())
	if err != nil {
		return nil, false, fmt.Errorf("looking at the record: %w", err)
	}
	p, behind, err = stage.NewPlan(o.Plan, pub.Layout, from)
	if errors.Is(err, plan.ErrOther) {
		err = &policy.Refusal{Why: fmt.Sprintf("%s: %v: remove it, or choose another file", o.Plan, err)}
	}
	return p, behind, err
}

// keepPlan has a plan there that says so if there is nothing to upload. One that was not
// carried out stays as it is.
func (s *surveyed) keepPlan(at time.Time) error { return s.from.o.keepPlan(s.plan, s.pub, at) }

func (o *Options) keepPlan(p *stage.Plan, pub *last.Publication, at time.Time) error {
	if !p.IsNeeded() {
		return nil
	}
	if err := p.Prepare(o.planHeader(pub, at), nil, nil, nil); err != nil {
		return err
	}
	return p.Commit() // nothing was published
}

// planHeader is what the upload plan says of a publication of a time.
func (o *Options) planHeader(pub *last.Publication, at time.Time) plan.Header {
	return plan.Header{
		Release: o.Release, BaseURL: pub.Layout.BaseURL, To: plan.State{At: at},
		Apart: realPath(o.Out) != realPath(cmp.Or(o.Source, o.Out)),
	}
}
