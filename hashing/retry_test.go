package hashing

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
)

// failing opens a file after it has failed so many times.
type failing struct {
	Opener
	times int
	err   error
	calls int
}

func (f *failing) OpenFile(path string) (File, error) {
	if f.calls++; f.calls <= f.times {
		return nil, &fs.PathError{Op: "open", Path: path, Err: f.err}
	}
	return f.Opener.OpenFile(path)
}

func TestRetries(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		err   error
		times int
		want  int // calls
		fails bool
	}{
		{name: "a disk that fails once", err: syscall.EIO, times: 1, want: 2},
		{name: "a disk that fails twice", err: syscall.EIO, times: 2, want: 2, fails: true},
		{name: "too many files for a while", err: syscall.EMFILE, times: 7, want: 8},
		{name: "too many files for good", err: syscall.ENFILE, times: 1000, want: fullWaits + 1, fails: true},
		{name: "no permission", err: syscall.EACCES, times: 1, want: 1, fails: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			info := statOf(t, 3)
			opener := openerFunc(func(string) (File, error) { return inMemory(info, []byte("abc"), nil), nil })
			synctest.Test(t, func(t *testing.T) {
				f := &failing{Opener: opener, times: tt.times, err: tt.err}
				fp, err := NewReader(f).read(t.Context(), Job{Path: "x", Name: "x", Want: Set{MD5}})
				if f.calls != tt.want || tt.fails != errors.Is(err, tt.err) {
					t.Errorf("%d calls, %v", f.calls, err)
				}
				if !tt.fails && !strings.HasPrefix(string(fp.Hash), "md5:900150983cd24fb0") {
					t.Errorf("got %s", fp.Hash)
				}
			})
		})
	}
}
