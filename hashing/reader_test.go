package hashing

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

var everything = Set{MD5, SHA1, SHA256, SHA512}

// openerFunc makes an Opener of a function.
type openerFunc func(path string) (File, error)

func (f openerFunc) OpenFile(path string) (File, error) { return f(path) }

// fake is a File whose bytes come from anywhere.
type fake struct {
	io.Reader
	seek   func() error
	stat   func() (fs.FileInfo, error)
	closed int
}

func (f *fake) Seek(int64, int) (int64, error) { return 0, f.seek() }
func (f *fake) Stat() (fs.FileInfo, error)     { return f.stat() }
func (f *fake) Close() error                   { f.closed++; return nil }

// inMemory returns a file that holds data and has a status. Its reader reads
// the data as wrap lets it, if that is not nil.
func inMemory(info fs.FileInfo, data []byte, wrap func(io.Reader) io.Reader) *fake {
	r := bytes.NewReader(data)
	f := &fake{
		Reader: r,
		seek:   func() error { _, err := r.Seek(0, io.SeekStart); return err },
		stat:   func() (fs.FileInfo, error) { return info, nil },
	}
	if wrap != nil {
		f.Reader = wrap(r)
	}
	return f
}

// statOf returns the status of a file that has size bytes and is old.
func statOf(t testing.TB, size int) fs.FileInfo {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, int64(size)); err != nil {
		t.Fatal(err)
	}
	old := time.Date(2020, 1, 2, 3, 4, 5, 6000, time.UTC)
	if err := os.Chtimes(name, old, old); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// newPatientReader returns a Reader for which all files are old enough.
func newPatientReader(o Opener) *Reader {
	r := NewReader(o)
	r.now = func() time.Time { return time.Now().Add(time.Hour) }
	return r
}

// readBytes reads data as a file.
func readBytes(t *testing.T, name string, data []byte, want Set) Fingerprint {
	t.Helper()
	return readWrapped(t, name, data, want, nil)
}

func readWrapped(t *testing.T, name string, data []byte, want Set, wrap func(io.Reader) io.Reader) Fingerprint {
	t.Helper()
	info := statOf(t, len(data))
	f := inMemory(info, data, wrap)
	r := newPatientReader(openerFunc(func(string) (File, error) { return f, nil }))
	fp, err := r.Read(t.Context(), Job{Path: "path", Name: name, Want: want})
	if err != nil {
		t.Fatal(err)
	}
	if f.closed != 1 {
		t.Errorf("the file was closed %d times", f.closed)
	}
	if fp.Length != int64(len(data)) {
		t.Errorf("Length = %d, want %d", fp.Length, len(data))
	}
	if fp.State != info {
		t.Errorf("State = %v, want that of the file", fp.State)
	}
	return fp
}

// hashOf returns the digests of data, without this package.
func hashOf(data []byte) resourcesync.Hash {
	return resourcesync.Hash(fmt.Sprintf("md5:%x sha-1:%x sha-256:%x sha-512:%x",
		md5.Sum(data), sha1.Sum(data), sha256.Sum256(data), sha512.Sum512(data)))
}

