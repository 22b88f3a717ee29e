package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ArchiveKeep says which archived snapshots are kept: the last one of each of so
// many days, weeks, months and years that have any.
type ArchiveKeep struct {
	Daily, Weekly, Monthly, Yearly int // less than 0 for all
}

// DefaultArchiveKeep has a week by the day, a month by the week, a year by the
// month, and all years.
var DefaultArchiveKeep = ArchiveKeep{Daily: 7, Weekly: 5, Monthly: 12, Yearly: -1}

// ParseArchiveKeep reads what String returns.
func ParseArchiveKeep(s string) (k ArchiveKeep, err error) {
	for rule := range strings.SplitSeq(s, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(rule), "=")
		n, err := strconv.Atoi(value)
		if value == "all" {
			n, err = -1, nil
		} else if n < 0 {
			err = strconv.ErrRange
		}
		into, known := k.rules()[name]
		if err != nil || !known {
			return k, fmt.Errorf("%q is not like %s", s, DefaultArchiveKeep)
		}
		*into = n
	}
	if k == (ArchiveKeep{}) {
		return k, fmt.Errorf("%q keeps nothing; to have no archives, do without --archive", s)
	}
	return k, nil
}

// rules returns the numbers by the names of their periods.
func (k *ArchiveKeep) rules() map[string]*int {
	return map[string]*int{"daily": &k.Daily, "weekly": &k.Weekly, "monthly": &k.Monthly, "yearly": &k.Yearly}
}

func (k ArchiveKeep) String() string {
	var parts []string
	for _, name := range [...]string{"daily", "weekly", "monthly", "yearly"} {
		switch n := *k.rules()[name]; {
		case n < 0:
			parts = append(parts, name+"=all")
		case n > 0:
			parts = append(parts, name+"="+strconv.Itoa(n))
		}
	}
	return strings.Join(parts, ",")
}

// Thin says which of several snapshots are kept, by their times, which are in order.
func (k ArchiveKeep) Thin(times []time.Time) (kept []bool) {
	kept = make([]bool, len(times))
	seen := map[string]string{} // the period that was met last, by the name of the rule
	count := map[string]int{}
	for i, at := range slices.Backward(times) {
		for name, most := range k.rules() {
			p := period(name, at)
			if seen[name] == p || *most >= 0 && count[name] == *most {
				continue
			}
			seen[name] = p
			count[name]++
			kept[i] = true
		}
	}
	return kept
}
