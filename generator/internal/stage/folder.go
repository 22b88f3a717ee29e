package stage

import (
	"errors"
	"io"
	"os"
	"sync"

	"github.com/wellspring-sync/wellspring/internal/publish"
)

// folder is the staging folder of a transaction, with the files in it that are being
// written.
type folder struct {
	*publish.Tx
	withMD5 bool           // digests of its files are by MD5, too
	syncing sync.WaitGroup // files that are being made durable
	mu      sync.Mutex
	open    map[*handle]bool // under mu
}

// handle is a staged file that is being written.
type handle struct {
	*os.File
	folder *folder
}

func (d *folder) create(name string) (*handle, error) {
	f, err := d.Create(name)
	if err != nil {
		return nil, err
	}
	return d.hold(f), nil
}

// openEnd opens a staged file to go on behind its end.
func (d *folder) openEnd(name string) (*handle, error) {
	f, err := d.OpenStaged(name)
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekEnd); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return d.hold(f), nil
}

func (d *folder) hold(f *os.File) *handle {
	h := &handle{f, d}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open[h] = true
	return h
}

func (h *handle) Close() error {
	h.folder.mu.Lock()
	delete(h.folder.open, h)
	h.folder.mu.Unlock()
	return h.File.Close()
}

// close closes the files that are still being written, and waits for those that are being
// made durable.
func (d *folder) close() {
	d.syncing.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	for h := range d.open {
		h.File.Close()
	}
	clear(d.open)
}

// intermittent is a staged file that is open only while something is written to it,
// where there are more of them than a process may have open.
type intermittent struct {
	folder *folder
	name   string
}

func (i *intermittent) Write(p []byte) (int, error) {
	f, err := i.folder.openEnd(i.name)
	if err != nil {
		return 0, err
	}
	n, err := f.Write(p)
	return n, errors.Join(err, f.Close())
}

func (i *intermittent) Close() error { return nil }
