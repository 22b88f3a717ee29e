package generator

import (
	"slices"
	"strings"
)

// setIndex finds the sets that a file can be in. Where there are very many of them,
// most are about one folder each.
type setIndex struct {
	all      []*resourceSet
	hasRules bool
	byFolder map[string][]*resourceSet // nil if there are few
	others   []*resourceSet            // which are about more than some folders
	buf      []*resourceSet
}

func newSetIndex(sets []*resourceSet) setIndex {
	x := setIndex{all: sets, hasRules: slices.ContainsFunc(sets, func(s *resourceSet) bool { return s.rules != nil })}
	if len(sets) <= manySets {
		return x
	}
	x.byFolder = map[string][]*resourceSet{}
	for _, set := range sets {
		folders := set.rules.folders()
		if folders == nil {
			x.others = append(x.others, set)
		}
		for _, f := range folders {
			x.byFolder[f] = append(x.byFolder[f], set)
		}
	}
	return x
}

// folders returns the names of the folders at the top of the source in which all
// files of a set are, or nil if there is no saying.
func (s *Selection) folders() (names []string) {
	for i := range s.Include {
		name, ok := s.Include[i].Folder()
		if !ok {
			return nil
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// sets returns the sets in which a file may be, and those in which it was, in their
// order. They are valid until the next call.
func (x *setIndex) sets(path string, was []published) []*resourceSet {
	if x.byFolder == nil {
		return x.all
	}
	folder, _, _ := strings.Cut(path, "/")
	x.buf = append(append(x.buf[:0], x.others...), x.byFolder[folder]...)
	for i := range was {
		x.buf = append(x.buf, was[i].set)
	}
	slices.SortFunc(x.buf, func(a, b *resourceSet) int { return a.number - b.number })
	x.buf = slices.Compact(x.buf)
	return x.buf
}
