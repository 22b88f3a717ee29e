package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// web is a publication on a server. What is fetched is kept in temporary files, so
// that it can be read more than once.
type web struct {
	base   *url.URL
	client *http.Client
	o      *Options
	dir    string
	log    *slog.Logger

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
	method string
	status int
	header http.Header
	final  string // the URI in the end
}

// statusError says that a server answered, but not with the file.
type statusError struct{ text string }

func (e *statusError) Error() string { return e.text }

func newWeb(where string, o *Options) (*web, error) {
	u, err := url.Parse(where)
	if err != nil || u.Host == "" {
		return nil, errors.New("that is not a URL") // not repeated, since it may have a password in it
	}
	for _, m := range o.Resources {
		if !isURL(m.Dir) {
			return nil, fmt.Errorf("%s is no URL, where a server is audited", m.Dir)
		}
	}
	dir, err := os.MkdirTemp("", "wellspring-verify-")
	if err != nil {
		return nil, err
	}
	w := &web{base: u, o: o, dir: dir, log: o.Log, kept: map[string]*keptFile{}}
	w.client = &http.Client{Transport: w.transport(), CheckRedirect: checkRedirect}
	return w, nil
}

// transport sends the user's headers to the host that he named, and to no other.
func (w *web) transport() http.RoundTripper {
	header := w.o.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	if w.base.User != nil && header.Get("Authorization") == "" {
		password, _ := w.base.User.Password()
		r := http.Request{Header: header}
		r.SetBasicAuth(w.base.User.Username(), password)
	}
	w.base.User = nil
	inner := w.o.Transport
	if inner == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost = webReaders
		t.MaxResponseHeaderBytes = 256 << 10
		inner = t
	}
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		r = r.Clone(r.Context())
		r.Header.Del("Referer") // which may have a secret in its query
		r.Header.Set("User-Agent", strings.TrimSuffix("wellspring/"+w.o.Release, "/"))
		if r.URL.Host == w.base.Host && (r.URL.Scheme == w.base.Scheme || r.URL.Scheme == "https") {
			for name, values := range header {
				r.Header[http.CanonicalHeaderKey(name)] = values
			}
		}
		return inner.RoundTrip(r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// mostRedirects is how often a server may send on.
const mostRedirects = 5

func checkRedirect(r *http.Request, via []*http.Request) error {
	if r.URL.Scheme != "http" && r.URL.Scheme != "https" {
		return fmt.Errorf("the server redirects to another protocol (%s)", clip(r.URL.Scheme))
	}
	for _, v := range via {
		if v.URL.String() == r.URL.String() {
			return errors.New("the server redirects in a circle")
		}
	}
	if len(via) > mostRedirects {
		return fmt.Errorf("the server redirects more than %d times", mostRedirects)
	}
	return nil
}

func (w *web) name() string { return w.base.String() }
func (w *web) isTold() bool { return true }

func (w *web) close() {
	w.client.CloseIdleConnections()
	os.RemoveAll(w.dir)
}

// webReaders is how many requests are under way at once: as many as no server
// minds.
const webReaders = 8

func (w *web) readersAtOnce(int) int { return webReaders }

func (w *web) reader() resourceReader { return &webReader{web: w, buf: make([]byte, 128<<10)} }

// open returns a copy of what a URI leads to. What was fetched before is not
// fetched again.
func (w *web) open(ctx context.Context, uri string, most int64) (*file, error) {
	if !isURL(uri) {
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

func (w *web) again(uri string) (*os.File, error) {
	f, err := w.open(context.Background(), uri, w.o.Limits.DocumentBytes+1)
	if err != nil {
		return nil, err
	}
	return f.File, nil
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
		if errClose := f.Close(); kept.err == nil {
			kept.err = errClose
		}
		switch {
		case kept.err != nil:
			err = &machineError{kept.err}
		case err != nil:
			err = &statusError{"the answer breaks off: " + plainError(err)}
		default:
			k.name, k.size, k.answer = f.Name(), n, a
			return nil
		}
		os.Remove(f.Name())
		w.keptBytes.Add(-kept.n)
		return err
	})
}

// keeper writes what is kept, and remembers its own errors.
type keeper struct {
	f   *os.File
	w   *web
	n   int64
	err error
}

func (k *keeper) Write(p []byte) (int, error) {
	n, err := k.f.Write(p)
	k.n += int64(n)
	if k.w.keptBytes.Add(int64(n)) > k.w.o.Limits.Kept && err == nil {
		err = fmt.Errorf("what was fetched and has to be kept is longer than %d bytes", k.w.o.Limits.Kept)
	}
	k.err = err
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

// tries is how often a request is sent that fails in a way that may pass.
const tries = 3

// ask sends a request, and again where that may help. What the server has is given
// to use; anything else is errNotThere or a statusError.
func (w *web) ask(ctx context.Context, method, uri string, header http.Header, use func(*http.Response, *answer) error) error {
	for try := 1; ; try++ {
		again, after, err := w.once(ctx, method, uri, header, use)
		if err == nil || ctx.Err() != nil || !again || try == tries {
			return err
		}
		w.log.Info("asking the server again", "uri", redacted(uri), "err", err)
		select {
		case <-time.After(max(after, time.Duration(try)*300*time.Millisecond)):
		case <-ctx.Done():
		}
	}
}

var errStalled = errors.New("the server did not go on in time")

// once sends a request.
func (w *web) once(ctx context.Context, method, uri string, header http.Header, use func(*http.Response, *answer) error) (again bool, after time.Duration, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(w.o.Stall, func() { cancel(errStalled) })
	defer timer.Stop()
	request, err := http.NewRequestWithContext(ctx, method, w.served(uri), nil)
	if err != nil {
		return false, 0, &statusError{"it cannot be asked for: " + plainError(err)}
	}
	for name, values := range header {
		request.Header[name] = values
	}
	r, err := w.client.Do(request)
	if err != nil {
		if context.Cause(ctx) == errStalled {
			err = errStalled
		}
		return true, 0, &statusError{plainError(err)}
	}
	defer r.Body.Close()
	switch {
	case r.StatusCode == http.StatusNotFound || r.StatusCode == http.StatusGone:
		return false, 0, errNotThere
	case r.StatusCode == http.StatusTooManyRequests || r.StatusCode >= 500:
		return true, retryAfter(r), &statusError{"the server answers " + r.Status}
	case r.StatusCode != http.StatusOK:
		return false, 0, &statusError{"the server answers " + r.Status}
	}
	r.Body = &movingBody{ReadCloser: r.Body, timer: timer, stall: w.o.Stall}
	err = use(r, &answer{method, r.StatusCode, usedHeaders(r.Header), w.stated(r.Request.URL.String())})
	if err != nil && context.Cause(ctx) == errStalled {
		err = &statusError{errStalled.Error()}
	}
	_, again = errors.AsType[*statusError](err)
	return again, 0, err
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

// retryAfter returns how long the server asks to wait, within reason.
func retryAfter(r *http.Response) time.Duration {
	seconds, err := strconv.Atoi(r.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, 10*time.Second)
}

// movingBody puts the timer back whenever enough has come.
type movingBody struct {
	io.ReadCloser
	timer *time.Timer
	stall time.Duration
	since int // bytes since the timer was put back
}

// leastMoving is how many bytes have to come within the time, but for the last ones.
const leastMoving = 4 << 10

func (b *movingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.since += n; b.since >= leastMoving {
		b.since = 0
		b.timer.Reset(b.stall)
	}
	return n, err
}

// plainError returns what went wrong with a request, without its URL, which the
// message names anyway and which may hold secrets.
func plainError(err error) string {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return clip(err.Error())
}

// text returns the first bytes of what a URI leads to.
func (r *webReader) text(ctx context.Context, uri string, most int64) ([]byte, error) {
	if !isURL(uri) {
		return nil, errElsewhere
	}
	var text []byte
	err := r.ask(ctx, http.MethodGet, uri, http.Header{"Accept-Encoding": {"identity"}}, func(g *http.Response, _ *answer) (err error) {
		if text, err = readText(g.Body, most); err != nil {
			err = &statusError{"the answer breaks off: " + plainError(err)}
		}
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
	if !isURL(res.uri) {
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
		body := io.Reader(g.Body)
		most := r.o.Limits.PackageBytes
		if res.md.HasLength && res.md.Length < most { // enough to see that it is too long
			most = res.md.Length + 1
		}
		body = io.LimitReader(body, most)
		n, err := io.CopyBuffer(d, onlyReader{body}, r.buf)
		if err != nil {
			return &statusError{"the answer breaks off: " + plainError(err)}
		}
		got.length, got.sums, got.read = n, d.sums(), n
		if n == r.o.Limits.PackageBytes {
			return &statusError{fmt.Sprintf("it is longer than %d bytes, and was not read further", n)}
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
