package linking

import (
	"fmt"
	"maps"
	"slices"

	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/internal/stage"
	"github.com/wellspring-sync/wellspring/generator/internal/survey"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/internal/timemap"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// Versions keeps what resources were, in one run, and carries what was kept before, also
// where nothing is kept any more.
type Versions struct {
	links   versionLinks
	bodies  versionBodies
	pub     *last.Publication
	matched bool // a file matched the patterns
	// timeMaps are staged, and put into place once all versions are.
	timeMaps []Staged
	// dropped are files that nothing names any more.
	dropped []string
	// ended are the TimeMaps of sets that are published no more. What is not in
	// another set goes with them.
	ended    map[string]bool
	lacking  some // resources whose bytes of before or now are nowhere
	missing  some // resources whose versions are gone
	warnings []string
}

// some counts resources, and knows the first.
type some struct {
	n     int
	first string
}

func (s *some) add(f *survey.Finding) {
	if s.n++; s.n == 1 {
		s.first = f.Path
	}
}

// NewVersions returns what keeps versions in the publication that follows another one. The
// options may be nil, for none, and the area is in a dry run. It checks the template of
// the TimeGate.
func NewVersions(o *policy.Versions, pub *last.Publication, area *stage.Area, former Former) (*Versions, error) {
	links, err := newVersionLinks(o, pub.Layout)
	if err != nil {
		return nil, err
	}
	return &Versions{
		links: links, bodies: versionBodies{area: area, layout: pub.Layout, former: former},
		pub: pub, ended: maps.Clone(pub.Leaving.TimeMaps),
	}, nil
}

func (v *Versions) isDry() bool { return v.bodies.area == nil }

// Annotate adds to a finding the links to its versions, after it has staged those that
// are new.
func (v *Versions) Annotate(f *survey.Finding) error {
	wanted := v.links.areWantedOf(f)
	v.matched = v.matched || wanted
	before := f.WasAnywhere()
	if before == nil {
		return nil
	}
	timeMap := last.TimeMapOf(v.pub.Layout, before)
	delete(v.ended, timeMap)
	switch {
	case f.Type == resourcesync.Deleted:
		return v.drop(timeMap)
	case f.Type == "" || v.isDry(): // a dry run cannot know the links of what has changed
		return v.carry(f, before, timeMap)
	case !wanted: // which stay as long as the resource does not change, since Change Lists name them
		return v.drop(timeMap)
	}
	return v.add(f, before, timeMap)
}

// carry leaves the links of a resource as they are, but for those that lead nowhere.
func (v *Versions) carry(f *survey.Finding, before *snapshot.Previous, timeMap string) error {
	if timeMap == "" {
		return nil
	}
	if !v.pub.Files.MayBeThere(timeMap) {
		v.missing.add(f)
		return nil
	}
	for l, name := range v.links.published(before) {
		if name != timeMap && !v.pub.Files.MayBeThere(name) {
			v.missing.add(f)
			continue
		}
		f.Entry.Links = append(f.Entry.Links, l)
	}
	return v.link(f, nil)
}

// link adds links to an entry, and behind them that to the TimeGate of the resource.
func (v *Versions) link(f *survey.Finding, links []resourcesync.Link) error {
	gate, err := v.links.timeGate(f)
	f.Entry.Links = append(append(f.Entry.Links, links...), gate...)
	return err
}

// add keeps what an updated resource was, unless that is there already, and what it
// is, and stages its TimeMap.
func (v *Versions) add(f *survey.Finding, before *snapshot.Previous, timeMap string) error {
	own := v.pub.Layout.TimeMap(f.URI)
	m, err := v.published(timeMap, own)
	if err != nil {
		return err
	}
	m.Original, m.Self = f.URI, own.URI
	known := map[string]bool{}
	for _, x := range m.Versions {
		known[x.URI] = true
	}
	staged, err := v.stage(f, before, m)
	if err != nil {
		return err
	}
	if staged == nil {
		v.lacking.add(f)
		return v.carryTimeMap(f, timeMap)
	}
	current := staged[len(staged)-1].Ref.URI
	m.Sort()
	v.thin(m, current)
	if err := v.bodies.keep(staged, func(x Staged) bool {
		return m.Has(x.Ref.URI) && !(known[x.Ref.URI] && v.pub.Files.MayBeThere(x.Ref.Path))
	}); err != nil {
		return err
	}
	if err := v.link(f, v.links.to(f, current)); err != nil {
		return err
	}
	m.TimeGate = v.links.timeGateIn(f)
	return v.stageTimeMap(m, own)
}

// stage stages what a resource is and, if nothing was kept of it before, what it was, and
// adds them to its TimeMap. It returns nil if it cannot have both.
func (v *Versions) stage(f *survey.Finding, before *snapshot.Previous, m *timemap.TimeMap) ([]Staged, error) {
	if f.Content == nil { // no set that has it now has packages
		return nil, nil
	}
	var staged []Staged
	if len(m.Versions) == 0 {
		former, err := v.bodies.stageFormer(f)
		if err != nil || former == nil {
			return nil, err
		}
		at := before.LastModified
		if at.IsZero() {
			at = v.pub.At()
		}
		m.Versions = append(m.Versions, timemap.Version{URI: former.Ref.URI, At: at, Type: before.Metadata.Type})
		staged = append(staged, *former)
	}
	current, err := v.bodies.stage(f, f.Content.WriteContent)
	if err != nil {
		return nil, err
	}
	m.Versions = append(m.Versions, timemap.Version{URI: current.Ref.URI, At: f.Entry.LastModified, Type: f.Entry.Metadata.Type})
	return append(staged, *current), nil
}

func (v *Versions) stageTimeMap(m *timemap.TimeMap, ref layout.Ref) error {
	file, err := v.bodies.area.Complete(m.Marshal())
	v.timeMaps = append(v.timeMaps, Staged{file, ref})
	return err
}

// carryTimeMap leaves what a resource was where it is, although nothing can be added to
// it.
func (v *Versions) carryTimeMap(f *survey.Finding, timeMap string) error {
	if timeMap == "" || !v.pub.Files.MayBeThere(timeMap) {
		return nil
	}
	return v.link(f, []resourcesync.Link{v.links.toTimeMap(f)})
}

// published returns the TimeMap of a resource, which is empty if there is none. What
// it names elsewhere than beside itself is none of ours.
func (v *Versions) published(timeMap string, own layout.Ref) (*timemap.TimeMap, error) {
	if timeMap == "" {
		return &timemap.TimeMap{}, nil
	}
	m, err := v.read(timeMap, "begins anew")
	if m == nil {
		return &timemap.TimeMap{}, err
	}
	m.Versions = slices.DeleteFunc(m.Versions, func(x timemap.Version) bool {
		_, ok := last.VersionPath(v.pub.Layout, x.URI, own.Path)
		return !ok
	})
	return m, nil
}

// read reads a TimeMap that is published, or returns nil and warns of what becomes of one
// that is gone.
func (v *Versions) read(timeMap, becomes string) (*timemap.TimeMap, error) {
	m, err := last.ReadTimeMap(v.pub.Files.FS, timeMap)
	if last.IsGone(err) {
		v.warn("%s is not there or damaged, and %s: %v", timeMap, becomes, last.Bare(err))
		return nil, nil
	}
	if err != nil { // which may pass
		return nil, fmt.Errorf("reading what is published of versions: %w", err)
	}
	return m, nil
}

// drop plans to drop a TimeMap with all versions in it.
func (v *Versions) drop(timeMap string) error {
	if timeMap == "" || v.isDry() {
		return nil
	}
	names, err := last.FilesOfTimeMap(v.pub.Files.FS, v.pub.Layout, timeMap, v.warn)
	v.dropped = append(v.dropped, names...)
	return err
}

// Seal ends annotating: it drops what sets kept that are published no more, and sums up
// what is missing. It does not do so in a dry run.
func (v *Versions) Seal() error {
	if v.links.areKept() && !v.matched {
		v.warn("versions: no file matches the patterns")
	}
	if v.isDry() {
		return nil
	}
	for _, timeMap := range slices.Sorted(maps.Keys(v.ended)) {
		if err := v.drop(timeMap); err != nil {
			return err
		}
	}
	switch {
	case v.lacking.n == 1:
		v.warn("no version of %q is kept, since no Resource Dump has it, before or now", v.lacking.first)
	case v.lacking.n > 1:
		v.warn("no versions of %q and %d more are kept, since no Resource Dump has them, before or now", v.lacking.first, v.lacking.n-1)
	}
	if v.missing.n > 0 {
		v.warn("versions of %q and %d more are not there any more: their links are taken away", v.missing.first, v.missing.n-1)
	}
	return nil
}

// Files are the versions that are new, as bodies, in the order in which they are placed.
func (v *Versions) Files() []Staged { return v.bodies.kept }

// TimeMaps are placed behind all versions, and before what names them.
func (v *Versions) TimeMaps() []Staged { return v.timeMaps }

// Dropped are the paths of files that nothing names any more.
func (v *Versions) Dropped() []string { return v.dropped }

// Warnings are for people, once annotating was sealed.
func (v *Versions) Warnings() []string { return v.warnings }

func (v *Versions) warn(format string, args ...any) {
	v.warnings = append(v.warnings, fmt.Sprintf(format, args...))
}
