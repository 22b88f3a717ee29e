package notify

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/wellspring-sync/wellspring/internal/httpclient"
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

// redirect returns where an answer leads to. It does so only on the same host, and not
// out of https: who is told, and in secret or not, is for the settings to say.
func redirect(from *url.URL, answer *http.Response) (*url.URL, error) {
	to, err := target(from, answer)
	if err != nil {
		return nil, err
	}
	switch {
	case !httpclient.KeepsScheme(from, to):
		return nil, fmt.Errorf("it redirects from %s to %q, which is not followed", from.Scheme, clip(to.String()))
	case !httpclient.SameHost(from, to):
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

// status says which status a server answers with.
func status(code int) string { return "it answers " + httpclient.Status(code) }

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

const firstWait = time.Second
