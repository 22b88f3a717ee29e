package generator

import (
	"fmt"

	"github.com/wellspring-sync/wellspring/generator/internal/front"
	"github.com/wellspring-sync/wellspring/generator/policy"
)

// decision says what becomes of each document, and of the times: dry and real runs share
// it.
type decision struct {
	survey   *surveyed
	front    *front.Decision
	warnings []string
}

// decide decides on all documents. It refuses what would probably do harm, and writes
// nothing.
func decide(s *surveyed) (*decision, error) {
	d, chunks := &decision{survey: s}, 0
	for i := range s.sets {
		if err := d.checkAmount(&s.sets[i]); err != nil {
			return nil, s.sets[i].set.Failed(err)
		}
		chunks = max(chunks, s.sets[i].draft.Chunks())
	}
	times, err := s.from.clock.times(chunks)
	if err != nil {
		return nil, err
	}
	var sets []front.SetDecision
	for i := range s.sets {
		x := &s.sets[i]
		documents, err := x.draft.Decide(times)
		if err != nil {
			return nil, x.set.Failed(err)
		}
		sets = append(sets, front.SetDecision{Set: x.set, Edition: documents, Found: x.found})
	}
	d.front, err = front.Decide(s.pub, s.from.o.front(), times.At, s.found, sets)
	return d, err
}

// checkAmount guards against a source that is not there, or not all there.
func (d *decision) checkAmount(x *setSurvey) error {
	s := d.survey
	o, found, gone := s.from.o, x.found.Resources, x.found.Deleted
	if found == 0 && !o.AllowEmpty && x.set.Rules().IsTimed() {
		d.warnings = append(d.warnings, x.set.Of("no file of the source is in it now"))
		return nil
	}
	if found == 0 && !o.AllowEmpty {
		why := "the source has no files to publish"
		if x.set.HasName() {
			why = "no file of the source is in it"
		} else if s.notes.HasLeftOut() {
			why = "everything in the source is left out"
		}
		if gone > 0 {
			why += fmt.Sprintf(": all %d resources would be published as deleted", gone)
		}
		return &policy.Refusal{Why: why, Flag: "--allow-empty"}
	}
	published := found - x.found.Created + gone
	if found > 0 && !x.set.IsFirst() && !o.MaxDelete.Allows(gone, published) {
		return &policy.Refusal{
			Why:  fmt.Sprintf("%d of %d resources would be published as deleted, more than %s", gone, published, o.MaxDelete),
			Flag: fmt.Sprintf("--max-delete=%d", gone),
		}
	}
	return nil
}
