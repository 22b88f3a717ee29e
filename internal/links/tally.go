package links

import "fmt"

// Tally takes note of what rules gave in one run. It is not safe for concurrent use; its
// methods do nothing if it is nil.
type Tally struct {
	rules []rule
	of    []tallied // by rule
}

// tallied is what a rule gave: whether a file matched it, whether it gave a link, and what
// the first link would have led to that is not there.
type tallied struct {
	matched, used bool
	missing       *string
}

// NewTally returns a tally of nothing.
func (rs *Rules) NewTally() *Tally { return &Tally{rs.rules, make([]tallied, len(rs.rules))} }

func (t *Tally) match(rule int) {
	if t != nil {
		t.of[rule].matched = true
	}
}

// Used notes that a rule gave a link that leads to something.
func (t *Tally) Used(rule int) {
	if t != nil {
		t.of[rule].used = true
	}
}

// Missing notes that what a link of a rule leads to is not there.
func (t *Tally) Missing(rule int, what string) {
	if t != nil && t.of[rule].missing == nil {
		t.of[rule].missing = &what
	}
}

// Unused says which rules gave no link, and why.
func (t *Tally) Unused() []string {
	var names []string
	for i := range t.of {
		name := t.rules[i].Name
		switch got := &t.of[i]; {
		case got.used:
		case !got.matched:
			names = append(names, name+": the rule gives no link: no file matches it")
		case got.missing != nil:
			names = append(names, fmt.Sprintf("%s: the rule gives no link: nothing that it leads to is published, such as %q", name, *got.missing))
		}
	}
	return names
}
