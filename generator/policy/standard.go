package policy

import (
	"fmt"
	"time"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

// Standard is the version of ResourceSync in whose form changes are published.
// Nothing else that is written differs between the versions.
type Standard string

// The versions.
const (
	// Standard11 is Z39.99-2017: the time of a change is its datetime, and its
	// lastmod that of the resource. It is what the zero value stands for.
	Standard11 Standard = "1.1"
	// Standard10 is Z39.99-2014: the time of a change is its lastmod, which must
	// be there, and there is no datetime. See its §7, §12.1 and Appendix A.
	Standard10 Standard = "1.0"
)

// ParseStandard reads 1.0 or 1.1.
func ParseStandard(s string) (Standard, error) {
	switch v := Standard(s); v {
	case Standard10, Standard11:
		return v, nil
	}
	return "", fmt.Errorf("%q is neither 1.0 nor 1.1", s)
}

// Stamp gives a change its time.
func (s Standard) Stamp(e *resourcesync.Entry, at time.Time) {
	if s == Standard10 {
		e.LastModified = at
		return
	}
	e.Metadata.DateTime = at
}

// What the time of a change takes at most, in bytes: how many chunks a run has is
// known when all of its events are placed.
const (
	fractionBytes = int64(len(`.000000`))
	datetimeBytes = int64(len(` datetime="2006-01-02T15:04:05Z"`)) + fractionBytes
	lastmodBytes  = int64(len(`<lastmod>2006-01-02T15:04:05Z</lastmod>`)) + fractionBytes
)

// StampBytes is what Stamp adds to an entry at most, in bytes.
func (s Standard) StampBytes(e *resourcesync.Entry) int64 {
	switch {
	case s != Standard10:
		return datetimeBytes
	case e.LastModified.IsZero():
		return lastmodBytes
	}
	return fractionBytes // one time takes the place of another, which is in whole seconds
}

// HasDateTimes reports whether changes have a datetime. If not, their lastmod is the time
// of the change.
func (s Standard) HasDateTimes() bool { return s != Standard10 }
