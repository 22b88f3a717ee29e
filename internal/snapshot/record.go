package snapshot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path"
	"time"

	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// lastYear leaves room for later publications within the years that documents
// can say.
const lastYear = 9998

var errNoRoom = errors.New("which leaves none for a later publication")

// leavesRoom reports whether another publication can be later than a time.
func leavesRoom(t time.Time) bool { return t.Add(time.Second).UTC().Year() <= lastYear }

// RecordFormat is the version of the record's own form.
const RecordFormat = 1

// Record is the file publication.json. It says what the documents cannot: which
// of them belong together, and which bodies are kept for readers that still
// follow an older one.
type Record struct {
	Format   int             `json:"format"`
	Release  string          `json:"release"`
	Identity layout.Identity `json:"identity"`
	// At is the time of the run that wrote the record, in UTC.
	At time.Time `json:"at"`
	// Sets are the folders of the sets of resources, in order, if the publication has
	// several; each then has a record of its own, which is one of the Heads.
	Sets []string `json:"sets,omitempty"`
	// Packages is how the packages of the Resource Dump were cut, if there is
	// one.
	Packages *Packages `json:"packages,omitempty"`
	// Past is nil in a record of a release that knew of none.
	Past *Past `json:"past,omitempty"`
	// Heads are the documents that change in place, but for the record itself.
	Heads []Head `json:"heads"`
	// Retired are bodies that no head reaches any more.
	Retired []Retired `json:"retired,omitempty"`
}

// Packages is the rule by which a Resource Dump was cut into packages.
type Packages struct {
	Size   int64 `json:"size"`   // the largest one, in bytes
	Cutter int   `json:"cutter"` // layout.PackageCutterVersion
}

// Head is one document that changes in place.
type Head struct {
	Path   string `json:"path"`
	Length int64  `json:"length"`
	SHA256 string `json:"sha256"`
}

// Retired is a body that nothing refers to since a run.
type Retired struct {
	Path  string    `json:"path"`
	Since time.Time `json:"since"`
}

// Head returns the entry for a path, or nil.
func (r *Record) Head(path string) *Head {
	for i := range r.Heads {
		if r.Heads[i].Path == path {
			return &r.Heads[i]
		}
	}
	return nil
}

// Marshal returns the record as it is published, or an error if it is longer or
// later than the next run would take.
func (r *Record) Marshal() ([]byte, error) {
	b, err := json.MarshalIndent(r, "", "  ")
	if err == nil && !leavesRoom(r.At) {
		err = fmt.Errorf("the record would be of the year %d, %w", r.At.Year(), errNoRoom)
	}
	if err == nil && len(b) >= maxRecord {
		err = fmt.Errorf("the record would take %d bytes, with %d files that no document names any more: remove them sooner with --grace",
			len(b), len(r.Retired))
	}
	return append(b, '\n'), err
}

// ParseRecord reads a record. Anything unknown in it is an error, since a later
// release may mean something by it that must not be lost.
func ParseRecord(b []byte) (*Record, error) {
	var version struct{ Format int }
	if err := json.Unmarshal(b, &version); err != nil {
		return nil, err
	}
	if version.Format != RecordFormat {
		return nil, fmt.Errorf("it has format %d; this release knows format %d", version.Format, RecordFormat)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	r := &Record{}
	if err := d.Decode(r); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("there is something behind it")
	}
	return r, r.check()
}

func (r *Record) check() error {
	if r.At.IsZero() || r.Identity.BaseURL == "" || len(r.Heads) == 0 {
		return errors.New("it is incomplete")
	}
	if !leavesRoom(r.At) {
		return fmt.Errorf("its time is in the year %d, %w", r.At.Year(), errNoRoom)
	}
	if r.Packages != nil && r.Packages.Size <= 0 {
		return fmt.Errorf("its packages have a size of %d bytes", r.Packages.Size)
	}
	for _, h := range r.Heads {
		if h.Path == "" || len(h.SHA256) != 64 || h.Length < 0 {
			return fmt.Errorf("its entry for %q is incomplete", h.Path)
		}
	}
	for _, b := range r.Retired {
		if b.Path == "" || b.Since.IsZero() {
			return errors.New("an entry of a retired body is incomplete")
		}
	}
	return r.Past.check()
}

// maxRecord is how long a record may be, in bytes: it names some hundred thousand
// retired bodies.
const maxRecord = 64 << 20

// ReadRecord reads the record of a publication in the layout's folder, whatever
// else its identity is. It returns nil where there is none.
func ReadRecord(files fs.FS, l layout.Layout) (*Record, error) {
	r, _, err := readRecord(files, l)
	return r, err
}

// readRecord returns the record also as it is published.
func readRecord(files fs.FS, l layout.Layout) (*Record, []byte, error) {
	path := l.Record().Path
	b, err := ReadFileAtMost(files, path, maxRecord)
	if isMissing(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, damaged(path, err)
	}
	r, err := ParseRecord(b)
	if err != nil {
		return nil, nil, damaged(path, fmt.Errorf("the record is malformed: %w", err))
	}
	return r, b, damaged(path, r.checkPaths(l))
}

// FolderOf returns the folder of the publication that is there: that of the
// layout, unless only the Source Description leads to another one.
func FolderOf(files fs.FS, l layout.Layout) string {
	if _, err := fs.Stat(files, l.Record().Path); err == nil {
		return l.Folder
	}
	s := newSnapshot(files, l)
	doc, entries, err := s.read(l.SourceDescription(), resourcesync.Description)
	if err != nil {
		return l.Folder
	}
	if styled, ok := styledIn(files, l.SourceDescription().Path, doc.Style); ok {
		return styled
	}
	if len(entries) != 1 {
		return l.Folder
	}
	list, ok := l.PathOf(entries[0].Loc)
	if _, err := fs.Stat(files, list); !ok || err != nil || path.Base(list) != path.Base(l.CapabilityList().Path) {
		return l.Folder
	}
	return path.Dir(list)
}

// styledIn returns the folder of the publication with the style sheet to which a document
// refers, if there is a record in it. It is that of all sets, and the reference says it
// whatever the URL of the publication was.
func styledIn(files fs.FS, document, ref string) (folder string, ok bool) {
	ref, err := url.PathUnescape(ref)
	if err != nil || ref == "" {
		return "", false
	}
	style := path.Join(path.Dir(document), ref)
	l, err := layout.OfFolder(path.Dir(style))
	if err != nil || l.Style().Path != style {
		return "", false
	}
	_, err = fs.Stat(files, l.Record().Path)
	return l.Folder, err == nil
}

// checkPaths makes sure that the record names files of the publication and no
// others: what it calls retired will be removed.
func (r *Record) checkPaths(l layout.Layout) error {
	records := map[string]bool{}
	for i, folder := range r.Sets {
		set, err := l.OfSet(folder)
		if err != nil || set.Folder != folder || i > 0 && folder <= r.Sets[i-1] {
			return fmt.Errorf("it names the folder %q of a set, which is none or not in order", folder)
		}
		records[set.Record().Path] = true
	}
	for _, h := range r.Heads {
		if !l.IsHead(h.Path) && !records[h.Path] {
			return fmt.Errorf("it names %q as a document, which is none of this publication", h.Path)
		}
	}
	for _, b := range r.Retired {
		if !l.IsBody(b.Path) {
			return fmt.Errorf("it names %q as a body, which is none of this publication", b.Path)
		}
	}
	return nil
}
