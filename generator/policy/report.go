package policy

import (
	"time"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

// Counts are what a run found out about resources.
type Counts struct {
	Resources int   `json:"resources"` // that there are
	Bytes     int64 `json:"bytes"`     // of these
	Created   int   `json:"created"`
	Updated   int   `json:"updated"`
	Deleted   int   `json:"deleted"`
	Refreshed int   `json:"refreshed"` // whose metadata alone is new
}

// Add counts a resource of so many bytes, with its change.
func (f *Counts) Add(change resourcesync.ChangeType, size int64) {
	switch change {
	case resourcesync.Deleted:
		f.Deleted++
		return
	case resourcesync.Created:
		f.Created++
	case resourcesync.Updated:
		f.Updated++
	}
	f.Resources++
	f.Bytes += size
}

// Events is how many changes there are.
func (f *Counts) Events() int { return f.Created + f.Updated + f.Deleted }

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
