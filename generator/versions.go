package generator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/wellspring-sync/wellspring/internal/links"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/internal/timemap"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/scanner"
)

// Versions says that what resources were is kept beside their lists, for those whose
// bytes have changed. See Z39.99-2017 §14.6.
type Versions struct {
	// Match are globs over paths; if there are none, all resources have versions.
	Match []scanner.Glob
	// Keep says which of them are kept when another one is added; nil keeps all. The
	// current one always is.
	Keep *ArchiveKeep
	// TimeGate links resources that have versions to a TimeGate; it may be nil.
	TimeGate *links.Rules

	matched bool
}

// Relations of Z39.99-2017 §14.6.
const (
	relMemento = "memento"
	relTimeMap = "timemap"
)

// versions keeps what resources were, in one run.
type versions struct {
	*run
	stage *stage // that of what is above the sets; nil in a dry run
	// timeMaps are staged, and put into place once all versions are.
	timeMaps []stagedFile
	// dropped are files that nothing names any more.
	dropped []string
	// ended are the TimeMaps of sets that are published no more. What is not in
	// another set goes with them.
	ended map[string]bool

	lacking      int // resources whose bytes of before or now are nowhere
	firstLacking string
	missing      int // resources whose versions are gone
	firstMissing string
}

// stagedFile is a staged file that has a name already.
type stagedFile struct {
	*document
	ref layout.Ref
}

// keep adds to a finding the links to its versions, after it has made those that
// are new.
func (v *versions) keep(f *finding) error {
	before := f.wasAnywhere()
	if before == nil {
		return nil
	}
	timeMap := v.timeMapOf(before)
	delete(v.ended, timeMap)
	switch {
	case f.Type == resourcesync.Deleted:
		return v.drop(timeMap)
	case f.Type == "" || v.stage == nil: // a dry run cannot know the links of what has changed
		return v.carry(f, before, timeMap)
	case !v.wanted(f):
		return v.drop(timeMap)
	}
	return v.add(f, before, timeMap)
}

// wanted reports whether a resource is one whose versions are kept. Those of others
// stay as long as it does not change, since Change Lists name them.
func (v *versions) wanted(f *finding) bool {
	o := v.o.Versions
	return o != nil && (len(o.Match) == 0 || matchesAny(o.Match, f.Path))
}

// wasAnywhere returns what a set published of the resource, or nil.
func (f *finding) wasAnywhere() *snapshot.Previous {
	for i := range f.in {
		if f.in[i].wasIn {
			return &f.in[i].before
		}
	}
	return nil
}

// timeMapOf returns the path of the TimeMap that is published of a resource, or
// nothing.
func (r *run) timeMapOf(before *snapshot.Previous) string {
	for i := range before.Links {
		if l := &before.Links[i]; l.Rel == relTimeMap {
			if own := r.layout.TimeMap(before.Loc); l.Href == own.URI {
				return own.Path
			}
		}
	}
	return ""
}

// carry leaves the links of a resource as they are, but for those that lead nowhere.
func (v *versions) carry(f *finding, before *snapshot.Previous, timeMap string) error {
	if timeMap == "" {
		return nil
	}
	if !v.isThere(timeMap) {
		v.miss(f)
		return nil
	}
	own := v.layout.TimeMap(f.URI)
	for _, l := range before.Links {
		switch l.Rel {
		case relTimeMap:
			if l.Href != own.URI {
				continue
			}
		case relMemento:
			name, ok := v.pathOf(l.Href, own)
			if !ok {
				continue
			}
			if !v.isThere(name) {
				v.miss(f)
				continue
			}
		default:
			continue
		}
		f.entry.Links = append(f.entry.Links, l)
	}
	return v.linkTimeGate(f)
}

// isThere reports whether a file is published. One that is far away is not looked for.
func (v *versions) isThere(name string) bool {
	_, err := fs.Stat(v.out, name)
	return !errors.Is(err, fs.ErrNotExist) || v.leavesBodies()
}

// linkTimeGate adds the link to the TimeGate of a resource.
func (v *versions) linkTimeGate(f *finding) error {
	if !v.wanted(f) || v.o.Versions.TimeGate == nil {
		return nil
	}
	planned, err := v.o.Versions.TimeGate.Plan(f.resource())
	if err != nil {
		return fmt.Errorf("versions: %w", err)
	}
	for _, p := range planned {
		f.entry.Links = append(f.entry.Links, p.Link)
	}
	return nil
}

