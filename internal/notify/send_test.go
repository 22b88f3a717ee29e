package notify

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

// transport answers requests without a network, so that time can be that of a test.
type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	return t(r)
}

func answer(code int, body string, headers ...string) *http.Response {
	w := httptest.NewRecorder()
	for i := 0; i < len(headers); i += 2 {
		w.Header().Set(headers[i], headers[i+1])
	}
	w.WriteHeader(code)
	io.WriteString(w, body)
	return w.Result()
}

// endless is a body without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// hang answers when nobody waits any more.
func hang(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestFaultyHubs has hubs that do not answer as they should: how often are they asked,
// and how long does it take?
func TestFaultyHubs(t *testing.T) {
	t.Parallel()
	const hub = "https://hub.example/publish"
	forever := answer(400, "")
	forever.Body = io.NopCloser(endless{})
	big := answer(200, "")
	big.Body = io.NopCloser(endless{})
	for _, test := range []struct {
		name    string
		answers []any // the last one again and again
		mode    Mode
		want    string // in the error
		tries   int
		least   time.Duration // how long it takes
		most    time.Duration
	}{
		{"at once", []any{answer(204, "")}, ResourceSync, "", 1, 0, 0},
		{"500, then 202", []any{answer(500, ""), answer(202, "")}, ResourceSync, "", 2, 500 * time.Millisecond, time.Second},
		{"always 500", []any{answer(500, "down\nfor ever")}, Auto, "it answers 500 Internal Server Error", 4, 3500 * time.Millisecond, 7 * time.Second},
		{"429 with a time", []any{answer(429, "", "Retry-After", "7"), answer(202, "")}, Auto, "", 2, 7 * time.Second, 7 * time.Second},
		{"503 with a long time", []any{answer(503, "", "Retry-After", "86400"), answer(202, "")}, Auto, "", 2, time.Minute, time.Minute},
		{"503 with a date", []any{answer(503, "", "Retry-After", "Sat, 01 Jan 2000 00:00:10 GMT"), answer(202, "")}, Auto, "", 2, 10 * time.Second, 10 * time.Second},
		{"a network that fails", []any{errors.New("connection refused"), answer(202, "")}, Auto, "", 2, 500 * time.Millisecond, time.Second},
		{"a network that is down", []any{errors.New("connection refused")}, Auto, "connection refused", 4, 3500 * time.Millisecond, 7 * time.Second},
		{"400", []any{answer(400, "missing hub.mode\nmore")}, ResourceSync, "400 Bad Request: missing hub.mode", 1, 0, 0},
		{"400, and 400 to the ping", []any{answer(400, "no"), answer(400, "no")}, Auto, "400 Bad Request: no", 2, 0, 0},
		{"404, and 202 to the ping", []any{answer(404, ""), answer(202, "")}, Auto, "", 2, 0, 0},
		{"405, and 202 to the ping", []any{answer(405, ""), answer(202, "")}, Auto, "", 2, 0, 0},
		{"415, 503, and 202 to the ping", []any{answer(415, ""), answer(503, ""), answer(202, "")}, Auto, "", 3, 500 * time.Millisecond, time.Second},
		{"403", []any{answer(403, "")}, Auto, "it answers 403 Forbidden", 1, 0, 0},
		{"an odd text", []any{answer(403, "\x1b[31mred", "Content-Type", "text/plain")}, Auto, "it answers 403 Forbidden", 1, 0, 0},
		{"a page", []any{answer(403, "<html>no", "Content-Type", "text/html")}, Auto, "it answers 403 Forbidden", 1, 0, 0},
		{"301", []any{answer(301, "", "Location", "https://new.example/hub")}, Auto, `301 Moved Permanently to "https://new.example/hub"`, 1, 0, 0},
		{"303", []any{answer(303, "", "Location", "/elsewhere")}, Auto, `303 See Other to "https://hub.example/elsewhere"`, 1, 0, 0},
		{"302 without a place", []any{answer(302, "")}, Auto, "it answers 302 Found, and not where to", 1, 0, 0},
		{"308 on the host", []any{answer(308, "", "Location", "/other"), answer(204, "")}, Auto, "", 2, 0, 0},
		{"307 in a circle", []any{answer(307, "", "Location", "/publish")}, Auto, "redirects more than 3 times", 4, 0, 0},
		{"307 to another scheme", []any{answer(307, "", "Location", "http://hub.example/publish")}, Auto, `redirects from https to "http://hub.example/publish"`, 1, 0, 0},
		{"307 to no server", []any{answer(307, "", "Location", "file:///etc/passwd")}, Auto, `redirects from https to "file:///etc/passwd"`, 1, 0, 0},
		{"307 to another host", []any{answer(307, "", "Location", "https://u:p@169.254.169.254/")}, Auto, `"https://169.254.169.254/" is where it is now`, 1, 0, 0},
		{"hanging", []any{hang}, Auto, "no answer in time", 4, 123500 * time.Millisecond, 127 * time.Second},
		{"an endless refusal", []any{forever, answer(202, "")}, Auto, "", 2, 0, 0},
		{"an endless answer", []any{big}, Auto, "", 1, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				o := Options{Mode: test.mode, Transport: transport(func(r *http.Request) (*http.Response, error) {
					if r.Method != http.MethodPost || r.Header.Get("Content-Type") == "" {
						t.Errorf("asked %s %s with %v", r.Method, r.URL, r.Header)
					}
					if b, err := io.ReadAll(r.Body); err != nil || len(b) == 0 {
						t.Errorf("nothing was sent: %v", err)
					}
					a := test.answers[min(tries, len(test.answers)-1)]
					tries++
					switch a := a.(type) {
					case error:
						return nil, a
					case *http.Response:
						again := *a
						return &again, nil
					}
					return hang(r)
				})}
				began := time.Now()
				_, err := Send(t.Context(), example(hub, "https://example.org"), o)
				took := time.Since(began)
				if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
					t.Errorf("got the error %v, want %q", err, test.want)
				}
				if err != nil && strings.ContainsAny(err.Error(), "\x1b\n") {
					t.Errorf("the error repeats %q", err)
				}
				if tries != test.tries || took < test.least || took > test.most {
					t.Errorf("%d tries in %v, want %d in %v to %v", tries, took, test.tries, test.least, test.most)
				}
			})
		})
	}
}

