package verify

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

// judge decides about one resource after the other whether what all documents of
// the Source say of it fits together.
type judge struct {
	a     *auditor
	roles [][]role // of documents, by their id
	cases []*caseOf
	// accused are the findings whose URI and line have still to be read, by
	// document.
	accused map[uint32][]accusation
	told    map[*Rule]int
	older   []*document // of the older copy; their ids follow those of a.all

	present0 []*record // memory that is used again
}

// role is what a document is for in one set of resources.
type role struct {
	set       int
	kind      kindOfRole
	snapshots []int // of which it is a part
	order     int   // among its kind
}

type kindOfRole int

const (
	asSnapshot kindOfRole = iota // its entries are resources
	asChanges                    // its entries are changes that a Change List tells
	asDumped                     // its entries are changes that a Change Dump has
	asOlder                      // its entries are changes that an older copy told
)

// caseOf is what is to be judged of one set of resources.
type caseOf struct {
	snapshots []moment
	told      []segment // the times of which all changes are known
	dumped    []segment // the times of which all changes are in Change Dumps
	older     []segment // the times of which an older copy told all changes
}

// moment is a snapshot: it shows each resource as it was at some time between two.
type moment struct {
	lo, hi  int64 // hi may be forever
	dump    bool
	missing bool
	live    bool
	title   string
}

// segment is a time without gaps.
type segment struct {
	from, until int64
	// sure is until when changes are told; what comes later may still be added.
	sure int64
}

const forever = math.MaxInt64

// covers reports whether all changes after one time and up to another are known.
func covers(segments []segment, after, upTo int64) bool {
	if after >= upTo {
		return true
	}
	return slices.ContainsFunc(segments, func(s segment) bool { return s.from <= after && upTo <= s.until })
}

// isSure reports whether changes up to a time are not just still to come.
func isSure(segments []segment, t int64) bool {
	for _, s := range segments {
		if s.from <= t && t <= s.until {
			return t <= s.sure
		}
	}
	return true
}

type accusation struct {
	rule  *Rule
	entry uint32
	text  string // %s stands for the URI
}

// judgeAll judges all resources of all sets.
func (a *auditor) judgeAll(ctx context.Context) error {
	j := &judge{a: a, roles: make([][]role, len(a.all)), accused: map[uint32][]accusation{}, told: map[*Rule]int{}}
	for i, s := range a.sets {
		j.prepare(i, s)
	}
	j.prepareOlder()
	if err := a.ledger.groups(ctx, j.resource); err != nil {
		return err
	}
	return j.name(ctx)
}

// prepare gives each document of a set its role.
func (j *judge) prepare(i int, s *set) {
	c := &caseOf{}
	j.cases = append(j.cases, c)
	slices.SortStableFunc(s.snapshots, func(x, y *snapshotOf) int {
		return cmp.Or(x.doc.head.md.At.Compare(y.doc.head.md.At),
			cmp.Compare(rank(x.doc), rank(y.doc)))
	})
	for _, snap := range s.snapshots {
		if snap.doc.head.md.At.IsZero() || snap.doc.head.md.coarse {
			continue
		}
		if len(c.snapshots) == j.a.o.Limits.Snapshots {
			snap.doc.report(auditLimit, spot{}, "", "there are more than %d Resource Lists and Resource Dumps; the others were not compared over time", j.a.o.Limits.Snapshots)
			break
		}
		lists, missing := snap.all()
		m := snap.moment(lists)
		m.missing = m.missing || missing
		c.snapshots = append(c.snapshots, m)
		for _, d := range lists {
			j.addToSnapshot(d, i, len(c.snapshots)-1)
		}
	}
	changes, dumps := s.changesInOrder(), s.changeManifests()
	kind := asDumped
	if len(changes) == 0 { // then the dumps alone tell of changes
		kind = asChanges
	}
	for n, d := range changes {
		if d.head.md.From.IsZero() || d.head.md.coarse {
			continue // its place among the others is not known
		}
		j.add(d, role{set: i, kind: asChanges, order: n})
		c.told = extend(c.told, d, true)
	}
	for n, d := range dumps {
		j.add(d, role{set: i, kind: kind, order: n})
		c.dumped = extend(c.dumped, d, false)
	}
	if len(changes) == 0 {
		c.told, c.dumped = c.dumped, nil
	}
}

