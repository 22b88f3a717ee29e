package verify

import (
	"time"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

// stretch is the time that a list or a package of changes covers, and where that
// is said.
type stretch struct {
	from, until time.Time
	uri         string
	doc         *document
	at          spot
}

// checkAlone looks at intervals as far as the document itself says them.
func (d *document) checkAlone() {
	if d.form.leaf && !d.head.index {
		return
	}
	switch kind := archived(d.capability); {
	case kind != "" && d.form.entrySpan == interval:
		(&set{}).checkArchive(d.stretches(), kind)
	case d.capability == resourcesync.ChangeList, d.capability == resourcesync.ChangeDump && d.head.index:
		checkStretches(d.stretches(), orderLists)
		d.checkCover(d.stretches())
	case d.capability == resourcesync.ChangeDump:
		checkStretches(d.stretches(), orderPackages)
		d.checkCover(d.stretches())
	}
}

// checkDumps looks at the intervals of Change Dumps, once the manifests in their
// packages have been read, which may be what says them.
func (s *set) checkDumps() {
	for _, dump := range s.dumps {
		d := dump.doc
		if d.capability != resourcesync.ChangeDump {
			continue
		}
		if d.head.index {
			checkStretches(d.stretches(), orderLists)
			d.checkCover(ownStretches(dump.parts))
		}
		for _, part := range dump.parts {
			stretches := part.stretches()
			for i := range stretches {
				if p := s.byURI[stretches[i].uri]; p != nil && p.manifest != nil && p.manifest.read {
					stretches[i].complete(&p.manifest.head.md)
				}
			}
			checkStretches(stretches, orderPackages)
			part.checkCover(stretches)
		}
	}
}

// complete takes from a manifest what the dump does not say of a package.
func (s *stretch) complete(md *metadata) {
	if s.from.IsZero() {
		s.from = md.From
	}
	if s.until.IsZero() {
		s.until = md.Until
	}
}

// stretches returns what a document says of the times of what it names.
func (d *document) stretches() []stretch {
	var all []stretch
	for i := range d.children {
		c := &d.children[i]
		from, until := c.md.From, c.md.Until
		if c.md.coarse {
			from, until = time.Time{}, time.Time{}
		}
		// What the entry does not say, the document itself does.
		if named := d.a.known(c.uri); named != nil && named.read && !named.other {
			if from.IsZero() {
				from = named.head.md.From
			}
			if until.IsZero() && c.md.has&attrUntil == 0 {
				until = named.head.md.Until
			}
		}
		all = append(all, stretch{from, until, c.uri, d, c.spot})
	}
	return all
}

// ownStretches returns what documents say of their own times.
func ownStretches(docs []*document) []stretch {
	var all []stretch
	for _, d := range docs {
		all = append(all, stretch{d.head.md.From, d.head.md.Until, d.uri, d, d.head.md.spot})
	}
	return all
}

// checkStretches looks at the order of intervals, and at whether they join. order
// is the rule about the order.
func checkStretches(all []stretch, order *Rule) {
	var last *stretch
	for i := range all {
		s := &all[i]
		if s.from.IsZero() {
			last = nil // of which nothing is known, nor of what follows from it
			continue
		}
		if last != nil {
			joined(last, s, order)
		}
		last = s
	}
}

// joined looks at two intervals, one of which follows the other.
func joined(last, s *stretch, order *Rule) {
	from := resourcesync.FormatDateTime(s.from)
	switch {
	case s.from.Before(last.from):
		s.doc.report(order, s.at, from, "it begins at %s, before the one before it, which begins at %s", from, resourcesync.FormatDateTime(last.from))
	case last.until.IsZero():
		if last.doc.capability == resourcesync.ChangeDump && !last.doc.head.index {
			return // a package does not have to say until when
		}
		last.doc.report(intervalOpen, last.at, last.uri, "it has no until, though another one follows it")
	case s.from.After(last.until):
		s.doc.report(intervalJoin, s.at, from, "it begins at %s, but the one before it ends at %s", from, resourcesync.FormatDateTime(last.until))
	case s.from.Before(last.until):
		s.doc.report(intervalOverlap, s.at, from, "it begins at %s, before the one before it ends, which is at %s", from, resourcesync.FormatDateTime(last.until))
	}
}

// checkCover compares the interval of an Index, or of a Change Dump, with those of
// what it names.
func (d *document) checkCover(parts []stretch) {
	if len(parts) == 0 {
		return
	}
	md := &d.head.md
	first, last := parts[0], parts[len(parts)-1]
	for _, p := range parts { // which may not be in order
		if !p.from.IsZero() && p.from.Before(first.from) {
			first = p
		}
		if !last.until.IsZero() && (p.until.IsZero() || p.until.After(last.until)) {
			last = p
		}
	}
	if !md.From.IsZero() && !first.from.IsZero() && first.from.After(md.From) {
		d.report(intervalCover, md.spot, resourcesync.FormatDateTime(md.From), "from is %s, but the first one begins at %s",
			resourcesync.FormatDateTime(md.From), resourcesync.FormatDateTime(first.from))
	}
	if !md.Until.IsZero() && !last.until.IsZero() && last.until.Before(md.Until) {
		d.report(intervalCover, md.spot, resourcesync.FormatDateTime(md.Until), "until is %s, but the last one ends at %s",
			resourcesync.FormatDateTime(md.Until), resourcesync.FormatDateTime(last.until))
	}
	if !md.Until.IsZero() && last.until.IsZero() && d.head.index {
		d.report(intervalCover, md.spot, resourcesync.FormatDateTime(md.Until), "until is %s, but the last one is open", resourcesync.FormatDateTime(md.Until))
	}
}

// checkArchive looks at the order of archived lists or dumps of changes, and at
// gaps between them and what is live. Such a gap is no deviation, but good to know.
func (s *set) checkArchive(archived []stretch, kind resourcesync.Capability) {
	all := archived
	if live := s.live[kind]; live != nil && live.read && !live.head.md.From.IsZero() {
		all = append(all, stretch{from: live.head.md.From, until: live.head.md.Until, uri: live.uri})
	}
	for i := range all {
		if i == 0 || all[i].from.IsZero() || all[i-1].from.IsZero() {
			continue
		}
		last, next := &all[i-1], &all[i]
		at := next
		if next.doc == nil { // which is what is live
			at = last
		}
		switch {
		case next.doc != nil && next.from.Before(last.until):
			joined(last, next, orderPackages)
		case !last.until.IsZero() && next.from.After(last.until):
			at.doc.report(archiveGap, at.at, last.uri, "what is archived ends at %s, and what follows begins at %s",
				resourcesync.FormatDateTime(last.until), resourcesync.FormatDateTime(next.from))
		}
	}
}
