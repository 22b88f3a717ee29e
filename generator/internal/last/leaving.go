package last

import (
	"context"
	"slices"
	"time"

	"github.com/wellspring-sync/wellspring/internal/notify"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// leave plans to remove files of a folder that is published no more.
func (p *Publication) leave(folder string, at time.Time, files []snapshot.File) {
	p.Leaving.Folders = append(p.Leaving.Folders, folder)
	p.at = Latest(p.at, at)
	for _, f := range files {
		p.Leaving.Remove = append(p.Leaving.Remove, f.Path)
	}
}

// endSet plans to remove a set that is not in the settings any more.
func (p *Publication) endSet(folder string) error {
	l, err := p.Layout.OfSet(folder)
	if err != nil {
		return err
	}
	s, err := snapshot.OpenElsewhere(p.FS, l)
	if err != nil {
		return err
	}
	files, err := s.Files()
	if err == nil {
		err = p.endVersions(s)
	}
	if err == nil {
		err = p.endPatches(s)
	}
	if err != nil {
		return err
	}
	removed := "are removed"
	if p.place.DryRun {
		removed = "will be removed"
	}
	p.warn("the set in %s is published no more: its %d documents and packages %s", folder, len(files), removed)
	p.leave(folder, s.Last, files)
	if s.Hub == "" {
		return nil
	}
	p.Leaving.Notifications = append(p.Leaving.Notifications, notify.Notification{
		Channel: notify.Channel{Set: l.Folder, Hub: s.Hub, Topic: l.FrameworkNotification().URI, CapabilityList: l.CapabilityList().URI},
		From:    s.Last,
		Changes: []notify.Change{{URI: l.CapabilityList().URI, Capability: resourcesync.CapabilityList, Change: resourcesync.Deleted}},
	})
	return nil
}

// endVersions notes which resources of a set that is published no more have versions.
func (p *Publication) endVersions(s *snapshot.Snapshot) error {
	for e, err := range s.Resources(context.Background()) {
		if err != nil {
			return err
		}
		if timeMap := TimeMapOf(p.Layout, e); timeMap != "" {
			if p.Leaving.TimeMaps == nil {
				p.Leaving.TimeMaps = map[string]bool{}
			}
			p.Leaving.TimeMaps[timeMap] = true
		}
	}
	return nil
}

func (p *Publication) endPatches(s *snapshot.Snapshot) error {
	if p.Leaving.Patches == nil {
		p.Leaving.Patches = map[string]bool{}
	}
	for _, list := range ChangeLists(s) {
		if err := EachPatch(s, list, p.Layout, func(name string) { p.Leaving.Patches[name] = true }); err != nil {
			return err
		}
	}
	return nil
}

// replace finds out, as far as possible, what a new publication leaves behind in the old
// one's place. Of one whose sets have no names in the same folder, old documents are
// replaced or retired; of all others, everything is removed.
func (p *Publication) replace() {
	old := p.Layout
	old.Folder = snapshot.FolderOf(p.FS, p.Layout)
	p.replaced(snapshot.LastOf(p.FS, old))
	record, err := snapshot.ReadRecord(p.FS, old)
	if err != nil || record == nil {
		return
	}
	if old, err = layout.New(record.Identity); err != nil {
		return
	}
	if len(record.Sets) == 0 && !p.HasNames() {
		p.replaceOne(old, record)
		return
	}
	if err := p.leaveAll(old, record); err != nil {
		p.warn("the old publication could not be read, so that not all of its files will be removed: %v", err)
	}
	if !p.HasNames() {
		p.Leaving.Remove = slices.DeleteFunc(p.Leaving.Remove, func(path string) bool { return path == old.SourceDescription().Path })
	}
}

// replaced notes the time of the publication that is replaced.
func (p *Publication) replaced(at time.Time) {
	p.at = at
	if !p.HasNames() {
		p.Sets[0].At = at
	}
}

// leaveAll plans to remove all files of a publication that are not written anew.
func (p *Publication) leaveAll(old layout.Layout, record *snapshot.Record) error {
	if len(record.Sets) == 0 {
		s, err := snapshot.OpenElsewhere(p.FS, old)
		if err != nil {
			return err
		}
		files, err := here(p.FS).filesOf(context.Background(), s, old, p.silent)
		p.leave(old.Folder, s.Last, files)
		return err
	}
	together, err := snapshot.OpenSetsElsewhere(p.FS, old)
	if err != nil {
		return err
	}
	p.leave(old.Folder, together.Last, together.Files())
	for _, folder := range together.Folders {
		l, err := old.OfSet(folder)
		if err != nil {
			return err
		}
		s, err := snapshot.OpenElsewhere(p.FS, l)
		if err != nil {
			return err
		}
		files, err := here(p.FS).filesOf(context.Background(), s, old, p.silent)
		if err != nil {
			return err
		}
		p.leave(folder, s.Last, files)
	}
	return nil
}

// silent keeps quiet of what is damaged in a publication that is replaced.
func (p *Publication) silent(string, ...any) {}

// replaceOne plans what becomes of a publication without named sets that another one
// replaces.
func (p *Publication) replaceOne(old layout.Layout, record *snapshot.Record) {
	s, err := snapshot.Open(p.FS, old)
	if err != nil {
		p.warn("the old publication could not be read, so that not all of its files will be removed: %v", err)
		return
	}
	p.replaced(s.Last)
	bodies := p.bodiesOf(s, old)
	leaving := &p.Leaving
	if old.Folder == p.Layout.Folder {
		p.Sets[0].Retired, leaving.Obsolete = record.Retired, bodies
		leaving.Remove = []string{old.ResourceDump().Path, old.ChangeDump().Path, old.Page().Path} // unless they are written
		for _, kind := range layout.Kinds {
			leaving.Remove = append(leaving.Remove, old.Archive(kind).Path)
		}
		if path := old.FrameworkNotification().Path; record.Head(path) != nil {
			leaving.Remove = append(leaving.Remove, path)
		}
		return
	}
	leaving.Folders = []string{old.Folder}
	leaving.Remove = bodies
	for _, b := range record.Retired {
		leaving.Remove = append(leaving.Remove, b.Path)
	}
	for _, h := range record.Heads {
		if h.Path != old.SourceDescription().Path { // which is where it was
			leaving.Remove = append(leaving.Remove, h.Path)
		}
	}
	leaving.Remove = append(leaving.Remove, old.Record().Path)
}

// bodiesOf returns all bodies that a publication leads to, each once.
func (p *Publication) bodiesOf(s *snapshot.Snapshot, old layout.Layout) []string {
	archived, err := s.ArchivedBodies()
	if err != nil {
		p.warn("the old archives could not be read, so that not all of their files will be removed: %v", err)
	}
	bodies := append(s.Bodies(), archived...)
	beside, err := here(p.FS).besideOf(context.Background(), s, old, p.silent)
	if err != nil {
		p.warn("the old lists could not be read, so that not all versions and patches will be removed: %v", err)
	}
	for _, f := range beside {
		bodies = append(bodies, f.Path)
	}
	slices.Sort(bodies)
	return slices.Compact(bodies) // as snapshots share them
}
