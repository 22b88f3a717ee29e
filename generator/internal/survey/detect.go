package survey

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/internal/stage"
	"github.com/wellspring-sync/wellspring/hashing"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/scanner"
	"github.com/wellspring-sync/wellspring/zipdump"
)

// racy is how long after its last modification a file can be modified again
// without a change of its modification second, with the coarsest clocks.
const racy = 2 * time.Second

// Detector finds out what changed. Its methods are the steps of one stream.
type Detector struct {
	o        *Options
	source   *Source
	pub      *last.Publication
	at       time.Time // of this run, to the second
	began    time.Time // by the wall, less a second: older files are settled
	wall     func() time.Time
	cache    *cacheReader
	reserved *last.Reserved
	contents *contents // nil if nothing is packed
	index    setIndex
	judge    *judge
	// Notes are complete once all findings are out.
	Notes *Notes
}

// Memory is where a survey keeps what does not fit into memory, and what it remembers.
type Memory struct {
	// Area is where bitstreams are packed; it is nil in a dry run, which packs nothing.
	Area *stage.Area
	// Policy is how they are compressed.
	Policy zipdump.Policy
	// Cache is the file of the stat cache, or empty, and Next the one that is written,
	// or nil.
	Cache string
	Next  *CacheWriter
}

// NewDetector returns a detector for a run of the time at.
func NewDetector(ctx context.Context, source *Source, pub *last.Publication, at time.Time, o *Options, m Memory) *Detector {
	notes := newNotes(pub.Sets, o)
	d := &Detector{
		o: o, source: source, pub: pub, at: at, began: time.Now().Add(-time.Second), wall: time.Now,
		cache: &cacheReader{}, reserved: pub.Reserved(), contents: newContents(pub.Sets, o.Resources, &m), index: newSetIndex(pub.Sets),
		judge: &judge{o: o, at: at, next: m.Next, settled: at, lastMods: newLastMods(ctx, o.LastMod, source.Dir, at), notes: notes}, Notes: notes,
	}
	for _, set := range pub.Sets {
		if at := set.ListAt(); !at.IsZero() && at.Before(d.judge.settled) {
			d.judge.settled = at
		}
	}
	if m.Cache != "" {
		d.cache = openCache(m.Cache)
	}
	return d
}

// Findings joins the stages. Each arrow of the pipeline is a stream in the order of URIs.
// The iterator reuses each finding.
func (d *Detector) Findings(ctx context.Context) iter.Seq2[*Finding, error] {
	return func(yield func(*Finding, error) bool) {
		defer d.o.Meter.start(ctx, func(ctx context.Context) int64 { return d.source.count(ctx, d.o.Scan) })()
		defer d.cache.close()
		for f, err := range d.stream(ctx) {
			d.o.Meter.file()
			if err == nil {
				d.Notes.look(f)
			}
			if !yield(f, err) || err != nil {
				return
			}
		}
		d.Notes.finish(&d.judge.lastMods)
	}
}

func (d *Detector) stream(ctx context.Context) iter.Seq2[*Finding, error] {
	files := ahead(ctx, func(ctx context.Context) iter.Seq2[*scanner.File, error] {
		o := d.o.Scan
		o.LeftOut = d.Notes.leftOut
		return scanner.Scan(ctx, d.source.Tree, o)
	})
	pairs := snapshot.Merge(Before(ctx, d.pub.Sets), files, (*Prior).Loc, func(f *scanner.File) string { return f.URI })
	pool := hashing.Pool{
		Opener: d.source.Opener, Workers: d.o.Jobs, Progress: d.o.Meter.read, MaxWeight: int64(d.o.Jobs) * workerMemory,
	}
	return d.findings(ctx, hashing.Files(ctx, pool, d.candidates(pairs), d.job))
}

