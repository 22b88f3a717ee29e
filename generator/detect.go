package generator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/hashing"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/scanner"
)

// racy is how long after its last modification a file can be modified again
// without a change of its modification second, with the coarsest clocks.
const racy = 2 * time.Second

// candidate is a resource before, now, or both, with what can be said of it
// without reading the file.
type candidate struct {
	After    scanner.File
	HasAfter bool
	// in are the sets that it is or was in, and Before what one of these says of
	// it, or nil. They say the same, unless somebody else changed the publication.
	in        []member
	Before    *snapshot.Previous
	read      bool
	want      hashing.Set
	notBefore time.Time
	known     *cached // what the cache says instead
	content   *content
}

// member is a resource in a set that it is or was in.
type member struct {
	set *resourceSet
	// before is what was published, if wasIn is true.
	before snapshot.Previous
	wasIn  bool
	// isIn says that the resource is in the set now, as far as is known before
	// its media type is.
	isIn   bool
	change resourcesync.ChangeType // once it is known
}

// finding is a resource that the run has made up its mind about.
type finding struct {
	Change
	// entry is what the Resource List says of it from now on; for a deleted
	// resource, just its URI.
	entry resourcesync.Entry
	// before is what was published of it in the set that looks at it, if its bytes
	// are as they were.
	before *snapshot.Previous
	size   int64
	read   bool
	// digests are all that are known of the bytes, if they are new or changed.
	digests resourcesync.Hash
	// content is what packages get, if it was read for them.
	content *content
	// patch describes how an updated resource has changed, if it is offered.
	patch *patched
	// point and encoded are for lists: where they are cut, and the entry as it is
	// written, unless all have it.
	point   layout.Point
	encoded []byte
	// in are the sets that it is or was in, each with what changed there: a
	// resource may come into one and leave another.
	in []member
}

// detector finds out what changed. Its methods are the steps of one stream.
type detector struct {
	o     *Options
	at    time.Time // of this run, in whole seconds
	wall  func() time.Time
	began time.Time // by the wall, less a second: older files are settled
	cache *cacheReader
	// remember is told of each file that the next run could not settle by its
	// times, and what is known of it.
	remember func(*cached)
	// next is from when on a file counts as unsettled for the next run.
	next time.Time
	// outside counts files that are in no set, of which some had to be read to know
	// that.
	outside, readOutside int
	readBytesOutside     int64
	// clamped counts modification times in the future, or out of range.
	clamped      int
	firstClamped string
	modified     modified // when what is new or changed was
	lastMods     lastMods
	reserve      reserved
	tree         scanner.Tree
	contents     *contents
	index        setIndex
	result       finding // the last one, whose memory is used again
}

