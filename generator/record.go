package generator

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
)

// writeRecord stages the record of the set, if anything of the set is written.
func (r *resourceSet) writeRecord(at time.Time) error {
	if len(r.stage.heads) == 0 && !r.isFirst() && r.prev.snapshot.Record != nil && (r.hasNames() || !r.endsPage()) {
		return nil
	}
	r.found.Wrote = true
	return r.composeRecord(at, at)
}

// newRecord begins a record.
func (r *run) newRecord(l layout.Layout, at time.Time) *snapshot.Record {
	return &snapshot.Record{Format: snapshot.RecordFormat, Release: r.o.Release, Identity: l.Identity, At: at}
}

// composeRecord stages the record of a publication of the time at, and plans what
// is swept by now.
func (r *resourceSet) composeRecord(at, now time.Time) error {
	record := r.newRecord(r.layout, at)
	record.Past = r.past(at)
	if r.dump != nil && !r.dump.written {
		record.Packages = packagesOf(r.prev.snapshot)
	} else if r.dump != nil {
		record.Packages = &snapshot.Packages{Size: r.o.PackageSize, Cutter: layout.PackageCutterVersion}
	}
	var err error
	if record.Heads, err = r.heads(); err != nil {
		return err
	}
	if record.Retired, err = r.retire(now); err != nil {
		return err
	}
	b, err := record.Marshal()
	if err != nil {
		return err
	}
	for _, h := range r.stage.heads {
		r.report.Heads = append(r.report.Heads, h.Path)
	}
	if err := r.stage.putBytes(r.layout.Record(), b); err != nil {
		return err
	}
	r.report.Heads = append(r.report.Heads, r.layout.Record().Path)
	return nil
}

// heads returns the heads of the publication as it will be, those that are staged and
// those that stay, by their paths: what had to be written again leaves no trace.
func (r *resourceSet) heads() ([]snapshot.Head, error) {
	heads := append([]snapshot.Head(nil), r.stage.heads...)
	have := map[string]bool{}
	for _, h := range heads {
		have[h.Path] = true
	}
	l := r.layout
	paths := []string{l.ChangeList().Path, l.ResourceList().Path, l.CapabilityList().Path}
	if !r.hasNames() {
		paths = append(append(paths, r.forPeople()...), l.SourceDescription().Path)
	}
	if r.o.Dumps.Resource {
		paths = append(paths, l.ResourceDump().Path)
	}
	if r.o.Dumps.Change {
		paths = append(paths, l.ChangeDump().Path)
	}
	if r.archives != nil {
		for _, kind := range r.archives.kinds {
			paths = append(paths, l.Archive(string(kind)).Path)
		}
	}
	if r.o.Hub != "" {
		paths = append(paths, l.FrameworkNotification().Path)
	}
	if s := r.prev.snapshot; s != nil && r.events.total == 0 {
		paths = append(paths, s.Changes[len(s.Changes)-1].Path)
	}
	for _, path := range paths {
		if have[path] {
			continue
		}
		have[path] = true
		h, err := snapshot.HeadOf(r.out, path)
		if err != nil {
			return nil, fmt.Errorf("looking at %s: %w", path, err)
		}
		heads = append(heads, h)
	}
	slices.SortFunc(heads, func(a, b snapshot.Head) int { return strings.Compare(a.Path, b.Path) })
	return heads, nil
}
