package watch

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestCalls hints at some times, and sees when calls are made.
func TestCalls(t *testing.T) {
	t.Parallel()
	const s = time.Second
	steady := func(from, to, step time.Duration) (list []time.Duration) {
		for at := from; at < to; at += step {
			list = append(list, at)
		}
		return list
	}
	for _, test := range []struct {
		name  string
		hints []time.Duration
		takes time.Duration // of each call
		again int           // first calls that want to be called again
		want  []time.Duration
	}{
		{"nothing changes", []time.Duration{0}, s, 0, []time.Duration{0}},
		{"one change", []time.Duration{0, 10 * s}, s, 0, []time.Duration{0, 12 * s}},
		{"a burst", []time.Duration{0, 10 * s, 11 * s, 12 * s, 12500 * time.Millisecond}, 0, 0, []time.Duration{0, 14500 * time.Millisecond}},
		{"two bursts", []time.Duration{0, 10 * s, 11 * s, 20 * s}, 0, 0, []time.Duration{0, 13 * s, 22 * s}},
		{"no end", append([]time.Duration{0}, steady(10*s, 95*s, 1300*time.Millisecond)...), 0, 0, []time.Duration{0, 40 * s, 71200 * time.Millisecond, 96500 * time.Millisecond}},
		{"during a call", []time.Duration{0, 1 * s, 2 * s, 3 * s}, 10 * s, 0, []time.Duration{0, 12 * s}},
		{"just after a call began", []time.Duration{0, 10 * s, 12 * s}, 5 * s, 0, []time.Duration{0, 12 * s, 19 * s}},
		{"again", []time.Duration{0}, s, 2, []time.Duration{0, 31 * s, 62 * s}},
		{"a change before again", []time.Duration{0, 10 * s}, 0, 1, []time.Duration{0, 12 * s}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := Options{}
				o.applyDefaults()
				w := &observer{o: &o, hints: make(chan struct{}, 1)}
				begin := time.Now()
				for _, at := range test.hints {
					time.AfterFunc(at, w.hint)
				}
				end := errors.New("the end")
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(200*s, func() { cancel(end) })
				var got []time.Duration
				err := o.call(ctx, w.hints, func(context.Context) error {
					got = append(got, time.Since(begin))
					time.Sleep(test.takes)
					if len(got) <= test.again {
						return ErrAgain
					}
					return nil
				})
				if err != end {
					t.Errorf("it ended with %v", err)
				}
				if !slices.Equal(got, test.want) {
					t.Errorf("called at %v, want %v", got, test.want)
				}
			})
		})
	}
}

func TestErrorEnds(t *testing.T) {
	t.Parallel()
	want := errors.New("no more")
	err := Watch(t.Context(), Options{Root: t.TempDir()}, func(context.Context) error { return want })
	if err != want {
		t.Errorf("got %v", err)
	}
}

func TestEndsWhileSettling(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := Options{}
		o.applyDefaults()
		hints := make(chan struct{}, 1)
		hints <- struct{}{}
		want := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		err := o.call(ctx, hints, func(context.Context) error {
			hints <- struct{}{}
			time.AfterFunc(time.Second, func() { cancel(want) })
			return nil
		})
		if err != want {
			t.Errorf("got %v", err)
		}
	})
}