// candidates looks at each pair and decides whether the file has to be read. As
// no more than so many are on their way, they take turns in the same memory.
func (d *Detector) candidates(pairs iter.Seq2[snapshot.Pair[Prior, scanner.File], error]) iter.Seq2[*candidate, error] {
	return func(yield func(*candidate, error) bool) {
		turns := make([]candidate, hashing.Window+2)
		turn := 0
		for p, err := range pairs {
			if err == nil && p.After != nil {
				err = d.reserved.Check(p.After)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			c := &turns[turn]
			turn = (turn + 1) % len(turns)
			d.consider(p, c)
			if !yield(c, nil) {
				return
			}
		}
	}
}

// consider makes c the candidate of a pair, and decides whether the file has to be read.
func (d *Detector) consider(p snapshot.Pair[Prior, scanner.File], c *candidate) {
	*c = candidate{in: c.in[:0]}
	if p.After != nil {
		c.HasAfter, c.After = true, *p.After
	}
	d.assign(p.Before, c)
	if !c.isInAny() {
		if c.HasAfter {
			d.Notes.outside++
		}
		return
	}
	ahead, pack := d.aheadOfClock(c.After.ModTime), d.contents.mustPack(c)
	if !ahead && !pack && d.isSettled(c) && !d.mustSniff(c) {
		return
	}
	c.want = d.wanted(c)
	if known := d.cache.lookup(c.After.URI); !ahead && !d.o.Checksum &&
		known != nil && known.matches(&c.After) && known.has(c.want) && !d.contents.areNeeded(c, pack, known) {
		copied := *known
		c.known = &copied
		return
	}
	c.read = true
	c.content = d.contents.new(c, pack)
	if ahead {
		c.notBefore = c.After.ModTime.Truncate(time.Second).Add(time.Second)
	}
}

// wanted returns the digests that have to be known of a file: also those to compare with.
func (d *Detector) wanted(c *candidate) hashing.Set {
	want := d.o.Hash
	if d.o.Planned {
		want = want.With(stage.PlannedHashes)
	}
	for i := range c.in {
		if m := &c.in[i]; m.WasIn {
			want = want.With(hashing.Of(m.Before.Metadata.Hash))
		}
	}
	return want
}

// assign finds the sets that a resource is or was in.
func (d *Detector) assign(before *Prior, c *candidate) {
	var was []Published
	if before != nil {
		was = before.In
	}
	typeByName := ""
	if c.HasAfter && d.index.hasRules {
		typeByName = d.o.Resources.TypeByName(c.After.Path)
	}
	for _, set := range d.index.sets(c.After.Path, was) {
		isIn := c.HasAfter && set.Rules().Has(&c.After, typeByName, d.Notes.listed[set.Number])
		wasIn := len(was) > 0 && was[0].Set == set
		if !isIn && !wasIn {
			continue
		}
		c.in = append(c.in, Member{Set: set, IsIn: isIn, WasIn: wasIn})
		if wasIn {
			c.in[len(c.in)-1].Before = *was[0].Previous
			was = was[1:]
		}
	}
	for i := range c.in {
		if c.in[i].WasIn {
			c.Before = &c.in[i].Before
			return
		}
	}
}

// isSettled is the quick check: length and modification second are as they were
// published, and the file has not been touched since then.
func (d *Detector) isSettled(c *candidate) bool {
	if d.o.Checksum || c.Before == nil {
		return false
	}
	for i := range c.in {
		if m := &c.in[i]; m.WasIn && !d.settles(m, &c.After) {
			return false
		}
	}
	return true
}

func (d *Detector) settles(m *Member, now *scanner.File) bool {
	md := &m.Before.Metadata
	return md.HasLength && md.Length == now.Size && m.Before.LastModified.Unix() == now.ModTime.Unix() &&
		now.ModTime.Add(racy).Before(m.Set.ListAt()) && d.hasDigests(md.Hash)
}

// hasDigests reports whether the digests that are wanted are published. In most
// runs they are the very ones.
func (d *Detector) hasDigests(h resourcesync.Hash) bool {
	if len(d.o.Hash) == 1 {
		name, digest, _ := strings.Cut(string(h), ":")
		if name == string(d.o.Hash[0]) && !strings.ContainsAny(digest, " \t\n") {
			return true
		}
	}
	_, ok := d.o.Hash.Select(h)
	return ok
}

// mustSniff reports whether the media type of a file that is as it was has to be found
// out again, since it was that of what the file decoded to.
func (d *Detector) mustSniff(c *candidate) bool {
	return c.Before.Metadata.Encoding != "" && d.o.Resources.TypeByName(c.After.Path) == "" && d.o.Resources.EncodingOf(c.After.Path) < 0
}

// aheadOfClock reports whether the publication's time, which was given, is so far
// ahead of the real clock that the quick check of the next run would trust a file which
// can still be modified within the second that it will be published with.
func (d *Detector) aheadOfClock(modified time.Time) bool {
	if modified.Before(d.began) {
		return false
	}
	wall := d.wall()
	if modified.After(wall) || !modified.Truncate(time.Second).Add(time.Second).After(wall) {
		return false
	}
	return modified.Add(racy).Before(d.at.Add(time.Second)) // which no list of this run is later than
}

// job is what the pool asks of each candidate.
func (d *Detector) job(p **candidate) (hashing.Job, bool) {
	c := *p
	if !c.read {
		return hashing.Job{}, false
	}
	j := hashing.Job{Path: c.After.Real, Name: c.After.Path, Want: c.want, NotBefore: c.notBefore}
	if c.content != nil {
		j.Copy, j.Weight = c.content, min(c.After.Size, stage.ContentMemory)
	}
	return j, true
}

// findings makes up its mind about each resource. A file that vanished since it was
// listed was not there.
func (d *Detector) findings(ctx context.Context, results iter.Seq2[hashing.Result[*candidate], error]) iter.Seq2[*Finding, error] {
	return func(yield func(*Finding, error) bool) {
		for r, err := range results {
			var f *Finding
			if err == nil {
				f, err = d.finding(ctx, &r)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if f != nil && !yield(f, nil) {
				return
			}
		}
		if ctx.Err() != nil {
			yield(nil, context.Cause(ctx))
		}
	}
}

func (d *Detector) finding(ctx context.Context, r *hashing.Result[*candidate]) (*Finding, error) {
	c := r.Item
	switch {
	case !c.HasAfter:
		return c.gone("not there any more"), nil
	case !c.isInAny():
		return c.gone(leftSets), nil
	case r.Err != nil:
		c.content.Close()
		return d.unread(ctx, c, r.Err)
	case r.Read:
		f, err := d.judge.fromBytes(c, &cached{
			uri: c.After.URI, stat: scanner.StatOf(r.Fingerprint.State), began: r.Fingerprint.Began,
			hash: r.Fingerprint.Hash, typ: r.Fingerprint.Type,
		}, true)
		if c.content != nil && !c.content.dropped && f != nil {
			f.Content = c.content
		}
		return f, err
	case c.known != nil:
		return d.judge.fromBytes(c, c.known, false)
	}
	return d.judge.unchanged(c, "length and time"), nil
}

// unread deals with a file that could not be read. It is not deleted unless it
// is really gone.
func (d *Detector) unread(ctx context.Context, c *candidate, err error) (*Finding, error) {
	if errors.Is(err, fs.ErrNotExist) {
		if d.isGone(c) {
			d.o.Log.Info("vanished while the run was going on", "path", c.After.Path)
			return c.gone("vanished"), nil
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, fmt.Errorf("reading %q: %w", c.After.Path, last.Bare(err))
}

// isGone reports whether nothing is left of a file under its own name. Where
// directories or links were replaced meanwhile, another file may have it.
func (d *Detector) isGone(c *candidate) bool {
	if _, err := d.source.Tree.Lstat(c.After.Real); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if c.After.Real == c.After.Path {
		return true
	}
	_, err := d.source.Tree.Resolve(c.After.Path)
	return errors.Is(err, fs.ErrNotExist)
}
