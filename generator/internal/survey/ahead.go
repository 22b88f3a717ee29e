package survey

import (
	"context"
	"iter"
	"sync"
)

// ahead runs a stream in a goroutine of its own, some items ahead of its
// consumer, so that both have a processor. An item, of the stream as of its
// source, is valid until the next. The goroutine has ended when the loop over
// the stream ends.
func ahead[T any](ctx context.Context, open func(context.Context) iter.Seq2[*T, error]) iter.Seq2[*T, error] {
	const (
		batchSize = 256
		batches   = 4
	)
	type batch struct {
		items []T
		err   error
	}
	return func(yield func(*T, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		full, empty := make(chan batch, batches), make(chan []T, batches)
		for range batches {
			empty <- make([]T, 0, batchSize)
		}
		var wait sync.WaitGroup
		defer wait.Wait()
		defer cancel(nil)
		wait.Go(func() {
			defer close(full)
			items := <-empty
			for item, err := range open(ctx) {
				if err != nil {
					full <- batch{items, err}
					return
				}
				if items = append(items, *item); len(items) < batchSize {
					continue
				}
				full <- batch{items: items}
				select {
				case items = <-empty:
				case <-ctx.Done():
					return
				}
			}
			full <- batch{items: items}
		})
		for b := range full {
			for i := range b.items {
				if !yield(&b.items[i], nil) {
					return
				}
			}
			if b.err != nil {
				yield(nil, b.err)
				return
			}
			clear(b.items)
			empty <- b.items[:0]
		}
		if ctx.Err() != nil {
			yield(nil, context.Cause(ctx))
		}
	}
}
