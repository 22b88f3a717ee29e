package snapshot

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// readChangeList reads the head of the Change List, or the whole Index, and
// checks that the lists join.
func (s *Snapshot) readChangeList() error {
	ref := s.layout.ChangeList()
	doc, entries, err := s.readChanges(ref)
	if err != nil {
		return err
	}
	if !doc.Index {
		s.Changes = []ChangeList{{Ref: ref, From: doc.Metadata.From}}
		return damaged(ref.Path, s.checkOpen(doc))
	}
	for i := range entries {
		if err := s.addList(&entries[i]); err != nil {
			return damaged(ref.Path, err)
		}
	}
	if len(s.Changes) == 0 {
		return damaged(ref.Path, errors.New("the Index names no Change List"))
	}
	return s.checkLists(ref.Path)
}

// readChanges reads a document of capability changelist: an Index whole, of a
// list only the head.
func (s *Snapshot) readChanges(ref layout.Ref) (*resourcesync.Document, []resourcesync.Entry, error) {
	doc, entries, err := s.readIndex(ref, resourcesync.ChangeList)
	if err == nil {
		err = s.checkUp(doc)
	}
	if err == nil && doc.Metadata.From.IsZero() {
		err = errors.New("it does not say from which time on it is complete")
	}
	if err != nil {
		return nil, nil, damaged(ref.Path, err)
	}
	s.later(doc.Metadata.From)
	return doc, entries, nil
}

func (s *Snapshot) addList(e *resourcesync.Entry) error {
	ref, err := s.reference(e.Loc, "changelist/")
	if err != nil {
		return err
	}
	md := e.Metadata
	if md.From.IsZero() {
		return fmt.Errorf("its entry for %s has no from", quotedURI(e.Loc))
	}
	s.later(md.Until)
	s.Changes = append(s.Changes, ChangeList{Ref: ref, From: md.From, Until: md.Until, Hash: md.Hash, Length: md.Length})
	return nil
}

// checkLists checks that all lists but the last are closed, that each begins
// where the one before ends, and that they are there.
func (s *Snapshot) checkLists(index string) error {
	last := len(s.Changes) - 1
	for i := range s.Changes {
		c := &s.Changes[i]
		if i == last {
			break
		}
		if c.Until.IsZero() || !c.Until.Equal(s.Changes[i+1].From) {
			return damaged(index, fmt.Errorf("%s does not end where the next list begins", c.URI))
		}
		if s.elsewhere {
			continue
		}
		info, err := stat(s.files, c.Path)
		if err != nil {
			return damaged(c.Path, err)
		}
		if c.Length != info.Size() {
			return damaged(c.Path, errors.New("it has another length than its Index says"))
		}
	}
	open := &s.Changes[last]
	if !open.Until.IsZero() {
		return damaged(index, errors.New("its last Change List is closed"))
	}
	doc, _, err := s.readChanges(open.Ref)
	if err != nil {
		return err
	}
	if doc.Index || !doc.Metadata.From.Equal(open.From) {
		return damaged(open.Path, errors.New("it is not the Change List that its Index names"))
	}
	return damaged(open.Path, s.checkOpen(doc))
}

func (s *Snapshot) checkOpen(doc *resourcesync.Document) error {
	if !doc.Metadata.Until.IsZero() {
		return errors.New("the last Change List is closed")
	}
	return nil
}

func (s *Snapshot) later(t time.Time) {
	if t.After(s.Last) {
		s.Last = t
	}
}

// OpenList describes the open Change List.
type OpenList struct {
	ChangeList
	Entries int
	Bytes   int64     // of the document, which has the entries in it
	Last    time.Time // the latest event, or zero
	// DateTimes is how many events have a datetime, as Z39.99-2017 says it; that
	// of the others is their lastmod, as in Z39.99-2014.
	DateTimes int
}

// OpenList reads the open Change List through. Its events have to be in the
// order of time, none later than the run that wrote it, and about resources of
// the source.
func (s *Snapshot) OpenList() (*OpenList, error) {
	o := &OpenList{ChangeList: s.Changes[len(s.Changes)-1]}
	info, err := stat(s.files, o.Path)
	if err != nil {
		return nil, damaged(o.Path, err)
	}
	o.Bytes = info.Size()
	return o, s.EachChange(o.ChangeList, func(e *resourcesync.Entry) error {
		if err := s.checkEvent(&o.ChangeList, o.Last, e); err != nil {
			return err
		}
		o.Entries++
		o.Last = e.ChangeTime()
		if !e.Metadata.DateTime.IsZero() {
			o.DateTimes++
		}
		return nil
	})
}

// checkEvent checks the event of a Change List that comes after one of the time
// last.
func (s *Snapshot) checkEvent(c *ChangeList, last time.Time, e *resourcesync.Entry) error {
	at := e.ChangeTime()
	switch {
	case at.IsZero():
		return fmt.Errorf("the event for %s has no time", quotedURI(e.Loc))
	case at.Before(c.From), at.Before(last), !c.Until.IsZero() && at.After(c.Until):
		return fmt.Errorf("the event of %s for %s is out of order", resourcesync.FormatDateTime(at), quotedURI(e.Loc))
	case s.Record != nil && at.After(s.Record.At):
		return fmt.Errorf("the event of %s for %s is later than the record of %s",
			resourcesync.FormatDateTime(at), quotedURI(e.Loc), resourcesync.FormatDateTime(s.Record.At))
	case !strings.HasPrefix(e.Loc, s.layout.BaseURL):
		return fmt.Errorf("the event for %s is not below the base URL %q", quotedURI(e.Loc), s.layout.BaseURL)
	}
	return nil
}

// EachChange calls fn for each entry of a Change List.
func (s *Snapshot) EachChange(c ChangeList, fn func(*resourcesync.Entry) error) error {
	f, err := open(s.files, c.Path)
	if err != nil {
		return damaged(c.Path, err)
	}
	defer f.Close()
	for e, err := range entries(resourcesync.NewDecoder(f, resourcesync.Limits{})) {
		if err == nil {
			err = fn(e)
		}
		if err != nil {
			return damaged(c.Path, err)
		}
	}
	return nil
}

// checkLead is for a publication without record: its Resource List may lag
// behind its Change List, but events that the Resource List does not know yet
// would be published twice.
func (s *Snapshot) checkLead() error {
	open, err := s.OpenList()
	if err != nil {
		return err
	}
	s.later(open.Last)
	if open.Last.After(s.At) {
		return damaged(open.Path, fmt.Errorf("it has an event of %s, later than the Resource List of %s",
			resourcesync.FormatDateTime(open.Last), resourcesync.FormatDateTime(s.At)))
	}
	return nil
}

// reference turns a URI from an Index into a document of the publication, which
// has to lie in the folder's subfolder and to have a name that documents have
// there: it will be removed one day.
func (s *Snapshot) reference(uri, subfolder string) (layout.Ref, error) {
	path, ok := s.layout.PathOf(uri)
	if ok && s.layout.Folder != "." {
		subfolder = s.layout.Folder + "/" + subfolder
	}
	if !ok || !strings.HasPrefix(path, subfolder) || !s.layout.IsBody(path) {
		return layout.Ref{}, fmt.Errorf("it names %s, which is not of this publication", quotedURI(uri))
	}
	return layout.Ref{Path: path, URI: uri}, nil
}
