package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

// resource is one that is to be compared with what is stated of it.
type resource struct {
	uri  string
	md   resourcesync.Metadata
	doc  *document
	at   spot
	full bool // its bytes are wanted, where that is a choice
}

// actual is what a resource turned out to be.
type actual struct {
	length int64 // or -1, if that is not known
	sums   map[string]string
	answer *answer
}

// resourceReader reads resources, for one goroutine.
type resourceReader interface {
	read(ctx context.Context, r *resource) (actual, error)
	close()
}

// checkContent compares the resources that are listed with what is stated of them.
func (a *auditor) checkContent(ctx context.Context) error {
	if a.o.Depth < Content {
		return nil
	}
	for _, s := range a.sets {
		for _, snap := range s.snapshots {
			if !snap.live || isDump(snap.doc.capability) {
				continue
			}
			c := &contentCheck{a: a, set: s}
			if err := c.changesSince(ctx, snap.doc.head.md.At); err != nil {
				return err
			}
			if err := c.run(ctx, snap); err != nil {
				return err
			}
		}
	}
	return nil
}

// contentCheck compares the resources of one Resource List.
type contentCheck struct {
	a   *auditor
	set *set
	// later is what became of resources since the Resource List.
	later map[string]resourcesync.Metadata
	every int // which resources are read whole, where that is a choice
	n     int

	mu     sync.Mutex
	found  int // resources that were there
	absent []lost
	more   int // that were absent and are not kept
	nowhere
}

// nowhere are resources for which no directory is known.
type nowhere struct {
	n     int
	first *resource
}

type lost struct {
	*resource
	why string
}

// changesSince reads what changed after a Resource List was made, as far as the
// live Change Lists tell.
func (c *contentCheck) changesSince(ctx context.Context, at time.Time) error {
	const most = 1_000_000 // beyond which some are compared with what they were
	c.later = map[string]resourcesync.Metadata{}
	for _, d := range c.set.liveChanges {
		if until := d.head.md.Until; !until.IsZero() && !until.After(at) {
			continue
		}
		err := d.reread(ctx, func(e *entry) {
			if t := e.plainEntry().ChangeTime(); (t.IsZero() || t.After(at)) && len(c.later) < most {
				c.later[strings.Clone(e.loc)] = e.md.Metadata
			}
		})
		if err != nil {
			return fmt.Errorf("reading %s again: %w", clip(d.uri), err)
		}
	}
	return nil
}

// How many resources go from one goroutine to another together, and at most about
// how many bytes, so that all of them have work.
const (
	atOnce      = 64
	bytesAtOnce = 1 << 20
)

// run reads the resources of a Resource List in its order, several at a time.
func (c *contentCheck) run(ctx context.Context, snap *snapshotOf) error {
	total := 0
	for _, d := range snap.lists {
		total += d.entries
	}
	if c.a.o.Sample > 0 {
		c.every = max(total/c.a.o.Sample, 1)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan []resource, 4)
	var all sync.WaitGroup
	for range c.a.place.readersAtOnce(c.a.o.Jobs) {
		all.Go(func() {
			reader := c.a.place.reader()
			defer reader.close()
			for batch := range work {
				for i := range batch {
					if ctx.Err() == nil {
						if err := c.check(ctx, reader, &batch[i]); err != nil {
							cancel(err)
						}
					}
				}
			}
		})
	}
	err := c.list(ctx, snap, work)
	close(work)
	all.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	c.report(snap)
	return err
}

// list passes on the resources of a Resource List, as they should be by now.
func (c *contentCheck) list(ctx context.Context, snap *snapshotOf, work chan<- []resource) error {
	var batch []resource
	var bytes int64
	send := func() {
		if len(batch) > 0 {
			work <- batch
			batch, bytes = nil, 0
		}
	}
	for _, d := range snap.lists {
		err := d.reread(ctx, func(e *entry) {
			r := resource{uri: e.loc, md: e.md.Metadata, doc: d, at: e.atLoc()}
			if now, changed := c.later[e.loc]; changed {
				if now.Change == resourcesync.Deleted {
					return
				}
				r.md = now
			}
			c.n++
			r.full = c.a.o.All || c.every > 0 && c.n%c.every == 0 && c.n/c.every <= c.a.o.Sample
			if !r.md.HasLength {
				bytes += bytesAtOnce
			}
			bytes += min(r.md.Length, bytesAtOnce)
			if batch = append(batch, r); len(batch) == atOnce || bytes >= bytesAtOnce {
				send()
			}
		})
		if err != nil {
			return err
		}
	}
	send()
	return nil
}

// check reads one resource and compares it.
func (c *contentCheck) check(ctx context.Context, reader resourceReader, r *resource) error {
	if r.uri == "" || !isURI(r.uri) {
		return nil
	}
	got, err := reader.read(ctx, r)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		c.missing(r, err)
		return nil
	}
	c.mu.Lock()
	c.found++
	c.mu.Unlock()
	c.a.resources.Add(1)
	c.a.counted(max(got.length, 0))
	stated := r.md
	if got.length < 0 {
		stated.HasLength = false
	}
	if what := mismatch(stated, got.length, got.sums); what != "" {
		r.doc.report(resourceDigest, r.at, r.uri, "%s: %s", clip(r.uri), what)
	}
	if got.answer != nil {
		r.checkAnswer(c.set, got.answer)
	}
	return nil
}

// missing remembers a resource that could not be had.
func (c *contentCheck) missing(r *resource, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	status, isStatus := errors.AsType[*statusError](err)
	switch {
	case errors.Is(err, errElsewhere):
		if c.nowhere.n++; c.first == nil {
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
func (c *contentCheck) report(snap *snapshotOf) {
	a := c.a
	if c.found == 0 && len(c.absent) > 0 && !a.place.isTold() {
		first := c.absent[0]
		a.unread.Add(int64(len(c.absent) + c.more))
		elsewhere(snap.doc, len(c.absent)+c.more, first.uri)
		c.absent, c.more = nil, 0
	}
	if c.nowhere.n > 0 {
		a.unread.Add(int64(c.nowhere.n))
		elsewhere(snap.doc, c.nowhere.n, c.first.uri)
	}
	slices.SortStableFunc(c.absent, func(x, y lost) int { return strings.Compare(x.uri, y.uri) })
	for _, l := range c.absent {
		l.doc.report(resourceMissing, l.at, l.uri, "%s: %s", clip(l.uri), l.why)
	}
	for range c.more {
		a.findings.count(resourceMissing)
	}
}

func elsewhere(d *document, n int, uri string) {
	d.report(resourceElsewhere, spot{}, uri, "the content of %d resources, such as %s, was not compared: it is not known where they lie", n, clip(uri))
}
