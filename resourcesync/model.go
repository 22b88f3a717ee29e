package resourcesync

import "time"

// Capability says what a document is for. See Z39.99-2017 §7.
type Capability string

// The capabilities of Z39.99-2017.
const (
	Description          Capability = "description"
	CapabilityList       Capability = "capabilitylist"
	ResourceList         Capability = "resourcelist"
	ResourceDump         Capability = "resourcedump"
	ResourceDumpManifest Capability = "resourcedump-manifest"
	ChangeList           Capability = "changelist"
	ChangeDump           Capability = "changedump"
	ChangeDumpManifest   Capability = "changedump-manifest"
)

// FrameworkNotification is the capability of documents that tell which documents of a
// Source have changed. See Framework Notification 1.0 §3.
const FrameworkNotification Capability = "framework-notification"

// Archive returns the capability of the archives of a document: of Resource
// Lists, Resource Dumps, Change Lists or Change Dumps. See Archives 0.9.1 §3.
func (c Capability) Archive() Capability { return c + "-archive" }

// ChangeType says what happened to a resource. See Z39.99-2017 §7.
type ChangeType string

// The changes that a resource can undergo.
const (
	Created ChangeType = "created"
	Updated ChangeType = "updated"
	Deleted ChangeType = "deleted"
)

// Relation types that link the documents of a Source with each other. See
// Z39.99-2017 §7.
const (
	RelUp          = "up"
	RelIndex       = "index"
	RelContents    = "contents"
	RelDescribedBy = "describedby"
	RelArchives    = "archives"
)

// RelHub links to the hub through which changes of documents are told. See Framework
// Notification 1.0 §5.
const RelHub = "hub"

// Document is what stands before the entries: the kind of the root element, and
// the metadata and links of the document itself.
type Document struct {
	// Index is true for a sitemapindex, which groups documents, and false for
	// a urlset.
	Index bool
	// Style is the relative reference to a CSS style sheet with which browsers show
	// the document, or empty. See IsStyle.
	Style    string
	Metadata Metadata
	Links    []Link
}

// Link returns the target of the document's first link with the relation, or
// "" if there is none.
func (d *Document) Link(rel string) string {
	for i := range d.Links {
		if d.Links[i].Rel == rel {
			return d.Links[i].Href
		}
	}
	return ""
}

// Entry is one url or sitemap element: a resource, a change, a package or
// another document.
type Entry struct {
	// Loc is the URI. It is the only part that must be there.
	Loc string
	// LastModified is when the resource itself was last modified. The zero
	// time means that it is not said.
	LastModified time.Time
	// ChangeFreq is a hint such as "daily", or empty.
	ChangeFreq string
	Metadata   Metadata
	Links      []Link
}

// ChangeTime returns when the change happened that an entry of a Change List or a
// Change Dump Manifest tells of: its datetime, or else its lastmod, as in
// documents of Z39.99-2014, which has no other time there (§12.1).
func (e *Entry) ChangeTime() time.Time {
	if e.Metadata.DateTime.IsZero() {
		return e.LastModified
	}
	return e.Metadata.DateTime
}

// Metadata is an rs:md element. Attributes with the zero value are absent.
type Metadata struct {
	Capability Capability
	Change     ChangeType
	// DateTime is when the change happened, not when the resource was modified.
	DateTime time.Time
	// At and Completed are when a snapshot was begun and finished.
	At, Completed time.Time
	// From and Until bound the time that a list of changes covers.
	From, Until time.Time
	Hash        Hash
	// Length is in bytes and counts only if HasLength is true, since a
	// resource may be empty.
	Length    int64
	HasLength bool
	Type      string // a media type
	Encoding  string // content codings
	Path      string // in a package, with a leading slash
}

// IsZero reports whether there is nothing to write.
func (m *Metadata) IsZero() bool { return *m == Metadata{} }

// SetLength sets the length in bytes.
func (m *Metadata) SetLength(n int64) { m.Length, m.HasLength = n, true }

// Link is an rs:ln element. Attributes with the zero value are absent.
type Link struct {
	Rel       string // a registered relation type, or a URI
	Href      string
	Pri       int // 1 (first choice) to 999,999
	Modified  time.Time
	Hash      Hash
	Length    int64 // in bytes; counts only if HasLength is true
	HasLength bool
	Type      string
	Encoding  string
	Path      string
	Profile   string // a URI that makes the type more specific
}
