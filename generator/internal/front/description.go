package front

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/internal/stage"
	"github.com/wellspring-sync/wellspring/internal/notify"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// description is the Source Description or, with parts, its Index and the documents under
// it. See Z39.99-2017 §8.
type description struct {
	head  rendered
	parts []rendered
	paths []string // of the parts, also where they are not looked at
}

// describe decides on the Source Description.
func describe(pub *last.Publication, o *Options) (d description, err error) {
	var entries []resourcesync.Entry
	for _, set := range pub.Sets {
		e := capability(set.Layout.CapabilityList(), resourcesync.CapabilityList)
		e.Links = aboutLinks(set.Options.DescribedBy)
		entries = append(entries, e)
	}
	about, ref := o.DescribedBy, pub.Layout.SourceDescription()
	if about == "" && !o.Page.None {
		about = pub.Layout.Page().URI
	}
	doc := &resourcesync.Document{
		Style: pub.Layout.StyleFor(ref), Metadata: resourcesync.Metadata{Capability: resourcesync.Description}, Links: aboutLinks(about),
	}
	if len(entries) > o.Limits.Entries {
		if entries, err = d.divide(pub, doc, entries, o.Limits.Entries); err != nil {
			return d, err
		}
		doc.Index = true
	}
	d.head, err = render(pub.Files.FS, ref, mustMarshal(doc, entries...))
	return d, err
}

// divide decides on the documents under a Source Description Index, and returns the
// entries of that.
func (d *description) divide(pub *last.Publication, doc *resourcesync.Document, entries []resourcesync.Entry, most int) (index []resourcesync.Entry, err error) {
	l, part := pub.Layout, *doc
	part.Style = l.StyleFor(l.DescriptionPart([32]byte{}))
	part.Links = append(part.Links[:len(part.Links):len(part.Links)], resourcesync.Link{Rel: resourcesync.RelIndex, Href: l.SourceDescription().URI})
	for some := range slices.Chunk(entries, most) {
		b := mustMarshal(&part, some...)
		ref := l.DescriptionPart(sha256.Sum256(b))
		r, err := render(pub.Files.FS, ref, b)
		if err != nil {
			return nil, err
		}
		d.parts, d.paths = append(d.parts, r), append(d.paths, ref.Path)
		index = append(index, capability(ref, resourcesync.Description))
	}
	if len(index) > most {
		return nil, fmt.Errorf("%d sets are more than one Source Description Index can hold", len(entries))
	}
	return index, nil
}

// change returns the change of the Source Description or, if that is an Index, of one under
// it, or nothing. All channels are told of it. See Framework Notification 1.0 §2.
func (d *description) change(first bool) []notify.Change {
	if len(d.parts) == 0 {
		return d.head.change(resourcesync.Description, first)
	}
	for i := range slices.Backward(d.parts) {
		if change := d.parts[i].change(resourcesync.Description, true); change != nil {
			change[0].Index = d.head.ref.URI
			return change
		}
	}
	return nil
}

// changes reports whether the Source Description itself changes.
func (d *description) changes() bool { return d.head.changes() }

// path returns the path of the Source Description, if it is written.
func (d *description) path() []string { return d.head.path() }

// isPart reports whether a path is that of a document under the Index.
func (d *description) isPart(path string) bool { return slices.Contains(d.paths, path) }

// place places the Source Description, with what is under it.
func (d *description) place(to *stage.Placer) error {
	for i := range d.parts {
		if err := d.parts[i].place(to, stage.Body); err != nil {
			return err
		}
	}
	return d.head.place(to, stage.Head)
}
