package last

import (
	"context"
	"fmt"
	"time"

	"github.com/wellspring-sync/wellspring/internal/notify"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
)

// Publication is what was published last, and how the next one goes on from it.
type Publication struct {
	Files  *Files
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

	next *Next
	at   time.Time
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

// isDry reports whether nothing is written.
func (p *Publication) isDry() bool { return p.Files.Tx == nil }

func (p *Publication) warn(format string, args ...any) {
	p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...))
}

func (p *Publication) warnOf(s *Set) warner {
	return func(format string, args ...any) { p.warn("%s", s.Of(fmt.Sprintf(format, args...))) }
}

// Beside returns the paths of the versions and patches that the lists of a set name.
func (p *Publication) Beside(s *Set) (paths []string, err error) {
	files, err := here(p.Files.FS).besideOf(context.Background(), s.Snapshot, p.Layout, silent)
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	return paths, err
}

// ForPeople returns the paths of the documents for people that there will be.
func (p *Publication) ForPeople() []string {
	paths := []string{p.Layout.Style().Path}
	if p.next.Page {
		paths = append(paths, p.Layout.Page().Path)
	}
	return paths
}
