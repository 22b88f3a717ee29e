package generator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/wellspring-sync/wellspring/internal/notify"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// Pruned says what a run of Prune found and did.
type Pruned struct {
	// Lists, Packages and Snapshots count the Change Lists, the packages of the
	// Change Dump and the archived documents that are named no more where they
	// were.
	Lists, Packages, Snapshots int
	// Versions counts those that TimeMaps name no more.
	Versions int
	// Retired files are named no more at all, and are removed once their grace
	// time is over; Swept ones are removed now.
	Retired, Swept           int
	RetiredBytes, SweptBytes int64
	Heads                    []string // documents that were written, or would be
	// Notifications are those of changes of documents, of each set that has a hub.
	Notifications []notify.Notification
	Warnings      []string
}

// Any reports whether there was anything to do.
func (p *Pruned) Any() bool { return p.Lists+p.Packages+p.Snapshots+p.Versions+p.Swept > 0 }

// Prune applies KeepChanges, ArchiveKeep and Grace to the publication in Out,
// without looking at a source, the first two for each set that Sets say them of, and
// Versions.Keep, if there is one. Of the other options, only Identity.Folder, Now,
// Plan, DryRun, LockTimeout, Release and Log count. Its errors are those of Run.
func Prune(ctx context.Context, o Options) (*Pruned, error) {
	o.applyDefaults()
	o.FixedClock, o.Archive = true, nil
	r := &run{o: o, began: time.Now()}
	r.versions = versions{run: r}
	var err error
	if r.layout, err = layout.OfFolder(o.Identity.Folder); err != nil {
		return nil, err
	}
	closeOut, err := r.openOut(ctx)
	if err != nil {
		return nil, err
	}
	defer closeOut()
	defer func() { r.plan.close() }()
	if err := r.openPublication(); err != nil {
		return nil, err
	}
	result := &Pruned{}
	if err := r.prune(ctx, result); err != nil {
		return nil, err
	}
	result.Warnings, result.Notifications = r.report.Warnings, r.report.Notifications
	return result, nil
}

// openPublication reads the publication, whose record says how it was made.
func (r *run) openPublication() error {
	// The record knows the base URL. It is found in the folder, whatever that is.
	folder, err := layout.New(layout.Identity{BaseURL: "https://unknown.example/", Folder: r.o.Identity.Folder})
	if err != nil {
		return err
	}
	record, err := snapshot.ReadRecord(r.out, folder)
	if err != nil {
		return err
	}
	if record == nil {
		return fmt.Errorf("%s is not in %s: there is no publication, or its next build has to write the record again", folder.Record().Path, r.o.Out)
	}
	if r.layout, err = layout.New(record.Identity); err != nil {
		return err
	}
	r.o.Sets = r.keepsOf(record.Sets)
	if err := r.makeSets(); err != nil {
		return err
	}
	if err := r.readPublished(); err != nil {
		return err
	}
	// Nothing on the page is of what is pruned, so that it stays as it is.
	r.o.Page.None = !r.hadPage() || !r.isThere(r.layout.Page().Path)
	if err := r.checkForPeople(); err != nil {
		return err
	}
	r.now = r.o.Now().UTC().Truncate(time.Second)
	if err := r.beginPlan(); err != nil {
		return err
	}
	r.staging = &staging{tx: r.tx, plan: r.plan}
	for _, set := range r.sets {
		set.continueAsIs()
	}
	r.setTopStage()
	return nil
}

// keepsOf returns the sets in the folders with what is kept of each: what the options
// say of it or, of one that they do not know, of all.
func (r *run) keepsOf(folders []string) (sets []Set) {
	for _, folder := range folders {
		set := Set{Name: folder, Folder: folder, KeepChanges: r.o.KeepChanges, ArchiveKeep: r.o.ArchiveKeep}
		for i := range r.o.Sets {
			known := &r.o.Sets[i]
			if l, err := known.Layout(r.layout); err == nil && l.Folder == folder {
				set.KeepChanges, set.ArchiveKeep = known.KeepChanges, known.ArchiveKeep
			}
		}
		sets = append(sets, set)
	}
	return sets
}

// continueAsIs takes the options of the last publication.
func (r *resourceSet) continueAsIs() {
	s := r.prev.snapshot
	r.stage = &stage{staging: r.staging}
	r.o.Hub = s.Hub
	r.o.Dumps = Dumps{Resource: s.ResourceDump != nil, Change: s.ChangeDump != nil}
	if p := packagesOf(s); p != nil {
		r.o.PackageSize = p.Size
	}
	r.list, r.events = &resourceList{}, &events{}
	if r.o.Dumps.Resource {
		r.dump = &resourceDump{}
	}
	r.archives = r.newArchives()
	r.lists = r.changeLists()
}

