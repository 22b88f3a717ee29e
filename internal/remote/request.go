package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/wellspring-sync/wellspring/internal/httpclient"
)

// errStalled ends a request whose server does not go on.
var errStalled = errors.New("the server does not answer in time")

// setHeader prepares what all requests have in common.
func (f *FS) setHeader() error {
	f.header = http.Header{"User-Agent": {strings.TrimSuffix("wellspring/"+f.o.Release, "/")}}
	for name, values := range f.o.Header {
		if !isToken(name) || slices.ContainsFunc(values, hasControl) {
			// Not repeated: what was meant to be the value may stand in the name.
			return errors.New("a header for the previous publication is not of the form \"Name: value\"")
		}
		f.header[http.CanonicalHeaderKey(name)] = slices.Clone(values)
	}
	return nil
}

// isToken reports whether a text can be the name of a header. See RFC 9110
// §5.6.2.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// newTransport returns a transport that goes through the proxy of the environment,
// and keeps as many connections as are used.
func newTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = atOnce
	return t
}

// ask sends a request for a file, and again as long as that may help. Each answer
// that is 200 is given to use, which reads it from the beginning.
func (f *FS) ask(ctx context.Context, method, name string, use func(*http.Response) error) error {
	uri := f.layout.URI(name)
	for tried := 0; ; tried++ {
		err := f.try(ctx, method, name, use)
		if err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var failed *Error
		if !errors.As(err, &failed) {
			return err
		}
		failed.URL = uri
		if !failed.passing || tried == f.o.Retries {
			return err
		}
		wait := max(httpclient.BackOff(firstWait, tried), min(failed.after, httpclient.LongestWait))
		f.o.Log.Warn("fetching the previous publication: trying again", "err", err, "wait", wait)
		if err := f.o.sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// try sends a request once, and ends it when nothing comes any more.
func (f *FS) try(ctx context.Context, method, name string, use func(*http.Response) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(f.o.Stall, func() { cancel(errStalled) })
	defer timer.Stop()
	answer, err := f.follow(ctx, method, name)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if err := f.checkStatus(answer, name); err != nil {
		return err
	}
	timer.Reset(f.o.Stall)
	answer.Body = &body{ReadCloser: answer.Body, ctx: ctx, timer: timer, stall: f.o.Stall}
	return use(answer)
}

// mostRedirects is how often a server may send on: more than any that means it
// well needs.
const mostRedirects = 5

// follow sends a request, and follows redirects on the same host.
func (f *FS) follow(ctx context.Context, method, name string) (*http.Response, error) {
	at := f.layout.URI(name)
	seen := []string{at}
	for {
		answer, err := f.send(ctx, method, at, name)
		if err != nil {
			return nil, err
		}
		next, err := redirect(answer)
		if err != nil {
			answer.Body.Close()
			return nil, &Error{Err: err}
		}
		if next == nil {
			return answer, nil
		}
		answer.Body.Close()
		at = next.String()
		switch {
		case slices.Contains(seen, at):
			return nil, &Error{Err: errors.New("the server redirects in a circle")}
		case len(seen) > mostRedirects:
			return nil, &Error{Err: fmt.Errorf("the server redirects more than %d times", mostRedirects)}
		}
		seen = append(seen, at)
	}
}

// send sends one request, past package http's Client, which would take headers
// along to other hosts, and repeats in its errors where redirects lead.
func (f *FS) send(ctx context.Context, method, uri, name string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, uri, nil)
	if err != nil {
		return nil, err
	}
	request.Header = f.header.Clone()
	if !f.o.IsBody(name) {
		request.Header.Set("Cache-Control", "no-cache")
	}
	// Documents come compressed, if the server can, and net/http unpacks them
	// where it asked for that itself.
	request.Header.Del("Accept-Encoding")
	if method == http.MethodHead || path.Ext(name) == ".zip" {
		request.Header.Set("Accept-Encoding", "identity")
	}
	answer, err := f.o.Transport.RoundTrip(request)
	if err != nil {
		return nil, &Error{Err: noAnswer(httpclient.Cause(ctx, err)), passing: !httpclient.IsUntrusted(err)}
	}
	answer.Request = request // which not every transport sets
	return answer, nil
}

// noAnswer hides that something else is missing than the file that the server was
// asked for, be it here or on the way: whoever reads a publication would take that
// for an answer, and perhaps begin a new one.
func noAnswer(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return errors.New(err.Error())
	}
	return err
}

// redirect returns where an answer leads to, or nil if it is no redirect. It does
// so only on the same host, and not out of https: headers may carry credentials.
func redirect(answer *http.Response) (*url.URL, error) {
	switch answer.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	from := answer.Request.URL
	to, err := answer.Location()
	if err != nil {
		return nil, fmt.Errorf("the server answers %s and not where to", httpclient.Status(answer.StatusCode)) // the cause may repeat a query
	}
	to.User, to.Fragment, to.RawFragment = nil, "", ""
	switch {
	case !httpclient.KeepsScheme(from, to):
		return nil, fmt.Errorf("the server redirects from %s to %s", from.Scheme, to.Scheme)
	case !httpclient.SameHost(from, to):
		return nil, fmt.Errorf("the server %q redirects to another host, %q", from.Host, to.Host)
	}
	return to, nil
}

// checkStatus makes an error of each answer but 200.
func (f *FS) checkStatus(answer *http.Response, name string) error {
	code := answer.StatusCode
	err := fmt.Errorf("the server answers %s", httpclient.Status(answer.StatusCode))
	switch {
	case code == http.StatusOK:
		return nil
	case code == http.StatusNotFound || code == http.StatusGone:
		return fmt.Errorf("%s: %w", f.layout.URI(name), fs.ErrNotExist)
	case isHeadRefused(answer):
		return errNotSaid
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return &Error{Err: fmt.Errorf("%w (--header can carry credentials)", err)}
	case code >= 500 || code == http.StatusTooManyRequests:
		return &Error{Err: err, passing: true, after: httpclient.RetryAfter(answer.Header.Get("Retry-After"), time.Now())}
	}
	return &Error{Err: err}
}

func isHeadRefused(answer *http.Response) bool {
	return answer.Request.Method == http.MethodHead &&
		(answer.StatusCode == http.StatusMethodNotAllowed || answer.StatusCode == http.StatusNotImplemented)
}

const firstWait = 500 * time.Millisecond
