package front

import (
	"maps"
	"slices"

	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/internal/stage"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
)

// retireSet returns the bodies of a set that are kept although nothing names them any
// more, and plans to remove those that were kept for long enough. Without named sets, that
// is all of the publication.
func (w *writing) retireSet(s *SetDecision, r *setResult) (kept []snapshot.Retired, err error) {
	written := stage.Paths(r.placed)
	obsolete := r.unreached
	var remove []string
	if !s.Set.HasName() {
		beside, err := w.obsoleteBeside()
		if err != nil {
			return nil, err
		}
		if s.Set.IsFirst() {
			obsolete = w.d.pub.Leaving.Obsolete
		}
		obsolete, remove = slices.Concat(obsolete, beside), w.d.pub.Leaving.Remove
	}
	for _, path := range obsolete {
		if !written[path] {
			kept = append(kept, snapshot.Retired{Path: path, Since: w.now})
		}
	}
	named, err := w.named(s.Set)
	if err != nil {
		return nil, err
	}
	stays := func(path string) bool { return written[path] || named[path] }
	kept = append(kept, w.sweep(s.Set.Retired, stays)...)
	for _, path := range slices.Concat(remove, w.d.endedHeads(s)) {
		if !stays(path) && path != s.Set.Layout.Record().Path && !w.d.isTopHead(path) {
			w.remove(path)
		}
	}
	return kept, nil
}

// endedHeads returns the paths of heads of a set that are published no more.
func (d *Decision) endedHeads(s *SetDecision) []string {
	paths, dumps := s.Edition.Ended()
	if !s.Set.HasName() && d.pub.EndsPage() {
		paths = append(paths, d.pub.Layout.Page().Path)
	}
	if s.Set.Options.Hub == "" && s.Set.HadNotification() {
		paths = append(paths, s.Set.Layout.FrameworkNotification().Path)
	}
	return append(paths, dumps...)
}

// isTopHead reports whether a path is that of a document that stays whatever becomes
// of the sets.
func (d *Decision) isTopHead(path string) bool {
	return path == d.pub.Layout.Record().Path || path == d.pub.Layout.SourceDescription().Path || slices.Contains(d.pub.ForPeople(), path)
}

// sweep plans to remove what was retired for long enough, and returns the rest.
func (w *writing) sweep(retired []snapshot.Retired, stays func(path string) bool) (kept []snapshot.Retired) {
	for _, b := range retired {
		switch {
		case stays(b.Path):
		case w.now.Sub(b.Since) >= w.d.o.Grace:
			w.remove(b.Path)
		default:
			kept = append(kept, b)
		}
	}
	return kept
}

// remove plans to remove a file of the last publication.
func (w *writing) remove(path string) {
	w.d.pub.Tx.Remove(path)
	w.result.Swept++
}

// named returns the bodies that the last publication of a set names. A record that calls
// one of them retired is wrong: they have only been so since this run, if they are.
func (w *writing) named(s *last.Set) (map[string]bool, error) {
	named := map[string]bool{}
	if s.IsFirst() || len(s.Retired) == 0 {
		return named, nil
	}
	archived, err := s.Snapshot.ArchivedBodies()
	if err != nil {
		return nil, err
	}
	for _, path := range append(archived, s.Snapshot.Bodies()...) {
		named[path] = true
	}
	if s.HasName() {
		return named, nil
	}
	return named, w.nameBeside(s.Retired, named)
}

// nameBeside adds the versions and patches that the last publication names, if a record
// calls any such file retired.
func (w *writing) nameBeside(retired []snapshot.Retired, named map[string]bool) error {
	if !slices.ContainsFunc(retired, func(b snapshot.Retired) bool { return w.d.pub.Layout.IsBeside(b.Path) }) {
		return nil
	}
	for i := range w.d.Sets {
		s := w.d.Sets[i].Set
		if s.IsFirst() {
			continue
		}
		beside, err := w.d.pub.Beside(s)
		if err != nil {
			return err
		}
		for _, path := range beside {
			named[path] = true
		}
	}
	return nil
}

// retireTop does so above sets with names.
func (w *writing) retireTop() (kept []snapshot.Retired, err error) {
	named := stage.Paths(w.result.Placed)
	own := maps.Clone(named) // what is placed above the sets, and in them
	for _, path := range w.d.partPaths {
		named[path] = true
	}
	for i := range w.d.Sets {
		named[w.d.Sets[i].Set.Layout.CapabilityList().Path] = true // which may be just as it was
	}
	stays := func(path string) bool { return named[path] }
	together := w.d.pub.Together
	if together != nil && together.Record != nil {
		if err := w.nameBeside(together.Record.Retired, named); err != nil {
			return nil, err
		}
	}
	beside, err := w.obsoleteBeside()
	if err != nil {
		return nil, err
	}
	for _, path := range beside {
		if !own[path] {
			kept = append(kept, snapshot.Retired{Path: path, Since: w.now})
		}
	}
	if together != nil {
		for _, part := range together.Parts {
			if !stays(part) {
				kept = append(kept, snapshot.Retired{Path: part, Since: w.now})
			}
		}
		if together.Record != nil {
			kept = append(kept, w.sweep(together.Record.Retired, stays)...)
		}
	}
	if w.d.pub.EndsPage() {
		w.remove(w.d.pub.Layout.Page().Path)
	}
	for _, path := range w.d.pub.Leaving.Remove {
		if !stays(path) && !w.d.isTopHead(path) {
			w.remove(path)
		}
	}
	return kept, nil
}

// obsoleteBeside returns the versions and patches beside the documents that nothing
// names any more, once each set has said which of its documents are such.
func (w *writing) obsoleteBeside() ([]string, error) {
	patches, err := w.obsoletePatches()
	return append(patches, w.beside.Dropped...), err
}

// obsoletePatches returns the patches that are named in none but Change Lists that
// nothing leads to any more.
func (w *writing) obsoletePatches() ([]string, error) {
	named := maps.Clone(w.d.pub.Leaving.Patches)
	if named == nil {
		named = map[string]bool{}
	}
	if err := w.eachPatch(true, func(path string) { named[path] = true }); err != nil || len(named) == 0 {
		return nil, err
	}
	if err := w.eachPatch(false, func(path string) { delete(named, path) }); err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(named)), nil
}

// eachPatch calls fn for the path of each patch that is named in Change Lists of the last
// publication: in those that nothing leads to any more, or in those that stay.
func (w *writing) eachPatch(ended bool, fn func(path string)) error {
	for i := range w.d.Sets {
		s := w.d.Sets[i].Set
		if s.IsFirst() {
			continue
		}
		unreached := map[string]bool{}
		for _, path := range w.sets[i].unreached {
			unreached[path] = true
		}
		if ended && len(unreached) == 0 {
			continue
		}
		for _, list := range last.ChangeLists(s.Snapshot) {
			if unreached[list.Path] != ended {
				continue
			}
			if err := last.EachPatch(s.Snapshot, list, w.d.pub.Layout, fn); err != nil {
				return err
			}
		}
	}
	return nil
}
