package front

import (
	"maps"
	"slices"
	"time"

	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/internal/stage"
	"github.com/wellspring-sync/wellspring/internal/publish"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
)

// retirement finds out which files are kept although nothing names them any more, and which
// are removed.
type retirement struct {
	d   *Decision
	now time.Time
	// unreached are bodies of each set, in their order, that nothing leads to any more, and
	// dropped those beside their documents.
	unreached [][]string
	dropped   []string
	removed   []string
}

func newRetirement(d *Decision, now time.Time, dropped []string) *retirement {
	return &retirement{d: d, now: now, dropped: dropped}
}

// add takes the bodies of the next set that nothing leads to any more.
func (r *retirement) add(unreached []string) { r.unreached = append(r.unreached, unreached) }

// sweep plans to remove what is not kept, and returns how many files that are.
func (r *retirement) sweep(tx *publish.Tx) int {
	for _, path := range r.removed {
		tx.Remove(path)
	}
	return len(r.removed)
}

// all does what set does for the one set of a publication.
func (r *retirement) all(s *SetDecision, placed []stage.Placed) ([]snapshot.Retired, error) {
	return r.set(s, r.unreached[0], placed)
}

// set returns the bodies of a set that are kept although nothing names them any
// more, and plans to remove those that were kept for long enough. Without named sets, that
// is all of the publication.
func (r *retirement) set(s *SetDecision, unreached []string, placed []stage.Placed) (kept []snapshot.Retired, err error) {
	written, obsolete := stage.Paths(placed), unreached
	var remove []string
	if !s.Set.HasName() {
		beside, err := r.obsoleteBeside()
		if err != nil {
			return nil, err
		}
		if s.Set.IsFirst() {
			obsolete = r.d.pub.Leaving.Obsolete
		}
		obsolete, remove = slices.Concat(obsolete, beside), r.d.pub.Leaving.Remove
	}
	for _, path := range obsolete {
		if !written[path] {
			kept = append(kept, snapshot.Retired{Path: path, Since: r.now})
		}
	}
	named, err := r.named(s.Set)
	if err != nil {
		return nil, err
	}
	stays := func(path string) bool { return written[path] || named[path] }
	kept = append(kept, r.keep(s.Set.Retired, stays)...)
	for _, path := range slices.Concat(remove, endedHeads(r.d.pub, s)) {
		if !stays(path) && path != s.Set.Layout.Record().Path && !r.isTopHead(path) {
			r.remove(path)
		}
	}
	return kept, nil
}

// endedHeads returns the paths of heads of a set that are published no more.
func endedHeads(pub *last.Publication, s *SetDecision) []string {
	paths, dumps := s.Edition.Ended()
	if !s.Set.HasName() && pub.EndsPage() {
		paths = append(paths, pub.Layout.Page().Path)
	}
	if s.Set.Options.Hub == "" && s.Set.HadNotification() {
		paths = append(paths, s.Set.Layout.FrameworkNotification().Path)
	}
	return append(paths, dumps...)
}

// isTopHead reports whether a path is that of a document that stays whatever becomes
// of the sets.
func (r *retirement) isTopHead(path string) bool {
	return path == r.d.pub.Layout.Record().Path || path == r.d.pub.Layout.SourceDescription().Path || slices.Contains(r.d.pub.ForPeople(), path)
}

// keep plans to remove what was retired for long enough, and returns the rest.
func (r *retirement) keep(retired []snapshot.Retired, stays func(path string) bool) (kept []snapshot.Retired) {
	for _, b := range retired {
		switch {
		case stays(b.Path):
		case r.now.Sub(b.Since) >= r.d.o.Grace:
			r.remove(b.Path)
		default:
			kept = append(kept, b)
		}
	}
	return kept
}

// remove plans to remove a file of the last publication.
func (r *retirement) remove(path string) {
	r.removed = append(r.removed, path)
}

