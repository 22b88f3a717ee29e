package generator

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/internal/notify"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// top is what was published above the sets of a publication whose sets have names:
// their Source Description, and the record that guards those of the sets.
type top struct {
	published *snapshot.Sets // nil in a first run, and where a new publication is begun
	last      time.Time
	// folders are those of sets that are published no more, and remove what is
	// removed together with them.
	folders []string
	remove  []string
	// patches are those that lists of these sets name.
	patches map[string]bool
	// parts are the paths of the documents under a Source Description Index, as they
	// will be.
	parts []string
	// ended are the notifications for sets that are published no more, without a time.
	ended []notify.Notification
}

// readPublished finds the last publication of each set.
func (r *run) readPublished() error {
	switch {
	case !r.hasNames():
		return r.sets[0].readPrevious()
	case r.o.Rebase:
		r.report.First = true
		r.replaceAll()
		return nil
	}
	open := snapshot.OpenSets
	if r.leavesBodies() {
		open = snapshot.OpenSetsElsewhere
	}
	s, err := open(r.out, r.layout)
	switch {
	case errors.Is(err, snapshot.ErrNone):
		return r.beginSets()
	case err != nil:
		return refuseIdentity(plain(err))
	case r.o.Previous.First && r.o.DryRun:
		return r.refuseFirst()
	}
	r.top.published, r.top.last = s, s.Last
	r.warnOfPublished(s.Missing, s.Altered)
	return r.readSets(s)
}

// beginSets makes sure that a first publication does not mix with other files.
func (r *run) beginSets() error {
	if r.mustHavePrevious() {
		return &MissingError{r.place()}
	}
	r.report.First = true
	if err := r.checkTop(); err != nil {
		return err
	}
	for _, set := range r.sets {
		set.found.First = true
		if err := set.checkFolder(); err != nil {
			return set.failed(err)
		}
	}
	return nil
}

// readSets finds out which sets go on, which are new, and which are gone.
func (r *run) readSets(s *snapshot.Sets) error {
	known := 0
	for _, set := range r.sets {
		var err error
		if slices.Contains(s.Folders, set.layout.Folder) {
			known++
			err = set.readPrevious()
		} else {
			set.found.First = true
			err = set.checkFolder()
		}
		if err != nil {
			return set.failed(err)
		}
	}
	if known == 0 {
		return &Refusal{
			Why:  fmt.Sprintf("none of the sets that are published (%s) is in the settings: they would all be removed", strings.Join(s.Folders, ", ")),
			Flag: "--rebase",
		}
	}
	for _, folder := range s.Folders {
		if slices.ContainsFunc(r.sets, func(set *resourceSet) bool { return set.layout.Folder == folder }) {
			continue
		}
		if err := r.endSet(folder); err != nil {
			return err
		}
	}
	return nil
}

// endSet plans to remove a set that is not in the settings any more.
func (r *run) endSet(folder string) error {
	l, err := r.layout.OfSet(folder)
	if err != nil {
		return err
	}
	s, err := snapshot.OpenElsewhere(r.out, l)
	if err != nil {
		return fmt.Errorf("reading the set in %s, which is published no more: %w", folder, plain(err))
	}
	files, err := s.Files()
	if err == nil {
		err = r.endVersions(s)
	}
	if err == nil {
		r.top.patches, err = r.patchesOf(s, r.top.patches)
	}
	if err != nil {
		return fmt.Errorf("reading the set in %s, which is published no more: %w", folder, plain(err))
	}
	removed := "are removed"
	if r.o.DryRun {
		removed = "will be removed"
	}
	r.warn("the set in %s is published no more: its %d documents and packages %s", folder, len(files), removed)
	r.leave(folder, s.Last, files)
	r.tellOfEnd(s, l)
	return nil
}

// endVersions notes which resources of a set that is published no more have versions.
func (r *run) endVersions(s *snapshot.Snapshot) error {
	for e, err := range s.Resources(context.Background()) {
		if err != nil {
			return err
		}
		if timeMap := r.timeMapOf(e); timeMap != "" {
			r.versions.ended[timeMap] = true
		}
	}
	return nil
}

// leave plans to remove files of a folder that is published no more.
func (r *run) leave(folder string, last time.Time, files []snapshot.File) {
	r.top.folders = append(r.top.folders, folder)
	r.top.last = latestOf(r.top.last, last)
	for _, f := range files {
		r.top.remove = append(r.top.remove, f.Path)
	}
}

