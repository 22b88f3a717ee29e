package front

import (
	"bytes"
	"fmt"
	"io/fs"

	"github.com/wellspring-sync/wellspring/generator/internal/edition"
	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/internal/stage"
	"github.com/wellspring-sync/wellspring/internal/notify"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// rendered is a document that is known to the byte when it is decided.
type rendered struct {
	ref     layout.Ref
	content []byte
	write   bool // it is not published just so
	isNew   bool // nothing is there in its place
}

// render compares a document with what is published. One that cannot be read is not taken
// for another one, which would be published anew.
func render(files fs.FS, ref layout.Ref, content []byte) (r rendered, err error) {
	r = rendered{ref: ref, content: content, write: true}
	b, err := snapshot.ReadFile(files, ref.Path)
	if err == nil {
		if r.write = !bytes.Equal(b, content); !r.write {
			r.content = nil // there may be very many sets
		}
		return r, nil
	}
	info, errStat := fs.Stat(files, ref.Path)
	if r.isNew = errStat != nil; r.isNew || !info.Mode().IsRegular() {
		return r, nil // not there, or in the way
	}
	return r, fmt.Errorf("looking at what is published: %w", err)
}

// changes reports whether the document is written.
func (r *rendered) changes() bool { return r.write }

// path returns the path of the document, if it is written.
func (r *rendered) path() []string {
	if !r.write {
		return nil
	}
	return []string{r.ref.Path}
}

// place places the document, unless it is published just so.
func (r *rendered) place(to *stage.Placer, kind stage.Kind) error {
	if !r.write {
		return nil
	}
	f, err := to.Complete(r.content)
	if err != nil {
		return err
	}
	return to.Place(f, r.ref, kind)
}

// change returns the change of the document, in a first publication or not, or nothing if
// it is as it was.
func (r *rendered) change(c resourcesync.Capability, first bool) []notify.Change {
	if !r.write {
		return nil
	}
	change := resourcesync.Updated
	if first || r.isNew {
		change = resourcesync.Created
	}
	return []notify.Change{{URI: r.ref.URI, Capability: c, Change: change}}
}

// mustMarshal is for documents that are made of nothing but checked URIs.
func mustMarshal(d *resourcesync.Document, entries ...resourcesync.Entry) []byte {
	b, err := resourcesync.Marshal(d, entries)
	if err != nil {
		panic(err)
	}
	return b
}

func capability(ref layout.Ref, c resourcesync.Capability) resourcesync.Entry {
	return resourcesync.Entry{Loc: ref.URI, Metadata: resourcesync.Metadata{Capability: c}}
}

// aboutLinks returns the link to what describes a document's subject, if anything
// does.
func aboutLinks(describedBy string) []resourcesync.Link {
	if describedBy == "" {
		return nil
	}
	return []resourcesync.Link{{Rel: resourcesync.RelDescribedBy, Href: describedBy}}
}

// capabilityList returns the Capability List of a set. See Z39.99-2017 §9.
func capabilityList(set *last.Set) []byte {
	l := set.Layout
	list := &resourcesync.Document{
		Style:    l.StyleFor(l.CapabilityList()),
		Metadata: resourcesync.Metadata{Capability: resourcesync.CapabilityList},
		Links:    append([]resourcesync.Link{{Rel: resourcesync.RelUp, Href: l.SourceDescription().URI}}, aboutLinks(set.Options.DescribedBy)...),
	}
	var capabilities []resourcesync.Entry
	for _, d := range edition.Documents(set) {
		capabilities = append(capabilities, capability(d.Ref, d.Capability))
	}
	if set.Options.Hub != "" {
		channel := capability(l.FrameworkNotification(), resourcesync.FrameworkNotification)
		channel.Links = []resourcesync.Link{{Rel: resourcesync.RelHub, Href: set.Options.Hub}}
		capabilities = append(capabilities, channel)
	}
	return mustMarshal(list, capabilities...)
}
