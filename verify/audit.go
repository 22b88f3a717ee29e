package verify

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/wellspring-sync/wellspring/internal/httpclient"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// auditor is one audit.
type auditor struct {
	o        *Options
	place    place
	findings findings
	ledger   *ledger
	// alone is true if only one document is audited.
	alone bool
	// keepDigests is true if the digests of all documents are wanted, to compare
	// them with those of another copy.
	keepDigests bool

	older *auditor // of the older copy, or nil
	// silent is true for an older copy: nothing is judged in it.
	silent bool
	// firstID is that of the first document, which differs between copies that
	// share a ledger.
	firstID uint32

	climbed []string // the documents from which the walk climbed to the top

	meeting sync.Mutex // for docs, while documents are read

	docs map[string]*document
	all  []*document // in the order in which they were met
	sets []*set
	// packs are the packages of dumps, which sets may share.
	packs map[packageKey]*packageOf
	// compared are resources that were found to be what a set says of them, if there
	// are several sets.
	compared comparedResources

	entries, bytes, bitstreams     atomic.Int64
	documents, packages, resources atomic.Int64
	unread, linked                 atomic.Int64
	progressing                    sync.Mutex
}

func newAuditor(p place, o *Options) *auditor {
	a := &auditor{o: o, place: p, docs: map[string]*document{}, keepDigests: o.Against != "", packs: map[packageKey]*packageOf{}}
	a.findings.most = o.Limits.Findings
	a.findings.reset()
	a.ledger = newLedger(o.Limits.Memory, o.Limits.Records)
	if w, ok := p.(*web); ok && len(w.base.RawQuery) > 3 {
		a.findings.secret = w.base.RawQuery
	}
	return a
}

func (a *auditor) close() {
	a.ledger.close()
	if a.older != nil {
		a.older.place.close()
	}
}

// counted counts bytes that were read, and tells how far the audit has come.
func (a *auditor) counted(n int64) {
	a.bytes.Add(n)
	if a.progressing.TryLock() {
		defer a.progressing.Unlock()
		a.o.Progress(Progress{
			Documents: int(a.documents.Load()), Packages: int(a.packages.Load()),
			Resources: int(a.resources.Load()), TotalBytes: a.bytes.Load(),
		})
	}
}

func (a *auditor) report() *Report {
	r := &Report{
		Place: httpclient.Redacted(a.place.name()), Documents: int(a.documents.Load()), Entries: int(a.entries.Load()),
		Packages: int(a.packages.Load()), Bitstreams: int(a.bitstreams.Load()),
		Resources: int(a.resources.Load()), Unread: int(a.unread.Load()), Linked: int(a.linked.Load()), Bytes: a.bytes.Load(),
	}
	a.findings.into(r)
	return r
}

