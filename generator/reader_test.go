package generator

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/verify"
)

// publication is all that a Destination gets out of a publication.
type publication struct {
	at, from  time.Time // of the Resource List, and of the Change List
	indexed   bool
	parts     [][]resourcesync.Entry // resources, as they are cut
	changes   [][]resourcesync.Entry // events, as they are cut
	resources map[string]resourcesync.Entry
	dumps     dumps
	archived  []publication // snapshots, in the order of time
}

// dumps is what a Destination gets out of the dumps of a publication.
type dumps struct {
	packages [][]bitstream // of the Resource Dump
	content  map[string]string
	changes  []bitstream // of the Change Dump
	from     time.Time
	any      bool
}

// bitstream is an entry of a manifest, and what the package has for it.
type bitstream struct {
	entry   resourcesync.Entry // without its path
	content string
}

// reader takes out what a publication says, by its links, from the Source Description on.
// Whether it may say so is for package verify to judge; what is checked here, no audit can
// know: that the record is right, that nothing lies about, and that lists and dumps are cut
// and sorted as they are meant to be.
type reader struct {
	t      tester
	dir    string
	layout layout.Layout
	p      publication
	named  map[string]bool // paths of all that was read
	past   [][]resourcesync.Entry
}

// read reads a publication that has to pass an audit.
func read(t tester, dir string) publication {
	t.Helper()
	audited(t, dir, verify.Packages)
	return newReader(t, dir).p
}

// readAll reads a publication whose folder has nothing else in it.
func readAll(t tester, dir string) publication {
	t.Helper()
	verified(t, dir, verify.Packages)
	r := newReader(t, dir)
	r.checkOrphans()
	return r.p
}

func newReader(t tester, dir string) *reader {
	t.Helper()
	r := &reader{t: t, dir: dir, named: map[string]bool{}}
	var err error
	if r.layout, err = layout.New(layout.Identity{BaseURL: "https://example.org/"}); err != nil {
		t.Fatal(err)
	}
	r.checkRecord()
	_, lists := r.document(r.layout.SourceDescription().URI)
	_, capabilities := r.document(lists[0].Loc)
	for _, c := range capabilities {
		switch c.Metadata.Capability {
		case resourcesync.ResourceList:
			r.resourceList(c.Loc)
		case resourcesync.ChangeList:
			r.changeList(c.Loc)
		case resourcesync.ResourceDump:
			r.resourceDump(c.Loc)
		case resourcesync.ChangeDump:
			r.changeDump(c.Loc)
		case resourcesync.FrameworkNotification:
			r.document(c.Loc)
		default:
			r.archive(&c)
		}
	}
	r.checkDumps()
	r.p.changes = append(r.past, r.p.changes...)
	return r
}

func (r *reader) checkRecord() {
	r.t.Helper()
	b, err := os.ReadFile(filepath.Join(r.dir, r.layout.Record().Path))
	if err != nil {
		r.t.Fatal(err)
	}
	record, err := snapshot.ParseRecord(b)
	if err != nil {
		r.t.Fatal(err)
	}
	r.named[r.layout.Record().Path] = true
	r.named[r.layout.Page().Path], r.named[r.layout.Style().Path] = true, true
	for _, h := range record.Heads {
		b, err := os.ReadFile(filepath.Join(r.dir, h.Path))
		sum := sha256.Sum256(b)
		if err != nil || int64(len(b)) != h.Length || hex.EncodeToString(sum[:]) != h.SHA256 {
			r.t.Fatalf("the head %s is not that of the record (%v)", h.Path, err)
		}
	}
	for _, retired := range record.Retired {
		if _, err := os.Stat(filepath.Join(r.dir, retired.Path)); err != nil {
			r.t.Fatalf("a retired body is gone: %v", err)
		}
		if r.named[retired.Path] {
			r.t.Errorf("%s is retired twice", retired.Path)
		}
		r.named[retired.Path] = true
	}
}