// candidates looks at each pair and decides whether the file has to be read. As
// no more than so many are on their way, they take turns in the same memory.
func (d *detector) candidates(pairs iter.Seq2[snapshot.Pair[prior, scanner.File], error]) iter.Seq2[*candidate, error] {
	return func(yield func(*candidate, error) bool) {
		turns := make([]candidate, hashing.Window+2)
		turn := 0
		for p, err := range pairs {
			if err == nil && p.After != nil {
				err = d.reserve.check(p.After)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			c := &turns[turn]
			turn = (turn + 1) % len(turns)
			d.look(p, c)
			if !yield(c, nil) {
				return
			}
		}
	}
}

// look makes c the candidate of a pair.
func (d *detector) look(p snapshot.Pair[prior, scanner.File], c *candidate) {
	*c = candidate{in: c.in[:0]}
	if p.After != nil {
		c.HasAfter, c.After = true, *p.After
	}
	d.assign(p.Before, c)
	if !c.isInAny() {
		if c.HasAfter {
			d.outside++
		}
		return
	}
	ahead, pack := d.aheadOfClock(c.After.ModTime), d.mustPack(c)
	if !ahead && !pack && d.isSettled(c) && !d.mustSniff(c) {
		return
	}
	c.want = d.o.Hash
	if d.o.Plan != "" {
		c.want = c.want.With(plannedHashes)
	}
	for i := range c.in {
		if m := &c.in[i]; m.wasIn {
			c.want = c.want.With(hashing.Of(m.before.Metadata.Hash))
		}
	}
	if known := d.cache.lookup(c.After.URI); !ahead && !d.o.Checksum &&
		known != nil && known.matches(&c.After) && known.has(c.want) && !d.needsContent(c, pack, known) {
		copied := *known
		c.known = &copied
		return
	}
	c.read = true
	c.content = d.newContent(c, pack)
	if ahead {
		c.notBefore = c.After.ModTime.Truncate(time.Second).Add(time.Second)
	}
}

// assign finds the sets that a resource is or was in.
func (d *detector) assign(before *prior, c *candidate) {
	var was []published
	if before != nil {
		was = before.in
	}
	typeByName := ""
	if c.HasAfter && d.index.hasRules {
		typeByName = d.o.typeByName(c.After.Path)
	}
	for _, set := range d.index.sets(c.After.Path, was) {
		isIn := c.HasAfter && (set.rules == nil || set.rules.has(&c.After, typeByName))
		wasIn := len(was) > 0 && was[0].set == set
		if !isIn && !wasIn {
			continue
		}
		c.in = append(c.in, member{set: set, isIn: isIn, wasIn: wasIn})
		if wasIn {
			c.in[len(c.in)-1].before = *was[0].Previous
			was = was[1:]
		}
	}
	for i := range c.in {
		if c.in[i].wasIn {
			c.Before = &c.in[i].before
			return
		}
	}
}

// isInAny reports whether a set has the resource now.
func (c *candidate) isInAny() bool {
	return slices.ContainsFunc(c.in, func(m member) bool { return m.isIn })
}

// mustPack reports whether a file has to be read, although it may be as it was, since
// no package of a set has it.
func (d *detector) mustPack(c *candidate) bool {
	return d.contents != nil && c.Before != nil && slices.ContainsFunc(c.in, func(m member) bool {
		if m.wasIn {
			return m.isIn && m.set.o.Dumps.Resource && (m.before.Package == nil || m.before.Package.Lost != nil)
		}
		return m.mayNeedContent() && m.set.rules.hasType(d.o.typeOf(c.After.Path, c.Before.Metadata.Type))
	})
}

// needsContent reports whether a file with digests that are known has to go into
// a package of any set.
func (d *detector) needsContent(c *candidate, pack bool, known *cached) bool {
	return d.contents != nil && (pack || slices.ContainsFunc(c.in, func(m member) bool {
		return m.needsContent(known, d.o.typeOf(c.After.Path, known.typ))
	}))
}

func (m *member) needsContent(known *cached, mediaType string) bool {
	dumps := &m.set.o.Dumps
	switch {
	case !m.isIn || !m.set.rules.hasType(mediaType):
		return false
	case !m.wasIn:
		return dumps.Resource || dumps.Change && !m.set.isFirst()
	}
	changed, _ := compare(&m.before.Metadata, known)
	return changed != "" && dumps.Any()
}

// newContent returns what takes the content of a file that is going to be read,
// or nil if no package can need it.
func (d *detector) newContent(c *candidate, pack bool) *content {
	if d.contents == nil || !slices.ContainsFunc(c.in, func(m member) bool { return m.mayNeedContent() }) {
		return nil
	}
	return d.contents.new(func(fp *hashing.Fingerprint) bool {
		return d.needsContent(c, pack, &cached{stat: scanner.Stat{Size: fp.Length}, hash: fp.Hash, typ: fp.Type})
	})
}

func (m *member) mayNeedContent() bool {
	return m.isIn && (m.set.o.Dumps.Resource || m.set.o.Dumps.Change && !m.set.isFirst())
}

// isSettled is the quick check: length and modification second are as they were
// published, and the file has not been touched since then.
func (d *detector) isSettled(c *candidate) bool {
	if d.o.Checksum || c.Before == nil {
		return false
	}
	for i := range c.in {
		if m := &c.in[i]; m.wasIn && !d.settles(m, &c.After) {
			return false
		}
	}
	return true
}

func (d *detector) settles(m *member, now *scanner.File) bool {
	md := &m.before.Metadata
	return md.HasLength && md.Length == now.Size && m.before.LastModified.Unix() == now.ModTime.Unix() &&
		now.ModTime.Add(racy).Before(m.set.listAt()) && d.hasDigests(md.Hash)
}

// hasDigests reports whether the digests that are wanted are published. In most
// runs they are the very ones.
func (d *detector) hasDigests(h resourcesync.Hash) bool {
	if len(d.o.Hash) == 1 {
		name, digest, _ := strings.Cut(string(h), ":")
		if name == string(d.o.Hash[0]) && !strings.ContainsAny(digest, " \t\n") {
			return true
		}
	}
	_, ok := d.o.Hash.Select(h)
	return ok
}

// aheadOfClock reports whether the publication's time, which was given, is so far
// ahead of the real clock that the quick check of the next run would trust a file which
// can still be modified within the second that it will be published with.
func (d *detector) aheadOfClock(modified time.Time) bool {
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
func (d *detector) job(p **candidate) (hashing.Job, bool) {
	c := *p
	if !c.read {
		return hashing.Job{}, false
	}
	j := hashing.Job{Path: c.After.Real, Name: c.After.Path, Want: c.want, NotBefore: c.notBefore}
	if c.content != nil {
		j.Copy, j.Weight = c.content, min(c.After.Size, contentMemory)
	}
	return j, true
}

// findings makes up its mind about each resource; a finding is valid until the
// next. A file that vanished since it was listed was not there.
func (d *detector) findings(ctx context.Context, results iter.Seq2[hashing.Result[*candidate], error]) iter.Seq2[*finding, error] {
	return func(yield func(*finding, error) bool) {
		for r, err := range results {
			var f *finding
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

func (d *detector) finding(ctx context.Context, r *hashing.Result[*candidate]) (*finding, error) {
	c := r.Item
	switch {
	case !c.HasAfter:
		return c.gone("not there any more"), nil
	case !c.isInAny():
		return c.gone(leftSets), nil
	case r.Err != nil:
		c.content.close()
		return d.unread(ctx, c, r.Err)
	case r.Read:
		f, err := d.fromBytes(c, &cached{
			uri: c.After.URI, stat: scanner.StatOf(r.Fingerprint.State), began: r.Fingerprint.Began,
			hash: r.Fingerprint.Hash, typ: r.Fingerprint.Type,
		}, true)
		if c.content != nil && !c.content.dropped && f != nil {
			f.content = c.content
		}
		return f, err
	case c.known != nil:
		return d.fromBytes(c, c.known, false)
	}
	return d.unchanged(c, "length and time"), nil
}

// leftSets is the reason for which a resource is deleted that is in no set any more,
// though it may be there.
const leftSets = "in no set any more"

// gone returns the finding that a resource is in no set any more, or nil if it was
// in none.
func (c *candidate) gone(reason string) *finding {
	in := slices.DeleteFunc(c.in, func(m member) bool { return !m.wasIn })
	if len(in) == 0 {
		return nil
	}
	for i := range in {
		in[i].change = resourcesync.Deleted
	}
	uri := in[0].before.Loc
	return &finding{
		Change: Change{Type: resourcesync.Deleted, Reason: reason, URI: uri},
		entry:  resourcesync.Entry{Loc: uri}, in: in,
	}
}

// decided completes a finding with what changes in each set, now that the media type
// is known, or returns nil if no set has or had the resource. What changed says is of
// those that had it and have it.
func (d *detector) decided(c *candidate, f *finding, changed func(*member) resourcesync.ChangeType) *finding {
	c.in = slices.DeleteFunc(c.in, func(m member) bool {
		return !m.wasIn && !m.set.rules.hasType(f.entry.Metadata.Type)
	})
	for i := range c.in {
		m := &c.in[i]
		switch {
		case !m.isIn || !m.set.rules.hasType(f.entry.Metadata.Type):
			m.isIn, m.change = false, resourcesync.Deleted
		case !m.wasIn:
			m.change = resourcesync.Created
		default:
			m.change = changed(m)
		}
	}
	switch f.in = c.in; {
	case len(c.in) == 0:
		d.outside++
		return nil
	case !c.isInAny():
		d.outside++
		return c.gone(leftSets)
	}
	return f
}

// unread deals with a file that could not be read. It is not deleted unless it
// is really gone.
func (d *detector) unread(ctx context.Context, c *candidate, err error) (*finding, error) {
	if errors.Is(err, fs.ErrNotExist) {
		if d.isGone(c) {
			d.o.Log.Info("vanished while the run was going on", "path", c.After.Path)
			return c.gone("vanished"), nil
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return nil, fmt.Errorf("reading %q: %w", c.After.Path, err)
}

// isGone reports whether nothing is left of a file under its own name. Where
// directories or links were replaced meanwhile, another file may have it.
func (d *detector) isGone(c *candidate) bool {
	if _, err := d.tree.Lstat(c.After.Real); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if c.After.Real == c.After.Path {
		return true
	}
	_, err := d.tree.Resolve(c.After.Path)
	return errors.Is(err, fs.ErrNotExist)
}

// unchanged keeps what was published, but for metadata that follows from other
// things than the bytes.
func (d *detector) unchanged(c *candidate, reason string) *finding {
	f := &d.result
	*f = finding{
		Change: Change{Reason: reason, Path: c.After.Path, URI: c.After.URI},
		entry: resourcesync.Entry{
			Loc:          c.After.URI,
			LastModified: c.Before.LastModified,
			Metadata:     resourcesync.Metadata{Hash: c.Before.Metadata.Hash, Type: c.Before.Metadata.Type},
		},
		size: c.After.Size,
	}
	f.entry.Metadata.SetLength(c.After.Size)
	f.entry.Metadata.Hash = d.publishedHash(c.Before.Metadata.Hash)
	if t := hashing.ByExtension(c.After.Path); t != "" {
		f.entry.Metadata.Type = t
	}
	d.o.setEncoding(f)
	return d.decided(c, f, func(*member) resourcesync.ChangeType { return "" })
}

// publishedHash returns the digests that are to be published out of those that
// are known.
func (d *detector) publishedHash(known resourcesync.Hash) resourcesync.Hash {
	if len(d.o.Hash) == 1 && strings.HasPrefix(string(known), string(d.o.Hash[0])+":") && !strings.ContainsRune(string(known), ' ') {
		return known
	}
	h, _ := d.o.Hash.Select(known)
	return h
}

// fromBytes compares digests, which is what decides.
func (d *detector) fromBytes(c *candidate, now *cached, read bool) (*finding, error) {
	f := &d.result
	*f = finding{
		Change: Change{Type: resourcesync.Created, Reason: "new", Path: c.After.Path, URI: c.After.URI},
		size:   now.stat.Size,
		read:   read,

		digests: now.hash,
	}
	if c.Before != nil {
		f.Type, f.Reason = compare(&c.Before.Metadata, now)
	}
	modified := now.stat.ModTime
	if f.Type != "" {
		var err error
		if modified, err = d.lastMods.of(c.After.Path, modified); err != nil {
			return nil, err
		}
		d.modified.add(modified)
	}
	modified = d.lastModified(c.After.Path, modified)
	if !modified.Equal(now.stat.ModTime.Truncate(time.Second)) || !now.stat.ModTime.Add(racy).Before(d.next) ||
		c.Before != nil && !c.Before.LastModified.Equal(modified) {
		d.remember(now)
	}
	if f.Type == "" {
		modified = c.Before.LastModified
	}
	f.entry = resourcesync.Entry{Loc: c.After.URI, LastModified: modified}
	f.entry.Metadata.Hash = d.publishedHash(now.hash)
	f.entry.Metadata.SetLength(now.stat.Size)
	f.entry.Metadata.Type = now.typ
	d.o.setEncoding(f)
	decided := d.decided(c, f, func(m *member) resourcesync.ChangeType {
		change, _ := compare(&m.before.Metadata, now)
		return change
	})
	if decided == nil { // which nothing but the cache says the next time
		d.remember(now)
		if read {
			d.readOutside++
			d.readBytesOutside += now.stat.Size
		}
	}
	return decided, nil
}

// compare says whether the bytes are other than those that were published.
func compare(before *resourcesync.Metadata, now *cached) (resourcesync.ChangeType, string) {
	switch {
	case !before.HasLength || before.Length != now.stat.Size:
		return resourcesync.Updated, "length"
	case !hashing.Agree(before.Hash, now.hash):
		return resourcesync.Updated, "digest"
	}
	return "", "same bytes"
}

// lastModified is a file's own modification time, as it is published: in whole
// seconds, not in the future, and within the years that can be written.
func (d *detector) lastModified(path string, t time.Time) time.Time {
	t = t.UTC().Truncate(time.Second)
	switch {
	case t.After(d.at), t.Year() > d.at.Year(): // the latest times overflow when they are compared
		d.clamp(path)
		return d.at
	case t.Year() < 0:
		d.clamp(path)
		return time.Time{}
	}
	return t
}

func (d *detector) clamp(path string) {
	if d.clamped++; d.clamped == 1 {
		d.firstClamped = path
	}
}

// sameAs reports whether an entry that was published is as a finding would have it, and
// written as we write it.
func (f *finding) sameAs(b *snapshot.Previous) bool {
	return b.Position.Canonical && f.sameBitstreamAs(b) && b.ChangeFreq == f.entry.ChangeFreq && slices.Equal(b.Links, f.entry.Links)
}

// sameBitstreamAs reports whether a finding leaves as it is what manifests say of a
// resource, which is without its links.
func (f *finding) sameBitstreamAs(b *snapshot.Previous) bool {
	return b.LastModified.Equal(f.entry.LastModified) && b.Metadata == f.entry.Metadata
}

// reserved are the URIs of the publication, which no resource may have.
type reserved struct {
	description string // that of the Source Description, wherever the folder is
	exact       map[string]bool
	prefixes    []string
}

func (r *reserved) check(f *scanner.File) error {
	taken := f.URI == r.description || r.exact[f.URI]
	for _, p := range r.prefixes {
		taken = taken || strings.HasPrefix(f.URI, p)
	}
	if !taken {
		return nil
	}
	wayOut := "leave it out with --exclude, or choose another --folder"
	if f.URI == r.description {
		wayOut = "leave it out with --exclude"
	}
	return &Refusal{Why: fmt.Sprintf("the file %q has the URI %s, which is one of the publication's own: %s", f.Path, f.URI, wayOut)}
}
