package policy

import (
	"fmt"
	"strconv"
	"strings"
)

// Limit is a number of resources, or a share of those that were published.
type Limit struct {
	Count   int
	Percent bool // Count is in percent; 20 resources are always allowed
}

// DefaultMaxDelete lets a source lose half of its resources in one run.
var DefaultMaxDelete = Limit{Count: 50, Percent: true}

// alwaysAllowed keeps a limit in percent from hindering small sources.
const alwaysAllowed = 20

// ParseLimit reads a number, or a number with a percent sign.
func ParseLimit(s string) (Limit, error) {
	digits, percent := strings.CutSuffix(s, "%")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || percent && n > 100 {
		return Limit{}, fmt.Errorf("%q is neither a number nor a percentage", s)
	}
	return Limit{Count: n, Percent: percent}, nil
}

func (l Limit) String() string {
	if l.Percent {
		return strconv.Itoa(l.Count) + "%"
	}
	return strconv.Itoa(l.Count)
}

// Allows reports whether n of so many may be deleted.
func (l Limit) Allows(n, of int) bool {
	if l.Percent {
		return n <= alwaysAllowed || n*100 <= of*l.Count
	}
	return n <= l.Count
}
