package snapshot

import "iter"

// Pair is a resource as it was published before, as it is now, or both; the
// other one is nil.
type Pair[B, A any] struct {
	Before *B
	After  *A
}

// Merge joins two streams that are in the byte order of their URIs, each
// without duplicates. A pair is valid until the next; so the items of both
// streams have to be. The first error of either is yielded last.
func Merge[B, A any](before iter.Seq2[*B, error], after iter.Seq2[*A, error], uriBefore func(*B) string, uriAfter func(*A) string) iter.Seq2[Pair[B, A], error] {
	return func(yield func(Pair[B, A], error) bool) {
		next, stop := iter.Pull2(before)
		defer stop()
		b, err, ok := next()
		for a, errAfter := range after {
			if errAfter != nil {
				yield(Pair[B, A]{}, errAfter)
				return
			}
			key := uriAfter(a)
			for ok && err == nil && uriBefore(b) < key {
				if !yield(Pair[B, A]{Before: b}, nil) {
					return
				}
				b, err, ok = next()
			}
			if err != nil {
				yield(Pair[B, A]{}, err)
				return
			}
			p := Pair[B, A]{After: a}
			if ok && uriBefore(b) == key {
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
			if !yield(Pair[B, A]{Before: b}, nil) {
				return
			}
		}
		if err != nil {
			yield(Pair[B, A]{}, err)
		}
	}
}
