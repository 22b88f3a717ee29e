package policy

import (
	"fmt"
	"strconv"
	"time"
)

// Rotation says when the open Change List is closed and another one begun. A
// list is closed by the first run that has events for the next one.
type Rotation struct {
	// Period is how long a list is open: run, hourly, daily, weekly or monthly,
	// all of them in UTC. It is empty for lists that are closed when they are
	// full.
	Period string
	// Changes is how many changes a list has at most; 0 is as many as the
	// standard allows.
	Changes int
}

// ParseRotation reads full, run, hourly, daily, weekly, monthly or a number of
// changes.
func ParseRotation(s string) (Rotation, error) {
	switch s {
	case "full":
		return Rotation{}, nil
	case "run", "hourly", "daily", "weekly", "monthly":
		return Rotation{Period: s}, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return Rotation{}, fmt.Errorf("%q is none of full, run, hourly, daily, weekly, monthly and a number of changes", s)
	}
	return Rotation{Changes: n}, nil
}

// Ends reports whether a list whose last event is of one time is closed by a run
// with events of another.
func (r Rotation) Ends(last, at time.Time) bool {
	return r.Period == "run" || r.Period != "" && period(r.Period, last) != period(r.Period, at)
}

// Most is how many entries a list may have.
func (r Rotation) Most(limit int) int {
	if r.Changes > 0 {
		return min(limit, r.Changes)
	}
	return limit
}

// period names the hour, day, week, month or year, in UTC, that a time is in.
func period(name string, t time.Time) string {
	t = t.UTC()
	switch name {
	case "hourly":
		return t.Format("2006-01-02T15")
	case "daily":
		return t.Format("2006-01-02")
	case "weekly": // those of ISO 8601, which begin on Monday
		year, week := t.ISOWeek()
		return fmt.Sprintf("%d-W%d", year, week)
	case "monthly":
		return t.Format("2006-01")
	}
	return t.Format("2006")
}