func TestReadVectors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		data string
		want resourcesync.Hash
	}{
		{"empty", "", "md5:d41d8cd98f00b204e9800998ecf8427e" +
			" sha-1:da39a3ee5e6b4b0d3255bfef95601890afd80709" +
			" sha-256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" +
			" sha-512:cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e"},
		{"abc", "abc", "md5:900150983cd24fb0d6963f7d28e17f72" +
			" sha-1:a9993e364706816aba3e25717850c26c9cd0d89d" +
			" sha-256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" +
			" sha-512:ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"},
		{"a million times a", strings.Repeat("a", 1_000_000), "md5:7707d6ae4e027c70eea2a935c2296f21" +
			" sha-1:34aa973cd4c4daa4f61eeb2bdbad27316534016f" +
			" sha-256:cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0" +
			" sha-512:e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973ebde0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb217ad8cc09b"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := readBytes(t, "x", []byte(test.data), everything).Hash; got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestReadLengths(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, bufferSize - 1, bufferSize, bufferSize + 1, 2 * bufferSize, 2*bufferSize + 1} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			data := randomBytes(n)
			if got, want := readBytes(t, "x", data, everything).Hash, hashOf(data); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// TestReadCalls counts how often the system is asked for bytes: once, for a
// small file.
func TestReadCalls(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{0: 1, 1: 1, 1000: 1, bufferSize: 1, bufferSize + 1: 2, 3 * bufferSize: 3} {
		calls := 0
		readWrapped(t, "x", make([]byte, n), nil, func(r io.Reader) io.Reader {
			return readerFunc(func(p []byte) (int, error) { calls++; return r.Read(p) })
		})
		if calls != want {
			t.Errorf("%d bytes took %d calls, want %d", n, calls, want)
		}
	}
}

func TestReadInPieces(t *testing.T) {
	t.Parallel()
	data := append(tarFile(t), strings.Repeat("It comes as it likes. ", 20_000)...)
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"byte by byte":           iotest.OneByteReader,
		"half of what was asked": iotest.HalfReader,
		"the end with the data":  iotest.DataErrReader,
		"now and then nothing":   func(r io.Reader) io.Reader { return &hesitant{Reader: r} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fp := readWrapped(t, "README", data, everything, wrap)
			if want := hashOf(data); fp.Hash != want {
				t.Errorf("got  %s\nwant %s", fp.Hash, want)
			}
			if fp.Type != "application/x-tar" {
				t.Errorf("Type = %q", fp.Type)
			}
		})
	}
}

