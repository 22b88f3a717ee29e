package last

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/internal/timemap"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// What lies beside the documents of all sets: TimeMaps, which change in place, and the
// versions and patches that they and the Change Lists name.

// Relations of Z39.99-2017 §14.4 and §14.6.
const (
	RelTimeMap = "timemap"
	RelMemento = "memento"
	RelPatch   = "http://www.openarchives.org/rs/terms/patch"
)

// warner takes a message for people.
type warner = func(format string, args ...any)

// filesOf returns all files of a set, with the versions and patches that its lists
// name, which come first.
func (e *elsewhere) filesOf(ctx context.Context, s *snapshot.Snapshot, l layout.Layout, warn warner) ([]snapshot.File, error) {
	files, err := s.Files()
	if err != nil {
		return nil, err
	}
	beside, err := e.besideOf(ctx, s, l, warn)
	return append(beside, files...), err
}

// besideOf returns the versions and patches that the lists of a set name.
func (e *elsewhere) besideOf(ctx context.Context, s *snapshot.Snapshot, l layout.Layout, warn warner) ([]snapshot.File, error) {
	beside, err := e.versionsOf(ctx, s, l, warn)
	if err != nil {
		return nil, err
	}
	patches := map[string]bool{}
	for _, list := range ChangeLists(s) {
		if err := EachPatch(s, list, l, func(name string) { patches[name] = true }); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(patches)) {
		beside = append(beside, snapshot.File{Path: name, Body: true, Retired: true})
	}
	return beside, nil
}

// versionsOf returns the TimeMaps that the Resource List names, and the versions in
// them.
func (e *elsewhere) versionsOf(ctx context.Context, s *snapshot.Snapshot, l layout.Layout, warn warner) (files []snapshot.File, err error) {
	var timeMaps []snapshot.File
	for b, err := range s.Resources(ctx) {
		if err != nil {
			return nil, err
		}
		if name := TimeMapOf(l, b); name != "" {
			timeMaps = append(timeMaps, snapshot.File{Path: name, Retired: true})
		}
	}
	if err := e.fetch(ctx, timeMaps); err != nil {
		return nil, err
	}
	for _, t := range timeMaps {
		names, err := FilesOfTimeMap(e, l, t.Path, warn)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			files = append(files, snapshot.File{Path: name, Body: name != t.Path, Retired: true})
		}
	}
	return files, nil
}

// TimeMapOf returns the path of the TimeMap that is published of a resource, or
// nothing.
func TimeMapOf(l layout.Layout, before *snapshot.Previous) string {
	for i := range before.Links {
		if link := &before.Links[i]; link.Rel == RelTimeMap {
			if own := l.TimeMap(before.Loc); link.Href == own.URI {
				return own.Path
			}
		}
	}
	return ""
}

// ReadTimeMap reads a TimeMap.
func ReadTimeMap(files fs.FS, name string) (*timemap.TimeMap, error) {
	b, err := snapshot.ReadFileAtMost(files, name, timemap.MaxBytes)
	if err != nil {
		return nil, err
	}
	return timemap.Parse(b)
}

// IsGone reports whether an error says that a TimeMap is not there, or is none. Others
// say nothing of it.
func IsGone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, timemap.ErrMalformed)
}

// VersionPath returns the path of a version, and false for what is none of those beside
// the TimeMap of a path.
func VersionPath(l layout.Layout, uri, timeMap string) (string, bool) {
	name, ok := l.PathOf(uri)
	return name, ok && l.IsBody(name) && path.Dir(name) == path.Dir(timeMap)
}

// FilesOfTimeMap returns the paths of a TimeMap and of the versions in it. One that is
// damaged has none.
func FilesOfTimeMap(files fs.FS, l layout.Layout, timeMap string, warn warner) ([]string, error) {
	m, err := ReadTimeMap(files, timeMap)
	if IsGone(err) {
		warn("%s is not there or damaged, so that its versions are left where they are: %v", timeMap, Bare(err))
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading what is published of versions: %w", err)
	}
	names, seen := []string{timeMap}, map[string]bool{}
	for _, x := range m.Versions {
		if name, ok := VersionPath(l, x.URI, timeMap); ok && !seen[name] { // one file can be several
			seen[name] = true
			names = append(names, name)
		}
	}
	return names, nil
}

// ChangeLists returns the Change Lists of a publication, live and archived.
func ChangeLists(s *snapshot.Snapshot) []snapshot.ChangeList {
	lists := slices.Clone(s.Changes)
	if a := s.Archives[resourcesync.ChangeList]; a != nil {
		for _, e := range a.Entries {
			lists = append(lists, snapshot.ChangeList{Ref: e.Ref, From: e.From, Until: e.Until})
		}
	}
	return lists
}

// EachPatch calls fn for the path of each patch that a Change List names, in the
// publication with a layout.
func EachPatch(s *snapshot.Snapshot, list snapshot.ChangeList, l layout.Layout, fn func(path string)) error {
	return s.EachChange(list, func(e *resourcesync.Entry) error {
		for i := range e.Links {
			if e.Links[i].Rel != RelPatch {
				continue
			}
			if name, ok := l.PathOf(e.Links[i].Href); ok && l.IsPatch(name) {
				fn(name)
			}
		}
		return nil
	})
}

// Bare takes operation and name off an error of the file system.
func Bare(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
