package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/internal/httpclient"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// Mode is how a hub is told.
type Mode string

const (
	// Auto sends the notification and, to a hub that does not know what that is, the
	// ping.
	Auto Mode = "auto"
	// ResourceSync sends the notification itself. See Framework Notification 1.0 §4.1.
	ResourceSync Mode = "resourcesync"
	// WebSub sends a ping, on which the hub fetches the topic and passes it on.
	WebSub Mode = "websub"
)

// ParseMode reads the name of a mode.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case Auto, ResourceSync, WebSub:
		return m, nil
	}
	return "", fmt.Errorf("%q is none of resourcesync, websub, auto", s)
}

// Options say how servers are asked. The zero value works.
type Options struct {
	// Mode is Auto by default.
	Mode Mode
	// Release is that of the program, for the User-Agent header.
	Release string
	// Timeout is how long one request may take; 30 seconds by default.
	Timeout time.Duration
	// Retries is how often a request that failed is sent again, if that may help; 3 by
	// default, and never if it is negative.
	Retries int
	// Transport sends requests; by default one with the proxy of the environment.
	Transport http.RoundTripper
	// Log may be nil.
	Log *slog.Logger
	// OnWait may be nil. Wait tells it what it waits for, each time anew.
	OnWait func(what error)
}

func (o *Options) applyDefaults() {
	if o.Mode == "" {
		o.Mode = Auto
	}
	if o.Timeout <= 0 {
		o.Timeout = 30 * time.Second // hubs that fetch the topic first take a while
	}
	if o.Retries == 0 {
		o.Retries = 3
	}
	if o.Transport == nil {
		o.Transport = newTransport()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.OnWait == nil {
		o.OnWait = func(error) {}
	}
}

// ErrNoTopic says that a hub cannot be told, since it would fetch a topic that is gone
// with its set.
var ErrNoTopic = errors.New("the topic is gone with its set, and this hub would fetch it")

// Send tells the hub of a notification, and returns in which mode the hub took it: other
// notifications for the same hub are best sent so at once. It returns a *[HubError] for
// what the hub answers, or if it does not, and ErrNoTopic for the last notification of a
// set where the hub takes no other mode than WebSub. Whatever it returns, to send again
// does no harm.
func Send(ctx context.Context, n *Notification, o Options) (Mode, error) {
	o.applyDefaults()
	if err := n.check(); err != nil {
		return "", err
	}
	if o.Mode != WebSub {
		err := o.sendPayload(ctx, n)
		if o.Mode == ResourceSync || !isNotUnderstood(err) {
			return ResourceSync, err
		}
		o.Log.Info("the hub does not take notifications: sending the ping of WebSub", "hub", n.Hub, "error", err)
	}
	if n.IsLast() {
		return WebSub, ErrNoTopic
	}
	return WebSub, o.sendPing(ctx, n)
}

// check makes sure that nothing is sent, and nothing stands in a header, that is no URI.
func (n *Notification) check() error {
	if err := CheckHub(n.Hub); err != nil {
		return fmt.Errorf("the hub: %w", err)
	}
	for _, uri := range []string{n.Topic, n.CapabilityList} {
		if !resourcesync.IsURI(uri) {
			return fmt.Errorf("the topic or the Capability List is %q, which is not a URI", uri)
		}
	}
	return nil
}

// isNotUnderstood reports whether a hub says that it does not know such a request. What
// each means differs from hub to hub.
func isNotUnderstood(err error) bool {
	failed, ok := errors.AsType[*HubError](err)
	if !ok {
		return false
	}
	switch failed.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusLengthRequired,
		http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, http.StatusNotImplemented:
		return true
	}
	return false
}

// sendPayload sends the notification itself.
func (o *Options) sendPayload(ctx context.Context, n *Notification) error {
	payload, err := n.Payload()
	if err != nil {
		return err
	}
	header := http.Header{
		"Content-Type": {"application/xml"},
		"Link":         {n.links()},
	}
	return o.post(ctx, n.Hub, header, payload)
}

// links is the value of the header that says where a notification belongs. See Framework
// Notification 1.0 §4.1.
func (n *Notification) links() string {
	links := []string{link(n.Topic, "self"), link(n.Hub, resourcesync.RelHub)}
	if !n.IsLast() {
		links = append(links, link(n.CapabilityList, "resourcesync"))
	}
	return strings.Join(links, ", ")
}

func link(uri, rel string) string { return fmt.Sprintf("<%s>; rel=%q", uri, rel) }

// sendPing asks the hub to fetch the topic. Hubs differ in the name by which they take it,
// which the specification of WebSub leaves open.
func (o *Options) sendPing(ctx context.Context, n *Notification) error {
	form := url.Values{"hub.mode": {"publish"}, "hub.topic": {n.Topic}, "hub.url": {n.Topic}}
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	return o.post(ctx, n.Hub, header, []byte(form.Encode()))
}

// post sends a request to the hub, and again as long as that may help.
func (o *Options) post(ctx context.Context, hub string, header http.Header, content []byte) error {
	for tried := 0; ; tried++ {
		err := o.follow(ctx, hub, header, content)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err.Hub = hub
		if !err.passing || tried >= o.Retries {
			return err
		}
		wait := httpclient.BackOff(firstWait, tried)
		if err.after > 0 {
			wait = max(wait, min(err.after, httpclient.LongestWait))
		}
		o.Log.Warn("telling the hub: trying again", "error", err, "wait", wait)
		if err := httpclient.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// mostRedirects is how often a hub may send on.
const mostRedirects = 3

// follow sends a request once, and follows redirects that keep it as it is.
func (o *Options) follow(ctx context.Context, at string, header http.Header, content []byte) *HubError {
	ctx, cancel := context.WithTimeoutCause(ctx, o.Timeout, errSlow)
	defer cancel()
	for range mostRedirects + 1 {
		next, err := o.try(ctx, at, header, content)
		if err != nil || next == "" {
			return err
		}
		at = next
	}
	return &HubError{Err: fmt.Errorf("it redirects more than %d times", mostRedirects)}
}

// try sends a request once, past the Client of package http, which would make a GET of it
// where it is redirected. It returns where it is redirected to, if it is.
func (o *Options) try(ctx context.Context, at string, header http.Header, content []byte) (next string, failed *HubError) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, at, bytes.NewReader(content))
	if err != nil {
		return "", &HubError{Err: err}
	}
	request.Header = header.Clone()
	request.Header.Set("User-Agent", o.userAgent())
	answer, err := o.Transport.RoundTrip(request)
	if err != nil {
		return "", &HubError{Err: httpclient.Cause(ctx, err), passing: !httpclient.IsUntrusted(err)}
	}
	defer answer.Body.Close()
	code := answer.StatusCode
	switch {
	case code >= 200 && code < 300:
		return "", nil
	case code == http.StatusTemporaryRedirect || code == http.StatusPermanentRedirect:
		to, err := redirect(request.URL, answer)
		if err != nil {
			return "", &HubError{Status: code, Err: err}
		}
		return to.String(), nil
	case code >= 300 && code < 400:
		return "", &HubError{Status: code, Err: moved(request.URL, answer)}
	}
	return "", &HubError{
		Status: code, Err: errors.New(status(code) + said(answer)),
		passing: code >= 500 && code != http.StatusNotImplemented || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout,
		after:   httpclient.RetryAfter(answer.Header.Get("Retry-After"), time.Now()),
	}
}

func (o *Options) userAgent() string { return strings.TrimSuffix("wellspring/"+o.Release, "/") }
