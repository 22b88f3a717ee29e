package hashing

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"testing"
)

// copied is a Copy that remembers what it was told.
type copied struct {
	bytes.Buffer
	said  []string
	begun int
	ended bool
	fail  string // the call that fails
	fp    Fingerprint
}

var errFull = errors.New("full")

func (c *copied) Begin(mediaType string, length int64) {
	c.begun++
	c.said = append(c.said, fmt.Sprintf("%s of %d", mediaType, length))
	c.Reset()
}

func (c *copied) Write(p []byte) (int, error) {
	if c.fail == "write" {
		return 0, errFull
	}
	return c.Buffer.Write(p)
}

func (c *copied) End(fp *Fingerprint) error {
	c.ended, c.fp = true, *fp
	if c.fail == "end" {
		return errFull
	}
	return nil
}

func TestCopy(t *testing.T) {
	t.Parallel()
	page := []byte("<!DOCTYPE html><title>t</title>")
	large := bytes.Repeat([]byte("0123456789abcdef"), bufferSize/8+3)
	for _, test := range []struct {
		name string
		data []byte
		said string
	}{
		{"empty.txt", nil, "text/plain of 0"},
		{"page", page, fmt.Sprintf("text/html of %d", len(page))},
		{"large", large, fmt.Sprintf("text/plain of %d", len(large))},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(statOf(t, len(test.data)), test.data, nil)
			r := newPatientReader(openerFunc(func(string) (File, error) { return f, nil }))
			c := &copied{}
			fp, err := r.Read(t.Context(), Job{Path: "p", Name: test.name, Want: Set{SHA256}, Copy: c})
			if err != nil || !c.ended || !bytes.Equal(c.Bytes(), test.data) {
				t.Errorf("%v, ended: %t, %d bytes of %d", err, c.ended, c.Len(), len(test.data))
			}
			if len(c.said) != 1 || c.said[0] != test.said || c.fp.Hash != fp.Hash {
				t.Errorf("it was told %q and %v, want %q and %v", c.said, c.fp.Hash, test.said, fp.Hash)
			}
		})
	}
}

// A file that changes while it is read is copied again from its beginning.
func TestCopyAgain(t *testing.T) {
	t.Parallel()
	was, is := statOf(t, 3), statOf(t, 4)
	f := inMemory(is, []byte("data"), nil)
	looks := 0
	f.stat = func() (fs.FileInfo, error) {
		if looks++; looks == 1 {
			return was, nil
		}
		return is, nil
	}
	r := newPatientReader(openerFunc(func(string) (File, error) { return f, nil }))
	c := &copied{}
	if _, err := r.Read(t.Context(), Job{Path: "p", Name: "x", Want: Set{SHA256}, Copy: c}); err != nil {
		t.Fatal(err)
	}
	if c.begun != 2 || c.String() != "data" {
		t.Errorf("begun %d times, has %q", c.begun, c.String())
	}
}

func TestCopyFails(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"write", "end"} {
		f := inMemory(statOf(t, 4), []byte("data"), nil)
		r := newPatientReader(openerFunc(func(string) (File, error) { return f, nil }))
		c := &copied{fail: call}
		if _, err := r.Read(t.Context(), Job{Path: "p", Name: "x", Copy: c}); !errors.Is(err, errFull) {
			t.Errorf("%s: got %v", call, err)
		}
		if f.closed != 1 {
			t.Errorf("%s: the file was closed %d times", call, f.closed)
		}
	}
}

// Jobs that weigh much wait for those before them to be passed on.
func TestFilesWeight(t *testing.T) {
	t.Parallel()
	const n, each, room = 500, 10, 45
	s := newShelf(t)
	put, passed, most := 0, 0, 0
	job := func(i *int) (Job, bool) {
		put++
		return Job{Path: pathOf(*i), Name: pathOf(*i), Want: Set{SHA256}, Weight: each}, true
	}
	for r, err := range Files(t.Context(), Pool{Opener: s, Workers: 3, MaxWeight: room}, numbers(n, nil), job) {
		if err != nil || r.Err != nil {
			t.Fatal(err, r.Err)
		}
		most = max(most, (put-1-passed)*each) // the last job is not on its way yet
		passed++
	}
	if passed != n || most > room {
		t.Errorf("%d passed, with up to %d on their way", passed, most)
	}
}