// add keeps what an updated resource was, unless that is there already, and what it
// is, and stages its TimeMap.
func (v *versions) add(f *finding, before *snapshot.Previous, timeMap string) error {
	own := v.layout.TimeMap(f.URI)
	m, err := v.published(timeMap, own)
	if err != nil {
		return err
	}
	m.Original, m.Self = f.URI, own.URI
	known := map[string]bool{}
	for _, x := range m.Versions {
		known[x.URI] = true
	}
	staged, err := v.stageVersions(f, before, m)
	if err != nil {
		return err
	}
	if staged == nil {
		v.lack(f)
		return v.carryTimeMap(f, timeMap)
	}
	current := staged[len(staged)-1].ref.URI
	m.Sort()
	v.thin(m, current)
	for _, x := range staged {
		if err := v.put(x, m, known); err != nil {
			return err
		}
	}
	if err := v.link(f, current); err != nil {
		return err
	}
	if m.TimeGate = ""; f.entry.Links[len(f.entry.Links)-1].Rel == relTimeGate {
		m.TimeGate = f.entry.Links[len(f.entry.Links)-1].Href
	}
	doc, err := v.stage.complete(m.Marshal())
	v.timeMaps = append(v.timeMaps, stagedFile{doc, own})
	return err
}

// link adds the links of a resource that has versions to its entry.
func (v *versions) link(f *finding, current string) error {
	md := &f.entry.Metadata
	f.entry.Links = append(f.entry.Links,
		resourcesync.Link{
			Rel: relMemento, Href: current, Modified: f.entry.LastModified, Hash: md.Hash, Length: md.Length, HasLength: md.HasLength, Type: md.Type, Encoding: md.Encoding,
		},
		v.timeMapLink(f))
	return v.linkTimeGate(f)
}

func (v *versions) timeMapLink(f *finding) resourcesync.Link {
	return resourcesync.Link{Rel: relTimeMap, Href: v.layout.TimeMap(f.URI).URI, Type: timemap.MediaType}
}

// carryTimeMap leaves what a resource was where it is, although nothing can be added to
// it.
func (v *versions) carryTimeMap(f *finding, timeMap string) error {
	if timeMap == "" || !v.isThere(timeMap) {
		return nil
	}
	f.entry.Links = append(f.entry.Links, v.timeMapLink(f))
	return v.linkTimeGate(f)
}

// published returns the TimeMap of a resource, which is empty if there is none. What
// it names elsewhere than beside itself is none of ours.
func (v *versions) published(timeMap string, own layout.Ref) (*timemap.TimeMap, error) {
	if timeMap == "" {
		return &timemap.TimeMap{}, nil
	}
	m, err := v.readTimeMap(timeMap)
	if isGone(err) {
		v.warn("%s is not there or damaged, and begins anew: %v", timeMap, bare(err))
		return &timemap.TimeMap{}, nil
	}
	if err != nil { // which may pass
		return nil, fmt.Errorf("reading what is published of versions: %w", err)
	}
	m.Versions = slices.DeleteFunc(m.Versions, func(x timemap.Version) bool {
		_, ok := v.pathOf(x.URI, own)
		return !ok
	})
	return m, nil
}

// isGone reports whether an error says that a TimeMap is not there, or is none. Others
// say nothing of it.
func isGone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, timemap.ErrMalformed)
}

const relTimeGate = "timegate"

func (v *versions) readTimeMap(name string) (*timemap.TimeMap, error) {
	b, err := snapshot.ReadFileAtMost(v.out, name, timemap.MaxBytes)
	if err != nil {
		return nil, err
	}
	return timemap.Parse(b)
}

