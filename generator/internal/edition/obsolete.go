package edition

import (
	"github.com/wellspring-sync/wellspring/internal/snapshot"
)

// obsolete finds the bodies that live documents name no more.
type obsolete struct {
	isThere func(path string) bool
	paths   []string
	reused  int
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