// TestSendStops has the context end while a hub hangs, and while it is waited for.
func TestSendStops(t *testing.T) {
	t.Parallel()
	stop := errors.New("stop")
	for _, behave := range []transport{hang, func(*http.Request) (*http.Response, error) { return answer(503, "", "Retry-After", "60"), nil }} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(5*time.Second, func() { cancel(stop) })
			began := time.Now()
			_, err := Send(ctx, example("https://hub.example/", "https://example.org"), Options{Transport: behave})
			if err != stop || time.Since(began) != 5*time.Second {
				t.Errorf("ended with %v after %v", err, time.Since(began))
			}
		})
	}
}

// TestUntrustedHub is asked once.
func TestUntrustedHub(t *testing.T) {
	t.Parallel()
	asked := 0
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	s.Config.ErrorLog = discard
	s.StartTLS()
	defer s.Close()
	_, err := Send(t.Context(), example(s.URL, "https://example.org"), Options{})
	if err == nil || !strings.Contains(err.Error(), "unknown authority") && !strings.Contains(err.Error(), "certificate") || asked > 0 {
		t.Errorf("%v; it was asked %d times", err, asked)
	}
}

// TestLastNotification tells a hub of the end of a set, of which there is no topic any
// more.
func TestLastNotification(t *testing.T) {
	t.Parallel()
	n := example("https://hub.example/", "https://example.org")
	n.Changes = []Change{{URI: n.CapabilityList, Capability: resourcesync.CapabilityList, Change: resourcesync.Deleted, DateTime: at}}
	for _, test := range []struct {
		mode  Mode
		code  int
		want  error
		tries int
	}{{Auto, 204, nil, 1}, {Auto, 400, ErrNoTopic, 1}, {WebSub, 202, ErrNoTopic, 0}} {
		tries := 0
		o := Options{Mode: test.mode, Transport: transport(func(r *http.Request) (*http.Response, error) {
			tries++
			if l := r.Header.Get("Link"); strings.Contains(l, "capabilitylist.xml") || !strings.Contains(l, `rel="self"`) {
				t.Errorf("Link: %s", l)
			}
			return answer(test.code, ""), nil
		})}
		if _, err := Send(t.Context(), n, o); err != test.want || tries != test.tries {
			t.Errorf("%+v: %v after %d tries", test, err, tries)
		}
	}
}

// TestHostilePlan has values that must not be sent.
func TestHostilePlan(t *testing.T) {
	t.Parallel()
	o := Options{Transport: transport(func(r *http.Request) (*http.Response, error) {
		t.Errorf("asked %s with %v", r.URL, r.Header)
		return answer(200, ""), nil
	})}
	for _, change := range []func(*Notification){
		func(n *Notification) { n.Hub = "file:///etc/passwd" },
		func(n *Notification) { n.Topic = "https://example.org/>; rel=\"hub\", <https://evil.example/" },
		func(n *Notification) { n.CapabilityList = "https://example.org/\r\nX-Header: y" },
		func(n *Notification) { n.Changes[0].URI = "" },
	} {
		n := example("https://hub.example/", "https://example.org")
		change(n)
		if _, err := Send(t.Context(), n, o); err == nil {
			t.Errorf("%+v was sent", n)
		}
	}
}
