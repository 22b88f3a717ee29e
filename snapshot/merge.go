package snapshot

import "iter"

// Pair is a resource as it was published before, as it is now, or both; the
// other one is nil.
type Pair[T any] struct {
	Before *Previous
	After  *T
}

// Merge joins two streams that are in the byte order of their URIs, each
// without duplicates. A pair is valid until the next; so the items of both
// streams have to be. The first error of either is yielded last.
func Merge[T any](before iter.Seq2[*Previous, error], after iter.Seq2[*T, error], uri func(*T) string) iter.Seq2[Pair[T], error] {
	return func(yield func(Pair[T], error) bool) {
		next, stop := iter.Pull2(before)
		defer stop()
		b, err, ok := next()
		for a, errAfter := range after {
			if errAfter != nil {
				yield(Pair[T]{}, errAfter)
				return
			}
			key := uri(a)
			for ok && err == nil && b.Loc < key {
				if !yield(Pair[T]{Before: b}, nil) {
					return
				}
				b, err, ok = next()
			}
			if err != nil {
				yield(Pair[T]{}, err)
				return
			}
			p := Pair[T]{After: a}
			if ok && b.Loc == key {
				p.Before = b
			}
			if !yield(p, nil) {
				return
			}
			if p.Before != nil {
				b, err, ok = next()
			}
		}
		for ; ok && err == nil; b, err, ok = next() {
			if !yield(Pair[T]{Before: b}, nil) {
				return
			}
		}
		if err != nil {
			yield(Pair[T]{}, err)
		}
	}
}
