package verify

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wellspring-sync/wellspring/internal/httpclient"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// resource is one that is to be compared with what is stated of it.
type resource struct {
	uri  string
	md   resourcesync.Metadata
	doc  *document
	at   spot
	full bool // its bytes are wanted, where that is a choice
	// was is what the Resource List says, where a change that may be a part of it
	// says something else. It may be nil.
	was *resourcesync.Metadata
	// link leads to it, if it is not listed itself.
	link *linkOf
	bare bool // only whether it is there is asked
}

// actual is what a resource turned out to be.
type actual struct {
	length int64 // or -1, if that is not known
	sums   map[string]string
	answer *answer
	// modified is when the resource was last modified, or zero.
	modified time.Time
	read     int64 // how many bytes were read
}

// resourceReader reads resources, for one goroutine.
type resourceReader interface {
	read(ctx context.Context, r *resource) (actual, error)
	// text returns the first bytes of what a link leads to.
	text(ctx context.Context, uri string, most int64) ([]byte, error)
	close()
}

// checkContent compares the resources that are listed with what is stated of them.
func (a *auditor) checkContent(ctx context.Context) error {
	if a.o.Depth < Content {
		return nil
	}
	for _, s := range a.sets {
		c := &contentCheck{a: a, set: s, about: s.list}
		for _, snap := range s.snapshots {
			if snap.live && !isDump(snap.doc.capability) {
				c.snap, c.about = snap, snap.doc
				c.at = snap.doc.head.md.At
			}
		}
		if err := c.changesSince(ctx); err != nil {
			return err
		}
		if err := c.run(ctx); err != nil {
			return err
		}
	}
	return nil
}

// contentCheck compares the resources of one Resource List.
type contentCheck struct {
	a     *auditor
	set   *set
	snap  *snapshotOf // the Resource List, or nil if there is none
	about *document   // to which findings about all of them belong
	at    time.Time   // of the Resource List
	// later is what became of resources since the Resource List.
	later map[string]*laterState
	// followed is true if an open Change List says what changes.
	followed bool
	sample   sample

	found  atomic.Int64 // resources that were there
	mu     sync.Mutex
	absent []lost
	more   int // that were absent and are not kept
	// nowhere is how many resources there are for which no directory is known, of which
	// this is the first.
	nowhere int
	first   *resource
}

type lost struct {
	*resource
	why string
}

// laterState is what a change says of a resource.
type laterState struct {
	resource
	listed bool // it is in the Resource List, too
}

// changesSince reads what changed after a Resource List was made, as far as Change
// Lists and Change Dumps tell, live or archived. A change without a time may have
// been later.
func (c *contentCheck) changesSince(ctx context.Context) error {
	const most = 1_000_000 // beyond which some are compared with what they were
	c.later = map[string]*laterState{}
	for _, d := range slices.Concat(c.set.changeManifests(), c.set.changesInOrder()) {
		until := d.head.md.Until
		c.followed = c.followed || d.capability == resourcesync.ChangeList && until.IsZero()
		if !until.IsZero() && until.Before(c.at) {
			continue
		}
		err := d.reread(ctx, func(e *entry) {
			if t := e.md.DateTime; t.IsZero() || e.md.coarse || !t.Before(c.at) {
				if len(c.later) < most {
					c.later[strings.Clone(e.loc)] = &laterState{resource: resource{uri: strings.Clone(e.loc), md: e.md.Metadata, doc: d, at: e.atLoc()}}
				}
			}
		})
		if err != nil {
			return fmt.Errorf("reading %s again: %w", clip(d.uri), err)
		}
	}
	return nil
}

// run reads the resources in the order in which they are listed, several at a time.
func (c *contentCheck) run(ctx context.Context) error {
	total := len(c.later)
	if c.snap != nil {
		for _, d := range c.snap.lists {
			total += d.entries
		}
	}
	c.sample = c.a.newSample(total)
	if err := c.a.eachResource(ctx, c.list, c.check); err != nil {
		return err
	}
	c.report()
	return nil
}

