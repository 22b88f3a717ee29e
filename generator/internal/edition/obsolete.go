package edition

import (
	"slices"

	"github.com/wellspring-sync/wellspring/internal/snapshot"
)

// Unreached returns the bodies of the last publication that neither the live documents
// nor the archives lead to any more, but for documents that are made for these. What is not
// there does not count. Reused is how many bodies stay in use.
func (d *Decision) Unreached(isThere func(path string) bool) (paths []string, reused int, err error) {
	archived, thinned, err := d.archives.reach()
	if err != nil {
		return nil, 0, err
	}
	ended, err := d.endedBodies()
	if err != nil {
		return nil, 0, err
	}
	o := &obsolete{isThere: isThere}
	seen := map[string]bool{} // and those that stay live
	if !d.set.IsFirst() {
		o.find(d)
		for _, path := range d.set.Snapshot.Bodies() {
			seen[path] = true
		}
	}
	for _, path := range o.paths {
		delete(seen, path)
	}
	for _, path := range slices.Concat(o.paths, thinned, ended) {
		if !archived[path] && !seen[path] {
			seen[path] = true
			paths = append(paths, path)
		}
	}
	return paths, o.reused, nil
}

// endedBodies returns the bodies that the archives led to which end.
func (d *Decision) endedBodies() (paths []string, err error) {
	for _, kind := range endedKinds(d.set) {
		a := d.set.Snapshot.Archives[kind]
		for i := range a.Entries {
			reached, err := d.set.Snapshot.Reached(&a.Entries[i])
			if err != nil {
				return nil, err
			}
			paths = append(paths, reached...)
		}
		for _, p := range a.Parts {
			paths = append(paths, p.Path)
		}
	}
	return paths, nil
}

// obsolete finds the bodies that live documents name no more.
type obsolete struct {
	isThere func(path string) bool
	paths   []string
	reused  int
}

func (o *obsolete) find(d *Decision) {
	d.list.obsolete(d.set, o)
	o.paths = append(o.paths, d.changes.droppedPaths()...)
	d.dump.obsolete(d.set, o)
	d.changeDump.obsolete(d.set, o)
}

// drop takes a path, unless it is used again.
func (o *obsolete) drop(reused map[string]bool, path string) {
	if reused[path] {
		o.reused++
		return
	}
	o.paths = append(o.paths, path)
}

// packages takes packages and manifests.
func (o *obsolete) packages(reused map[string]bool, packages []*snapshot.Package) {
	for _, p := range packages {
		for _, path := range [...]string{p.Path, p.Manifest.Path} {
			if p.Lost == nil || o.isThere(path) {
				o.drop(reused, path)
			}
		}
	}
}

// parts takes the parts of a dump.
func (o *obsolete) parts(parts []snapshot.Part) {
	for _, part := range parts {
		if o.isThere(part.Path) {
			o.paths = append(o.paths, part.Path)
		}
	}
}

// Ended returns the paths of archives and of dumps that are published no more.
func (d *Decision) Ended() (archives, dumps []string) {
	l, s, wanted := d.set.Layout, d.set.Snapshot, d.set.Options.Dumps
	for _, kind := range endedKinds(d.set) {
		archives = append(archives, l.Archive(string(kind)).Path)
	}
	if s != nil && s.ResourceDump != nil && !wanted.Resource {
		dumps = append(dumps, l.ResourceDump().Path)
	}
	if s != nil && s.ChangeDump != nil && !wanted.Change {
		dumps = append(dumps, l.ChangeDump().Path)
	}
	return archives, dumps
}
