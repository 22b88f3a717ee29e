package verify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

// disk is a publication in a directory.
type disk struct {
	dir   string
	root  *os.Root
	alone string // the only document that is audited, or empty
	// prefix is the URI of the directory, with a slash at its end, once it is
	// known.
	prefix string

	mapping []mapping // where resources lie, the longest prefix first
}

type mapping struct {
	prefix string
	root   *os.Root
}

// mostLooked is how many URIs are looked at to find out what belongs to the
// directory, and how many folders deep.
const mostLooked = 50

// wellKnownPath is where a Source Description is. See Z39.99-2017 §6.3.2.
const wellKnownPath = ".well-known/resourcesync"

func newDisk(where string, o *Options) (*disk, error) {
	info, err := os.Stat(where)
	if err != nil {
		return nil, err
	}
	d := &disk{dir: where}
	if !info.IsDir() {
		d.dir, d.alone = filepath.Split(filepath.Clean(where))
		d.dir = filepath.Clean(d.dir)
	}
	if d.root, err = os.OpenRoot(d.dir); err != nil {
		return nil, err
	}
	for _, m := range o.Resources {
		root, err := openDir(m.Dir)
		if err != nil {
			d.close()
			return nil, fmt.Errorf("the resources of %s: %w", m.Prefix, err)
		}
		d.mapping = append(d.mapping, mapping{m.Prefix, root})
	}
	slices.SortStableFunc(d.mapping, func(x, y mapping) int { return len(y.prefix) - len(x.prefix) })
	return d, nil
}

func (d *disk) name() string { return filepath.Join(d.dir, d.alone) }

func (d *disk) close() {
	for _, m := range d.mapping {
		m.root.Close()
	}
	d.root.Close()
}

// start looks for the Source Description, or else for a Capability List, and finds
// out which URIs belong to the directory.
func (d *disk) start(context.Context) (start, error) {
	if d.alone != "" {
		d.prefix = "file:///"
		return start{d.prefix + (&url.URL{Path: d.alone}).EscapedPath(), true}, nil
	}
	names := []string{wellKnownPath, "capabilitylist.xml"}
	entries, err := fs.ReadDir(d.root.FS(), ".")
	if err != nil {
		return start{}, err
	}
	for _, e := range entries {
		if e.IsDir() { // a pipe would not answer
			names = append(names, e.Name()+"/capabilitylist.xml")
		}
	}
	for _, name := range names {
		if _, err := d.root.Stat(name); err == nil {
			if d.prefix, err = d.findPrefix(name); err != nil {
				return start{}, err
			}
			return start{uri: d.prefix + name}, nil
		}
	}
	return start{}, fmt.Errorf("there is no publication: neither %s nor a capabilitylist.xml is in the directory", wellKnownPath)
}

// findPrefix finds the URI of the directory by looking which of the documents that
// a document names are in it.
//
// A few URIs, and a few levels of folders, are enough.
func (d *disk) findPrefix(name string) (string, error) {
	f, err := openRegular(d.root, name)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	defer f.Close()
	var uris []string
	decoder := resourcesync.NewDecoder(f, resourcesync.Limits{Entries: mostLooked})
	if doc, err := decoder.Document(); err == nil {
		for e, err := decoder.Next(); err == nil; e, err = decoder.Next() {
			uris = append(uris, e.Loc)
		}
		for _, l := range doc.Links {
			uris = append(uris, l.Href)
		}
	}
	for _, uri := range uris {
		if prefix := d.prefixOf(uri); prefix != "" {
			return prefix, nil
		}
	}
	for _, uri := range uris { // none of them is here: most publications are at the top of a host
		if u, err := url.Parse(uri); err == nil && u.Host != "" {
			return u.Scheme + "://" + u.Host + "/", nil
		}
	}
	return "http://directory.invalid/", nil
}

// prefixOf returns what stands before the path of a file in the directory.
func (d *disk) prefixOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Host == "" {
		return ""
	}
	base := u.Scheme + "://" + u.Host
	rest := u.EscapedPath()
	for range mostLooked {
		if rest == "" {
			break
		}
		name, ok := pathOf(strings.TrimPrefix(rest, "/"))
		if ok {
			if info, err := d.root.Stat(name); err == nil && info.Mode().IsRegular() {
				return base + strings.TrimSuffix(u.EscapedPath(), rest) + "/"
			}
		}
		i := strings.IndexByte(rest[1:], '/')
		if i < 0 {
			break
		}
		rest = rest[1+i:]
	}
	return ""
}

// pathOf turns the end of a URI into a path below a directory, or returns false if
// it cannot be one.
func pathOf(s string) (string, bool) {
	if strings.ContainsAny(s, "?#") {
		return "", false
	}
	if strings.IndexByte(s, '%') < 0 {
		return s, fs.ValidPath(s) && isLocal(s)
	}
	segments := strings.Split(s, "/")
	for i, segment := range segments {
		plain, err := url.PathUnescape(segment)
		if err != nil || strings.ContainsAny(plain, "/\x00") {
			return "", false
		}
		segments[i] = plain
	}
	s = strings.Join(segments, "/")
	return s, isPath(s) && isLocal(s)
}

// isPath is fs.ValidPath for names in any encoding.
func isPath(s string) bool {
	return s != "" && path.Clean(s) == s && s[0] != '/' && s != ".." && !strings.HasPrefix(s, "../")
}

// isLocal reports whether a path can be one of this system.
func isLocal(s string) bool {
	return filepath.Separator == '/' || filepath.IsLocal(filepath.FromSlash(s)) && !strings.Contains(s, `\`)
}

func (d *disk) open(_ context.Context, uri string, _ int64) (*file, error) {
	root, end := d.root, ""
	ok := false
	for _, m := range append([]mapping{{d.prefix, d.root}}, d.mapping...) {
		if end, ok = strings.CutPrefix(uri, m.prefix); ok {
			root = m.root
			break
		}
	}
	if !ok || strings.Contains(uri, "?") {
		return nil, errElsewhere
	}
	name, ok := pathOf(end)
	if !ok {
		return nil, errNotThere
	}
	return openRegular(root, name)
}

func (d *disk) forget(string) {}

// openRegular opens a file, and nothing else: a pipe would not answer.
func openRegular(root *os.Root, name string) (*file, error) {
	info, err := root.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", name)
	}
	var f *os.File
	if err == nil {
		f, err = root.OpenFile(name, os.O_RDONLY|openFlags, 0)
	}
	if errors.Is(err, fs.ErrNotExist) || isNotDir(err) {
		return nil, errNotThere
	}
	if err != nil {
		return nil, err
	}
	return &file{File: f, size: info.Size(), path: name}, nil
}

// openDir opens a directory, and nothing else.
func openDir(name string) (*os.Root, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a directory", name)
	}
	return os.OpenRoot(name)
}

// isNotDir reports whether an error says that a part of a path is a file.
func isNotDir(err error) bool {
	return err != nil && strings.HasSuffix(err.Error(), "not a directory")
}