// prune prunes all sets, in one commit.
func (r *run) prune(ctx context.Context, result *Pruned) error {
	if err := r.versions.prune(ctx, result); err != nil {
		return err
	}
	if err := r.putStyle(r.stage); err != nil {
		return err
	}
	for _, set := range r.sets {
		p := &pruning{resourceSet: set, result: &Pruned{}, always: result.Versions > 0 && !r.hasNames()}
		if err := p.do(); err != nil {
			return set.failed(err)
		}
		result.add(p.result)
	}
	if err := r.countTop(result); err != nil {
		return err
	}
	if r.report.At = r.last(); r.o.DryRun {
		return nil
	}
	if !result.Any() {
		return r.keepPlan()
	}
	if r.hasNames() {
		r.top.parts = r.top.published.Parts
		if err := r.writeTop(r.stage, r.last(), r.now); err != nil {
			return err
		}
	}
	if err := r.checkUnchanged(); err != nil {
		return err
	}
	if err := r.plan.prepare(); err != nil {
		return err
	}
	if err := r.tx.Commit(ctx); err != nil {
		return err
	}
	return r.plan.commit()
}

// countTop counts what is swept above the sets.
func (r *run) countTop(result *Pruned) error {
	if r.top.published == nil || r.top.published.Record == nil {
		return nil
	}
	for _, b := range r.top.published.Record.Retired {
		if r.now.Sub(b.Since) < r.o.Grace {
			continue
		}
		if err := r.addSize(b.Path, &result.Swept, &result.SweptBytes); err != nil {
			return err
		}
	}
	return nil
}

// add adds what was found in one set.
func (p *Pruned) add(set *Pruned) {
	p.Lists += set.Lists
	p.Packages += set.Packages
	p.Snapshots += set.Snapshots
	p.Retired += set.Retired
	p.RetiredBytes += set.RetiredBytes
	p.Swept += set.Swept
	p.SweptBytes += set.SweptBytes
	p.Heads = append(p.Heads, set.Heads...)
}

// pruning is the pruning of one set.
type pruning struct {
	*resourceSet
	result *Pruned
	// always says to write the record in any case, since it names what is retired
	// beside the documents.
	always bool
}

func (p *pruning) do() error {
	if err := p.dropLists(); err != nil {
		return err
	}
	if err := p.dropPackages(); err != nil {
		return err
	}
	if err := p.dropSnapshots(); err != nil {
		return err
	}
	if err := p.count(); err != nil || !p.result.Any() && !p.always {
		return err
	}
	until := latestOf(p.now, p.prev.last) // the clock may be behind
	if p.o.Hub != "" {
		if err := p.putNotification(p.changesToTell(until), until); err != nil {
			return err
		}
	}
	for _, h := range p.stage.heads {
		p.result.Heads = append(p.result.Heads, h.Path)
	}
	if p.o.DryRun {
		return nil
	}
	return p.composeRecord(p.prev.snapshot.Last, p.now)
}

// dropLists takes Change Lists out of the Index.
func (p *pruning) dropLists() error {
	kept := p.lists.retain(p.prev.snapshot.Changes, p.now)
	p.result.Lists = len(p.lists.dropped)
	if p.archives != nil {
		p.archives.addChangeLists(p.lists.dropped)
	}
	if len(p.lists.dropped) == 0 {
		return nil
	}
	return p.lists.index(kept)
}

// dropPackages takes packages out of the Change Dump.
func (p *pruning) dropPackages() error {
	if p.prev.snapshot.ChangeDump == nil {
		return nil
	}
	c := &changeDump{
		stage: p.stage, layout: p.layout, limits: p.o.limits, last: p.prev.snapshot.ChangeDump, keep: p.o.KeepChanges,
		links: p.archives.links(resourcesync.ChangeDump),
	}
	p.changes = c
	c.retain(c.last.Packages, p.now)
	if p.result.Packages = len(c.dropped); len(c.dropped) == 0 {
		return nil
	}
	if p.archives != nil {
		if err := p.archives.addPackages(c.dropped); err != nil {
			return err
		}
	}
	return c.writeHead(p.now)
}

// dropSnapshots thins the archives out, and writes them if they have changed.
func (p *pruning) dropSnapshots() error {
	if p.archives == nil {
		return nil
	}
	p.archives.thinAll()
	p.result.Snapshots = len(p.archives.thinned)
	return p.archives.write()
}

// count counts the files that are retired or swept.
func (p *pruning) count() error {
	unreached, err := p.unreached()
	if err != nil {
		return err
	}
	for _, path := range unreached {
		if p.stage.paths()[path] {
			continue
		}
		if err := p.addSize(path, &p.result.Retired, &p.result.RetiredBytes); err != nil {
			return err
		}
	}
	for _, b := range p.prev.retired {
		if p.now.Sub(b.Since) < p.o.Grace {
			continue
		}
		if err := p.addSize(b.Path, &p.result.Swept, &p.result.SweptBytes); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) addSize(path string, files *int, bytes *int64) error {
	info, err := fs.Stat(r.out, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking at %s: %w", path, err)
	}
	*files++
	*bytes += info.Size()
	return nil
}
