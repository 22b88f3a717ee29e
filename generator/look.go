package generator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/wellspring-sync/wellspring/generator/internal/edition"
	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/internal/linking"
	"github.com/wellspring-sync/wellspring/generator/internal/stage"
	"github.com/wellspring-sync/wellspring/generator/internal/survey"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/scanner"
)

// surveyed is what there is now: counted, cut and, but in a dry run, staged.
type surveyed struct {
	from  *published
	pub   *last.Publication // as it turned out to be
	found policy.Counts
	read  amount
	sets  []setSurvey
	notes *survey.Notes
	// linking adds links, versions and patches to findings.
	linking linkers
	area    *stage.Area         // nil in a dry run
	plan    *stage.Plan         // nil if none is made
	cache   *survey.CacheWriter // nil if none is written
	// warnings are complete once the survey is.
	warnings []string
}

// amount is how many files there are, and their bytes.
type amount struct {
	files int
	bytes int64
}

// setSurvey is what there is of a set.
type setSurvey struct {
	set    *last.Set
	found  policy.Counts
	draft  *edition.Draft
	hidden survey.Hidden
}

// linkers are what adds to findings.
type linkers struct {
	rules    *linking.Linker
	versions *linking.Versions
	patches  *linking.Patches
	room     *linking.Room
}

// look surveys the source. What turns out to be damaged in the last publication counts as
// lost, and the survey begins again without it.
func look(ctx context.Context, p *published) (*surveyed, error) {
	s := &surveyed{from: p, pub: p.pub}
	if err := p.checkDumps(ctx); err != nil {
		return s, err
	}
	meter := survey.NewMeter(p.o.Progress)
	area := p.newArea(meter)
	tell := &teller{tell: p.o.OnChange}
	for losses := (last.Losses{}); ; {
		err := s.look(ctx, area, meter, tell)
		lost, ok := errors.AsType[*edition.LostError](err)
		if !ok || losses[lost.Path] != nil {
			return s, last.RefuseIdentity(err)
		}
		// What was in that package has to be read, and some of it has passed already.
		p.o.Log.Info("beginning anew without a package that is damaged", "path", lost.Path, "error", lost.Err)
		losses[lost.Path] = lost.Err
		s.close()
		s = &surveyed{from: p, pub: s.pub}
		if err := area.Clear(); err != nil {
			return s, err
		}
		if s.pub, err = last.Read(p.files, p.next, losses); err != nil {
			return s, err
		}
	}
}

// newArea returns where files are staged, or nil in a dry run.
func (p *published) newArea(meter *survey.Meter) *stage.Area {
	if p.o.DryRun {
		return nil
	}
	return stage.New(p.files.Tx, stage.Options{MD5: p.o.Plan != "", Packed: meter.Pack, Many: len(p.pub.Sets) > survey.ManySets})
}

// checkDumps guards against dumps of a large source that nobody asked for.
func (p *published) checkDumps(ctx context.Context) error {
	if !p.o.DumpsByDefault || slices.ContainsFunc(p.pub.Sets, (*last.Set).HadDumps) ||
		!slices.ContainsFunc(p.pub.Sets, func(s *last.Set) bool { return s.Options.Dumps.Any() }) {
		return nil
	}
	size, err := p.source.Bytes(ctx, p.scanOptions())
	if err != nil || size <= p.o.limits.Unasked {
		return err
	}
	return &policy.Refusal{
		Why: fmt.Sprintf("the source holds %.1f GiB, and packages would take up to as much space again, here and wherever they are uploaded",
			float64(size)/(1<<30)),
		Flag: "--dumps=resource,change, or with --dumps=none to do without packages",
	}
}

func (p *published) scanOptions() scanner.Options {
	o, l := p.o, p.next.Layout
	return scanner.Options{
		Prefix: l.BaseURL, Key: o.Resources.Key(l), Variant: o.Resources.Variant(), Rules: o.Rules, SkipSymlinks: o.SkipSymlinks,
		Own: append(p.pub.Own(), o.ownFiles()...),
	}
}

