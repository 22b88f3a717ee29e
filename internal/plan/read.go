package plan

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"unicode/utf8"

	"github.com/wellspring-sync/wellspring/internal/notify"
)

// Reader reads a plan.
type Reader struct {
	Header  Header
	name    string
	file    *os.File
	lines   *bufio.Reader
	number  int // of the last line
	marks   []Mark
	notices []notify.Notification
}

// Mark says what was done with a plan since it was made.
type Mark struct {
	// Notified is the topic whose subscribers were notified of what the plan
	// changed.
	Notified string `json:"notified,omitempty"`
}

// errNoPlan says that a file is none.
var errNoPlan = errors.New("it is no upload plan")

// longest is how long a line may be, in bytes: names are shorter.
const longest = 1 << 20

// Open opens a plan and reads its header.
func Open(name string) (*Reader, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("opening the upload plan: %w", err)
	}
	r, err := newReader(name, f)
	if err != nil {
		f.Close()
		return nil, err
	}
	r.file = f
	return r, nil
}

func newReader(name string, in io.Reader) (*Reader, error) {
	r := &Reader{name: name, lines: bufio.NewReaderSize(in, 64<<10)}
	if err := r.readHeader(); err != nil {
		return nil, fmt.Errorf("reading the upload plan %s: %w", name, err)
	}
	return r, nil
}

func (r *Reader) readHeader() error {
	line, err := r.line()
	if err != nil {
		return err
	}
	if line == nil || json.Unmarshal(line, &r.Header) != nil {
		return errNoPlan
	}
	return r.Header.check()
}

// line returns the next line, valid until the following call, or nil behind the last
// one. A line that was not written to its end is not there.
func (r *Reader) line() ([]byte, error) {
	var line []byte
	for {
		part, err := r.lines.ReadSlice('\n')
		if line = append(line, part...); len(line) > longest {
			return nil, errNoPlan
		}
		switch {
		case err == nil:
			r.number++
			return line, nil
		case err == io.EOF:
			return nil, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// Files returns the files in the order of their phases; each is valid until the next.
// It can be called once. Marks are known when it has ended.
func (r *Reader) Files() iter.Seq2[*File, error] {
	return func(yield func(*File, error) bool) {
		rank := 0
		var found Header // only counts
		for {
			line, err := r.line()
			if line == nil && err == nil {
				if err = r.Header.checkCounts(&found); err == nil {
					return
				}
			}
			var f *File
			if err == nil {
				f, err = r.parse(line)
			}
			if f != nil {
				found.count(f)
			}
			if err == nil && f != nil {
				if f.Phase.rank() < rank {
					err = fmt.Errorf("the phase %q comes too late", f.Phase)
				}
				rank = f.Phase.rank()
			}
			if err != nil {
				yield(nil, fmt.Errorf("reading the upload plan %s, line %d: %w", r.name, r.number, err))
				return
			}
			if f != nil && !yield(f, nil) {
				return
			}
		}
	}
}

// parse reads a line, which is of a file or, if that is nil, a mark or a notification.
func (r *Reader) parse(line []byte) (*File, error) {
	var l struct {
		jsonFile
		Mark   *Mark                `json:"mark"`
		Notify *notify.Notification `json:"notify"`
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		return nil, err
	}
	if l.Mark != nil {
		r.marks = append(r.marks, *l.Mark)
		return nil, nil
	}
	if l.Notify != nil {
		r.notices = append(r.notices, *l.Notify)
		return nil, nil
	}
	f := &l.File
	f.Path = l.jsonFile.Path
	if l.Raw != nil && !utf8.Valid(l.Raw) {
		f.Path = string(l.Raw)
	}
	return f, f.check()
}

// IsNotified reports whether a mark says that the subscribers of a topic were notified.
func (r *Reader) IsNotified(topic string) bool {
	return slices.Contains(r.marks, Mark{Notified: topic})
}

// Close closes the file.
func (r *Reader) Close() error { return r.file.Close() }

// AddMark writes a mark at the end of a plan, and makes it durable.
func AddMark(name string, m Mark) error {
	b, err := json.Marshal(map[string]Mark{"mark": m})
	if err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	err = appendLine(f, append(b, '\n'))
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("noting in the upload plan what was done: %w", err)
	}
	return nil
}

// appendLine writes a line behind the last one that is whole.
func appendLine(f *os.File, line []byte) error {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	last := make([]byte, 1)
	for ; end > 0; end-- {
		if _, err := f.ReadAt(last, end-1); err != nil {
			return err
		}
		if last[0] == '\n' {
			break
		}
	}
	if err := f.Truncate(end); err != nil {
		return err
	}
	if _, err := f.WriteAt(line, end); err != nil {
		return err
	}
	return f.Sync()
}
