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
		e, belongs, err := w.decide(p, l, own, name, mode)
		if err != nil || !belongs {
			return err
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

// decide returns the entry of something, and whether it belongs to the source.
func (w *walker) decide(p *place, l *listing, own func(string) Reason, name string, mode fs.FileMode) (entry, bool, error) {
	e := entry{dir: mode.IsDir(), included: p.included}
	why := own(name)
	if why == "" && (e.dir || mode.IsRegular()) && w.o.Rules.takesAsUsual(name, p.path == "") {
		return e, true, nil // as nearly everything does, without a path of its own
	}
	path := p.path + name
	if why != "" {
		l.leave(path, why)
		return e, false, nil
	}
	if mode&fs.ModeSymlink != 0 {
		// The rules come first, so that links which they leave out are no
		// trouble; they come again below, when it is known what the link is.
		if why := w.o.Rules.leaveOut(path, name, false); why != "" {
			l.leave(path, why)
			return e, false, nil
		}
		real, st, why, err := w.follow(p, path)
		if err != nil {
			return e, false, err
		}
		if why != "" {
			l.leave(path, why)
			return e, false, nil
		}
		if why := w.o.Rules.leaveOutTarget(real, st.Mode.IsDir()); why != "" {
			l.leave(path, why)
			return e, false, nil
		}
		mode, e.dir, e.link = st.Mode, st.Mode.IsDir(), real
	}
	if !mode.IsDir() && !mode.IsRegular() {
		l.leave(path, Special)
		return e, false, nil
	}
	included, why := w.o.Rules.judge(path, name, e.dir, p.included)
	if why != "" {
		l.leave(path, why)
		return e, false, nil
	}
	e.included = included
	return e, true, nil
}

func (l *listing) leave(path string, why Reason) { l.left = append(l.left, leftOut{path, why}) }

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
