// Package remote reads the last publication of a Source over HTTP, so that a run
// with an empty disk can go on from it. It is a file system: a file is fetched
// when it is first opened, kept in a directory, and read from there. What the
// server says is not believed any further than package snapshot would believe a
// disk, and only an answer that is plain counts as "not there". The package knows
// nothing of what the files hold.
package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/wellspring-sync/wellspring/internal/httpclient"
	"github.com/wellspring-sync/wellspring/layout"
)

// ErrOther says that a file has not the length or the SHA-256 that was stated.
var ErrOther = errors.New("it is not the file that was stated")

// Error says that a file could not be read, which does not mean that it is not
// there. It never holds a user name, a password, a query or a header.
type Error struct {
	URL string
	Err error
}

func (e *Error) Error() string { return e.URL + ": " + e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Options say how files are fetched. The zero value works.
type Options struct {
	// Header is sent with each request, to the publication's own host only.
	Header http.Header
	// Transport sends the requests. Nil stands for one like that of package
	// net/http, which knows of proxies.
	Transport http.RoundTripper
	// Release stands in the User-Agent.
	Release string
	// IsBody reports whether a file, by its path, is written once, so that any
	// copy in a cache is a good one. Nil stands for no file.
	IsBody func(path string) bool
	// MaxBytes is how long a file may be whose length is not stated. Zero
	// stands for 64 MiB: documents have 50 MB at most, and a record is shorter
	// than that.
	MaxBytes int64
	// Retries is how often a request is sent again that failed in a way that
	// may pass. Zero stands for 4, which takes about ten seconds, and a
	// negative number for never.
	Retries int
	// Stall is how long a server may take to answer, and then for every few
	// kilobytes. Zero stands for a minute.
	Stall time.Duration
	// Log may be nil.
	Log *slog.Logger

	sleep func(context.Context, time.Duration) error // for tests
}

func (o *Options) applyDefaults() {
	o.MaxBytes = cmp.Or(o.MaxBytes, 64<<20)
	o.Retries = max(cmp.Or(o.Retries, 4), 0)
	o.Stall = cmp.Or(o.Stall, time.Minute)
	if o.IsBody == nil {
		o.IsBody = func(string) bool { return false }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}

// FS is a publication on a server. Its methods may be called concurrently, but
// for Close.
type FS struct {
	o      Options
	client *httpclient.Client
	home   *url.URL
	layout layout.Layout // for URLs
	dir    *os.Root
	temp   string // names the directory, if it is not the caller's
	// ctx is a field since the methods of a file system are given none.
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu     sync.Mutex // for what follows, and for putting files under their names
	files  map[string]*file
	staged int // how many temporary files there were
}

var _ fs.StatFS = (*FS)(nil)

// file is what is known of one file of the publication.
type file struct {
	turn    chan struct{} // holds one item while somebody asks the server
	err     error         // it is not there, or cannot be had
	sized   bool          // length is known
	length  int64
	fetched bool // it is in the directory
	sha256  string
}

// staging is the folder of files that are not whole yet, in the directory.
const staging = ".fetching"

// Open returns the publication below a URL as a file system that keeps files in
// a directory, which is empty and stays the caller's, or in a temporary one if it is
// nil. The context is that of all that the file system does. Nothing is asked of the
// server yet.
func Open(ctx context.Context, base string, dir *os.Root, o Options) (*FS, error) {
	o.applyDefaults()
	f := &FS{o: o, dir: dir, files: map[string]*file{}}
	if err := httpclient.CheckHeader(o.Header); err != nil {
		return nil, fmt.Errorf("a header for the previous publication %w", err)
	}
	if err := f.setBase(base); err != nil {
		return nil, fmt.Errorf("the URL of the previous publication %w", err)
	}
	if err := f.makeRoom(); err != nil {
		return nil, fmt.Errorf("making a folder for what is fetched: %w", err)
	}
	f.client = f.newClient()
	f.ctx, f.cancel = context.WithCancelCause(ctx)
	return f, nil
}

// makeRoom makes the folder for files that are not whole yet, in a directory.
func (f *FS) makeRoom() (err error) {
	if f.dir != nil {
		return errors.Join(f.dir.RemoveAll(staging), f.dir.Mkdir(staging, 0o755))
	}
	if f.temp, err = os.MkdirTemp("", "wellspring-"); err != nil {
		return err
	}
	if f.dir, err = os.OpenRoot(f.temp); err != nil {
		return errors.Join(err, os.RemoveAll(f.temp))
	}
	return f.makeRoom()
}

// setBase takes the URL apart: what is secret in it is sent and never shown.
func (f *FS) setBase(base string) error {
	u, err := url.Parse(base)
	if err != nil {
		return errors.New("is not a URL") // not repeated, since it may have a password in it
	}
	// Nor are these: where a scheme is forgotten, a user name takes its place.
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("does not begin with https:// or http:// and a host")
	}
	if u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return errors.New("has a query or a fragment, which the files below it cannot have")
	}
	f.home = u
	shown := *u
	shown.User = nil
	if f.layout, err = layout.New(layout.Identity{BaseURL: shown.String()}); err != nil {
		return errors.Unwrap(err) // which says what is wrong, without the name of another URL
	}
	return nil
}