func (j *judge) add(d *document, r role) { j.roles[d.id] = append(j.roles[d.id], r) }

// addToSnapshot makes a document a part of a snapshot, once.
func (j *judge) addToSnapshot(d *document, set, snapshot int) {
	for i := range j.roles[d.id] {
		if r := &j.roles[d.id][i]; r.set == set && r.kind == asSnapshot {
			if !slices.Contains(r.snapshots, snapshot) {
				r.snapshots = append(r.snapshots, snapshot)
			}
			return
		}
	}
	j.add(d, role{set: set, kind: asSnapshot, snapshots: []int{snapshot}})
}

// rank puts a Resource List before a Resource Dump of the same time.
func rank(d *document) int {
	if isDump(d.capability) {
		return 1
	}
	return 0
}

// extend adds the interval of a document to those without gaps. One without an end
// is open, if that can be, or else nothing.
func extend(all []segment, d *document, canBeOpen bool) []segment {
	from, until := d.head.md.From, d.head.md.Until
	if from.IsZero() || until.IsZero() && !canBeOpen || !d.whole || d.head.md.coarse {
		return all
	}
	s := segment{from: micro(from), until: forever, sure: micro(latest(from, d.state.last))}
	if !until.IsZero() {
		s.until = micro(until)
		s.sure = s.until
	}
	if n := len(all); n > 0 && s.from <= all[n-1].until && s.from >= all[n-1].from {
		if s.until > all[n-1].until {
			all[n-1].until, all[n-1].sure = s.until, s.sure
		}
		return all
	}
	return append(all, s)
}

// all returns the documents that list the resources of a snapshot.
func (s *snapshotOf) all() (lists []*document, missing bool) {
	lists = slices.Clip(s.lists)
	for _, p := range s.packs {
		if p.manifest == nil || !p.manifest.read {
			missing = true
			continue
		}
		missing = missing || !p.manifest.whole
		lists = append(lists, p.manifest)
	}
	return lists, missing
}

// moment returns when a snapshot was taken. It shows what was at some time since
// at, up to completed; without that, it is not known until when. Parts may have
// been taken later than the whole. See Z39.99-2017 §7, at and completed.
func (s *snapshotOf) moment(lists []*document) moment {
	md := s.doc.head.md
	m := moment{lo: micro(md.At), hi: micro(md.At), missing: s.missing, dump: isDump(s.doc.capability), live: s.live}
	m.title = titleOf(s.doc.capability, false) + " of " + resourcesync.FormatDateTime(md.At)
	m.extend(md.At, md.Completed, md.Completed)
	for _, d := range lists {
		if d.head.md.At.After(md.At) {
			m.extend(d.head.md.At, d.head.md.Completed, md.Completed)
		}
	}
	return m
}

// extend makes a moment last until something was completed, or if that is not said,
// until the whole was.
func (m *moment) extend(at, completed, whole time.Time) {
	switch {
	case !completed.IsZero():
		m.hi = max(m.hi, micro(completed))
	case !whole.IsZero():
		m.hi = max(m.hi, micro(at), micro(whole))
	default:
		m.hi = forever
	}
}

// changesInOrder returns the Change Lists, archived and live, each once.
func (s *set) changesInOrder() []*document {
	seen := map[*document]bool{}
	var all []*document
	for _, d := range slices.Concat(s.archivedChanges, s.liveChanges) {
		if !seen[d] {
			seen[d] = true
			all = append(all, d)
		}
	}
	slices.SortStableFunc(all, func(x, y *document) int { return x.head.md.From.Compare(y.head.md.From) })
	return all
}

// changeManifests returns the manifests of Change Dumps in the order of time.
func (s *set) changeManifests() []*document {
	var all []*document
	for _, p := range s.changePackages() {
		if d := p.manifest; d.read && !slices.Contains(all, d) {
			all = append(all, d)
		}
	}
	return all
}

