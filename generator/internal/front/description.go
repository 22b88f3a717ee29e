package front

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

// describeSource decides on the Source Description, or its Index with the documents under
// it. See Z39.99-2017 §8.
func (d *Decision) describeSource() (err error) {
	var entries []resourcesync.Entry
	for _, set := range d.pub.Sets {
		e := capability(set.Layout.CapabilityList(), resourcesync.CapabilityList)
		e.Links = aboutLinks(set.Options.DescribedBy)
		entries = append(entries, e)
	}
	l, about := d.pub.Layout, d.o.DescribedBy
	ref := l.SourceDescription()
	if about == "" && !d.o.Page.None {
		about = l.Page().URI
	}
	doc := &resourcesync.Document{
		Style: l.StyleFor(ref), Metadata: resourcesync.Metadata{Capability: resourcesync.Description}, Links: aboutLinks(about),
	}
	if len(entries) > d.o.Limits.Entries {
		if entries, err = d.describeParts(doc, entries); err != nil {
			return err
		}
		doc.Index = true
	}
	d.description, err = render(d.pub.FS, ref, mustMarshal(doc, entries...))
	return err
}

// describeParts decides on the documents under a Source Description Index, and returns the
// entries of that.
func (d *Decision) describeParts(doc *resourcesync.Document, entries []resourcesync.Entry) (index []resourcesync.Entry, err error) {
	l, part := d.pub.Layout, *doc
	part.Style = l.StyleFor(l.DescriptionPart([32]byte{}))
	part.Links = append(part.Links[:len(part.Links):len(part.Links)], resourcesync.Link{Rel: resourcesync.RelIndex, Href: l.SourceDescription().URI})
	for some := range slices.Chunk(entries, d.o.Limits.Entries) {
		b := mustMarshal(&part, some...)
		ref := l.DescriptionPart(sha256.Sum256(b))
		r, err := render(d.pub.FS, ref, b)
		if err != nil {
			return nil, err
		}
		d.parts, d.partPaths = append(d.parts, r), append(d.partPaths, ref.Path)
		index = append(index, capability(ref, resourcesync.Description))
	}
	if len(index) > d.o.Limits.Entries {
		return nil, fmt.Errorf("%d sets are more than one Source Description Index can hold", len(entries))
	}
	return index, nil
}
