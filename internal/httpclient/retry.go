package httpclient

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// Retry says how requests are sent again that failed in a way that may pass. The zero
// value is for never.
type Retry struct {
	Times   int           // how often
	First   time.Duration // the first pause: a second by default
	Longest time.Duration // the longest, whatever a server asks for: a minute by default
}

// Pause returns how long to wait after so many tries before: the first pause, and then
// twice as long each time, not the same for all that wait; or as long as the server asks.
func (r Retry) Pause(tried int, asked time.Duration) time.Duration {
	longest := cmp.Or(r.Longest, time.Minute)
	d := min(cmp.Or(r.First, time.Second)<<min(tried, 10), longest)
	return max(d/2+rand.N(d/2), min(asked, longest))
}

// retryAfter reads a header that is a number of seconds or a date, or returns 0. See RFC
// 9110 §10.2.3.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(value, 10, 32); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if t, err := http.ParseTime(value); err == nil {
		return max(t.Sub(now), 0)
	}
	return 0
}

// Sleep waits, and returns why the context ended if it does so first.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
