package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/wellspring-sync/wellspring/internal/httpclient"
)

// web is a publication on a server. What is fetched is kept in temporary files, so
// that it can be read more than once.
type web struct {
	base   *url.URL // without the user
	client *httpclient.Client
	o      *Options
	dir    string

	keptBytes atomic.Int64

	mu   sync.Mutex
	kept map[string]*keptFile // by URI
}

// keptFile is what a URI led to.
type keptFile struct {
	turn   sync.Mutex // held while it is fetched
	name   string
	size   int64
	answer *answer
	err    error
}

// answer is what a server said.
type answer struct {
	header http.Header
	final  string // the URI in the end
}

func newWeb(where string, o *Options) (*web, error) {
	u, err := url.Parse(where)
	if err != nil || u.Host == "" {
		return nil, errors.New("that is not a URL") // not repeated, since it may have a password in it
	}
	for _, m := range o.Resources {
		if !httpclient.IsURL(m.Dir) {
			return nil, fmt.Errorf("%s is no URL, where a server is audited", m.Dir)
		}
	}
	dir, err := os.MkdirTemp("", "wellspring-verify-")
	if err != nil {
		return nil, err
	}
	home := *u
	u.User = nil
	return &web{base: u, client: newClient(&home, o), o: o, dir: dir, kept: map[string]*keptFile{}}, nil
}

// newClient returns what asks servers. It follows redirects to anywhere, as Destinations
// may, and the audit reports them.
func newClient(home *url.URL, o *Options) *httpclient.Client {
	return httpclient.New(httpclient.Options{
		Release: o.Release, Header: o.Header, Home: home, Transport: o.Transport, Stall: o.Stall, Elsewhere: true,
		// Many resources may fail in the same way.
		Retry: httpclient.Retry{Times: 2, First: 500 * time.Millisecond, Longest: 10 * time.Second},
		OnRetry: func(uri string, err error, _ time.Duration) {
			o.Log.Info("asking the server again", "uri", uri, "err", err)
		},
	})
}

func (w *web) name() string { return w.base.String() }
func (w *web) isTold() bool { return true }

func (w *web) close() { os.RemoveAll(w.dir) }

func (w *web) readersAtOnce(int) int { return httpclient.AtOnce }

func (w *web) reader() resourceReader { return &webReader{web: w, buf: make([]byte, 128<<10)} }

// open returns a copy of what a URI leads to. What was fetched before is not
// fetched again.
func (w *web) open(ctx context.Context, uri string, most int64) (*file, error) {
	if !httpclient.IsURL(uri) {
		return nil, fmt.Errorf("it is not on a web server")
	}
	k := w.keep(uri)
	k.turn.Lock()
	defer k.turn.Unlock()
	if k.name == "" && k.err == nil {
		k.err = w.fetch(ctx, uri, most, k)
		if ctx.Err() != nil {
			k.err = nil
			return nil, context.Cause(ctx)
		}
	}
	if k.err != nil {
		return nil, k.err
	}
	f, err := os.Open(k.name)
	if err != nil {
		return nil, &machineError{err}
	}
	return &file{File: f, size: k.size, answer: k.answer}, nil
}

func (w *web) keep(uri string) *keptFile {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.kept[uri]
	if k == nil {
		k = &keptFile{}
		w.kept[uri] = k
	}
	return k
}

func (w *web) forget(uri string) {
	w.mu.Lock()
	k := w.kept[uri]
	delete(w.kept, uri)
	w.mu.Unlock()
	if k != nil && k.name != "" {
		os.Remove(k.name)
		w.keptBytes.Add(-k.size)
	}
}

// fetch fetches a file, up to some bytes.
func (w *web) fetch(ctx context.Context, uri string, most int64, k *keptFile) error {
	return w.ask(ctx, http.MethodGet, uri, nil, func(r *http.Response, a *answer) error {
		f, err := os.CreateTemp(w.dir, "")
		if err != nil {
			return &machineError{err}
		}
		kept := &keeper{f: f, w: w}
		n, err := io.Copy(kept, io.LimitReader(r.Body, most))
		if errClose := f.Close(); err == nil && errClose != nil {
			err = &machineError{errClose}
		}
		if err != nil {
			os.Remove(f.Name())
			w.keptBytes.Add(-kept.n)
			return err
		}
		k.name, k.size, k.answer = f.Name(), n, a
		return nil
	})
}

// keeper writes what is kept.
type keeper struct {
	f *os.File
	w *web
	n int64
}

func (k *keeper) Write(p []byte) (int, error) {
	n, err := k.f.Write(p)
	k.n += int64(n)
	if k.w.keptBytes.Add(int64(n)) > k.w.o.Limits.Kept && err == nil {
		err = fmt.Errorf("what was fetched and has to be kept is longer than %d bytes", k.w.o.Limits.Kept)
	}
	if err != nil {
		err = &machineError{err}
	}
	return n, err
}

