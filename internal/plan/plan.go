// Package plan has upload plans: what changed between two publications, in the order
// in which it can be uploaded while Destinations are reading. A plan is a file of
// lines in JSON: a header, notifications, one line for each file, and what was done with
// it since. The package knows files and phases, and nothing of what documents hold.
package plan

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Phase is a group of files that may be uploaded in any order, once those of the
// phases before it are there.
type Phase string

// The phases, in their order. Whatever a document leads to is in a phase before its
// own. Resources come first, so that a Destination that finds other bytes than it
// expected reads of the change next.
const (
	Resources      Phase = "resources"      // files of the source that are new or changed
	Styles         Phase = "style"          // how browsers show documents, which all name it
	Bodies         Phase = "bodies"         // written once, such as parts of lists and packages
	TimeMaps       Phase = "timemaps"       // lists of versions
	ChangeDumps    Phase = "changedump"     // each the head of a set
	OpenChanges    Phase = "changes"        // Change Lists under an Index, open ones as well
	ChangeLists    Phase = "changelist"     // the Change List, or its Index
	ResourceDumps  Phase = "resourcedump"   //
	ResourceLists  Phase = "resourcelist"   // may be older than the Change List, never newer
	Archives       Phase = "archives"       //
	Pages          Phase = "pages"          // for people, and what is fetched by hubs
	CapabilityList Phase = "capabilitylist" //
	Description    Phase = "description"    // the Source Description, or its Index
	Records        Phase = "records"        // those of sets, under a common one
	Record         Phase = "record"         // which holds the publication together
	Delete         Phase = "delete"         // what nothing leads to any more
)

// Phases has all of them in their order.
var Phases = []Phase{
	Resources, Styles, Bodies, TimeMaps, ChangeDumps, OpenChanges, ChangeLists, ResourceDumps, ResourceLists, Archives, Pages,
	CapabilityList, Description, Records, Record, Delete,
}

// rank is the place of a phase in the order, or -1.
func (p Phase) rank() int { return slices.Index(Phases, p) }

// Immutable and Revalidate are the values of Cache-Control for files that never
// change, and for those that change in place.
const (
	Immutable  = "public, max-age=31536000, immutable"
	Revalidate = "no-cache"
)

// State is a publication, told by its record.
type State struct {
	At     time.Time `json:"at"` // of its last run, UTC
	SHA256 string    `json:"sha256"`
	MD5    string    `json:"md5"` // which is the ETag of buckets
}

// Header says what a plan is about.
type Header struct {
	Format  int    `json:"wellspring_plan"` // Format
	Release string `json:"release"`
	// BaseURL and PublicationURL are where the source and its publication are
	// served, with a slash at the end.
	BaseURL        string `json:"base_url"`
	PublicationURL string `json:"publication_url"`
	// Apart says that the publication is not in the directory of the source.
	Apart bool `json:"apart,omitempty"`
	// Record is the path of the record.
	Record string `json:"record"`
	// From is the publication that has to be there, or nil if there was none, and To
	// the one that is there afterwards. They are equal if nothing has changed.
	From *State `json:"from"`
	// Through are publications between these that were never uploaded, as far as is
	// known. If one of them is there, that is as good.
	Through  []State `json:"through,omitempty"`
	To       State   `json:"to"`
	Puts     int     `json:"puts"`
	PutBytes int64   `json:"put_bytes"`
	Deletes  int     `json:"deletes"`
}

// Format is the version of the form of plans.
const Format = 1

// mostThrough keeps headers short, should plans never be removed.
const mostThrough = 100

// File is one file that is to be put, or deleted if the phase is Delete.
type File struct {
	Phase Phase `json:"phase"`
	// Source says that the path is relative to the source, and not to the
	// publication.
	Source bool   `json:"source,omitempty"`
	Path   string `json:"path"` // with slashes
	URI    string `json:"uri"`
	Length int64  `json:"length,omitempty"` // in bytes
	SHA256 string `json:"sha256,omitempty"` // in hexadecimal digits, as MD5
	MD5    string `json:"md5,omitempty"`
	Type   string `json:"type,omitempty"` // its media type
	// CacheControl is empty for resources, of which the host decides.
	CacheControl string `json:"cache_control,omitempty"`
}

// key tells files apart.
func (f *File) key() string {
	if f.Source {
		return "s" + f.Path
	}
	return "p" + f.Path
}

// check returns an error for what no build can have written.
func (f *File) check() error {
	rank := f.Phase.rank()
	switch {
	case rank < 0:
		return fmt.Errorf("the phase %q is not known", f.Phase)
	case !isPath(f.Path):
		return fmt.Errorf("%q is not the path of a file in a directory", f.Path)
	case f.Length < 0:
		return fmt.Errorf("%q has a length below zero", f.Path)
	case f.Phase != Delete && (!isHex(f.SHA256, 64) || !isHex(f.MD5, 32)):
		return fmt.Errorf("%q has no digests", f.Path)
	case !isLine(f.URI) || !isLine(f.Type) || !isLine(f.CacheControl):
		return fmt.Errorf("%q has control characters in what is said of it", f.Path)
	}
	return nil
}

func (h *Header) check() error {
	switch {
	case h.Format == 0:
		return errNoPlan
	case h.Format != Format:
		return fmt.Errorf("it has the format %d, which another release of Wellspring reads", h.Format)
	case !isPath(h.Record):
		return fmt.Errorf("%q is not the path of a record", h.Record)
	case !isLine(h.BaseURL) || !isLine(h.PublicationURL):
		return errors.New("its URLs have control characters in them")
	}
	states := append([]State{h.To}, h.Through...)
	if h.From != nil {
		states = append(states, *h.From)
	}
	for i := range states {
		if err := states[i].check(); err != nil {
			return err
		}
	}
	return nil
}

// count counts a file.
func (h *Header) count(f *File) {
	if f.Phase == Delete {
		h.Deletes++
	} else {
		h.Puts++
		h.PutBytes += f.Length
	}
}

// checkCounts returns an error if a plan has not all of its files, as one that was not
// copied to its end.
func (h *Header) checkCounts(found *Header) error {
	if found.Puts != h.Puts || found.Deletes != h.Deletes || found.PutBytes != h.PutBytes {
		return fmt.Errorf("it has %d files to put and %d to delete, not %d and %d of as many bytes, as it says: remove it, and make a new one against what is live",
			found.Puts, found.Deletes, h.Puts, h.Deletes)
	}
	return nil
}

func (s *State) check() error {
	if !isHex(s.SHA256, 64) || !isHex(s.MD5, 32) {
		return errors.New("it has no digests of the record")
	}
	return nil
}

// isPath reports whether a path is that of a file in a directory. Names need not be
// UTF-8.
func isPath(s string) bool {
	return s != "." && s != ".." && path.Clean(s) == s && s[0] != '/' && !strings.HasPrefix(s, "../") && !strings.ContainsRune(s, 0)
}

func isHex(s string, digits int) bool {
	return len(s) == digits && strings.Trim(s, "0123456789abcdef") == ""
}

// isLine reports whether a text is UTF-8 without control characters.
func isLine(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// IsEmpty reports whether there is nothing to upload.
func (h *Header) IsEmpty() bool { return h.Puts == 0 && h.Deletes == 0 }
