package scanner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"syscall"
)

// opened is a directory whose entries are listed, and perhaps looked at.
type opened struct {
	place
	dir      Dir // nil if it could not be opened
	inode    uint64
	list     *listing
	ahead    *lookout
	vanished bool
	err      error
}

func (o *opened) close() {
	o.ahead.stop()
	if o.dir != nil {
		o.dir.Close()
	}
}

// open opens an entry of a directory that is one itself, and lists it. It
// changes nothing of the walker, which may be elsewhere.
func (w *walker) open(parent *opened, e *entry) *opened {
	name := parent.list.name(e)
	o := &opened{place: place{
		path:     parent.path + name + "/",
		uri:      parent.uri + parent.list.key(e),
		links:    parent.links,
		included: e.included,
		up:       &parent.place,
	}}
	if o.real = o.path; parent.real != parent.path {
		o.real = parent.real + name + "/"
	}
	if len(o.uri) > maxURI {
		o.err = errLongURI(parent.path + name)
		return o
	}
	if e.link != "" {
		o.real = e.link + "/"
		if o.links++; o.links > maxLinkDepth {
			o.err = fmt.Errorf("%s is reached through more than %d symbolic links", quote(parent.path+name), maxLinkDepth)
			return o
		}
		o.dir, o.err = w.tree.OpenDir(e.link)
	} else {
		o.dir, o.err = parent.dir.OpenDir(name)
	}
	switch {
	case errors.Is(o.err, fs.ErrNotExist):
		o.vanished, o.dir, o.err = true, nil, nil
	case errors.Is(o.err, syscall.ENOTDIR): // as it was when its parent was listed
		o.dir, o.err = nil, fmt.Errorf("%s changed into something else while the source was listed: run again", &o.place)
	case o.err != nil:
		o.dir, o.err = nil, fmt.Errorf("opening %s: %w", &o.place, cause(o.err))
	default:
		w.fill(o)
	}
	if errors.Is(o.err, fs.ErrNotExist) { // removed since it was opened
		o.vanished, o.err = true, nil
	}
	return o
}

// fill lists an open directory and begins to look at its files.
func (w *walker) fill(o *opened) {
	info, err := o.dir.Info()
	if err != nil {
		o.err = fmt.Errorf("looking at %s: %w", &o.place, cause(err))
		return
	}
	if info != nil {
		o.inode = StatOf(info).Inode
	}
	if o.list, o.err = w.list(o.dir, &o.place, info); o.err == nil && !w.o.NamesOnly {
		o.ahead = newLookout(w.ctx, o.dir, o.list)
	}
}

// siblings opens the subdirectories of a directory one ahead of the walker, so
// that one is listed while another is passed on.
type siblings struct {
	w    *walker
	of   *opened
	at   int // index of the entry that is being opened
	next chan *opened
}

// take returns the subdirectory with an index, and begins to open the next one.
func (s *siblings) take(i int) *opened {
	var o *opened
	if s.next != nil && s.at == i {
		o, s.next = <-s.next, nil
	} else {
		o = s.w.open(s.of, &s.of.list.entries[i])
	}
	s.start(i + 1)
	return o
}

// start begins to open the first subdirectory from an index on.
func (s *siblings) start(from int) {
	entries := s.of.list.entries
	for i := from; i < len(entries); i++ {
		if e := &entries[i]; e.dir {
			s.at, s.next = i, make(chan *opened, 1)
			go func(next chan<- *opened) { next <- s.w.open(s.of, e) }(s.next)
			return
		}
	}
}

// stop waits for what is being opened, and closes it.
func (s *siblings) stop() {
	if s.next != nil {
		(<-s.next).close()
	}
}

// Large directories are looked at by a second goroutine, some files ahead of
// the one that passes them on. Both keep to the order of the listing.
const (
	aheadChunk  = 128 // files that are handed over at a time
	aheadChunks = 4   // that may be ready
	aheadFrom   = 2 * aheadChunk
)

// status is what was found out about an entry.
type status struct {
	stat Stat
	err  error
}

// lookout looks at the files of one directory ahead of time.
type lookout struct {
	cancel context.CancelFunc
	wait   sync.WaitGroup
	full   chan []status
	empty  chan []status
	now    []status // for the entries from first on
	first  int
}

// newLookout begins to look at the files of a listing. It returns nil if that
// does not pay.
func newLookout(ctx context.Context, d Dir, list *listing) *lookout {
	if len(list.entries) < aheadFrom {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	l := &lookout{cancel: cancel, full: make(chan []status, aheadChunks), empty: make(chan []status, aheadChunks)}
	for range aheadChunks {
		l.empty <- make([]status, 0, aheadChunk)
	}
	l.wait.Go(func() {
		for start := 0; start < len(list.entries); start += aheadChunk {
			select {
			case <-ctx.Done():
				return
			case chunk := <-l.empty:
				l.full <- look(chunk, d, list, start)
			}
		}
	})
	return l
}

// look fills a chunk with the status of the files from start on.
func look(chunk []status, d Dir, list *listing, start int) []status {
	for i := start; i < min(start+aheadChunk, len(list.entries)); i++ {
		var s status
		if e := &list.entries[i]; !e.dir && e.link == "" {
			s.stat, s.err = d.Lstat(list.name(e))
		}
		chunk = append(chunk, s)
	}
	return chunk
}

// at returns the status of a file. Files have to come in their order.
func (l *lookout) at(ctx context.Context, i int) (Stat, error) {
	for i >= l.first+len(l.now) {
		l.first += len(l.now)
		if l.now != nil {
			l.empty <- l.now[:0]
		}
		select {
		case l.now = <-l.full:
		case <-ctx.Done():
			return Stat{}, context.Cause(ctx)
		}
	}
	s := &l.now[i-l.first]
	return s.stat, s.err
}

// stop ends the looking. It does nothing if l is nil.
func (l *lookout) stop() {
	if l != nil {
		l.cancel()
		l.wait.Wait()
	}
}
