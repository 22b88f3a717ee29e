package generator

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"time"

	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// compose stages the documents of the set, but for what leads to it from above: in
// a publication with several sets, also its record.
func (r *resourceSet) compose(ctx context.Context, at, completed time.Time) error {
	if err := r.composeLists(ctx, at, completed); err != nil {
		return err
	}
	list := r.capabilityList()
	if err := r.composeNotification(list, at); err != nil {
		return err
	}
	if err := r.putDescription(r.stage, list); err != nil || !r.hasNames() {
		return err
	}
	return r.writeRecord(at)
}

func (r *resourceSet) composeLists(ctx context.Context, at, completed time.Time) error {
	writeList := !r.list.unchanged() || r.linksChange(resourcesync.ResourceList)
	if writeList {
		if err := r.list.writeBodies(r.layout, at, completed); err != nil {
			return err
		}
	}
	writeDump := r.dump != nil && (writeList || !r.dump.unchanged() || r.linksChange(resourcesync.ResourceDump))
	if writeDump {
		if err := r.dump.writeBodies(); err != nil {
			return err
		}
	}
	if err := r.composeChanges(at); err != nil {
		return err
	}
	if writeDump {
		if err := r.dump.writeHead(at, completed); err != nil {
			return err
		}
	}
	if writeList {
		if err := r.list.writeHead(r.layout, at, completed); err != nil {
			return err
		}
	}
	return r.composeArchives(ctx, writeList, writeDump)
}

// composeChanges stages what tells of the changes: the Change Dump, and the
// Change Lists.
func (r *resourceSet) composeChanges(at time.Time) error {
	first := r.prev.snapshot == nil
	if c := r.changes; c != nil {
		if first {
			c.from = at
		}
		if err := c.write(r.events, at); err != nil {
			return err
		}
	}
	r.lists = r.changeLists()
	switch {
	case first:
		return r.lists.first(at)
	case r.events.total > 0:
		return r.lists.write(at)
	case r.lists.linked:
		return r.lists.relink()
	}
	return nil
}

// description is one of the documents that lead to the others.
type description struct {
	ref     layout.Ref
	content []byte
}

// capabilityList returns the Capability List. See Z39.99-2017 §9.
func (r *resourceSet) capabilityList() description {
	l := r.layout
	list := &resourcesync.Document{
		Style:    l.StyleFor(l.CapabilityList()),
		Metadata: resourcesync.Metadata{Capability: resourcesync.CapabilityList},
		Links:    append([]resourcesync.Link{{Rel: resourcesync.RelUp, Href: l.SourceDescription().URI}}, aboutLinks(r.o.DescribedBy)...),
	}
	var capabilities []resourcesync.Entry
	for _, d := range r.documents()[1:] {
		capabilities = append(capabilities, capability(d.ref, d.capability))
	}
	if r.o.Hub != "" {
		channel := capability(l.FrameworkNotification(), resourcesync.FrameworkNotification)
		channel.Links = []resourcesync.Link{{Rel: resourcesync.RelHub, Href: r.o.Hub}}
		capabilities = append(capabilities, channel)
	}
	return description{l.CapabilityList(), mustMarshal(list, capabilities...)}
}

// capable is a document that is a capability of a set.
type capable struct {
	ref        layout.Ref
	capability resourcesync.Capability
}

// documents returns the Capability List, and what it names.
func (r *resourceSet) documents() []capable {
	l := r.layout
	all := []capable{
		{l.CapabilityList(), resourcesync.CapabilityList}, {l.ResourceList(), resourcesync.ResourceList}, {l.ChangeList(), resourcesync.ChangeList},
	}
	if r.o.Dumps.Resource {
		all = append(all, capable{l.ResourceDump(), resourcesync.ResourceDump})
	}
	if r.o.Dumps.Change {
		all = append(all, capable{l.ChangeDump(), resourcesync.ChangeDump})
	}
	if r.archives != nil {
		for _, kind := range r.archives.kinds {
			all = append(all, capable{l.Archive(string(kind)), kind.Archive()})
		}
	}
	return all
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

// putDescription stages a document, unless it is published just so.
func (r *run) putDescription(st *stage, d description) error {
	same, err := r.isPublished(d)
	if err != nil || same {
		return err
	}
	return st.putBytes(d.ref, d.content)
}

// mustMarshal is for documents that are made of nothing but checked URIs.
func mustMarshal(d *resourcesync.Document, entries ...resourcesync.Entry) []byte {
	b, err := resourcesync.Marshal(d, entries)
	if err != nil {
		panic(err)
	}
	return b
}

// isPublished reports whether a document is there already. One that cannot be
// read is not taken for another one, which would be published anew.
func (r *run) isPublished(d description) (bool, error) {
	b, err := snapshot.ReadFile(r.out, d.ref.Path)
	if err == nil {
		return bytes.Equal(b, d.content), nil
	}
	if info, err := fs.Stat(r.out, d.ref.Path); err != nil || !info.Mode().IsRegular() {
		return false, nil // not there, or in the way
	}
	return false, fmt.Errorf("looking at what is published: %w", err)
}