// tarFile returns a file that shows what it is only after 257 bytes.
func tarFile(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := errors.Join(w.WriteHeader(&tar.Header{Name: "a", Mode: 0o644}), w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// hesitant returns nothing every other time, as a Reader may.
type hesitant struct {
	io.Reader
	calls int
}

func (h *hesitant) Read(p []byte) (int, error) {
	if h.calls++; h.calls%2 == 1 {
		return 0, nil
	}
	return h.Reader.Read(p)
}

// TestReadSets uses one Reader again and again: what it keeps from one file to
// the next must not show.
func TestReadSets(t *testing.T) {
	t.Parallel()
	files := map[string][]byte{"one": []byte("one"), "two": randomBytes(bufferSize + 7), "none": nil}
	infos := map[string]fs.FileInfo{}
	for name, data := range files {
		infos[name] = statOf(t, len(data))
	}
	r := newPatientReader(openerFunc(func(path string) (File, error) {
		return inMemory(infos[path], files[path], nil), nil
	}))
	for range 2 {
		for _, set := range []Set{{SHA256}, everything, nil, {MD5, SHA512}, {SHA1}} {
			for name, data := range files {
				fp, err := r.Read(t.Context(), Job{Path: name, Name: name, Want: set})
				if err != nil {
					t.Fatal(err)
				}
				if want, _ := set.Select(hashOf(data)); fp.Hash != want {
					t.Errorf("%s by %v: got %q, want %q", name, set, fp.Hash, want)
				}
			}
		}
	}
}

func TestReadType(t *testing.T) {
	t.Parallel()
	png := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"), make([]byte, 100)...)
	tests := []struct {
		name, file string
		data       []byte
		want       string
	}{
		{"the extension knows", "style.css", []byte("body {}"), "text/css"},
		{"the extension comes first", "style.css", png, "text/css"},
		{"the extension of an empty file", "style.css", nil, "text/css"},
		{"sniffed without extension", "picture", png, "image/png"},
		{"sniffed with an unknown extension", "picture.whatsit", png, "image/png"},
		{"sniffed past the first bytes", "archive", tarFile(t), "application/x-tar"},
		{"an empty file without extension", "empty", nil, ""},
		{"neither knows", "data", []byte("\x00\x01\x02\x03\xff\xfe\x00\x99"), ""},
		{"the first bytes of a long file decide", "picture", append(png, make([]byte, 2*bufferSize)...), "image/png"},
		{"the later bytes do not", "data", append(make([]byte, bufferSize), png...), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := readBytes(t, test.file, test.data, nil).Type; got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestReadProgressAndBegan(t *testing.T) {
	t.Parallel()
	data := randomBytes(2*bufferSize + 5)
	info := statOf(t, len(data))
	r := newPatientReader(openerFunc(func(string) (File, error) { return inMemory(info, data, nil), nil }))
	sum, calls := 0, 0
	r.Progress = func(n int) { sum += n; calls++ }
	before := r.now()
	fp, err := r.Read(t.Context(), Job{Path: "x", Name: "x", Want: Set{SHA256}})
	if err != nil {
		t.Fatal(err)
	}
	if sum != len(data) || calls < 3 {
		t.Errorf("progress was told of %d bytes in %d calls, want %d in 3 or more", sum, calls, len(data))
	}
	if fp.Began.Before(before) || fp.Began.After(r.now()) {
		t.Errorf("Began = %v, but it was called at %v", fp.Began, before)
	}
}

// moving is a real file that is changed after the first bytes of a reading.
type moving struct {
	File
	readings int
	fresh    bool
	change   func(reading int)
}

func (m *moving) Seek(offset int64, whence int) (int64, error) {
	m.fresh = true
	return m.File.Seek(offset, whence)
}

func (m *moving) Read(p []byte) (int, error) {
	n, err := m.File.Read(p)
	if m.fresh {
		m.fresh = false
		m.readings++
		m.change(m.readings)
	}
	return n, err
}

// changes are what can happen to a file while it is read, for the n-th time.
var changes = map[string]func(t *testing.T, name string, n int){
	"grows": func(t *testing.T, name string, n int) {
		f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = fmt.Fprintf(f, "more %d", n)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Error(err)
		}
	},
	"shrinks": func(t *testing.T, name string, n int) {
		if err := os.Truncate(name, int64(100-n)); err != nil {
			t.Error(err)
		}
	},
	"is emptied": func(t *testing.T, name string, n int) {
		if err := os.WriteFile(name, bytes.Repeat([]byte{byte(n)}, n-1), 0o644); err != nil {
			t.Error(err)
		}
	},
	"gets another time": func(t *testing.T, name string, n int) {
		if err := os.Chtimes(name, time.Time{}, time.Unix(1e9, int64(n))); err != nil {
			t.Error(err)
		}
	},
	"is written over": func(t *testing.T, name string, n int) {
		if err := os.WriteFile(name, bytes.Repeat([]byte{byte(n)}, 1000), 0o644); err != nil {
			t.Error(err)
		}
		// Time is one thing that shows it; a slow clock is no excuse here.
		if err := os.Chtimes(name, time.Time{}, time.Unix(2e9, int64(n))); err != nil {
			t.Error(err)
		}
	},
}

func TestReadMovingFile(t *testing.T) {
	t.Parallel()
	for what, change := range changes {
		for times := range 4 {
			t.Run(fmt.Sprintf("%s/times=%d", what, times), func(t *testing.T) {
				t.Parallel()
				testMovingFile(t, times, openFile, func(name string, n int) { change(t, name, n) })
			})
		}
	}
}

func openFile(name string) (File, error) { return os.Open(name) }

// testMovingFile reads a file that is changed so many times.
func testMovingFile(t *testing.T, times int, open func(name string) (File, error), change func(name string, n int)) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, randomBytes(1000), 0o644); err != nil {
		t.Fatal(err)
	}
	var m *moving
	r := newPatientReader(openerFunc(func(string) (File, error) {
		f, err := open(name)
		m = &moving{File: f, fresh: true, change: func(n int) {
			if n <= times {
				change(name, n)
			}
		}}
		return m, err
	}))
	fp, err := r.Read(t.Context(), Job{Path: "file", Name: "file", Want: everything})
	if want := min(times+1, readings); m.readings != want {
		t.Errorf("the file was read %d times, want %d", m.readings, want)
	}
	if times >= readings {
		if !errors.Is(err, ErrUnstable) || fp.Hash != "" {
			t.Errorf("got %v, %v, want %v", fp, err, ErrUnstable)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if fp.Hash != hashOf(data) || fp.Length != int64(len(data)) {
		t.Errorf("got %d bytes with %s\nwant %d bytes with %s", fp.Length, fp.Hash, len(data), hashOf(data))
	}
	if !sameState(fp.State, info) {
		t.Errorf("State is of %v, want %v", fp.State.ModTime(), info.ModTime())
	}
}

// TestReadEndlessFile has a file that grows faster than it can be read.
func TestReadEndlessFile(t *testing.T) {
	t.Parallel()
	for name, grow := range map[string]func(reading int) int{
		"from some bytes on":     func(reading int) int { return 1000 + reading },
		"from nothing on":        func(reading int) int { return reading },
		"but says it is nothing": func(int) int { return 0 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(nil, nil, func(io.Reader) io.Reader { return zeros{} })
			calls := 0
			f.stat = func() (fs.FileInfo, error) {
				calls++
				return statOf(t, grow(calls-1)), nil
			}
			r := newPatientReader(openerFunc(func(string) (File, error) { return f, nil }))
			read := 0
			r.Progress = func(n int) {
				if read += n; read > readings*2*bufferSize {
					panic("it reads and reads")
				}
			}
			if _, err := r.Read(t.Context(), Job{Path: "x", Name: "x", Want: Set{MD5}}); !errors.Is(err, ErrUnstable) {
				t.Errorf("got %v, want %v", err, ErrUnstable)
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestReadErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	data := randomBytes(3 * bufferSize)
	info := statOf(t, len(data))
	fails := func() error { return broken }
	brokenAfter := func(n int64) func(io.Reader) io.Reader {
		return func(r io.Reader) io.Reader {
			return io.MultiReader(io.LimitReader(r, n), iotest.ErrReader(broken))
		}
	}
	second := func(f *fake) {
		calls, stat := 0, f.stat
		f.stat = func() (fs.FileInfo, error) {
			if calls++; calls == 2 {
				return nil, broken
			}
			return stat()
		}
	}
	tests := []struct {
		name string
		wrap func(io.Reader) io.Reader
		set  func(*fake)
		want error
	}{
		{name: "at once", wrap: brokenAfter(0), want: broken},
		{name: "in the middle of the first buffer", wrap: brokenAfter(10), want: broken},
		{name: "at the end of a buffer", wrap: brokenAfter(bufferSize), want: broken},
		{name: "in the middle", wrap: brokenAfter(bufferSize + 10), want: broken},
		{name: "status before", set: func(f *fake) { f.stat = func() (fs.FileInfo, error) { return nil, broken } }, want: broken},
		{name: "status after", set: second, want: broken},
		{name: "cannot be read again", wrap: func(r io.Reader) io.Reader { return io.LimitReader(r, 10) }, set: func(f *fake) { f.seek = fails }, want: broken},
		{name: "shorter than its status says", wrap: func(r io.Reader) io.Reader { return io.LimitReader(r, 10) }, want: ErrUnstable},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(info, data, test.wrap)
			if test.set != nil {
				test.set(f)
			}
			r := newPatientReader(openerFunc(func(string) (File, error) { return f, nil }))
			fp, err := r.Read(t.Context(), Job{Path: "x", Name: "x", Want: everything})
			if !errors.Is(err, test.want) || fp != (Fingerprint{}) {
				t.Errorf("got %v, %v, want nothing and %v", fp, err, test.want)
			}
			if f.closed != 1 {
				t.Errorf("the file was closed %d times", f.closed)
			}
		})
	}
}

func TestReadNotThere(t *testing.T) {
	t.Parallel()
	root := openRoot(t, t.TempDir())
	if _, err := NewReader(RootOpener{root}).Read(t.Context(), Job{Path: "a/b", Name: "a/b", Want: everything}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want %v", err, fs.ErrNotExist)
	}
}

func openRoot(t testing.TB, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

func TestReadDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "file"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := newPatientReader(RootOpener{openRoot(t, dir)}).Read(t.Context(), Job{Path: "file", Name: "file", Want: everything}); !errors.Is(err, ErrNotRegular) {
		t.Errorf("got %v, want %v", err, ErrNotRegular)
	}
}

func TestReadCanceled(t *testing.T) {
	t.Parallel()
	stop := errors.New("stopped by hand")
	data := randomBytes(8 * bufferSize)
	info := statOf(t, len(data))
	for _, buffers := range []int{0, 1, 3} {
		t.Run(fmt.Sprintf("buffers=%d", buffers), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			f := inMemory(info, data, nil)
			r := newPatientReader(openerFunc(func(string) (File, error) { return f, nil }))
			read := 0
			r.Progress = func(n int) {
				if read += n; read == buffers*bufferSize {
					cancel(stop)
				}
			}
			if buffers == 0 {
				cancel(stop)
			}
			fp, err := r.Read(ctx, Job{Path: "x", Name: "x", Want: everything})
			if !errors.Is(err, stop) || fp != (Fingerprint{}) {
				t.Errorf("got %v, %v, want %v", fp, err, stop)
			}
			if read != buffers*bufferSize || f.closed != 1 {
				t.Errorf("%d bytes were read, want %d; the file was closed %d times", read, buffers*bufferSize, f.closed)
			}
		})
	}
}

// dated is the status of a file of which only the time matters.
type dated struct {
	fs.FileInfo
	modified time.Time
	sys      any
}

func (d dated) ModTime() time.Time { return d.modified }
func (d dated) Sys() any           { return d.sys }

func TestSettle(t *testing.T) {
	t.Parallel()
	// The clock of a bubble starts on a whole second.
	tests := []struct {
		name string
		age  time.Duration
		want time.Duration
	}{
		{"long ago", 1000 * time.Hour, 0},
		{"a second and a bit ago", time.Second + time.Microsecond, 0},
		{"as long as a tick ago", tick, 0},
		{"less than a tick ago", tick - time.Microsecond, time.Microsecond},
		{"just now", time.Microsecond, tick - time.Microsecond},
		{"in the future", -time.Microsecond, 0},
		{"far in the future", -1000 * time.Hour, 0},
		{"this whole second", 0, coarseTick},
		{"the last whole second", time.Second, coarseTick - time.Second},
		{"two whole seconds ago", coarseTick, 0},
		{"a whole second in the future", -time.Second, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := NewReader(nil)
				start := time.Now()
				if err := r.settle(t.Context(), dated{modified: start.Add(-test.age)}); err != nil {
					t.Fatal(err)
				}
				if got := time.Since(start); got != test.want {
					t.Errorf("waited for %v, want %v", got, test.want)
				}
			})
		})
	}
}

func TestSettleCanceled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stop := errors.New("stopped by hand")
		ctx, cancel := context.WithCancelCause(t.Context())
		start := time.Now()
		time.AfterFunc(time.Millisecond, func() { cancel(stop) })
		err := NewReader(nil).settle(ctx, dated{modified: start})
		if got := time.Since(start); !errors.Is(err, stop) || got != time.Millisecond {
			t.Errorf("got %v after %v, want %v after a millisecond", err, got, stop)
		}
	})
}

// TestReadSettles sees to it that a file is read after the wait, not before.
func TestReadSettles(t *testing.T) {
	t.Parallel()
	info := statOf(t, 3)
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var at time.Duration
		f := inMemory(info, []byte("abc"), func(r io.Reader) io.Reader {
			return readerFunc(func(p []byte) (int, error) { at = time.Since(start); return r.Read(p) })
		})
		r := NewReader(openerFunc(func(string) (File, error) { return f, nil }))
		changed := info.ModTime()
		if c := changeTime(info); c.After(changed) {
			changed = c
		}
		r.now = func() time.Time { return changed.Add(5*time.Millisecond + time.Since(start)) }
		fp, err := r.Read(t.Context(), Job{Path: "x", Name: "x", Want: nil})
		if err != nil {
			t.Fatal(err)
		}
		if want := tick - 5*time.Millisecond; at != want || fp.Began.Sub(changed) != tick {
			t.Errorf("read after %v, began %v after the change; want %v and %v", at, fp.Began.Sub(changed), want, tick)
		}
	})
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
