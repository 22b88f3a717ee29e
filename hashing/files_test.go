package hashing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// All tests of Files run in a bubble of testing/synctest: slow files cost no
// time, and a goroutine that is left behind fails the test.

// shelf opens files that are all as long as their paths, which they hold.
type shelf struct {
	info  fs.FileInfo
	delay func(path string) time.Duration // of the reading, if not nil
	fail  func(path string) error         // of the opening, if not nil

	opened, open atomic.Int64
}

const pathLength = 8

func newShelf(t testing.TB) *shelf { return &shelf{info: statOf(t, pathLength)} }

func pathOf(i int) string { return fmt.Sprintf("%0*d", pathLength, i) }

func (s *shelf) OpenFile(path string) (File, error) {
	s.opened.Add(1)
	if s.fail != nil {
		if err := s.fail(path); err != nil {
			return nil, err
		}
	}
	s.open.Add(1)
	f := &shelved{fake: inMemory(s.info, []byte(path), nil), shelf: s}
	if s.delay != nil {
		f.Reader = readerFunc(func(p []byte) (int, error) {
			n, err := f.fake.Reader.Read(p)
			if err == nil {
				time.Sleep(s.delay(path))
			}
			return n, err
		})
	}
	return f, nil
}

type shelved struct {
	*fake
	io.Reader
	shelf *shelf
}

func (f *shelved) Read(p []byte) (int, error) {
	if f.Reader != nil {
		return f.Reader.Read(p)
	}
	return f.fake.Read(p)
}

func (f *shelved) Close() error {
	f.shelf.open.Add(-1)
	return f.fake.Close()
}

// numbers yields 0 to n-1, and then err if there is one.
func numbers(n int, err error) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for i := range n {
			if !yield(i, nil) {
				return
			}
		}
		if err != nil {
			yield(-1, err)
		}
	}
}

// every returns a job for each item of which n is a divisor; for none if n is 0.
func every(n int) func(*int) (Job, bool) {
	return func(i *int) (Job, bool) {
		return Job{Path: pathOf(*i), Name: pathOf(*i), Want: Set{SHA256}}, n > 0 && *i%n == 0
	}
}

// checkResult fails if a result is not that of the file which the item names.
func checkResult(t *testing.T, r Result[int], i int, read bool, want error) {
	t.Helper()
	if r.Item != i || r.Read != read || !errors.Is(r.Err, want) {
		t.Fatalf("item %d: got item %d, read: %t, error: %v; want read: %t, error: %v", i, r.Item, r.Read, r.Err, read, want)
	}
	hash, _ := Set{SHA256}.Select(hashOf([]byte(pathOf(i))))
	if !read || want != nil {
		hash = ""
	}
	if r.Fingerprint.Hash != hash {
		t.Fatalf("item %d: got digest %q, want %q", i, r.Fingerprint.Hash, hash)
	}
}

func TestFilesOrder(t *testing.T) {
	t.Parallel()
	const n = 3*Window + 17
	broken := errors.New("broken")
	delays := map[string]func(*rand.Rand) time.Duration{
		"at once": func(*rand.Rand) time.Duration { return 0 },
		"slow and fast": func(r *rand.Rand) time.Duration {
			if r.IntN(50) == 0 {
				return time.Duration(r.IntN(1000)) * time.Millisecond
			}
			return time.Duration(r.IntN(3))
		},
	}
	for name, delay := range delays {
		for _, workers := range []int{-1, 0, 1, 8} {
			for _, share := range []int{0, 1, 50, 99, 100} { // per cent with a job
				t.Run(fmt.Sprintf("%s/workers=%d/jobs=%d", name, workers, share), func(t *testing.T) {
					t.Parallel()
					r := rand.New(rand.NewPCG(1, 2))
					read, fails, wait := make([]bool, n), map[string]error{}, map[string]time.Duration{}
					for i := range n {
						read[i] = r.IntN(100) < share
						wait[pathOf(i)] = delay(r)
						if r.IntN(20) == 0 {
							fails[pathOf(i)] = broken
						}
					}
					s := newShelf(t)
					s.delay = func(path string) time.Duration { return wait[path] }
					s.fail = func(path string) error { return fails[path] }
					synctest.Test(t, func(t *testing.T) {
						next := 0
						pool := Pool{Opener: s, Workers: workers}
						for result, err := range Files(t.Context(), pool, numbers(n, nil), func(i *int) (Job, bool) {
							j, _ := every(1)(i)
							return j, read[*i]
						}) {
							if err != nil {
								t.Fatal(err)
							}
							want := fails[pathOf(next)]
							if !read[next] {
								want = nil
							}
							checkResult(t, result, next, read[next], want)
							next++
						}
						if next != n || s.open.Load() != 0 {
							t.Errorf("%d of %d items came, %d files are open", next, n, s.open.Load())
						}
					})
				})
			}
		}
	}
}

