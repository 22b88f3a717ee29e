package policy

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Keep is for how long something stays. The zero value stands for a default.
type Keep struct {
	duration time.Duration // less than 0: for as short as possible
	forever  bool
}

// DefaultKeepChanges lets a Destination be away for a summer.
var DefaultKeepChanges = Keep{duration: 90 * oneDay}

// KeepAll keeps everything.
var KeepAll = Keep{forever: true}

// KeepFor keeps something for so long after it ended, and for as short as possible if that
// is zero or less.
func KeepFor(d time.Duration) Keep {
	if d <= 0 {
		d = -1
	}
	return Keep{duration: d}
}

const oneDay = 24 * time.Hour

// keepUnits are those that people know from backup programs. Months have 30
// days, and years 365.
var keepUnits = map[byte]time.Duration{'h': time.Hour, 'd': oneDay, 'w': 7 * oneDay, 'm': 30 * oneDay, 'y': 365 * oneDay}

// ParseKeep reads a number and a unit, such as 36h, 90d, 12w, 6m or 2y, or all.
func ParseKeep(s string) (Keep, error) {
	if s == "all" {
		return Keep{forever: true}, nil
	}
	if s == "0" {
		return Keep{duration: -1}, nil
	}
	if s == "" {
		return Keep{}, errors.New("how long is missing, such as 90d")
	}
	unit, known := keepUnits[s[len(s)-1]]
	n, err := strconv.Atoi(s[:len(s)-1])
	if err != nil || !known || n < 0 || n > int(100*365*oneDay/unit) {
		return Keep{}, fmt.Errorf("%q is neither a number of hours, days, weeks, months or years up to 100 years, such as 36h, 90d, 12w, 6m or 2y, nor all", s)
	}
	if n == 0 {
		return Keep{duration: -1}, nil
	}
	return Keep{duration: time.Duration(n) * unit}, nil
}

func (k Keep) String() string {
	switch {
	case k.forever:
		return "all"
	case k.duration < 0:
		return "0"
	}
	for _, unit := range "ywdh" { // months are told as days
		if d := keepUnits[byte(unit)]; k.duration%d == 0 {
			return strconv.Itoa(int(k.duration/d)) + string(unit)
		}
	}
	return k.duration.String()
}

// Before returns the time that is so long before now, or the zero time if there is
// no such limit.
func (k Keep) Before(now time.Time) time.Time {
	if k.forever {
		return time.Time{}
	}
	return now.Add(-max(k.duration, 0))
}

// IsPast reports whether something that ended is kept no longer.
func (k Keep) IsPast(ended, now time.Time) bool {
	return !k.forever && !ended.IsZero() && now.Sub(ended) > max(k.duration, 0)
}
