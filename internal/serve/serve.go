// Package serve serves directories over HTTP, as a static host would, for trying
// things out. It knows nothing of documents.
package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// Options say what is served. Roots must be given; the zero value of the rest works.
type Options struct {
	// Roots are the directories in which a file is looked for, in this order. Nothing
	// outside them is served.
	Roots []*os.Root
	// Type returns the media type of a file, from its path and its first bytes, or an
	// empty string; nil knows none.
	Type func(name string, head []byte) string
	// Link returns the values of the Link header of a file, if it has any; nil stands
	// for none.
	Link func(name string) []string
}

// sniffed is how many first bytes Type gets.
const sniffed = 3072

// Handler returns a handler for the files. It serves index.html for a directory,
// x.html also as x, and nothing whose name begins with a dot but .well-known. It is
// safe for concurrent use, and so must the functions of the options be.
func Handler(o Options) http.Handler {
	if o.Type == nil {
		o.Type = func(string, []byte) string { return "" }
	}
	if o.Link == nil {
		o.Link = func(string) []string { return nil }
	}
	return &handler{o}
}

type handler struct{ o Options }

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "405 only GET and HEAD are possible here", http.StatusMethodNotAllowed)
		return
	}
	name, ok := nameOf(r.URL.Path)
	if !ok {
		fail(w, fs.ErrNotExist)
		return
	}
	f, err := h.open(name, strings.HasSuffix(r.URL.Path, "/"))
	if err != nil {
		fail(w, err)
		return
	}
	if f == nil {
		to := url.URL{Path: r.URL.Path + "/", RawQuery: r.URL.RawQuery}
		w.Header().Set("Location", to.String())
		w.WriteHeader(http.StatusMovedPermanently)
		return
	}
	defer f.Close()
	h.serve(w, r, f)
}

// fail answers without saying anything of where files lie.
func fail(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, fs.ErrPermission):
		http.Error(w, "403 not readable", http.StatusForbidden)
	case isMissing(err):
		http.Error(w, "404 not found", http.StatusNotFound)
	default:
		http.Error(w, "500 the file could not be read", http.StatusInternalServerError)
	}
}

// nameOf returns the slash path that a URL's path stands for, if it may be served.
func nameOf(p string) (string, bool) {
	name := strings.TrimSuffix(strings.TrimPrefix(p, "/"), "/")
	if p == "/" {
		return ".", true
	}
	if !strings.HasPrefix(p, "/") {
		return "", false
	}
	for segment := range strings.SplitSeq(name, "/") {
		if segment == "" || segment[0] == '.' && segment != ".well-known" {
			return "", false
		}
	}
	return name, true
}

// localize turns a slash path into one of the system.
func localize(name string) (string, error) {
	if filepath.Separator == '/' { // where names need not be UTF-8
		if strings.Contains(name, "\x00") {
			return "", fs.ErrNotExist
		}
		return name, nil
	}
	local, err := filepath.Localize(name)
	if err != nil {
		return "", fs.ErrNotExist
	}
	return local, nil
}

// file is an open file, and the path that it was found at.
type file struct {
	*os.File
	name string
	info fs.FileInfo
}

// open returns the file for a path. It is nil for a directory whose path has no slash
// at its end.
func (h *handler) open(name string, slash bool) (f *file, err error) {
	if slash {
		return h.find(path.Join(name, "index.html"))
	}
	f, err = h.find(name)
	switch {
	case errors.Is(err, errDirectory):
		return nil, nil
	case isMissing(err):
		if page, err := h.find(name + ".html"); err == nil {
			return page, nil
		}
	}
	return f, err
}

var errDirectory = errors.New("it is a directory")

// find looks for a regular file in the roots.
func (h *handler) find(name string) (*file, error) {
	missing := error(fs.ErrNotExist)
	for _, root := range h.o.Roots {
		f, err := openIn(root, name)
		if err == nil || !isMissing(err) {
			return f, err
		}
		if errors.Is(err, errDirectory) {
			missing = err
		}
	}
	return nil, missing
}

func openIn(root *os.Root, name string) (*file, error) {
	local, err := localize(name)
	if err != nil {
		return nil, err
	}
	info, err := root.Stat(local) // first, since opening a pipe would wait
	switch {
	case err != nil && !isMissing(err) && !errors.Is(err, fs.ErrPermission):
		return nil, fs.ErrNotExist // such as a link that leads out, or a name that is too long
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, errDirectory
	case !info.Mode().IsRegular():
		return nil, fs.ErrNotExist
	}
	f, err := root.Open(local)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err != nil {
		f.Close()
		return nil, err
	}
	return &file{f, name, info}, nil
}

func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errDirectory)
}

// serve answers with a file.
func (h *handler) serve(w http.ResponseWriter, r *http.Request, f *file) {
	head := make([]byte, sniffed)
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		fail(w, err)
		return
	}
	header := w.Header()
	mediaType := h.o.Type(f.name, head[:n])
	if mediaType == "" {
		mediaType = "application/octet-stream"
	}
	header.Set("Content-Type", withCharset(mediaType))
	header.Set("Cache-Control", "no-cache") // what is tried out changes
	for _, link := range h.o.Link(f.name) {
		header.Add("Link", link)
	}
	tag := fmt.Sprintf("%x-%x", f.info.ModTime().UnixNano(), f.info.Size())
	if isCompressible(mediaType) {
		header.Set("Vary", "Accept-Encoding")
		if f.info.Size() >= leastCompressed && r.Header.Get("Range") == "" && acceptsGzip(r.Header) {
			g := &gzipWriter{ResponseWriter: w, method: r.Method}
			defer g.close()
			w, tag = g, tag+"-gzip"
		}
	}
	header.Set("ETag", `"`+tag+`"`)
	http.ServeContent(w, r, f.name, f.info.ModTime(), f)
}

// withCharset says what browsers would have to guess.
func withCharset(mediaType string) string {
	if strings.HasPrefix(mediaType, "text/") && !strings.Contains(mediaType, ";") {
		return mediaType + "; charset=utf-8"
	}
	return mediaType
}

// Time limits, so that nobody can hold connections without using them.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	// graceful is how long answers may take after the end.
	graceful = 3 * time.Second
)

// Run serves until the context ends, lets answers be completed, and returns the cause
// of the context, or else what went wrong. It closes the listener.
func Run(ctx context.Context, l net.Listener, h http.Handler) error {
	s := &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout,
		ErrorLog: log.New(io.Discard, "", 0),
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), graceful)
	defer cancel()
	if s.Shutdown(late) != nil {
		s.Close()
	}
	<-served
	return context.Cause(ctx)
}
