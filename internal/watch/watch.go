// Package watch tells when something below a directory has changed. What the system
// says of files is only its hint: whoever is told has to look at the whole tree for
// what it is. The package knows nothing of documents.
package watch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Options say what is watched. Root must be given; the zero value of the rest works.
type Options struct {
	Root string // a directory, which need not be there all the time
	// Ignore reports whether a path, relative to Root and slash-separated, is of no
	// interest; nil stands for none. What it says of a directory goes for all below.
	// It is called from one goroutine at a time, but from another one than Watch.
	Ignore func(path string, dir bool) bool
	// Settle is how long nothing may happen before somebody is told; by default
	// DefaultSettle. A negative value tells at once.
	Settle time.Duration
	// MaxDelay is how long changes that do not end can put that off; by default
	// DefaultMaxDelay.
	MaxDelay time.Duration
	// Poll is how often to look at the tree where there are no events; by default
	// DefaultPoll.
	Poll time.Duration
	// NoEvents looks at the tree from the start.
	NoEvents bool
	// Retry is when to tell again after ErrAgain; by default DefaultRetry.
	Retry time.Duration
	// Warn may be nil. It is told why the tree is looked at instead of waiting for
	// events, at most once, from another goroutine.
	Warn func(text string)

	// These are for tests.
	add   func(*fsnotify.Watcher, string) error
	queue int // events that can wait
}

// The defaults.
const (
	// DefaultSettle outlasts the pauses of editors and of most site generators.
	DefaultSettle = 2 * time.Second
	// DefaultMaxDelay keeps a log file in the tree from putting off all else.
	DefaultMaxDelay = 30 * time.Second
	DefaultPoll     = 10 * time.Second
	DefaultRetry    = 30 * time.Second
)

// maxQueue is how many events can wait until it is cheaper to list the tree anew.
const maxQueue = 1 << 16

// ErrAgain is what a callback returns that wants to be called again later, though
// nothing has changed.
var ErrAgain = errors.New("try again later")

func (o *Options) applyDefaults() {
	if o.Ignore == nil {
		o.Ignore = func(string, bool) bool { return false }
	}
	if o.Settle == 0 {
		o.Settle = DefaultSettle
	}
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
	}{{&o.MaxDelay, DefaultMaxDelay}, {&o.Poll, DefaultPoll}, {&o.Retry, DefaultRetry}} {
		if *d.value <= 0 {
			*d.value = d.standard
		}
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	if o.add == nil {
		o.add = (*fsnotify.Watcher).Add
	}
	if o.queue == 0 {
		o.queue = maxQueue
	}
}

// Watch calls changed as soon as changes are noticed, and then whenever there were
// some, also during the last call. It never makes two calls at the same time. It ends
// with the cause of the context, or with the first error of changed that is not
// ErrAgain.
func Watch(ctx context.Context, o Options, changed func(context.Context) error) error {
	o.applyDefaults()
	observing, stop := context.WithCancel(ctx)
	w := &observer{o: &o, hints: make(chan struct{}, 1)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.run(observing)
	}()
	defer func() {
		stop()
		<-ended
	}()
	return o.call(ctx, w.hints, changed)
}

// call turns hints into calls.
func (o *Options) call(ctx context.Context, hints <-chan struct{}, changed func(context.Context) error) error {
	var again <-chan time.Time
	for first := true; ; first = false {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-again:
		case <-hints:
			if first { // the tree is as it is
				break
			}
			if err := o.settle(ctx, hints); err != nil {
				return err
			}
		}
		again = nil
		switch err := changed(ctx); {
		case errors.Is(err, ErrAgain):
			again = time.After(o.Retry)
		case err != nil:
			return err
		}
	}
}

// settle waits until there are no more hints, but not forever.
func (o *Options) settle(ctx context.Context, hints <-chan struct{}) error {
	quiet, latest := time.NewTimer(o.Settle), time.NewTimer(o.MaxDelay)
	defer quiet.Stop()
	defer latest.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-quiet.C:
			return nil
		case <-latest.C:
			return nil
		case <-hints:
			quiet.Reset(o.Settle)
		}
	}
}

// observer gives hints that something has changed.
type observer struct {
	o     *Options
	hints chan struct{}
}

// hint says that something has changed since the last hint was taken.
func (w *observer) hint() {
	select {
	case w.hints <- struct{}{}:
	default:
	}
}

func (w *observer) run(ctx context.Context) {
	why := ""
	switch {
	case w.o.NoEvents:
	case isRemote(w.o.Root):
		why = "the file system tells nothing of changes that other machines make"
	default:
		why = explain(w.followAll(ctx))
	}
	if ctx.Err() != nil {
		return
	}
	if why != "" {
		w.o.Warn(fmt.Sprintf("%s: looking at all files every %v instead of waiting for events", why, w.o.Poll))
	}
	w.poll(ctx)
}

// sleep returns false if the context ended meanwhile.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