// Close ends what is under way and removes what is not whole. Files that were
// fetched stay in the caller's directory.
func (f *FS) Close() error {
	f.cancel(fs.ErrClosed)
	if f.temp != "" {
		return errors.Join(f.dir.Close(), os.RemoveAll(f.temp))
	}
	return f.dir.RemoveAll(staging)
}

// Open opens a file, which is fetched first if it was not yet. The error is
// fs.ErrNotExist only if the server says that there is no such file. What is
// returned is an *os.File.
func (f *FS) Open(name string) (fs.File, error) {
	if err := f.fetch(f.ctx, Want{Path: name}); err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	file, err := f.dir.Open(name)
	if err != nil {
		return nil, fmt.Errorf("opening what was fetched: %w", noAnswer(err))
	}
	return file, nil
}

// Stat returns name and length of a file, without fetching it where the server
// says its length.
func (f *FS) Stat(name string) (fs.FileInfo, error) {
	length, err := f.length(f.ctx, name)
	if err != nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	return info{path.Base(name), length}, nil
}

// length asks for the length of a file, or fetches it if that is not said.
func (f *FS) length(ctx context.Context, name string) (int64, error) {
	known, err := f.begin(ctx, name)
	if err != nil {
		return 0, err
	}
	defer known.end()
	if known.err == nil && !known.sized {
		known.length, err = f.askLength(ctx, name)
		known.sized = err == nil
		if errors.Is(err, errNotSaid) {
			err = f.keep(ctx, known, Want{Path: name})
		}
		known.remember(ctx, err)
	}
	return known.length, cmp.Or(err, known.err)
}

// Want is a file to be fetched.
type Want struct {
	Path string
	// Length in bytes, or zero if it is not stated.
	Length int64
	// SHA256 in lower case hexadecimal digits, or nothing if it is not stated.
	SHA256 string
	// Optional is true if it is no error that the file is not there.
	Optional bool
}

// Fetch fetches files, several at a time, as far as they were not yet. The error
// is that of the first which fails, and then the others are given up. It is
// fs.ErrNotExist for a file that is not there, and ErrOther for one that is not as
// stated, which cannot be opened any more either.
func (f *FS) Fetch(ctx context.Context, want []Want) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(f.ctx, func() { cancel(context.Cause(f.ctx)) })()
	free := make(chan struct{}, httpclient.AtOnce)
	var all sync.WaitGroup
	for _, w := range want {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			if err := f.fetch(ctx, w); err != nil && !(w.Optional && errors.Is(err, fs.ErrNotExist)) {
				cancel(err)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// fetch makes sure that a file is in the directory, and that it is as stated.
func (f *FS) fetch(ctx context.Context, want Want) error {
	known, err := f.begin(ctx, want.Path)
	if err != nil {
		return err
	}
	defer known.end()
	if known.err != nil {
		return known.err
	}
	if !known.fetched {
		err = f.keep(ctx, known, want)
		known.remember(ctx, err)
		return err
	}
	if err := f.check(want, known.length, known.sha256); err != nil {
		known.err = err
		f.dir.Remove(want.Path) // which nobody can open any more, removed or not
		return err
	}
	return nil
}

// begin waits until nobody else asks for a file, so that all that did ask are
// served by the same answer.
func (f *FS) begin(ctx context.Context, name string) (*file, error) {
	if !isName(name) {
		return nil, fs.ErrInvalid
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	known := f.file(name)
	select {
	case known.turn <- struct{}{}:
		return known, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (f *FS) file(name string) *file {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.files[name]
	if known == nil {
		known = &file{turn: make(chan struct{}, 1)}
		f.files[name] = known
	}
	return known
}

func (k *file) end() { <-k.turn }

// remember keeps an error, so that a server is not asked again what it could not
// answer. That a context has ended says nothing of the file.
func (k *file) remember(ctx context.Context, err error) {
	if ctx.Err() == nil {
		k.err = err
	}
}

// isName reports whether a path can be that of a file of a publication, and be a
// file's name below the directory, on this system.
func isName(name string) bool {
	_, err := filepath.Localize(name) // which asks fs.ValidPath, and for names of devices
	first, _, _ := strings.Cut(name, "/")
	return err == nil && name != "." && !strings.EqualFold(first, staging) &&
		!strings.ContainsFunc(name, func(r rune) bool { return r == '\\' || unicode.IsControl(r) })
}

// info describes a file of a publication.
type info struct {
	name   string
	length int64
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.length }
func (i info) Mode() fs.FileMode  { return 0o444 }
func (i info) ModTime() time.Time { return time.Time{} } // the server's is that of a deployment
func (i info) IsDir() bool        { return false }
func (i info) Sys() any           { return nil }