// TestFilesParallel sees to it that workers work at the same time.
func TestFilesParallel(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.delay = func(string) time.Duration { return time.Second }
	for _, workers := range []int{1, 8} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			for _, err := range Files(t.Context(), Pool{Opener: s, Workers: workers}, numbers(80, nil), every(1)) {
				if err != nil {
					t.Fatal(err)
				}
			}
			if got, want := time.Since(start), time.Duration(80/workers)*time.Second; got != want {
				t.Errorf("%d workers took %v, want %v", workers, got, want)
			}
		})
	}
}

// TestFilesGoesOn has slow files before, in and after a full Window: to make
// room for one item, it must not wait for them all.
func TestFilesGoesOn(t *testing.T) {
	t.Parallel()
	slow := map[string]time.Duration{
		pathOf(0):          time.Second,
		pathOf(Window - 1): 10 * time.Second,
		pathOf(Window + 1): 10 * time.Second,
	}
	s := newShelf(t)
	s.delay = func(path string) time.Duration { return slow[path] }
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		for _, err := range Files(t.Context(), Pool{Opener: s, Workers: 2}, numbers(2*Window, nil), every(1)) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if got := time.Since(start); got != 11*time.Second {
			t.Errorf("it took %v, want 11s", got)
		}
	})
}

func TestFilesErrorOfItems(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, n := range []int{0, 1, 100, Window, 2*Window + 1} {
		for _, jobs := range []int{0, 1, 7} {
			t.Run(fmt.Sprintf("items=%d/jobs=%d", n, jobs), func(t *testing.T) {
				t.Parallel()
				s := newShelf(t)
				s.delay = func(string) time.Duration { return time.Second }
				synctest.Test(t, func(t *testing.T) {
					next, ended := 0, 0
					for result, err := range Files(t.Context(), Pool{Opener: s, Workers: 4}, numbers(n, broken), every(jobs)) {
						if err != nil {
							ended++
							if err != broken || result != (Result[int]{}) || next != n {
								t.Errorf("after %d of %d items: got %v, %v", next, n, result, err)
							}
							continue
						}
						checkResult(t, result, next, jobs > 0 && next%jobs == 0, nil)
						next++
					}
					if ended != 1 {
						t.Errorf("the error came %d times", ended)
					}
				})
			})
		}
	}
}

// TestFilesStop has a consumer that has had enough, at many places.
func TestFilesStop(t *testing.T) {
	t.Parallel()
	const workers = 4
	for _, jobs := range []int{0, 1, 3} {
		for _, after := range []int{1, 2, 10, Window - 1, Window, Window + 1, 2 * Window, 3*Window - 1, 3 * Window} {
			for _, end := range []error{nil, errors.New("broken")} {
				t.Run(fmt.Sprintf("jobs=%d/after=%d/error=%v", jobs, after, end), func(t *testing.T) {
					t.Parallel()
					s := newShelf(t)
					s.delay = func(string) time.Duration { return time.Second }
					synctest.Test(t, func(t *testing.T) {
						got := 0
						var opened int64
						for _, err := range Files(t.Context(), Pool{Opener: s, Workers: workers}, numbers(3*Window, end), every(jobs)) {
							if err != nil {
								t.Fatal(err)
							}
							if got++; got == after {
								opened = s.opened.Load()
								break
							}
						}
						if s.open.Load() != 0 {
							t.Errorf("%d files are still open", s.open.Load())
						}
						if more := s.opened.Load() - opened; more > workers {
							t.Errorf("%d more files were opened after the end", more)
						}
						synctest.Wait() // what is left now is left for ever, and fails the test
					})
				})
			}
		}
	}
}

