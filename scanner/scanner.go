// Package scanner lists a source: the files of a tree that are to be published,
// in the byte order of their URIs, as a stream. It reads directories and the
// status of files, never their content, and knows nothing of documents.
package scanner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// File is one file of the source.
type File struct {
	// Path is slash-separated and relative to the source.
	Path string
	// URI is the prefix and the keys of all directories and of the file.
	URI string
	// Real is the path without symbolic links, by which to open the file.
	Real string
	Stat
}

// Stat is what tells whether a file may have changed.
type Stat struct {
	Size    int64 // in bytes
	ModTime time.Time
	// ChangeTime is when the file's status last changed; the zero time where
	// the system does not say.
	ChangeTime time.Time
	// Inode is the file's number in its file system, or 0.
	Inode uint64
	Mode  fs.FileMode // the type bits alone
}

// Options say what is listed, and under which names.
type Options struct {
	// Prefix is what every URI begins with.
	Prefix string
	// Key appends what a directory entry contributes to URIs. Keys decide the
	// order; nil stands for the names themselves, with a slash behind those of
	// directories.
	Key func(dst []byte, name string, dir bool) []byte
	// Variant reports whether a file is another form of the one that has the same
	// key, such as a compressed copy. It is left out if that one is there. It is a
	// longer name than that one's. Nil stands for no file.
	Variant func(name string) bool
	// Rules say what belongs to the source.
	Rules Rules
	// SkipSymlinks leaves out all symbolic links. Otherwise they are followed
	// as long as they stay inside the source.
	SkipSymlinks bool
	// NamesOnly leaves the status of files out, to count them quickly.
	NamesOnly bool
	// Own are the directories to which the publication is written.
	Own []Own
	// LeftOut is told of each entry that is not listed; nil is fine. Nothing
	// is said of what lies below a directory that is left out.
	LeftOut func(path string, why Reason)
}

// Own names entries of a directory that are Wellspring's, and no resources.
type Own struct {
	Dir   fs.FileInfo
	Names []string
	// Folder says that the whole directory is for the publication, so that
	// nothing else in it is a resource either.
	Folder bool
}

// why says whether an entry of the directory is no resource.
func (o *Own) why(name string) Reason {
	switch {
	case slices.Contains(o.Names, name):
		return Published
	case o.Folder:
		return InFolder
	}
	return ""
}

// Limits on what is reached through symbolic links, where a few can stand for
// endlessly many files.
const (
	maxLinkDepth = 40
	maxLinked    = 1_000_000
)

// maxURI is the length of the longest URI in bytes: what the longest path of
// most systems, 4,096 bytes, comes to when every byte is escaped. With each of
// its bytes escaped once more for XML, it is within what readers take.
const maxURI = 12 << 10

// Scan yields the files of a tree in the byte order of their URIs. It holds two
// directories of each level in memory. The first error is yielded last: a tree is
// listed whole or not at all, since what is missing would count as deleted.
// What vanishes while it is listed was never there.
// Each file is valid until the next; its strings stay valid.
func Scan(ctx context.Context, tree Tree, o Options) iter.Seq2[*File, error] {
	if o.Key == nil {
		o.Key = plainKey
	}
	if o.LeftOut == nil {
		o.LeftOut = func(string, Reason) {}
	}
	return func(yield func(*File, error) bool) {
		w := walker{ctx: ctx, tree: tree, o: o, yield: yield}
		root, err := tree.OpenDir(".")
		if err != nil {
			yield(nil, fmt.Errorf("opening the source: %w", cause(err)))
			return
		}
		err = w.directory(root, place{uri: o.Prefix})
		if err == nil && tree.IsMoved() {
			err = errors.New("the source was moved or replaced while it was listed: run again")
		}
		if err != nil && err != errStopped {
			yield(nil, err)
		}
	}
}

func plainKey(dst []byte, name string, dir bool) []byte {
	dst = append(dst, name...)
	if dir {
		dst = append(dst, '/')
	}
	return dst
}

// errStopped ends the walk when the consumer has had enough.
var errStopped = errors.New("stopped")

