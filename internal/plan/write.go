package plan

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/wellspring-sync/wellspring/internal/notify"
)

// Writer makes a plan. What it is given goes into temporary files, one for each phase,
// so that files may come in any order and in any number. It is not safe for concurrent
// use.
type Writer struct {
	name    string
	earlier *Header // of the plan that this one goes on from, or nil
	dir     string  // of temporary files
	spools  map[Phase]*spool
	paths   map[string]bool // what is put or deleted, if there is an earlier plan
	header  Header
	notices []notify.Notification
	gone    map[string]bool // URIs of what is deleted, if there is an earlier plan
}

// spool holds the lines of one phase.
type spool struct {
	file *os.File
	w    *bufio.Writer
}

// nextSuffix is behind the name of a plan whose publication may not be there yet.
const nextSuffix = ".next"

// ErrOther says that a plan in the way is that of another publication.
var ErrOther = errors.New("it is the plan of another publication")

// Names returns the names of the files that a plan with a name may consist of.
func Names(name string) []string {
	return []string{name, name + nextSuffix, name + nextSuffix + tempSuffix}
}

const tempSuffix = ".tmp"

// Create begins a plan for a publication in the state from, or without any state if
// nothing is published. If the last run was stopped between its commit and its plan,
// that is put in place first. A plan that is there and leads to that state is gone on
// from, as nobody has removed it. One of another publication is an error that is
// [ErrOther]. Behind says that the plan that was there leads elsewhere, and will be
// replaced.
func Create(name string, publicationURL string, from *State) (w *Writer, behind bool, err error) {
	w = &Writer{name: name, spools: map[Phase]*spool{}, header: Header{Format: Format, PublicationURL: publicationURL, From: from}}
	if err := w.settle(from); err != nil {
		return nil, false, err
	}
	earlier, err := last(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		err = nil
	case err != nil:
	case earlier.PublicationURL != publicationURL:
		err = ErrOther
	case from != nil && earlier.To.SHA256 == from.SHA256:
		w.earlier, w.paths, w.gone = earlier, map[string]bool{}, map[string]bool{}
	default:
		behind = !earlier.IsEmpty()
	}
	if err != nil {
		return nil, false, err
	}
	if w.dir, err = os.MkdirTemp("", "wellspring-plan-"); err != nil {
		return nil, false, fmt.Errorf("planning the upload in a temporary directory: %w", err)
	}
	return w, behind, nil
}

// settle puts the plan of a run in place that was stopped behind its commit, and
// removes that of one which came to none.
func (w *Writer) settle(from *State) error {
	h, err := last(w.name + nextSuffix)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case from != nil && h.To.SHA256 == from.SHA256 && h.PublicationURL == w.header.PublicationURL:
		return os.Rename(w.name+nextSuffix, w.name)
	}
	return os.Remove(w.name + nextSuffix)
}

// last returns the header of a plan, all of which can be read.
func last(name string) (*Header, error) {
	r, err := readThrough(name, func(*File) error { return nil })
	if err != nil {
		return nil, err
	}
	return &r.Header, nil
}