// named returns the bodies that the last publication of a set names. A record that calls
// one of them retired is wrong: they have only been so since this run, if they are.
func (r *retirement) named(s *last.Set) (map[string]bool, error) {
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
	return named, r.nameBeside(s.Retired, named)
}

// nameBeside adds the versions and patches that the last publication names, if a record
// calls any such file retired.
func (r *retirement) nameBeside(retired []snapshot.Retired, named map[string]bool) error {
	if !slices.ContainsFunc(retired, func(b snapshot.Retired) bool { return r.d.pub.Layout.IsBeside(b.Path) }) {
		return nil
	}
	for i := range r.d.Sets {
		s := r.d.Sets[i].Set
		if s.IsFirst() {
			continue
		}
		beside, err := r.d.pub.Beside(s)
		if err != nil {
			return err
		}
		for _, path := range beside {
			named[path] = true
		}
	}
	return nil
}

// top does so above sets with names.
func (r *retirement) top(placed []stage.Placed) (kept []snapshot.Retired, err error) {
	named := stage.Paths(placed)
	own := maps.Clone(named) // what is placed above the sets, and in them
	for i := range r.d.Sets {
		named[r.d.Sets[i].Set.Layout.CapabilityList().Path] = true // which may be just as it was
	}
	stays := func(path string) bool { return named[path] || r.d.source.isPart(path) }
	together := r.d.pub.Together
	if together != nil && together.Record != nil {
		if err := r.nameBeside(together.Record.Retired, named); err != nil {
			return nil, err
		}
	}
	beside, err := r.obsoleteBeside()
	if err != nil {
		return nil, err
	}
	for _, path := range beside {
		if !own[path] {
			kept = append(kept, snapshot.Retired{Path: path, Since: r.now})
		}
	}
	if together != nil {
		for _, part := range together.Parts {
			if !stays(part) {
				kept = append(kept, snapshot.Retired{Path: part, Since: r.now})
			}
		}
		if together.Record != nil {
			kept = append(kept, r.keep(together.Record.Retired, stays)...)
		}
	}
	if r.d.pub.EndsPage() {
		r.remove(r.d.pub.Layout.Page().Path)
	}
	for _, path := range r.d.pub.Leaving.Remove {
		if !stays(path) && !r.isTopHead(path) {
			r.remove(path)
		}
	}
	return kept, nil
}

// obsoleteBeside returns the versions and patches beside the documents that nothing
// names any more, once each set has said which of its documents are such.
func (r *retirement) obsoleteBeside() ([]string, error) {
	patches, err := r.obsoletePatches()
	return append(patches, r.dropped...), err
}

// obsoletePatches returns the patches that are named in none but Change Lists that
// nothing leads to any more.
func (r *retirement) obsoletePatches() ([]string, error) {
	named := maps.Clone(r.d.pub.Leaving.Patches)
	if named == nil {
		named = map[string]bool{}
	}
	if err := r.eachPatch(true, func(path string) { named[path] = true }); err != nil || len(named) == 0 {
		return nil, err
	}
	if err := r.eachPatch(false, func(path string) { delete(named, path) }); err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(named)), nil
}

// eachPatch calls fn for the path of each patch that is named in Change Lists of the last
// publication: in those that nothing leads to any more, or in those that stay.
func (r *retirement) eachPatch(ended bool, fn func(path string)) error {
	for i := range r.d.Sets {
		s := r.d.Sets[i].Set
		if s.IsFirst() {
			continue
		}
		unreached := map[string]bool{}
		for _, path := range r.unreached[i] {
			unreached[path] = true
		}
		if ended && len(unreached) == 0 {
			continue
		}
		for _, list := range last.ChangeLists(s.Snapshot) {
			if unreached[list.Path] != ended {
				continue
			}
			if err := last.EachPatch(s.Snapshot, list, r.d.pub.Layout, fn); err != nil {
				return err
			}
		}
	}
	return nil
}