// TestFilesPanic sees to it that no worker goes on when the consumer panics.
func TestFilesPanic(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.delay = func(string) time.Duration { return time.Second }
	synctest.Test(t, func(t *testing.T) {
		defer func() {
			if recover() == nil || s.open.Load() != 0 {
				t.Errorf("it did not panic, or one of %d files is still open", s.open.Load())
			}
		}()
		for range Files(t.Context(), Pool{Opener: s, Workers: 4}, numbers(100, nil), every(1)) {
			panic("no more")
		}
	})
}

func TestFilesCanceled(t *testing.T) {
	t.Parallel()
	stop := errors.New("stopped by hand")
	const n, workers = 2 * Window, 4
	for _, after := range []int{0, 1, 100} {
		t.Run(fmt.Sprintf("after=%d", after), func(t *testing.T) {
			t.Parallel()
			s := newShelf(t)
			s.delay = func(string) time.Duration { return time.Second }
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if after == 0 {
					cancel(stop)
				}
				var opened int64
				next, failed := 0, 0
				for result, err := range Files(ctx, Pool{Opener: s, Workers: workers}, numbers(n, nil), every(1)) {
					if err != nil {
						t.Fatal(err)
					}
					if result.Err != nil {
						failed++
					}
					if result.Item != next || result.Err != nil && !errors.Is(result.Err, stop) {
						t.Fatalf("item %d: got item %d, %v", next, result.Item, result.Err)
					}
					if next++; next == after {
						opened = s.opened.Load()
						cancel(stop)
					}
				}
				// Those of which the bytes had been read may still come out whole.
				if next != n || failed < n-after-2*workers {
					t.Errorf("%d of %d items came, %d of them failed", next, n, failed)
				}
				if more := s.opened.Load() - opened; more > workers {
					t.Errorf("%d more files were opened after the end", more)
				}
			})
		})
	}
}

// TestFilesWindow holds the first file back: the items that are read ahead of
// it are as many as the Window says.
func TestFilesWindow(t *testing.T) {
	t.Parallel()
	for _, jobs := range []int{1, 2 * Window} { // all; just the first
		t.Run(fmt.Sprintf("jobs=%d", jobs), func(t *testing.T) {
			t.Parallel()
			s := newShelf(t)
			s.delay = func(path string) time.Duration {
				if path == pathOf(0) {
					return time.Hour
				}
				return 0
			}
			synctest.Test(t, func(t *testing.T) {
				var produced atomic.Int64
				items := func(yield func(int, error) bool) {
					for i := range 4 * Window {
						produced.Store(int64(i + 1))
						if !yield(i, nil) {
							return
						}
					}
				}
				start, next := time.Now(), 0
				for result, err := range Files(t.Context(), Pool{Opener: s, Workers: 4}, items, every(jobs)) {
					if err != nil {
						t.Fatal(err)
					}
					checkResult(t, result, next, next%jobs == 0, nil)
					next++
					// The item in hand makes one more.
					if ahead := int(produced.Load()) - next; ahead > Window {
						t.Fatalf("after %d items, the stream is %d items ahead", next, ahead)
					}
					if next == 1 && produced.Load() < Window {
						t.Errorf("only %d items were on their way behind a slow one", produced.Load())
					}
				}
				if got := time.Since(start); next != 4*Window || got != time.Hour {
					t.Errorf("%d items came within %v", next, got)
				}
			})
		})
	}
}

