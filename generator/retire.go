package generator

import (
	"context"
	"io/fs"
	"slices"
	"time"

	"github.com/wellspring-sync/wellspring/internal/snapshot"
)

// retire returns the bodies that are kept although nothing names them any more,
// and plans to remove those that were kept for long enough.
func (r *resourceSet) retire(at time.Time) (kept []snapshot.Retired, err error) {
	written := r.stage.paths()
	obsolete, err := r.unreached()
	if err != nil {
		return nil, err
	}
	if !r.hasNames() {
		beside, err := r.obsoleteBeside()
		if err != nil {
			return nil, err
		}
		obsolete = append(obsolete, beside...)
	}
	for _, path := range obsolete {
		if !written[path] {
			kept = append(kept, snapshot.Retired{Path: path, Since: at})
		}
	}
	named, err := r.named()
	if err != nil {
		return nil, err
	}
	stays := func(path string) bool { return written[path] || named[path] }
	kept = append(kept, r.sweep(r.prev.retired, at, stays)...)
	for _, path := range append(r.prev.remove, r.endedHeads()...) {
		if !stays(path) && path != r.layout.Record().Path && !r.isTopHead(path) {
			r.remove(path)
		}
	}
	return kept, nil
}

// sweep plans to remove what was retired for long enough, and returns the rest.
func (r *run) sweep(retired []snapshot.Retired, at time.Time, stays func(path string) bool) (kept []snapshot.Retired) {
	for _, b := range retired {
		switch {
		case stays(b.Path):
		case at.Sub(b.Since) >= r.o.Grace:
			r.remove(b.Path)
		default:
			kept = append(kept, b)
		}
	}
	return kept
}

// remove plans to remove a file of the last publication.
func (r *run) remove(path string) {
	r.tx.Remove(path)
	r.report.Swept++
}

// unreached returns the bodies of the last publication that neither the live
// documents nor the archives lead to any more.
func (r *resourceSet) unreached() (paths []string, err error) {
	archived, candidates, err := r.archives.reached()
	if err != nil {
		return nil, err
	}
	ended, err := r.endedBodies()
	if err != nil {
		return nil, err
	}
	obsolete := r.obsolete()
	seen := map[string]bool{} // and those that stay live
	if s := r.prev.snapshot; s != nil {
		for _, path := range s.Bodies() {
			seen[path] = true
		}
	}
	for _, path := range obsolete {
		delete(seen, path)
	}
	for _, path := range slices.Concat(obsolete, candidates, ended) {
		if !archived[path] && !seen[path] {
			seen[path] = true
			paths = append(paths, path)
		}
	}
	r.noteEnded(paths)
	return paths, nil
}

// noteEnded finds the Change Lists among what nothing leads to any more.
func (r *resourceSet) noteEnded(paths []string) {
	r.ended = nil
	if r.isFirst() || len(paths) == 0 {
		return
	}
	ended := map[string]bool{}
	for _, path := range paths {
		ended[path] = true
	}
	for _, list := range r.allLists() {
		if ended[list.Path] {
			r.ended = append(r.ended, list)
		}
	}
}

// obsoleteBeside returns the versions and patches beside the documents that nothing
// names any more, once each set has said which of its documents are such.
func (r *run) obsoleteBeside() ([]string, error) {
	patches, err := r.obsoletePatches()
	return append(patches, r.versions.dropped...), err
}

// named returns the bodies that the last publication names. A record that calls
// one of them retired is wrong: they have only been so since this run, if they
// are.
func (r *resourceSet) named() (map[string]bool, error) {
	named := map[string]bool{}
	s := r.prev.snapshot
	if s == nil || len(r.prev.retired) == 0 && len(r.prev.remove) == 0 {
		return named, nil
	}
	archived, err := s.ArchivedBodies()
	if err != nil {
		return nil, err
	}
	for _, path := range append(archived, s.Bodies()...) {
		named[path] = true
	}
	if r.hasNames() {
		return named, nil
	}
	return named, r.nameBeside(r.prev.retired, named)
}

// nameBeside adds the versions and patches that the last publication names, if a record
// calls any such file retired.
func (r *run) nameBeside(retired []snapshot.Retired, named map[string]bool) error {
	if !slices.ContainsFunc(retired, func(b snapshot.Retired) bool { return r.layout.IsBeside(b.Path) }) {
		return nil
	}
	for _, set := range r.sets {
		if set.isFirst() {
			continue
		}
		beside, err := r.besideOf(context.Background(), set.prev.snapshot, &elsewhere{FS: r.out, fetch: fetchNothing})
		if err != nil {
			return err
		}
		for _, f := range beside {
			named[f.Path] = true
		}
	}
	return nil
}

// obsolete returns the bodies of the last publication that this one does not
// name.
func (r *resourceSet) obsolete() []string {
	s := r.prev.snapshot
	if s == nil {
		return r.prev.obsolete
	}
	var paths []string
	if s.Indexed && r.list.reused != nil {
		for _, part := range s.Parts {
			paths = r.drop(paths, r.list.reused, part.Path)
		}
	}
	if r.lists != nil {
		for _, list := range r.lists.dropped {
			paths = append(paths, list.Path)
		}
	}
	return append(paths, r.obsoleteDumps(s)...)
}

// drop appends a path that is not used again to the others.
func (r *resourceSet) drop(paths []string, reused map[string]bool, path string) []string {
	if reused[path] {
		r.report.Reused++
		return paths
	}
	return append(paths, path)
}

// obsoleteDumps returns the packages, manifests and parts of dumps that are
// named no more.
func (r *resourceSet) obsoleteDumps(s *snapshot.Snapshot) (paths []string) {
	add := func(reused map[string]bool, packages []*snapshot.Package) {
		for _, p := range packages {
			for _, path := range [...]string{p.Path, p.Manifest.Path} {
				if p.Lost == nil || r.isThere(path) {
					paths = r.drop(paths, reused, path)
				}
			}
		}
	}
	addParts := func(parts []snapshot.Part) {
		for _, part := range parts {
			if r.isThere(part.Path) {
				paths = append(paths, part.Path)
			}
		}
	}
	if dump := s.ResourceDump; dump != nil && (r.dump == nil || r.dump.written) {
		var reused map[string]bool
		if r.dump != nil {
			reused = r.dump.reused
		}
		add(reused, dump.Packages)
		addParts(dump.Parts)
	}
	if dump := s.ChangeDump; dump != nil {
		if r.changes == nil {
			add(nil, dump.Packages)
		} else {
			add(nil, r.changes.dropped)
		}
		if r.changes == nil || r.changes.written {
			addParts(dump.Parts)
		}
	}
	return paths
}

func (r *run) isThere(path string) bool {
	_, err := fs.Stat(r.out, path)
	return err == nil
}

// endedHeads returns the heads of dumps and archives that are published no more.
func (r *resourceSet) endedHeads() (paths []string) {
	for _, kind := range r.endedArchives() {
		paths = append(paths, r.layout.Archive(string(kind)).Path)
	}
	if !r.hasNames() && r.endsPage() {
		paths = append(paths, r.layout.Page().Path)
	}
	s := r.prev.snapshot
	if s != nil && r.o.Hub == "" && r.hadNotification() {
		paths = append(paths, r.layout.FrameworkNotification().Path)
	}
	if s != nil && s.ResourceDump != nil && r.dump == nil {
		paths = append(paths, r.layout.ResourceDump().Path)
	}
	if s != nil && s.ChangeDump != nil && r.changes == nil {
		paths = append(paths, r.layout.ChangeDump().Path)
	}
	return paths
}
