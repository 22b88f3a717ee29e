package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"syscall"
	"time"

	"github.com/wellspring-sync/wellspring/internal/httpclient"
)

// firstPause is the one before a request is sent again.
const firstPause = 500 * time.Millisecond

// newClient returns what asks the server. Redirects are followed on the same host.
func (f *FS) newClient() *httpclient.Client {
	return httpclient.New(httpclient.Options{
		Release: f.o.Release, Header: f.o.Header, Home: f.home, Transport: f.o.Transport, Stall: f.o.Stall,
		Retry: httpclient.Retry{Times: f.o.Retries, First: firstPause}, Sleep: f.o.sleep,
		OnRetry: func(uri string, err error, pause time.Duration) {
			f.o.Log.Warn("fetching the previous publication: trying again", "err", &Error{uri, err}, "wait", pause)
		},
	})
}

// ask sends a request for a file, and again as long as that may help. Each answer
// that is 200 is given to use, which reads it from the beginning.
func (f *FS) ask(ctx context.Context, method, name string, use func(*http.Response) error) error {
	uri := f.layout.URI(name)
	err := f.client.Do(ctx, httpclient.Request{Method: method, URL: uri, Header: f.header(method, name)}, use)
	e, ok := errors.AsType[*httpclient.Error](err)
	switch {
	case !ok:
		return err
	case e.IsMissing():
		return fmt.Errorf("%s: %w", uri, fs.ErrNotExist)
	case method == http.MethodHead && (e.Status == http.StatusMethodNotAllowed || e.Status == http.StatusNotImplemented):
		return errNotSaid
	case e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden:
		return &Error{uri, fmt.Errorf("%w (--header can carry credentials)", e)}
	}
	return &Error{uri, noAnswer(e)}
}

// header returns what a request says of how the answer may come. Documents come
// compressed, if the server can, and net/http unpacks them where it asked for that
// itself.
func (f *FS) header(method, name string) http.Header {
	h := http.Header{}
	if !f.o.IsBody(name) {
		h.Set("Cache-Control", "no-cache")
	}
	if method == http.MethodHead || path.Ext(name) == ".zip" {
		h.Set("Accept-Encoding", "identity")
	}
	return h
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
