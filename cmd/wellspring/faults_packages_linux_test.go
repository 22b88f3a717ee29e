package main

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// dumped is what a strict reader gets out of the dumps.
type dumped struct {
	at        time.Time // of the Resource Dump, zero if there is none
	resources state
	from      time.Time // of the Change Dump, zero if there is none
	events    []event
}

func (r *strictReader) resourceDump(uri, up string) {
	r.t.Helper()
	doc, _ := r.document(uri, "urlset", "resourcedump")
	d := &r.p.dumped
	d.at, d.resources = r.time(doc.MD.At), state{}
	if doc.link("up") != up || r.time(doc.MD.Completed).Before(d.at) {
		r.t.Errorf("the Resource Dump begins with %+v %+v", doc.MD, doc.Links)
	}
	for i := range doc.URLs {
		manifest := r.zipPackage(&doc.URLs[i], "resourcedump-manifest")
		if manifest.MD.At != doc.URLs[i].MD.At || r.time(manifest.MD.At).After(d.at) {
			r.t.Errorf("%s is of %s", doc.URLs[i].Loc, manifest.MD.At)
		}
		for _, e := range manifest.URLs {
			if d.resources[e.Loc] != "" {
				r.t.Errorf("%s is in two packages", e.Loc)
			}
			d.resources[e.Loc] = e.MD.Hash + " " + e.MD.Length
		}
	}
}

func (r *strictReader) changeDump(uri, up string) {
	r.t.Helper()
	doc, _ := r.document(uri, "urlset", "changedump")
	d := &r.p.dumped
	d.from = r.time(doc.MD.From)
	if doc.link("up") != up || doc.MD.Until != "" {
		r.t.Errorf("the Change Dump begins with %+v %+v", doc.MD, doc.Links)
	}
	last := doc.MD.From
	for i := range doc.URLs {
		e := &doc.URLs[i]
		manifest := r.zipPackage(e, "changedump-manifest")
		if e.MD.From != last || manifest.MD.From != last || manifest.MD.Until != e.MD.Until {
			r.t.Errorf("%s does not join the package before it", e.Loc)
		}
		last = e.MD.Until
		for _, c := range manifest.URLs {
			at := r.time(c.MD.DateTime)
			if !at.After(r.time(e.MD.From)) || at.After(r.time(e.MD.Until)) {
				r.t.Errorf("%s at %v is out of its package", c.Loc, at)
			}
			d.events = append(d.events, event{uri: c.Loc, change: c.MD.Change, bytes: c.MD.Hash + " " + c.MD.Length, at: at})
		}
	}
}

// zipPackage reads a package, which has to hold what its manifest says and
// nothing else, and returns that.
func (r *strictReader) zipPackage(e *rsEntry, capability string) *rsDocument {
	r.t.Helper()
	name := strings.TrimPrefix(e.Loc, faultsURL)
	raw, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		r.t.Fatalf("a package that is named: %v", err)
	}
	r.listed(e, raw)
	files := r.unzip(name, raw)
	copied, err := os.ReadFile(filepath.Join(r.dir, strings.TrimSuffix(name, ".zip")+".xml"))
	if err != nil || string(copied) != files["manifest.xml"] {
		r.t.Errorf("%s: the copy of its manifest is another one (%v)", name, err)
	}
	manifest := &rsDocument{}
	if err := xml.Unmarshal([]byte(files["manifest.xml"]), manifest); err != nil || manifest.MD.Capability != capability {
		r.t.Fatalf("%s: %v, %+v", name, err, manifest.MD)
	}
	delete(files, "manifest.xml")
	for _, entry := range manifest.URLs {
		path := strings.TrimPrefix(entry.MD.Path, "/")
		content, there := files[path]
		if deleted := entry.MD.Change == "deleted"; deleted == there || there && bytesOf([]byte(content)) != entry.MD.Hash+" "+entry.MD.Length {
			r.t.Errorf("%s: %s is not what the manifest says", name, entry.Loc)
		}
		delete(files, path)
		for _, l := range entry.Links {
			if patch, there := files[strings.TrimPrefix(l.Path, "/")]; there && bytesOf([]byte(patch)) == l.Hash+" "+l.Length {
				delete(files, strings.TrimPrefix(l.Path, "/"))
			}
		}
	}
	if len(files) > 0 {
		r.t.Errorf("%s: %d files are not in the manifest", name, len(files))
	}
	return manifest
}

func (r *strictReader) unzip(name string, raw []byte) map[string]string {
	r.t.Helper()
	z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		r.t.Fatalf("%s: %v", name, err)
	}
	files := map[string]string{}
	for _, f := range z.File {
		content, err := f.Open()
		if err != nil {
			r.t.Fatalf("%s: %v", name, err)
		}
		b, err := io.ReadAll(content)
		if err != nil {
			r.t.Fatalf("%s: %s: %v", name, f.Name, err)
		}
		files[f.Name] = string(b)
	}
	return files
}

// agreeDumps checks that lists and dumps say the same. In the midst of a commit,
// dumps may be ahead of the lists, and never behind.
func (r *strictReader) agreeDumps() {
	r.t.Helper()
	d := &r.p.dumped
	if !d.at.IsZero() {
		if d.at.Before(r.p.at) || d.at.Equal(r.p.at) && !maps.Equal(d.resources, r.p.resources) || d.at.After(r.p.at) && !r.p.pending {
			r.t.Errorf("the Resource Dump of %v does not fit to the Resource List of %v", d.at, r.p.at)
		}
	}
	if d.from.IsZero() {
		return
	}
	var listed []event
	for _, e := range r.p.events {
		if e.at.After(d.from) {
			listed = append(listed, e)
		}
	}
	if n := len(listed); n > len(d.events) || !slices.Equal(d.events[:n], listed) || n < len(d.events) && !r.p.pending {
		r.t.Errorf("the Change Dump has %d events, the Change Lists %d, or other ones", len(d.events), n)
	}
}
