package snapshot

import (
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"strings"

	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// Find returns the layout of the publication that is there, whatever its identity
// is: out of its record or, where that is lost, out of its Change List, which
// leaves the base URL empty. The folder is the one that is named, or else the
// usual one, or that to which the Source Description leads. Where nothing is
// published it returns ErrNone, and where there are several sets a *[SetsError].
func Find(files fs.FS, folder string) (layout.Layout, error) {
	folders := []string{folder}
	if folder == "" {
		folders = append(describedFolders(files), "resourcesync")
	}
	for _, find := range []func(fs.FS, layout.Layout) (layout.Layout, error){byRecord, byChangeList} {
		for _, folder := range folders {
			l, err := layout.OfFolder(folder)
			if err == nil {
				l, err = find(files, l)
			}
			if err != ErrNone {
				return l, err
			}
		}
	}
	return layout.Layout{}, ErrNone
}

// SetsError says that a publication has several sets of resources, of which one has to
// be chosen.
type SetsError struct {
	Folders []string
}

func (e *SetsError) Error() string {
	const most = 5
	names, more := e.Folders, ""
	if len(names) > most {
		names, more = names[:most], fmt.Sprintf(" and %d more", len(names)-most)
	}
	return "there are several sets of resources, in the folders " + strings.Join(names, ", ") + more
}

// byRecord finds the identity in the record.
func byRecord(files fs.FS, at layout.Layout) (layout.Layout, error) {
	r, err := ReadRecord(files, at)
	if err != nil {
		return at, err
	}
	if r == nil {
		return at, ErrNone
	}
	if len(r.Sets) > 0 {
		return at, &SetsError{r.Sets}
	}
	l, err := layout.New(r.Identity)
	if err == nil && l.Folder != at.Folder {
		err = fmt.Errorf("it is of a publication in the folder %q", l.Folder)
	}
	return l, damaged(at.Record().Path, err)
}

// byChangeList finds the publication URL in the link to the Capability List.
func byChangeList(files fs.FS, at layout.Layout) (layout.Layout, error) {
	s := newSnapshot(files, at)
	path := at.ChangeList().Path
	doc, _, err := s.readIf(path, resourcesync.ChangeList, func(*resourcesync.Document) bool { return false })
	if isMissing(err) {
		if _, err := stat(files, at.CapabilityList().Path); isMissing(err) {
			return at, ErrNone
		}
	}
	if err != nil {
		return at, damaged(path, err)
	}
	up := doc.Link(resourcesync.RelUp)
	root, ok := strings.CutSuffix(up, at.CapabilityList().URI) // which is relative here
	l, err := layout.New(layout.Identity{BaseURL: root, Folder: at.Folder})
	if !ok || err != nil || l.PublicationURL != root {
		return at, damaged(path, fmt.Errorf("it has the Capability List %s, which is not beside it", quotedURI(up)))
	}
	l.BaseURL = ""
	return l, nil
}

// deepest is how many folders deep a publication is looked for.
const deepest = 20

// describedFolders returns the folders that the Source Description may lead to: as
// long as the publication URL is not known, each end of the path of the Capability
// List may be its path here.
func describedFolders(files fs.FS) (folders []string) {
	at, _ := layout.OfFolder(".")
	s := newSnapshot(files, at)
	_, entries, err := s.read(at.SourceDescription(), resourcesync.Description)
	if err != nil || len(entries) != 1 {
		return nil
	}
	u, err := url.Parse(entries[0].Loc)
	if err != nil {
		return nil
	}
	path, ok := strings.CutSuffix(strings.TrimPrefix(u.Path, "/"), at.CapabilityList().Path)
	if !ok || strings.Count(path, "/") > deepest {
		return nil
	}
	for path != "" {
		if l, err := layout.OfFolder(strings.TrimSuffix(path, "/")); err == nil {
			folders = append(folders, l.Folder)
		}
		_, path, _ = strings.Cut(path, "/")
	}
	return append(folders, ".")
}

// OpenChanges reads what was published of changes, and looks at nothing else: the
// record, and the heads of the Change Lists. It returns an *[IdentityError] or a
// *[DamagedError] where they do not hold together.
func OpenChanges(files fs.FS, l layout.Layout) (*Snapshot, error) {
	s := newSnapshot(files, l)
	s.changesOnly = true
	for _, step := range []func() error{s.readRecord, s.checkHeads, s.readChangeList, s.readChangeArchive} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// readChangeArchive reads the archive of the Change Lists, if there is one.
func (s *Snapshot) readChangeArchive() error {
	s.Archives = map[resourcesync.Capability]*Archive{}
	return damaged(s.layout.Archive(string(resourcesync.ChangeList)).Path, s.readArchive(resourcesync.ChangeList))
}

// AllChanges returns the Change Lists, with those of the archive that lead up to
// them.
func (s *Snapshot) AllChanges() []ChangeList {
	lists := s.Changes
	a := s.Archives[resourcesync.ChangeList]
	if a == nil {
		return lists
	}
	for _, e := range slices.Backward(a.Entries) {
		if !e.Until.Equal(lists[0].From) {
			break // what was between is lost
		}
		older := ChangeList{Ref: e.Ref, From: e.From, Until: e.Until, Hash: e.Hash, Length: e.Length}
		lists = slices.Insert(slices.Clone(lists), 0, older)
	}
	return lists
}

// tellsChanges reports whether a head is a Change List, its Index or the archive.
func (s *Snapshot) tellsChanges(path string) bool {
	return path == s.layout.ChangeList().Path || path == s.layout.Archive(string(resourcesync.ChangeList)).Path || s.layout.IsBody(path)
}

// HasChangeIndex reports whether the Change Lists are under an Index.
func (s *Snapshot) HasChangeIndex() bool {
	return s.Changes[0].Path != s.layout.ChangeList().Path
}
