package edition

import (
	"testing"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
)

// A list has one form.
func TestContinues(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		standard           policy.Standard
		entries, datetimes int
		want               bool
	}{
		{"", 3, 3, true}, {"", 3, 0, false}, {"", 3, 1, false},
		{policy.Standard11, 3, 3, true}, {policy.Standard11, 3, 2, false},
		{policy.Standard10, 3, 0, true}, {policy.Standard10, 3, 3, false}, {policy.Standard10, 3, 1, false},
	} {
		if got := (&eventDraft{standard: tt.standard}).continues(&snapshot.OpenList{Entries: tt.entries, DateTimes: tt.datetimes}); got != tt.want {
			t.Errorf("%q with %d of %d: got %v", tt.standard, tt.datetimes, tt.entries, got)
		}
	}
}
