package last

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
)

// Read reads what was published. It returns a *[policy.Refusal] or another error where the
// next publication cannot go on from it; what it found out is in the publication all the
// same.
func Read(f *Files, next *Next, losses Losses) (*Publication, error) {
	p := &Publication{Files: f, Layout: next.Layout, next: next, Warnings: slices.Clone(f.Warnings)}
	r := &reader{pub: p, next: next, place: &f.place, losses: losses, leaving: &leaver{p}, guard: &guard{p}}
	if err := r.makeSets(); err != nil {
		return p, err
	}
	var err error
	switch {
	case next.Rebase:
		p.First = true
		r.leaving.replace()
	case p.HasNames():
		err = r.readTogether()
	default:
		err = r.readSet(p.Sets[0])
	}
	if err == nil {
		err = r.guard.checkForPeople()
	}
	return p, err
}

// reader makes a publication of what is there.
type reader struct {
	pub     *Publication
	next    *Next
	place   *Place
	losses  Losses
	leaving *leaver
	guard   *guard
}

func (r *reader) makeSets() error {
	for i := range r.next.Sets {
		s := &Set{Options: r.next.Sets[i].WithDefaults(), Number: i, Layout: r.pub.Layout}
		if s.HasName() {
			var err error
			if s.Layout, err = s.Options.Layout(r.pub.Layout); err != nil {
				return fmt.Errorf("the set %q: %w", s.Options.Name, err)
			}
		}
		r.pub.Sets = append(r.pub.Sets, s)
	}
	return nil
}

// open opens the snapshot of a set.
func (r *reader) open(l layout.Layout) (*snapshot.Snapshot, error) {
	if r.pub.Files.LeavesBodies() {
		return snapshot.OpenElsewhere(r.pub.Files.FS, l)
	}
	return snapshot.Open(r.pub.Files.FS, l)
}

// readSet finds what was published of a set, or makes sure that there is nothing.
func (r *reader) readSet(s *Set) error {
	found, err := r.open(s.Layout)
	switch {
	case errors.Is(err, snapshot.ErrNone) && r.place.mustHave():
		return &policy.MissingError{Place: r.place.name()}
	case errors.Is(err, snapshot.ErrNone):
		r.pub.First = true
		return r.guard.checkFolder(s)
	case err != nil:
		return RefuseIdentity(plain(err))
	case r.place.Previous.First && r.place.DryRun:
		return r.place.refuseFirst()
	}
	s.Snapshot, s.At = found, found.Last
	r.warnOfDocuments(r.pub.warnOf(s), found.Missing, found.Altered)
	if found.Record == nil {
		r.pub.warnOf(s)("%s was missing: the documents alone had to say what was published", s.Layout.Record().Path)
	} else {
		s.Retired = found.Record.Retired
	}
	if r.next.AsIs { // so that nothing comes in the way, and no package is needed
		s.goOnAsItIs()
		return nil
	}
	if err := r.guard.checkInTheWay(s); err != nil {
		return err
	}
	return s.readDumps(r.next.Limits, r.losses, r.pub.warnOf(s))
}

// warnOfDocuments tells of documents that were not there, or not as they were published.
func (r *reader) warnOfDocuments(warn warner, missing, altered []string) {
	for _, path := range missing {
		warn("%s was missing", path)
	}
	for _, path := range altered {
		warn("%s was changed by something else: it is written again", path)
	}
}

// readTogether finds what was published of sets with names.
func (r *reader) readTogether() error {
	open := snapshot.OpenSets
	if r.pub.Files.LeavesBodies() {
		open = snapshot.OpenSetsElsewhere
	}
	together, err := open(r.pub.Files.FS, r.pub.Layout)
	switch {
	case errors.Is(err, snapshot.ErrNone):
		return r.beginSets()
	case err != nil:
		return RefuseIdentity(plain(err))
	case r.place.Previous.First && r.place.DryRun:
		return r.place.refuseFirst()
	}
	r.pub.Together, r.pub.at = together, together.Last
	r.warnOfDocuments(r.pub.warn, together.Missing, together.Altered)
	return r.readSets()
}

// beginSets makes sure that a first publication does not mix with other files.
func (r *reader) beginSets() error {
	if r.place.mustHave() {
		return &policy.MissingError{Place: r.place.name()}
	}
	r.pub.First = true
	if err := r.guard.checkTop(); err != nil {
		return err
	}
	for _, s := range r.pub.Sets {
		if err := r.guard.checkFolder(s); err != nil {
			return s.Failed(err)
		}
	}
	return nil
}

// readSets finds out which sets go on, which are new, and which are gone.
func (r *reader) readSets() error {
	folders, known := r.pub.Together.Folders, 0
	for _, s := range r.pub.Sets {
		var err error
		if slices.Contains(folders, s.Layout.Folder) {
			known++
			err = r.readSet(s)
		} else {
			err = r.guard.checkFolder(s)
		}
		if err != nil {
			return s.Failed(err)
		}
	}
	if known == 0 {
		return &policy.Refusal{
			Why:  fmt.Sprintf("none of the sets that are published (%s) is in the settings: they would all be removed", strings.Join(folders, ", ")),
			Flag: "--rebase",
		}
	}
	for _, folder := range folders {
		if slices.ContainsFunc(r.pub.Sets, func(s *Set) bool { return s.Layout.Folder == folder }) {
			continue
		}
		if err := r.leaving.endSet(folder); err != nil {
			return fmt.Errorf("reading the set in %s, which is published no more: %w", folder, plain(err))
		}
	}
	return nil
}
