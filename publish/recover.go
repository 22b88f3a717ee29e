package publish

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// recover completes a commit that was begun and not ended.
func (t *Tx) recover() error {
	b, err := t.root.ReadFile(journalName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &IncompleteError{fmt.Errorf("reading the journal of an interrupted run: %w", err)}
	}
	j, err := parseJournal(b)
	if err != nil {
		return &IncompleteError{fmt.Errorf("the journal of an interrupted run is damaged: %w", err)}
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
	for _, p := range j.Puts {
		if !isTarget(p.Path) || !fs.ValidPath(p.Staged) || path.Base(p.Staged) != p.Staged {
			return nil, fmt.Errorf("it names %q and %q", p.Staged, p.Path)
		}
	}
	for _, name := range j.Removes {
		if !isTarget(name) {
			return nil, fmt.Errorf("it names %q", name)
		}
	}
	return j, nil
}

// isTarget reports whether a path may be written or removed.
func isTarget(name string) bool {
	return fs.ValidPath(name) && filepath.IsLocal(filepath.FromSlash(name)) && name != "." && path.Dir(name) != Folder
}

func digestFile(root *os.Root, name string) (int64, []byte, error) {
	f, err := root.Open(name)
	if err != nil {
		return 0, nil, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return n, h.Sum(nil), err
}
