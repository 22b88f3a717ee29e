package last

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/notify"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
)

// Publication is what was published last, and how the next one goes on from it.
type Publication struct {
	*Files
	Layout layout.Layout // of the next publication
	// First is true if there is nothing to go on from, or it is replaced.
	First bool
	// Sets are those of the next publication, in their order.
	Sets []*Set
	// Together is what holds sets with names together; nil if there was nothing of the
	// kind, or none of its sets goes on.
	Together *snapshot.Sets
	Leaving  Leaving
	Warnings []string

	next  *Next
	place *Place
	at    time.Time
}

// Leaving is what is published and does not go on: sets that are published no more, and
// a publication that is replaced.
type Leaving struct {
	// Folders are those of its documents.
	Folders []string
	// Remove are files that are removed at once, and Obsolete those that are kept for a
	// while, unless they are published again.
	Remove, Obsolete []string
	// Patches are named by lists of sets that end, and TimeMaps are those of their
	// resources.
	Patches, TimeMaps map[string]bool
	// Notifications are for the subscribers of sets that end, without a time.
	Notifications []notify.Notification
}

// Losses are packages of the last publication that turned out to be damaged, by their
// paths, and why.
type Losses map[string]error

// Read reads what was published. It returns a *[policy.Refusal] or another error where the
// next publication cannot go on from it; what it found out is in the publication all the
// same.
func Read(f *Files, next *Next, losses Losses) (*Publication, error) {
	p := &Publication{Files: f, Layout: next.Layout, next: next, place: &f.place, Warnings: slices.Clone(f.Warnings)}
	if err := p.makeSets(); err != nil {
		return p, err
	}
	var err error
	switch {
	case next.Rebase:
		p.First = true
		p.replace()
	case p.HasNames():
		err = p.readTogether(losses)
	default:
		err = p.readSet(p.Sets[0], losses)
	}
	if err == nil {
		err = p.checkForPeople()
	}
	return p, err
}

func (p *Publication) makeSets() error {
	for i := range p.next.Sets {
		s := &Set{Options: p.next.Sets[i].WithDefaults(), Number: i, Layout: p.Layout}
		if s.HasName() {
			var err error
			if s.Layout, err = s.Options.Layout(p.Layout); err != nil {
				return fmt.Errorf("the set %q: %w", s.Options.Name, err)
			}
		}
		p.Sets = append(p.Sets, s)
	}
	return nil
}

// HasNames reports whether the sets have names, so that there is a record above theirs.
func (p *Publication) HasNames() bool { return p.next.hasNames() }

// At is the latest time that was published, or zero.
func (p *Publication) At() (at time.Time) {
	at = p.at
	for _, s := range p.Sets {
		at = Latest(at, s.At)
	}
	return at
}

// Latest returns the later one of two times.
func Latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Record returns the record of the whole publication, or nil if there is none.
func (p *Publication) Record() *snapshot.Record {
	switch {
	case p.HasNames() && p.Together != nil:
		return p.Together.Record
	case !p.HasNames() && !p.Sets[0].IsFirst():
		return p.Sets[0].Snapshot.Record
	}
	return nil
}

// HadPage reports whether the last publication has a page for people.
func (p *Publication) HadPage() bool {
	r := p.Record()
	return r != nil && r.Head(p.Layout.Page().Path) != nil
}

// EndsPage reports whether there was a page, and will be none.
func (p *Publication) EndsPage() bool { return !p.next.Page && p.HadPage() }

// Changed reports whether something else has changed the publication since it was read.
func (p *Publication) Changed() (bool, error) {
	for _, s := range p.Sets {
		if s.IsFirst() {
			continue
		}
		if changed, err := s.Snapshot.Changed(); changed || err != nil {
			return changed, err
		}
	}
	if p.Together == nil {
		return false, nil
	}
	return p.Together.Changed()
}

func (p *Publication) warn(format string, args ...any) {
	p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...))
}

func (p *Publication) warnOf(s *Set) warner {
	return func(format string, args ...any) { p.warn("%s", s.Of(fmt.Sprintf(format, args...))) }
}