// machineError is an error that is not the publication's: the audit cannot go on.
type machineError struct{ err error }

func (e *machineError) Error() string { return e.err.Error() }
func (e *machineError) Unwrap() error { return e.err }

// isOurs reports whether an error says something of this machine, and not of the
// publication.
func isOurs(err error) bool {
	if _, ok := errors.AsType[*machineError](err); ok {
		return true
	}
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.ENOSPC)
}

// served returns where a URI is asked for, and stated the URI of what is asked for
// there.
func (w *web) served(uri string) string {
	for _, m := range w.o.Resources {
		if end, ok := strings.CutPrefix(uri, m.Prefix); ok {
			return m.Dir + end
		}
	}
	return uri
}

func (w *web) stated(uri string) string {
	for _, m := range w.o.Resources {
		if end, ok := strings.CutPrefix(uri, m.Dir); ok {
			return m.Prefix + end
		}
	}
	return uri
}

// ask sends a request, and again where that may help. What the server has is given
// to use; anything else is errNotThere or an *httpclient.Error.
func (w *web) ask(ctx context.Context, method, uri string, header http.Header, use func(*http.Response, *answer) error) error {
	request := httpclient.Request{Method: method, URL: w.served(uri), Header: header}
	err := w.client.Do(ctx, request, func(r *http.Response) error {
		return use(r, &answer{usedHeaders(r.Header), w.stated(r.Request.URL.String())})
	})
	if e, ok := errors.AsType[*httpclient.Error](err); ok && e.IsMissing() {
		return errNotThere
	}
	return err
}

// usedHeaders returns the headers that are looked at, as others may be large.
func usedHeaders(h http.Header) http.Header {
	used := http.Header{}
	for _, name := range []string{"Content-Type", "Content-Encoding", "Cache-Control", "Expires", "Date", "Link", "Last-Modified", "Server"} {
		values := h.Values(name)
		for _, v := range values[:min(len(values), 20)] {
			used.Add(name, strings.Clone(v[:min(len(v), 8<<10)]))
		}
	}
	return used
}

// text returns the first bytes of what a URI leads to.
func (r *webReader) text(ctx context.Context, uri string, most int64) ([]byte, error) {
	if !httpclient.IsURL(uri) {
		return nil, errElsewhere
	}
	var text []byte
	err := r.ask(ctx, http.MethodGet, uri, http.Header{"Accept-Encoding": {"identity"}}, func(g *http.Response, _ *answer) (err error) {
		text, err = readText(g.Body, most)
		return err
	})
	return text, err
}

// webReader asks a server for resources.
type webReader struct {
	*web
	buf []byte
}

func (r *webReader) close() {}

func (r *webReader) read(ctx context.Context, res *resource) (actual, error) {
	if !httpclient.IsURL(res.uri) {
		return actual{}, errElsewhere
	}
	got := actual{length: -1}
	// As it is stated: not compressed on the way, unless that is how it is.
	coding := res.md.Encoding
	if coding == "" {
		coding = "identity"
	}
	header := http.Header{"Accept-Encoding": {coding}}
	if !res.full {
		err := r.ask(ctx, http.MethodHead, res.uri, header, func(h *http.Response, a *answer) error {
			got.length, got.answer, got.modified = h.ContentLength, a, lastModified(h)
			return nil
		})
		if err == nil || errors.Is(err, errNotThere) {
			return got, err
		}
	}
	err := r.ask(ctx, http.MethodGet, res.uri, header, func(g *http.Response, a *answer) error {
		got.answer, got.modified = a, lastModified(g)
		if !res.full { // a server that does not know HEAD
			got.length = g.ContentLength
			return nil
		}
		d := newDigester(algorithmsOf(res.md.Hash))
		most := r.o.Limits.PackageBytes
		if res.md.HasLength && res.md.Length < most { // enough to see that it is too long
			most = res.md.Length + 1
		}
		n, err := io.CopyBuffer(d, onlyReader{io.LimitReader(g.Body, most)}, r.buf)
		if err != nil {
			return err
		}
		got.length, got.sums, got.read = n, d.sums(), n
		if n == r.o.Limits.PackageBytes {
			return &httpclient.Error{Err: fmt.Errorf("it is longer than %d bytes, and was not read further", n)}
		}
		return nil
	})
	return got, err
}

// lastModified returns when the server says that a resource was modified, or zero.
func lastModified(r *http.Response) time.Time {
	t, err := http.ParseTime(r.Header.Get("Last-Modified"))
	if err != nil {
		return time.Time{}
	}
	return t
}
