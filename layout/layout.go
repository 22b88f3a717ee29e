// Package layout names things: which URI a file has, which path and URI each
// document of a publication has, and where a long list ends. It is pure: it
// touches no disk and knows no clock. What documents say is not its business.
package layout

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Form is how the URIs of HTML pages are made from file names.
type Form string

// The forms of URIs.
const (
	// PlainURIs leaves names as they are.
	PlainURIs Form = ""
	// IndexURIs makes the file x/index.html the resource x/.
	IndexURIs Form = "index"
	// CleanURIs does that, and makes the file x/about.html the resource x/about.
	CleanURIs Form = "clean"
)

// Identity is what all documents of a publication have in common, so that it
// cannot change from run to run.
type Identity struct {
	// BaseURL is where the source is served, with a slash at the end.
	BaseURL string `json:"base_url"`
	// PublicationURL is where the publication is served, with a slash at the end.
	PublicationURL string `json:"publication_url"`
	// Folder holds all documents but the Source Description: a slash path
	// relative to the publication, or "." for its root.
	Folder string `json:"folder"`
	Form   Form   `json:"uri_form,omitempty"`
}

// Ref is a document of the publication: its path, relative to the publication
// and slash-separated, and its URI.
type Ref struct {
	Path string
	URI  string
}

// Layout names the resources and documents of one publication.
type Layout struct {
	Identity
	ofSet bool
	top   string // the folder of the publication, in the layout of a set
}

// New checks the parts of an identity and completes them: URLs get a slash at
// the end, and an empty PublicationURL is the BaseURL.
func New(id Identity) (Layout, error) {
	var err error
	if id.BaseURL, err = checkURL(id.BaseURL); err != nil {
		return Layout{}, fmt.Errorf("the base URL %w", err)
	}
	if id.PublicationURL == "" {
		id.PublicationURL = id.BaseURL
	}
	if id.PublicationURL, err = checkURL(id.PublicationURL); err != nil {
		return Layout{}, fmt.Errorf("the publication URL %w", err)
	}
	if id.Folder, err = checkFolder(id.Folder); err != nil {
		return Layout{}, err
	}
	switch id.Form {
	case PlainURIs, IndexURIs, CleanURIs:
		return Layout{Identity: id}, nil
	}
	return Layout{}, fmt.Errorf("the form of URIs %q is not known", id.Form)
}

// OfFolder returns a layout that knows a folder and no URL: it has the paths of
// documents, and their URIs relative to the publication.
func OfFolder(folder string) (Layout, error) {
	folder, err := checkFolder(folder)
	return Layout{Identity: Identity{Folder: folder}}, err
}

// OfSet returns the layout of a set of resources that has the folder for itself, in a
// publication with several sets. The Source Description is that of all of them.
func (l Layout) OfSet(folder string) (Layout, error) {
	var err error
	if !l.ofSet {
		l.ofSet, l.top = true, l.Folder
	}
	l.Folder, err = checkFolder(folder)
	return l, err
}

// IsOfSet reports whether the layout is that of a set under a common Source
// Description, and not of a whole publication.
func (l Layout) IsOfSet() bool { return l.ofSet }

// checkURL returns an absolute http or https URL with a slash at its end.
func checkURL(s string) (string, error) {
	if s == "" {
		return "", fmt.Errorf("is missing")
	}
	u, err := url.Parse(s)
	if err != nil && strings.Contains(s, "@") {
		return "", fmt.Errorf("is not a URL") // not repeated, since it may have a password in it
	}
	if err != nil {
		return "", fmt.Errorf("%q is not a URL", s)
	}
	switch {
	case u.User != nil:
		return "", fmt.Errorf("%q has a user name in it, which everybody would see", redact(u))
	case u.Scheme == "":
		return "", fmt.Errorf("%q has no scheme, such as https", s)
	case u.Scheme != "http" && u.Scheme != "https":
		return "", fmt.Errorf("%q has the scheme %s, not http or https", s, u.Scheme)
	case u.Hostname() == "":
		return "", fmt.Errorf("%q has no host", s)
	case u.RawQuery != "" || u.ForceQuery:
		return "", fmt.Errorf("%q has a query", s)
	case u.Fragment != "" || strings.HasSuffix(s, "#"):
		return "", fmt.Errorf("%q has a fragment", s)
	}
	return canonicalURL(u, s)
}

func redact(u *url.URL) string {
	v := *u
	v.User = nil
	return v.String()
}