// open opens the snapshot of a set.
func (p *Publication) open(l layout.Layout) (*snapshot.Snapshot, error) {
	if p.LeavesBodies() {
		return snapshot.OpenElsewhere(p.FS, l)
	}
	return snapshot.Open(p.FS, l)
}

// readSet finds what was published of a set, or makes sure that there is nothing.
func (p *Publication) readSet(s *Set, losses Losses) error {
	found, err := p.open(s.Layout)
	switch {
	case errors.Is(err, snapshot.ErrNone) && p.place.mustHave():
		return &policy.MissingError{Place: p.place.name()}
	case errors.Is(err, snapshot.ErrNone):
		p.First = true
		return p.checkFolder(s)
	case err != nil:
		return RefuseIdentity(plain(err))
	case p.place.Previous.First && p.place.DryRun:
		return p.place.refuseFirst()
	}
	s.Snapshot, s.At = found, found.Last
	p.warnOfDocuments(p.warnOf(s), found.Missing, found.Altered)
	if found.Record == nil {
		p.warnOf(s)("%s was missing: the documents alone had to say what was published", s.Layout.Record().Path)
	} else {
		s.Retired = found.Record.Retired
	}
	if p.next.AsIs { // so that nothing comes in the way, and no package is needed
		s.goOnAsItIs()
		return nil
	}
	if err := p.checkInTheWay(s); err != nil {
		return err
	}
	return s.readDumps(p.next.Limits, losses, p.warnOf(s))
}

// goOnAsItIs takes the options of the last publication.
func (s *Set) goOnAsItIs() {
	s.Options.Hub = s.Snapshot.Hub
	s.Options.Dumps = policy.Dumps{Resource: s.Snapshot.ResourceDump != nil, Change: s.Snapshot.ChangeDump != nil}
	if packages := s.Packages(); packages != nil {
		s.Options.PackageSize = packages.Size
	}
}

// warnOfDocuments tells of documents that were not there, or not as they were published.
func (p *Publication) warnOfDocuments(warn warner, missing, altered []string) {
	for _, path := range missing {
		warn("%s was missing", path)
	}
	for _, path := range altered {
		warn("%s was changed by something else: it is written again", path)
	}
}

// readTogether finds what was published of sets with names.
func (p *Publication) readTogether(losses Losses) error {
	open := snapshot.OpenSets
	if p.LeavesBodies() {
		open = snapshot.OpenSetsElsewhere
	}
	together, err := open(p.FS, p.Layout)
	switch {
	case errors.Is(err, snapshot.ErrNone):
		return p.beginSets()
	case err != nil:
		return RefuseIdentity(plain(err))
	case p.place.Previous.First && p.place.DryRun:
		return p.place.refuseFirst()
	}
	p.Together, p.at = together, together.Last
	p.warnOfDocuments(p.warn, together.Missing, together.Altered)
	return p.readSets(losses)
}

// beginSets makes sure that a first publication does not mix with other files.
func (p *Publication) beginSets() error {
	if p.place.mustHave() {
		return &policy.MissingError{Place: p.place.name()}
	}
	p.First = true
	if err := p.checkTop(); err != nil {
		return err
	}
	for _, s := range p.Sets {
		if err := p.checkFolder(s); err != nil {
			return s.Failed(err)
		}
	}
	return nil
}

// readSets finds out which sets go on, which are new, and which are gone.
func (p *Publication) readSets(losses Losses) error {
	folders, known := p.Together.Folders, 0
	for _, s := range p.Sets {
		var err error
		if slices.Contains(folders, s.Layout.Folder) {
			known++
			err = p.readSet(s, losses)
		} else {
			err = p.checkFolder(s)
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
		if slices.ContainsFunc(p.Sets, func(s *Set) bool { return s.Layout.Folder == folder }) {
			continue
		}
		if err := p.endSet(folder); err != nil {
			return fmt.Errorf("reading the set in %s, which is published no more: %w", folder, plain(err))
		}
	}
	return nil
}
