package generator

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
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
	// folders are those of a publication that a new one replaces, and remove
	// what is removed together with it.
	folders []string
	remove  []string
}

// readPrevious finds the last publication, or makes sure that there is none.
func (r *resourceSet) readPrevious() error {
	if r.o.Rebase {
		r.report.First, r.found.First = true, true
		r.readReplaced()
		return nil
	}
	open := snapshot.Open
	if r.leavesBodies() {
		open = snapshot.OpenElsewhere
	}
	s, err := open(r.out, r.layout)
	switch {
	case errors.Is(err, snapshot.ErrNone) && r.mustHavePrevious():
		return &MissingError{r.place()}
	case errors.Is(err, snapshot.ErrNone):
		r.report.First, r.found.First = true, true
		return r.checkFolder()
	case err != nil:
		return refuseIdentity(plain(err))
	case r.o.Previous.First && r.o.DryRun:
		return r.refuseFirst()
	}
	r.prev = previous{snapshot: s, last: s.Last}
	r.warnOfPublished(s.Missing, s.Altered)
	if s.Record == nil {
		r.warn("%s was missing: the documents alone had to say what was published", r.layout.Record().Path)
	} else {
		r.prev.retired = s.Record.Retired
	}
	if err := r.checkInTheWay(); err != nil {
		return err
	}
	return r.readDumps()
}

// mustHavePrevious reports whether it is an error if nothing was published.
func (r *run) mustHavePrevious() bool {
	return !r.o.Previous.First && (r.o.Previous.Required || r.o.Previous.Place != "")
}

// readReplaced finds out, as far as possible, what a new publication leaves
// behind in the old one's place. In the same folder, old documents are replaced
// or retired; another folder is emptied of them.
func (r *resourceSet) readReplaced() {
	folder := snapshot.FolderOf(r.out, r.layout)
	old := r.layout
	old.Folder = folder
	r.prev.last = snapshot.LastOf(r.out, old)
	record, err := snapshot.ReadRecord(r.out, old)
	if err != nil || record == nil {
		return
	}
	if old, err = layout.New(record.Identity); err != nil {
		return
	}
	if len(record.Sets) > 0 {
		r.replaceAll()
		r.prev.remove = slices.DeleteFunc(r.top.remove, func(path string) bool { return path == old.SourceDescription().Path })
		r.prev.folders = r.top.folders
		return
	}
	s, err := snapshot.Open(r.out, old)
	if err != nil {
		r.warn("the old publication could not be read, so that not all of its files will be removed: %v", err)
		return
	}
	r.prev.last = s.Last
	archived, err := s.ArchivedBodies()
	if err != nil {
		r.warn("the old archives could not be read, so that not all of their files will be removed: %v", err)
	}
	bodies := append(s.Bodies(), archived...)
	beside, err := (&run{layout: old, out: r.out}).besideOf(context.Background(), s, &elsewhere{FS: r.out, fetch: fetchNothing})
	if err != nil {
		r.warn("the old lists could not be read, so that not all versions and patches will be removed: %v", err)
	}
	for _, f := range beside {
		bodies = append(bodies, f.Path)
	}
	slices.Sort(bodies)
	bodies = slices.Compact(bodies) // as snapshots share them
	if folder == r.layout.Folder {
		r.prev.retired, r.prev.obsolete = record.Retired, bodies
		r.prev.remove = []string{old.ResourceDump().Path, old.ChangeDump().Path, old.Page().Path} // unless they are written
		for _, kind := range layout.Kinds {
			r.prev.remove = append(r.prev.remove, old.Archive(kind).Path)
		}
		if path := old.FrameworkNotification().Path; record.Head(path) != nil {
			r.prev.remove = append(r.prev.remove, path)
		}
		return
	}
	r.prev.folders = []string{folder}
	r.prev.remove = bodies
	for _, b := range record.Retired {
		r.prev.remove = append(r.prev.remove, b.Path)
	}
	for _, h := range record.Heads {
		if h.Path != old.SourceDescription().Path { // which is where it was
			r.prev.remove = append(r.prev.remove, h.Path)
		}
	}
	r.prev.remove = append(r.prev.remove, old.Record().Path)
}

// reserved returns the URIs that the publication takes.
func (r *run) reserved() reserved {
	own := reserved{description: r.layout.SourceDescription().URI, exact: map[string]bool{}}
	own.add(r.layout, r.documents(r.layout.Folder))
	for _, set := range r.sets {
		own.add(set.layout, r.documents(set.layout.Folder))
	}
	return own
}

// add takes the URIs of the documents in a folder, unless it lies in one whose URIs
// are taken.
func (r *reserved) add(l layout.Layout, documents []string) {
	folder := strings.TrimSuffix(l.Record().URI, path.Base(l.Record().Path))
	if l.Folder != "." {
		if !slices.ContainsFunc(r.prefixes, func(p string) bool { return strings.HasPrefix(folder, p) }) {
			r.prefixes = append(r.prefixes, folder)
		}
		return
	}
	for _, name := range documents {
		if strings.Contains(name, ".") {
			r.exact[folder+name] = true
		} else {
			r.prefixes = append(r.prefixes, folder+name+"/")
		}
	}
}