// canonicalURL spells scheme and host in lower case, as URIs are compared byte
// by byte, and refuses a path that would have to be escaped or resolved.
func canonicalURL(u *url.URL, s string) (string, error) {
	path := u.RawPath // as it was spelled, if that is not how package url would
	if path == "" {
		path = u.EscapedPath()
	}
	for i := range len(path) {
		if path[i] != '/' && path[i] != '%' && !isPathByte[path[i]] {
			return "", fmt.Errorf("%q has %q in it, which has to be escaped", s, path[i])
		}
	}
	for segment := range strings.SplitSeq(path, "/") {
		// Browsers resolve dots that are escaped, too.
		if plain, _ := url.PathUnescape(segment); plain == "." || plain == ".." || strings.Contains(plain, "\x00") {
			return "", fmt.Errorf("%q has a path with %q in it", s, segment)
		}
	}
	host, err := canonicalHost(u, s)
	if err != nil {
		return "", err
	}
	return u.Scheme + "://" + host + strings.TrimSuffix(path, "/") + "/", nil
}

// canonicalHost returns host and port in lower case.
func canonicalHost(u *url.URL, s string) (string, error) {
	host := strings.ToLower(u.Host)
	for i := range len(host) {
		switch c := host[i]; {
		case c >= 0x80:
			return "", fmt.Errorf("%q has a host that is not in ASCII (use its xn-- form)", s)
		case !isPathByte[c] && c != '[' && c != ']':
			return "", fmt.Errorf("%q has %q in its host", s, c)
		}
	}
	// A dot at the end is that of the root of all names.
	for label := range strings.SplitSeq(strings.TrimSuffix(u.Hostname(), "."), ".") {
		if label == "" {
			return "", fmt.Errorf("%q has a host with an empty label", s)
		}
	}
	if strings.HasSuffix(host, ":") {
		return "", fmt.Errorf("%q has a colon without a port", s)
	}
	if port := u.Port(); port != "" {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return "", fmt.Errorf("%q has the port %s, which is more than there are", s, port)
		}
	}
	return host, nil
}

// checkFolder returns a relative slash path whose segments are plain names.
func checkFolder(s string) (string, error) {
	if s == "" {
		return "resourcesync", nil
	}
	if strings.HasPrefix(s, "/") {
		return "", fmt.Errorf("the folder %q is not relative to the publication", s)
	}
	clean := strings.Trim(strings.TrimPrefix(s, "./"), "/")
	if clean == "." || s == "./" || s == "." {
		return ".", nil
	}
	if !utf8.ValidString(clean) { // the record could not hold it
		return "", fmt.Errorf("the folder %q is not a path in UTF-8", s)
	}
	for segment := range strings.SplitSeq(clean, "/") {
		if segment == "" || segment == "." || segment == ".." || strings.ContainsAny(segment, "\\:\x00") {
			return "", fmt.Errorf("the folder %q is not a path inside the publication", s)
		}
		if len(segment) > 255 {
			return "", fmt.Errorf("the folder %q has a name that is longer than file systems allow", s)
		}
		if segment == StagingFolder || segment == wellKnown {
			return "", fmt.Errorf("the folder %q has a name that is taken", s)
		}
	}
	return clean, nil
}

// StagingFolder is where a run prepares its files, in the publication's root.
const StagingFolder = ".wellspring"

const wellKnown = ".well-known"

// SourceDescription is where Destinations look first. See Z39.99-2017 §6.3.2.
func (l Layout) SourceDescription() Ref { return l.ref(wellKnown + "/resourcesync") }

// DescriptionPart returns the Source Description, under an Index, whose content has
// the SHA-256 digest.
func (l Layout) DescriptionPart(digest [32]byte) Ref {
	return l.inFolder(fmt.Sprintf("description/%x.xml", digest[:16]))
}

// CapabilityList returns the Capability List. See Z39.99-2017 §9.
func (l Layout) CapabilityList() Ref { return l.inFolder("capabilitylist.xml") }

// ResourceList returns the Resource List or its Index. See Z39.99-2017 §10.
func (l Layout) ResourceList() Ref { return l.inFolder("resourcelist.xml") }

// ResourceListPart returns the part of a Resource List whose content has the
// SHA-256 digest.
func (l Layout) ResourceListPart(digest [32]byte) Ref {
	return l.inFolder(fmt.Sprintf("resourcelist/%x.xml", digest[:16]))
}

