package generator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/hashing"
	"github.com/wellspring-sync/wellspring/internal/publish"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/scanner"
)

// Run publishes the source, or goes on with the publication that is there. It
// returns a *[Refusal] where a guard stopped it, an error that is
// publish.ErrLocked or ErrChanged where another run was in the way, and other
// errors for what failed. After an error nothing has changed, unless it is a
// *publish.IncompleteError; the Report then says what was found out so far.
func Run(ctx context.Context, o Options) (*Report, error) {
	o.applyDefaults()
	l, err := layout.New(o.Identity)
	if err != nil {
		return &Report{}, err
	}
	began, distrusted := time.Now(), map[string]error{}
	for {
		r := &run{o: o, layout: l, began: time.Now(), distrusted: distrusted}
		r.report.LeftOut = map[scanner.Reason]int{}
		r.versions = versions{run: r, ended: map[string]bool{}}
		r.report.SourceDescription = l.SourceDescription().URI
		if err = r.makeSets(); err == nil {
			err = r.do(ctx)
		}
		r.report.Took = time.Since(began)
		if r.hasNames() {
			for _, set := range r.sets {
				r.report.Sets = append(r.report.Sets, set.found)
			}
		}
		lost, ok := errors.AsType[*lostError](err)
		if !ok || distrusted[lost.path] != nil {
			return &r.report, err
		}
		// What was in that package has to be read, and some of it has passed
		// already.
		o.Log.Info("beginning anew without a package that is damaged", "path", lost.path, "error", lost.err)
		distrusted[lost.path] = lost.err
	}
}

// run is the state of one run.
type run struct {
	o      Options
	layout layout.Layout
	began  time.Time
	report Report

	tree   scanner.Tree
	opener hashing.Opener
	tx     *publish.Tx // nil in a dry run
	out    fs.FS
	sets   []*resourceSet
	// distrusted are packages of the last publication that turned out to be
	// damaged.
	distrusted map[string]error

	now     time.Time // when the survey began, by the clock of the run, in microseconds
	staging *staging  // nil in a dry run
	// stage is for what is above the sets, which is that of the set if there is just
	// one, without a name; nil in a dry run.
	stage *stage
	meter *meter
	cache *cacheWriter // nil if none is written
	plan  *uploadPlan  // nil if none is made

	top          top
	versions     versions
	linker       *linker
	linkWarnings []string
	entry        []byte // the last one that was encoded
	oddNames     oddNames
}

func (r *run) do(ctx context.Context) error {
	if r.o.Previous.Place != "" && !r.o.DryRun {
		if err := r.carry(ctx); err != nil {
			return err
		}
	}
	closeAll, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer closeAll()
	if err := r.readPublished(); err != nil {
		return err
	}
	if err := r.checkForPeople(); err != nil {
		return err
	}
	if err := r.checkClock(ctx); err != nil {
		return err
	}
	if err := r.beginPlan(); err != nil {
		return err
	}
	defer r.plan.close()
	if err := r.checkDumps(ctx); err != nil {
		return err
	}
	if err := r.survey(ctx); err != nil {
		r.cache.abandon()
		return err
	}
	if err := r.publish(ctx); err != nil {
		r.cache.abandon()
		return err
	}
	r.keepCache()
	return r.writeRetained(ctx)
}

func (r *run) warn(format string, args ...any) {
	r.report.Warnings = append(r.report.Warnings, fmt.Sprintf(format, args...))
}

