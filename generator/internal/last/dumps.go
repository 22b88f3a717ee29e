package last

import (
	"errors"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
)

// maxLost keeps a publication that lost all of its packages from flooding the
// screen.
const maxLost = 5

// readDumps finds out which packages can be used again. Those of the Resource
// Dump that cannot are made anew from the source; what a lost package of the
// Change Dump held is nowhere else.
func (s *Set) readDumps(limits policy.Limits, losses Losses, warn warner) error {
	found, dumps := s.Snapshot, s.Options.Dumps
	if found.ChangeDump != nil && dumps.Change {
		if lost, ok := errors.AsType[*snapshot.PartError](found.ChangeDump.Lost); ok {
			return &policy.LostChangesError{Path: lost.Path, Err: lost.Err}
		}
		for _, p := range found.ChangeDump.Packages {
			if p.Lost != nil {
				return &policy.LostChangesError{Path: p.Path, Err: p.Lost}
			}
		}
	}
	if found.ResourceDump == nil || !dumps.Resource {
		return nil
	}
	if err := found.ResourceDump.Lost; err != nil {
		warn("a part of the Resource Dump cannot be read, so all packages are made anew from the source: %v", err)
		return nil
	}
	rule := s.Packages()
	if rule == nil || rule.Cutter != layout.PackageCutterVersion {
		warn("nothing says how the packages of the Resource Dump were cut: they are made anew from the source")
		return nil
	}
	cutter := limits.PackageCutter(rule.Size)
	found.Cutter = &cutter
	lose(found.ResourceDump.Packages, losses, warn)
	return nil
}

// lose marks the packages that are lost.
func lose(packages []*snapshot.Package, losses Losses, warn warner) {
	lost := 0
	for _, p := range packages {
		if err, ok := losses[p.Path]; ok {
			p.Lost = err
		}
		if p.Lost == nil {
			continue
		}
		if lost++; lost <= maxLost {
			warn("the package %s cannot be used again, and is made anew from the source: %v", p.Path, Bare(p.Lost))
		}
	}
	if lost > maxLost {
		warn("%d more packages cannot be used again, and are made anew from the source", lost-maxLost)
	}
}
