package notify

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// HubError says that a hub did not take a notification.
type HubError struct {
	Hub string
	// Status is the one that the hub answered with, or 0 if it did not.
	Status int
	Err    error

	passing bool          // so that another try may help
	after   time.Duration // that the hub asks to wait
}

func (e *HubError) Error() string { return fmt.Sprintf("the hub %s: %v", e.Hub, e.Err) }
func (e *HubError) Unwrap() error { return e.Err }

// errSlow ends a request that takes too long.
var errSlow = errors.New("no answer in time")

// maxAnswer is how much of an answer is read, in bytes: enough for what a person may
// want to know.
const maxAnswer = 64 << 10

// newTransport returns a transport that goes through the proxy of the environment, and
// takes in little.
func newTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxResponseHeaderBytes = maxAnswer
	return t
}

// plain returns why the context ended a request, if it did.
func plain(ctx context.Context, err error) error { return cmp.Or(context.Cause(ctx), err) }

// isUntrusted reports whether an error is about the server's certificate, which will be
// no other the next time.
func isUntrusted(err error) bool {
	var c *tls.CertificateVerificationError
	return errors.As(err, &c)
}

// redirect returns where an answer leads to. It does so only on the same host, and not
// out of https: who is told, and in secret or not, is for the settings to say.
func redirect(from *url.URL, answer *http.Response) (*url.URL, error) {
	to, err := target(from, answer)
	if err != nil {
		return nil, err
	}
	switch {
	case to.Scheme != "https" && (to.Scheme != "http" || from.Scheme == "https"):
		return nil, fmt.Errorf("it redirects from %s to %q, which is not followed", from.Scheme, clip(to.String()))
	case !strings.EqualFold(from.Hostname(), to.Hostname()) || port(from) != port(to):
		return nil, fmt.Errorf("it redirects to another host: if %q is where it is now, name that", clip(to.String()))
	}
	return to, nil
}

// moved returns an error that names the place to which something that is sent would have
// to be sent instead. To follow would make a GET of it.
func moved(from *url.URL, answer *http.Response) error {
	to, err := target(from, answer)
	if err != nil {
		return err
	}
	return fmt.Errorf("%s to %q: if that is where it is now, name that", status(answer.StatusCode), clip(to.String()))
}

// target returns the URL in the Location header, without a user or a fragment.
func target(from *url.URL, answer *http.Response) (*url.URL, error) {
	location := answer.Header.Get("Location")
	to, err := from.Parse(location)
	if err != nil || location == "" {
		return nil, fmt.Errorf("%s, and not where to", status(answer.StatusCode))
	}
	to.User, to.Fragment, to.RawFragment = nil, "", ""
	return to, nil
}

// port returns the port of a URL. The default ports of http and https count as one.
func port(u *url.URL) string {
	if p := u.Port(); p != map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		return p
	}
	return ""
}

// status names a status in our words: those of the server may be anything.
func status(code int) string {
	return strings.TrimSpace("it answers " + strconv.Itoa(code) + " " + http.StatusText(code))
}

// said returns the first line of an answer that is plain text, behind a colon. Hubs say
// there what they do not like.
func said(answer *http.Response) string {
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if kind != "" && kind != "text/plain" {
		return ""
	}
	b, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	line, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	line = strings.TrimSpace(line)
	if err != nil || line == "" || strings.HasPrefix(line, "<") || !utf8.ValidString(line) || strings.ContainsFunc(line, unicode.IsControl) {
		return ""
	}
	return ": " + clip(line)
}

// clip shortens what others wrote for a message.
func clip(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

const (
	firstWait   = time.Second
	longestWait = time.Minute // whatever a hub asks for
)

// backOff returns how long to wait after so many tries before: twice as long each time,
// and not the same for all that wait.
func backOff(tried int) time.Duration {
	d := min(firstWait<<min(tried, 10), longestWait)
	return d/2 + rand.N(d/2)
}

// retryAfter reads a header that is a number of seconds or a date. See RFC 9110 §10.2.3.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(value, 10, 32); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if t, err := http.ParseTime(value); err == nil {
		return max(t.Sub(now), 0)
	}
	return 0
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
