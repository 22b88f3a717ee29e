package verify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
)

// readersAtOnce returns how many goroutines should read resources.
func (d *disk) readersAtOnce(jobs int) int { return jobs }

// isTold reports whether the user said where resources lie.
func (d *disk) isTold() bool { return len(d.mapping) > 0 }

func (d *disk) reader() resourceReader {
	return &diskReader{disk: d, buf: make([]byte, 256<<10), openers: map[*os.Root]fileOpener{}}
}

// diskReader reads resources in directories.
type diskReader struct {
	*disk
	buf      []byte
	digester *digester
	sum      hash.Hash
	openers  map[*os.Root]fileOpener
}

func (r *diskReader) close() {
	for _, o := range r.openers {
		o.close()
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
	if end, ok := strings.CutPrefix(uri, r.prefix); ok {
		return r.root, end, nil
	}
	return nil, "", errElsewhere
}

func (r *diskReader) read(ctx context.Context, res *resource) (actual, error) {
	f, err := r.openResource(res)
	if err != nil {
		return actual{}, err
	}
	defer f.Close()
	if res.bare {
		return actual{length: f.size(), modified: f.modified()}, nil
	}
	if res.md.HasLength && res.md.Length != f.size() && (res.was == nil || res.was.Length != f.size()) {
		return actual{length: f.size(), modified: f.modified()}, nil // which says enough
	}
	if digest, ok := strings.CutPrefix(string(res.md.Hash), "sha-256:"); ok && len(digest) == 2*sha256.Size && res.was == nil {
		return r.readMost(ctx, f, digest)
	}
	names := algorithmsOf(res.md.Hash)
	if res.was != nil {
		names = append(names, algorithmsOf(res.was.Hash)...)
	}
	r.digester = r.digester.reuse(names)
	n, err := io.CopyBuffer(r.digester, onlyReader{&contextReader{ctx, f}}, r.buf)
	return actual{length: n, sums: r.digester.sums(), modified: f.modified(), read: n}, err
}

// openResource opens the file of a resource. What links lead to may lie in the publication as
// well as with the resources.
func (r *diskReader) openResource(res *resource) (contentFile, error) {
	if res.link != nil {
		if f, err := r.openInPlace(res.uri); !errors.Is(err, errNotThere) && !errors.Is(err, errElsewhere) {
			return f, err
		}
	}
	root, end, err := r.where(res.uri)
	if err != nil {
		return nil, err
	}
	if ext := extensions[strings.ToLower(res.md.Encoding)]; ext != "" && !strings.HasSuffix(end, ext) {
		if f, err := r.find(root, end, ext); !errors.Is(err, errNotThere) {
			return f, err
		}
	}
	return r.find(root, end, "")
}

// extensions are what servers look for behind the name of a file that they send with a
// content coding, as it was compressed ahead of time.
var extensions = map[string]string{"gzip": ".gz", "x-gzip": ".gz", "br": ".br", "zstd": ".zst"}

// openInPlace opens a file of the publication itself.
func (r *diskReader) openInPlace(uri string) (contentFile, error) {
	end, ok := strings.CutPrefix(uri, r.prefix)
	if !ok || strings.Contains(uri, "?") {
		return nil, errElsewhere
	}
	return r.openPath(r.root, end)
}

func (r *diskReader) text(ctx context.Context, uri string, most int64) ([]byte, error) {
	f, err := r.openResource(&resource{uri: uri, link: &linkOf{}})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readText(&contextReader{ctx, f}, most)
}

// readMost reads a file as most are stated: with one digest, which is that of it.
func (r *diskReader) readMost(ctx context.Context, f contentFile, stated string) (actual, error) {
	if r.sum == nil {
		r.sum = sha256.New()
	}
	r.sum.Reset()
	n, err := io.CopyBuffer(onlyWriter{r.sum}, onlyReader{&contextReader{ctx, f}}, r.buf)
	var sum [sha256.Size]byte
	var digits [2 * sha256.Size]byte
	hex.Encode(digits[:], r.sum.Sum(sum[:0]))
	got := actual{length: n, modified: f.modified(), read: n}
	if string(digits[:]) != stated {
		got.sums = map[string]string{"sha-256": string(digits[:])}
	}
	return got, err
}

// onlyWriter hides what else a writer can do.
type onlyWriter struct{ io.Writer }

// find opens the file that a server would send for a URI: a directory stands for
// its index.html, and a page may be named without its extension.
func (r *diskReader) find(root *os.Root, end, extension string) (contentFile, error) {
	if end == "" || strings.HasSuffix(end, "/") {
		return r.openPath(root, end+"index.html"+extension)
	}
	f, err := r.openPath(root, end+extension)
	for _, more := range []string{".html", "/index.html"} {
		if !errors.Is(err, errNotThere) {
			break
		}
		f, err = r.openPath(root, end+more+extension)
	}
	return f, err
}

func (r *diskReader) openPath(root *os.Root, end string) (contentFile, error) {
	name, ok := pathOf(end)
	if !ok {
		return nil, errNotThere
	}
	f, err := r.opener(root).open(name)
	if err != nil {
		return nil, notThere(err)
	}
	regular, err := f.stat()
	if err == nil && !regular {
		err = errNotThere
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// contentFile is a file that is read once, from its beginning to its end.
type contentFile interface {
	io.ReadCloser
	// stat reports whether it is a regular file; then size and modified can be
	// asked for.
	stat() (regular bool, err error)
	size() int64
	modified() time.Time
}

// fileOpener opens files below a directory, and waits for none of them.
type fileOpener interface {
	open(name string) (contentFile, error)
	close()
}

// opener returns what opens the files below a root.
func (r *diskReader) opener(root *os.Root) fileOpener {
	if r.openers[root] == nil {
		r.openers[root] = newFileOpener(root)
	}
	return r.openers[root]
}

// rootOpener opens files as package os does.
type rootOpener struct{ root *os.Root }

func (o rootOpener) close() {}

func (o rootOpener) open(name string) (contentFile, error) {
	f, err := o.root.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	return &osFile{File: f}, nil
}

type osFile struct {
	*os.File
	info fs.FileInfo
}

func (f *osFile) stat() (bool, error) {
	var err error
	if f.info, err = f.Stat(); err != nil {
		return false, err
	}
	return f.info.Mode().IsRegular(), nil
}

func (f *osFile) size() int64         { return f.info.Size() }
func (f *osFile) modified() time.Time { return f.info.ModTime() }

func notThere(err error) error {
	if errors.Is(err, fs.ErrNotExist) || isNotDir(err) {
		return errNotThere
	}
	return err
}
