package survey

import (
	"slices"
	"strings"

	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/links"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// Finding is a resource that the survey has made up its mind about. Annotators add to its
// entry what rules say of the resource.
type Finding struct {
	policy.Change
	// Entry is what the Resource List says of it from now on; for a deleted
	// resource, just its URI.
	Entry resourcesync.Entry
	Size  int64 // in bytes
	Read  bool  // the file was read
	// Digests are all that are known of the bytes, if they are new or changed.
	Digests resourcesync.Hash
	// Content is what packages get, if it was read for them.
	Content *Content
	// Patch describes how an updated resource has changed, if it is offered.
	Patch *Patch
	// Point and Encoded are for lists: where they are cut, and the entry as it is
	// written, unless all have it.
	Point   layout.Point
	Encoded []byte
	// In are the sets that it is or was in, each with what changed there: a
	// resource may come into one and leave another.
	In []Member
}

// Member is a resource in a set that it is or was in.
type Member struct {
	Set *last.Set
	// Before is what was published, if WasIn is true.
	Before snapshot.Previous
	WasIn  bool
	// IsIn says that the resource is in the set now, as far as is known before
	// its media type is.
	IsIn   bool
	Change resourcesync.ChangeType // once it is known
}

// Patch is a description of a change that goes with its event.
type Patch struct {
	Link    resourcesync.Link // without path
	Path    string            // in a package
	Content []byte            // nil once all packages are made
}

// Kept returns what was published of the resource in the set if its bytes are as they
// were, or nil.
func (m *Member) Kept() *snapshot.Previous {
	if m.Change != "" {
		return nil
	}
	return &m.Before
}

// WasAnywhere returns what a set published of the resource, or nil.
func (f *Finding) WasAnywhere() *snapshot.Previous {
	for i := range f.In {
		if f.In[i].WasIn {
			return &f.In[i].Before
		}
	}
	return nil
}

// IsUpdatedAnywhere reports whether a set has an event that the resource was updated: it
// may have left one and come into another.
func (f *Finding) IsUpdatedAnywhere() bool {
	return slices.ContainsFunc(f.In, func(m Member) bool { return m.Change == resourcesync.Updated })
}

// FormerLength is how long the resource was, in bytes, and zero if it is not known.
func (f *Finding) FormerLength() int64 {
	if before := f.WasAnywhere(); before != nil {
		return before.Metadata.Length
	}
	return 0
}

// SameAs reports whether an entry that was published is as the finding would have it, and
// written as we write it.
func (f *Finding) SameAs(b *snapshot.Previous) bool {
	return b.Position.Canonical && f.SameBitstreamAs(b) && b.ChangeFreq == f.Entry.ChangeFreq && slices.Equal(b.Links, f.Entry.Links)
}

// SameBitstreamAs reports whether the finding leaves as it is what manifests say of a
// resource, which is without its links.
func (f *Finding) SameBitstreamAs(b *snapshot.Previous) bool {
	return b.LastModified.Equal(f.Entry.LastModified) && b.Metadata == f.Entry.Metadata
}

// Resource returns what templates can say of the finding.
func (f *Finding) Resource() *links.Resource {
	first, _, _ := strings.Cut(string(f.Entry.Metadata.Hash), " ")
	_, digest, _ := strings.Cut(first, ":")
	return &links.Resource{Path: f.Path, URI: f.URI, Hash: digest}
}

// ChangeIn returns the change of the resource in a set.
func (f *Finding) ChangeIn(m *Member) policy.Change {
	c := f.Change
	c.Type, c.Set = m.Change, m.Set.Options.Name
	if m.Change != f.Type {
		c.Reason = membershipChanged[m.Change]
	}
	return c
}

// membershipChanged are the reasons for events of a set that do not come from the
// bytes.
var membershipChanged = map[resourcesync.ChangeType]string{
	resourcesync.Created: "in the set now", resourcesync.Deleted: "not in the set any more",
}
