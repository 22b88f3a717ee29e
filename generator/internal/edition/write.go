package edition

import (
	"time"

	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/internal/stage"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// Times are those of a run.
type Times struct {
	// At is the time of the publication, and Completed when its lists were.
	At, Completed time.Time
	// Step is what lies between chunks of events.
	Step time.Duration
}

// of returns the time of one of several chunks, from 0 on, of which the last one is
// published at At.
func (t Times) of(i, chunks int) time.Time { return t.At.Add(-time.Duration(chunks-1-i) * t.Step) }

// Told is a document with a capability that a run puts in place, or a part of one under
// an Index, of which notifications tell. Those never tell of the Index itself. See
// Framework Notification 1.0 §2.
type Told struct {
	layout.Ref
	Capability resourcesync.Capability
	Index      string // its URI, or empty
}

// writer is what the writers of all kinds of documents share.
type writer struct {
	*stage.Placer
	told []Told
}

// tell notes a document for notifications.
func (w *writer) tell(c resourcesync.Capability, ref layout.Ref, index string) {
	w.told = append(w.told, Told{ref, c, index})
}

// archiveLink returns what leads from a live document of a kind to its archive, if there
// is one.
func archiveLink(set *last.Set, kind resourcesync.Capability) []resourcesync.Link {
	if !isArchived(set, kind) {
		return nil
	}
	return []resourcesync.Link{{Rel: resourcesync.RelArchives, Href: set.Layout.Archive(string(kind)).URI}}
}

// linksChange reports whether live documents of a kind have other links than before, or
// another style sheet.
func linksChange(set *last.Set, kind resourcesync.Capability) bool {
	return set.LinksChange(kind, isArchived(set, kind))
}

// placePart places a part of a Resource List or of an archived one.
func (w *writer) placePart(l layout.Layout, f *stage.File, head *resourcesync.Document) (*snapshot.Part, error) {
	if err := f.Sync(); err != nil {
		return nil, err
	}
	part := &snapshot.Part{
		Ref: l.ResourceListPart(f.Digest), At: head.Metadata.At, Completed: head.Metadata.Completed,
		Hash: f.Hash(), Length: f.Length,
	}
	return part, w.Place(f, part.Ref, stage.Body)
}
