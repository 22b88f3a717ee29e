package generator

import (
	"container/heap"
	"context"
	"iter"

	"github.com/wellspring-sync/wellspring/internal/snapshot"
)

// prior is a resource as it was published: in which sets, and how.
type prior struct {
	uri string
	in  []published
}

// loc returns the URI of the resource.
func (p *prior) loc() string { return p.uri }

type published struct {
	set *resourceSet
	*snapshot.Previous
}

// before yields what was published in all sets, in the order of URIs. Each is valid
// until the next.
func (r *run) before(ctx context.Context) iter.Seq2[*prior, error] {
	var known []*resourceSet
	for _, set := range r.sets {
		if !set.isFirst() {
			known = append(known, set)
		}
	}
	if len(known) == 1 {
		return known[0].priors(ctx)
	}
	return func(yield func(*prior, error) bool) { mergePriors(ctx, known, yield) }
}

// priors yields what was published in one set.
func (r *resourceSet) priors(ctx context.Context) iter.Seq2[*prior, error] {
	return func(yield func(*prior, error) bool) {
		p := &prior{in: []published{{set: r}}}
		for b, err := range r.resources(ctx) {
			if err != nil {
				yield(nil, r.failed(err))
				return
			}
			p.uri, p.in[0].Previous = b.Loc, b
			if !yield(p, nil) {
				return
			}
		}
	}
}

// manySets is from where on lists are not read ahead, each with memory for that, and
// are opened only where it is their turn.
const manySets = 16

func (r *resourceSet) resources(ctx context.Context) iter.Seq2[*snapshot.Previous, error] {
	if len(r.sets) > manySets {
		return r.prev.snapshot.Resources(ctx)
	}
	return ahead(ctx, r.prev.snapshot.Resources)
}

// mergePriors joins the streams of several sets.
func mergePriors(ctx context.Context, sets []*resourceSet, yield func(*prior, error) bool) {
	var h priorHeap
	for _, set := range sets {
		s := &priorStream{ctx: ctx, set: set}
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
	p := &prior{}
	for len(h) > 0 || len(at) > 0 {
		for _, s := range at {
			if ok, err := s.next(); err != nil {
				yield(nil, err)
				return
			} else if ok {
				heap.Push(&h, s)
			}
		}
		at, p.in = at[:0], p.in[:0]
		for len(h) > 0 && (len(at) == 0 || h[0].current.Loc == p.uri) {
			s := heap.Pop(&h).(*priorStream)
			at, p.in, p.uri = append(at, s), append(p.in, published{s.set, s.current}), s.current.Loc
		}
		if len(at) > 0 && !yield(p, nil) {
			return
		}
	}
}

// priorStream is what was published in one set, and where its reading is.
type priorStream struct {
	ctx     context.Context // of the merge, whose part the stream is
	set     *resourceSet
	pull    func() (*snapshot.Previous, error, bool)
	stop    func()
	current *snapshot.Previous
}

// first goes to the first resource. Where there are many sets, the stream is closed
// again until that has its turn.
func (s *priorStream) first() (ok bool, err error) {
	s.open()
	if s.current, err, ok = s.pull(); ok && len(s.set.sets) > manySets {
		first := *s.current
		s.current = &first
		s.close()
	}
	return ok, s.set.failed(err)
}

// next goes to the next resource.
func (s *priorStream) next() (ok bool, err error) {
	if s.pull == nil {
		s.open()
		if _, err, _ := s.pull(); err != nil { // the first one has been
			return false, s.set.failed(err)
		}
	}
	if s.current, err, ok = s.pull(); !ok {
		s.close()
	}
	return ok, s.set.failed(err)
}

func (s *priorStream) open() { s.pull, s.stop = iter.Pull2(s.set.resources(s.ctx)) }

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
	return h[i].set.number < h[j].set.number
}
func (h priorHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *priorHeap) Push(x any)   { *h = append(*h, x.(*priorStream)) }
func (h *priorHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