type walker struct {
	ctx     context.Context
	tree    Tree
	o       Options
	yield   func(*File, error) bool
	linked  int // entries reached through links
	next    File
	strings strings.Builder
}

// place is a directory as it is reached.
type place struct {
	path, real string // with a slash at the end, or empty for the source itself
	uri        string
	links      int    // how many links lead here
	included   bool   // by a rule that names the directory
	up         *place // the directory above, as it was reached
}

// String names the directory in messages.
func (p *place) String() string {
	if p.path == "" {
		return "the source"
	}
	return "the directory " + quote(strings.TrimSuffix(p.path, "/"))
}

// directory lists one directory and what is below it, and closes it.
func (w *walker) directory(d Dir, p place) error {
	o := &opened{place: p, dir: d}
	w.fill(o)
	return w.walk(o)
}

// walk passes on what an open directory holds, and closes it.
func (w *walker) walk(o *opened) error {
	defer o.close()
	if o.err != nil {
		return o.err
	}
	for _, l := range o.list.left {
		w.o.LeftOut(l.path, l.why)
	}
	s := siblings{w: w, of: o}
	defer s.stop()
	for i := range o.list.entries {
		if err := w.entry(o, &s, i); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) entry(o *opened, s *siblings, i int) error {
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	p, list, e := &o.place, o.list, &o.list.entries[i]
	if p.links > 0 || e.link != "" {
		if w.linked++; w.linked > maxLinked {
			return fmt.Errorf("%s: more than %d files are reached through symbolic links", quote(p.path+list.name(e)), maxLinked)
		}
	}
	if e.dir {
		return w.subdirectory(o, e, s.take(i))
	}
	if i > 0 && list.sameKey(e, &list.entries[i-1]) {
		if name := list.name(e); w.o.Variant != nil && w.o.Variant(name) {
			w.o.LeftOut(p.path+name, Beside)
			return nil
		}
		return fmt.Errorf("%s and %s would have the same URI %s%s",
			quote(p.path+list.name(&list.entries[i-1])), quote(p.path+list.name(e)), p.uri, list.key(e))
	}
	f := w.file(p, list, e)
	if len(f.URI) > maxURI {
		return errLongURI(f.Path)
	}
	var err error
	f.Stat, err = w.stat(o, f.Path[len(p.path):], i)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		w.o.LeftOut(f.Path, Vanished)
		return nil
	case err != nil:
		return fmt.Errorf("looking at %s: %w", quote(f.Path), cause(err))
	case !f.Mode.IsRegular():
		return fmt.Errorf("%s changed into something else while the source was listed", quote(f.Path))
	}
	if !w.yield(f, nil) {
		return errStopped
	}
	return nil
}

func (w *walker) stat(o *opened, name string, i int) (st Stat, err error) {
	switch e := &o.list.entries[i]; {
	case w.o.NamesOnly:
		return Stat{}, nil
	case e.link != "":
		return w.tree.Lstat(e.link)
	case o.ahead != nil:
		st, err = o.ahead.at(w.ctx, i)
		if !errors.Is(err, fs.ErrNotExist) {
			return st, err
		} // and it may be there again
	}
	return o.dir.Lstat(name)
}

// subdirectory walks what was opened, unless it has vanished.
func (w *walker) subdirectory(parent *opened, e *entry, o *opened) error {
	if !o.vanished {
		if err := w.walk(o); err != nil {
			return err
		}
	}
	if w.isReplaced(parent, e, o) {
		return fmt.Errorf("%s was replaced while the source was listed: run again", &o.place)
	}
	if o.vanished {
		w.o.LeftOut(strings.TrimSuffix(o.path, "/"), Vanished)
	}
	return nil
}

// isReplaced reports whether another directory has taken the name of one that
// was listed. What was missing from the old one, which may be being removed,
// says nothing of the new one.
func (w *walker) isReplaced(parent *opened, e *entry, o *opened) bool {
	if w.o.NamesOnly {
		return false
	}
	st, err := Stat{}, error(nil)
	if e.link == "" {
		st, err = parent.dir.Lstat(parent.list.name(e))
	} else {
		var real string
		if real, err = w.tree.Resolve(parent.path + parent.list.name(e)); err == nil && real != e.link {
			return true
		}
		st, err = w.tree.Lstat(e.link)
	}
	return err == nil && (o.vanished || st.Inode != o.inode)
}