// survey lists the source, finds out what changed, and gathers what the
// documents will say.
func (r *run) survey(ctx context.Context) error {
	r.meter = newMeter(r.o.Progress)
	if err := r.begin(ctx); err != nil {
		return err
	}
	defer r.linker.close()
	stop := r.meter.start(ctx, r.count)
	defer stop()
	d := r.detector(ctx)
	defer d.cache.close()
	for f, err := range r.findings(ctx, d) {
		if err == nil {
			err = r.take(f)
		}
		if err != nil {
			return refuseIdentity(err)
		}
	}
	if err := r.second(ctx); err != nil {
		return err
	}
	if d.outside > 0 {
		r.report.LeftOut[InNoSet] += d.outside
		r.report.Read += d.readOutside
		r.report.ReadBytes += d.readBytesOutside
	}
	r.warnOfUnused()
	slices.Sort(r.linkWarnings)
	r.report.Warnings = append(r.report.Warnings, r.linkWarnings...)
	switch {
	case d.clamped == 1:
		r.warn("%q was modified later than this publication, or before the year 0: its lastmod is adjusted", d.firstClamped)
	case d.clamped > 1:
		r.warn("%q and %d more were modified later than this publication, or before the year 0: their lastmod is adjusted",
			d.firstClamped, d.clamped-1)
	}
	r.report.Warnings = append(r.report.Warnings, r.oddNames.warnings()...)
	d.lastMods.warn(r.warn)
	if d.lastMods.fromFiles() && d.modified.atOnce() {
		r.warn("nearly all files that are new or changed were modified within two minutes, as after a checkout or a copy: their lastmod says no more than that")
	}
	for _, set := range r.sets {
		if err := set.finish(); err != nil {
			return set.failed(err)
		}
		if missing := set.rules.missing(); missing != "" {
			set.warn("%s", missing)
		}
	}
	return nil
}

// begin makes what gathers the findings.
func (r *run) begin(ctx context.Context) (err error) {
	if r.linker, err = r.newLinker(ctx); err != nil {
		return err
	}
	if !r.o.DryRun {
		r.staging = &staging{tx: r.tx, packed: r.meter.pack, plan: r.plan, many: len(r.sets) > manySets}
	}
	for _, set := range r.sets {
		if err := set.begin(); err != nil {
			return set.failed(err)
		}
	}
	r.setTopStage()
	if r.o.Cache != "" && !r.o.DryRun {
		r.cache = createCache(r.o.Cache)
	}
	return nil
}

// setTopStage chooses the stage for what is above the sets.
func (r *run) setTopStage() {
	switch {
	case r.staging == nil:
	case r.hasNames():
		r.stage = &stage{staging: r.staging}
	default:
		r.stage = r.sets[0].stage
	}
	r.versions.stage = r.stage
}

// refuseIdentity makes a refusal of an error that says that the publication has
// another identity.
func refuseIdentity(err error) error {
	var identity *snapshot.IdentityError
	if errors.As(err, &identity) {
		return &Refusal{Why: identity.Error(), Flag: "--rebase"}
	}
	return err
}

func (r *run) detector(ctx context.Context) *detector {
	d := &detector{
		o: &r.o, at: r.at(), wall: time.Now, began: r.began.Add(-time.Second), next: r.at(), cache: &cacheReader{},
		remember: func(*cached) {}, reserve: r.reserved(), tree: r.tree,
		contents: r.newContents(), index: newSetIndex(r.sets), lastMods: newLastMods(ctx, &r.o, r.at()),
	}
	for _, set := range r.sets {
		if at := set.listAt(); !at.IsZero() && at.Before(d.next) {
			d.next = at
		}
	}
	if r.o.Cache != "" {
		d.cache = openCache(r.o.Cache)
	}
	if r.cache != nil {
		d.remember = r.cache.add
	}
	return d
}

// findings joins the stages. Each arrow of the pipeline is a stream in the
// order of URIs.
func (r *run) findings(ctx context.Context, d *detector) iter.Seq2[*finding, error] {
	files := ahead(ctx, func(ctx context.Context) iter.Seq2[*scanner.File, error] {
		return scanner.Scan(ctx, r.tree, r.scanOptions(r.leftOut))
	})
	pairs := snapshot.Merge(r.before(ctx), files, (*prior).loc, func(f *scanner.File) string { return f.URI })
	pool := hashing.Pool{
		Opener: r.opener, Workers: r.o.Jobs, Progress: r.meter.read, MaxWeight: int64(r.o.Jobs) * workerMemory,
	}
	return d.findings(ctx, hashing.Files(ctx, pool, d.candidates(pairs), d.job))
}