// look goes through the source once, and through the findings once more if links lead to
// files of the source.
func (s *surveyed) look(ctx context.Context, area *stage.Area, meter *survey.Meter, tell *teller) error {
	if err := s.begin(ctx, area); err != nil {
		return err
	}
	o := s.from.o
	d := survey.NewDetector(ctx, s.from.source, s.pub, s.from.clock.at(), &survey.Options{
		Hash: o.Hash, Planned: o.Plan != "", Checksum: o.Checksum, LastMod: o.LastMod, Resources: o.Resources,
		Jobs: o.Jobs, Scan: s.from.scanOptions(), Log: o.Log, Meter: meter,
	}, survey.Memory{Area: area, Policy: o.policy(), Cache: o.Cache, Next: s.cache})
	s.notes = d.Notes
	entries := &encoder{}
	for f, err := range d.Findings(ctx) {
		if err == nil {
			err = s.take(f, entries, tell)
		}
		if err != nil {
			return err
		}
	}
	for f, err := range s.linking.rules.Deferred(ctx, s.pub.Sets) {
		if err == nil {
			err = s.list(f, entries)
		}
		if err != nil {
			return err
		}
	}
	return s.seal()
}

// begin makes what gathers the findings.
func (s *surveyed) begin(ctx context.Context, area *stage.Area) (err error) {
	o, l := s.from.o, s.pub.Layout
	s.area = area
	if err := s.beginPlan(); err != nil {
		return err
	}
	if o.Cache != "" && !o.DryRun {
		s.cache = survey.CreateCache(o.Cache)
	}
	k := &s.linking
	if k.rules, err = linking.NewLinker(ctx, linking.LinkOptions{
		Rules: o.Links, Resources: o.Resources, Layout: l, Previous: o.Previous, Release: o.Release,
	}); err != nil {
		return err
	}
	if k.versions, err = linking.NewVersions(o.Versions, s.pub, area, s.former); err != nil {
		return err
	}
	k.patches = linking.NewPatches(o.Patches, l, area, s.former)
	k.room = linking.NewRoom(k.rules, k.versions, k.patches)
	rules := edition.Rules{Limits: o.limits, Standard: o.Standard, Policy: o.policy()}
	for _, set := range s.pub.Sets {
		draft, err := edition.NewDraft(set, rules, area, s.from.clock.at(), o.Now)
		if err != nil {
			return set.Failed(err)
		}
		s.sets = append(s.sets, setSurvey{set: set, draft: draft})
	}
	return nil
}

// former opens what an updated resource was, out of the last Resource Dump of one of its
// sets. It returns nil if none has it.
func (s *surveyed) former(f *survey.Finding) (io.ReadCloser, error) {
	for i := range f.In {
		m := &f.In[i]
		if former, err := s.sets[m.Set.Number].draft.Former(m); former != nil || err != nil {
			return former, err
		}
	}
	return nil, nil
}

// take counts a finding and passes it on to what makes packages, and then to the lists.
func (s *surveyed) take(f *survey.Finding, entries *encoder, tell *teller) error {
	s.count(f)
	if err := s.linking.versions.Annotate(f); err != nil {
		return err
	}
	if err := s.linking.patches.Annotate(f); err != nil {
		return err
	}
	if err := s.planResource(f); err != nil {
		return err
	}
	for i := range f.In {
		m := &f.In[i]
		x := &s.sets[m.Set.Number]
		x.count(f, m, s.from.source.Tree)
		if m.Change != "" && !m.Set.IsFirst() {
			tell.change(f, m)
		}
		if err := s.pack(x, f, m); err != nil {
			return m.Set.Failed(err)
		}
	}
	if err := f.Content.Close(); err != nil {
		return err
	}
	if s.linking.rules.IsDeferred() { // nothing can be said of it before all is known
		return s.linking.rules.Defer(f)
	}
	return s.list(f, entries)
}

