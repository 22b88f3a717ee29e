package survey

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wellspring-sync/wellspring/generator/policy"
)

// Meter tells how far a run is, from time to time.
type Meter struct {
	tell                        func(policy.Progress)
	files, bytes, packed, total atomic.Int64
}

const tellEvery = 200 * time.Millisecond

// NewMeter returns a Meter that tells nobody if tell is nil.
func NewMeter(tell func(policy.Progress)) *Meter { return &Meter{tell: tell} }

func (m *Meter) file()      { m.files.Add(1) }
func (m *Meter) read(n int) { m.bytes.Add(int64(n)) }

// Pack counts bytes that go into packages.
func (m *Meter) Pack(n int) { m.packed.Add(int64(n)) }

// start begins to tell, and to count what there is to do, if anybody listens.
// The function it returns ends both.
func (m *Meter) start(ctx context.Context, count func(context.Context) int64) (stop func()) {
	if m.tell == nil {
		return func() {}
	}
	for _, n := range [...]*atomic.Int64{&m.files, &m.bytes, &m.packed, &m.total} {
		n.Store(0) // of a survey before, which began anew
	}
	ctx, cancel := context.WithCancel(ctx)
	began := time.Now()
	var wait sync.WaitGroup
	wait.Go(func() { m.total.Store(count(ctx)) })
	wait.Go(func() {
		tick := time.NewTicker(tellEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				m.tell(policy.Progress{
					Files: m.files.Load(), TotalFiles: m.total.Load(),
					ReadBytes: m.bytes.Load(), PackedBytes: m.packed.Load(), Elapsed: time.Since(began),
				})
			}
		}
	})
	return func() {
		cancel()
		wait.Wait()
	}
}