// run audits the publication: its documents, then what they lead to.
func (a *auditor) run(ctx context.Context) error {
	begin, err := a.place.start(ctx)
	if err != nil {
		return err
	}
	a.alone = begin.alone
	top, err := a.top(ctx, begin.uri)
	if err != nil {
		return err
	}
	if a.alone {
		top.checkAlone()
		return nil
	}
	a.checkWellKnown(ctx, top)
	for _, step := range []func(context.Context) error{
		func(ctx context.Context) error { return a.walk(ctx, top) },
		func(ctx context.Context) error { return a.walkLost(ctx, top) },
		a.checkPackages, a.checkSets, a.checkOtherSources, a.readOlder, a.judgeAll, a.checkContent, a.checkLinked,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// checkSets looks at what could not be judged before all documents were read.
func (a *auditor) checkSets(context.Context) error {
	for _, s := range a.sets {
		s.checkDumps()
		s.checkNotification()
	}
	a.checkStrays()
	return nil
}

// top returns the document at the top of all those that lead to one: usually the
// Source Description.
func (a *auditor) top(ctx context.Context, uri string) (*document, error) {
	// Each step up is one of the levels of Z39.99-2017 §6.1, so there are few.
	const most = 6
	for range most {
		a.climbed = append(a.climbed, uri)
		d, err := a.first(ctx, uri)
		if err != nil || a.alone || !d.read {
			return d, err
		}
		up := d.upward(ctx)
		if up == nil || !resourcesync.IsURI(up.Href) || a.known(up.Href) != nil {
			return d, nil
		}
		if err := a.leads(ctx, up.Href); err != nil {
			if !errors.Is(err, errElsewhere) {
				d.report(documentMissing, up.spot, up.Href, "the document above, %s: %v", clip(up.Href), err)
			}
			return d, nil
		}
		a.reset()
		uri = up.Href
	}
	d, err := a.first(ctx, uri)
	return d, err
}

// upward returns the link to the document above, or nil. Above a Source Description
// there may be an Index.
func (d *document) upward(ctx context.Context) *link {
	if d.capability != resourcesync.Description {
		return d.head.link(resourcesync.RelUp)
	}
	if l := d.head.link(resourcesync.RelIndex); l != nil && !d.head.index && d.isListedBy(ctx, l.Href, resourcesync.Description) {
		return l
	}
	return nil
}

// walkLost goes down from documents that lead to the top, and to which nothing leads
// from there.
func (a *auditor) walkLost(ctx context.Context, top *document) error {
	for _, uri := range slices.Backward(a.climbed) {
		if a.known(uri) != nil {
			continue
		}
		d := a.meet(uri, found{})
		if err := d.load(ctx); err != nil {
			return err
		}
		d.report(sourceLists, spot{}, uri, "it leads up to %s, from which nothing leads down to it", top.uri)
		if err := a.walk(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// open opens a document, also one that was opened before.
func (a *auditor) open(ctx context.Context, uri string) (*file, error) {
	return a.place.open(ctx, uri, a.o.Limits.DocumentBytes+1)
}

// leads returns why a URI leads to nothing.
func (a *auditor) leads(ctx context.Context, uri string) error {
	f, err := a.open(ctx, uri)
	if err == nil {
		f.Close()
	}
	return err
}

// reset forgets what was read: it is read again from above, with what is known
// there.
func (a *auditor) reset() {
	a.docs, a.all = map[string]*document{}, nil
	a.findings.reset()
	a.entries.Store(0)
	a.bytes.Store(0)
	a.documents.Store(0)
}

// first reads a document of which nothing is known.
func (a *auditor) first(ctx context.Context, uri string) (*document, error) {
	d := a.meet(uri, found{})
	d.unrecorded = true
	return d, d.load(ctx)
}

// known returns the document of a URI, however it is written, or nil.
func (a *auditor) known(uri string) *document { return a.docs[normalURI(uri)] }

// meet returns a document that was not met before.
func (a *auditor) meet(uri string, f found) *document {
	d := &document{a: a, uri: strings.Clone(uri), order: len(a.all), found: f, id: a.firstID + uint32(len(a.all)), older: a.silent}
	a.meeting.Lock()
	a.docs[normalURI(d.uri)] = d
	a.meeting.Unlock()
	a.all = append(a.all, d)
	a.documents.Add(1)
	return d
}

// follow reads documents that others name, several at a time. Those that were
// read before are only compared with what is stated of them. Documents beyond the
// limit are nil.
func (a *auditor) follow(ctx context.Context, named []found, uris []string) ([]*document, error) {
	docs := make([]*document, len(uris))
	var fresh []*document
	var known []int
	for i, uri := range uris {
		if d := a.known(uri); d != nil {
			docs[i] = d
			known = append(known, i)
			continue
		}
		if len(a.all) >= a.o.Limits.Documents {
			named[i].by.report(auditLimit, named[i].child.spot, uri, "there are more than %d documents; the rest was not read", a.o.Limits.Documents)
			break
		}
		docs[i] = a.meet(uri, named[i])
		fresh = append(fresh, docs[i])
	}
	err := inParallel(ctx, a.o.Jobs, fresh, func(ctx context.Context, d *document) error { return d.load(ctx) })
	if err != nil {
		return nil, err
	}
	for _, i := range known {
		if err := docs[i].again(named[i]); err != nil {
			return nil, err
		}
	}
	return docs, nil
}

// inParallel does something for each item, several at a time.
func inParallel[T any](ctx context.Context, jobs int, items []T, do func(context.Context, T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan T)
	var all sync.WaitGroup
	for range min(jobs, len(items)) {
		all.Go(func() {
			for item := range work {
				if ctx.Err() == nil {
					if err := do(ctx, item); err != nil {
						cancel(err)
					}
				}
			}
		})
	}
	for _, item := range items {
		work <- item
	}
	close(work)
	all.Wait()
	return context.Cause(ctx)
}