// resource judges one resource by all that is said of it.
func (j *judge) resource(records []record) {
	if own := countOwn(records); own > mostOfOne {
		j.accuse(auditLimit, &records[0], "%s: there are more than "+strconv.Itoa(mostOfOne)+" entries for this resource; they were not compared with each other")
		return
	}
	var one [1]int
	for _, set := range j.setsOf(records, one[:0]) {
		h := history{judge: j, c: j.cases[set]}
		var dumped, older []*event
		for i := range records {
			r := &records[i]
			for n := range j.roles[r.doc] {
				role := &j.roles[r.doc][n]
				if role.set != set {
					continue
				}
				switch role.kind {
				case asSnapshot:
					h.inSnapshots(listing{r, role.snapshots})
				case asChanges:
					h.events = append(h.events, &event{r, role.order})
				case asDumped:
					dumped = append(dumped, &event{r, role.order})
				case asOlder:
					older = append(older, &event{r, role.order})
				}
			}
		}
		j.inSet(&h, dumped, older)
	}
}

// countOwn returns how many records are not of links.
func countOwn(records []record) int {
	if len(records) <= mostOfOne {
		return len(records)
	}
	n := 0
	for i := range records {
		if !records[i].isLink() {
			n++
		}
	}
	return n
}

// setsOf returns the sets in which a resource is.
func (j *judge) setsOf(records []record, sets []int) []int {
	for i := range records {
		for _, role := range j.roles[records[i].doc] {
			if !slices.Contains(sets, role.set) {
				sets = append(sets, role.set)
			}
		}
	}
	return sets
}

// accuse remembers a finding until its URI is known.
func (j *judge) accuse(r *Rule, e *record, text string) {
	if j.told[r]++; j.told[r] > j.a.o.Limits.Findings {
		j.a.findings.count(r)
		return
	}
	j.accused[e.doc] = append(j.accused[e.doc], accusation{r, e.entry, text})
}

// name reads the entries that were accused, and reports them.
func (j *judge) name(ctx context.Context) error {
	for id, accused := range j.accused {
		d := j.document(id)
		byEntry := map[int][]accusation{}
		for _, x := range accused {
			byEntry[int(x.entry)] = append(byEntry[int(x.entry)], x)
		}
		err := d.reread(ctx, func(e *entry) {
			for _, x := range byEntry[e.n] {
				if d.older { // whose findings nobody sees
					j.reporterFor(id).report(x.rule, spot{}, e.loc, x.text, clip(e.loc))
					continue
				}
				d.report(x.rule, e.atLoc(), e.loc, x.text, clip(e.loc))
			}
		})
		if err != nil {
			return fmt.Errorf("reading %s again: %w", clip(d.uri), err)
		}
	}
	return nil
}

// reporterFor returns the document to which findings about one of an older copy
// belong: the live Change List, or else the Capability List.
func (j *judge) reporterFor(id uint32) *document {
	s := j.a.sets[j.roles[id][0].set]
	if d := s.live[resourcesync.ChangeList]; d != nil {
		return d
	}
	return s.list
}

func (j *judge) document(id uint32) *document {
	if int(id) < len(j.a.all) {
		return j.a.all[id]
	}
	return j.older[int(id)-len(j.a.all)]
}

// reread reads the entries of a document once more, without judging them.
func (d *document) reread(ctx context.Context, do func(*entry)) error {
	r := &reading{
		limits: &d.a.o.Limits,
		open:   d.open,
		onHead: func(*head) bool { return true },
		onEntry: func(e *entry) error {
			e.md.Hash = usable(e.md.Hash)
			do(e)
			return nil
		},
		report: func(*Rule, spot, string, string, ...any) {},
	}
	return r.run(ctx)
}

// open opens a document that was read before.
func (d *document) open() (io.ReadCloser, error) {
	if d.opener != nil {
		return d.opener()
	}
	return d.a.open(context.Background(), d.uri)
}
