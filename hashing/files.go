package hashing

import (
	"context"
	"errors"
	"iter"
	"sync"
	"syscall"
	"time"
)

// Job says how to read the file that an item of a stream stands for.
type Job struct {
	Path string // slash path, as the Opener takes it
	Name string // under which it is published
	Want Set
	// NotBefore is when the reading may begin, at the earliest.
	NotBefore time.Time
	// Copy, if not nil, takes the content, and Weight is how many bytes of
	// memory it may hold until its item has been passed on.
	Copy   Copy
	Weight int64
}

// Result is an item that has gone through Files.
type Result[T any] struct {
	Item T
	// Read is true if the item's file was read; then Fingerprint or Err hold
	// what came of it.
	Read        bool
	Fingerprint Fingerprint
	Err         error
}

// Pool says how files are read.
type Pool struct {
	Opener  Opener
	Workers int // at least one works
	// Progress, if not nil, is told of bytes as they are read, by all workers
	// at once.
	Progress func(bytes int)
	// MaxWeight bounds the weight of all jobs that are on their way, unless it
	// is 0. One job alone may weigh more.
	MaxWeight int64
}

// Window is how many items may be on their way. It bounds memory, and evens out
// small and large files.
const Window = 1024

// Files passes items on in their order. For those that job wants read, it has
// workers read the file first; the others go straight through unless they have
// to wait for those before them. An error of items ends the stream. When the
// consumer stops, all workers have stopped as well.
func Files[T any](ctx context.Context, p Pool, items iter.Seq2[T, error], job func(*T) (Job, bool)) iter.Seq2[Result[T], error] {
	return func(yield func(Result[T], error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		q := &queue[T]{
			ring: make([]slot[T], Window),
			work: make(chan *slot[T], Window),
			room: p.MaxWeight,
		}
		q.start(ctx, p)
		defer q.wait.Wait()
		defer close(q.work)
		defer cancel(nil)

		var item T // one for all, as job makes it escape
		for next, err := range items {
			if err != nil {
				q.flush(yield)
				if !q.stopped {
					yield(Result[T]{}, err)
				}
				return
			}
			item = next
			j, read := job(&item)
			if !q.put(item, j, read, yield) {
				return
			}
		}
		q.flush(yield)
	}
}

// slot holds an item that is on its way.
type slot[T any] struct {
	result Result[T]
	job    Job
	done   chan struct{} // is sent to once the file has been read
}

// queue is a ring of slots: what is in it is passed on in the order in which it
// was put in.
type queue[T any] struct {
	ring        []slot[T]
	first, size int
	weight      int64 // of the jobs in it
	room        int64 // for that, or 0
	work        chan *slot[T]
	wait        sync.WaitGroup
	stopped     bool
}

func (q *queue[T]) start(ctx context.Context, p Pool) {
	for i := range q.ring {
		q.ring[i].done = make(chan struct{}, 1)
	}
	for range max(p.Workers, 1) {
		q.wait.Go(func() {
			r := NewReader(p.Opener)
			r.Progress = p.Progress
			for s := range q.work {
				s.result.Fingerprint, s.result.Err = r.read(ctx, s.job)
				s.done <- struct{}{}
			}
		})
	}
}

// read does a job when its time has come. A disk that fails is asked once more,
// and where too many files are open, others have to be closed first.
func (r *Reader) read(ctx context.Context, j Job) (Fingerprint, error) {
	if err := sleep(ctx, time.Until(j.NotBefore)); err != nil {
		return Fingerprint{}, err
	}
	fp, err := r.Read(ctx, j)
	if errors.Is(err, syscall.EIO) {
		return r.Read(ctx, j)
	}
	for range fullWaits {
		if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) {
			break
		}
		if err := sleep(ctx, fullWait); err != nil {
			return Fingerprint{}, err
		}
		fp, err = r.Read(ctx, j)
	}
	return fp, err
}

// How often, and how long each time, to wait for a file that can be opened.
const (
	fullWaits = 50
	fullWait  = 20 * time.Millisecond
)

// sleep waits, or returns the cause of the context's end.
func sleep(ctx context.Context, d time.Duration) error {
	if d > 0 {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// put adds an item and passes on what is ready.
func (q *queue[T]) put(item T, j Job, read bool, yield func(Result[T], error) bool) bool {
	if !read && q.size == 0 {
		return yield(Result[T]{Item: item}, nil)
	}
	for q.size == len(q.ring) || q.size > 0 && q.room > 0 && q.weight+j.Weight > q.room {
		q.pass(yield)
	}
	q.weight += j.Weight
	s := &q.ring[(q.first+q.size)%len(q.ring)]
	q.size++
	s.job, s.result = j, Result[T]{Item: item, Read: read}
	if read {
		q.work <- s // has room for all slots
	}
	for q.size > 0 && !q.stopped && q.ready() {
		q.pass(yield)
	}
	return !q.stopped
}

// ready reports whether the first item can be passed on without waiting.
func (q *queue[T]) ready() bool {
	s := &q.ring[q.first]
	return !s.result.Read || len(s.done) > 0
}

// pass waits for the first item and passes it on.
func (q *queue[T]) pass(yield func(Result[T], error) bool) {
	s := &q.ring[q.first]
	if s.result.Read {
		<-s.done
	}
	q.first = (q.first + 1) % len(q.ring)
	q.size--
	q.weight -= s.job.Weight
	if !q.stopped && !yield(s.result, nil) {
		q.stopped = true
	}
	s.result = Result[T]{}
}

// flush passes on all that is left.
func (q *queue[T]) flush(yield func(Result[T], error) bool) {
	for q.size > 0 && !q.stopped {
		q.pass(yield)
	}
}
