package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// Archive is what was published as an archive. See Archives 0.9.1.
type Archive struct {
	Entries []Archived
	// Parts are the archives under an archive index, if there is one.
	Parts []Part
}

// Archived is a document that is not live any more.
type Archived struct {
	layout.Ref
	Kind          resourcesync.Capability
	At, Completed time.Time // of Resource Lists and Resource Dumps
	From, Until   time.Time // of Change Lists and Change Dumps
	Hash          resourcesync.Hash
	Length        int64 // in bytes
}

// archivable are the kinds of documents that can have archives.
var archivable = [...]resourcesync.Capability{
	resourcesync.ResourceList, resourcesync.ChangeList, resourcesync.ResourceDump, resourcesync.ChangeDump,
}

// readArchives reads the archives, as far as there are any.
func (s *Snapshot) readArchives() error {
	s.Archives = map[resourcesync.Capability]*Archive{}
	for _, kind := range archivable {
		if err := s.readArchive(kind); err != nil {
			return damaged(s.layout.Archive(string(kind)).Path, err)
		}
	}
	return nil
}

func (s *Snapshot) readArchive(kind resourcesync.Capability) error {
	ref := s.layout.Archive(string(kind))
	doc, entries, err := s.readDump(ref, kind.Archive())
	if doc == nil || err != nil {
		return err
	}
	a := &Archive{}
	if a.Parts, entries, err = s.allUnder(doc, entries, ref, kind, kind.Archive()); err != nil {
		return err
	}
	for i := range entries {
		e, err := s.archived(kind, &entries[i])
		if err != nil {
			return err
		}
		a.Entries = append(a.Entries, *e)
	}
	s.Archives[kind] = a
	return nil
}

func (s *Snapshot) archived(kind resourcesync.Capability, e *resourcesync.Entry) (*Archived, error) {
	ref, err := s.reference(e.Loc, string(kind)+"/")
	if err != nil {
		return nil, err
	}
	md := e.Metadata
	if md.At.IsZero() && (md.From.IsZero() || md.Until.IsZero()) {
		return nil, fmt.Errorf("its entry for %s does not say when that was", quotedURI(e.Loc))
	}
	return &Archived{
		Ref: ref, Kind: kind, At: md.At, Completed: md.Completed, From: md.From, Until: md.Until, Hash: md.Hash, Length: md.Length,
	}, nil
}

// PartsOf returns the parts of an archived Resource List, which is an Index.
func (s *Snapshot) PartsOf(a *Archived) ([]Part, error) {
	entries, err := s.readArchived(a)
	if err != nil {
		return nil, err
	}
	return s.dumpParts(a.Ref, "resourcelist/", entries)
}

// Reached returns the paths of an archived document and of all files that it
// names.
func (s *Snapshot) Reached(a *Archived) ([]string, error) {
	files, err := s.reached(a)
	return pathsOf(files), err
}

func pathsOf(files []File) []string {
	paths := make([]string, len(files))
	for i := range files {
		paths[i] = files[i].Path
	}
	return paths
}

func (s *Snapshot) reached(a *Archived) ([]File, error) {
	itself := []File{{Path: a.Path, Length: a.Length, SHA256: a.Hash.Get("sha-256")}}
	switch a.Kind {
	case resourcesync.ChangeList:
		return itself, nil // which names resources
	case resourcesync.ResourceList:
		parts, err := s.PartsOf(a)
		return appendParts(itself, parts), err
	}
	return s.reachedByDump(a, itself)
}

func (s *Snapshot) reachedByDump(a *Archived, files []File) ([]File, error) {
	doc, entries, err := s.readWhole(a)
	if err != nil {
		return nil, err
	}
	parts, entries, err := s.allUnder(doc, entries, a.Ref, a.Kind, a.Kind)
	if err != nil {
		return nil, damaged(a.Path, err)
	}
	files = appendParts(files, parts)
	for i := range entries {
		ref, err := s.reference(entries[i].Loc, string(a.Kind)+"/")
		if err != nil {
			return nil, damaged(a.Path, err)
		}
		md := &entries[i].Metadata
		files = append(files, File{Path: ref.Path, Length: md.Length, SHA256: md.Hash.Get("sha-256")}, File{Path: s.layout.ManifestOf(ref).Path})
	}
	return files, nil
}

func (s *Snapshot) readArchived(a *Archived) ([]resourcesync.Entry, error) {
	doc, entries, err := s.readWhole(a)
	if err == nil && !doc.Index {
		err = damaged(a.Path, errors.New("it is no Index"))
	}
	return entries, err
}

// readWhole reads an archived document, which has to be the one that the archive
// names.
func (s *Snapshot) readWhole(a *Archived) (*resourcesync.Document, []resourcesync.Entry, error) {
	length, sum, err := digest(s.files, a.Path)
	if err == nil && (length != a.Length || sum != a.Hash.Get("sha-256")) {
		err = errors.New("it has another digest or length than its archive says")
	}
	if err != nil {
		return nil, nil, damaged(a.Path, err)
	}
	doc, entries, err := s.read(a.Ref, a.Kind)
	return doc, entries, damaged(a.Path, err)
}

// ReadHead returns the live document of a kind that has archives.
func (s *Snapshot) ReadHead(kind resourcesync.Capability) ([]byte, error) {
	path := s.layout.Live(string(kind)).Path
	b, err := ReadFile(s.files, path)
	return b, damaged(path, err)
}

// ReadPart returns a part of an archived Resource List.
func (s *Snapshot) ReadPart(p *Part) ([]byte, error) {
	b, err := ReadFile(s.files, p.Path)
	if sum := sha256.Sum256(b); err == nil && hex.EncodeToString(sum[:]) != p.Hash.Get("sha-256") {
		err = errors.New("it has another digest than its Index says")
	}
	return b, damaged(p.Path, err)
}

// ArchivedBodies returns the paths of all files that the archives name, with
// those that they lead to.
func (s *Snapshot) ArchivedBodies() ([]string, error) {
	files, err := s.archivedFiles()
	return pathsOf(files), err
}

func (s *Snapshot) archivedFiles() (files []File, err error) {
	for _, kind := range archivable {
		a := s.Archives[kind]
		if a == nil {
			continue
		}
		files = appendParts(files, a.Parts)
		for i := range a.Entries {
			reached, err := s.reached(&a.Entries[i])
			if err != nil {
				return nil, err
			}
			files = append(files, reached...)
		}
	}
	return files, nil
}
