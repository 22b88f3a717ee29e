package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

// checkRoot is how often to see whether the root is still the same directory: no
// event says that a link to it, or a directory above it, leads elsewhere.
const checkRoot = time.Second

// followAll follows events until that is not possible.
func (w *observer) followAll(ctx context.Context) error {
	for ctx.Err() == nil {
		r, err := openRoot(w.o.Root)
		if err != nil {
			w.hint()
			for err != nil && sleep(ctx, checkRoot) {
				_, err = openRoot(w.o.Root)
			}
			continue
		}
		if err := w.follow(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// root is a directory that can be watched.
type root struct {
	real string // without symbolic links
	info fs.FileInfo
}

func openRoot(name string) (root, error) {
	real, err := filepath.EvalSymlinks(name)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return root{}, err
	}
	f, err := os.Open(real)
	if err != nil {
		return root{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	return root{real, info}, err
}

// is reports whether the name still leads there.
func (r root) is(name string) bool {
	now, err := openRoot(name)
	return err == nil && now.real == r.real && os.SameFile(now.info, r.info)
}

// follow gives a hint, and then one for each event, until it is better to begin
// anew: if events were lost, or if the root is not what it was.
func (w *observer) follow(ctx context.Context, r root) error {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	q := &queue{limit: w.o.queue, wake: make(chan struct{}, 1)}
	pumped := make(chan struct{})
	go func() {
		defer close(pumped)
		q.pump(notify)
	}()
	defer func() {
		notify.Close()
		<-pumped
	}()
	f := &follower{observer: w, root: r, notify: notify, dirs: map[string]bool{}}
	if err := f.add(ctx, ""); err != nil {
		return err
	}
	w.hint()
	check := time.NewTicker(checkRoot)
	defer check.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-check.C:
			if !r.is(w.o.Root) {
				return nil
			}
		case <-q.wake:
			events, lost := q.take()
			if lost {
				return nil
			}
			for _, e := range events {
				if anew, err := f.take(ctx, e); anew || err != nil {
					return err
				}
			}
		}
	}
}

// queue keeps events while directories are added, which some systems can only do
// while somebody takes their events.
type queue struct {
	limit int
	wake  chan struct{}

	mu     sync.Mutex
	events []fsnotify.Event
	lost   bool
}

// pump takes what there is until the watcher is closed.
func (q *queue) pump(w *fsnotify.Watcher) {
	for {
		select {
		case e, ok := <-w.Events:
			if !ok {
				return
			}
			q.put(e, false)
		case _, ok := <-w.Errors: // such as ErrEventOverflow
			if !ok {
				return
			}
			q.put(fsnotify.Event{}, true)
		}
	}
}

func (q *queue) put(e fsnotify.Event, lost bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.lost = q.lost || lost || len(q.events) >= q.limit; q.lost {
		q.events = nil
	} else {
		q.events = append(q.events, e)
	}
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take returns the events that wait, and whether some were lost.
func (q *queue) take() ([]fsnotify.Event, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	events := q.events
	q.events = nil
	return events, q.lost
}

// follower knows the directories that are watched, by their paths relative to the
// root.
type follower struct {
	*observer
	root   root
	notify *fsnotify.Watcher
	dirs   map[string]bool
}

func (f *follower) native(path string) string {
	return filepath.Join(f.root.real, filepath.FromSlash(path))
}

// add watches a directory and all below it. Each is watched before it is listed, so
// that what comes into it is either listed or told of.
func (f *follower) add(ctx context.Context, top string) error {
	for pending := []string{top}; len(pending) > 0; {
		dir := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if ctx.Err() != nil || dir != "" && f.o.Ignore(dir, true) {
			continue
		}
		switch err := f.o.add(f.notify, f.native(dir)); {
		case isPassing(err):
			continue
		case err != nil:
			return err
		}
		f.dirs[dir] = true
		pending = append(pending, f.subdirectories(dir)...)
	}
	return nil
}

// isPassing reports whether an error is about one directory, and not about watching.
// Whoever reads the tree says what cannot be read.
func isPassing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOTDIR)
}

func (f *follower) subdirectories(dir string) (list []string) {
	d, err := os.Open(f.native(dir))
	if err != nil {
		return nil
	}
	defer d.Close()
	for {
		entries, err := d.ReadDir(1024)
		for _, e := range entries {
			if e.IsDir() {
				list = append(list, path.Join(dir, e.Name()))
			}
		}
		if err != nil {
			return list
		}
	}
}

// take gives a hint if an event is of interest. It returns true if it is better to
// begin anew.
func (f *follower) take(ctx context.Context, e fsnotify.Event) (anew bool, err error) {
	name, ok := f.pathOf(e.Name)
	if !ok {
		return false, nil
	}
	gone := e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)
	if name == "" {
		return gone, nil
	}
	if f.o.Ignore(name, f.dirs[name]) {
		return false, nil
	}
	if gone {
		f.forget(name, e.Has(fsnotify.Rename))
	}
	if e.Has(fsnotify.Create) || e.Has(fsnotify.Chmod) {
		if info, err := os.Lstat(f.native(name)); err == nil && info.IsDir() {
			if f.o.Ignore(name, true) {
				return false, nil
			}
			if err := f.add(ctx, name); err != nil {
				return false, err
			}
		}
	}
	f.hint()
	return false, nil
}

// pathOf returns a name relative to the root.
func (f *follower) pathOf(name string) (string, bool) {
	if name == f.root.real {
		return "", true
	}
	below, ok := strings.CutPrefix(name, strings.TrimSuffix(f.root.real, string(filepath.Separator))+string(filepath.Separator))
	return filepath.ToSlash(below), ok
}

// forget gives up what was watched under a name. Watches follow a directory that is
// renamed, with those below it, and would tell of it by its old name.
func (f *follower) forget(dir string, below bool) {
	if !f.dirs[dir] {
		return
	}
	for d := range f.dirs {
		if !below {
			break
		}
		if strings.HasPrefix(d, dir+"/") {
			delete(f.dirs, d)
			f.notify.Remove(f.native(d)) // which may be gone by itself
		}
	}
	delete(f.dirs, dir)
	f.notify.Remove(f.native(dir))
}

// explain says why there are no events.
func explain(err error) string {
	switch {
	case err == nil:
		return ""
	case runtime.GOOS == "linux" && errors.Is(err, syscall.ENOSPC):
		return "there are more directories than the system lets one watch (raise it with sysctl fs.inotify.max_user_watches=1048576)"
	case runtime.GOOS == "linux" && errors.Is(err, syscall.EMFILE):
		return "the system does not let more programs watch files (raise it with sysctl fs.inotify.max_user_instances=1024, or ulimit -n)"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "there are more files to watch than may be open (raise it with ulimit -n)"
	}
	return fmt.Sprintf("watching is not possible (%v)", err)
}
