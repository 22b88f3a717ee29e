package generator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/wellspring-sync/wellspring/internal/publish"
	"github.com/wellspring-sync/wellspring/scanner"
)

// publish writes the documents and commits them, if they have anything new to
// say and no guard objects.
func (r *run) publish(ctx context.Context) error {
	for _, set := range r.sets {
		if err := set.checkAmount(); err != nil {
			return set.failed(err)
		}
	}
	if r.o.DryRun {
		return r.foresee()
	}
	at, err := r.compose(ctx)
	if err != nil {
		return err
	}
	if !r.report.Wrote {
		r.report.At = r.last()
		return r.keepPlan()
	}
	r.report.At = at
	if err := r.checkUnchanged(); err != nil {
		return err
	}
	if err := r.checkElsewhere(ctx); err != nil {
		return err
	}
	if err := r.plan.prepare(); err != nil {
		return err
	}
	if err := r.tx.Commit(ctx); err != nil {
		return err
	}
	s := r.staging
	r.report.WrittenBytes, r.report.Bodies = s.written, s.bodies
	r.report.Packages, r.report.PackageBytes = s.packages, s.packageBytes
	return r.plan.commit()
}

// compose stages all documents in the order of the commit, and returns the time
// of the publication.
func (r *run) compose(ctx context.Context) (time.Time, error) {
	at, err := r.dateEvents()
	if err != nil {
		return at, err
	}
	completed := r.o.Now().UTC().Truncate(time.Second)
	if completed.Before(at) {
		completed = at
	}
	if err := r.checkSpace(); err != nil {
		return at, err
	}
	if err := r.versions.finish(); err != nil {
		return at, err
	}
	if err := r.putStyle(r.stage); err != nil {
		return at, err
	}
	for _, set := range r.sets {
		if err := set.compose(ctx, at, completed); err != nil {
			return at, set.failed(err)
		}
	}
	if r.hasNames() {
		return at, r.composeTop(at)
	}
	set := r.sets[0]
	if err := r.describeSource(set.stage, at); err != nil {
		return at, err
	}
	err = set.writeRecord(at)
	r.report.Wrote = set.found.Wrote
	return at, err
}

// dateEvents gives the events of all sets their times, the last of which is that of the
// run.
func (r *run) dateEvents() (time.Time, error) {
	chunks := 0
	for _, set := range r.sets {
		chunks = max(chunks, len(set.events.chunks))
	}
	at, step, err := r.times(chunks)
	for _, set := range r.sets {
		set.events.date(at, step)
	}
	return at, err
}

// checkUnchanged makes sure that the publication is still the one that this run
// goes on from.
func (r *run) checkUnchanged() error {
	check := func(changed bool, err error) error {
		if err != nil {
			return fmt.Errorf("comparing the publication once more: %w", err)
		}
		if changed {
			return ErrChanged
		}
		return nil
	}
	for _, set := range r.sets {
		if set.isFirst() {
			continue
		}
		if err := check(set.prev.snapshot.Changed()); err != nil {
			return err
		}
	}
	if r.top.published == nil {
		return nil
	}
	return check(r.top.published.Changed())
}

// leavesFilesOut reports whether the source has anything but the publication.
func (r *run) leavesFilesOut() bool {
	for why, n := range r.report.LeftOut {
		if n > 0 && why != scanner.Published {
			return true
		}
	}
	return false
}

// checkAmount guards against a source that is not there, or not all there.
func (r *resourceSet) checkAmount() error {
	found, gone := r.found.Resources, r.found.Deleted
	if found == 0 && !r.o.AllowEmpty && r.rules.IsTimed() {
		r.warn("no file of the source is in it now")
		return nil
	}
	if found == 0 && !r.o.AllowEmpty {
		why := "the source has no files to publish"
		if r.name != "" {
			why = "no file of the source is in it"
		} else if r.leavesFilesOut() {
			why = "everything in the source is left out"
		}
		if gone > 0 {
			why += fmt.Sprintf(": all %d resources would be published as deleted", gone)
		}
		return &Refusal{Why: why, Flag: "--allow-empty"}
	}
	published := found - r.found.Created + gone
	if found > 0 && !r.isFirst() && !r.o.MaxDelete.allows(gone, published) {
		return &Refusal{
			Why:  fmt.Sprintf("%d of %d resources would be published as deleted, more than %s", gone, published, r.o.MaxDelete),
			Flag: fmt.Sprintf("--max-delete=%d", gone),
		}
	}
	return nil
}

// checkSpace makes sure that what has to be written in addition to the staged
// pieces has room.
func (r *run) checkSpace() error {
	free, err := publish.Free(r.tx.Root())
	if err != nil {
		if !errors.Is(err, errors.ErrUnsupported) {
			r.o.Log.Info("could not find out how much space is free", "error", err)
		}
		return nil
	}
	need := int64(0)
	for _, set := range r.sets {
		need += set.toWrite()
	}
	if need <= free {
		return nil
	}
	return &Refusal{Why: fmt.Sprintf("too little space in the output directory: %d bytes are needed, %d are free", need, free)}
}

// toWrite is how many bytes writing the lists takes, beside what is staged.
func (r *resourceSet) toWrite() int64 {
	need := r.list.toWrite() + r.events.toWrite()
	if !r.isFirst() && r.events.total > 0 {
		changes := r.prev.snapshot.Changes
		if info, err := fs.Stat(r.out, changes[len(changes)-1].Path); err == nil {
			need += info.Size()
		}
	}
	return need
}
