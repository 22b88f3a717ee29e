package generator

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"time"
	"unicode"

	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// Set is a set of resources with a Capability List of its own. See Z39.99-2017 §9.
type Set struct {
	// Name is what people call it. It is in messages and on the page, and not in
	// documents.
	Name string
	// Folder holds its documents: a slash path relative to the publication. By
	// default it is the name, in the folder of the publication.
	Folder string
	// Resources says what is in it.
	Resources Selection
	// DescribedBy is the URI of what describes it, or empty.
	DescribedBy string
	// Hub is the URL of the hub through which changes of its documents are told, or
	// empty.
	Hub string

	// These are as in Options, which say nothing of it where there are sets.
	Dumps       Dumps
	PackageSize int64
	Rotate      Rotation
	KeepChanges Keep
	Archive     *bool
	ArchiveKeep ArchiveKeep
}

// ofSet returns the options of a run as they are for one set.
func (o Options) ofSet(s *Set) Options {
	o.DescribedBy, o.Hub, o.Dumps, o.PackageSize = s.DescribedBy, s.Hub, s.Dumps, s.PackageSize
	o.Rotate, o.KeepChanges, o.Archive, o.ArchiveKeep = s.Rotate, s.KeepChanges, s.Archive, s.ArchiveKeep
	o.Sets = nil
	o.applyDefaults()
	return o
}

// resourceSet is a set of resources in one run: what was published of it, and what
// will be. It embeds the run for what all sets have in common; its own options,
// layout and stage hide those of the run.
type resourceSet struct {
	*run
	number int
	name   string // empty for the one set of a publication without names
	rules  *Selection
	o      Options
	layout layout.Layout
	prev   previous
	found  SetReport

	stage   *stage
	list    *resourceList
	events  *events
	dump    *resourceDump // nil if there is none
	changes *changeDump   // likewise
	lists   *changeLists  // what happens to the Change Lists, once it is decided
	// archives is nil if there are none.
	archives *archives

	// ended are the Change Lists that nothing leads to any more.
	ended    []snapshot.ChangeList
	foreseen int64 // bytes of events, in a dry run
	hidden   nowLeftOut
	finding  finding // the last one, as this set sees it
}

// hasNames reports whether the publication has sets with names, which each have a
// folder and a record of their own.
func (r *run) hasNames() bool { return len(r.o.Sets) > 0 }

// CheckSets returns an error if sets have the same name or folder, or one that cannot
// be.
func (o Options) CheckSets() error {
	l, err := layout.New(o.Identity)
	if err != nil {
		return err
	}
	return (&run{o: o, layout: l}).makeSets()
}

// makeSets makes the sets of the run, in the order in which they are published.
func (r *run) makeSets() error {
	if !r.hasNames() {
		if err := checkHub(r.o.Hub); err != nil {
			return err
		}
		r.sets = []*resourceSet{{run: r, o: r.o, layout: r.layout}}
		return nil
	}
	folders := map[string]string{}
	names := map[string]bool{}
	for i := range r.o.Sets {
		s := &r.o.Sets[i]
		if strings.ContainsFunc(s.Name, unicode.IsControl) {
			return fmt.Errorf("the set %q has a control character in its name", s.Name)
		}
		if names[s.Name] {
			return fmt.Errorf("there are two sets with the name %q", s.Name)
		}
		names[s.Name] = true
		l, err := s.Layout(r.layout)
		if err != nil {
			return fmt.Errorf("the set %q: %w", s.Name, err)
		}
		if err := errors.Join(checkSetFolder(r.layout.Folder, l.Folder), checkHub(s.Hub)); err != nil {
			return fmt.Errorf("the set %q: %w", s.Name, err)
		}
		folded := strings.ToLower(l.Folder) // which some file systems take for one
		if other, ok := folders[folded]; ok {
			return fmt.Errorf("the sets %q and %q have the same folder %s", other, s.Name, l.Folder)
		}
		folders[folded] = s.Name
		set := &resourceSet{run: r, number: i, name: s.Name, rules: &s.Resources, o: r.o.ofSet(s), layout: l}
		set.found.Name, set.found.Folder = s.Name, l.Folder
		r.sets = append(r.sets, set)
	}
	return checkNested(folders)
}

// Layout names the documents of a set, in the publication with a layout of its own.
func (s *Set) Layout(top layout.Layout) (layout.Layout, error) {
	switch {
	case s.Folder != "":
		return top.OfSet(s.Folder)
	case top.Folder == ".":
		return top.OfSet(s.Name)
	}
	return top.OfSet(top.Folder + "/" + s.Name)
}

// checkSetFolder makes sure that a set has a folder of its own, which is not a name
// that the publication uses itself.
func checkSetFolder(top, folder string) error {
	if strings.EqualFold(folder, top) || folder == "." {
		return fmt.Errorf("its folder %s is that of the publication", folder)
	}
	rest, inside := strings.CutPrefix(folder, top+"/")
	if top == "." {
		rest, inside = folder, true
	}
	if name, _, _ := strings.Cut(rest, "/"); inside && (layout.IsTopName(strings.ToLower(name)) || strings.EqualFold(name, RetainedFile)) {
		return fmt.Errorf("its folder has the name %s, which the publication uses itself", name)
	}
	return nil
}

