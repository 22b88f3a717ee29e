package httpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// follow sends a request, and follows redirects.
func (c *Client) follow(ctx context.Context, r *Request) (*http.Response, error) {
	at := r.URL
	for seen := []string{at}; ; seen = append(seen, at) {
		answer, err := c.send(ctx, r, at)
		if err != nil {
			return nil, err
		}
		next, err := c.next(answer)
		if next == nil && err == nil {
			return answer, nil
		}
		io.CopyN(io.Discard, answer.Body, 2<<10) // so that the connection can be used again
		answer.Body.Close()
		if err != nil {
			return nil, &Error{Status: answer.StatusCode, Err: err}
		}
		at = next.String()
		switch {
		case len(seen) > c.o.Redirects:
			return nil, &Error{Err: fmt.Errorf("%s redirects more than %d times", c.o.Name, c.o.Redirects)}
		case r.Method != http.MethodPost && slices.Contains(seen, at): // what is sent may be taken the next time
			return nil, &Error{Err: errors.New(c.o.Name + " redirects in a circle")}
		}
	}
}

// next returns where an answer leads to, or nil if it is no redirect. It does so on the
// same host, and not out of https, unless Options say otherwise: headers may carry
// credentials, and who is told what, and in secret or not, is for the user to say. Nor
// would it make a GET of what is sent.
func (c *Client) next(answer *http.Response) (*url.URL, error) {
	keeps := answer.Request.Method != http.MethodPost
	switch answer.StatusCode {
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		keeps = true
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther:
	default:
		return nil, nil
	}
	to, err := answer.Location()
	if err != nil { // which may repeat a query
		return nil, c.refused(answer, nil, keeps)
	}
	to.User, to.Fragment, to.RawFragment = nil, "", ""
	if keeps && (IsWithin(answer.Request.URL, to) || c.o.Elsewhere && (to.Scheme == "http" || to.Scheme == "https")) {
		return to, nil
	}
	return nil, c.refused(answer, to, keeps)
}

// refused returns why a redirect is not followed. To where something is sent, the settings
// say: a place that may be right for them is named. Others may have secrets in a query.
func (c *Client) refused(answer *http.Response, to *url.URL, keeps bool) error {
	name, from := c.o.Name, answer.Request.URL
	sent := answer.Request.Method == http.MethodPost
	switch {
	case to == nil && keeps:
		return fmt.Errorf("%s answers %s and not where to", name, statusText(answer.StatusCode))
	case to == nil:
		return fmt.Errorf("%s answers %s, and not where to", name, statusText(answer.StatusCode))
	case !keeps:
		return fmt.Errorf("%s answers %s to %q: if that is where it is now, name that", name, statusText(answer.StatusCode), to)
	case !keepsScheme(from, to) && sent:
		return fmt.Errorf("%s redirects from %s to %q, which is not followed", name, from.Scheme, to)
	case !keepsScheme(from, to):
		return fmt.Errorf("%s redirects from %s to %s", name, from.Scheme, to.Scheme)
	case sent:
		return fmt.Errorf("%s redirects to another host: if %q is where it is now, name that", name, to)
	}
	return fmt.Errorf("%s %q redirects to another host, %q", name, from.Host, to.Host)
}

// IsWithin reports whether a URL leads to the same host as another one, and to http or
// https, and not out of https. The default ports of http and https count as one.
func IsWithin(from, to *url.URL) bool {
	return keepsScheme(from, to) && strings.EqualFold(from.Hostname(), to.Hostname()) && port(from) == port(to)
}

func keepsScheme(from, to *url.URL) bool {
	return to.Scheme == "https" || to.Scheme == "http" && from.Scheme != "https"
}

func port(u *url.URL) string {
	if p := u.Port(); p != map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		return p
	}
	return ""
}