// stageVersions stages what a resource is and, if nothing was kept of it before, what
// it was, and adds them to its TimeMap. It returns nil if it cannot have both.
func (v *versions) stageVersions(f *finding, before *snapshot.Previous, m *timemap.TimeMap) ([]stagedFile, error) {
	if f.content == nil { // no set that has it now has packages
		return nil, nil
	}
	var staged []stagedFile
	if len(m.Versions) == 0 {
		former, err := v.stageFormer(f)
		if err != nil || former == nil {
			return nil, err
		}
		at := before.LastModified
		if at.IsZero() {
			at = v.last()
		}
		m.Versions = append(m.Versions, timemap.Version{URI: former.ref.URI, At: at, Type: before.Metadata.Type})
		staged = append(staged, *former)
	}
	current, err := v.stageVersion(f, f.content.WriteContent)
	if err != nil {
		return nil, err
	}
	m.Versions = append(m.Versions, timemap.Version{URI: current.ref.URI, At: f.entry.LastModified, Type: f.entry.Metadata.Type})
	return append(staged, *current), nil
}

// stageFormer takes what a resource was out of the last Resource Dump, or returns nil if
// that does not have it.
func (v *versions) stageFormer(f *finding) (*stagedFile, error) {
	former, err := f.former()
	if err != nil || former == nil {
		return nil, err
	}
	defer former.Close()
	x, err := v.stageVersion(f, func(w io.Writer) error {
		_, err := io.Copy(w, former)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("taking the former version of %q out of the Resource Dump: %w", f.Path, err)
	}
	return x, nil
}

func (v *versions) stageVersion(f *finding, write func(io.Writer) error) (*stagedFile, error) {
	doc, err := v.stage.create()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(write(doc), doc.close()); err != nil {
		return nil, err
	}
	if err := doc.sync(); err != nil {
		return nil, err
	}
	return &stagedFile{doc, v.layout.Version(f.URI, doc.digest, extensionOf(f.Path))}, nil
}

// put publishes a version that a TimeMap names, unless it is there already.
func (v *versions) put(x stagedFile, m *timemap.TimeMap, known map[string]bool) error {
	named := slices.ContainsFunc(m.Versions, func(other timemap.Version) bool { return other.URI == x.ref.URI })
	if !named || known[x.ref.URI] && v.isThere(x.ref.Path) {
		return x.discard()
	}
	return v.stage.put(x.document, x.ref, true)
}

// lack counts a resource whose bytes of before or now are nowhere.
func (v *versions) lack(f *finding) {
	if v.lacking++; v.lacking == 1 {
		v.firstLacking = f.Path
	}
}

// miss counts a resource whose versions are gone.
func (v *versions) miss(f *finding) {
	if v.missing++; v.missing == 1 {
		v.firstMissing = f.Path
	}
}

// longestExtension is that of formats that hosts know by it.
const longestExtension = 10

// extensionOf returns the extension of a file with its dot, if that is a plain one.
func extensionOf(name string) string {
	e := path.Ext(name)
	if len(e) < 2 || len(e) > longestExtension || strings.Trim(strings.ToLower(e[1:]), "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		return ""
	}
	return e
}

// thin drops versions that are not to be kept, but not the current one.
func (v *versions) thin(m *timemap.TimeMap, current string) {
	if v.o.Versions.Keep == nil {
		return
	}
	list := make([]snapshot.Archived, len(m.Versions))
	for i, x := range m.Versions {
		list[i] = snapshot.Archived{Ref: layout.Ref{URI: x.URI}, At: x.At}
	}
	kept, _ := v.o.Versions.Keep.thin(list)
	stays := map[string]bool{current: true}
	for _, k := range kept {
		stays[k.URI] = true
	}
	var left []timemap.Version
	for _, x := range m.Versions {
		if stays[x.URI] {
			left = append(left, x)
		} else if name, ok := v.pathOf(x.URI, v.layout.TimeMap(m.Original)); ok && !stays[name] {
			stays[name] = true // one file can be several versions
			v.dropped = append(v.dropped, name)
		}
	}
	m.Versions = left
}

// pathOf returns the path of a version, and false for what is none of those beside a
// TimeMap.
func (v *versions) pathOf(uri string, timeMap layout.Ref) (string, bool) {
	name, ok := v.layout.PathOf(uri)
	return name, ok && v.layout.IsBody(name) && path.Dir(name) == path.Dir(timeMap.Path)
}

// drop plans to drop a TimeMap with all versions in it.
func (v *versions) drop(timeMap string) error {
	if timeMap == "" || v.stage == nil {
		return nil
	}
	names, err := v.named(timeMap)
	v.dropped = append(v.dropped, names...)
	return err
}

// named returns the paths of a TimeMap and of the versions in it. One that is damaged
// names none.
func (v *versions) named(timeMap string) ([]string, error) {
	m, err := v.readTimeMap(timeMap)
	if isGone(err) {
		v.warn("%s is not there or damaged, so that its versions are left where they are: %v", timeMap, bare(err))
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading what is published of versions: %w", err)
	}
	names, seen := []string{timeMap}, map[string]bool{}
	for _, x := range m.Versions {
		if name, ok := v.pathOf(x.URI, layout.Ref{Path: timeMap}); ok && !seen[name] { // one file can be several
			seen[name] = true
			names = append(names, name)
		}
	}
	return names, nil
}

// finish puts the TimeMaps into place, behind the versions and before what names
// them.
func (v *versions) finish() error {
	for _, timeMap := range slices.Sorted(maps.Keys(v.ended)) {
		if err := v.drop(timeMap); err != nil {
			return err
		}
	}
	switch {
	case v.lacking == 1:
		v.warn("no version of %q is kept, since no Resource Dump has it, before or now", v.firstLacking)
	case v.lacking > 1:
		v.warn("no versions of %q and %d more are kept, since no Resource Dump has them, before or now", v.firstLacking, v.lacking-1)
	}
	if v.missing > 0 {
		v.warn("versions of %q and %d more are not there any more: their links are taken away", v.firstMissing, v.missing-1)
	}
	for _, t := range v.timeMaps {
		if err := v.stage.putAside(t.document, t.ref); err != nil {
			return err
		}
	}
	return nil
}

// prune thins the versions of all resources.
func (v *versions) prune(ctx context.Context, result *Pruned) error {
	if v.o.Versions == nil || v.o.Versions.Keep == nil {
		return nil
	}
	for p, err := range v.before(ctx) {
		if err != nil {
			return err
		}
		e := p.in[0].Previous
		if timeMap := v.timeMapOf(e); timeMap != "" {
			if err := v.pruneOne(e, timeMap); err != nil {
				return err
			}
		}
	}
	for _, t := range v.timeMaps {
		if err := v.stage.putAside(t.document, t.ref); err != nil {
			return err
		}
	}
	result.Versions = len(v.dropped)
	for _, name := range v.dropped {
		if err := v.addSize(name, &result.Retired, &result.RetiredBytes); err != nil {
			return err
		}
	}
	return nil
}

// pruneOne thins the versions of a resource.
func (v *versions) pruneOne(e *snapshot.Previous, timeMap string) error {
	m, err := v.readTimeMap(timeMap)
	if isGone(err) {
		v.warn("%s is not there or damaged, and is left as it is: %v", timeMap, bare(err))
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading what is published of versions: %w", err)
	}
	current := ""
	for _, l := range e.Links {
		if l.Rel == relMemento {
			current = l.Href
		}
	}
	n := len(m.Versions)
	m.Original = e.Loc
	if v.thin(m, current); len(m.Versions) == n {
		return nil
	}
	doc, err := v.stage.complete(m.Marshal())
	v.timeMaps = append(v.timeMaps, stagedFile{doc, v.layout.TimeMap(e.Loc)})
	return err
}

// former opens what an updated resource was, out of the last Resource Dump of one of
// its sets. It returns nil if none has it.
func (f *finding) former() (io.ReadCloser, error) {
	for i := range f.in {
		m := &f.in[i]
		if !m.wasIn || m.before.Package == nil || m.before.Package.Lost != nil || m.set.dump == nil {
			continue
		}
		return m.set.dump.earlier.openBitstream(m.before.Package, m.before.InPackage, m.before.Loc)
	}
	return nil, nil
}

// formerLength is how long that is, in bytes, and zero if it is not known.
func (f *finding) formerLength() int64 {
	if before := f.wasAnywhere(); before != nil {
		return before.Metadata.Length
	}
	return 0
}

// resource returns what templates can say of the finding.
func (f *finding) resource() *links.Resource {
	first, _, _ := strings.Cut(string(f.entry.Metadata.Hash), " ")
	_, digest, _ := strings.Cut(first, ":")
	return &links.Resource{Path: f.Path, URI: f.URI, Hash: digest}
}
