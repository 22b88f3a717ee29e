package snapshot

import "iter"

// Pair is a resource as it was published before, as it is now, or both.
type Pair[T any] struct {
	Before    Previous
	After     T
	HasBefore bool
	HasAfter  bool
}

// Merge joins two streams that are in the byte order of their URIs, each
// without duplicates. It holds one item of each. The first error of either is
// yielded last.
func Merge[T any](before iter.Seq2[Previous, error], after iter.Seq2[T, error], uri func(*T) string) iter.Seq2[Pair[T], error] {
	return func(yield func(Pair[T], error) bool) {
		next, stop := iter.Pull2(before)
		defer stop()
		b, err, hasBefore := next()
		for a, errAfter := range after {
			if errAfter != nil {
				yield(Pair[T]{}, errAfter)
				return
			}
			key := uri(&a)
			for hasBefore && err == nil && b.Loc < key {
				if !yield(Pair[T]{Before: b, HasBefore: true}, nil) {
					return
				}
				b, err, hasBefore = next()
			}
			if err != nil {
				yield(Pair[T]{}, err)
				return
			}
			p := Pair[T]{After: a, HasAfter: true}
			if hasBefore && b.Loc == key {
				p.Before, p.HasBefore = b, true
				b, err, hasBefore = next()
			}
			if !yield(p, nil) {
				return
			}
		}
		for ; hasBefore && err == nil; b, err, hasBefore = next() {
			if !yield(Pair[T]{Before: b, HasBefore: true}, nil) {
				return
			}
		}
		if err != nil {
			yield(Pair[T]{}, err)
		}
	}
}
