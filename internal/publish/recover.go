package publish

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// recover completes a commit that was begun and not ended.
func (t *Tx) recover() error {
	if _, err := t.root.Lstat(journalName); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil { // so nobody knows whether one was begun
		return fmt.Errorf("looking for the journal of an interrupted run: %w", err)
	}
	var b []byte
	err := isRegular(t.root, journalName)
	if err == nil {
		b, err = t.root.ReadFile(journalName)
	}
	if err != nil {
		return &IncompleteError{fmt.Errorf("reading the journal of an interrupted run: %w", err)}
	}
	j, err := parseJournal(b)
	if err != nil {
		return &IncompleteError{fmt.Errorf("the journal of an interrupted run is damaged: %w", err)}
	}
	if err := t.checkOwned(j); err != nil {
		return &IncompleteError{fmt.Errorf("the journal of an interrupted run is damaged, or was written by something else: %w", err)}
	}
	if err := t.verify(j); err != nil {
		return &IncompleteError{err}
	}
	t.log.Info("completing an interrupted commit", "files", len(j.Puts))
	t.Recovered = true
	return t.apply(j)
}

func parseJournal(b []byte) (*journal, error) {
	j := &journal{}
	if err := json.Unmarshal(b, j); err != nil {
		return nil, err
	}
	if j.Format != journalFormat {
		return nil, fmt.Errorf("it has format %d; this release knows format %d", j.Format, journalFormat)
	}
	return j, j.check()
}

// check makes sure that a journal can be carried out without leaving the
// directory, and as often as it takes.
func (j *journal) check() error {
	put, staged := map[string]bool{}, map[string]bool{}
	for _, p := range j.Puts {
		if !isTarget(p.Path) || !isName(p.Staged) {
			return fmt.Errorf("it names %q and %q", p.Staged, p.Path)
		}
		if put[p.Path] || staged[p.Staged] {
			return fmt.Errorf("it names %q or %q twice", p.Staged, p.Path)
		}
		put[p.Path], staged[p.Staged] = true, true
	}
	for _, name := range j.Removes {
		if !isTarget(name) || put[name] {
			return fmt.Errorf("it names %q", name)
		}
	}
	return nil
}

// checkOwned makes sure that a journal names none but the publication's files.
func (t *Tx) checkOwned(j *journal) error {
	if t.owns == nil {
		return nil
	}
	targets := slices.Clone(j.Removes)
	for _, p := range j.Puts {
		targets = append(targets, p.Path)
	}
	all := map[string]bool{}
	for _, name := range targets {
		all[name] = true
	}
	named := func(path string) bool { return all[path] }
	for _, name := range targets {
		if !t.owns(name, named) {
			return fmt.Errorf("it names %q, which is none of the publication's files", name)
		}
	}
	return nil
}

// isTarget reports whether a path may be written or removed.
func isTarget(name string) bool {
	top, _, _ := strings.Cut(name, "/")
	return isLocal(name) && top != Folder
}

// isName reports whether a staged file may have a name.
func isName(name string) bool { return isLocal(name) && path.Base(name) == name }

func isLocal(name string) bool {
	return fs.ValidPath(name) && filepath.IsLocal(filepath.FromSlash(name)) && name != "."
}

// verify makes sure that what is still staged survived the interruption.
func (t *Tx) verify(j *journal) error {
	for _, p := range j.Puts {
		err := p.isAt(t.root, stagingName+"/"+p.Staged)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("what was staged for %s is damaged: %w", p.Path, err)
		}
	}
	return nil
}

var errOther = errors.New("it has another length or digest")

// isAt returns nil if a file is the one that is put.
func (p *Put) isAt(root *os.Root, name string) error {
	length, digest, err := digestFile(root, name)
	if err == nil && (length != p.Length || hex.EncodeToString(digest) != p.SHA256) {
		return errOther
	}
	return err
}

// isRegular returns an error for what is no regular file: to open a pipe may
// take forever.
func isRegular(root *os.Root, name string) error {
	info, err := root.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", name)
	}
	return err
}

func digestFile(root *os.Root, name string) (int64, []byte, error) {
	if err := isRegular(root, name); err != nil {
		return 0, nil, err
	}
	f, err := root.Open(name)
	if err != nil {
		return 0, nil, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return n, h.Sum(nil), err
}
