package generator

import (
	"cmp"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/wellspring-sync/wellspring/hashing"
	"github.com/wellspring-sync/wellspring/internal/plan"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// plannedHashes are the digests that a plan has of each file. Buckets want the second
// one.
var plannedHashes = hashing.Set{hashing.MD5, hashing.SHA256}

// uploadPlan gathers what a run changes, for those who upload it. All methods do nothing
// if it is nil.
type uploadPlan struct {
	*plan.Writer
	run *run
	// from is the publication that the run goes on from, or nil.
	from *plan.State
	last plan.State // of the record that was put
}

// CheckPlan returns an error if the upload plan would overwrite something else, or lie
// among the documents of the publication.
func (o *Options) CheckPlan() error {
	if o.isAmongDocuments(o.Plan) {
		return fmt.Errorf("%s is in the publication's folder: choose another place", o.Plan)
	}
	if info, err := os.Stat(filepath.Dir(o.Plan)); err != nil || !info.IsDir() {
		return fmt.Errorf("%s is not in a directory that is there", o.Plan)
	}
	for _, name := range plan.Names(o.Plan) {
		if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
			return fmt.Errorf("%s is there, and is no regular file", name)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	r, err := plan.Open(o.Plan)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return r.Close()
}

// beginPlan begins the upload plan, once it is known what was published.
func (r *run) beginPlan() error {
	if r.o.Plan == "" || r.o.DryRun {
		return nil
	}
	from, err := r.publishedState()
	if err != nil {
		return err
	}
	w, behind, err := plan.Create(r.o.Plan, r.layout.PublicationURL, from)
	if errors.Is(err, plan.ErrOther) {
		return &Refusal{Why: fmt.Sprintf("%s: %v: remove it, or choose another file", r.o.Plan, err)}
	}
	if err != nil {
		return err
	}
	if behind && r.o.Previous.Place == "" {
		r.warn("the upload plan %s did not lead to what is published here, and is replaced: if it was not carried out, "+
			"make a new one against what is live, with --previous", r.o.Plan)
	}
	r.plan = &uploadPlan{Writer: w, run: r, from: from}
	return nil
}

// publishedState returns the state of the publication that is there, or nil if there
// is none, or no record of it.
func (r *run) publishedState() (*plan.State, error) {
	b, err := snapshot.ReadFile(r.out, r.layout.Record().Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking at the record: %w", err)
	}
	d := newDigests(true)
	d.Write(b)
	return &plan.State{At: r.last(), SHA256: hex.EncodeToString(d.sha256.Sum(nil)), MD5: hex.EncodeToString(d.md5.Sum(nil))}, nil
}

// resource plans what becomes of a resource. A file that is in no set any more, or is
// left out by now, is still one of the site.
func (p *uploadPlan) resource(f *finding) error {
	if p == nil || f.Type == "" {
		return nil
	}
	if f.Type == resourcesync.Deleted {
		return p.deleted(f.URI)
	}
	m := &f.entry.Metadata
	return p.Add(plan.File{
		Phase: plan.Resources, Source: true, Path: f.Path, URI: f.URI, Length: f.size, Type: m.Type,
		SHA256: digestOf(f.digests, hashing.SHA256), MD5: digestOf(f.digests, hashing.MD5),
	})
}

func digestOf(h resourcesync.Hash, a hashing.Algorithm) string {
	one, _ := hashing.Set{a}.Select(h)
	_, digest, _ := strings.Cut(string(one), ":")
	return digest
}

// deleted plans to delete the files that a resource can have been.
func (p *uploadPlan) deleted(uri string) error {
	for _, name := range p.run.pathsOf(uri) {
		info, err := p.run.tree.Lstat(name)
		if err == nil && !info.Mode.IsDir() || err != nil && !isMissing(err) {
			continue
		}
		if err := p.Add(plan.File{Phase: plan.Delete, Source: true, Path: name, URI: uri}); err != nil {
			return err
		}
	}
	return nil
}

// isMissing reports whether an error says that there is no file, as below another file.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// pathsOf returns the paths of the files that may have been published under a URI.
func (r *run) pathsOf(uri string) []string {
	paths := r.layout.Paths(uri)
	for _, name := range paths {
		for _, rule := range r.o.Resources {
			if rule.Strip != "" && r.o.stripped(name+rule.Strip) == name {
				paths = append(paths, name+rule.Strip)
			}
		}
	}
	return paths
}

// document plans to put a document, a body or the record.
func (p *uploadPlan) document(d *document, ref layout.Ref) error {
	if p == nil {
		return nil
	}
	f := plan.File{
		Phase: p.run.phaseOf(ref.Path), Path: ref.Path, URI: ref.URI, Length: d.length,
		SHA256: hex.EncodeToString(d.digest[:]), MD5: hex.EncodeToString(d.md5[:]),
		Type: typeOfDocument(ref.Path), CacheControl: plan.Revalidate,
	}
	switch f.Phase {
	case plan.Bodies:
		f.CacheControl = plan.Immutable
	case plan.Record:
		p.last.SHA256, p.last.MD5 = f.SHA256, f.MD5
	}
	return p.Add(f)
}

// phaseOf returns when a file of the publication may be uploaded.
func (r *run) phaseOf(name string) plan.Phase {
	switch {
	case name == r.layout.Record().Path:
		return plan.Record
	case name == r.layout.SourceDescription().Path:
		return plan.Description
	case layout.IsWrittenOnce(name):
		return plan.Bodies
	case path.Ext(name) == ".link":
		return plan.TimeMaps
	case name == r.layout.Style().Path:
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

// typeOfDocument returns the media type of a file of the publication.
func typeOfDocument(name string) string {
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

// prepare writes the plan beside the one that is there, before the commit.
func (p *uploadPlan) prepare() error {
	if p == nil {
		return nil
	}
	r := p.run
	for _, name := range r.tx.Removes() {
		if err := p.Add(plan.File{Phase: plan.Delete, Path: name, URI: r.layout.Document(name).URI}); err != nil {
			return err
		}
	}
	for _, n := range r.report.Notifications {
		p.Notify(n)
	}
	to := p.last
	if to.At = r.report.At; to.SHA256 == "" && p.from != nil {
		to = *p.from
	}
	return p.Prepare(plan.Header{
		Release: r.o.Release, BaseURL: r.layout.BaseURL, PublicationURL: r.layout.PublicationURL,
		Apart: realPath(r.o.Out) != realPath(cmp.Or(r.o.Source, r.o.Out)), Record: r.layout.Record().Path, To: to,
	})
}

// commit puts the plan in place, after the commit. What was published stays so.
func (p *uploadPlan) commit() error {
	if p == nil {
		return nil
	}
	if err := p.Commit(); err != nil {
		return &PlanError{err}
	}
	return nil
}

// PlanError says that a publication is complete, and that its upload plan is not in
// place.
type PlanError struct{ Err error }

func (e *PlanError) Error() string { return "the publication is complete, but " + e.Err.Error() }
func (e *PlanError) Unwrap() error { return e.Err }

// keepPlan has a plan there that says so if there is nothing to upload. One that was not
// carried out stays as it is.
func (r *run) keepPlan() error {
	if r.plan == nil || !r.plan.IsNeeded() {
		return nil
	}
	if err := r.plan.prepare(); err != nil {
		return err
	}
	return r.plan.Commit() // nothing was published
}

func (p *uploadPlan) close() {
	if p != nil {
		p.Close()
	}
}

// ownPlan leaves the plan out, should it lie in the source.
func (r *run) ownPlan() []string {
	if r.o.Plan == "" {
		return nil
	}
	return plan.Names(r.o.Plan)
}

// digests are those of what is written to them: SHA-256, and MD5 if a plan wants it.
type digests struct {
	sha256, md5 hash.Hash
	io.Writer
}

func newDigests(planned bool) *digests {
	d := &digests{sha256: sha256.New()}
	d.Writer = d.sha256
	if planned {
		d.md5 = md5.New()
		d.Writer = io.MultiWriter(d.sha256, d.md5)
	}
	return d
}

// sum puts the digests into a document.
func (d *digests) sum(doc *document) {
	d.sha256.Sum(doc.digest[:0])
	if d.md5 != nil {
		d.md5.Sum(doc.md5[:0])
	}
}