// ChangeList returns the Change List or its Index. See Z39.99-2017 §12.
func (l Layout) ChangeList() Ref { return l.inFolder("changelist.xml") }

// ChangeListFrom returns the Change List, under an Index, that covers the time
// since from.
func (l Layout) ChangeListFrom(from time.Time) Ref {
	return l.inFolder("changelist/" + stamp(from) + ".xml")
}

// ResourceDump returns the Resource Dump or its Index. See Z39.99-2017 §11.
func (l Layout) ResourceDump() Ref { return l.inFolder("resourcedump.xml") }

// ResourceDumpPart returns the Resource Dump, under an Index, whose content has
// the SHA-256 digest.
func (l Layout) ResourceDumpPart(digest [32]byte) Ref {
	return l.inFolder(fmt.Sprintf("resourcedump/%x.xml", digest[:16]))
}

// ResourceDumpPackage returns the package of a Resource Dump with a SHA-256
// digest, and the copy of its manifest.
func (l Layout) ResourceDumpPackage(digest [32]byte) (zip, manifest Ref) {
	return l.packageAt(fmt.Sprintf("resourcedump/%x", digest[:16]))
}

// ChangeDump returns the Change Dump. See Z39.99-2017 §13.
func (l Layout) ChangeDump() Ref { return l.inFolder("changedump.xml") }

// ChangeDumpPart returns the Change Dump, under an Index, with the packages up
// to a time, whose content has the SHA-256 digest.
func (l Layout) ChangeDumpPart(until time.Time, digest [32]byte) Ref {
	return l.Archived("changedump", until, digest)
}

// ChangeDumpPackage returns the package with the changes up to a time that has
// a SHA-256 digest, and the copy of its manifest.
func (l Layout) ChangeDumpPackage(until time.Time, digest [32]byte) (zip, manifest Ref) {
	return l.packageAt(fmt.Sprintf("changedump/%s-%x", stamp(until), digest[:4]))
}

func (l Layout) packageAt(stem string) (zip, manifest Ref) {
	return l.inFolder(stem + ".zip"), l.inFolder(stem + ".xml")
}

// ManifestOf returns the copy of the manifest that belongs to a package.
func (l Layout) ManifestOf(zip Ref) Ref {
	return l.ref(strings.TrimSuffix(zip.Path, ".zip") + ".xml")
}

// Version returns the file that holds what a resource was, with its SHA-256 digest and
// an extension such as .html, or none. See Z39.99-2017 §14.6.
func (l Layout) Version(uri string, digest [32]byte, extension string) Ref {
	return l.inFolder(fmt.Sprintf("versions/%s/%x%s", resourceName(uri), digest[:16], extension))
}

// TimeMap returns the list of what a resource was.
func (l Layout) TimeMap(uri string) Ref {
	return l.inFolder("versions/" + resourceName(uri) + "/" + timeMapName)
}

const timeMapName = "timemap.link"

// resourceName is a name for a resource that no other one has, in the form of those
// of bodies.
func resourceName(uri string) string {
	digest := sha256.Sum256([]byte(uri))
	return fmt.Sprintf("%x", digest[:16])
}

// Patch returns the description of a change with a SHA-256 digest, and an extension
// such as .zst. See Z39.99-2017 §14.4.
func (l Layout) Patch(digest [32]byte, extension string) Ref {
	return l.inFolder(fmt.Sprintf("patches/%x%s", digest[:16], extension))
}

// Kinds are the names of the documents that can have archives.
var Kinds = [...]string{"resourcelist", "changelist", "resourcedump", "changedump"}

// Live returns the live document of a kind, or its Index.
func (l Layout) Live(kind string) Ref { return l.inFolder(kind + ".xml") }

// Archive returns the archive of a kind of document. See Archives 0.9.1 §3.
func (l Layout) Archive(kind string) Ref { return l.inFolder(kind + "-archive.xml") }

// Archived returns the document of a kind that was superseded, and was of a
// time, or an archive of that kind under its index, whose content has the SHA-256
// digest.
func (l Layout) Archived(kind string, at time.Time, digest [32]byte) Ref {
	return l.inFolder(fmt.Sprintf("%s/%s-%x.xml", kind, stamp(at), digest[:4]))
}

// FrameworkNotification returns the latest notification of which documents of a set
// have changed, whose URI is the topic. See Framework Notification 1.0 §4.1.
func (l Layout) FrameworkNotification() Ref { return l.inFolder("framework.xml") }

