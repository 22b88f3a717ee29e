// Package httpclient asks servers of others, for all packages that do. It says once which
// redirects are followed, who is told what is secret, how long a server may take, what an
// error means, and how long to wait until it is asked again. What is asked for, and what
// the answer has to be, is for those to say who ask.
package httpclient

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"time"
)

// AtOnce is how many requests to one server are under way at the same time: as many
// connections as no server minds.
const AtOnce = 8

// Options say how servers are asked. The zero value works.
type Options struct {
	// Name is what errors call a server: "the server" by default.
	Name string
	// Release is that of the program, for the User-Agent: "1.2", or "wellspring 1.2".
	Release string
	// Header is sent to the host of Home, and to no other, and so are the user name and
	// the password in Home. Accept-Encoding is left out, which is for requests to say.
	Header http.Header
	Home   *url.URL
	// Transport sends the requests; nil stands for one that all clients share, and that is
	// like that of package net/http, which knows of proxies.
	Transport http.RoundTripper
	// Stall is how long a server may take to answer, with all redirects, and then for
	// every few kilobytes; 30 seconds by default.
	Stall time.Duration
	// Redirects is how often a server may send on: 5 times by default, which is more
	// than any that means it well needs.
	Redirects int
	// Elsewhere is true if redirects may lead to other hosts, and out of https.
	Elsewhere bool
	// Retry says how often requests are sent again, and when.
	Retry Retry
	// OnRetry may be nil. It is told of each pause; the URL is redacted.
	OnRetry func(url string, err error, pause time.Duration)
	// Sleep may be another one than [Sleep], for tests.
	Sleep func(context.Context, time.Duration) error
}

// Client asks servers. Its methods may be called concurrently.
type Client struct{ o Options }

// New returns a client.
func New(o Options) *Client {
	o.Name = cmp.Or(o.Name, "the server")
	o.Header = o.Header.Clone()
	o.Stall = cmp.Or(o.Stall, 30*time.Second) // hubs that fetch something first take a while
	o.Redirects = cmp.Or(o.Redirects, 5)
	if o.Transport == nil {
		o.Transport = transport
	}
	if o.OnRetry == nil {
		o.OnRetry = func(string, error, time.Duration) {}
	}
	if o.Sleep == nil {
		o.Sleep = Sleep
	}
	return &Client{o}
}

// transport goes through the proxy of the environment, keeps as many connections as are
// used, and takes in little.
var transport = func() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = AtOnce
	t.MaxResponseHeaderBytes = 256 << 10
	return t
}()

// Request is what a server is asked.
type Request struct {
	Method string // GET if it is empty; POST, and no other, sends something
	URL    string
	Header http.Header
	Body   []byte
}

// Do sends a request, and again as long as that may help. Each answer of 200, or of 2xx to
// what was sent, is given to use, which may be nil and reads it from its beginning. Do
// returns what use does, an *[Error] if there is no such answer or if it breaks off, and
// why the context ended if it did. Only what breaks off, and such answers as may be other
// ones the next time, have a request sent again.
func (c *Client) Do(ctx context.Context, r Request, use func(*http.Response) error) error {
	r.Method = cmp.Or(r.Method, http.MethodGet)
	for tried := 0; ; tried++ {
		err := c.try(ctx, &r, use)
		if err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		failed, ok := errors.AsType[*Error](err)
		if !ok || !failed.passing || tried >= c.o.Retry.Times {
			return err
		}
		pause := c.o.Retry.Pause(tried, failed.after)
		c.o.OnRetry(Redacted(r.URL), err, pause)
		if err := c.o.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// try sends a request once, and ends it when nothing comes any more.
func (c *Client) try(ctx context.Context, r *Request, use func(*http.Response) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(c.o.Stall, func() { cancel(ErrStalled) })
	defer timer.Stop()
	answer, err := c.follow(ctx, r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	timer.Reset(c.o.Stall)
	answer.Body = &body{ReadCloser: answer.Body, ctx: ctx, timer: timer, stall: c.o.Stall}
	if err := c.check(answer); err != nil || use == nil {
		return err
	}
	return use(answer)
}

// send sends one request, past package http's Client, which would take headers along to
// other hosts, make a GET of what is sent, and repeat in its errors where redirects lead.
func (c *Client) send(ctx context.Context, r *Request, at string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, r.Method, at, bytes.NewReader(r.Body))
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // without the URL
	}
	if err != nil {
		return nil, &Error{Err: fmt.Errorf("it cannot be asked for: %w", err)}
	}
	c.setHeader(request)
	maps.Copy(request.Header, r.Header)
	answer, err := c.o.Transport.RoundTrip(request)
	if err != nil {
		return nil, &Error{Err: cause(ctx, err), passing: !IsUntrusted(err)}
	}
	answer.Request = request // which not every transport sets
	return answer, nil
}
