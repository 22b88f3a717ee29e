package prepare

import (
	"fmt"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/templates"
)

// Reasons for leaving what a host reads alone.
const (
	TooManyRules LeftAlone = "more than the 100 rules that Cloudflare reads: the sets would need several for each"
	OddPath      LeftAlone = "the URL of the publication has characters in it that mean something in configurations"
)

// host is a way to serve a site.
type host struct {
	name, template string
	// file is at the top of the site, or empty if the text has to go elsewhere; then
	// snippet is a name for it.
	file, snippet string
	// maxRules is how many rules the file may have; 0 is no limit.
	maxRules int
	// noLinks says that it cannot send Link headers.
	noLinks bool
	// atRoot says that the host reads the file only at its root.
	atRoot bool
	notes  bool
}

var hosts = []host{
	{name: "netlify", template: "headers", file: "_headers", atRoot: true, notes: true},
	{name: "cloudflare-pages", template: "headers", file: "_headers", maxRules: 100, atRoot: true},
	{name: "github-pages", file: ".nojekyll", notes: true, noLinks: true},
	{name: "gitlab-pages", template: "gitlab-pages", snippet: "wellspring.gitlab-ci.yml", notes: true, noLinks: true},
	{name: "apache", template: "apache", file: ".htaccess"},
	{name: "nginx", template: "nginx", snippet: "wellspring.nginx.conf"},
	{name: "caddy", template: "caddy", snippet: "wellspring.caddy"},
	{name: "s3", template: "s3", snippet: "wellspring-s3.sh", notes: true, noLinks: true},
	{name: "gcs", template: "gcs", snippet: "wellspring-gcs.sh", noLinks: true},
	{name: "azure", template: "azure", snippet: "wellspring-azure.sh", noLinks: true},
}

// HostNames are those that can be prepared for.
func HostNames() (names []string) {
	for _, h := range hosts {
		names = append(names, h.name)
	}
	return names
}

// Folder is one of the publication, as hosts see it.
type Folder struct {
	// Path is that of its URL, with slashes at both ends, and Key the same without the
	// first.
	Path, Key string
	// Heads are the paths, or patterns for them, of documents that change in place.
	Heads []string
	// Kept are the folders in it whose files are written once, and Checked those with
	// others.
	Kept, Checked []string
	// Beside says that versions of resources and patches lie in it: those of all sets.
	Beside bool
	// Shared says that there are other files in it, too, since it is the top of what is
	// served.
	Shared bool
	// Page and Style are the names of what is for people, in the folder of the
	// publication alone.
	Page, Style string
}

// Site is what hosts have to know of a publication.
type Site struct {
	BaseURL, PublicationURL string
	// Link is the URI of the Capability List that pertains to everything, or empty.
	Link    string
	Folders []Folder
	// Description and DescriptionURI are where the Source Description is.
	Description, DescriptionURI string
	// Hubs are those of topics in it; see SetHubs.
	Hubs []Hub
	// BelowRoot says that the publication is not at the root of its host.
	BelowRoot bool
}

// XMLHeads are the names of documents that change in place.
func (*Site) XMLHeads() []string {
	return []string{
		"capabilitylist.xml", "resourcelist.xml", "changelist.xml", "resourcedump.xml", "changedump.xml",
		"resourcelist-archive.xml", "changelist-archive.xml", "resourcedump-archive.xml", "changedump-archive.xml", "framework.xml",
	}
}

// NewSite returns what hosts have to know of a publication with these sets, if they
// have names. The link is the URI of the Capability List that pertains to all that is
// served, or empty.
func NewSite(own layout.Layout, sets []layout.Layout, link string) (*Site, error) {
	s := &Site{BaseURL: own.BaseURL, PublicationURL: own.PublicationURL, Link: link, DescriptionURI: own.SourceDescription().URI}
	u, err := url.Parse(own.PublicationURL)
	if err != nil {
		return nil, err
	}
	s.BelowRoot = u.Path != "/"
	s.Description = u.Path + own.SourceDescription().Path
	kept, checked := []string{"resourcelist", "resourcedump", "changedump"}, []string{"changelist"}
	top := s.folder(u.Path, own.Folder, []string{"description"}, nil)
	if top.Beside = true; len(sets) == 0 {
		top.Kept, top.Checked = append(top.Kept, kept...), checked
	}
	top.Page, top.Style = path.Base(own.Page().Path), path.Base(own.Style().Path)
	if own.Folder == "." {
		top.Heads = append(top.Heads, top.Path+top.Page, top.Path+top.Style)
	}
	s.Folders = append(s.Folders, top)
	for _, l := range sets {
		s.Folders = append(s.Folders, s.folder(u.Path, l.Folder, kept, checked))
	}
	for _, f := range s.Folders {
		if !isPlain.MatchString(f.Path) {
			return nil, OddPath
		}
	}
	if link != "" && !isPlain.MatchString(link) {
		return nil, OddPath
	}
	return s, nil
}

// isPlain knows texts in which nothing means anything to hosts or shells, and a dot
// alone to regular expressions.
var isPlain = regexp.MustCompile(`^[A-Za-z0-9._~/:\[\]-]+$`)

