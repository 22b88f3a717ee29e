// Package front decides on what leads to the documents of all sets and says how they
// belong together: Capability Lists, notifications, the page for people and its style
// sheet, the Source Description and the records, with what is retired. The page, lists and
// descriptions are rendered when they are decided; notifications and records say what was
// placed.
package front

import (
	"time"

	"github.com/wellspring-sync/wellspring/generator/internal/edition"
	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/templates"
)

// Options of the front.
type Options struct {
	Page        policy.Page
	DescribedBy string
	Limits      policy.Limits
	Release     string
	Grace       time.Duration
}

// Decision says what becomes of what is above and around the documents of sets.
type Decision struct {
	pub *last.Publication
	o   *Options
	at  time.Time // of the publication
	// until is up to when notifications tell.
	until time.Time
	// isPruned says that nothing is looked at but what is pruned.
	isPruned bool
	found    policy.Counts
	// Sets are those of the publication, in their order.
	Sets []SetDecision
	// Wrote is true if anything is written.
	Wrote bool

	style, page rendered
	source      description
}

// SetDecision says what becomes of a set.
type SetDecision struct {
	Set     *last.Set
	Edition *edition.Decision
	Found   policy.Counts
	// Wrote is true if anything of the set is written.
	Wrote bool

	capabilityList rendered
	notifies       bool
	// unreached are bodies that nothing leads to any more, unless the archives come to lead
	// to them, and reused is how many stay in use.
	unreached []string
	reused    int
}

// Decide decides on all of it for a publication of the time at, once it is decided what
// becomes of the documents of sets, in their order.
func Decide(pub *last.Publication, o *Options, at time.Time, found policy.Counts, sets []SetDecision) (*Decision, error) {
	d := &Decision{pub: pub, o: o, at: at, until: at, found: found, Sets: sets}
	var err error
	if d.style, err = render(pub.Files.FS, pub.Layout.Style(), templates.Style); err != nil {
		return nil, err
	}
	for i := range d.Sets {
		s := &d.Sets[i]
		if s.capabilityList, err = render(pub.Files.FS, s.Set.Layout.CapabilityList(), capabilityList(s.Set)); err != nil {
			return nil, s.Set.Failed(err)
		}
	}
	if d.page, err = (&pageMaker{pub, o, found, sets, d.chronicle()}).make(); err != nil {
		return nil, err
	}
	if d.source, err = describe(pub, o); err != nil {
		return nil, err
	}
	d.decideWrites()
	return d, d.decideBodies()
}

// decideBodies finds the bodies of each set that nothing leads to any more, if anything of
// it is written.
func (d *Decision) decideBodies() (err error) {
	for i := range d.Sets {
		s := &d.Sets[i]
		if !s.Wrote {
			continue
		}
		if s.unreached, s.reused, err = s.Edition.Unreached(d.pub.Files.IsThere); err != nil {
			return s.Set.Failed(err)
		}
	}
	return nil
}

// recordAt is the time that the record of a set states: pruning leaves it as it is.
func (d *Decision) recordAt(s *SetDecision) time.Time {
	if d.isPruned {
		return s.Set.At
	}
	return d.at
}

// chronicle knows what was published when, with this publication.
func (d *Decision) chronicle() chronicle {
	return chronicle{pub: d.pub, at: d.at, found: d.found, sets: d.Sets}
}

// decideWrites decides which sets have new notifications and records.
func (d *Decision) decideWrites() {
	for i := range d.Sets {
		s := &d.Sets[i]
		s.Wrote = len(s.Edition.Heads()) > 0 || s.capabilityList.changes()
		if s.Set.Options.Hub != "" {
			s.notifies = s.Edition.Tells() || s.capabilityList.changes() || len(d.source.change(d.pub.First)) > 0 || !d.pub.Files.IsThere(s.Set.Layout.FrameworkNotification().Path)
		}
		s.Wrote = s.Wrote || s.notifies || s.Set.IsFirst() || s.Set.Snapshot.Record == nil
		if !s.Set.HasName() { // whose record is that of the publication
			s.Wrote = s.Wrote || d.writesTop()
		}
		d.Wrote = d.Wrote || s.Wrote
	}
	if d.pub.HasNames() {
		isMissing := d.pub.Together == nil || d.pub.Together.Record == nil
		d.Wrote = d.Wrote || d.writesTop() || isMissing || len(d.pub.Leaving.Remove) > 0
	}
}

// writesTop reports whether anything is written above the sets, or ends there.
func (d *Decision) writesTop() bool {
	return d.style.changes() || d.page.changes() || d.source.changes() || d.pub.EndsPage()
}

// Heads returns the paths of the heads that are written, in the order of the commit.
func (d *Decision) Heads() (paths []string) {
	if !d.Wrote {
		return nil
	}
	add := func(path string, writes bool) {
		if writes {
			paths = append(paths, path)
		}
	}
	paths = append(paths, d.style.path()...)
	for i := range d.Sets {
		s := &d.Sets[i]
		paths = append(paths, s.Edition.Heads()...)
		add(s.Set.Layout.FrameworkNotification().Path, s.notifies)
		paths = append(paths, s.capabilityList.path()...)
		add(s.Set.Layout.Record().Path, s.Wrote && s.Set.HasName())
	}
	paths = append(paths, d.page.path()...)
	paths = append(paths, d.source.path()...)
	return append(paths, d.pub.Layout.Record().Path)
}

// At is the time of the publication.
func (d *Decision) At() time.Time { return d.at }