// document reads a whole document.
func (r *reader) document(uri string) (*resourcesync.Document, []resourcesync.Entry) {
	r.t.Helper()
	path, ok := r.layout.PathOf(uri)
	if !ok {
		r.t.Fatalf("%q is not of this publication", uri)
	}
	b, err := os.ReadFile(filepath.Join(r.dir, path))
	if err != nil {
		r.t.Fatal(err)
	}
	r.named[path] = true
	d := resourcesync.NewDecoder(bytes.NewReader(b), resourcesync.Limits{})
	doc, err := d.Document()
	if err != nil {
		r.t.Fatalf("%s: %v", path, err)
	}
	var entries []resourcesync.Entry
	for {
		e, err := d.Next()
		if err == io.EOF {
			return doc, entries
		}
		if err != nil {
			r.t.Fatalf("%s: %v", path, err)
		}
		entries = append(entries, *e)
	}
}

// parts reads a document, or those that it names if it is an Index.
func (r *reader) parts(uri string) (head *resourcesync.Document, parts [][]resourcesync.Entry) {
	r.t.Helper()
	head, entries := r.document(uri)
	if !head.Index {
		return head, [][]resourcesync.Entry{entries}
	}
	for _, e := range entries {
		_, part := r.document(e.Loc)
		parts = append(parts, part)
	}
	return head, parts
}

func (r *reader) resourceList(uri string) {
	r.t.Helper()
	doc, parts := r.parts(uri)
	r.p.at, r.p.indexed, r.p.parts = doc.Metadata.At, doc.Index, parts
	r.p.resources = map[string]resourcesync.Entry{}
	last := ""
	for _, e := range slices.Concat(parts...) {
		if e.Loc <= last {
			r.t.Errorf("%q after %q", e.Loc, last)
		}
		last = e.Loc
		r.p.resources[e.Loc] = e
	}
}

func (r *reader) changeList(uri string) {
	r.t.Helper()
	doc, parts := r.parts(uri)
	r.p.from = doc.Metadata.From
	for _, events := range parts {
		r.changes(events)
	}
}

// changes takes the events of one list, which are sorted by their URIs where they are of
// one time, and of one form.
func (r *reader) changes(events []resourcesync.Entry) {
	r.t.Helper()
	for i := range events {
		e, last := &events[i], &events[max(i, 1)-1]
		if i > 0 && e.ChangeTime().Equal(last.ChangeTime()) && e.Loc <= last.Loc {
			r.t.Errorf("%q after %q", e.Loc, last.Loc)
		}
		if formOf(e) != formOf(last) {
			r.t.Errorf("%s is in the form of %s in a list of %s", e.Loc, formOf(e), formOf(last))
		}
	}
	r.p.changes = append(r.p.changes, events)
}

// formOf is the version in whose form a change is told.
func formOf(e *resourcesync.Entry) policy.Standard {
	if e.Metadata.DateTime.IsZero() {
		return policy.Standard10
	}
	return policy.Standard11
}

func (r *reader) resourceDump(uri string) {
	r.t.Helper()
	_, parts := r.parts(uri)
	r.p.dumps.any = true
	r.p.dumps.content = map[string]string{}
	for _, e := range slices.Concat(parts...) {
		list := r.zipPackage(&e)
		r.p.dumps.packages = append(r.p.dumps.packages, list)
		for _, b := range list {
			r.p.dumps.content[b.entry.Loc] = b.content
		}
	}
}

func (r *reader) changeDump(uri string) {
	r.t.Helper()
	doc, parts := r.parts(uri)
	r.p.dumps.from = doc.Metadata.From
	for _, e := range slices.Concat(parts...) {
		r.p.dumps.changes = append(r.p.dumps.changes, r.zipPackage(&e)...)
	}
}

// zipPackage reads a package by the copy of its manifest.
func (r *reader) zipPackage(e *resourcesync.Entry) (list []bitstream) {
	r.t.Helper()
	path, _ := r.layout.PathOf(e.Loc)
	raw, err := os.ReadFile(filepath.Join(r.dir, path))
	if err != nil {
		r.t.Fatal(err)
	}
	r.named[path] = true
	files := unzip(r.t, raw)
	_, entries := r.document(e.Links[0].Href)
	for _, entry := range entries {
		b := bitstream{entry: entry, content: files[strings.TrimPrefix(entry.Metadata.Path, "/")]}
		b.entry.Metadata.Path = ""
		list = append(list, b)
	}
	return list
}