// replaceAll finds out, as far as possible, what a new publication leaves behind in
// place of an old one, with or without sets that have names.
func (r *run) replaceAll() {
	for _, set := range r.sets {
		set.found.First = true
	}
	old := r.layout
	old.Folder = snapshot.FolderOf(r.out, r.layout)
	r.top.last = snapshot.LastOf(r.out, old)
	record, err := snapshot.ReadRecord(r.out, old)
	if err != nil || record == nil {
		return
	}
	if old, err = layout.New(record.Identity); err != nil {
		return
	}
	if err := r.leaveAll(old, record); err != nil {
		r.warn("the old publication could not be read, so that not all of its files will be removed: %v", err)
	}
}

// leaveAll plans to remove all files of a publication that are not written anew.
func (r *run) leaveAll(old layout.Layout, record *snapshot.Record) error {
	of := &run{layout: old, out: r.out} // which may have other URIs
	if len(record.Sets) == 0 {
		s, err := snapshot.OpenElsewhere(r.out, old)
		if err != nil {
			return err
		}
		files, err := of.filesOf(context.Background(), s, &elsewhere{FS: r.out, fetch: fetchNothing})
		r.leave(old.Folder, s.Last, files)
		return err
	}
	s, err := snapshot.OpenSetsElsewhere(r.out, old)
	if err != nil {
		return err
	}
	r.leave(old.Folder, s.Last, s.Files())
	for _, folder := range s.Folders {
		l, err := old.OfSet(folder)
		if err != nil {
			return err
		}
		set, err := snapshot.OpenElsewhere(r.out, l)
		if err != nil {
			return err
		}
		files, err := of.filesOf(context.Background(), set, &elsewhere{FS: r.out, fetch: fetchNothing})
		if err != nil {
			return err
		}
		r.leave(folder, set.Last, files)
	}
	return nil
}

// sourceDescription returns the Source Description, or its Index with the documents
// under it. See Z39.99-2017 §8.
func (r *run) sourceDescription() (head description, parts []description, err error) {
	var entries []resourcesync.Entry
	for _, set := range r.sets {
		e := capability(set.layout.CapabilityList(), resourcesync.CapabilityList)
		e.Links = aboutLinks(set.o.DescribedBy)
		entries = append(entries, e)
	}
	ref, about := r.layout.SourceDescription(), r.o.DescribedBy
	if about == "" && !r.o.Page.None {
		about = r.layout.Page().URI
	}
	doc := &resourcesync.Document{
		Style: r.layout.StyleFor(ref), Metadata: resourcesync.Metadata{Capability: resourcesync.Description}, Links: aboutLinks(about),
	}
	if len(entries) <= r.o.limits.entries {
		return description{ref, mustMarshal(doc, entries...)}, nil, nil
	}
	part := *doc
	part.Style = r.layout.StyleFor(r.layout.DescriptionPart([32]byte{}))
	part.Links = append(part.Links[:len(part.Links):len(part.Links)], resourcesync.Link{Rel: resourcesync.RelIndex, Href: ref.URI})
	var index []resourcesync.Entry
	for some := range slices.Chunk(entries, r.o.limits.entries) {
		b := mustMarshal(&part, some...)
		at := r.layout.DescriptionPart(sha256.Sum256(b))
		parts = append(parts, description{at, b})
		index = append(index, capability(at, resourcesync.Description))
	}
	if len(index) > r.o.limits.entries {
		return head, nil, fmt.Errorf("%d sets are more than one Source Description Index can hold", len(entries))
	}
	doc.Index = true
	return description{ref, mustMarshal(doc, index...)}, parts, nil
}

// describeSource stages the page for people and the Source Description, which leads to
// it, unless they are as they were.
func (r *run) describeSource(st *stage, at time.Time) error {
	if err := r.putPage(st, at); err != nil {
		return err
	}
	head, parts, err := r.sourceDescription()
	if err != nil {
		return err
	}
	for _, d := range parts {
		r.top.parts = append(r.top.parts, d.ref.Path)
		same, err := r.isPublished(d)
		if err != nil {
			return err
		}
		if same {
			continue
		}
		doc, err := st.complete(d.content)
		if err != nil {
			return err
		}
		if err := st.put(doc, d.ref, true); err != nil {
			return err
		}
	}
	return r.putDescription(st, head)
}

// composeTop stages what leads to the sets, and the record that guards theirs.
func (r *run) composeTop(at time.Time) error {
	st := r.stage
	if err := r.tellEnds(at); err != nil {
		return err
	}
	if err := r.describeSource(st, at); err != nil {
		return err
	}
	r.report.Wrote = len(st.heads) > 0 || len(r.top.remove) > 0 || r.topIsMissing() || r.endsPage() ||
		slices.ContainsFunc(r.sets, func(set *resourceSet) bool { return set.found.Wrote })
	if !r.report.Wrote {
		return nil
	}
	return r.writeTop(st, at, at)
}

