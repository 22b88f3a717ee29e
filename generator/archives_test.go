package generator

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// archive reads an archive, and the documents that it names.
func (r *reader) archive(c *resourcesync.Entry) {
	r.t.Helper()
	kind, ok := strings.CutSuffix(string(c.Metadata.Capability), "-archive")
	if !ok || c.Loc != r.layout.Archive(kind).URI {
		r.t.Errorf("unknown capability %q of %s", c.Metadata.Capability, c.Loc)
		return
	}
	doc, entries, _ := r.document(c.Loc, c.Metadata.Capability)
	r.linksUp(doc, r.layout.CapabilityList().URI)
	if _, err := os.Stat(filepath.Join(r.dir, r.layout.Live(kind).Path)); err == nil { // dumps may have ended
		live, _, _ := r.document(r.layout.Live(kind).URI, resourcesync.Capability(kind))
		if live.Link(resourcesync.RelArchives) != c.Loc {
			r.t.Errorf("the live %s does not lead to its archive", kind)
		}
	}
	if doc.Index {
		entries = r.archiveParts(doc, entries)
	}
	var last time.Time
	for i := range entries {
		e := &entries[i]
		at := e.Metadata.At
		if at.IsZero() {
			at = e.Metadata.Until
		}
		if !at.After(last) {
			r.t.Errorf("%s is of %v, behind one of %v", e.Loc, at, last)
		}
		last = at
		r.archived(resourcesync.Capability(kind), e)
	}
}

func (r *reader) archiveParts(index *resourcesync.Document, parts []resourcesync.Entry) (all []resourcesync.Entry) {
	r.t.Helper()
	for i := range parts {
		_, entries, content := r.document(parts[i].Loc, index.Metadata.Capability)
		r.listed(&parts[i], content)
		all = append(all, entries...)
	}
	return all
}

// archived reads one archived document.
func (r *reader) archived(kind resourcesync.Capability, e *resourcesync.Entry) {
	r.t.Helper()
	doc, entries, content := r.document(e.Loc, kind)
	r.listed(e, content)
	md := doc.Metadata
	if !md.At.Equal(e.Metadata.At) || !md.From.Equal(e.Metadata.From) || !md.Until.Equal(e.Metadata.Until) {
		r.t.Errorf("%s is of %+v, not %+v", e.Loc, md, e.Metadata)
	}
	past := &reader{t: r.t, dir: r.dir, layout: r.layout, named: r.named}
	switch kind {
	case resourcesync.ResourceList:
		if !doc.Index {
			r.t.Errorf("%s is no Index", e.Loc)
		}
		past.resourceList(e.Loc)
		r.p.archived = append(r.p.archived, past.p)
	case resourcesync.ResourceDump:
		past.resourceDump(e.Loc)
		r.addContent(md.At, past.p.dumps.content)
	case resourcesync.ChangeList:
		past.changes(doc, entries)
		r.past = append(r.past, past.p.changes...)
		if r.p.from.IsZero() || md.From.Before(r.p.from) {
			r.p.from = md.From
		}
	case resourcesync.ChangeDump:
		for i := range entries {
			past.zipPackage(&entries[i], resourcesync.ChangeDumpManifest)
		}
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

func newArchived(t *testing.T) *world {
	t.Helper()
	w := newDumps(t)
	on := true
	w.options.Archive = &on
	w.options.ArchiveKeep = policy.ArchiveKeep{Daily: -1, Weekly: -1, Monthly: -1, Yearly: -1}
	return w
}

// Each superseded snapshot is archived, with its packages.
func TestArchives(t *testing.T) {
	t.Parallel()
	for name, lim := range map[string]policy.Limits{"plain": {}, "Index": smallLists} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newArchived(t)
			w.options.limits = lim
			w.options.Rotate = policy.Rotation{Period: "run"}
			w.options.KeepChanges = policy.KeepFor(0)
			w.options.Grace = -1
			w.build()
			states := []publication{readAll(t, w.out)}
			for i := range 6 {
				w.now = w.now.Add(oneDay)
				w.file("new", strings.Repeat("x", i), longAgo)
				w.build()
				states = append(states, readAll(t, w.out))
			}
			last := states[len(states)-1]
			if len(last.archived) != 6 || len(last.changes) != 6 {
				t.Fatalf("%d snapshots are archived, %d lists", len(last.archived), len(last.changes))
			}
			for i, p := range last.archived {
				if diff := cmp.Diff(states[i].resources, p.resources); diff != "" {
					t.Errorf("snapshot %d (-live +archived):\n%s", i, diff)
				}
				if diff := cmp.Diff(states[i].dumps.content, p.dumps.content); diff != "" {
					t.Errorf("packages of snapshot %d (-live +archived):\n%s", i, diff)
				}
				got := replay(t, p.resources, last, p.at)
				if diff := cmp.Diff(last.resources, got); diff != "" {
					t.Errorf("replaying from snapshot %d:\n%s", i, diff)
				}
			}
			// One change costs a few documents, and what did not change is shared.
			parts, _ := filepath.Glob(filepath.Join(w.out, "resourcesync", "resourcelist", "*.xml"))
			if whole := len(last.archived) * len(last.archived[0].parts); name == "Index" && len(parts) > 6+whole/2 {
				t.Errorf("%d documents for %d parts of snapshots", len(parts), whole)
			}
		})
	}
}
