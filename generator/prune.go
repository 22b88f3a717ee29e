package generator

import (
	"context"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/wellspring-sync/wellspring/generator/internal/edition"
	"github.com/wellspring-sync/wellspring/generator/internal/front"
	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/internal/linking"
	"github.com/wellspring-sync/wellspring/generator/internal/stage"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
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
	// Notifications are those of changes of documents, of each set that has a hub. After
	// a dry run there are none.
	Notifications []Notification
	Warnings      []string
}

// Any reports whether there was anything to do.
func (p *Pruned) Any() bool { return p.Lists+p.Packages+p.Snapshots+p.Versions+p.Swept > 0 }

// Prune applies KeepChanges, ArchiveKeep and Grace to the publication in Out,
// without looking at a source, the first two for each set that Sets say them of, and
// Versions.Keep, if there is one. Of the other options, only Identity.Folder, Now,
// Plan, DryRun, LockTimeout, Release and Log count. Its errors are those of Run.
func Prune(ctx context.Context, options Options) (*Pruned, error) {
	o := options.withDefaults()
	o.Previous = policy.Previous{}
	anywhere, err := layout.OfFolder(o.Identity.Folder)
	if err != nil {
		return nil, err
	}
	p := &pruning{o: o, result: &Pruned{}}
	if p.files, err = last.OpenHere(ctx, o.place(), anywhere); err != nil {
		return nil, err
	}
	defer p.files.Close()
	if err := p.open(); err != nil {
		return nil, err
	}
	defer func() { p.plan.Close(); p.area.Close() }()
	if err := p.do(ctx); err != nil {
		return nil, err
	}
	return p.result, nil
}

// pruning is a run without a source.
type pruning struct {
	o      *Options
	files  *last.Files
	pub    *last.Publication
	now    time.Time
	area   *stage.Area // nil in a dry run
	plan   *stage.Plan // nil if none is made
	result *Pruned
}

// open reads the publication, whose record says how it was made.
func (p *pruning) open() error {
	// The record knows the base URL. It is found in the folder, whatever that is.
	folder, err := layout.New(layout.Identity{BaseURL: "https://unknown.example/", Folder: p.o.Identity.Folder})
	if err != nil {
		return err
	}
	record, err := snapshot.ReadRecord(p.files.FS, folder)
	if err != nil {
		return err
	}
	if record == nil {
		return fmt.Errorf("%s is not in %s: there is no publication, or its next build has to write the record again", folder.Record().Path, p.o.Out)
	}
	l, err := layout.New(record.Identity)
	if err != nil {
		return err
	}
	next := &last.Next{Layout: l, Sets: p.o.keptSets(l, record.Sets), Limits: p.o.limits, AsIs: true}
	// Nothing on the page is of what is pruned, so that it stays as it is.
	page := l.Page().Path
	next.Page = record.Head(page) != nil && p.files.IsThere(page)
	if p.pub, err = last.Read(p.files, next, nil); err != nil {
		return err
	}
	p.result.Warnings = p.pub.Warnings
	p.now = p.o.Now().UTC().Truncate(time.Second)
	if p.o.DryRun {
		return nil
	}
	p.area = stage.New(p.files.Tx, stage.Options{MD5: p.o.Plan != ""})
	if p.o.Plan == "" {
		return nil
	}
	var behind bool
	if p.plan, behind, err = p.o.newPlan(p.pub); behind {
		p.result.Warnings = append(p.result.Warnings, planIsBehind(p.o.Plan))
	}
	return err
}

// keptSets returns the sets in folders with what is kept of each: what the options
// say of it or, of one that they do not know, of all.
func (o *Options) keptSets(top layout.Layout, folders []string) (sets []policy.Set) {
	all := policy.Set{KeepChanges: o.KeepChanges, ArchiveKeep: o.ArchiveKeep}
	for _, folder := range folders {
		set := all
		set.Name, set.Folder = folder, folder
		for i := range o.Sets {
			known := &o.Sets[i]
			if l, err := known.Layout(top); err == nil && l.Folder == folder {
				set.KeepChanges, set.ArchiveKeep = known.KeepChanges, known.ArchiveKeep
			}
		}
		sets = append(sets, set)
	}
	if len(sets) == 0 {
		return []policy.Set{all}
	}
	return sets
}

// do decides what is pruned of all sets, and commits that.
func (p *pruning) do(ctx context.Context) error {
	versions, err := p.versions(ctx)
	if err != nil {
		return err
	}
	rules := edition.Rules{Limits: p.o.limits, Standard: p.o.Standard, Policy: p.o.policy()}
	d, n, err := front.DecidePrune(p.pub, p.o.front(), rules, p.now, versions.Dropped)
	if err != nil {
		return err
	}
	r := p.result
	r.Lists, r.Packages, r.Snapshots, r.Versions = n.Lists, n.Packages, n.Snapshots, len(versions.Dropped)
	r.Retired, r.Swept, r.RetiredBytes, r.SweptBytes = n.Retired, n.Swept, n.RetiredBytes, n.SweptBytes
	r.Heads = slices.DeleteFunc(d.Heads(), func(name string) bool { return path.Base(name) == path.Base(p.pub.Layout.Record().Path) })
	switch {
	case p.o.DryRun:
		return nil
	case !d.Wrote:
		return p.o.keepPlan(p.plan, p.pub, p.pub.At())
	}
	result, err := d.Write(ctx, p.area, versions, p.now)
	if err != nil {
		return err
	}
	r.Notifications = result.Notifications
	c := &committing{o: p.o, files: p.files, pub: p.pub, plan: p.plan, at: p.pub.At()}
	return c.commit(ctx, result)
}

// versions thins the versions of all resources, if they are to be thinned.
func (p *pruning) versions(ctx context.Context) (front.Beside, error) {
	if p.o.Versions == nil || p.o.Versions.Keep == nil {
		return front.Beside{}, nil
	}
	v, err := linking.NewVersions(p.o.Versions, p.pub, p.area, nil)
	if err == nil {
		err = v.Prune(ctx)
	}
	if err != nil {
		return front.Beside{}, err
	}
	p.result.Warnings = append(p.result.Warnings, v.Warnings()...)
	return front.Beside{TimeMaps: v.TimeMaps(), Dropped: v.Dropped()}, nil
}
