package httpclient

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// setHeader sets what all requests have in common, and what only those at home have.
func (c *Client) setHeader(r *http.Request) {
	r.Header.Set("User-Agent", strings.TrimSuffix("wellspring/"+strings.TrimPrefix(c.o.Release, "wellspring "), "/"))
	user := r.URL.User
	if c.o.Home != nil && IsWithin(c.o.Home, r.URL) {
		for name, values := range c.o.Header {
			r.Header[http.CanonicalHeaderKey(name)] = slices.Clone(values)
		}
		user = cmp.Or(user, c.o.Home.User)
	}
	r.Header.Del("Accept-Encoding")
	if user != nil && r.Header.Get("Authorization") == "" {
		password, _ := user.Password()
		r.SetBasicAuth(user.Username(), password)
	}
}

// CheckHeader returns an error for a header that cannot be sent. It does not repeat it:
// what was meant to be the value may stand in the name.
func CheckHeader(h http.Header) error {
	isControl := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
	for name, values := range h {
		isName := name != "" && http.CanonicalHeaderKey("a" + name)[0] == 'A' // which leaves alone what is none
		if !isName || slices.ContainsFunc(values, func(v string) bool { return strings.ContainsFunc(v, isControl) }) {
			return errors.New("is not of the form \"Name: value\"")
		}
	}
	return nil
}

// IsURL reports whether a place is on a server, and not a directory or a file.
func IsURL(place string) bool {
	return strings.HasPrefix(place, "http://") || strings.HasPrefix(place, "https://")
}

// Redacted returns a place for messages: a URL without user name, password, query and
// fragment, and anything else as it is.
func Redacted(place string) string {
	if !IsURL(place) {
		return place
	}
	u, err := url.Parse(place)
	if err != nil {
		return "the URL" // which may have a password in it
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