// Record returns the file that holds the publication together.
func (l Layout) Record() Ref { return l.inFolder("publication.json") }

// Documents returns the names of files and directories that a publication uses
// in its folder.
func (l Layout) Documents() []string {
	return []string{
		"capabilitylist.xml", "resourcelist.xml", "resourcelist", "changelist.xml", "changelist",
		"resourcedump.xml", "resourcedump", "changedump.xml", "changedump",
		"resourcelist-archive.xml", "changelist-archive.xml", "resourcedump-archive.xml", "changedump-archive.xml",
		"framework.xml", "description", "versions", "patches", "publication.json", path.Base(l.Page().Path), path.Base(l.Style().Path),
	}
}

// IsTopName reports whether a publication with several sets may use a name in its
// folder, so that no set can have it.
func IsTopName(name string) bool {
	at := Layout{Identity: Identity{Folder: "."}}
	return slices.Contains(Layout{}.Documents(), name) || slices.Contains(at.Documents(), name)
}

// IsHead reports whether a document with this path changes in place: those with
// fixed names, and the open Change List under an Index. The page and the style sheet
// are heads of the publication, and not of a set.
func (l Layout) IsHead(path string) bool {
	if !l.ofSet && l.IsForPeople(path) {
		return true
	}
	for _, ref := range [...]Ref{
		l.SourceDescription(), l.CapabilityList(), l.ResourceList(), l.ChangeList(), l.ResourceDump(), l.ChangeDump(),
		l.FrameworkNotification(),
	} {
		if path == ref.Path {
			return true
		}
	}
	for _, kind := range Kinds {
		if path == l.Archive(kind).Path {
			return true
		}
	}
	kind, name := l.inSubfolder(path)
	return kind == "changelist" && isChangeList(name) || kind == "versions" && isTimeMap(name)
}

// IsPatch reports whether a file with this path may be the description of a change.
func (l Layout) IsPatch(path string) bool {
	kind, name := l.inSubfolder(path)
	return kind == "patches" && isDigest(stemOf(name))
}

// IsBeside reports whether a file with this path may be a version, a TimeMap or a patch,
// to which entries of lists lead.
func (l Layout) IsBeside(path string) bool {
	kind, _ := l.inSubfolder(path)
	return (kind == "versions" || kind == "patches") && l.IsBody(path)
}

func isTimeMap(name string) bool {
	resource, file, _ := strings.Cut(name, "/")
	return isDigest(resource) && file == timeMapName
}

// isVersion reports whether a name in the subfolder of versions is that of one.
func isVersion(name string) bool {
	resource, file, _ := strings.Cut(name, "/")
	return isDigest(resource) && isDigest(stemOf(file))
}

func stemOf(name string) string { return strings.TrimSuffix(name, path.Ext(name)) }

// IsBody reports whether a file with this path may be one that is written once: a
// part of a Resource List, a Change List under an Index, a package, a manifest, a
// version of a resource or a patch. TimeMaps, which change, are retired as these are.
func (l Layout) IsBody(path string) bool {
	switch kind, name := l.inSubfolder(path); kind {
	case "versions":
		return isVersion(name) || isTimeMap(name)
	case "patches":
		return isDigest(stemOf(name))
	case "description":
		return isDigest(trimExtension(name, ".xml"))
	case "resourcelist":
		return isDigest(trimExtension(name, ".xml")) || isStampedDigest(trimExtension(name, ".xml"))
	case "changelist":
		return isChangeList(name) || isStampedDigest(trimExtension(name, ".xml"))
	case "resourcedump":
		return isDigest(trimExtension(name, ".xml", ".zip")) || isStampedDigest(trimExtension(name, ".xml"))
	case "changedump":
		return isStampedDigest(trimExtension(name, ".xml", ".zip"))
	}
	return false
}

// Owns reports whether a file with this path may be one of the publication: its
// heads, its bodies and the record.
func (l Layout) Owns(path string) bool {
	return path == l.Record().Path || l.IsHead(path) || l.IsBody(path)
}

// IsOwned reports whether a file with this path may be one of a publication,
// whatever its folder is. Of a page or a style sheet in a folder, the name does not
// tell.
func IsOwned(name string) bool {
	return inAnyFolder(name, func(l Layout) bool { return l.Owns(name) && (l.Folder == "." || !l.IsForPeople(name)) })
}

