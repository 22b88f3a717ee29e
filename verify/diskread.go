package verify

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// readersAtOnce returns how many goroutines should read resources.
func (d *disk) readersAtOnce(jobs int) int { return jobs }

// isTold reports whether the user said where resources lie.
func (d *disk) isTold() bool { return len(d.mapping) > 0 }

func (d *disk) reader() resourceReader {
	return &diskReader{disk: d, buf: make([]byte, 256<<10)}
}

// diskReader reads resources in directories. Those of one directory mostly come one
// after the other, so it keeps the last directory open.
type diskReader struct {
	*disk
	buf      []byte
	digester *digester

	top *os.Root
	dir string
	sub *os.Root
}

func (r *diskReader) close() {
	if r.sub != nil {
		r.sub.Close()
	}
}

// where returns the directory and the path in it for a URI.
func (r *diskReader) where(uri string) (*os.Root, string, error) {
	if strings.Contains(uri, "?") { // which no file answers
		return nil, "", errElsewhere
	}
	for _, m := range r.mapping {
		if end, ok := strings.CutPrefix(uri, m.prefix); ok {
			return m.root, end, nil
		}
	}
	if len(r.mapping) == 0 || strings.HasPrefix(uri, r.prefix) {
		if end, ok := strings.CutPrefix(uri, r.prefix); ok {
			return r.root, end, nil
		}
	}
	return nil, "", errElsewhere
}

func (r *diskReader) read(ctx context.Context, res *resource) (actual, error) {
	root, end, err := r.where(res.uri)
	if err != nil {
		return actual{}, err
	}
	f, err := r.find(root, end)
	if err != nil {
		return actual{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return actual{}, err
	}
	if res.md.HasLength && res.md.Length != info.Size() && (res.was == nil || res.was.Length != info.Size()) {
		return actual{length: info.Size(), modified: info.ModTime()}, nil // which says enough
	}
	names := algorithmsOf(res.md.Hash)
	if res.was != nil {
		names = append(names, algorithmsOf(res.was.Hash)...)
	}
	r.digester = r.digester.reuse(names)
	n, err := io.CopyBuffer(r.digester, onlyReader{&contextReader{ctx, f}}, r.buf)
	return actual{length: n, sums: r.digester.sums(), modified: info.ModTime(), read: n}, err
}

// find opens the file that a server would send for a URI: a directory stands for
// its index.html, and a page may be named without its extension.
func (r *diskReader) find(root *os.Root, end string) (*os.File, error) {
	if end == "" || strings.HasSuffix(end, "/") {
		return r.openPath(root, end+"index.html")
	}
	f, err := r.openPath(root, end)
	for _, more := range []string{".html", "/index.html"} {
		if !errors.Is(err, errNotThere) {
			break
		}
		f, err = r.openPath(root, end+more)
	}
	return f, err
}

func (r *diskReader) openPath(root *os.Root, end string) (*os.File, error) {
	name, ok := pathOf(end)
	if !ok {
		return nil, errNotThere
	}
	dir, base := path.Split(name)
	if dir = strings.TrimSuffix(dir, "/"); r.sub == nil || r.dir != dir || r.top != root {
		if info, err := root.Stat(orDot(dir)); err != nil || !info.IsDir() {
			return nil, notThere(cmp.Or(err, errNotThere))
		}
		sub, err := root.OpenRoot(orDot(dir))
		if err != nil {
			return nil, notThere(err)
		}
		r.close()
		r.top, r.dir, r.sub = root, dir, sub
	}
	f, err := r.sub.OpenFile(base, os.O_RDONLY|openFlags, 0)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		// A link may lead out of the directory and still stay in the whole.
		f, err = root.OpenFile(name, os.O_RDONLY|openFlags, 0)
	}
	if err != nil {
		return nil, notThere(err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotThere
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func orDot(dir string) string {
	if dir == "" {
		return "."
	}
	return dir
}

func notThere(err error) error {
	if errors.Is(err, fs.ErrNotExist) || isNotDir(err) {
		return errNotThere
	}
	return err
}
