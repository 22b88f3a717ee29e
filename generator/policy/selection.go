package policy

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/scanner"
)

// Selection says which resources of the source are in a set: those that all of its
// rules allow. The zero value allows all.
type Selection struct {
	// Include, if not empty, names what alone is taken; Exclude wins.
	Include, Exclude []scanner.Glob
	// Types are media types such as text/html or image/*; one of them has to be
	// that of the resource.
	Types []string
	// MinSize and MaxSize are in bytes; a MaxSize of 0 is no limit.
	MinSize, MaxSize int64
	// ModifiedAfter and ModifiedBefore bound the file's own modification time, which
	// lies between them. Zero times are no bounds.
	ModifiedAfter, ModifiedBefore time.Time
	// Paths, if not nil, has the paths that alone are taken.
	Paths *Paths
}

// Has reports whether all rules allow a file, as far as is known before its media
// type is, if that is not known by its name. It notes in found which of the listed paths
// the file has, unless found is nil. A nil Selection allows all.
func (s *Selection) Has(f *scanner.File, typeByName string, found Found) bool {
	if s == nil {
		return true
	}
	listed := s.Paths.has(f.Path, found) // which notes that the source has it, whatever else holds
	return listed && s.matches(f.Path, typeByName) && f.Size >= s.MinSize && (s.MaxSize == 0 || f.Size <= s.MaxSize) &&
		(s.ModifiedAfter.IsZero() || f.ModTime.After(s.ModifiedAfter)) &&
		(s.ModifiedBefore.IsZero() || f.ModTime.Before(s.ModifiedBefore))
}

// Matches reports whether the rules about paths and media types allow a file, whatever
// its size and time are. A media type that is not known may be an allowed one.
func (s *Selection) Matches(path, typeByName string) bool {
	return s.Paths.has(path, nil) && s.matches(path, typeByName)
}

func (s *Selection) matches(path, typeByName string) bool {
	return (len(s.Include) == 0 || MatchesAny(s.Include, path)) && !MatchesAny(s.Exclude, path) &&
		(typeByName == "" || s.HasType(typeByName))
}

// IsTimed reports whether files come and go as time goes by, or as they are touched.
func (s *Selection) IsTimed() bool {
	return s != nil && (!s.ModifiedAfter.IsZero() || !s.ModifiedBefore.IsZero())
}

// HasAll reports whether the rules allow every file.
func (s *Selection) HasAll() bool {
	return len(s.Include)+len(s.Exclude)+len(s.Types) == 0 && s.MinSize == 0 && s.MaxSize == 0 && s.Paths == nil && !s.IsTimed()
}

// HasType reports whether a media type is allowed. It is true if s is nil.
func (s *Selection) HasType(mediaType string) bool {
	if s == nil || len(s.Types) == 0 {
		return true
	}
	name, _, _ := strings.Cut(mediaType, ";")
	name = strings.TrimSpace(name)
	return slices.ContainsFunc(s.Types, func(pattern string) bool {
		ok, _ := path.Match(pattern, name)
		return ok
	})
}

// MatchesAny reports whether a path matches one of several globs.
func MatchesAny(globs []scanner.Glob, path string) bool {
	return slices.ContainsFunc(globs, func(g scanner.Glob) bool { return g.Matches(path) })
}

// Paths is a list of paths out of a file. It is kept as digests, so that a list of
// millions takes little memory.
type Paths struct {
	name    string
	digests []pathDigest // in order
}

// Found says which paths of a list a source has. It is nil where there is no list.
type Found []bool

// NewFound returns one with nothing found. It returns nil if p is nil.
func (p *Paths) NewFound() Found {
	if p == nil {
		return nil
	}
	return make(Found, len(p.digests))
}

// pathDigest is long enough that no two paths have the same.
type pathDigest [16]byte

// maxPathLine is how long a line may be, in bytes: longer than any path.
const maxPathLine = 64 << 10

// ReadPaths reads a list of paths from a file: one on each line, relative to the
// source, with slashes. Empty lines mean nothing.
func ReadPaths(name string) (*Paths, error) {
	p := &Paths{name: name}
	err := p.each(func(path string) { p.digests = append(p.digests, digestOfPath(path)) })
	if err != nil {
		return nil, err
	}
	slices.SortFunc(p.digests, func(a, b pathDigest) int { return bytes.Compare(a[:], b[:]) })
	p.digests = slices.Compact(p.digests)
	return p, nil
}

// each calls fn for each path of the file.
func (p *Paths) each(fn func(path string)) error {
	info, err := os.Stat(p.name)
	if err == nil && !info.Mode().IsRegular() { // to open a pipe may take for ever
		err = fmt.Errorf("%s is not a file", p.name)
	}
	if err != nil {
		return fmt.Errorf("reading a list of paths: %w", err)
	}
	f, err := os.Open(p.name)
	if err != nil {
		return fmt.Errorf("reading a list of paths: %w", err)
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, maxPathLine)
	for n := 1; ; n++ {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return fmt.Errorf("reading a list of paths: line %d of %s is longer than any path", n, p.name)
		}
		if err != nil && err != io.EOF {
			return fmt.Errorf("reading a list of paths: %w", err)
		}
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		text := strings.TrimPrefix(string(bytes.TrimRight(line, "\r\n")), "./")
		if text != "" {
			fn(text)
		}
		if err == io.EOF {
			return nil
		}
	}
}

func digestOfPath(path string) (d pathDigest) {
	sum := sha256.Sum256([]byte(path))
	copy(d[:], sum[:])
	return d
}

// has reports whether a path is in the list, and notes that it is found. It is true if p
// is nil.
func (p *Paths) has(path string, found Found) bool {
	if p == nil {
		return true
	}
	i, ok := p.find(path)
	if ok && found != nil {
		found[i] = true
	}
	return ok
}

func (p *Paths) find(path string) (int, bool) {
	d := digestOfPath(path)
	return slices.BinarySearchFunc(p.digests, d, func(a, b pathDigest) int { return bytes.Compare(a[:], b[:]) })
}

// Missing says which paths of the list were not found, or returns nothing if all of them
// were, or if p is nil.
func (p *Paths) Missing(found Found) string {
	if p == nil || !slices.Contains(found, false) {
		return ""
	}
	found = slices.Clone(found)
	n, first := 0, ""
	err := p.each(func(path string) {
		if i, ok := p.find(path); ok && !found[i] {
			found[i] = true // says it once
			if n++; n == 1 {
				first = path
			}
		}
	})
	switch {
	case err != nil || n == 0: // the list is another one by now
		return ""
	case n == 1:
		return fmt.Sprintf("%q is in %s and not in the source", first, p.name)
	}
	return fmt.Sprintf("%q and %d more are in %s and not in the source", first, n-1, p.name)
}

// Folders returns the names of the folders at the top of the source in which all
// selected files are, or nil if there is no saying.
func (s *Selection) Folders() (names []string) {
	for i := range s.Include {
		name, ok := s.Include[i].Folder()
		if !ok {
			return nil
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
