// Package prepare changes a site before it is published: links in its pages, lines in
// its robots.txt, and what its host reads. It alone touches files that may be
// resources: each in one step, and only if it has to say something else. It writes
// nothing of a publication.
package prepare

import (
	"cmp"
	"slices"
)

// LeftAlone is the reason why something is left as it is.
type LeftAlone string

func (l LeftAlone) Error() string { return string(l) }

// Action is what was done with a file, or would be in a dry run.
type Action string

// The actions.
const (
	Unchanged Action = "unchanged"
	Updated   Action = "updated"
	Created   Action = "created"
)

// File is what was done with one file.
type File struct {
	// Path is slash-separated and relative to the site.
	Path   string `json:"path"`
	Action Action `json:"action"`
}

// Left counts what was left alone for a reason.
type Left struct {
	Why   LeftAlone `json:"why"`
	Count int       `json:"count"`
	First string    `json:"first"` // path of the first one
}

// lefts counts by reasons.
type lefts []Left

func (l *lefts) add(why LeftAlone, path string) {
	i := slices.IndexFunc(*l, func(x Left) bool { return x.Why == why })
	if i < 0 {
		i = len(*l)
		*l = append(*l, Left{Why: why, First: path})
	}
	(*l)[i].Count++
}

// sorted returns the counts, the reason that is the most frequent first.
func (l lefts) sorted() []Left {
	slices.SortStableFunc(l, func(a, b Left) int { return cmp.Compare(b.Count, a.Count) })
	return l
}
