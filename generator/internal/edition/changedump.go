package edition

import (
	"time"

	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/internal/stage"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// changeDumpDecision says what becomes of the Change Dump. Each of its packages has the
// events of one chunk.
type changeDumpDecision struct {
	write bool
	from  time.Time // of the dump
	// kept are the packages that it still names, and dropped those that it names no more.
	kept, dropped []*snapshot.Package
	// added are the intervals of those that are new.
	added []*snapshot.Package
}

// decideChangeDump decides on the Change Dump of a set that has one.
func decideChangeDump(set *last.Set, chunks int, times Times) (d changeDumpDecision) {
	before := changeDumpOf(set)
	if chunks == 0 && before != nil && !linksChange(set, resourcesync.ChangeDump) {
		return d
	}
	d.write = true
	from := set.At // where a new Change Dump begins
	if set.IsFirst() {
		from = times.At
	}
	d.from = from
	if before != nil {
		d.from, d.kept = before.From, before.Packages
		from = endOf(before)
	}
	for i := range chunks {
		p := &snapshot.Package{From: from, Until: times.of(i, chunks)}
		d.added = append(d.added, p)
		from = p.Until
	}
	d.retain(set, times.At)
	return d
}

func changeDumpOf(set *last.Set) *snapshot.ChangeDump {
	if set.IsFirst() {
		return nil
	}
	return set.Snapshot.ChangeDump
}

// endOf is up to when a dump has the changes.
func endOf(d *snapshot.ChangeDump) time.Time {
	if len(d.Packages) == 0 {
		return d.From
	}
	return d.Packages[len(d.Packages)-1].Until
}

// retain leaves out the packages that ended too long ago, but keeps two.
func (d *changeDumpDecision) retain(set *last.Set, at time.Time) {
	n := 0
	for n < len(d.kept) && len(d.kept)-n+len(d.added) > max(2, len(d.added)) && set.Options.KeepChanges.IsPast(d.kept[n].Until, at) {
		n++
	}
	d.kept, d.dropped = d.kept[n:], d.kept[:n:n]
	if n == 0 {
		return
	}
	if len(d.kept) > 0 {
		d.from = d.kept[0].From
	} else {
		d.from = d.added[0].From
	}
}

// obsolete finds the bodies that are named no more.
func (d *changeDumpDecision) obsolete(set *last.Set, o *obsolete) {
	dump := changeDumpOf(set)
	switch {
	case dump == nil:
	case !set.Options.Dumps.Change:
		o.packages(nil, dump.Packages)
		o.parts(dump.Parts)
	case d.write:
		o.packages(nil, d.dropped)
		o.parts(dump.Parts)
	}
}

// changeDumpWriter writes the Change Dump.
type changeDumpWriter struct {
	out    *writer
	set    *last.Set
	rules  Rules
	events *eventDraft
}

func (w *changeDumpWriter) write(d *changeDumpDecision) error {
	var entries []resourcesync.Entry
	for _, p := range d.kept {
		entries = append(entries, packageEntry(p))
	}
	for i, interval := range d.added {
		p := *interval
		if err := w.writePackage(i, &p); err != nil {
			return err
		}
		entries = append(entries, packageEntry(&p))
	}
	return w.out.placeDump(&dumpDocument{
		Layout: w.set.Layout, limits: w.rules.Limits, ref: w.set.Layout.ChangeDump(), packages: entries,
		links:    archiveLink(w.set, resourcesync.ChangeDump),
		metadata: resourcesync.Metadata{Capability: resourcesync.ChangeDump, From: d.from},
	})
}

// writePackage completes and places the package of a chunk.
func (w *changeDumpWriter) writePackage(i int, p *snapshot.Package) error {
	manifest, err := w.manifest(i, p)
	if err != nil {
		return err
	}
	packing := w.events.packing(i)
	if err := packing.Finish(manifest, w.rules.Policy, p.Until); err != nil {
		return err
	}
	zip := packing.Zip
	if err := zip.Sync(); err != nil {
		return err
	}
	p.Ref, p.Manifest = w.set.Layout.ChangeDumpPackage(p.Until, zip.Digest)
	p.Hash, p.Length = zip.Hash(), zip.Length
	return w.out.PlacePackage(zip, manifest, p)
}

func (w *changeDumpWriter) manifest(i int, p *snapshot.Package) (*stage.File, error) {
	f, err := w.out.Create()
	if err != nil {
		return nil, err
	}
	head := dumpHead(w.set.Layout, resourcesync.Metadata{Capability: resourcesync.ChangeDumpManifest, From: p.From, Until: p.Until})
	if err := f.WriteHead(&head); err != nil {
		return nil, err
	}
	var buf []byte
	err = w.events.each(i, p.Until, func(entry *resourcesync.Entry) (err error) {
		if buf, err = resourcesync.AppendEntry(buf[:0], false, entry); err == nil {
			_, err = f.Write(buf)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, f.EndEntries()
}
