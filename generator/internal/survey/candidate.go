package survey

import (
	"slices"
	"time"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/hashing"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/scanner"
)

// candidate is a resource before, now, or both, with what can be said of it
// without reading the file.
type candidate struct {
	After    scanner.File
	HasAfter bool
	// in are the sets that it is or was in, and Before what one of these says of
	// it, or nil. They say the same, unless somebody else changed the publication.
	in        []Member
	Before    *snapshot.Previous
	read      bool
	want      hashing.Set
	notBefore time.Time
	known     *cached // what the cache says instead
	content   *Content
}

// isInAny reports whether a set has the resource now.
func (c *candidate) isInAny() bool {
	return slices.ContainsFunc(c.in, func(m Member) bool { return m.IsIn })
}

// leftSets is the reason for which a resource is deleted that is in no set any more,
// though it may be there.
const leftSets = "in no set any more"

// gone returns the finding that a resource is in no set any more, or nil if it was
// in none.
func (c *candidate) gone(reason string) *Finding {
	in := slices.DeleteFunc(c.in, func(m Member) bool { return !m.WasIn })
	if len(in) == 0 {
		return nil
	}
	for i := range in {
		in[i].Change = resourcesync.Deleted
	}
	uri := in[0].Before.Loc
	return &Finding{
		Change: policy.Change{Type: resourcesync.Deleted, Reason: reason, URI: uri},
		Entry:  resourcesync.Entry{Loc: uri}, In: in,
	}
}