// pack passes a finding on to the packages of a set.
func (s *surveyed) pack(x *setSurvey, f *survey.Finding, m *survey.Member) (err error) {
	var room edition.Room
	if x.draft.NeedsRoom(m) {
		event := *f
		event.Type = m.Change // which needs no links if the resource leaves the set
		if room.Entry, err = s.linking.room.Of(&event); err != nil {
			return err
		}
		if patch := s.linking.room.Patch(&event); patch > 0 {
			room.Package = layout.Weight(f.Entry.Loc, patch)
		}
	}
	return x.draft.Pack(f, m, room)
}

// count counts a finding, whatever sets it is in.
func (s *surveyed) count(f *survey.Finding) {
	if f.Read {
		s.read.files++
		s.read.bytes += f.Size
	}
	s.found.Add(f.Type, f.Size)
}

// count counts a finding in a set.
func (x *setSurvey) count(f *survey.Finding, m *survey.Member, tree scanner.Tree) {
	x.found.Add(m.Change, f.Size)
	if m.Change == resourcesync.Deleted {
		x.hidden.Look(f, m.Set, tree)
	}
}

// list adds to a finding what rules say of it, and passes it on to the lists of each set.
func (s *surveyed) list(f *survey.Finding, entries *encoder) error {
	if err := s.linking.rules.Describe(f); err != nil {
		return err
	}
	refreshed := false
	f.Point = layout.PointOf(f.Entry.Loc)
	for i := range f.In {
		m := &f.In[i]
		x := &s.sets[m.Set.Number]
		err := error(nil)
		if m.Change == "" && f.SameAs(&m.Before) {
			err = x.draft.Keep(&m.Before, f.Point)
		} else {
			if m.Change == "" {
				x.found.Refreshed++
				refreshed = true
			}
			if err = entries.encode(f, m); err == nil {
				err = x.draft.Write(f, m)
			}
		}
		if err != nil {
			return m.Set.Failed(err)
		}
	}
	if refreshed && f.Type == "" {
		s.found.Refreshed++
	}
	return nil
}

// encoder makes the entries of findings as lists have them, each for all lists.
type encoder struct{ buf []byte }

func (e *encoder) encode(f *survey.Finding, m *survey.Member) (err error) {
	if f.Encoded != nil || m.Change == resourcesync.Deleted {
		return nil
	}
	e.buf, err = resourcesync.AppendEntry(e.buf[:0], false, &f.Entry)
	f.Encoded = e.buf
	return err
}

// seal ends the gathering.
func (s *surveyed) seal() error {
	k := &s.linking
	if err := k.versions.Seal(); err != nil {
		return err
	}
	files, bytes := s.notes.ReadOutside()
	s.read.files, s.read.bytes = s.read.files+files, s.read.bytes+bytes
	s.warnings = slices.Concat(s.warnings, k.rules.Warnings(s.notes.Used), k.versions.Warnings(), k.patches.Warnings(), s.notes.Warnings())
	for i := range s.sets {
		x := &s.sets[i]
		if err := x.draft.Seal(); err != nil {
			return x.set.Failed(err)
		}
		for _, warning := range append([]string{x.hidden.Warning(), s.notes.MissingIn(x.set)}, x.draft.Warnings()...) {
			if warning != "" {
				s.warnings = append(s.warnings, x.set.Of(warning))
			}
		}
	}
	return nil
}

// close frees what the survey holds. Its stat cache is not kept unless it was finished.
func (s *surveyed) close() {
	s.linking.rules.Close()
	s.plan.Close()
	s.cache.Abandon()
	for i := range s.sets {
		s.sets[i].draft.Close()
	}
	s.area.Close()
}

// teller tells of each change once, in the order of URIs, also if a survey begins again.
type teller struct {
	tell func(policy.Change)
	uri  string // of the last one that was told
	set  int
}

func (t *teller) change(f *survey.Finding, m *survey.Member) {
	if f.URI < t.uri || f.URI == t.uri && m.Set.Number <= t.set {
		return
	}
	t.uri, t.set = f.URI, m.Set.Number
	t.tell(f.ChangeIn(m))
}