func (r *run) scanOptions(leftOut func(string, scanner.Reason)) scanner.Options {
	return scanner.Options{
		Prefix:       r.layout.BaseURL,
		Key:          r.o.key(r.layout),
		Variant:      r.o.variant(),
		Rules:        r.o.Rules,
		SkipSymlinks: r.o.SkipSymlinks,
		Own:          r.own(),
		LeftOut:      leftOut,
	}
}

// count counts the files of the source, for the progress line.
func (r *run) count(ctx context.Context) (n int64) {
	o := r.scanOptions(nil)
	o.NamesOnly = true
	for _, err := range scanner.Scan(ctx, r.tree, o) {
		if err != nil {
			return 0
		}
		n++
	}
	return n
}

// take counts a finding and passes it on to what writes the documents of each set.
func (r *run) take(f *finding) error {
	r.meter.file()
	r.counted(f)
	r.noteMatches(f)
	if err := r.versions.keep(f); err != nil {
		return err
	}
	if err := r.describeChange(r.stage, f); err != nil {
		return err
	}
	if err := r.plan.resource(f); err != nil {
		return err
	}
	for i := range f.in {
		m := &f.in[i]
		if err := m.set.take(f, m); err != nil {
			return m.set.failed(err)
		}
	}
	if err := f.content.close(); err != nil {
		return err
	}
	if r.linker.facts != nil { // nothing can be said of it before all is known
		return r.linker.facts.add(f)
	}
	return r.write(f)
}

// noteMatches notes which patterns of versions and patches match anything.
func (r *run) noteMatches(f *finding) {
	if v := r.o.Versions; v != nil && !v.matched {
		v.matched = len(v.Match) == 0 || matchesAny(v.Match, f.Path)
	}
	if p := r.o.Patches; p != nil && !p.matched {
		p.matched = len(p.Match) == 0 || matchesAny(p.Match, f.Path)
	}
}

// counted counts a finding, whatever sets it is in.
func (r *run) counted(f *finding) {
	if f.read {
		r.report.Read++
		r.report.ReadBytes += f.size
	}
	switch f.Type {
	case resourcesync.Deleted:
		r.report.Deleted++
		return
	case resourcesync.Created:
		r.report.Created++
	case resourcesync.Updated:
		r.report.Updated++
	}
	r.oddNames.look(f)
	r.report.Resources++
	r.report.Bytes += f.size
}

// write adds to a finding what rules say of it, and passes it on to what writes the
// lists of each set.
func (r *run) write(f *finding) error {
	if err := r.linker.describe(f); err != nil {
		return err
	}
	refreshed := false
	f.point = layout.PointOf(f.entry.Loc)
	for i := range f.in {
		m := &f.in[i]
		if m.change == "" && f.sameAs(&m.before) {
			if err := m.set.keep(&m.before, f.point); err != nil {
				return m.set.failed(err)
			}
			continue
		}
		if m.change != resourcesync.Deleted {
			refreshed = refreshed || m.change == ""
			if err := r.encode(f); err != nil {
				return err
			}
		}
		if err := m.set.write(f, m); err != nil {
			return m.set.failed(err)
		}
	}
	if refreshed && f.Type == "" {
		r.report.Refreshed++
	}
	return nil
}

// encode makes the entry of a finding as lists have it, for all of them.
func (r *run) encode(f *finding) (err error) {
	if f.encoded != nil || r.o.DryRun {
		return nil
	}
	r.entry, err = resourcesync.AppendEntry(r.entry[:0], false, &f.entry)
	f.encoded = r.entry
	return err
}

// InNoSet is the reason for leaving out what the rules of no set allow.
const InNoSet scanner.Reason = "in no set"

// maxLinkWarnings keeps a source full of broken links from flooding the screen.
const maxLinkWarnings = 20

func (r *run) leftOut(path string, why scanner.Reason) {
	r.report.LeftOut[why]++
	r.o.Log.Debug("left out", "path", path, "why", why)
	switch why {
	case scanner.DanglingLink, scanner.OutsideLink, scanner.LoopLink:
		if r.report.LeftOut[why] <= maxLinkWarnings {
			r.linkWarnings = append(r.linkWarnings, fmt.Sprintf("%q is left out: a %s", path, why))
		}
	}
}