func unzip(t tester, raw []byte) map[string]string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range z.File {
		content, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(content)
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		if _, twice := files[f.Name]; twice {
			t.Errorf("%s is there twice", f.Name)
		}
		files[f.Name] = string(b)
	}
	return files
}

// checkDumps compares lists and dumps.
func (r *reader) checkDumps() {
	r.t.Helper()
	if d := r.p.dumps; d.any {
		var got []resourcesync.Entry
		for _, b := range slices.Concat(d.packages...) {
			got = append(got, b.entry)
		}
		want := slices.Concat(r.p.parts...)
		for i := range want { // manifests of the Resource Dump have no links
			want[i].Links = nil
		}
		if diff := cmp.Diff(want, got); diff != "" {
			r.t.Errorf("(-Resource List +Resource Dump):\n%s", diff)
		}
	}
	if from := r.p.dumps.from; !from.IsZero() {
		var want, got []resourcesync.Entry
		for _, e := range slices.Concat(r.p.changes...) {
			if e.ChangeTime().After(from) {
				want = append(want, e)
			}
		}
		for _, b := range r.p.dumps.changes {
			got = append(got, b.entry)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			r.t.Errorf("(-Change List +Change Dump):\n%s", diff)
		}
	}
}

// archive reads an archive, and the documents that it names.
func (r *reader) archive(c *resourcesync.Entry) {
	r.t.Helper()
	kind, ok := strings.CutSuffix(string(c.Metadata.Capability), "-archive")
	if !ok || c.Loc != r.layout.Archive(kind).URI {
		r.t.Errorf("unknown capability %q of %s", c.Metadata.Capability, c.Loc)
		return
	}
	_, parts := r.parts(c.Loc)
	for _, e := range slices.Concat(parts...) {
		r.archived(resourcesync.Capability(kind), e.Loc)
	}
}

// archived reads one archived document.
func (r *reader) archived(kind resourcesync.Capability, uri string) {
	r.t.Helper()
	past := &reader{t: r.t, dir: r.dir, layout: r.layout, named: r.named}
	switch kind {
	case resourcesync.ResourceList:
		past.resourceList(uri)
		r.p.archived = append(r.p.archived, past.p)
	case resourcesync.ResourceDump:
		doc, _ := r.document(uri)
		past.resourceDump(uri)
		r.addContent(doc.Metadata.At, past.p.dumps.content)
	case resourcesync.ChangeList:
		past.changeList(uri)
		r.past = append(r.past, past.p.changes...)
		if r.p.from.IsZero() || past.p.from.Before(r.p.from) {
			r.p.from = past.p.from
		}
	case resourcesync.ChangeDump:
		past.changeDump(uri)
	}
}

// addContent puts the content that a Resource Dump had beside the Resource List
// of the same time.
func (r *reader) addContent(at time.Time, content map[string]string) {
	r.t.Helper()
	for i := range r.p.archived {
		p := &r.p.archived[i]
		if !p.at.Equal(at) {
			continue
		}
		p.dumps.content = content
		for uri, e := range p.resources {
			if c, ok := content[uri]; !ok || int64(len(c)) != e.Metadata.Length {
				r.t.Errorf("%s of %v is not in the archived packages", uri, at)
			}
		}
		if len(content) != len(p.resources) {
			r.t.Errorf("%d bitstreams for %d resources", len(content), len(p.resources))
		}
	}
}

// checkOrphans makes sure that whatever is in the folder is named, or retired.
func (r *reader) checkOrphans() {
	r.t.Helper()
	err := fs.WalkDir(os.DirFS(r.dir), r.layout.Folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !r.named[path] {
			r.t.Errorf("nothing leads to %s", path)
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
}
