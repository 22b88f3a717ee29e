package generator

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/snapshot"
)

// previous is what there is to go on from.
type previous struct {
	// snapshot is nil in a first run, and where a new publication is begun.
	snapshot *snapshot.Snapshot
	// last is the latest time that was published, or zero.
	last time.Time
	// retired are bodies that were retired before; obsolete are those that a
	// new publication leaves behind.
	retired  []snapshot.Retired
	obsolete []string
}

// readPrevious finds the last publication, or makes sure that there is none.
func (r *run) readPrevious() error {
	if r.o.Rebase {
		r.report.First = true
		r.readReplaced()
		return nil
	}
	s, err := snapshot.Open(r.out, r.layout)
	var identity *snapshot.IdentityError
	switch {
	case errors.Is(err, snapshot.ErrNone):
		r.report.First = true
		return r.checkFolder()
	case errors.As(err, &identity):
		return &Refusal{Why: identity.Error(), Flag: "--rebase"}
	case err != nil:
		return err
	}
	r.prev = previous{snapshot: s, last: s.Last}
	for _, path := range s.Missing {
		r.warn("%s was missing", path)
	}
	if s.Record == nil {
		r.warn("%s was missing: the documents alone had to say what was published", r.layout.Record().Path)
	} else {
		r.prev.retired = s.Record.Retired
	}
	return nil
}

// checkFolder makes sure that a first publication does not mix with files that
// somebody else put there.
func (r *run) checkFolder() error {
	foreign := func(names ...string) error {
		return &Refusal{
			Why: fmt.Sprintf("there are files in the way that are not of a publication: %s (--folder puts the documents elsewhere)",
				strings.Join(names, ", ")),
			Flag: "--rebase",
		}
	}
	if _, err := fs.Stat(r.out, r.layout.SourceDescription().Path); err == nil {
		return foreign(r.layout.SourceDescription().Path)
	}
	if r.layout.Folder == "." {
		for _, name := range r.layout.Documents() {
			if _, err := fs.Stat(r.out, name); err == nil {
				return foreign(name)
			}
		}
		return nil
	}
	entries, err := fs.ReadDir(r.out, r.layout.Folder)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking at the folder %s: %w", r.layout.Folder, err)
	}
	return foreign(path.Join(r.layout.Folder, entries[0].Name()))
}

// readReplaced finds out, as far as possible, what a new publication leaves
// behind in the old one's place.
func (r *run) readReplaced() {
	l := r.layout
	b, err := fs.ReadFile(r.out, l.Record().Path)
	if err != nil {
		return
	}
	record, err := snapshot.ParseRecord(b)
	if err != nil {
		return
	}
	r.prev.last = record.At
	r.prev.retired = record.Retired
	if l, err = layout.New(record.Identity); err != nil {
		return
	}
	s, err := snapshot.Open(r.out, l)
	if err != nil {
		r.warn("the old publication could not be read, so that not all of its files will be removed: %v", err)
		return
	}
	r.prev.last = s.Last
	r.prev.obsolete = s.Bodies()
}

// reserved returns the URIs that the publication takes.
func (r *run) reserved() reserved {
	l := r.layout
	own := reserved{exact: map[string]bool{l.SourceDescription().URI: true}}
	folder := strings.TrimSuffix(l.Record().URI, path.Base(l.Record().Path))
	if l.Folder != "." {
		own.prefixes = []string{folder}
		return own
	}
	for _, name := range l.Documents() {
		if strings.Contains(name, ".") {
			own.exact[folder+name] = true
		} else {
			own.prefixes = append(own.prefixes, folder+name+"/")
		}
	}
	return own
}
