//go:build linux

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wellspring-sync/wellspring/internal/publish"
)

// This reader of publications shares nothing with the program that could be
// wrong in both: it has its own structures for the documents, finds them by
// their links alone, and knows of the files of a publication no more than what
// a Destination would.

const faultsURL = "https://example.org/"

type (
	rsDocument struct {
		XMLName xml.Name
		MD      rsMetadata `xml:"http://www.openarchives.org/rs/terms/ md"`
		Links   []rsLink   `xml:"http://www.openarchives.org/rs/terms/ ln"`
		URLs    []rsEntry  `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 url"`
		Lists   []rsEntry  `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 sitemap"`
	}
	rsEntry struct {
		Loc   string     `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 loc"`
		MD    rsMetadata `xml:"http://www.openarchives.org/rs/terms/ md"`
		Links []rsLink   `xml:"http://www.openarchives.org/rs/terms/ ln"`
	}
	rsMetadata struct {
		Capability string `xml:"capability,attr"`
		At         string `xml:"at,attr"`
		Completed  string `xml:"completed,attr"`
		From       string `xml:"from,attr"`
		Until      string `xml:"until,attr"`
		Change     string `xml:"change,attr"`
		DateTime   string `xml:"datetime,attr"`
		Hash       string `xml:"hash,attr"`
		Length     string `xml:"length,attr"`
		Path       string `xml:"path,attr"`
	}
	rsLink struct {
		Rel    string `xml:"rel,attr"`
		Href   string `xml:"href,attr"`
		Hash   string `xml:"hash,attr"`
		Length string `xml:"length,attr"`
		Path   string `xml:"path,attr"`
	}
)

// state says of each URI what its bytes are: hash and length.
type state map[string]string

type event struct {
	uri, change, bytes string
	at                 time.Time
}

// published is what a strict reader gets out of a publication.
type published struct {
	pending   bool // a commit was begun and not completed
	complete  bool // there is a Source Description
	indexed   bool
	at        time.Time // of the Resource List, zero if there is none
	from      time.Time // of the first Change List
	resources state
	events    []event
	dumped    dumped
}

// last is the time up to which the Change Lists tell what happened.
func (p *published) last() time.Time {
	if len(p.events) == 0 {
		return p.from
	}
	return p.events[len(p.events)-1].at
}

type strictReader struct {
	t   testing.TB
	dir string
	p   published
}

// readPublished reads what is in a directory as a Destination does that arrives
// now. It fails the test at whatever is not as it has to be at any moment. If there are
// several sets, it returns the first.
func readPublished(t testing.TB, dir string) *published {
	t.Helper()
	r := &strictReader{t: t, dir: dir, p: published{resources: state{}}}
	r.p.pending = exists(t, filepath.Join(dir, publish.Folder, "journal"))
	if start := ".well-known/resourcesync"; exists(t, filepath.Join(dir, start)) {
		r.p.complete = true
		doc, _ := r.document(faultsURL+start, "urlset", "description")
		for i, set := range doc.URLs {
			if set.MD.Capability != "capabilitylist" {
				t.Fatalf("the Source Description names %+v", set)
			}
			if i == 0 {
				r.capabilities(set.Loc)
				continue
			}
			other := &strictReader{t: t, dir: dir, p: published{resources: state{}}}
			other.capabilities(set.Loc)
			other.agree()
			other.agreeDumps()
		}
	} else if list := "resourcesync/capabilitylist.xml"; exists(t, filepath.Join(dir, list)) {
		r.capabilities(faultsURL + list)
	}
	if !r.p.pending && r.p.complete {
		r.record()
	}
	if !r.p.pending && !r.p.complete && !r.p.at.IsZero() {
		t.Error("there is a Capability List without a Source Description, and nothing will complete it")
	}
	if r.p.at.After(r.p.last()) {
		t.Errorf("the Resource List of %v is newer than the last change of %v", r.p.at, r.p.last())
	}
	r.agree()
	r.agreeDumps()
	return &r.p
}

