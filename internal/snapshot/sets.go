package snapshot

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// Sets is what holds a publication with several sets of resources together. Each of
// them has a Snapshot of its own.
type Sets struct {
	Recorded
	// Folders are those of the sets, in order.
	Folders []string
	// Parts are the paths of the documents under a Source Description Index.
	Parts []string

	far bool
}

// OpenSets reads what holds several sets together. It returns ErrNone, an
// *[IdentityError] or a *[DamagedError] where there is nothing to go on from.
func OpenSets(files fs.FS, l layout.Layout) (*Sets, error) {
	return openSets(files, l, false)
}

// OpenSetsElsewhere is OpenSets for a publication that is far away: records of sets
// are compared only once they are read.
func OpenSetsElsewhere(files fs.FS, l layout.Layout) (*Sets, error) {
	return openSets(files, l, true)
}

func openSets(files fs.FS, l layout.Layout, far bool) (*Sets, error) {
	s := &Sets{Recorded: Recorded{files: files, layout: l}, far: far}
	if err := s.load(); err != nil {
		return nil, err
	}
	if err := s.readDescription(); err != nil {
		return nil, err
	}
	if s.Record == nil {
		s.Missing = append(s.Missing, l.Record().Path)
		return s, nil
	}
	if err := compare(s.Record.Identity, l.Identity); err != nil {
		return nil, err
	}
	if len(s.Record.Sets) == 0 {
		return nil, otherIdentity("has one set of resources, in the folder %s", l.Folder)
	}
	s.Folders, s.Last = s.Record.Sets, s.Record.At
	return s, s.checkHeads()
}

// readDescription reads the Source Description, or its Index and what is under it.
// Where the record is lost, it alone says which sets there are.
func (s *Sets) readDescription() error {
	ref := s.layout.SourceDescription()
	entries, index, err := s.readDocument(ref)
	switch {
	case isMissing(err) || errors.Is(err, errNotRegular):
		if s.Record != nil {
			s.Missing = append(s.Missing, ref.Path)
			return nil
		}
		if _, err := stat(s.files, s.layout.CapabilityList().Path); err == nil {
			return otherIdentity("has one set of resources, in the folder %s", s.layout.Folder)
		}
		return ErrNone
	case err != nil:
		return damaged(ref.Path, err)
	}
	if index {
		if entries, err = s.readUnder(entries); err != nil {
			return err
		}
	}
	for i := range entries {
		folder, err := s.folderOf(entries[i].Loc)
		if err != nil {
			return err
		}
		s.Folders = append(s.Folders, folder)
	}
	slices.Sort(s.Folders)
	s.Folders = slices.Compact(s.Folders)
	return nil
}

// readUnder reads the documents under an Index.
func (s *Sets) readUnder(index []resourcesync.Entry) (all []resourcesync.Entry, err error) {
	for i := range index {
		path, ok := s.layout.PathOf(index[i].Loc)
		if !ok || !s.layout.IsBody(path) {
			return nil, damaged(s.layout.SourceDescription().Path, fmt.Errorf("it names %s, which is none of its documents", quotedURI(index[i].Loc)))
		}
		s.Parts = append(s.Parts, path)
		entries, nested, err := s.readDocument(layout.Ref{Path: path, URI: index[i].Loc})
		if err == nil && nested {
			err = errors.New("it is an Index under an Index")
		}
		if isMissing(err) && s.Record != nil { // it is written again
			s.Missing = append(s.Missing, path)
			continue
		}
		if err != nil {
			return nil, damaged(path, err)
		}
		all = append(all, entries...)
	}
	return all, nil
}

func (s *Sets) readDocument(ref layout.Ref) (entries []resourcesync.Entry, index bool, err error) {
	doc, entries, err := newSnapshot(s.files, s.layout).read(ref, resourcesync.Description)
	if err != nil {
		return nil, false, err
	}
	return entries, doc.Index, nil
}

// folderOf returns the folder of the set that has a Capability List.
func (s *Sets) folderOf(uri string) (string, error) {
	list, ok := s.layout.PathOf(uri)
	if !ok {
		return "", otherIdentity("has the Capability List %s, which is not below %s", quotedURI(uri), s.layout.PublicationURL)
	}
	set, err := s.layout.OfSet(path.Dir(list))
	if err == nil && set.Folder == s.layout.Folder && set.CapabilityList().Path == list {
		return "", otherIdentity("has one set of resources, in the folder %s", s.layout.Folder)
	}
	if err != nil || set.CapabilityList().Path != list {
		return "", otherIdentity("has the Capability List %s, which is none of a set in a folder of its own", quotedURI(uri))
	}
	return set.Folder, nil
}

// checkHeads compares the heads with the record.
func (s *Sets) checkHeads() error {
	isFar := func(path string) bool { return s.far && !s.isOwn(path) }
	return s.compareHeads(isFar, func(path string) bool { return path == s.layout.SourceDescription().Path })
}

// isOwn reports whether a head is none of a set.
func (s *Sets) isOwn(path string) bool {
	return path == s.layout.SourceDescription().Path || s.layout.IsForPeople(path)
}

// Files returns what the publication consists of beside the files of its sets, in the
// order of the commit: the record comes last.
func (s *Sets) Files() (files []File) {
	for _, path := range s.Parts {
		files = append(files, File{Path: path, Body: true})
	}
	if s.Record == nil {
		return append(files, File{Path: s.layout.SourceDescription().Path})
	}
	for _, r := range s.Record.Retired {
		files = append(files, File{Path: r.Path, Body: true, Retired: true})
	}
	return append(files, s.recordedFiles(s.isOwn)...)
}
