package edition

import (
	"fmt"
	"io"
	"slices"

	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/internal/stage"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// listDecision says what becomes of the Resource List.
type listDecision struct {
	write  bool
	pieces []piece
	parts  []part // of these, or nil if one document holds all
}

// reused returns the paths of the parts that stay.
func (d *listDecision) reused() map[string]bool {
	paths := map[string]bool{}
	for i := range d.parts {
		if kept := d.parts[i].kept; kept != nil {
			paths[kept.Path] = true
		}
	}
	return paths
}

// obsolete finds the parts that are named no more.
func (d *listDecision) obsolete(set *last.Set, o *obsolete) {
	if !set.Snapshot.Indexed || !d.write {
		return
	}
	reused := d.reused()
	for _, part := range set.Snapshot.Parts {
		o.drop(reused, part.Path)
	}
}

// listWriter writes the Resource List.
type listWriter struct {
	out   *writer
	set   *last.Set
	times Times
	index []resourcesync.Entry // of the parts, once they are written
}

// partsAtOnce is how many parts are digested and made durable at the same time.
const partsAtOnce = 16

// writeBodies stages the parts of the list, if it needs an Index.
func (w *listWriter) writeBodies(parts []part) error {
	for some := range slices.Chunk(parts, partsAtOnce) {
		if err := w.writeParts(some); err != nil {
			return err
		}
	}
	if len(w.index) > resourcesync.MaxEntries {
		return fmt.Errorf("%d parts are more than one Resource List Index can hold (%d)", len(w.index), resourcesync.MaxEntries)
	}
	return nil
}

// writeParts takes parts over from the last publication, or stages them.
func (w *listWriter) writeParts(parts []part) error {
	head := resourceListHead(w.set.Layout, true, w.times.At, w.times.Completed)
	staged := make([]*stage.File, len(parts))
	for i := range parts {
		if parts[i].kept != nil {
			continue
		}
		var err error
		if staged[i], err = w.assemble(&head, parts[i].pieces); err != nil {
			return err
		}
		staged[i].SyncLater()
	}
	for i := range parts {
		entry := parts[i].kept
		if entry == nil {
			var err error
			if entry, err = w.out.placePart(w.set.Layout, staged[i], &head); err != nil {
				return err
			}
		}
		w.index = append(w.index, partEntry(entry))
	}
	return nil
}

func partEntry(p *snapshot.Part) resourcesync.Entry {
	e := resourcesync.Entry{Loc: p.URI, Metadata: resourcesync.Metadata{At: p.At, Completed: p.Completed, Hash: p.Hash}}
	e.Metadata.SetLength(p.Length)
	return e
}

// writeHead stages the list itself or, if it has parts, its Index.
func (w *listWriter) writeHead(d *listDecision) error {
	head := resourceListHead(w.set.Layout, false, w.times.At, w.times.Completed)
	head.Links = append(head.Links, archiveLink(w.set, resourcesync.ResourceList)...)
	ref := w.set.Layout.ResourceList()
	if d.parts != nil {
		head.Index = true
		for _, part := range w.index {
			path, _ := w.set.Layout.PathOf(part.Loc)
			w.out.tell(resourcesync.ResourceList, layout.Ref{Path: path, URI: part.Loc}, ref.URI)
		}
		return w.out.PlaceDocument(ref, &head, w.index)
	}
	f, err := w.assemble(&head, d.pieces)
	if err != nil {
		return err
	}
	w.out.tell(resourcesync.ResourceList, ref, "")
	return w.out.Place(f, ref, stage.Head)
}

// assemble makes one document of pieces. A single staged piece is one already,
// but for its head.
func (w *listWriter) assemble(head *resourcesync.Document, pieces []piece) (*stage.File, error) {
	if len(pieces) == 1 && pieces[0].staged != nil {
		if same, err := pieces[0].staged.SetHead(head); same || err != nil {
			return pieces[0].staged, err
		}
	}
	f, err := w.out.Create()
	if err != nil {
		return nil, err
	}
	if err := f.WriteHead(head); err != nil {
		return nil, err
	}
	for i := range pieces {
		if err := w.copyPiece(f, &pieces[i]); err != nil {
			return nil, err
		}
	}
	return f, f.EndEntries()
}

func (w *listWriter) copyPiece(to io.Writer, p *piece) error {
	if p.staged == nil {
		return copySection(to, w.set.Snapshot, p.section)
	}
	if err := p.staged.CopyEntries(to, p.bytes); err != nil {
		return err
	}
	return p.staged.Discard()
}