// IsWrittenOnce reports whether a file with this path may be one of a publication
// that is written once and never changes, whatever its folder is.
func IsWrittenOnce(name string) bool {
	return inAnyFolder(name, func(l Layout) bool { return l.IsBody(name) && !l.IsHead(name) })
}

// inAnyFolder reports whether something holds of a file for a folder of a
// publication that it can lie in.
func inAnyFolder(name string, is func(Layout) bool) bool {
	folder := path.Dir(name)
	for range 3 {
		clean, err := checkFolder(folder)
		if err == nil && clean == folder && is(Layout{Identity: Identity{Folder: folder}}) {
			return true
		}
		folder = path.Dir(folder)
	}
	return false
}

// inSubfolder returns which subfolder of the publication's folder a file lies
// in, and its name there, or nothing if it lies anywhere else.
func (l Layout) inSubfolder(path string) (kind, name string) {
	rest, inside := strings.CutPrefix(path, l.inFolder("").Path)
	kind, name, below := strings.Cut(rest, "/")
	if !inside || !below {
		return "", ""
	}
	return kind, name
}

// trimExtension takes one of the extensions off a name, and returns nothing for
// a name that has none of them.
func trimExtension(name string, extensions ...string) string {
	for _, e := range extensions {
		if stem, ok := strings.CutSuffix(name, e); ok {
			return stem
		}
	}
	return ""
}

// digestDigits is how much of a digest stands in a name, and shortDigestDigits
// how much where a time stands in front of it.
const (
	digestDigits      = 32
	shortDigestDigits = 8
)

func isDigest(s string) bool { return isHex(s, digestDigits) }

func isStampedDigest(s string) bool {
	at, digest, _ := strings.Cut(s, "-")
	return isStamp(at) && isHex(digest, shortDigestDigits)
}

// NameAgrees reports whether a body has the SHA-256 digest, in hexadecimal digits,
// that its name tells. Copies of manifests have the names of their packages.
func NameAgrees(name, sha256 string) bool {
	kind, stem := path.Base(path.Dir(name)), strings.TrimSuffix(path.Base(name), path.Ext(name))
	_, short, stamped := strings.Cut(stem, "-")
	switch {
	case path.Ext(name) != ".zip" && (kind == "changedump" || kind == "resourcedump" && !stamped):
		return true
	case stamped:
		return strings.HasPrefix(sha256, short)
	case isStamp(stem), path.Base(name) == timeMapName: // a Change List, or a TimeMap
		return true
	}
	return strings.HasPrefix(sha256, stem)
}

func isChangeList(name string) bool { return isStamp(trimExtension(name, ".xml")) }

// isHex reports whether a text is a number of so many hexadecimal digits, as
// package fmt writes them.
func isHex(s string, digits int) bool {
	return len(s) == digits && strings.Trim(s, "0123456789abcdef") == ""
}

func isStamp(s string) bool {
	second, fraction, _ := strings.Cut(s, "Z")
	if fraction != "" {
		second += "." + fraction
	}
	t, err := time.Parse(stampFormat, second)
	return err == nil && stamp(t) == s
}

const stampFormat = "20060102T150405" // to which time.Parse takes a fraction, too

// stamp writes a time in the basic format of ISO 8601, so that names need no
// escaping. Milliseconds or microseconds, where there are any, stand behind the Z:
// whatever follows a time in a name sorts before digits, so that names sort in time.
func stamp(t time.Time) string {
	t = t.UTC()
	s := t.Format(stampFormat) + "Z"
	if us := t.Nanosecond() / 1000; us > 0 {
		s += strings.TrimSuffix(fmt.Sprintf("%06d", us), "000")
	}
	return s
}

// PathOf returns the path of a document from its URI, and false for a URI that
// is not below the publication's.
func (l Layout) PathOf(uri string) (string, bool) {
	rest, ok := strings.CutPrefix(uri, l.PublicationURL)
	if !ok || rest == "" {
		return "", false
	}
	path, ok := unescape(rest)
	return path, ok && !strings.HasSuffix(path, "/")
}

// Document returns the file of the publication with a path.
func (l Layout) Document(path string) Ref { return l.ref(path) }

func (l Layout) inFolder(name string) Ref {
	if l.Folder == "." {
		return l.ref(name)
	}
	return l.ref(l.Folder + "/" + name)
}

func (l Layout) ref(path string) Ref {
	return Ref{Path: path, URI: string(appendEscaped([]byte(l.PublicationURL), path))}
}
