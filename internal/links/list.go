package links

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/internal/httpclient"
	"github.com/wellspring-sync/wellspring/internal/remote"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// List is the Resource List of another Source, so that links can say of what was taken
// over from there what it is at its origin (Z39.99-2017 §14.8). It is held in a temporary
// file, whatever its length is.
type List struct {
	dir  string
	file *os.File
	seed maphash.Seed
	at   []located // in the order of keys, once all is read
	end  int64
}

// located is where the entry of a URI begins.
type located struct {
	key uint64 // a digest of the URI
	at  int64
}

// mostEntries bounds the memory that a list takes: 16 bytes for each entry.
const mostEntries = 20_000_000

// ReadList reads a Resource List, or an Index and all its parts: the URL of it or the
// name of a file. Headers are sent to the server of the URL.
func ReadList(ctx context.Context, place string, header http.Header, release string) (list *List, err error) {
	dir, err := os.MkdirTemp("", "wellspring-")
	if err != nil {
		return nil, err
	}
	l := &List{dir: dir, seed: maphash.MakeSeed()}
	defer func() {
		if err != nil {
			l.Close()
		}
	}()
	if l.file, err = os.Create(filepath.Join(dir, "entries")); err != nil {
		return nil, err
	}
	open, closeAll, err := opener(ctx, place, header, release)
	if err != nil {
		return nil, err
	}
	defer closeAll()
	w := bufio.NewWriterSize(l.file, 128<<10)
	if err := l.read(w, open, "", true); err != nil {
		return nil, err
	}
	os.RemoveAll(dir) // where a file can be used without a name, nothing is left behind
	slices.SortStableFunc(l.at, func(x, y located) int { return cmp.Compare(x.key, y.key) })
	return l, w.Flush()
}

// Close removes what is held.
func (l *List) Close() error {
	var err error
	if l.file != nil {
		err = l.file.Close()
	}
	return errors.Join(err, os.RemoveAll(l.dir))
}

// opener returns what opens the list (whose name is empty) and its parts.
func opener(ctx context.Context, place string, header http.Header, release string) (open func(uri string) (io.ReadCloser, error), closeAll func(), err error) {
	if !httpclient.IsURL(place) {
		return func(uri string) (io.ReadCloser, error) { return openBeside(place, uri) }, func() {}, nil
	}
	u, err := url.Parse(place)
	if err != nil || u.Host == "" || u.RawQuery != "" {
		return nil, nil, errors.New("that is not the URL of a Resource List")
	}
	base := (&url.URL{Scheme: u.Scheme, User: u.User, Host: u.Host, Path: "/"}).String()
	host := u.Scheme + "://" + u.Host + "/"
	files, err := remote.Open(ctx, base, nil, remote.Options{Header: header, Release: release})
	if err != nil {
		return nil, nil, err
	}
	open = func(uri string) (io.ReadCloser, error) {
		name := strings.TrimPrefix(u.Path, "/")
		if uri != "" {
			end, ok := strings.CutPrefix(uri, host)
			if !ok {
				return nil, fmt.Errorf("its part %s is on another host", uri)
			}
			if name, err = url.PathUnescape(end); err != nil {
				return nil, fmt.Errorf("its part %s: %w", uri, err)
			}
		}
		return files.Open(name)
	}
	return open, func() { files.Close() }, nil
}

// openBeside opens a list on disk, or a part of it: as the end of its URI says where
// it is, beside the list or in a folder there.
func openBeside(list, uri string) (io.ReadCloser, error) {
	if uri == "" {
		return os.Open(list)
	}
	u, err := url.Parse(uri)
	if err != nil {
		return nil, fmt.Errorf("its part %s: %w", uri, err)
	}
	folder, name := path.Split(u.Path)
	root, err := os.OpenRoot(filepath.Dir(list))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.Open(path.Join(path.Base(folder), name))
	if errors.Is(err, fs.ErrNotExist) {
		f, err = root.Open(name)
	}
	if err != nil {
		return nil, fmt.Errorf("its part %s: %w", uri, err)
	}
	return f, nil
}

