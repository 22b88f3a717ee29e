package hashing

import (
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestReadRewrittenInSecret has a file whose bytes change while its length and
// modification time stay: only its change time shows it.
func TestReadRewrittenInSecret(t *testing.T) {
	t.Parallel()
	change := func(name string, n int) {
		before, err := os.Stat(name)
		if err != nil {
			t.Error(err)
			return
		}
		for { // until the clock, which may be slow, shows another time
			if err := os.WriteFile(name, randomBytes(1000 + n)[n:], 0o644); err != nil {
				t.Error(err)
				return
			}
			if err := os.Chtimes(name, time.Time{}, before.ModTime()); err != nil {
				t.Error(err)
				return
			}
			after, err := os.Stat(name)
			if err != nil || after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()) {
				t.Errorf("the change shows: %v, %v", after, err)
				return
			}
			if !changeTime(after).Equal(changeTime(before)) {
				return
			}
		}
	}
	for times := range 4 {
		testMovingFile(t, times, openFile, change)
	}
}

func TestSettleChangeTime(t *testing.T) {
	t.Parallel()
	const hour = time.Hour
	tests := []struct {
		name              string
		modified, changed time.Duration // ago
		want              time.Duration
	}{
		{"both long ago", hour, hour, 0},
		{"changed just now, modified long ago", hour + 1, 1, tick - 1},
		{"changed just now, modified in the future", -hour, 1, 0},
		{"modified on a whole second, as tar does", hour, 1, tick - 1},
		{"both on this whole second", 0, 0, coarseTick},
		{"changed on this whole second, modified at a fraction", hour + 1, 0, tick},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				sys := &syscall.Stat_t{Ctim: syscall.NsecToTimespec(start.Add(-test.changed).UnixNano())}
				info := dated{modified: start.Add(-test.modified), sys: sys}
				if err := NewReader(nil).settle(t.Context(), info); err != nil {
					t.Fatal(err)
				}
				if got := time.Since(start); got != test.want {
					t.Errorf("waited for %v, want %v", got, test.want)
				}
			})
		})
	}
}
