package hashing

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// TestOpenLeased opens a file that another program has to itself for a while, as
// file servers do for their clients.
func TestOpenLeased(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		held time.Duration
		want error
		took time.Duration
	}{
		{"for a short time", 45 * time.Millisecond, nil, 50 * time.Millisecond},
		{"for too long", time.Hour, syscall.EAGAIN, time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			holder, err := os.Create(filepath.Join(dir, "file"))
			if err != nil {
				t.Fatal(err)
			}
			defer holder.Close()
			lease := func(kind int) error {
				_, err := unix.FcntlInt(holder.Fd(), unix.F_SETLEASE, kind)
				return err
			}
			if err := lease(unix.F_WRLCK); err != nil {
				t.Skip(err)
			}
			root := openRoot(t, dir)
			synctest.Test(t, func(t *testing.T) {
				o := openers["NewOpener"](t, root)
				start := time.Now()
				release := time.AfterFunc(test.held, func() { lease(unix.F_UNLCK) })
				defer release.Stop()
				f, err := o.OpenFile("file")
				if err == nil {
					f.Close()
				}
				if got := time.Since(start); !errors.Is(err, test.want) || got != test.took {
					t.Errorf("got %v after %v, want %v after %v", err, got, test.want, test.took)
				}
			})
		})
	}
}
