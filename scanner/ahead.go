package scanner

import (
	"context"
	"sync"
)

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
