package verify

import (
	"context"
	"io"
	"sync"
)

// How many resources go from one goroutine to another together, and at most about
// how many bytes, so that all of them have work.
const (
	atOnce      = 64
	bytesAtOnce = 1 << 20
)

// eachResource has several goroutines check the resources that list passes on. The
// first error ends it.
func (a *auditor) eachResource(ctx context.Context, list func(context.Context, func(resource)) error, check func(context.Context, resourceReader, *resource) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan []resource, 4)
	var all sync.WaitGroup
	for range a.place.readersAtOnce(a.o.Jobs) {
		all.Go(func() {
			reader := a.place.reader()
			defer reader.close()
			for batch := range work {
				for i := range batch {
					if ctx.Err() == nil {
						if err := check(ctx, reader, &batch[i]); err != nil {
							cancel(err)
						}
					}
				}
			}
		})
	}
	b := &batches{to: work}
	err := list(ctx, b.add)
	b.send()
	close(work)
	all.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// batches gathers resources that go to one goroutine together.
type batches struct {
	to    chan<- []resource
	batch []resource
	bytes int64
}

func (b *batches) add(r resource) {
	if !r.md.HasLength {
		b.bytes += bytesAtOnce
	}
	b.bytes += min(r.md.Length, bytesAtOnce)
	if b.batch = append(b.batch, r); len(b.batch) == atOnce || b.bytes >= bytesAtOnce {
		b.send()
	}
}

func (b *batches) send() {
	if len(b.batch) > 0 {
		b.to <- b.batch
		b.batch, b.bytes = nil, 0
	}
}

// sample says which of many resources are read whole, where that is a choice.
type sample struct {
	all            bool
	every, n, most int
}

// newSample returns one of about as many resources as the options say.
func (a *auditor) newSample(total int) sample {
	s := sample{all: a.o.All, most: a.o.Sample}
	if s.most > 0 {
		s.every = max(total/s.most, 1)
	}
	return s
}

// next reports whether the next resource is one of them.
func (s *sample) next() bool {
	s.n++
	return s.all || s.every > 0 && s.n%s.every == 0 && s.n/s.every <= s.most
}

// readText reads at most some bytes. What it returns is not nil unless there is an
// error.
func readText(r io.Reader, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, most))
	if err != nil {
		return nil, err
	}
	return text, nil
}
