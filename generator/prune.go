package generator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/snapshot"
)

// Pruned says what a run of Prune found and did.
type Pruned struct {
	// Lists, Packages and Snapshots count the Change Lists, the packages of the
	// Change Dump and the archived documents that are named no more where they
	// were.
	Lists, Packages, Snapshots int
	// Retired files are named no more at all, and are removed once their grace
	// time is over; Swept ones are removed now.
	Retired, Swept           int
	RetiredBytes, SweptBytes int64
	Heads                    []string // documents that were written, or would be
	Warnings                 []string
}

// Any reports whether there was anything to do.
func (p *Pruned) Any() bool { return p.Lists+p.Packages+p.Snapshots+p.Swept > 0 }

// Prune applies KeepChanges, ArchiveKeep and Grace to the publication in Out,
// without looking at a source. Of the other options, only Identity.Folder, Now,
// DryRun, LockTimeout, Release and Log count. Its errors are those of Run.
func Prune(ctx context.Context, o Options) (*Pruned, error) {
	o.applyDefaults()
	o.FixedClock, o.Archive = true, nil
	r := &run{o: o, began: time.Now()}
	closeOut, err := r.openOut(ctx)
	if err != nil {
		return nil, err
	}
	defer closeOut()
	if err := r.openPublication(); err != nil {
		return nil, err
	}
	p := &pruning{run: r, result: &Pruned{}}
	if err := p.do(ctx); err != nil {
		return nil, err
	}
	p.result.Warnings = r.report.Warnings
	return p.result, nil
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
	if err := r.readPrevious(); err != nil {
		return err
	}
	s := r.prev.snapshot
	r.now = r.o.Now().UTC().Truncate(time.Second)
	r.stage = &stage{tx: r.tx}
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
	return nil
}

// pruning is the state of a run of Prune.
type pruning struct {
	*run
	result *Pruned
}

func (p *pruning) do(ctx context.Context) error {
	if err := p.dropLists(); err != nil {
		return err
	}
	if err := p.dropPackages(); err != nil {
		return err
	}
	if err := p.dropSnapshots(); err != nil {
		return err
	}
	if err := p.count(); err != nil || !p.result.Any() {
		return err
	}
	for _, h := range p.stage.heads {
		p.result.Heads = append(p.result.Heads, h.Path)
	}
	if p.o.DryRun {
		return nil
	}
	if err := p.composeRecord(p.prev.snapshot.Last, p.now); err != nil {
		return err
	}
	if err := p.checkUnchanged(); err != nil {
		return err
	}
	return p.tx.Commit(ctx)
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

func (p *pruning) addSize(path string, files *int, bytes *int64) error {
	info, err := fs.Stat(p.out, path)
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