// errLongURI is the error for what has a URI that nobody can use.
func errLongURI(path string) error {
	return fmt.Errorf("%s has a URI of more than %d bytes: leave it out with --exclude", quote(path), maxURI)
}

// quote puts a path into a message, without the middle of a very long one.
func quote(path string) string {
	const most, end = 300, 100
	if len(path) > most {
		return strconv.Quote(path[:end]) + "…" + strconv.Quote(path[len(path)-end:])
	}
	return strconv.Quote(path)
}

// file makes the strings of a File, many of which share one piece of memory.
func (w *walker) file(p *place, list *listing, e *entry) *File {
	f := &w.next
	name, key := list.nameBytes(e), list.keyBytes(e)
	f.URI = w.join(p.uri, key)
	if relative := f.URI[len(w.o.Prefix):]; len(key) == len(name) && e.keyStart == e.start && relative[:len(relative)-len(key)] == p.path {
		f.Path = relative
	} else {
		f.Path = w.join(p.path, name)
	}
	switch {
	case e.link != "":
		f.Real = e.link
	case p.real == p.path:
		f.Real = f.Path
	default:
		f.Real = w.join(p.real, name)
	}
	return f
}

// join is a + b, cut from a larger piece of memory.
func (w *walker) join(a string, b []byte) string {
	const piece = 32 << 10
	if n := len(a) + len(b); w.strings.Cap()-w.strings.Len() < n {
		w.strings = strings.Builder{}
		w.strings.Grow(max(piece, n))
	}
	start := w.strings.Len()
	w.strings.WriteString(a)
	w.strings.Write(b)
	return w.strings.String()[start:]
}

// follow finds out where a symbolic link leads, and whether to go there.
func (w *walker) follow(p *place, path string) (real string, st Stat, why Reason, err error) {
	if w.o.SkipSymlinks {
		return "", Stat{}, Symlink, nil
	}
	real, err = w.tree.Resolve(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG):
		return "", Stat{}, DanglingLink, nil
	case errors.Is(err, ErrOutside):
		return "", Stat{}, OutsideLink, nil
	case errors.Is(err, errLoop):
		return "", Stat{}, LoopLink, nil
	case err != nil:
		return "", Stat{}, "", err
	}
	st, err = w.tree.Lstat(real)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", Stat{}, DanglingLink, nil
	case err != nil:
		return "", Stat{}, "", err
	case st.Mode.IsDir() && p.isBelow(real):
		return "", Stat{}, LoopLink, nil
	}
	why, err = w.published(real)
	return real, st, why, err
}

// published returns the reason for leaving a link out that leads to what is Wellspring's
// in one of the directories above.
func (w *walker) published(real string) (Reason, error) {
	if len(w.o.Own) == 0 {
		return "", nil
	}
	for dir, rest := "", real; rest != ""; {
		name, below, _ := strings.Cut(rest, "/")
		d, err := w.tree.OpenDir(path.Clean(dir))
		if err != nil {
			return "", err
		}
		info, err := d.Info()
		d.Close()
		if err != nil {
			return "", err
		}
		if w.own(info)(name) != "" {
			return Published, nil
		}
		dir, rest = dir+name+"/", below
	}
	return "", nil
}

// isBelow reports whether a directory is the place itself, or above it on the
// way on which it is reached: to go there would lead back here.
func (p *place) isBelow(real string) bool {
	if real == "." {
		return true
	}
	for q := p; q != nil; q = q.up {
		if strings.HasPrefix(q.real, real+"/") {
			return true
		}
	}
	return false
}

// cause takes the operation and name off an error of package os, which would be
// the base name alone.
func cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	if s, ok := errors.AsType[*os.SyscallError](err); ok {
		return s.Err
	}
	return err
}
