package generator

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

// bitstream is an entry of a manifest, and what the package has for it.
type bitstream struct {
	entry   resourcesync.Entry // without its path
	content string
}

// dumps is what a strict reader gets out of the dumps of a publication.
type dumps struct {
	packages [][]bitstream // of the Resource Dump
	content  map[string]string
	changes  []bitstream // of the Change Dump
	from     time.Time
	any      bool
}

// resourceDump reads the Resource Dump, or those under its Index.
func (r *reader) resourceDump(uri string) {
	r.t.Helper()
	doc, entries, _ := r.document(uri, resourcesync.ResourceDump)
	r.linksUp(doc, r.layout.CapabilityList().URI)
	r.p.dumps.any = true
	if doc.Index {
		entries = r.dumpParts(r.layout.ResourceDump().URI, resourcesync.ResourceDump, entries)
	}
	r.p.dumps.content = map[string]string{}
	for i := range entries {
		manifest, list := r.zipPackage(&entries[i], resourcesync.ResourceDumpManifest)
		if at := manifest.Metadata.At; at.IsZero() || at.After(doc.Metadata.At) || !at.Equal(entries[i].Metadata.At) ||
			manifest.Metadata.Completed.Before(at) {
			r.t.Errorf("%s is of %v", entries[i].Loc, manifest.Metadata)
		}
		r.p.dumps.packages = append(r.p.dumps.packages, list)
		for _, b := range list {
			r.p.dumps.content[b.entry.Loc] = b.content
		}
	}
}

// dumpParts reads the dumps under an Index, and returns the entries for all of
// their packages.
func (r *reader) dumpParts(index string, want resourcesync.Capability, parts []resourcesync.Entry) (all []resourcesync.Entry) {
	r.t.Helper()
	for i := range parts {
		part, packages, content := r.document(parts[i].Loc, want)
		r.listed(&parts[i], content)
		if part.Link(resourcesync.RelIndex) != index {
			r.t.Errorf("%s does not lead to its Index", parts[i].Loc)
		}
		md, last := parts[i].Metadata, packages[len(packages)-1].Metadata
		if want == resourcesync.ChangeDump && (!md.From.Equal(packages[0].Metadata.From) || !md.Until.Equal(last.Until) ||
			!part.Metadata.From.Equal(md.From) || !part.Metadata.Until.Equal(md.Until)) {
			r.t.Errorf("%s is of another time than its packages", parts[i].Loc)
		}
		all = append(all, packages...)
	}
	return all
}

// changeDump reads the Change Dump, whose packages have to join.
func (r *reader) changeDump(uri string) {
	r.t.Helper()
	doc, entries, _ := r.document(uri, resourcesync.ChangeDump)
	r.linksUp(doc, r.layout.CapabilityList().URI)
	r.p.dumps.from = doc.Metadata.From
	last := doc.Metadata.From
	if last.IsZero() || !doc.Metadata.Until.IsZero() {
		r.t.Errorf("the Change Dump is not open: %+v", doc)
	}
	if doc.Index {
		entries = r.dumpParts(uri, resourcesync.ChangeDump, entries)
	}
	for i := range entries {
		manifest, list := r.zipPackage(&entries[i], resourcesync.ChangeDumpManifest)
		md := entries[i].Metadata
		if !md.From.Equal(last) || !md.Until.After(md.From) || !manifest.Metadata.From.Equal(md.From) || !manifest.Metadata.Until.Equal(md.Until) {
			r.t.Errorf("%s does not join: %+v, %+v", entries[i].Loc, md, manifest.Metadata)
		}
		for _, b := range list {
			if at := b.entry.ChangeTime(); !at.After(md.From) || at.After(md.Until) {
				r.t.Errorf("%s at %v is not of its package", b.entry.Loc, at)
			}
		}
		last = md.Until
		r.p.dumps.changes = append(r.p.dumps.changes, list...)
	}
}

// zipPackage reads a package, which has to hold what its manifest says and nothing else.
func (r *reader) zipPackage(e *resourcesync.Entry, want resourcesync.Capability) (*resourcesync.Document, []bitstream) {
	r.t.Helper()
	path, _ := r.layout.PathOf(e.Loc)
	raw, err := os.ReadFile(filepath.Join(r.dir, path))
	if err != nil {
		r.t.Fatal(err)
	}
	r.named[path] = true
	r.listed(e, raw)
	files := unzip(r.t, raw)
	if len(e.Links) != 1 || e.Links[0].Rel != resourcesync.RelContents {
		r.t.Fatalf("%s has the links %+v", e.Loc, e.Links)
	}
	doc, entries, copied := r.document(e.Links[0].Href, want)
	r.linksUp(doc, r.layout.CapabilityList().URI)
	if string(copied) != files["manifest.xml"] {
		r.t.Errorf("%s is not the manifest of its package", e.Links[0].Href)
	}
	delete(files, "manifest.xml")
	var list []bitstream
	for _, entry := range entries {
		b := bitstream{entry: entry}
		b.entry.Metadata.Path = ""
		if entry.Metadata.Change != resourcesync.Deleted {
			b.content = r.bitstream(files, &entry)
		}
		list = append(list, b)
	}
	if len(files) > 0 {
		r.t.Errorf("%s holds %d files that its manifest does not list", path, len(files))
	}
	return doc, list
}

// bitstream takes the content of an entry out of the files of its package.
func (r *reader) bitstream(files map[string]string, e *resourcesync.Entry) string {
	r.t.Helper()
	name, rooted := strings.CutPrefix(e.Metadata.Path, "/resources/")
	content, ok := files["resources/"+name]
	if !rooted || !ok {
		r.t.Fatalf("%s is not at %q", e.Loc, e.Metadata.Path)
	}
	delete(files, "resources/"+name)
	sum := sha256.Sum256([]byte(content))
	if e.Metadata.Length != int64(len(content)) || e.Metadata.Hash.Get("sha-256") != hex.EncodeToString(sum[:]) {
		r.t.Errorf("%s is not what its manifest says", e.Metadata.Path)
	}
	return content
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

// describePackages says how bitstreams are cut into packages, but for their
// times.
func describePackages(p publication) [][]string {
	var packages [][]string
	for _, list := range p.dumps.packages {
		var names []string
		for _, b := range list {
			names = append(names, b.entry.Loc+" "+b.content)
		}
		packages = append(packages, names)
	}
	return packages
}

// replayContent applies the packages of a Change Dump since a time to what a
// Resource Dump held.
func replayContent(state map[string]string, p publication, since time.Time) map[string]string {
	now := map[string]string{}
	for uri, content := range state {
		now[uri] = content
	}
	for _, b := range p.dumps.changes {
		switch md := b.entry.Metadata; {
		case !b.entry.ChangeTime().After(since):
		case md.Change == resourcesync.Deleted:
			delete(now, b.entry.Loc)
		default:
			now[b.entry.Loc] = b.content
		}
	}
	return now
}
