package generator

import (
	"time"

	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/zipdump"
)

// changeDump writes the packages with the changes of a run, one for each chunk of
// events.
type changeDump struct {
	stage  *stage
	layout layout.Layout
	limits limits
	policy zipdump.Policy
	last   *snapshot.ChangeDump // nil if there was none
	from   time.Time            // where a new Change Dump begins
	keep   Keep
	links  []resourcesync.Link
	linked bool // the dump has other links than before
	// written says that the dump, or its Index, is staged.
	written bool
	added   []*snapshot.Package
	// dropped are packages that the dump names no more.
	dropped []*snapshot.Package
}

func (r *resourceSet) newChangeDump() *changeDump {
	if !r.o.Dumps.Change || r.o.DryRun {
		return nil
	}
	c := &changeDump{stage: r.stage, layout: r.layout, limits: r.o.limits, policy: r.o.policy(), from: r.prev.last, keep: r.o.KeepChanges}
	c.links, c.linked = r.archives.links(resourcesync.ChangeDump), r.linksChange(resourcesync.ChangeDump)
	if s := r.prev.snapshot; s != nil {
		c.last = s.ChangeDump
	}
	return c
}

// write stages what the events change, if there are any, and the dump itself
// where there was none.
func (c *changeDump) write(e *events, at time.Time) error {
	if len(e.chunks) == 0 && c.last != nil && !c.linked {
		return nil
	}
	if err := c.writePackages(e); err != nil {
		return err
	}
	return c.writeHead(at)
}

// retain leaves out the packages that ended too long ago, but keeps two.
func (c *changeDump) retain(packages []*snapshot.Package, at time.Time) []*snapshot.Package {
	n := 0
	for len(packages)-n > max(2, len(c.added)) && c.keep.isPast(packages[n].Until, at) {
		n++
	}
	c.dropped = packages[:n:n]
	return packages[n:]
}

// writePackages stages a package for each chunk of events.
func (c *changeDump) writePackages(e *events) error {
	from := c.end()
	for i := range e.chunks {
		p := &snapshot.Package{From: from, Until: e.chunks[i].at}
		if err := c.writePackage(e, &e.chunks[i], p); err != nil {
			return err
		}
		c.added = append(c.added, p)
		from = p.Until
	}
	return nil
}

// end is up to when the dump has the changes.
func (c *changeDump) end() time.Time {
	switch {
	case c.last == nil:
		return c.from
	case len(c.last.Packages) == 0:
		return c.last.From
	}
	return c.last.Packages[len(c.last.Packages)-1].Until
}

func (c *changeDump) writePackage(e *events, k *chunk, p *snapshot.Package) error {
	manifest, err := c.manifest(e, k, p)
	if err != nil {
		return err
	}
	if err := k.packing.finish(manifest, c.policy, p.Until); err != nil {
		return err
	}
	zip := k.packing.zip
	if err := zip.sync(); err != nil {
		return err
	}
	p.Ref, p.Manifest = c.layout.ChangeDumpPackage(p.Until, zip.digest)
	p.Hash, p.Length = zip.hash(), zip.length
	return c.stage.putPackage(zip, manifest, p)
}

func (c *changeDump) manifest(e *events, k *chunk, p *snapshot.Package) (*document, error) {
	doc, err := c.stage.create()
	if err != nil {
		return nil, err
	}
	head := dumpHead(c.layout, resourcesync.Metadata{Capability: resourcesync.ChangeDumpManifest, From: p.From, Until: p.Until})
	buf, err := resourcesync.AppendHead(nil, &head)
	if err != nil {
		return nil, err
	}
	if _, err := doc.Write(buf); err != nil {
		return nil, err
	}
	err = e.each(*k, func(entry *resourcesync.Entry) (err error) {
		e.standard.stamp(entry, p.Until)
		if buf, err = resourcesync.AppendEntry(buf[:0], false, entry); err == nil {
			_, err = doc.Write(buf)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return doc, doc.endEntries()
}

// writeHead stages the Change Dump or its Index.
func (c *changeDump) writeHead(at time.Time) error {
	c.written = true
	from, packages := c.from, c.added
	if c.last != nil {
		from, packages = c.last.From, append(c.last.Packages[:len(c.last.Packages):len(c.last.Packages)], c.added...)
	}
	if packages = c.retain(packages, at); len(c.dropped) > 0 {
		from = packages[0].From
	}
	entries := make([]resourcesync.Entry, len(packages))
	for i, p := range packages {
		entries[i] = packageEntry(p)
	}
	return c.stage.putDump(&dumpDocument{
		Layout: c.layout, limits: c.limits, ref: c.layout.ChangeDump(), packages: entries, links: c.links,
		metadata: resourcesync.Metadata{Capability: resourcesync.ChangeDump, From: from},
	})
}
