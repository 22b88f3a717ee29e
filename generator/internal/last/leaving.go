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

// leaver finds out what the next publication leaves behind.
type leaver struct{ pub *Publication }

// leave plans to remove files of a folder that is published no more.
func (v *leaver) leave(folder string, at time.Time, files []snapshot.File) {
	v.pub.Leaving.Folders = append(v.pub.Leaving.Folders, folder)
	v.pub.at = Latest(v.pub.at, at)
	for _, f := range files {
		v.pub.Leaving.Remove = append(v.pub.Leaving.Remove, f.Path)
	}
}

// endSet plans to remove a set that is not in the settings any more.
func (v *leaver) endSet(folder string) error {
	l, err := v.pub.Layout.OfSet(folder)
	if err != nil {
		return err
	}
	s, err := snapshot.OpenElsewhere(v.pub.Files.FS, l)
	if err != nil {
		return err
	}
	files, err := s.Files()
	if err == nil {
		err = v.endVersions(s)
	}
	if err == nil {
		err = v.endPatches(s)
	}
	if err != nil {
		return err
	}
	removed := "are removed"
	if v.pub.isDry() {
		removed = "will be removed"
	}
	v.pub.warn("the set in %s is published no more: its %d documents and packages %s", folder, len(files), removed)
	v.leave(folder, s.Last, files)
	if s.Hub == "" {
		return nil
	}
	v.pub.Leaving.Notifications = append(v.pub.Leaving.Notifications, notify.Notification{
		Channel: notify.Channel{Set: l.Folder, Hub: s.Hub, Topic: l.FrameworkNotification().URI, CapabilityList: l.CapabilityList().URI},
		From:    s.Last,
		Changes: []notify.Change{{URI: l.CapabilityList().URI, Capability: resourcesync.CapabilityList, Change: resourcesync.Deleted}},
	})
	return nil
}

// endVersions notes which resources of a set that is published no more have versions.
func (v *leaver) endVersions(s *snapshot.Snapshot) error {
	for e, err := range s.Resources(context.Background()) {
		if err != nil {
			return err
		}
		if timeMap := TimeMapOf(v.pub.Layout, e); timeMap != "" {
			if v.pub.Leaving.TimeMaps == nil {
				v.pub.Leaving.TimeMaps = map[string]bool{}
			}
			v.pub.Leaving.TimeMaps[timeMap] = true
		}
	}
	return nil
}

func (v *leaver) endPatches(s *snapshot.Snapshot) error {
	if v.pub.Leaving.Patches == nil {
		v.pub.Leaving.Patches = map[string]bool{}
	}
	for _, list := range ChangeLists(s) {
		if err := EachPatch(s, list, v.pub.Layout, func(name string) { v.pub.Leaving.Patches[name] = true }); err != nil {
			return err
		}
	}
	return nil
}

// replace finds out, as far as possible, what a new publication leaves behind in the old
// one's place. Of one whose sets have no names in the same folder, old documents are
// replaced or retired; of all others, everything is removed.
func (v *leaver) replace() {
	old := v.pub.Layout
	old.Folder = snapshot.FolderOf(v.pub.Files.FS, v.pub.Layout)
	v.replaced(snapshot.LastOf(v.pub.Files.FS, old))
	record, err := snapshot.ReadRecord(v.pub.Files.FS, old)
	if err != nil || record == nil {
		return
	}
	if old, err = layout.New(record.Identity); err != nil {
		return
	}
	if len(record.Sets) == 0 && !v.pub.HasNames() {
		v.replaceOne(old, record)
		return
	}
	if err := v.leaveAll(old, record); err != nil {
		v.pub.warn("the old publication could not be read, so that not all of its files will be removed: %v", err)
	}
	if !v.pub.HasNames() {
		v.pub.Leaving.Remove = slices.DeleteFunc(v.pub.Leaving.Remove, func(path string) bool { return path == old.SourceDescription().Path })
	}
}

// replaced notes the time of the publication that is replaced.
func (v *leaver) replaced(at time.Time) {
	v.pub.at = at
	if !v.pub.HasNames() {
		v.pub.Sets[0].At = at
	}
}

// leaveAll plans to remove all files of a publication that are not written anew.
func (v *leaver) leaveAll(old layout.Layout, record *snapshot.Record) error {
	if len(record.Sets) == 0 {
		s, err := snapshot.OpenElsewhere(v.pub.Files.FS, old)
		if err != nil {
			return err
		}
		files, err := here(v.pub.Files.FS).filesOf(context.Background(), s, old, silent)
		v.leave(old.Folder, s.Last, files)
		return err
	}
	together, err := snapshot.OpenSetsElsewhere(v.pub.Files.FS, old)
	if err != nil {
		return err
	}
	v.leave(old.Folder, together.Last, together.Files())
	for _, folder := range together.Folders {
		l, err := old.OfSet(folder)
		if err != nil {
			return err
		}
		s, err := snapshot.OpenElsewhere(v.pub.Files.FS, l)
		if err != nil {
			return err
		}
		files, err := here(v.pub.Files.FS).filesOf(context.Background(), s, old, silent)
		if err != nil {
			return err
		}
		v.leave(folder, s.Last, files)
	}
	return nil
}

// silent keeps quiet of what is damaged in a publication that is replaced.
func silent(string, ...any) {}

// replaceOne plans what becomes of a publication without named sets that another one
// replaces.
func (v *leaver) replaceOne(old layout.Layout, record *snapshot.Record) {
	s, err := snapshot.Open(v.pub.Files.FS, old)
	if err != nil {
		v.pub.warn("the old publication could not be read, so that not all of its files will be removed: %v", err)
		return
	}
	v.replaced(s.Last)
	bodies := v.bodiesOf(s, old)
	leaving := &v.pub.Leaving
	if old.Folder == v.pub.Layout.Folder {
		v.pub.Sets[0].Retired, leaving.Obsolete = record.Retired, bodies
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
func (v *leaver) bodiesOf(s *snapshot.Snapshot, old layout.Layout) []string {
	archived, err := s.ArchivedBodies()
	if err != nil {
		v.pub.warn("the old archives could not be read, so that not all of their files will be removed: %v", err)
	}
	bodies := append(s.Bodies(), archived...)
	beside, err := here(v.pub.Files.FS).besideOf(context.Background(), s, old, silent)
	if err != nil {
		v.pub.warn("the old lists could not be read, so that not all versions and patches will be removed: %v", err)
	}
	for _, f := range beside {
		bodies = append(bodies, f.Path)
	}
	slices.Sort(bodies)
	return slices.Compact(bodies) // as snapshots share them
}
