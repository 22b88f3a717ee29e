package survey

import (
	"container/heap"
	"context"
	"iter"

	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
)

// Prior is a resource as it was published: in which sets, and how.
type Prior struct {
	uri string
	In  []Published
}

// Loc returns the URI of the resource.
func (p *Prior) Loc() string { return p.uri }

// Published is what was published of a resource in a set.
type Published struct {
	Set *last.Set
	*snapshot.Previous
}

// Before yields what was published in all sets, in the order of URIs. The iterator reuses
// each item.
func Before(ctx context.Context, sets []*last.Set) iter.Seq2[*Prior, error] {
	var known []*last.Set
	for _, set := range sets {
		if !set.IsFirst() {
			known = append(known, set)
		}
	}
	many := len(sets) > ManySets
	if len(known) == 1 {
		return priors(ctx, known[0], many)
	}
	return func(yield func(*Prior, error) bool) { mergePriors(ctx, known, many, yield) }
}

// priors yields what was published in one set.
func priors(ctx context.Context, s *last.Set, many bool) iter.Seq2[*Prior, error] {
	return func(yield func(*Prior, error) bool) {
		p := &Prior{In: []Published{{Set: s}}}
		for b, err := range resources(ctx, s, many) {
			if err != nil {
				yield(nil, s.Failed(err))
				return
			}
			p.uri, p.In[0].Previous = b.Loc, b
			if !yield(p, nil) {
				return
			}
		}
	}
}

// ManySets is from where on lists are not read ahead, each with memory for that, and
// are opened only where it is their turn.
const ManySets = 16

func resources(ctx context.Context, s *last.Set, many bool) iter.Seq2[*snapshot.Previous, error] {
	if many {
		return s.Snapshot.Resources(ctx)
	}
	return ahead(ctx, s.Snapshot.Resources)
}

// mergePriors joins the streams of several sets.
func mergePriors(ctx context.Context, sets []*last.Set, many bool, yield func(*Prior, error) bool) {
	var h priorHeap
	for _, set := range sets {
		s := &priorStream{ctx: ctx, set: set, many: many}
		defer s.close()
		if ok, err := s.first(); err != nil {
			yield(nil, err)
			return
		} else if ok {
			h = append(h, s)
		}
	}
	heap.Init(&h)
	var at []*priorStream // where the resource stands that is yielded
	p := &Prior{}
	for len(h) > 0 || len(at) > 0 {
		for _, s := range at {
			if ok, err := s.next(); err != nil {
				yield(nil, err)
				return
			} else if ok {
				heap.Push(&h, s)
			}
		}
		at, p.In = at[:0], p.In[:0]
		for len(h) > 0 && (len(at) == 0 || h[0].current.Loc == p.uri) {
			s := heap.Pop(&h).(*priorStream)
			at, p.In, p.uri = append(at, s), append(p.In, Published{s.set, s.current}), s.current.Loc
		}
		if len(at) > 0 && !yield(p, nil) {
			return
		}
	}
}

// priorStream is what was published in one set, and where its reading is.
type priorStream struct {
	ctx     context.Context // of the merge, whose part the stream is
	set     *last.Set
	many    bool // streams, so that few can be open
	pull    func() (*snapshot.Previous, error, bool)
	stop    func()
	current *snapshot.Previous
}

// first goes to the first resource. Where there are many sets, the stream is closed
// again until that has its turn.
func (s *priorStream) first() (ok bool, err error) {
	s.open()
	if s.current, err, ok = s.pull(); ok && s.many {
		first := *s.current
		s.current = &first
		s.close()
	}
	return ok, s.set.Failed(err)
}

// next goes to the next resource.
func (s *priorStream) next() (ok bool, err error) {
	if s.pull == nil {
		s.open()
		if _, err, _ := s.pull(); err != nil { // the first one has been
			return false, s.set.Failed(err)
		}
	}
	if s.current, err, ok = s.pull(); !ok {
		s.close()
	}
	return ok, s.set.Failed(err)
}

func (s *priorStream) open() { s.pull, s.stop = iter.Pull2(resources(s.ctx, s.set, s.many)) }

func (s *priorStream) close() {
	if s.stop != nil {
		s.stop()
	}
	s.pull, s.stop = nil, nil
}

// priorHeap has the stream with the first URI on top, and among those that of the
// first set.
type priorHeap []*priorStream

func (h priorHeap) Len() int { return len(h) }
func (h priorHeap) Less(i, j int) bool {
	if h[i].current.Loc != h[j].current.Loc {
		return h[i].current.Loc < h[j].current.Loc
	}
	return h[i].set.Number < h[j].set.Number
}
func (h priorHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *priorHeap) Push(x any)   { *h = append(*h, x.(*priorStream)) }
func (h *priorHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
