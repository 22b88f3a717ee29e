package plan

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"
)

// List is a file with the names of files that are uploaded, or deleted, by one command.
type List struct {
	Name         string
	Source       bool   // names are relative to the source
	Type         string // media type to be told, or empty if the tool finds it out
	CacheControl string // or empty
	Delete       bool
}

// Lists are the files in a directory that tools read.
type Lists struct {
	Header Header
	Files  []List // in the order in which they are to be carried out, without the record
}

// ours are the names in a directory of lists.
var ours = regexp.MustCompile(`^([0-9]{2}-[a-z-]+(\.xml)?\.(txt|sftp)|purge(-resources)?\.txt|upload\.sh)$`)

// PurgeFile lists the URIs of documents that changed in place, for caches that have to
// be told, and PurgeResourcesFile those of resources.
const (
	PurgeFile          = "purge.txt"
	PurgeResourcesFile = "purge-resources.txt"
)

// Tool is the name of a program that uploads.
type Tool string

// The tools for which there are lists.
const (
	Rclone Tool = "rclone"
	AWS    Tool = "aws"
	GSUtil Tool = "gsutil"
	SFTP   Tool = "sftp"
)

// WriteLists writes the lists of a plan into a directory, which is made anew: if it is
// there, it may hold nothing but such lists. As batches of commands for sftp they end in
// .sftp, else they have a name on each line and end in .txt. A file that is to be put and
// whose name the tool cannot have is an error.
func WriteLists(r *Reader, dir string, tool Tool) (*Lists, error) {
	if err := clear(dir); err != nil {
		return nil, err
	}
	w := &listWriter{dir: dir, tool: tool, lists: Lists{Header: r.Header}, open: map[string]*list{}, made: map[string]bool{".": true}}
	err := w.writeAll(r)
	if err = errors.Join(err, w.close()); err != nil {
		return nil, err
	}
	return &w.lists, nil
}

// clear makes a directory, or removes what an earlier call wrote into it.
func clear(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !ours.MatchString(e.Name()) || !e.Type().IsRegular() {
			return fmt.Errorf("%s has %q in it, which is not of an upload: choose another directory", dir, e.Name())
		}
	}
	for _, e := range entries {
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

type listWriter struct {
	dir   string
	tool  Tool
	lists Lists
	open  map[string]*list
	made  map[string]bool // directories, by batches
}

// list is one file that is written. Its writer keeps the first error for close.
type list struct {
	file *os.File
	*bufio.Writer
}

func (w *listWriter) writeAll(r *Reader) error {
	for _, name := range [...]string{PurgeFile, PurgeResourcesFile} {
		if _, err := w.create(name); err != nil {
			return err
		}
	}
	for f, err := range r.Files() {
		if err == nil {
			err = w.add(f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// add adds a file to the list that it belongs to, and its URI to those that caches have
// to be told of.
func (w *listWriter) add(f *File) error {
	if why := w.tool.cannotHave(f.Path); why != "" {
		if f.Phase == Delete {
			return nil // it cannot have been put
		}
		return fmt.Errorf("the name %q %s: rename the file, or use --format json", f.Path, why)
	}
	w.purge(f)
	if f.Phase == Record {
		return nil // it is put by itself, on conditions
	}
	l, err := w.listOf(f)
	if err != nil {
		return err
	}
	switch w.tool {
	case SFTP:
		w.writeCommands(l, f)
	case Rclone:
		l.WriteString(rcloneNames.Replace(f.Path) + "\n")
	default:
		l.WriteString(f.Path + "\n")
	}
	return nil
}

// cannotHave says why a tool cannot upload a file of that name, or nothing. Names in
// buckets are UTF-8: what else there is, tools refuse, or put under another name.
func (t Tool) cannotHave(name string) string {
	switch {
	case t != Rclone && strings.ContainsAny(name, "\r\n"):
		return "has a line break in it, which lists cannot have"
	case t == Rclone && strings.Contains(name, rcloneQuote):
		return "has the sign in it with which rclone quotes, and which it does not always find again"
	case t != SFTP && !utf8.ValidString(name):
		return "is not UTF-8, which names in a bucket have to be"
	}
	return ""
}

const rcloneQuote = "‛"

// rcloneNames turns names into those that rclone has for them, in lists as well: signs
// that stand for control characters, and a quote before such signs in names. A name as
// it is would be taken for another one, and left out without a word.
var rcloneNames = func() *strings.Replacer {
	const pictures = '␀'
	var pairs []string
	for c := rune(1); c <= 0x7f; c++ {
		picture := pictures + c
		switch {
		case c == 0x7f:
			picture = '␡'
		case c >= ' ':
			continue
		}
		pairs = append(pairs, string(c), string(picture), string(picture), rcloneQuote+string(picture))
	}
	return strings.NewReplacer(pairs...)
}()

func (w *listWriter) purge(f *File) {
	switch {
	case f.Source:
		w.open[PurgeResourcesFile].WriteString(f.URI + "\n")
	case f.Phase != Bodies && f.Phase != Delete:
		w.open[PurgeFile].WriteString(f.URI + "\n")
	}
}

// listOf returns the list of a file, and begins it if need be.
func (w *listWriter) listOf(f *File) (*list, error) {
	what := List{Source: f.Source, Delete: f.Phase == Delete, CacheControl: f.CacheControl}
	name := fmt.Sprintf("%02d-%s", f.Phase.rank()+1, f.Phase)
	switch {
	case what.Delete && f.Source:
		name += "-resources"
	case !f.Source && f.Type == "application/xml":
		what.Type, name = f.Type, name+".xml"
	}
	if name += ".txt"; w.tool == SFTP {
		name = strings.TrimSuffix(name, ".txt") + ".sftp"
	}
	if l := w.open[name]; l != nil {
		return l, nil
	}
	what.Name = name
	w.lists.Files = append(w.lists.Files, what)
	return w.create(name)
}

func (w *listWriter) create(name string) (*list, error) {
	f, err := os.OpenFile(filepath.Join(w.dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	l := &list{f, bufio.NewWriterSize(f, 16<<10)}
	w.open[name] = l
	return l, nil
}

func (w *listWriter) close() error {
	var errs []error
	for _, l := range w.open {
		errs = append(errs, l.Flush(), l.file.Close())
	}
	return errors.Join(errs...)
}

// writeCommands writes what sftp does with a file: it is put under another name first,
// so that nobody reads half of it, and which no other file has: one of its own digest.
func (w *listWriter) writeCommands(l *list, f *File) {
	name := word(f.Path)
	if f.Phase == Delete {
		fmt.Fprintf(l, "-rm %s\n", name)
		return
	}
	w.mkdir(l, path.Dir(f.Path))
	part := word(path.Join(path.Dir(f.Path), ".wellspring-"+f.SHA256[:16]+".part"))
	fmt.Fprintf(l, "put %s %s\nrename %s %s\n", name, part, part, name)
}

func (w *listWriter) mkdir(l *list, dir string) {
	if w.made[dir] {
		return
	}
	w.made[dir] = true
	w.mkdir(l, path.Dir(dir))
	fmt.Fprintf(l, "-mkdir %s\n", word(dir))
}

// word makes one word of a name in a batch for sftp, which is never an option nor a
// pattern. In quotes, sftp has no way to say that a backslash stands before a quote.
func word(name string) string {
	b := []byte("./")
	for i := range len(name) {
		if c := name[i]; c < utf8.RuneSelf && !isPlain(c) {
			b = append(b, '\\')
		}
		b = append(b, name[i])
	}
	return string(b)
}

func isPlain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("/._-", c) >= 0
}
