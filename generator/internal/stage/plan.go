package stage

import (
	"cmp"
	"encoding/hex"
	"errors"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/hashing"
	"github.com/wellspring-sync/wellspring/internal/notify"
	"github.com/wellspring-sync/wellspring/internal/plan"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// PlannedHashes are the digests that an upload plan has of each file. Buckets want MD5.
var PlannedHashes = hashing.Set{hashing.MD5, hashing.SHA256}

// Plan gathers what a run changes, for those who upload it. All methods do nothing if it
// is nil.
type Plan struct {
	w      *plan.Writer
	layout layout.Layout
	from   *plan.State // that the run goes on from, or nil
	to     plan.State  // of the record that was placed
}

// NewPlan begins a plan, of a name, for the publication that follows one in the state
// from, or nil. Its result behind is that of plan.Create.
func NewPlan(name string, l layout.Layout, from *plan.State) (p *Plan, behind bool, err error) {
	w, behind, err := plan.Create(name, l.PublicationURL, from)
	if err != nil {
		return nil, false, err
	}
	return &Plan{w: w, layout: l, from: from}, behind, nil
}

// Resource plans to put a file of the source.
func (p *Plan) Resource(path, uri, mediaType string, length int64, digests resourcesync.Hash) error {
	if p == nil {
		return nil
	}
	return p.w.Add(plan.File{
		Phase: plan.Resources, Source: true, Path: path, URI: uri, Length: length, Type: mediaType,
		SHA256: digestOf(digests, hashing.SHA256), MD5: digestOf(digests, hashing.MD5),
	})
}

func digestOf(h resourcesync.Hash, a hashing.Algorithm) string {
	one, _ := hashing.Set{a}.Select(h)
	_, digest, _ := strings.Cut(string(one), ":")
	return digest
}

// Deleted plans to delete a file of the source.
func (p *Plan) Deleted(path, uri string) error {
	if p == nil {
		return nil
	}
	return p.w.Add(plan.File{Phase: plan.Delete, Source: true, Path: path, URI: uri})
}

// place plans to put a file of the publication.
func (p *Plan) place(x *Placed) error {
	f := plan.File{
		Phase: p.phaseOf(x.Path), Path: x.Path, URI: x.URI, Length: x.Length,
		SHA256: x.SHA256, MD5: hex.EncodeToString(x.MD5[:]), Type: typeOf(x.Path), CacheControl: plan.Revalidate,
	}
	switch f.Phase {
	case plan.Bodies:
		f.CacheControl = plan.Immutable
	case plan.Record:
		p.to.SHA256, p.to.MD5 = f.SHA256, f.MD5
	}
	return p.w.Add(f)
}

// phaseOf returns when a file of the publication may be uploaded.
func (p *Plan) phaseOf(name string) plan.Phase {
	switch {
	case name == p.layout.Record().Path:
		return plan.Record
	case name == p.layout.SourceDescription().Path:
		return plan.Description
	case layout.IsWrittenOnce(name):
		return plan.Bodies
	case path.Ext(name) == ".link":
		return plan.TimeMaps
	case name == p.layout.Style().Path:
		return plan.Styles
	}
	if phase, ok := phases[path.Base(name)]; ok {
		return phase
	}
	if path.Base(path.Dir(name)) == "changelist" {
		return plan.OpenChanges
	}
	return plan.Pages
}

// phases are those of heads, by their names.
var phases = map[string]plan.Phase{
	"capabilitylist.xml": plan.CapabilityList, "publication.json": plan.Records,
	"resourcelist.xml": plan.ResourceLists, "changelist.xml": plan.ChangeLists,
	"resourcedump.xml": plan.ResourceDumps, "changedump.xml": plan.ChangeDumps,
	"resourcelist-archive.xml": plan.Archives, "changelist-archive.xml": plan.Archives,
	"resourcedump-archive.xml": plan.Archives, "changedump-archive.xml": plan.Archives,
}

// typeOf returns the media type of a file of the publication.
func typeOf(name string) string {
	switch ext := path.Ext(name); ext {
	case ".link":
		return "application/link-format"
	case "", ".xml": // the Source Description has no extension
		if ext == "" && !strings.HasSuffix(name, "/resourcesync") {
			return "application/octet-stream"
		}
		return "application/xml"
	}
	return cmp.Or(hashing.ByExtension(name), "application/octet-stream")
}

// Prepare writes the plan beside the one that is there, before the commit, with what the
// commit puts in place and removes, and whom to notify. The header says the time of the
// publication in To.At.
func (p *Plan) Prepare(h plan.Header, placed []Placed, removed []string, told []notify.Notification) error {
	if p == nil {
		return nil
	}
	for i := range placed {
		if err := p.place(&placed[i]); err != nil {
			return err
		}
	}
	for _, name := range removed {
		if err := p.w.Add(plan.File{Phase: plan.Delete, Path: name, URI: p.layout.Document(name).URI}); err != nil {
			return err
		}
	}
	for _, n := range told {
		p.w.Notify(n)
	}
	at := h.To.At
	if h.To = p.to; h.To.SHA256 == "" && p.from != nil {
		h.To = *p.from
	} else {
		h.To.At = at
	}
	h.PublicationURL, h.Record = p.layout.PublicationURL, p.layout.Record().Path
	return p.w.Prepare(h)
}

// IsNeeded reports whether a plan has to be there that says so if there is nothing to
// upload.
func (p *Plan) IsNeeded() bool { return p != nil && p.w.IsNeeded() }

// Commit puts the plan in place, after the commit.
func (p *Plan) Commit() error {
	if p == nil {
		return nil
	}
	return p.w.Commit()
}

// Close removes what was not put in place.
func (p *Plan) Close() {
	if p != nil {
		p.w.Close()
	}
}

// StateOf returns the state of a publication of a time, or nil if there is no record of
// one.
func StateOf(files fs.FS, l layout.Layout, at time.Time) (*plan.State, error) {
	b, err := snapshot.ReadFile(files, l.Record().Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d := newDigests(true)
	d.Write(b)
	return &plan.State{At: at, SHA256: hex.EncodeToString(d.sha256.Sum(nil)), MD5: hex.EncodeToString(d.md5.Sum(nil))}, nil
}
