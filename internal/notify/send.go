package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

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
	// Retries is how often a request that failed is sent again, if that may help; 3 by
	// default, and never if it is negative.
	Retries int
	// Transport sends the requests; nil stands for that of package httpclient.
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
	if o.Retries == 0 {
		o.Retries = 3
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
// notifications for the same hub are best sent so at once. It returns an error that
// names the hub for what the hub answers, or if it does not, and ErrNoTopic for the last
// notification of a set where the hub takes no other mode than WebSub. Whatever it returns,
// to send again does no harm.
func Send(ctx context.Context, n *Notification, o Options) (Mode, error) {
	o.applyDefaults()
	if err := n.check(); err != nil {
		return "", err
	}
	c := o.client(max(o.Retries, 0))
	if o.Mode != WebSub {
		err := sendPayload(ctx, c, n)
		if o.Mode == ResourceSync || !isNotUnderstood(err) {
			return ResourceSync, err
		}
		o.Log.Info("the hub does not take notifications: sending the ping of WebSub", "hub", n.Hub, "error", err)
	}
	if n.IsLast() {
		return WebSub, ErrNoTopic
	}
	return WebSub, sendPing(ctx, c, n)
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
	failed, ok := errors.AsType[*httpclient.Error](err)
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
func sendPayload(ctx context.Context, c *httpclient.Client, n *Notification) error {
	payload, err := n.Payload()
	if err != nil {
		return err
	}
	header := http.Header{
		"Content-Type": {"application/xml"},
		"Link":         {n.links()},
	}
	return post(ctx, c, n.Hub, header, payload)
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
func sendPing(ctx context.Context, c *httpclient.Client, n *Notification) error {
	form := url.Values{"hub.mode": {"publish"}, "hub.topic": {n.Topic}, "hub.url": {n.Topic}}
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	return post(ctx, c, n.Hub, header, []byte(form.Encode()))
}

// post sends something to the hub.
func post(ctx context.Context, c *httpclient.Client, hub string, header http.Header, content []byte) error {
	err := c.Do(ctx, httpclient.Request{Method: http.MethodPost, URL: hub, Header: header, Body: content}, nil)
	if _, ok := errors.AsType[*httpclient.Error](err); ok {
		return hubError(hub, err)
	}
	return err
}
