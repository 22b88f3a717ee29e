// Package snapshot reads the state of a source out of its last publication, and
// compares it with the state it has now. The publication is the only memory
// there is; it is checked before it is believed.
package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// ErrNone is returned by Open where nothing was published.
var ErrNone = errors.New("nothing is published here")

// IdentityError says that a publication is there that was made under another
// identity.
type IdentityError struct{ Detail string }

func (e *IdentityError) Error() string { return "the publication that is there " + e.Detail }

func otherIdentity(format string, args ...any) error {
	return &IdentityError{fmt.Sprintf(format, args...)}
}

// DamagedError says that what is published does not hold together.
type DamagedError struct {
	Path string
	Err  error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("the previous publication is partly uploaded, stale, or not written by Wellspring: %s: %v", quoted(e.Path), e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// ReadError says that what is published could not be read, which says nothing of
// it.
type ReadError struct {
	Path string
	Err  error
}

func (e *ReadError) Error() string {
	return fmt.Sprintf("reading the previous publication: %s: %v", quoted(e.Path), e.Err)
}

func (e *ReadError) Unwrap() error { return e.Err }

// damaged makes a DamagedError, unless the error says already what is wrong.
func damaged(path string, err error) error {
	if err == nil || is[*DamagedError](err) || is[*IdentityError](err) || is[*ReadError](err) {
		return err
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	for _, passing := range [...]error{syscall.EMFILE, syscall.ENFILE, syscall.EIO, syscall.ENOSPC, syscall.EACCES} {
		if errors.Is(err, passing) { // which says nothing of what is published
			return &ReadError{path, err}
		}
	}
	return &DamagedError{Path: path, Err: err}
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// Snapshot is a publication's state.
type Snapshot struct {
	Recorded
	// At is the time of the Resource List: all that happened up to then is in
	// it. Completed is when it was finished.
	At, Completed time.Time
	// Style is what the Resource List says of its style sheet, as all documents of the
	// publication do.
	Style string
	// Indexed is true if the Resource List is an Index.
	Indexed bool
	// Parts are the documents with the resources: the Resource List itself, or
	// the parts of its Index.
	Parts []Part
	// Changes are the Change Lists, in order. The last one is open. If there is
	// just one, it may be the Change List itself.
	Changes []ChangeList
	// ResourceDump and ChangeDump are nil where there are none.
	ResourceDump *ResourceDump
	ChangeDump   *ChangeDump
	// Archives have the documents that were superseded, by their kind. There
	// is none for kinds without an archive.
	Archives map[resourcesync.Capability]*Archive
	// Hub is the one through which changes of documents are told, or empty.
	Hub string
	// Cutter, if it is set before the resources are read, tells in which
	// package of the Resource Dump each of them is.
	Cutter *layout.PackageCutter

	// elsewhere says not to look whether bodies are there.
	elsewhere bool
	// changesOnly is true if nothing but the Change Lists is looked at.
	changesOnly bool
}

// Part is a document that lists resources.
type Part struct {
	layout.Ref
	At, Completed time.Time
	Hash          resourcesync.Hash // of the document; only for parts of an Index
	Length        int64             // of the document, in bytes
}

// ChangeList is one Change List of those that follow each other.
type ChangeList struct {
	layout.Ref
	From, Until time.Time
	Hash        resourcesync.Hash // of a closed list, as its Index states it
	Length      int64
}

// Open reads what was published: the record, the Source Description, the
// Capability List and the heads of the others. It returns ErrNone, an
// *[IdentityError] or a *[DamagedError] where there is nothing to go on from.
func Open(files fs.FS, l layout.Layout) (*Snapshot, error) {
	return openSnapshot(newSnapshot(files, l))
}

func newSnapshot(files fs.FS, l layout.Layout) *Snapshot {
	return &Snapshot{Recorded: Recorded{files: files, layout: l}}
}

func openSnapshot(s *Snapshot) (*Snapshot, error) {
	l := s.layout
	for _, step := range []func() error{s.readRecord, s.checkHeads, s.find, s.readResourceList, s.readChangeList, s.readResourceDump, s.readChangeDump, s.readArchives} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	if s.Record == nil {
		if err := s.checkLead(); err != nil {
			return nil, err
		}
	} else {
		s.later(s.Record.At)
	}
	if !leavesRoom(s.Last) {
		return nil, damaged(l.ResourceList().Path, fmt.Errorf("it, or a document beside it, is of the year %d, %w", s.Last.Year(), errNoRoom))
	}
	return s, nil
}

// find looks for the two documents by which a publication is known.
func (s *Snapshot) find() error {
	l := s.layout
	found, err := s.isDescribed()
	if err != nil {
		return err
	}
	doc, entries, err := s.read(l.CapabilityList(), resourcesync.CapabilityList)
	switch {
	case isMissing(err):
		if !found {
			return ErrNone
		}
		s.Missing = append(s.Missing, l.CapabilityList().Path)
		return nil
	case err != nil:
		return damaged(l.CapabilityList().Path, err)
	}
	if up := doc.Link(resourcesync.RelUp); up != l.SourceDescription().URI {
		return otherIdentity("has the Source Description %q, not %q", up, l.SourceDescription().URI)
	}
	s.Hub = hubOf(entries, l.FrameworkNotification().URI)
	return s.findNotification()
}

// hubOf returns the hub that a Capability List names for a topic, or nothing.
func hubOf(entries []resourcesync.Entry, topic string) string {
	for i := range entries {
		e := &entries[i]
		if e.Loc != topic || e.Metadata.Capability != resourcesync.FrameworkNotification {
			continue
		}
		for _, link := range e.Links {
			if link.Rel == resourcesync.RelHub {
				return link.Href
			}
		}
	}
	return ""
}

// findNotification notes that the latest notification is lost, if it is.
func (s *Snapshot) findNotification() error {
	path := s.layout.FrameworkNotification().Path
	if s.Hub == "" {
		return nil
	}
	_, err := stat(s.files, path)
	if isMissing(err) {
		s.Missing = append(s.Missing, path)
		return nil
	}
	return damaged(path, err)
}

// isDescribed reports whether the Source Description names the Capability List. That
// of several sets is not looked at: it may not name a set yet, or any more.
func (s *Snapshot) isDescribed() (bool, error) {
	if s.layout.IsOfSet() {
		return s.Record != nil, nil
	}
	err := s.findSourceDescription()
	if err != nil && !isMissing(err) {
		return false, damaged(s.layout.SourceDescription().Path, err)
	}
	if err != nil {
		s.Missing = append(s.Missing, s.layout.SourceDescription().Path)
	}
	return err == nil, nil
}

func (s *Snapshot) findSourceDescription() error {
	l := s.layout
	if _, err := stat(s.files, l.SourceDescription().Path); errors.Is(err, errNotRegular) {
		return fs.ErrNotExist
	}
	_, entries, err := s.read(l.SourceDescription(), resourcesync.Description)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(entries, func(e resourcesync.Entry) bool { return e.Loc == l.CapabilityList().URI }) {
		return nil
	}
	return otherIdentity("has the Capability List %s, not %q", someOf(entries), l.CapabilityList().URI)
}

// someOf names the first entries of a document, for messages.
func someOf(entries []resourcesync.Entry) string {
	const most = 3
	var names []string
	for i := range entries[:min(len(entries), most)] {
		names = append(names, quotedURI(entries[i].Loc))
	}
	text := strings.Join(names, ", ")
	switch more := len(entries) - most; {
	case len(entries) == 0:
		return "nowhere"
	case more > 0:
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// quotedURI returns a URI for messages, without its middle if it is long.
func quotedURI(uri string) string {
	const first, last = 100, 50
	if len(uri) <= first+last+len("…") {
		return strconv.Quote(uri)
	}
	return strconv.Quote(uri[:first] + "…" + uri[len(uri)-last:])
}

// quoted returns a path for messages, in quotes if it does not print as it is.
func quoted(path string) string {
	if q := strconv.Quote(path); q != `"`+path+`"` {
		return q
	}
	return path
}

func (s *Snapshot) readRecord() error {
	if err := s.load(); s.Record == nil || err != nil {
		return err
	}
	if sets := s.Record.Sets; len(sets) > 0 {
		return otherIdentity("has several sets of resources (%s)", strings.Join(sets, ", "))
	}
	return compare(s.Record.Identity, s.layout.Identity)
}

// isMissing reports whether an error says that there is no such file, also
// where a file is in the place of a directory above it.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// compare returns an IdentityError if two identities differ.
func compare(was, now layout.Identity) error {
	for _, x := range [...]struct{ what, was, now string }{
		{"base URL", was.BaseURL, now.BaseURL},
		{"publication URL", was.PublicationURL, now.PublicationURL},
		{"folder", was.Folder, now.Folder},
		{"form of URIs", formName(was.Form), formName(now.Form)},
	} {
		if x.was != x.now {
			return otherIdentity("has the %s %q, not %q", x.what, x.was, x.now)
		}
	}
	return nil
}

func formName(f layout.Form) string {
	if f == layout.PlainURIs {
		return "plain"
	}
	return string(f)
}

// checkHeads compares the heads with the record. Some of them can be written
// again from nothing; the others hold what is known nowhere else.
func (s *Snapshot) checkHeads() error {
	if s.Record == nil {
		return nil
	}
	return s.compareHeads(func(path string) bool { return s.changesOnly && !s.tellsChanges(path) }, s.canBeWrittenAgain)
}

// canBeWrittenAgain reports whether a head says nothing that is not known
// otherwise.
func (s *Snapshot) canBeWrittenAgain(path string) bool {
	l := s.layout
	return path == l.SourceDescription().Path || path == l.CapabilityList().Path || path == l.ResourceDump().Path ||
		path == l.FrameworkNotification().Path
}

// HeadOf describes a document as the record does.
func HeadOf(files fs.FS, path string) (Head, error) {
	length, sum, err := digest(files, path)
	return Head{Path: path, Length: length, SHA256: sum}, err
}

// LastOf returns the latest time that the heads of a publication speak of,
// whatever its identity is and whether it holds together or not. It is zero where
// nothing can be read.
func LastOf(files fs.FS, l layout.Layout) time.Time {
	s := newSnapshot(files, l)
	if r, err := ReadRecord(files, l); err == nil && r != nil {
		s.later(r.At)
	}
	for _, ref := range [...]layout.Ref{l.ResourceList(), l.ChangeList()} {
		f, err := open(files, ref.Path)
		if err != nil {
			continue
		}
		if doc, err := resourcesync.NewDecoder(f, resourcesync.Limits{}).Document(); err == nil {
			for _, t := range [...]time.Time{doc.Metadata.At, doc.Metadata.From} {
				if leavesRoom(t) {
					s.later(t)
				}
			}
		}
		f.Close()
	}
	return s.Last
}

// Bodies returns the paths of all files that the live documents name, but for
// those with fixed names: parts, Change Lists under an Index, packages and their
// manifests.
func (s *Snapshot) Bodies() []string {
	var paths []string
	if s.Indexed {
		for _, p := range s.Parts {
			paths = append(paths, p.Path)
		}
	}
	for _, c := range s.Changes {
		if c.Path != s.layout.ChangeList().Path {
			paths = append(paths, c.Path)
		}
	}
	if s.ResourceDump != nil {
		paths = append(paths, s.ResourceDump.Bodies()...)
	}
	if s.ChangeDump != nil {
		paths = append(paths, s.ChangeDump.Bodies()...)
	}
	return paths
}

func digest(files fs.FS, path string) (length int64, hexDigest string, err error) {
	f, err := open(files, path)
	if err != nil {
		return 0, "", err
	}
	defer f.Close()
	h := sha256.New()
	if length, err = io.Copy(h, f); err != nil {
		return 0, "", err
	}
	return length, hex.EncodeToString(h.Sum(nil)), nil
}

// read reads a whole document, which has to be of a capability.
func (s *Snapshot) read(ref layout.Ref, want resourcesync.Capability) (*resourcesync.Document, []resourcesync.Entry, error) {
	return s.readIf(ref.Path, want, func(*resourcesync.Document) bool { return true })
}

// readIndex reads an Index, or the head of what is none.
func (s *Snapshot) readIndex(ref layout.Ref, want resourcesync.Capability) (*resourcesync.Document, []resourcesync.Entry, error) {
	return s.readIf(ref.Path, want, func(doc *resourcesync.Document) bool { return doc.Index })
}

// readIf reads a document of a capability, and its entries if they are wanted.
func (s *Snapshot) readIf(path string, want resourcesync.Capability, wants func(*resourcesync.Document) bool) (*resourcesync.Document, []resourcesync.Entry, error) {
	f, err := open(s.files, path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	d := resourcesync.NewDecoder(f, resourcesync.Limits{})
	doc, err := head(d, want)
	if err != nil || !wants(doc) {
		return doc, nil, err
	}
	var all []resourcesync.Entry
	for e, err := range entries(d) {
		if err != nil {
			return nil, nil, err
		}
		all = append(all, *e)
	}
	return doc, all, nil
}

// entries yields the entries of a document, each valid until the next. The first error
// is yielded last.
func entries(d *resourcesync.Decoder) iter.Seq2[*resourcesync.Entry, error] {
	return func(yield func(*resourcesync.Entry, error) bool) {
		for {
			e, err := d.Next()
			if err == io.EOF || !yield(e, err) || err != nil {
				return
			}
		}
	}
}

func head(d *resourcesync.Decoder, want resourcesync.Capability) (*resourcesync.Document, error) {
	doc, err := d.Document()
	if err != nil {
		return nil, err
	}
	if got := doc.Metadata.Capability; got != want {
		return nil, fmt.Errorf("its capability is %q, not %q", got, want)
	}
	return doc, nil
}