// read takes in a document: the list, or with the name of one, a part.
func (l *List) read(w io.Writer, open func(string) (io.ReadCloser, error), uri string, canBeIndex bool) error {
	f, err := open(uri)
	if err != nil {
		return err
	}
	defer f.Close()
	d := resourcesync.NewDecoder(f, resourcesync.Limits{})
	doc, err := d.Document()
	if err != nil {
		return err
	}
	if c := doc.Metadata.Capability; c != resourcesync.ResourceList || doc.Index && !canBeIndex {
		return fmt.Errorf("it is no Resource List: its capability is %q", c)
	}
	var parts []string
	var buf []byte
	for {
		e, err := d.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if doc.Index {
			parts = append(parts, e.Loc)
			continue
		}
		if buf, err = l.add(w, buf, e); err != nil {
			return err
		}
	}
	for _, part := range parts {
		if err := l.read(w, open, part, false); err != nil {
			return err
		}
	}
	return nil
}

func (l *List) add(w io.Writer, buf []byte, e *resourcesync.Entry) ([]byte, error) {
	buf, err := resourcesync.AppendEntry(buf[:0], false, e)
	if err != nil {
		return buf, err
	}
	if len(l.at) == mostEntries {
		return buf, fmt.Errorf("it has more than %d entries", mostEntries)
	}
	l.at = append(l.at, located{maphash.String(l.seed, e.Loc), l.end})
	l.end += int64(len(buf))
	_, err = w.Write(buf)
	return buf, err
}

// Find returns the link to a resource of the other Source, with what its list says of
// it, and false if it is not listed. If that Source has it from elsewhere itself, the
// link is the one that leads to the first of them.
func (l *List) Find(uri string) (resourcesync.Link, bool, error) {
	i, ok := slices.BinarySearchFunc(l.at, maphash.String(l.seed, uri), func(x located, key uint64) int { return cmp.Compare(x.key, key) })
	if !ok {
		return resourcesync.Link{}, false, nil
	}
	at := l.at[i].at
	head, err := resourcesync.AppendHead(nil, &resourcesync.Document{Metadata: resourcesync.Metadata{Capability: resourcesync.ResourceList}})
	if err != nil {
		return resourcesync.Link{}, false, err
	}
	d := resourcesync.NewDecoder(io.MultiReader(strings.NewReader(string(head)), io.NewSectionReader(l.file, at, l.end-at)), resourcesync.Limits{Bytes: l.end - at + 1<<20})
	e, err := d.Next()
	if err != nil {
		return resourcesync.Link{}, false, fmt.Errorf("reading the list of the other Source again: %w", err)
	}
	if e.Loc != uri {
		return resourcesync.Link{}, false, nil
	}
	for _, link := range e.Links {
		if strings.EqualFold(link.Rel, "via") && resourcesync.IsURI(link.Href) {
			return sound(link), true, nil
		}
	}
	md := &e.Metadata
	return sound(resourcesync.Link{
		Href: uri, Modified: e.LastModified,
		Hash: md.Hash, Length: md.Length, HasLength: md.HasLength, Type: md.Type, Encoding: md.Encoding,
	}), true, nil
}

// sound returns what can be said again of a link, in the form in which it is written
// here.
func sound(l resourcesync.Link) resourcesync.Link {
	clean := resourcesync.Link{
		Rel: "via", Href: l.Href, Modified: l.Modified.Truncate(time.Second), Hash: l.Hash,
		Length: l.Length, HasLength: l.HasLength, Type: l.Type, Encoding: l.Encoding,
	}
	if l.Hash != "" && l.Hash.Check() != nil {
		clean.Hash = ""
	}
	if !resourcesync.IsMediaType(l.Type) {
		clean.Type = ""
	}
	return clean
}
