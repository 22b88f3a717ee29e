package survey

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// oddNames looks for names that will make trouble elsewhere. Only those of new
// resources are worth a warning: a run that goes on every night shall not repeat
// itself.
type oddNames struct {
	levels []level // the directory of the last file, and those above it
	twins  []string
	more   int // pairs beyond maxTwins

	long      int
	firstLong string
}

// level is one directory. A name that differs from another one in case, or in
// its Unicode normal form, comes later than one with a capital letter, or with one outside ASCII, since
// these are first in the order of URIs; so just such names are kept.
type level struct {
	prefix string // the path of the directory with its slash, or empty
	seen   map[string]seen
}

type seen struct {
	name string
	new  bool
}

const (
	// longURI is where Sitemaps end: a loc has to be shorter.
	longURI  = 2048
	maxTwins = 5
)

func (n *oddNames) look(f *Finding) {
	isNew := f.Reason == "new"
	if isNew && len(f.URI) >= longURI {
		if n.long++; n.long == 1 {
			n.firstLong = f.Path
		}
	}
	if len(n.levels) == 0 {
		n.levels = append(n.levels, level{})
	}
	for !strings.HasPrefix(f.Path, n.top().prefix) {
		n.levels = n.levels[:len(n.levels)-1]
	}
	for {
		top := n.top()
		name, _, isDir := strings.Cut(f.Path[len(top.prefix):], "/")
		top.add(n, name, isNew)
		if !isDir {
			return
		}
		n.levels = append(n.levels, level{prefix: f.Path[:len(top.prefix)+len(name)+1]})
	}
}

func (n *oddNames) top() *level { return &n.levels[len(n.levels)-1] }

func (l *level) add(n *oddNames, name string, isNew bool) {
	keep := hasCapital(name)
	if !keep && l.seen == nil {
		return
	}
	if !utf8.ValidString(name) {
		return // to fold it would make one of all bytes that are no text
	}
	folded := norm.NFC.String(strings.ToLower(name))
	other, ok := l.seen[folded]
	if ok && other.name != name && (isNew || other.new) {
		n.pair(l.prefix+other.name, l.prefix+name)
	}
	if keep && !ok {
		if l.seen == nil {
			l.seen = map[string]seen{}
		}
		l.seen[folded] = seen{name, isNew}
	}
}

func (n *oddNames) pair(a, b string) {
	if len(n.twins) == maxTwins {
		n.more++
		return
	}
	format := "%q and %q"
	if !strings.EqualFold(a, b) { // they look alike, and only escapes tell them apart
		format = "%+q and %+q"
	}
	n.twins = append(n.twins, fmt.Sprintf(format, a, b))
}

// hasCapital reports whether a name has a capital letter, or anything of which
// this takes more to say.
func hasCapital(name string) bool {
	for i := range len(name) {
		if c := name[i]; 'A' <= c && c <= 'Z' || c >= 0x80 {
			return true
		}
	}
	return false
}

func (n *oddNames) warnings() (w []string) {
	if len(n.twins) > 0 {
		text := strings.Join(n.twins, ", ")
		if n.more > 0 {
			text += fmt.Sprintf(" and %d more pairs", n.more)
		}
		w = append(w, "names that differ in nothing but case or Unicode normal form, which some hosts and file systems take for one: "+text)
	}
	switch {
	case n.long == 1:
		w = append(w, fmt.Sprintf("%q has a URI of %d characters or more, which some harvesters will not take", n.firstLong, longURI))
	case n.long > 1:
		w = append(w, fmt.Sprintf("%q and %d more have URIs of %d characters or more, which some harvesters will not take",
			n.firstLong, n.long-1, longURI))
	}
	return w
}

// modified gathers modification times, to tell those of the files from those of
// a checkout.
type modified struct {
	files   int
	minutes map[int64]int
}

const (
	// fewFiles can have been written together.
	fewFiles = 50
	// manyMinutes bounds the memory. Times that differ so much are those of the
	// files.
	manyMinutes = 1000
)

func (m *modified) add(t time.Time) {
	if m.minutes == nil {
		m.minutes = map[int64]int{}
	}
	m.files++
	if minute := t.Unix() / 60; len(m.minutes) < manyMinutes || m.minutes[minute] > 0 {
		m.minutes[minute]++
	}
}

// atOnce reports whether more than nine in ten files, of fifty or more, were
// modified within about two minutes.
func (m *modified) atOnce() bool {
	if m.files < fewFiles {
		return false
	}
	for minute, n := range m.minutes {
		if (n+m.minutes[minute+1])*10 > m.files*9 {
			return true
		}
	}
	return false
}
