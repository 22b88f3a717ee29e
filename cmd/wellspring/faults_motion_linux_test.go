package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// mutator changes a tree while builds go on, and notes which bytes each file
// ever had, and which were gone at some time.
type mutator struct {
	t       *testing.T
	r       *rand.Rand
	site    *site
	outside string
	mu      sync.Mutex
	had     map[string]map[string]bool // by URI; "" stands for not being there
}

func (m *mutator) note(name, bytes string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	uri := faultsURL + name
	if m.had[uri] == nil {
		m.had[uri] = map[string]bool{}
	}
	m.had[uri][bytes] = true
}

const mutated = 40

// file is the name of a file, some of which are in a folder of their own.
func (m *mutator) file() string {
	i := m.r.IntN(mutated)
	return fmt.Sprintf("%d/%02d", i%4, i)
}

// set writes a file in place, by which it is empty for a moment.
func (m *mutator) set(name, content string) error {
	native := filepath.Join(m.site.source, name)
	if info, err := os.Lstat(native); err == nil && !info.Mode().IsRegular() {
		m.note(name, "")
		if err := os.RemoveAll(native); err != nil {
			return err
		}
	}
	m.note(name, bytesOf(nil))
	m.note(name, bytesOf([]byte(content)))
	return os.WriteFile(native, []byte(content), 0o644)
}

// step makes one change.
func (m *mutator) step() error {
	name := m.file()
	native := filepath.Join(m.site.source, name)
	content, err := []byte(nil), error(nil)
	if info, e := os.Lstat(native); e == nil && info.Mode().IsRegular() {
		content, err = os.ReadFile(native)
	} else {
		return m.set(name, "again")
	}
	if err != nil {
		return err
	}
	replace := func(make func() error) error {
		m.note(name, "")
		if err := os.Remove(native); err != nil {
			return err
		}
		return make()
	}
	switch m.r.IntN(20) {
	case 0: // vanish
		return replace(func() error { return nil })
	case 1: // grow
		more := strings.Repeat("+", 1+m.r.IntN(70_000))
		m.note(name, bytesOf(append(content, more...)))
		f, err := os.OpenFile(native, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteString(more)
		return errors.Join(err, f.Close())
	case 2: // shrink
		content = content[:len(content)/2]
		m.note(name, bytesOf(content))
		return os.Truncate(native, int64(len(content)))
	case 3:
		return replace(func() error { return syscall.Mkfifo(native, 0o644) })
	case 4:
		return replace(func() error { return os.Symlink(m.outside, native) })
	case 5:
		return replace(func() error {
			m.note(name+"/inner", bytesOf([]byte("inner")))
			m.note(name+"/inner", bytesOf(nil))
			m.note(name+"/inner", "")
			if err := os.Mkdir(native, 0o755); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(native, "inner"), []byte("inner"), 0o644)
		})
	case 6: // another file under the same name
		other := fmt.Sprint(m.r.Int())
		m.note(name, bytesOf([]byte(other)))
		if err := os.WriteFile(m.outside+".next", []byte(other), 0o644); err != nil {
			return err
		}
		return os.Rename(m.outside+".next", native)
	}
	return m.set(name, strings.Repeat(fmt.Sprint(m.r.Int()), 1+m.r.IntN(3000)))
}

// during makes changes for as long as a function runs, and counts them.
func (m *mutator) during(f func()) (steps int) {
	m.t.Helper()
	done := make(chan struct{})
	var changes sync.WaitGroup
	changes.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if err := m.step(); err != nil {
				m.t.Error(err)
				return
			}
			steps++
			time.Sleep(time.Duration(m.r.IntN(1000)) * time.Microsecond)
		}
	})
	f()
	close(done)
	changes.Wait()
	return steps
}

// newMutator returns one with a source to change.
func newMutator(t *testing.T) *mutator {
	t.Helper()
	dir := t.TempDir()
	m := &mutator{
		t: t, r: rand.New(rand.NewPCG(5, 6)), site: newSite(t, dir),
		outside: filepath.Join(dir, "outside"), had: map[string]map[string]bool{},
	}
	if err := os.WriteFile(m.outside, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	for i := range mutated {
		name := fmt.Sprintf("%d/%02d", i%4, i)
		m.site.write(name, "", faultsStart)
		if err := m.set(name, strings.Repeat("first", i)); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// TestSourceInMotion builds while files vanish, grow, shrink and turn into
// other things. No digest and no event is published for what never was.
func TestSourceInMotion(t *testing.T) {
	t.Parallel()
	m := newMutator(t)
	s := m.site
	s.flags = []string{"--max-delete", "100%", "--allow-empty"}
	f := follow(s, faultsStart)
	rounds, failed, steps := 40, 0, 0
	if isLong() {
		rounds = 1000
	}
	for round := 0; round < rounds && !t.Failed(); round++ {
		f.now = f.now.Add(time.Minute)
		before := filesOf(t, s.out)
		var flags []string
		if round%5 == 0 {
			flags = []string{"--checksum"}
		}
		var e ended
		steps += m.during(func() { e = s.run(f.now, flags...) })
		switch {
		case e.code == 0:
		case e.code == 1 && strings.Contains(e.stderr, "Nothing was published.") &&
			(strings.Contains(e.stderr, `reading "`) || strings.Contains(e.stderr, "while the source was listed")):
			failed++
			checkUntouched(t, s, before)
		default:
			t.Errorf("%v", e)
		}
		m.checkEvents(f.check())
		if round%10 == 9 {
			f.settle()
		}
	}
	p := f.settle()
	t.Logf("%d changes in %d rounds, of which %d failed; %d events", steps, rounds, failed, len(p.events))
}

// checkEvents checks that all that is published was there at some time.
func (m *mutator) checkEvents(p *published) {
	m.t.Helper()
	for _, e := range p.events {
		bytes := e.bytes
		if e.change == "deleted" {
			bytes = ""
		}
		if !m.had[e.uri][bytes] {
			m.t.Errorf("%s was %s at %v: it never was %q", e.uri, e.change, e.at, bytes)
		}
	}
}