// own returns where the publication lies, so that it is not taken for a part of
// the source.
func (r *run) own() []scanner.Own {
	var own []scanner.Own
	add := func(dir string, folder bool, names ...string) {
		if info, err := fs.Stat(r.out, dir); err == nil && info.IsDir() {
			own = append(own, scanner.Own{Dir: info, Names: names, Folder: folder})
		}
	}
	add(".", false, publish.Folder)
	for _, folder := range r.folders() {
		add(folder, folder != ".", append(r.documents(folder), append(r.setFoldersIn(folder), RetainedFile)...)...)
	}
	description := r.layout.SourceDescription().Path
	add(path.Dir(description), false, path.Base(description))
	return append(own, r.ownFiles()...)
}

// setFoldersIn returns the names in a folder of what leads to folders of sets.
func (r *run) setFoldersIn(folder string) (names []string) {
	for _, set := range r.sets {
		if rest, below := strings.CutPrefix(set.layout.Folder, folder+"/"); below {
			name, _, _ := strings.Cut(rest, "/")
			names = append(names, name)
		}
	}
	return names
}

// documents returns the names that the publication uses in a folder. At the top of the
// source, those of directories that it may never need are left to the source.
func (r *run) documents(folder string) []string {
	names := r.layout.Documents()
	if folder != "." {
		return names
	}
	needs := map[string]bool{
		path.Base(r.layout.Page().Path): !r.o.Page.None || r.hadPage(),
		"versions":                      r.o.Versions != nil, "patches": r.o.Patches != nil, "description": len(r.sets) > r.o.limits.entries,
	}
	if !slices.ContainsFunc(r.sets, func(set *resourceSet) bool { return set.o.Hub != "" || set.hadNotification() }) {
		name := path.Base(r.layout.FrameworkNotification().Path)
		names = slices.DeleteFunc(names, func(n string) bool { return n == name })
	}
	return slices.DeleteFunc(names, func(name string) bool {
		needed, optional := needs[name]
		return optional && !needed && (layout.IsOwned(name) || !r.hasOwned(name))
	})
}

// hasOwned reports whether anything in a directory of the output is of a publication.
func (r *run) hasOwned(dir string) bool {
	found := errors.New("found")
	err := fs.WalkDir(r.out, dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && layout.IsOwned(name) {
			return found
		}
		return nil
	})
	return err == found
}

// folders returns those of the publication and of its sets, and those of one that is
// replaced, without what lies in that of the publication.
func (r *run) folders() []string {
	folders := append([]string{r.layout.Folder}, r.top.folders...)
	for _, set := range r.sets {
		folders = append(append(folders, set.layout.Folder), set.prev.folders...)
	}
	slices.Sort(folders)
	folders = slices.Compact(folders)
	if r.layout.Folder == "." {
		return folders
	}
	return slices.DeleteFunc(folders, func(f string) bool { return strings.HasPrefix(f, r.layout.Folder+"/") })
}

// ownFiles leaves settings, cache and plan out, should they lie in the source.
func (r *run) ownFiles() (own []scanner.Own) {
	names := r.ownPlan()
	for _, name := range [...]string{r.o.SettingsFile, r.o.Page.File} {
		if name != "" {
			names = append(names, name)
		}
	}
	if r.o.Cache != "" {
		names = append(names, r.o.Cache, r.o.Cache+".tmp")
	}
	for _, name := range names {
		if info, err := os.Stat(filepath.Dir(name)); err == nil {
			own = append(own, scanner.Own{Dir: info, Names: []string{filepath.Base(name)}})
		}
	}
	return own
}

// keepCache makes the new cache the cache.
func (r *run) keepCache() {
	if r.cache == nil {
		return
	}
	if err := r.cache.finish(); err != nil {
		r.warn("the stat cache could not be written, so the next run may read more files: %v", err)
	}
}