// writeTop stages the record of a publication of the time at, and plans what is swept
// by now.
func (r *run) writeTop(st *stage, at, now time.Time) error {
	record := r.newRecord(r.layout, at)
	record.Past = r.past(at)
	for _, set := range r.sets {
		record.Sets = append(record.Sets, set.layout.Folder)
	}
	slices.Sort(record.Sets)
	var err error
	if record.Heads, err = r.topHeads(st); err != nil {
		return err
	}
	if record.Retired, err = r.retireTop(st, now); err != nil {
		return err
	}
	b, err := record.Marshal()
	if err != nil {
		return err
	}
	for _, h := range st.heads {
		r.report.Heads = append(r.report.Heads, h.Path)
	}
	r.report.Heads = append(r.report.Heads, r.layout.Record().Path)
	return st.putBytes(r.layout.Record(), b)
}

// topHeads returns the heads above the sets as they will be: the records of the sets,
// what is for people, and the Source Description.
func (r *run) topHeads(st *stage) ([]snapshot.Head, error) {
	staged := map[string]snapshot.Head{}
	for _, h := range st.heads {
		staged[h.Path] = h
	}
	var paths []string
	for _, set := range r.sets {
		path := set.layout.Record().Path
		paths = append(paths, path)
		if n := len(set.stage.heads); n > 0 && set.stage.heads[n-1].Path == path { // it is the last
			staged[path] = set.stage.heads[n-1]
		}
	}
	var heads []snapshot.Head
	for _, path := range append(append(paths, r.forPeople()...), r.layout.SourceDescription().Path) {
		h, ok := staged[path]
		if !ok {
			var err error
			if h, err = snapshot.HeadOf(r.out, path); err != nil {
				return nil, fmt.Errorf("looking at %s: %w", path, err)
			}
		}
		heads = append(heads, h)
	}
	return heads, nil
}

// retireTop returns the bodies above the sets that are kept although nothing names
// them any more, and plans to remove what is not kept.
func (r *run) retireTop(st *stage, at time.Time) (kept []snapshot.Retired, err error) {
	named := map[string]bool{}
	for _, path := range r.top.parts {
		named[path] = true
	}
	for _, set := range r.sets {
		named[set.layout.CapabilityList().Path] = true // which may be just as it was
		for path := range set.stage.all {
			named[path] = true
		}
	}
	for path := range st.all {
		named[path] = true
	}
	stays := func(path string) bool { return named[path] }
	if s := r.top.published; s != nil && s.Record != nil {
		if err := r.nameBeside(s.Record.Retired, named); err != nil {
			return nil, err
		}
	}
	beside, err := r.obsoleteBeside()
	if err != nil {
		return nil, err
	}
	for _, path := range beside {
		if !st.all[path] {
			kept = append(kept, snapshot.Retired{Path: path, Since: at})
		}
	}
	if s := r.top.published; s != nil {
		for _, part := range s.Parts {
			if !stays(part) {
				kept = append(kept, snapshot.Retired{Path: part, Since: at})
			}
		}
		if s.Record != nil {
			kept = append(kept, r.sweep(s.Record.Retired, at, stays)...)
		}
	}
	if r.endsPage() {
		r.remove(r.layout.Page().Path)
	}
	for _, path := range r.top.remove {
		if !stays(path) && !r.isTopHead(path) {
			r.remove(path)
		}
	}
	return kept, nil
}

// checkTop makes sure that a first publication does not mix with files that somebody
// else put there.
func (r *run) checkTop() error {
	l := r.layout
	if _, err := fs.Stat(r.out, l.SourceDescription().Path); err == nil {
		return foreign(l.SourceDescription().Path)
	}
	return r.checkEmpty(l)
}

// checkFolder makes sure that nothing is in the folder of a set that is new.
func (r *resourceSet) checkFolder() error {
	if !r.hasNames() {
		return r.checkTop()
	}
	return r.checkEmpty(r.layout)
}

func foreign(names ...string) error {
	return &Refusal{
		Why: fmt.Sprintf("there are files in the way that are not of a publication: %s (--folder puts the documents elsewhere)",
			strings.Join(names, ", ")),
		Flag: "--rebase",
	}
}

// checkEmpty makes sure that nothing is where documents are going to be.
func (r *run) checkEmpty(l layout.Layout) error {
	if l.Folder == "." {
		for _, name := range r.documents(l.Folder) {
			if _, err := fs.Stat(r.out, name); err == nil {
				return foreign(name)
			}
		}
		return nil
	}
	entries, err := fs.ReadDir(r.out, l.Folder)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if info, errStat := fs.Stat(r.out, l.Folder); errStat == nil && !info.IsDir() {
		return foreign(l.Folder)
	}
	if err != nil {
		return fmt.Errorf("looking at the folder %s: %w", l.Folder, err)
	}
	return foreign(path.Join(l.Folder, entries[0].Name()))
}
