package generator

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/verify"
)

// tester is what *testing.T and *rapid.T have in common.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
}

// world is a source, its publication and a clock.
type world struct {
	t       tester
	source  string
	out     string
	cache   string
	now     time.Time
	options Options
	live    *live // if builds are uploaded
}

const oneDay = 24 * time.Hour

var testStart = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func newWorld(t tester, dir string) *world {
	w := &world{
		t:      t,
		source: filepath.Join(dir, "source"),
		out:    filepath.Join(dir, "out"),
		cache:  filepath.Join(dir, "cache", "stat"),
		now:    testStart,
	}
	if err := os.MkdirAll(w.source, 0o755); err != nil {
		t.Fatal(err)
	}
	w.options = Options{
		Source: w.source, Out: w.out, Cache: w.cache, Jobs: 2, Release: "wellspring test",
		Identity: layout.Identity{BaseURL: "https://example.org/"},
	}
	return w
}

// smallLists makes documents of a few entries, so that small sources have all
// the forms of large ones. joinedLists have so many parts that they are joined.
var (
	smallLists  = policy.Limits{Entries: 7, Bytes: 2000, CutBits: 2}
	joinedLists = policy.Limits{Entries: 7, Bytes: 2000, ManyParts: 8, CutBits: 1}
)

// file writes a file and gives it a modification time, with the directories
// above it.
func (w *world) file(name, content string, modified time.Time) {
	w.t.Helper()
	native := filepath.Join(w.source, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(native), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(native, []byte(content), 0o644); err != nil {
		w.t.Fatal(err)
	}
	w.touch(name, modified)
}

func (w *world) touch(name string, modified time.Time) {
	w.t.Helper()
	if err := os.Chtimes(filepath.Join(w.source, filepath.FromSlash(name)), modified, modified); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) remove(name string) {
	w.t.Helper()
	if err := os.RemoveAll(filepath.Join(w.source, filepath.FromSlash(name))); err != nil {
		w.t.Fatal(err)
	}
}

// run builds at the world's time, which goes on by a minute.
func (w *world) run(change ...func(*Options)) (*Report, error) {
	o := w.options
	now := w.now
	o.Now, o.FixedClock = func() time.Time { return now }, true
	for _, c := range change {
		c(&o)
	}
	w.now = w.now.Add(time.Minute)
	if w.live == nil {
		return Run(context.Background(), o)
	}
	o.Plan = w.live.plan
	report, err := Run(context.Background(), o)
	if err == nil && !o.DryRun {
		w.live.built()
	}
	return report, err
}

func (w *world) build(change ...func(*Options)) *Report {
	w.t.Helper()
	report, err := w.run(change...)
	if err != nil {
		w.t.Fatal(err)
	}
	return report
}

// tree returns the files below a directory, with their content.
func tree(t tester, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		relative, _ := filepath.Rel(dir, name)
		files[filepath.ToSlash(relative)] = string(b)
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return files
}

// publication is all that a strict reader gets out of a publication.
type publication struct {
	at, from  time.Time // of the Resource List, and of the Change List
	indexed   bool
	parts     [][]resourcesync.Entry // resources, as they are cut
	changes   [][]resourcesync.Entry // events, as they are cut
	resources map[string]resourcesync.Entry
	dumps     dumps
	archived  []publication // snapshots, in the order of time
}

// reader reads a publication by its links, from the Source Description on, and
// fails the test at whatever the standard or the design does not allow.
type reader struct {
	t      tester
	dir    string
	layout layout.Layout
	p      publication
	named  map[string]bool // paths of all that was read
	past   [][]resourcesync.Entry
}

func read(t tester, dir string) publication {
	t.Helper()
	return newReader(t, dir).p
}

// readAll reads a publication whose folder has nothing else in it.
func readAll(t tester, dir string) publication {
	t.Helper()
	r := newReader(t, dir)
	r.checkOrphans()
	verified(t, dir, verify.Packages)
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
	_, lists, _ := r.document(r.layout.SourceDescription().URI, resourcesync.Description)
	doc, capabilities, _ := r.document(lists[0].Loc, resourcesync.CapabilityList)
	r.linksUp(doc, r.layout.SourceDescription().URI)
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
			doc, _, _ := r.document(c.Loc, resourcesync.FrameworkNotification)
			r.linksUp(doc, r.layout.CapabilityList().URI)
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

// document reads a whole document, which has to be no larger than it may be.
func (r *reader) document(uri string, want resourcesync.Capability) (*resourcesync.Document, []resourcesync.Entry, []byte) {
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
	if doc.Metadata.Capability != want {
		r.t.Fatalf("%s: capability %q, want %q", path, doc.Metadata.Capability, want)
	}
	var entries []resourcesync.Entry
	for {
		e, err := d.Next()
		if err == io.EOF {
			return doc, entries, b
		}
		if err != nil {
			r.t.Fatalf("%s: %v", path, err)
		}
		entries = append(entries, *e)
	}
}

func (r *reader) linksUp(doc *resourcesync.Document, want string) {
	r.t.Helper()
	if got := doc.Link(resourcesync.RelUp); got != want {
		r.t.Errorf("up leads to %q, want %q", got, want)
	}
}

// listed checks what an Index says of a document.
func (r *reader) listed(e *resourcesync.Entry, content []byte) {
	r.t.Helper()
	sum := sha256.Sum256(content)
	if e.Metadata.Hash.Get("sha-256") != hex.EncodeToString(sum[:]) || e.Metadata.Length != int64(len(content)) {
		r.t.Errorf("%s is not what its Index says", e.Loc)
	}
}

func (r *reader) resourceList(uri string) {
	r.t.Helper()
	doc, entries, _ := r.document(uri, resourcesync.ResourceList)
	r.linksUp(doc, r.layout.CapabilityList().URI)
	r.p.at, r.p.indexed = doc.Metadata.At, doc.Index
	if doc.Metadata.Completed.Before(doc.Metadata.At) {
		r.t.Errorf("completed %v before at %v", doc.Metadata.Completed, doc.Metadata.At)
	}
	if !doc.Index {
		r.p.parts = [][]resourcesync.Entry{entries}
	}
	for i := range entries {
		if !doc.Index {
			break
		}
		part, resources, content := r.document(entries[i].Loc, resourcesync.ResourceList)
		r.linksUp(part, r.layout.CapabilityList().URI)
		r.listed(&entries[i], content)
		if part.Link(resourcesync.RelIndex) != r.layout.ResourceList().URI || part.Metadata.At.After(r.p.at) || !part.Metadata.At.Equal(entries[i].Metadata.At) {
			r.t.Errorf("%s does not fit under its Index", entries[i].Loc)
		}
		r.p.parts = append(r.p.parts, resources)
	}
	r.p.resources = map[string]resourcesync.Entry{}
	last := ""
	for _, e := range slices.Concat(r.p.parts...) {
		if e.Loc <= last {
			r.t.Errorf("%q after %q", e.Loc, last)
		}
		last = e.Loc
		r.p.resources[e.Loc] = e
	}
}

func (r *reader) changeList(uri string) {
	r.t.Helper()
	doc, entries, _ := r.document(uri, resourcesync.ChangeList)
	r.linksUp(doc, r.layout.CapabilityList().URI)
	r.p.from = doc.Metadata.From
	if !doc.Index {
		r.changes(doc, entries)
		return
	}
	from := doc.Metadata.From
	for i := range entries {
		list, events, content := r.document(entries[i].Loc, resourcesync.ChangeList)
		md := entries[i].Metadata
		if !md.From.Equal(from) || !md.From.Equal(list.Metadata.From) || !md.Until.Equal(list.Metadata.Until) ||
			list.Link(resourcesync.RelIndex) != uri {
			r.t.Errorf("%s does not fit under its Index: %+v", entries[i].Loc, md)
		}
		if open := md.Until.IsZero(); open != (i == len(entries)-1) {
			r.t.Errorf("%s: open %v", entries[i].Loc, open)
		} else if !open {
			r.listed(&entries[i], content)
		}
		from = md.Until
		r.changes(list, events)
	}
}

func (r *reader) changes(doc *resourcesync.Document, events []resourcesync.Entry) {
	r.t.Helper()
	last := doc.Metadata.From
	lastURI := ""
	for _, e := range events {
		at := e.ChangeTime()
		if at.Before(last) || !at.After(doc.Metadata.From) || !doc.Metadata.Until.IsZero() && at.After(doc.Metadata.Until) {
			r.t.Errorf("%s at %v is out of order or out of its list", e.Loc, at)
		}
		if at.Equal(last) && e.Loc <= lastURI {
			r.t.Errorf("%q after %q", e.Loc, lastURI)
		}
		if formOf(&e) != formOf(&events[0]) {
			r.t.Errorf("%s is in the form of %s in a list of %s", e.Loc, formOf(&e), formOf(&events[0]))
		}
		last, lastURI = at, e.Loc
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

// replay applies the events since a time to a state.
func replay(t tester, state map[string]resourcesync.Entry, p publication, since time.Time) map[string]resourcesync.Entry {
	t.Helper()
	now := map[string]resourcesync.Entry{}
	for uri, e := range state {
		now[uri] = e
	}
	for _, e := range slices.Concat(p.changes...) {
		if !e.ChangeTime().After(since) {
			continue
		}
		_, exists := now[e.Loc]
		if exists == (e.Metadata.Change == resourcesync.Created) {
			t.Errorf("%s is %s at %v, but existed before: %v", e.Loc, e.Metadata.Change, e.ChangeTime(), exists)
		}
		if e.Metadata.Change == resourcesync.Deleted {
			delete(now, e.Loc)
			continue
		}
		e.Metadata.Change, e.Metadata.DateTime = "", time.Time{}
		now[e.Loc] = e
	}
	return now
}

// describe says what a state is made of, but for modification times.
func describe(parts [][]resourcesync.Entry) string {
	var b strings.Builder
	for i, part := range parts {
		fmt.Fprintf(&b, "part %d\n", i)
		for _, e := range part {
			fmt.Fprintf(&b, "%s %d %s %s\n", e.Loc, e.Metadata.Length, e.Metadata.Hash, e.Metadata.Type)
		}
	}
	return b.String()
}

// bodies counts the files in the folders of the publication that grow.
func bodies(files map[string]string) (n int) {
	for name := range files {
		if path.Base(path.Dir(name)) == "resourcelist" {
			n++
		}
	}
	return n
}

func mustDate(s string) time.Time {
	t, err := resourcesync.ParseDateTime(s)
	if err != nil {
		panic(err)
	}
	return t
}

var _ tester = (*testing.T)(nil)
