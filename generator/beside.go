package generator

import (
	"context"
	"maps"
	"slices"

	"github.com/wellspring-sync/wellspring/internal/snapshot"
)

// filesOf returns all files of a set, with the versions and patches that its lists
// name, which come first.
func (r *run) filesOf(ctx context.Context, s *snapshot.Snapshot, from *elsewhere) ([]snapshot.File, error) {
	files, err := s.Files()
	if err != nil {
		return nil, err
	}
	beside, err := r.besideOf(ctx, s, from)
	return append(beside, files...), err
}

// besideOf returns the versions and patches that the lists of a set name.
func (r *run) besideOf(ctx context.Context, s *snapshot.Snapshot, from *elsewhere) ([]snapshot.File, error) {
	beside, err := r.versionFiles(ctx, s, from)
	if err != nil {
		return nil, err
	}
	patches, err := r.patchesOf(s, nil)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(patches)) {
		beside = append(beside, snapshot.File{Path: name, Body: true, Retired: true})
	}
	return beside, nil
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
			timeMaps = append(timeMaps, snapshot.File{Path: name, Retired: true})
		}
	}
	if err := from.fetch(ctx, timeMaps); err != nil {
		return nil, err
	}
	there := &run{layout: r.layout, out: from}
	v := &versions{run: there}
	for _, t := range timeMaps {
		names, err := v.named(t.Path)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			files = append(files, snapshot.File{Path: name, Body: name != t.Path, Retired: true})
		}
	}
	r.report.Warnings = append(r.report.Warnings, there.report.Warnings...)
	return files, nil
}

// patchesOf adds the patches that Change Lists name to others.
func (r *run) patchesOf(s *snapshot.Snapshot, others map[string]bool) (map[string]bool, error) {
	if others == nil {
		others = map[string]bool{}
	}
	set := &resourceSet{run: r, prev: previous{snapshot: s}}
	for _, list := range set.allLists() {
		if err := set.eachPatch(list, func(name string) { others[name] = true }); err != nil {
			return nil, err
		}
	}
	return others, nil
}