// list passes on the resources of a Resource List, as they should be by now, and
// those that only changes tell of.
func (c *contentCheck) list(ctx context.Context, pass func(resource)) error {
	add := func(r resource) {
		r.full = c.sample.next()
		pass(r)
	}
	if c.snap != nil {
		for _, d := range c.snap.lists {
			err := d.reread(ctx, func(e *entry) {
				r := resource{uri: e.loc, md: e.md.Metadata, doc: d, at: e.atLoc()}
				if now := c.later[e.loc]; now != nil {
					now.listed = true
					if now.md.Change == resourcesync.Deleted {
						return
					}
					before := r.md
					r.was, r.md = &before, now.md
				}
				add(r)
			})
			if err != nil {
				return err
			}
		}
	}
	for _, uri := range slices.Sorted(maps.Keys(c.later)) {
		if now := c.later[uri]; !now.listed && now.md.Change != resourcesync.Deleted {
			add(now.resource)
		}
	}
	return nil
}

// check reads one resource and compares it.
func (c *contentCheck) check(ctx context.Context, reader resourceReader, r *resource) error {
	if r.uri == "" || !resourcesync.IsURI(r.uri) {
		return nil
	}
	shared := len(c.a.sets) > 1
	if shared && c.a.compared.has(r) {
		c.found.Add(1)
		return nil
	}
	got, err := reader.read(ctx, r)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if isOurs(err) {
		return err
	}
	if err != nil {
		c.missing(r, err)
		return nil
	}
	c.found.Add(1)
	c.a.resources.Add(1)
	c.a.counted(got.read)
	if c.compare(r, &got) && shared {
		c.a.compared.add(r)
	}
	if got.answer != nil {
		r.checkAnswer(c.set, got.answer)
	}
	return nil
}

// compare compares a resource with what is stated of it, and returns whether it is
// just that.
func (c *contentCheck) compare(r *resource, got *actual) bool {
	differs := func(stated resourcesync.Metadata) string {
		if got.length < 0 {
			stated.HasLength = false
		}
		return mismatch(stated, got.length, got.sums)
	}
	what := differs(r.md)
	switch {
	case what == "" || r.was != nil && differs(*r.was) == "":
	case c.mayHaveChanged(got.modified):
		r.doc.report(resourceChanged, r.at, r.uri, "%s: %s; it was modified since the list was made", clip(r.uri), what)
	default:
		r.doc.report(resourceDigest, r.at, r.uri, "%s: %s", clip(r.uri), what)
	}
	return what == ""
}

// mayHaveChanged reports whether a resource that was modified at some time may be
// another one than a Resource List says, without anything being wrong: a list that
// no open Change List follows says only what was.
func (c *contentCheck) mayHaveChanged(modified time.Time) bool {
	return !c.followed && (modified.IsZero() || modified.After(c.at))
}

// missing remembers a resource that could not be had.
func (c *contentCheck) missing(r *resource, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	status, isStatus := errors.AsType[*httpclient.Error](err)
	switch {
	case errors.Is(err, errElsewhere):
		if c.nowhere++; c.first == nil {
			copied := *r
			c.first = &copied
		}
	case isStatus:
		r.doc.report(httpStatus, r.at, r.uri, "%s: %v", clip(r.uri), status)
	case len(c.absent) < c.a.o.Limits.Findings:
		copied := *r
		copied.uri = strings.Clone(r.uri)
		c.absent = append(c.absent, lost{&copied, err.Error()})
	default:
		c.more++
	}
}

// report reports the resources that were missing. If none of them is in the
// publication's own directory, they are elsewhere, and nobody said where.
func (c *contentCheck) report() {
	a := c.a
	if c.found.Load() == 0 && len(c.absent) > 0 && !a.place.isTold() {
		first := c.absent[0]
		c.set.elsewhere = true
		a.unread.Add(int64(len(c.absent) + c.more))
		elsewhere(c.about, len(c.absent)+c.more, first.uri)
		c.absent, c.more = nil, 0
	}
	if c.nowhere > 0 {
		c.set.elsewhere = true
		a.unread.Add(int64(c.nowhere))
		elsewhere(c.about, c.nowhere, c.first.uri)
	}
	slices.SortStableFunc(c.absent, func(x, y lost) int { return strings.Compare(x.uri, y.uri) })
	rule := resourceMissing
	if c.mayHaveChanged(time.Time{}) {
		rule = resourceChanged
	}
	for _, l := range c.absent {
		l.doc.report(rule, l.at, l.uri, "%s: %s", clip(l.uri), l.why)
	}
	for range c.more {
		a.findings.count(rule)
	}
}

func elsewhere(d *document, n int, uri string) {
	d.report(resourceElsewhere, spot{}, uri, "resources whose content was not compared, since it is not known where they lie: %d, such as %s", n, clip(uri))
}