func (s *Site) folder(top, name string, kept, checked []string) Folder {
	f := Folder{Path: top, Kept: kept, Checked: checked}
	if f.Shared = name == "."; f.Shared {
		for _, head := range append(s.XMLHeads(), "publication.json") {
			f.Heads = append(f.Heads, top+head)
		}
	} else {
		f.Path = top + name + "/"
		f.Heads = []string{f.Path + ":document"}
	}
	f.Key = strings.TrimPrefix(f.Path, "/")
	return f
}

// DescriptionKey is the path of the Source Description without the first slash.
func (s *Site) DescriptionKey() string { return strings.TrimPrefix(s.Description, "/") }

// DescriptionPattern is a regular expression for the path of the Source Description.
func (s *Site) DescriptionPattern() string { return regexp.QuoteMeta(s.Description) }

// Pattern is a regular expression for the paths of the folders.
func (s *Site) Pattern() string {
	var paths []string
	for _, f := range s.Folders {
		paths = append(paths, regexp.QuoteMeta(f.Path))
	}
	return oneOf(paths)
}

func oneOf(patterns []string) string {
	if len(patterns) == 1 {
		return patterns[0]
	}
	return "(?:" + strings.Join(patterns, "|") + ")"
}

// HeadPattern is a regular expression for the paths of documents that change in place:
// all that is in the folders themselves, where those are for the publication alone.
func (s *Site) HeadPattern() string {
	var paths []string
	for _, f := range s.Folders {
		names := `[^/]*`
		if f.Shared {
			names = `(?:(?:(?:capability|resource|change)list|(?:resource|change)dump|(?:resource|change)(?:list|dump)-archive|framework)\.xml|publication\.json`
			for _, name := range [...]string{f.Page, f.Style} {
				if name != "" {
					names += "|" + regexp.QuoteMeta(name)
				}
			}
			names += ")"
		}
		paths = append(paths, regexp.QuoteMeta(f.Path)+names)
	}
	return oneOf(paths)
}

// BodyPattern is a regular expression for the names of folders with documents and
// packages that are written once.
func (*Site) BodyPattern() string { return "resourcelist|resourcedump|changedump|description" }

// HostResult is what was done for a host.
type HostResult struct {
	Host string `json:"host"`
	// File is the one at the top of the site, and Action what was done with it. Left
	// is why nothing was done, or empty.
	File   string    `json:"-"`
	Action Action    `json:"-"`
	Left   LeftAlone `json:"-"`
	// Name and Text are for what has to be put elsewhere, or empty.
	Name string `json:"name"`
	Text string `json:"text"`
	// Notes say what else has to be done.
	Notes []string `json:"-"`
}

// WriteHost writes what a host needs into the top of a site, or returns it as a text.
func (s *Site) WriteHost(root *os.Root, name string, dryRun bool) (HostResult, error) {
	i := slices.IndexFunc(hosts, func(h host) bool { return h.name == name })
	if i < 0 {
		return HostResult{}, fmt.Errorf("the host %q is not known", name)
	}
	h := &hosts[i]
	r := HostResult{Host: name, File: h.file}
	text := ""
	var err error
	if h.template != "" {
		if text, err = templates.Render(h.template, s); err != nil {
			return r, err
		}
	}
	if h.notes {
		notes, err := templates.Render(h.name+"-notes", s)
		if err != nil {
			return r, err
		}
		r.Notes = strings.Split(strings.TrimSpace(notes), "\n")
	}
	for _, hub := range s.Hubs {
		if h.noLinks {
			r.Notes = append(r.Notes, fmt.Sprintf("it cannot send the Link header with which %s names its hub: subscribers find that in the Capability List alone", hub.Topic))
		}
	}
	if h.file == "" {
		r.Name, r.Text = h.snippet, text
		return r, nil
	}
	if u, err := url.Parse(s.BaseURL); h.atRoot && err == nil && u.Path != "/" {
		r.File, r.Name, r.Text = "", path.Base(h.file), text
		r.Notes = append(r.Notes, fmt.Sprintf("%s is read only at the top of what is served at %s://%s/: put these lines into it there", h.file, u.Scheme, u.Host))
		return r, nil
	}
	files := site{root: root, dryRun: dryRun}
	r.Action, err = files.merge(h.file, maxControl, LargeControl, func(old []byte) ([]byte, error) { return h.merged(old, text) })
	return r.settled(err)
}

// maxControl is how large a file for a host may be, in bytes.
const maxControl = 1 << 20

// merged returns the content of a file with lines of ours in it.
func (h *host) merged(old []byte, text string) ([]byte, error) {
	if text == "" { // that the file is there is all
		return old, nil
	}
	f, err := parseLines(old)
	if err != nil {
		return nil, err
	}
	result := f.with(splitText(text))
	if h.maxRules > 0 && countRules(string(result)) > h.maxRules {
		return nil, TooManyRules
	}
	return result, nil
}

func splitText(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }

// countRules counts the rules in a _headers file: lines that are not indented.
func countRules(text string) (n int) {
	for _, line := range splitLines(text) {
		if strings.TrimSpace(line) != "" && !strings.ContainsAny(line[:1], "# \t") {
			n++
		}
	}
	return n
}

// settled takes a reason for leaving the file alone out of an error.
func (r HostResult) settled(err error) (HostResult, error) {
	if why, ok := err.(LeftAlone); ok {
		r.Left, err = why, nil
	}
	return r, err
}