// TestFilesPassThrough sees to it that an item that is not read comes out before
// the next is asked for, as long as there is nothing to wait for.
func TestFilesPassThrough(t *testing.T) {
	t.Parallel()
	asked := 0
	items := func(yield func(int, error) bool) {
		for asked = 1; yield(asked, nil) && asked < 100; asked++ {
		}
	}
	for result := range Files(t.Context(), Pool{}, items, every(0)) {
		if result.Item != asked {
			t.Fatalf("item %d came when %d was asked for", result.Item, asked)
		}
	}
	if asked != 100 {
		t.Errorf("%d of 100 items came", asked)
	}
}

// TestFilesSoon sees to it that what has been read comes out with the next item,
// even if that takes its time, and with it what had to wait behind it.
func TestFilesSoon(t *testing.T) {
	t.Parallel()
	for _, jobs := range []int{1, 3} {
		s := newShelf(t)
		synctest.Test(t, func(t *testing.T) {
			asked, got := 0, 0
			items := func(yield func(int, error) bool) {
				for i := range 100 {
					time.Sleep(time.Second) // by then, all that was asked for has been read
					if asked = i + 1; !yield(i, nil) {
						return
					}
					if got < asked-1 {
						t.Fatalf("%d items were asked for, %d came", asked, got)
					}
				}
			}
			for range Files(t.Context(), Pool{Opener: s, Workers: 2}, items, every(jobs)) {
				got++
			}
			if got != 100 {
				t.Errorf("%d of 100 items came", got)
			}
		})
	}
}

func TestFilesNotBefore(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		after := []time.Duration{0, 2 * time.Second, time.Second, -time.Hour}
		job := func(i *int) (Job, bool) {
			return Job{Path: pathOf(*i), Want: Set{SHA256}, NotBefore: start.Add(after[*i])}, true
		}
		var began []time.Duration
		for result, err := range Files(t.Context(), Pool{Opener: s, Workers: 4}, numbers(len(after), nil), job) {
			if err != nil || result.Err != nil {
				t.Fatal(err, result.Err)
			}
			began = append(began, result.Fingerprint.Began.Sub(start))
		}
		if want := []time.Duration{0, 2 * time.Second, time.Second, 0}; !slices.Equal(began, want) {
			t.Errorf("the readings began after %v, want %v", began, want)
		}
	})
}

// TestFilesStopDoesNotWait stops while workers wait for the time to begin.
func TestFilesStopDoesNotWait(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		job := func(i *int) (Job, bool) {
			j := Job{Path: pathOf(*i)}
			if *i > 0 {
				j.NotBefore = start.Add(time.Hour)
			}
			return j, true
		}
		for range Files(t.Context(), Pool{Opener: s, Workers: 2}, numbers(100, nil), job) {
			break
		}
		if time.Since(start) != 0 || s.opened.Load() != 1 {
			t.Errorf("it took %v, and %d files were opened", time.Since(start), s.opened.Load())
		}
	})
}

func TestFilesProgress(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	synctest.Test(t, func(t *testing.T) {
		var sum atomic.Int64
		pool := Pool{Opener: s, Workers: 8, Progress: func(n int) { sum.Add(int64(n)) }}
		for result, err := range Files(t.Context(), pool, numbers(3000, nil), every(3)) {
			if err != nil || result.Err != nil {
				t.Fatal(err, result.Err)
			}
		}
		if got, want := sum.Load(), int64(1000*pathLength); got != want {
			t.Errorf("progress was told of %d bytes, want %d", got, want)
		}
	})
}

// TestFilesItem sees to it that job may change an item, which then is what
// comes out.
func TestFilesItem(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	synctest.Test(t, func(t *testing.T) {
		job := func(i *int) (Job, bool) {
			j, read := every(2)(i)
			*i += 1000
			return j, read
		}
		next := 1000
		for result := range Files(t.Context(), Pool{Opener: s, Workers: 2}, numbers(10, nil), job) {
			if result.Item != next {
				t.Errorf("got %d, want %d", result.Item, next)
			}
			next++
		}
	})
}
