package last

import (
	"errors"
	"fmt"
	"time"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// Set is a set of resources, and what was published of it. A publication whose sets have
// no names has one, in the publication's own folder.
type Set struct {
	Options policy.Set // with defaults
	Number  int        // its place among the sets, from 0 on
	Layout  layout.Layout
	// Snapshot is nil in a first run, and where a new publication is begun.
	Snapshot *snapshot.Snapshot
	// At is the latest time that was published of it, or zero.
	At time.Time
	// Retired are bodies that were retired before.
	Retired []snapshot.Retired
}

// HasName reports whether the set is one of several, with a record of its own.
func (s *Set) HasName() bool { return s.Options.Name != "" }

// Rules say which resources are in the set. They are nil if it has all.
func (s *Set) Rules() *policy.Selection {
	if !s.HasName() {
		return nil
	}
	return &s.Options.Resources
}

// IsFirst reports whether nothing was published of the set.
func (s *Set) IsFirst() bool { return s.Snapshot == nil }

// ListAt is the time of the Resource List that is published, or zero.
func (s *Set) ListAt() time.Time {
	if s.IsFirst() {
		return time.Time{}
	}
	return s.Snapshot.At
}

// HasArchives reports whether there will be archives: if that is asked for or, when
// nothing is said of it, if there were some.
func (s *Set) HasArchives() bool {
	if s.Options.Archive != nil {
		return *s.Options.Archive
	}
	return !s.IsFirst() && len(s.Snapshot.Archives) > 0
}

// HadDumps reports whether packages are published of the set.
func (s *Set) HadDumps() bool {
	return !s.IsFirst() && (s.Snapshot.ResourceDump != nil || s.Snapshot.ChangeDump != nil)
}

// Restyles reports whether the documents that are published have another style sheet,
// or none. Those that change in place are then written again; bodies stay as they are.
func (s *Set) Restyles() bool {
	return !s.IsFirst() && s.Snapshot.Style != s.Layout.StyleFor(s.Layout.ResourceList())
}

// LinksChange reports whether live documents of a kind lead to an archive and
// did not, or the reverse, or have another style sheet.
func (s *Set) LinksChange(kind resourcesync.Capability, archived bool) bool {
	return !s.IsFirst() && (s.Snapshot.Archives[kind] != nil) != archived || s.Restyles()
}

// Packages is how the packages of the last Resource Dump were cut, or nil if nothing
// says so.
func (s *Set) Packages() *snapshot.Packages {
	if s.IsFirst() || s.Snapshot.Record == nil {
		return nil
	}
	return s.Snapshot.Record.Packages
}

// HadNotification reports whether the last publication of the set has a notification.
func (s *Set) HadNotification() bool {
	if s.IsFirst() {
		return false
	}
	r := s.Snapshot.Record
	return s.Snapshot.Hub != "" || r != nil && r.Head(s.Layout.FrameworkNotification().Path) != nil
}

// Of adds to a message of which set it is.
func (s *Set) Of(message string) string {
	if !s.HasName() {
		return message
	}
	return fmt.Sprintf("set %q: %s", s.Options.Name, message)
}

// Failed adds to an error of which set it is.
func (s *Set) Failed(err error) error {
	if err == nil || !s.HasName() {
		return err
	}
	if refusal, ok := errors.AsType[*policy.Refusal](err); ok {
		return &policy.Refusal{Why: s.Of(refusal.Why), Flag: refusal.Flag, Passes: refusal.Passes}
	}
	return fmt.Errorf("set %q: %w", s.Options.Name, err)
}

// goOnAsItIs takes the options of the last publication.
func (s *Set) goOnAsItIs() {
	s.Options.Hub = s.Snapshot.Hub
	s.Options.Dumps = policy.Dumps{Resource: s.Snapshot.ResourceDump != nil, Change: s.Snapshot.ChangeDump != nil}
	if packages := s.Packages(); packages != nil {
		s.Options.PackageSize = packages.Size
	}
}