func exists(t testing.TB, name string) bool {
	t.Helper()
	_, err := os.Lstat(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

// document reads a document, whose form has to be the one that is wanted.
func (r *strictReader) document(uri, root, capability string) (*rsDocument, []byte) {
	r.t.Helper()
	name, below := strings.CutPrefix(uri, faultsURL)
	if !below {
		r.t.Fatalf("%q leads out of the publication", uri)
	}
	b, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		r.t.Fatalf("a document that is named: %v", err)
	}
	doc := &rsDocument{}
	if err := xml.Unmarshal(b, doc); err != nil {
		r.t.Fatalf("%s: %v", name, err)
	}
	if !strings.Contains(root, doc.XMLName.Local) || doc.MD.Capability != capability {
		r.t.Fatalf("%s is a %s with capability %q, want %s of %q", name, doc.XMLName.Local, doc.MD.Capability, root, capability)
	}
	return doc, b
}

func (d *rsDocument) link(rel string) string {
	for _, l := range d.Links {
		if l.Rel == rel {
			return l.Href
		}
	}
	return ""
}

const listRoots = "urlset or sitemapindex"

func (d *rsDocument) isIndex() bool { return d.XMLName.Local == "sitemapindex" }

func (r *strictReader) capabilities(uri string) {
	r.t.Helper()
	doc, _ := r.document(uri, "urlset", "capabilitylist")
	if up := doc.link("up"); up != faultsURL+".well-known/resourcesync" {
		r.t.Errorf("up leads to %q", up)
	}
	var seen []string
	for _, e := range doc.URLs {
		seen = append(seen, e.MD.Capability)
		switch e.MD.Capability {
		case "resourcelist":
			r.resourceList(e.Loc, uri)
		case "changelist":
			r.changeList(e.Loc, uri)
		case "resourcedump":
			r.resourceDump(e.Loc, uri)
		case "changedump":
			r.changeDump(e.Loc, uri)
		default:
			r.archive(e.Loc, e.MD.Capability, uri)
		}
	}
	seen = slices.DeleteFunc(seen, func(c string) bool { return strings.HasSuffix(c, "-archive") })
	if slices.Sort(seen); !slices.Equal(seen, []string{"changedump", "changelist", "resourcedump", "resourcelist"}) {
		r.t.Errorf("the capabilities are %v", seen)
	}
}

// archive reads an archive: what it names is there, down to parts and packages.
func (r *strictReader) archive(uri, capability, up string) {
	r.t.Helper()
	kind, ok := strings.CutSuffix(capability, "-archive")
	if !ok {
		r.t.Errorf("there is the capability %q", capability)
	}
	doc, _ := r.document(uri, "urlset", capability)
	if doc.link("up") != up {
		r.t.Errorf("up leads to %q", doc.link("up"))
	}
	for i := range doc.URLs {
		past, content := r.document(doc.URLs[i].Loc, listRoots, kind)
		r.listed(&doc.URLs[i], content)
		named := past.Lists
		if strings.HasSuffix(kind, "dump") {
			named = past.URLs
		}
		for j := range named {
			name := strings.TrimPrefix(named[j].Loc, faultsURL)
			b, err := os.ReadFile(filepath.Join(r.dir, name))
			if err != nil {
				r.t.Fatalf("what %s names: %v", doc.URLs[i].Loc, err)
			}
			r.listed(&named[j], b)
		}
	}
}

func (r *strictReader) time(s string) time.Time {
	r.t.Helper()
	at, err := time.Parse("2006-01-02T15:04:05Z", s)
	if err != nil {
		r.t.Fatal(err)
	}
	return at
}

// listed checks that a document is the one that its Index means.
func (r *strictReader) listed(e *rsEntry, content []byte) {
	r.t.Helper()
	sum := sha256.Sum256(content)
	if e.MD.Hash != "sha-256:"+hex.EncodeToString(sum[:]) || e.MD.Length != strconv.Itoa(len(content)) {
		r.t.Errorf("%s is not what its Index says", e.Loc)
	}
}

func (r *strictReader) resourceList(uri, up string) {
	r.t.Helper()
	doc, _ := r.document(uri, listRoots, "resourcelist")
	r.p.at, r.p.indexed = r.time(doc.MD.At), doc.isIndex()
	if doc.link("up") != up || r.time(doc.MD.Completed).Before(r.p.at) || len(doc.URLs) > 50_000 {
		r.t.Errorf("the Resource List begins with %+v %+v, and has %d entries", doc.MD, doc.Links, len(doc.URLs))
	}
	entries := doc.URLs
	for i := range doc.Lists {
		e := &doc.Lists[i]
		part, content := r.document(e.Loc, "urlset", "resourcelist")
		r.listed(e, content)
		if part.link("up") != up || part.link("index") != uri || part.MD.At != e.MD.At || r.time(part.MD.At).After(r.p.at) {
			r.t.Errorf("%s does not fit under its Index", e.Loc)
		}
		entries = append(entries, part.URLs...)
	}
	last := ""
	for _, e := range entries {
		if e.Loc <= last || !strings.HasPrefix(e.Loc, faultsURL) || e.MD.Change != "" {
			r.t.Errorf("%q after %q", e.Loc, last)
		}
		last = e.Loc
		r.p.resources[e.Loc] = e.MD.Hash + " " + e.MD.Length
	}
}

func (r *strictReader) changeList(uri, up string) {
	r.t.Helper()
	doc, _ := r.document(uri, listRoots, "changelist")
	r.p.from = r.time(doc.MD.From)
	if doc.link("up") != up || doc.MD.Until != "" {
		r.t.Errorf("the Change List begins with %+v %+v", doc.MD, doc.Links)
	}
	if !doc.isIndex() {
		r.changes(doc)
		return
	}
	from := doc.MD.From
	for i := range doc.Lists {
		e := &doc.Lists[i]
		list, content := r.document(e.Loc, "urlset", "changelist")
		// A list may have been closed a moment before its Index says so.
		closed := e.MD.Until != "" && list.MD.Until != e.MD.Until
		if e.MD.From != from || list.MD.From != from || closed || list.link("index") != uri {
			r.t.Errorf("%s does not fit under its Index: %+v", e.Loc, e.MD)
		}
		if open := e.MD.Until == ""; open != (i == len(doc.Lists)-1) {
			r.t.Errorf("%s: open %v", e.Loc, open)
		} else if !open {
			r.listed(e, content)
		}
		from = e.MD.Until
		r.changes(list)
	}
}

func (r *strictReader) changes(doc *rsDocument) {
	r.t.Helper()
	from := r.time(doc.MD.From)
	for _, e := range doc.URLs {
		now := event{uri: e.Loc, change: e.MD.Change, bytes: e.MD.Hash + " " + e.MD.Length, at: r.time(e.MD.DateTime)}
		if !now.at.After(from) || doc.MD.Until != "" && now.at.After(r.time(doc.MD.Until)) {
			r.t.Errorf("%s at %v is out of its list", now.uri, now.at)
		}
		if n := len(r.p.events); n > 0 {
			before := &r.p.events[n-1]
			if now.at.Before(before.at) || now.at.Equal(before.at) && now.uri <= before.uri {
				r.t.Errorf("%s at %v is out of order, or twice there", now.uri, now.at)
			}
		}
		if (now.change == "deleted") != (e.MD.Hash == "") {
			r.t.Errorf("%s is %s with hash %q", now.uri, now.change, e.MD.Hash)
		}
		r.p.events = append(r.p.events, now)
	}
}

// agree checks that the Resource List says of each resource what its last event
// up to then says.
func (r *strictReader) agree() {
	r.t.Helper()
	latest := map[string]event{}
	for _, e := range r.p.events {
		if !e.at.After(r.p.at) {
			latest[e.uri] = e
		}
	}
	for uri, e := range latest {
		bytes, there := r.p.resources[uri]
		if there == (e.change == "deleted") || there && bytes != e.bytes {
			r.t.Errorf("%s is %q in the Resource List (there: %v), but was %s at %v: %q", uri, bytes, there, e.change, e.at, e.bytes)
		}
	}
}

// record checks that all heads are those of the same publication.
func (r *strictReader) record() {
	r.t.Helper()
	type file struct {
		Path, SHA256 string
		Length       int
	}
	var record struct {
		At             string
		Heads, Retired []file
	}
	b, err := os.ReadFile(filepath.Join(r.dir, "resourcesync/publication.json"))
	if err == nil {
		err = json.Unmarshal(b, &record)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	if len(record.Heads) < 3 || r.time(record.At).Before(r.p.last()) {
		r.t.Errorf("the record of %s has %d heads, and the last change is of %v", record.At, len(record.Heads), r.p.last())
	}
	for _, h := range record.Heads {
		b, err := os.ReadFile(filepath.Join(r.dir, h.Path))
		sum := sha256.Sum256(b)
		if err != nil || len(b) != h.Length || hex.EncodeToString(sum[:]) != h.SHA256 {
			r.t.Errorf("the head %s is not that of the record (%v)", h.Path, err)
		}
	}
	for _, retired := range record.Retired {
		if !exists(r.t, filepath.Join(r.dir, retired.Path)) {
			r.t.Errorf("the retired body %s is gone", retired.Path)
		}
	}
}

// replay applies the events after one time and up to another to a state.
func replay(t testing.TB, before state, events []event, after, until time.Time) state {
	t.Helper()
	now := maps.Clone(before)
	for _, e := range events {
		if !e.at.After(after) || e.at.After(until) {
			continue
		}
		if _, there := now[e.uri]; there == (e.change == "created") {
			t.Errorf("%s is %s at %v, but was there before: %v", e.uri, e.change, e.at, there)
		}
		if e.change == "deleted" {
			delete(now, e.uri)
		} else {
			now[e.uri] = e.bytes
		}
	}
	return now
}

// stateOf is what a publication of a source with simple names has to say.
func stateOf(t testing.TB, source string) state {
	t.Helper()
	s := state{}
	err := filepath.WalkDir(source, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(name)
		relative, _ := filepath.Rel(source, name)
		s[faultsURL+filepath.ToSlash(relative)] = bytesOf(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func bytesOf(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha-256:" + hex.EncodeToString(sum[:]) + " " + strconv.Itoa(len(b))
}

func checkState(t testing.TB, what string, got, want state) {
	t.Helper()
	for _, uri := range slices.Sorted(maps.Keys(want)) {
		if got[uri] != want[uri] {
			t.Errorf("%s: %s is %q, want %q", what, uri, got[uri], want[uri])
		}
	}
	for _, uri := range slices.Sorted(maps.Keys(got)) {
		if _, there := want[uri]; !there {
			t.Errorf("%s: %s is there", what, uri)
		}
	}
}

// filesOf returns the files of a publication, with their bytes; what a
// transaction needs while it is open is none of them.
func filesOf(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == publish.Folder:
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		b, err := os.ReadFile(name)
		relative, _ := filepath.Rel(dir, name)
		files[relative] = string(b)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return files
}

// differences names the files in which two publications differ.
func differences(got, want map[string]string) []string {
	var names []string
	for name := range want {
		if content, there := got[name]; !there || content != want[name] {
			names = append(names, name)
		}
	}
	for name := range got {
		if _, there := want[name]; !there {
			names = append(names, "too many: "+name)
		}
	}
	slices.Sort(names)
	return names
}