// readThrough reads all of a plan, and calls do for each file.
func readThrough(name string, do func(*File) error) (*Reader, error) {
	r, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for f, err := range r.Files() {
		if err == nil {
			err = do(f)
		}
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Add adds a file. Of files with the same path, the last one counts only if it is in
// another plan, so none may come twice.
func (w *Writer) Add(f File) error {
	if err := f.check(); err != nil {
		return fmt.Errorf("planning the upload: %w", err)
	}
	if w.paths != nil {
		w.paths[f.key()] = true
		w.gone[f.URI] = f.Phase == Delete
	}
	w.header.count(&f)
	s, err := w.spool(f.Phase)
	if err == nil {
		err = writeLine(s.w, f.line())
	}
	if err != nil {
		return fmt.Errorf("planning the upload: %w", err)
	}
	return nil
}

func (w *Writer) spool(phase Phase) (*spool, error) {
	if s := w.spools[phase]; s != nil {
		return s, nil
	}
	f, err := os.OpenFile(filepath.Join(w.dir, string(phase)), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	s := &spool{f, bufio.NewWriterSize(f, 16<<10)}
	w.spools[phase] = s
	return s, nil
}

// jsonFile is a file as it is written: a path that is not UTF-8 is in bytes.
type jsonFile struct {
	Path string `json:"path,omitempty"`
	Raw  []byte `json:"path_bytes,omitempty"`
	File
}

func (f *File) line() *jsonFile {
	if !utf8.ValidString(f.Path) {
		return &jsonFile{Raw: []byte(f.Path), File: *f}
	}
	return &jsonFile{Path: f.Path, File: *f}
}

// writeLine writes a value on a line of its own.
func writeLine(w io.Writer, value any) error {
	b, err := json.Marshal(value)
	if err == nil {
		_, err = w.Write(append(b, '\n'))
	}
	return err
}

// IsNeeded reports whether the plan that is there has to be replaced, although nothing
// has changed: if there is none, or it does not lead to what is published.
func (w *Writer) IsNeeded() bool { return w.earlier == nil }

// Prepare writes the plan beside the one that is there, before what it is about is
// committed. The header is completed: counts, and where an earlier plan began.
func (w *Writer) Prepare(h Header) error {
	h.Format, h.PublicationURL, h.From = Format, w.header.PublicationURL, w.header.From
	h.Puts, h.PutBytes, h.Deletes = w.header.Puts, w.header.PutBytes, w.header.Deletes
	if err := h.check(); err != nil {
		return fmt.Errorf("planning the upload: %w", err)
	}
	temp := w.name + nextSuffix + tempSuffix
	err := w.write(temp, h)
	if err == nil {
		err = os.Rename(temp, w.name+nextSuffix)
	}
	if err != nil {
		os.Remove(temp)
		return fmt.Errorf("writing the upload plan: %w", err)
	}
	return nil
}

func (w *Writer) write(name string, h Header) error {
	// What a stopped run left goes first; a link to another file is not followed.
	if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(f, 64<<10)
	err = w.writeAll(out, h)
	return errors.Join(err, out.Flush(), f.Sync(), f.Close())
}

// writeAll writes header and files, those of the earlier plan, if there is one, before
// those of this one in each phase.
func (w *Writer) writeAll(out *bufio.Writer, h Header) error {
	if w.earlier != nil {
		var kept Header // only counts
		err := w.eachEarlier(func(f *File) error {
			kept.count(f)
			return nil
		})
		if err != nil {
			return err
		}
		h.From, h.Apart = w.earlier.From, h.Apart || w.earlier.Apart
		h.Through = append(w.earlier.Through, w.earlier.To)
		h.Through = h.Through[max(0, len(h.Through)-mostThrough):]
		h.Puts, h.PutBytes, h.Deletes = h.Puts+kept.Puts, h.PutBytes+kept.PutBytes, h.Deletes+kept.Deletes
	}
	if err := writeLine(out, &h); err != nil {
		return err
	}
	if err := w.writeNotices(out); err != nil {
		return err
	}
	return w.writeFiles(out)
}

func (w *Writer) writePhase(out io.Writer, phase Phase) error {
	s := w.spools[phase]
	if s == nil {
		return nil
	}
	if err := s.w.Flush(); err != nil {
		return err
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := io.Copy(out, s.file)
	return err
}

// eachEarlier calls do for each file of the earlier plan that this one does not speak
// of.
func (w *Writer) eachEarlier(do func(*File) error) error {
	if w.earlier == nil {
		return nil
	}
	_, err := readThrough(w.name, func(f *File) error {
		if w.paths[f.key()] {
			return nil
		}
		return do(f)
	})
	return err
}

// writeFiles writes the files of both plans.
func (w *Writer) writeFiles(out *bufio.Writer) error {
	next := 0 // phase of this plan
	upTo := func(rank int) error {
		for ; next < rank; next++ {
			if err := w.writePhase(out, Phases[next]); err != nil {
				return err
			}
		}
		return nil
	}
	err := w.eachEarlier(func(f *File) error {
		if err := upTo(f.Phase.rank()); err != nil {
			return err
		}
		return writeLine(out, f.line())
	})
	if err != nil {
		return err
	}
	return upTo(len(Phases))
}

// Commit puts the plan in place, once what it is about was committed.
func (w *Writer) Commit() error {
	if err := os.Rename(w.name+nextSuffix, w.name); err != nil {
		return fmt.Errorf("putting the upload plan in place: %w", err)
	}
	return nil
}

// Close removes temporary files. Nothing happens if w is nil.
func (w *Writer) Close() error {
	if w == nil {
		return nil
	}
	for _, s := range w.spools {
		s.file.Close()
	}
	return os.RemoveAll(w.dir)
}
