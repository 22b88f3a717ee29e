package survey

import (
	"slices"
	"strings"

	"github.com/wellspring-sync/wellspring/generator/internal/last"
)

// setIndex finds the sets that a file can be in. Where there are very many of them,
// most are about one folder each.
type setIndex struct {
	all      []*last.Set
	hasRules bool
	byFolder map[string][]*last.Set // nil if there are few
	others   []*last.Set            // which are about more than some folders
	buf      []*last.Set
}

func newSetIndex(sets []*last.Set) setIndex {
	x := setIndex{all: sets, hasRules: slices.ContainsFunc(sets, func(s *last.Set) bool { return s.HasName() })}
	if len(sets) <= ManySets {
		return x
	}
	x.byFolder = map[string][]*last.Set{}
	for _, set := range sets {
		folders := set.Rules().Folders()
		if folders == nil {
			x.others = append(x.others, set)
		}
		for _, f := range folders {
			x.byFolder[f] = append(x.byFolder[f], set)
		}
	}
	return x
}

// sets returns the sets in which a file may be, and those in which it was, in their
// order. They are valid until the next call.
func (x *setIndex) sets(path string, was []Published) []*last.Set {
	if x.byFolder == nil {
		return x.all
	}
	folder, _, _ := strings.Cut(path, "/")
	x.buf = append(append(x.buf[:0], x.others...), x.byFolder[folder]...)
	for i := range was {
		x.buf = append(x.buf, was[i].Set)
	}
	slices.SortFunc(x.buf, func(a, b *last.Set) int { return a.Number - b.Number })
	x.buf = slices.Compact(x.buf)
	return x.buf
}