// checkNested makes sure that no set lies in the folder of another one.
func checkNested(folders map[string]string) error {
	for folder, name := range folders {
		for above := path.Dir(folder); above != "."; above = path.Dir(above) {
			if other, ok := folders[above]; ok {
				return fmt.Errorf("the folder of the set %q lies in that of %q", name, other)
			}
		}
	}
	return nil
}

// isFirst reports whether nothing was published of the set.
func (r *resourceSet) isFirst() bool { return r.prev.snapshot == nil }

// warn adds a warning that says of which set it is.
func (r *resourceSet) warn(format string, args ...any) {
	r.run.warn("%s", r.of(fmt.Sprintf(format, args...)))
}

// of adds to a message of which set it is.
func (r *resourceSet) of(message string) string {
	if r.name == "" {
		return message
	}
	return fmt.Sprintf("set %q: %s", r.name, message)
}

// failed adds to an error of which set it is.
func (r *resourceSet) failed(err error) error {
	if err == nil || r.name == "" {
		return err
	}
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		return &Refusal{Why: r.of(refusal.Why), Flag: refusal.Flag, Passes: refusal.Passes}
	}
	return fmt.Errorf("set %q: %w", r.name, err)
}

// begin makes what gathers the findings of the set.
func (r *resourceSet) begin() (err error) {
	var packageSize int64
	if r.o.Dumps.Change {
		packageSize = r.o.PackageSize
	}
	lim := r.o.limits
	lim.entries = r.o.Rotate.most(lim.entries)
	if !r.o.DryRun {
		r.stage = &stage{staging: r.staging, fresh: r.hasNames() && r.isFirst()}
	}
	if r.events, err = newEvents(r.stage, r.o.Standard, r.layout, lim, packageSize, r.o.policy()); err != nil {
		return err
	}
	r.archives = r.newArchives()
	if r.o.DryRun {
		return nil
	}
	links := r.archives.links(resourcesync.ResourceList)
	if r.list, err = newResourceList(r.stage, r.layout, r.prev.snapshot, r.o.limits, links); err != nil {
		return err
	}
	r.dump, r.changes = r.newResourceDump(), r.newChangeDump()
	return nil
}

// view returns a finding as the set sees it, which is valid until the next.
func (r *resourceSet) view(f *finding, m *member) *finding {
	v := &r.finding
	*v = *f
	v.Type, v.before, v.Set = m.change, nil, r.name
	if m.change == "" {
		v.before = &m.before
	}
	if m.change != f.Type {
		v.Reason = membershipChanged[m.change]
	}
	return v
}

// membershipChanged are the reasons for events of a set that do not come from the
// bytes.
var membershipChanged = map[resourcesync.ChangeType]string{
	resourcesync.Created: "in the set now", resourcesync.Deleted: "not in the set any more",
}

// take counts a finding and puts it into packages.
func (r *resourceSet) take(f *finding, m *member) error {
	r.counted(f, m)
	if r.dump == nil && (m.change == "" || r.isFirst()) {
		return nil // there is nobody to tell
	}
	v := r.view(f, m)
	if v.Type != "" && !r.isFirst() {
		r.o.OnChange(v.Change)
	}
	return r.pack(v)
}

// counted counts a finding.
func (r *resourceSet) counted(f *finding, m *member) {
	n := &r.found
	switch m.change {
	case resourcesync.Deleted:
		n.Deleted++
		if f.Type == resourcesync.Deleted && f.Reason != leftSets { // else the rules of sets say so
			r.hidden.look(r, f.entry.Loc)
		}
		return
	case resourcesync.Created:
		n.Created++
	case resourcesync.Updated:
		n.Updated++
	}
	n.Resources++
	n.Bytes += f.size
}

// pack puts a finding into packages, and decides in which list its event will be.
func (r *resourceSet) pack(f *finding) error {
	if !r.isFirst() && f.Type != "" {
		more, err := r.linker.bytes(f)
		if err != nil {
			return err
		}
		if r.o.DryRun {
			size, err := r.events.size(f, more)
			r.foreseen += size
			return err
		}
		if err := r.events.place(f, more); err != nil {
			return err
		}
	}
	if r.o.DryRun {
		return nil
	}
	return r.dump.add(f)
}

// keep takes over what is published of a resource, just so.
func (r *resourceSet) keep(b *snapshot.Previous, end layout.Point) error {
	if r.o.DryRun {
		return nil
	}
	return r.list.keep(b, end)
}

// write passes a finding that says something new, with all that is said of it, to what
// writes the lists.
func (r *resourceSet) write(f *finding, m *member) error {
	if m.change == "" {
		r.found.Refreshed++
	}
	switch {
	case r.o.DryRun:
		return nil
	case r.isFirst(): // which has no events, and no resources that are gone
		return r.list.addEntry(f.encoded, f.point)
	}
	v := r.view(f, m)
	if err := r.events.write(v); err != nil {
		return err
	}
	return r.list.add(v)
}

// finish ends the gathering.
func (r *resourceSet) finish() error {
	r.hidden.warn(r)
	r.dump.warn(r.warn)
	if r.o.DryRun {
		return nil
	}
	return errors.Join(r.list.finish(), r.events.finish(), r.dump.finish())
}

// listAt is the time of the Resource List that is published, or zero.
func (r *resourceSet) listAt() time.Time {
	if r.isFirst() {
		return time.Time{}
	}
	return r.prev.snapshot.At
}
