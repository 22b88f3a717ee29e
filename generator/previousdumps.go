package generator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/scanner"
)

// maxLost keeps a publication that lost all of its packages from flooding the
// screen.
const maxLost = 5

// readDumps finds out which packages can be used again. Those of the Resource
// Dump that cannot are made anew from the source; what a lost package of the
// Change Dump held is nowhere else.
func (r *resourceSet) readDumps() error {
	s := r.prev.snapshot
	if s == nil {
		return nil
	}
	if s.ChangeDump != nil && r.o.Dumps.Change {
		if lost, ok := errors.AsType[*snapshot.PartError](s.ChangeDump.Lost); ok {
			return &LostChangesError{Path: lost.Path, Err: lost.Err}
		}
		for _, p := range s.ChangeDump.Packages {
			if p.Lost != nil {
				return &LostChangesError{Path: p.Path, Err: p.Lost}
			}
		}
	}
	if s.ResourceDump == nil || !r.o.Dumps.Resource {
		return nil
	}
	if err := s.ResourceDump.Lost; err != nil {
		r.warn("a part of the Resource Dump cannot be read, so all packages are made anew from the source: %v", err)
		return nil
	}
	if rule := packagesOf(s); rule == nil || rule.Cutter != layout.PackageCutterVersion {
		r.warn("nothing says how the packages of the Resource Dump were cut: they are made anew from the source")
		return nil
	}
	cutter := r.o.packageCutter(s.Record.Packages.Size)
	s.Cutter = &cutter
	r.warnOfLost(s.ResourceDump.Packages)
	return nil
}

func packagesOf(s *snapshot.Snapshot) *snapshot.Packages {
	if s.Record == nil {
		return nil
	}
	return s.Record.Packages
}

func (r *resourceSet) warnOfLost(packages []*snapshot.Package) {
	lost := 0
	for _, p := range packages {
		if err, ok := r.distrusted[p.Path]; ok {
			p.Lost = err
		}
		if p.Lost == nil {
			continue
		}
		if lost++; lost <= maxLost {
			r.warn("the package %s cannot be used again, and is made anew from the source: %v", p.Path, bare(p.Lost))
		}
	}
	if lost > maxLost {
		r.warn("%d more packages cannot be used again, and are made anew from the source", lost-maxLost)
	}
}

// bare takes operation and name off an error of the file system.
func bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// LostChangesError says that a package of the Change Dump, or a part that names
// packages, is gone. It cannot be made anew.
type LostChangesError struct {
	Path string
	Err  error
}

func (e *LostChangesError) Error() string {
	return fmt.Sprintf("%s of the Change Dump is lost, and with it what resources were in the meantime: %v", e.Path, bare(e.Err))
}

func (e *LostChangesError) Unwrap() error { return e.Err }

// checkDumps guards against dumps of a large source that nobody asked for.
func (r *run) checkDumps(ctx context.Context) error {
	if !r.o.DumpsByDefault || !r.hasDumps() || slices.ContainsFunc(r.sets, (*resourceSet).hadDumps) {
		return nil
	}
	var size int64
	for f, err := range scanner.Scan(ctx, r.tree, r.scanOptions(nil)) {
		if err != nil {
			return err
		}
		size += f.Size
	}
	if size <= r.o.limits.unasked {
		return nil
	}
	return &Refusal{
		Why: fmt.Sprintf("the source holds %.1f GiB, and packages would take up to as much space again, here and wherever they are uploaded",
			float64(size)/(1<<30)),
		Flag: "--dumps=resource,change, or with --dumps=none to do without packages",
	}
}

// hadDumps reports whether packages are published of the set.
func (r *resourceSet) hadDumps() bool {
	s := r.prev.snapshot
	return s != nil && (s.ResourceDump != nil || s.ChangeDump != nil)
}
