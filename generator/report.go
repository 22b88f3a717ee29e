package generator

import (
	"time"

	"github.com/wellspring-sync/wellspring/internal/notify"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/scanner"
)

// Report says what a run found and did.
type Report struct {
	// At is the time of the publication: that of this run if it wrote
	// something, else that of the last one.
	At time.Time
	// First is true if there was nothing to go on from.
	First bool
	// Wrote is true if something was published; after a dry run, if something
	// would be.
	Wrote bool
	// Recovered is true if an interrupted commit was completed first.
	Recovered bool

	Resources int   // that the source has
	Bytes     int64 // of these
	Created   int
	Updated   int
	Deleted   int
	Refreshed int // whose metadata alone is new
	Read      int // files that were read
	ReadBytes int64

	// LeftOut counts what does not belong to the source.
	LeftOut map[scanner.Reason]int
	// Heads are the documents that were replaced, in the order of the commit.
	// After a dry run, those that would be.
	Heads []string
	// Bodies counts the files that were added, Reused those that stayed in use,
	// and Swept those that were removed.
	Bodies, Reused, Swept int
	// Packages counts those that were written, of so many bytes in all.
	Packages     int
	PackageBytes int64
	// WrittenBytes are those of all files put in place.
	WrittenBytes int64
	// Notifications are those of changes of documents, of each set that has a hub, in
	// the order of the sets. They are published, and not sent yet.
	Notifications []notify.Notification
	// Sets says the same of each set with a name.
	Sets []SetReport
	// Warnings are for people; none of them kept the run from its work.
	Warnings []string
	// SourceDescription is the URI to give to Destinations.
	SourceDescription string
	Took              time.Duration
}

// SetReport says what a run found out about one set of resources.
type SetReport struct {
	Name, Folder string
	// First is true if nothing was published of it before.
	First bool
	// Wrote is true if something was, or would be, published of it.
	Wrote     bool
	Resources int   // that it has
	Bytes     int64 // of these
	Created   int
	Updated   int
	Deleted   int
	Refreshed int // whose metadata alone is new
}

// Events is how many changes were published in the set.
func (r *SetReport) Events() int { return r.Created + r.Updated + r.Deleted }

// Events is how many changes were published.
func (r *Report) Events() int { return r.Created + r.Updated + r.Deleted }

// Progress is how far a run is.
type Progress struct {
	Files     int64 // looked at
	ReadBytes int64
	// PackedBytes were written to packages.
	PackedBytes int64
	TotalFiles  int64 // to be expected, or 0 as long as that is not known
	Elapsed     time.Duration
}

// Change is what a run found out about one resource.
type Change struct {
	// Type is empty if the bytes are as they were.
	Type resourcesync.ChangeType
	// Reason says how that was found out.
	Reason string
	Path   string // relative to the source; empty for deleted resources
	URI    string
	// Set is the set in which that is a change, if there are sets with names.
	Set string
}
