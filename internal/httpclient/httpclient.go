// Package httpclient has what those share who ask servers of others: which redirects are
// followed, what an error means, and how long to wait until they ask again. It sends
// nothing itself.
package httpclient

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// IsUntrusted reports whether an error is about the server's certificate, which will be
// no other the next time.
func IsUntrusted(err error) bool {
	var c *tls.CertificateVerificationError
	return errors.As(err, &c)
}

// Cause returns why the context ended a request, if it did, or else the error.
func Cause(ctx context.Context, err error) error { return cmp.Or(context.Cause(ctx), err) }

// KeepsScheme reports whether a redirect leads to http or https, and not out of https.
func KeepsScheme(from, to *url.URL) bool {
	return to.Scheme == "https" || to.Scheme == "http" && from.Scheme != "https"
}

// SameHost compares hosts and ports. The default ports of http and https count as one.
func SameHost(a, b *url.URL) bool {
	return strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	if p := u.Port(); p != map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		return p
	}
	return ""
}

// Status names a status in our words: those of the server may be anything.
func Status(code int) string {
	return strings.TrimSpace(strconv.Itoa(code) + " " + http.StatusText(code))
}

// LongestWait is how long to wait at most, whatever a server asks for.
const LongestWait = time.Minute

// BackOff returns how long to wait after so many tries before: first, and then twice as
// long each time, and not the same for all that wait.
func BackOff(first time.Duration, tried int) time.Duration {
	d := min(first<<min(tried, 10), LongestWait)
	return d/2 + rand.N(d/2)
}

// RetryAfter reads a header that is a number of seconds or a date, or returns 0. See RFC
// 9110 §10.2.3.
func RetryAfter(value string, now time.Time) time.Duration {
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
