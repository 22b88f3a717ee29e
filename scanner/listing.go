package scanner

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// listing is the content of one directory, packed, since there are directories
// with a million files.
type listing struct {
	text    []byte // names, each followed by its key where that differs
	entries []entry
	left    []leftOut
}

// leftOut is an entry that does not belong to the source.
type leftOut struct {
	path string
	why  Reason
}

type entry struct {
	start    uint32 // in text
	nameLen  uint16
	keyLen   uint16
	keyStart uint32
	dir      bool
	included bool   // named by a rule, with all below it
	link     string // for a symbolic link, the path it leads to
}

func (l *listing) name(e *entry) string { return string(l.nameBytes(e)) }
func (l *listing) key(e *entry) string  { return string(l.keyBytes(e)) }

func (l *listing) nameBytes(e *entry) []byte { return l.text[e.start:][:e.nameLen] }
func (l *listing) keyBytes(e *entry) []byte  { return l.text[e.keyStart:][:e.keyLen] }

func (l *listing) sameKey(a, b *entry) bool { return bytes.Equal(l.keyBytes(a), l.keyBytes(b)) }

// list reads a directory, decides what belongs to the source, and sorts it.
func (w *walker) list(d Dir, p *place, info fs.FileInfo) (*listing, error) {
	l, own := &listing{}, w.own(info)
	err := d.Entries(func(name string, mode fs.FileMode) error {
		if w.ctx.Err() != nil {
			return context.Cause(w.ctx)
		}
		e, why, err := w.decide(p, own, name, mode)
		if err != nil {
			return err
		}
		if why != "" {
			l.left = append(l.left, leftOut{p.path + name, why})
			return nil
		}
		return l.add(w.o.Key, name, e)
	})
	if w.ctx.Err() != nil {
		return nil, context.Cause(w.ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", p, cause(err))
	}
	slices.SortFunc(l.entries, func(a, b entry) int {
		if order := bytes.Compare(l.keyBytes(&a), l.keyBytes(&b)); order != 0 {
			return order
		}
		return strings.Compare(l.name(&a), l.name(&b))
	})
	return l, nil
}

func (l *listing) add(key func([]byte, string, bool) []byte, name string, e entry) error {
	start := len(l.text)
	l.text = append(l.text, name...)
	keyStart := len(l.text)
	l.text = key(l.text, name, e.dir)
	if k := l.text[keyStart:]; len(k) >= len(name) && string(k[:len(name)]) == name {
		// The key begins with the name: keep it once.
		l.text = append(l.text[:start], k...)
		keyStart = start
	}
	if uint64(len(l.text)) > 1<<32-1<<20 {
		return fmt.Errorf("more names than can be sorted")
	}
	e.start, e.nameLen = uint32(start), uint16(len(name))
	e.keyStart, e.keyLen = uint32(keyStart), uint16(len(l.text)-keyStart)
	l.entries = append(l.entries, e)
	return nil
}

// decide returns the entry of something, or why it does not belong to the source.
func (w *walker) decide(p *place, own func(string) Reason, name string, mode fs.FileMode) (e entry, why Reason, err error) {
	e = entry{dir: mode.IsDir(), included: p.included}
	if why := own(name); why != "" {
		return e, why, nil
	}
	if (e.dir || mode.IsRegular()) && w.o.Rules.takesAsUsual(name, p.path == "") {
		return e, "", nil // as nearly everything does, without a path of its own
	}
	path := p.path + name
	if mode&fs.ModeSymlink != 0 {
		// The rules come first, so that links which they leave out are no
		// trouble; they come again below, when it is known what the link is.
		if why := w.o.Rules.leaveOut(path, name, false); why != "" {
			return e, why, nil
		}
		real, st, why, err := w.follow(p, path)
		if err != nil {
			return e, "", fmt.Errorf("following the link %s: %w", quote(path), cause(err))
		}
		if why == "" {
			why = w.o.Rules.leaveOutTarget(real, st.Mode.IsDir())
		}
		if why != "" {
			return e, why, nil
		}
		mode, e.dir, e.link = st.Mode, st.Mode.IsDir(), real
	}
	if !mode.IsDir() && !mode.IsRegular() {
		return e, Special, nil
	}
	e.included, why = w.o.Rules.judge(path, name, e.dir, p.included)
	return e, why, nil
}

// own returns a function that says which entries of a directory are
// Wellspring's.
func (w *walker) own(dir fs.FileInfo) func(name string) Reason {
	var here []*Own
	for i := range w.o.Own {
		if sameFile(dir, w.o.Own[i].Dir) {
			here = append(here, &w.o.Own[i])
		}
	}
	return func(name string) (why Reason) {
		for _, o := range here {
			if r := o.why(name); why == "" || r == Published {
				why = r
			}
		}
		return why
	}
}
