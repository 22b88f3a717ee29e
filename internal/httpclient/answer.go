package httpclient

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Error says that a server did not give what it was asked for. It never holds a user
// name, a password, a query or a header, and is no longer than a line.
type Error struct {
	// Status is that of the answer, or 0 if there is none that is whole.
	Status int
	Err    error

	passing bool          // trying again may help
	after   time.Duration // how long the server asks to wait before that
}

func (e *Error) Error() string { return clip(e.Err.Error()) }
func (e *Error) Unwrap() error { return e.Err }

// IsMissing reports whether the server says that there is no such thing.
func (e *Error) IsMissing() bool {
	return e.Status == http.StatusNotFound || e.Status == http.StatusGone
}

// ErrStalled ends a request whose server does not go on.
var ErrStalled = errors.New("no answer in time")

// IsUntrusted reports whether an error is about the server's certificate, which will be
// no other the next time.
func IsUntrusted(err error) bool {
	_, ok := errors.AsType[*tls.CertificateVerificationError](err)
	return ok
}

// cause returns why the context ended a request, if it did, or else the error.
func cause(ctx context.Context, err error) error { return cmp.Or(context.Cause(ctx), err) }

// check returns an error for an answer that is not the one that was asked for.
func (c *Client) check(answer *http.Response) error {
	code, method := answer.StatusCode, answer.Request.Method
	if code == http.StatusOK || method == http.MethodPost && code >= 200 && code < 300 {
		return nil
	}
	text := c.o.Name + " answers " + statusText(code)
	if method == http.MethodPost {
		text += said(answer)
	}
	return &Error{
		Status: code, Err: errors.New(text),
		passing: mayPass(method, code), after: retryAfter(answer.Header.Get("Retry-After"), time.Now()),
	}
}

// mayPass reports whether the answer to a request may be another one the next time. Every
// server knows GET, and may have lost a part of what was sent.
func mayPass(method string, code int) bool {
	switch code {
	case http.StatusTooManyRequests:
		return true
	case http.StatusRequestTimeout:
		return method == http.MethodPost
	case http.StatusNotImplemented:
		return method == http.MethodGet
	}
	return code >= 500
}

// statusText names a status in our words: those of the server may be anything.
func statusText(code int) string {
	return strings.TrimSpace(strconv.Itoa(code) + " " + http.StatusText(code))
}

// said returns the first line of an answer that is plain text, behind a colon. Hubs say
// there what they do not like.
func said(answer *http.Response) string {
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if kind != "" && kind != "text/plain" {
		return ""
	}
	b, err := io.ReadAll(io.LimitReader(answer.Body, stride-1))
	line, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	line = strings.TrimSpace(line)
	if err != nil || line == "" || strings.HasPrefix(line, "<") || !utf8.ValidString(line) || strings.ContainsFunc(line, unicode.IsControl) {
		return ""
	}
	return ": " + line
}

// clip shortens what others wrote for a message.
func clip(s string) string {
	const most = 300
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// body gives a server new time whenever enough has come, and says of each error that
// another try may help.
type body struct {
	io.ReadCloser
	ctx   context.Context
	timer *time.Timer
	stall time.Duration
	since int // bytes
}

// stride is how much has to come before time runs out: little enough for any line, and
// too much for a server that sends a byte now and then.
const stride = 4 << 10

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.since += n; b.since >= stride {
		b.since = 0
		b.timer.Reset(b.stall)
	}
	if err != nil && err != io.EOF {
		err = &Error{Err: fmt.Errorf("the answer breaks off: %w", cause(b.ctx, err)), passing: true}
	}
	return n, err
}
