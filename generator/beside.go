package generator

import (
	"context"

	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/snapshot"
)

// filesOf returns all files of a set, with the versions and patches that its lists
// name, which come first.
func (r *run) filesOf(ctx context.Context, s *snapshot.Snapshot, from *elsewhere) ([]snapshot.File, error) {
	files, err := s.Files()
	if err != nil || s.Record == nil {
		return files, err
	}
	var beside []snapshot.File
	if s.Record.Versions {
		if beside, err = r.versionFiles(ctx, s, from); err != nil {
			return nil, err
		}
	}
	if s.Record.Patches {
		patches, err := r.patchFiles(s)
		if err != nil {
			return nil, err
		}
		beside = append(beside, patches...)
	}
	return append(beside, files...), nil
}

// versionFiles returns the TimeMaps that the Resource List names, and the versions in
// them.
func (r *run) versionFiles(ctx context.Context, s *snapshot.Snapshot, from *elsewhere) (files []snapshot.File, err error) {
	var timeMaps []snapshot.File
	for e, err := range s.Resources(ctx) {
		if err != nil {
			return nil, err
		}
		if name := r.timeMapOf(e); name != "" {
			timeMaps = append(timeMaps, snapshot.File{Path: name})
		}
	}
	if err := from.fetch(ctx, timeMaps); err != nil {
		return nil, err
	}
	v := &versions{run: &run{layout: r.layout, out: from}}
	for _, t := range timeMaps {
		names, err := v.named(t.Path)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			files = append(files, snapshot.File{Path: name, Body: name != t.Path, Retired: true})
		}
	}
	return files, nil
}

// patchFiles returns the patches that Change Lists name, each once.
func (r *run) patchFiles(s *snapshot.Snapshot) (files []snapshot.File, err error) {
	seen := map[string]bool{}
	set := &resourceSet{run: r, prev: previous{snapshot: s}}
	for _, list := range set.allLists() {
		err := s.EachChange(list, func(e *resourcesync.Entry) error {
			eachPatchOf(r.layout, e, func(name string) {
				if !seen[name] {
					seen[name] = true
					files = append(files, snapshot.File{Path: name, Body: true, Retired: true})
				}
			})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}
