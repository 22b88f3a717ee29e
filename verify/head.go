package verify

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

// checkHead looks at what a document says of itself, as far as that can be judged
// by the document and by how it was found.
func (d *document) checkHead() {
	h := &d.head
	d.checkCapability()
	f := d.form
	if h.index && d.capability == resourcesync.CapabilityList && !d.other {
		d.report(capabilityIndex, h.root, "sitemapindex", "the Capability List is a sitemapindex")
	} else if h.index && !f.indexed {
		if !d.other {
			d.report(rootElement, h.root, "sitemapindex", "a %s cannot be a sitemapindex", titleOf(d.capability, false))
		}
		h.index = false // as which it is judged and followed
	}
	d.checkTimes(&h.md, f.span, h.md.there)
	d.checkMetadata(&h.md, h.md.spot, timesOf[f.span]|attrCapability)
	for i := range h.links {
		d.checkLink(&h.links[i], func() spot { return h.links[i].spot })
	}
	if d.capability == resourcesync.Description || d.capability == resourcesync.CapabilityList {
		if !h.index && h.link(resourcesync.RelDescribedBy) == nil {
			d.report(linkDescribedBy, h.root, "", "there is no link with rel=\"describedby\" to a description of the %s",
				map[bool]string{true: "Source", false: "set of resources"}[d.capability == resourcesync.Description])
		}
	}
}

// checkCapability compares the capability with what was announced. A document that
// is of another one is not judged any further, since it is not known what it was
// meant to be, nor followed.
func (d *document) checkCapability() {
	got, want := d.head.md.Capability, d.found.capability
	_, known := forms[got]
	lower := resourcesync.Capability(strings.ToLower(string(got)))
	_, misspelt := forms[lower]
	d.capability = want
	switch {
	case got == "":
		d.report(capabilityMissing, d.head.root, "", "there is no rs:md element with a capability%s", expected(want))
	case !known && (misspelt || want != "" || d.found.by == nil):
		d.report(capabilityValue, d.head.md.spot, string(got), "the capability is %q%s", clip(string(got)), expected(want))
		d.capability = lower
	case want == "":
		d.capability = got
	case got != want:
		d.report(capabilityMismatch, d.head.md.spot, string(got), "the capability is %q%s", clip(string(got)), expected(want))
		d.capability = got
	}
	if want != "" && !known {
		d.capability = want
	}
	if d.other = want != "" && d.capability != want; !d.other {
		d.form = forms[d.capability]
	}
}

func expected(want resourcesync.Capability) string {
	if want == "" {
		return ""
	}
	return ", where " + string(want) + " is expected"
}

// timesOf are the times that documents say of themselves.
var timesOf = map[span]attrs{snapshot: snapshotTimes, interval: intervalTimes}

// checkTimes looks at at and completed, or from and until. See Z39.99-2017
// Appendix A.
func (d *document) checkTimes(m *metadata, s span, required bool) {
	at := m.spot
	if !m.there {
		at = d.head.root
	}
	if required && s == snapshot && m.has&attrAt == 0 {
		d.report(timeRequired, at, "", "there is no at: the time of the snapshot is not said")
	}
	if required && s == interval && m.has&attrFrom == 0 && d.capability != notificationCapability {
		d.report(timeRequired, at, "", "there is no from: since when all changes are listed is not said")
	}
	for _, t := range []struct {
		name string
		time time.Time
	}{{"at", m.At}, {"completed", m.Completed}, {"from", m.From}, {"until", m.Until}} {
		d.checkFuture(t.name, t.time, at)
	}
	if m.coarse {
		return
	}
	if !m.At.IsZero() && !m.Completed.IsZero() && m.Completed.Before(m.At) {
		d.report(timeOrder, at, resourcesync.FormatDateTime(m.Completed), "completed is before at, which is %s", resourcesync.FormatDateTime(m.At))
	}
	if !m.From.IsZero() && !m.Until.IsZero() && m.Until.Before(m.From) {
		d.report(timeOrder, at, resourcesync.FormatDateTime(m.Until), "until is before from, which is %s", resourcesync.FormatDateTime(m.From))
	}
}

// checkFuture looks whether a time is yet to come, by more than clocks differ.
func (d *document) checkFuture(name string, t time.Time, at spot) {
	if t.After(d.a.o.Now.Add(24 * time.Hour)) {
		d.report(timeFuture, at, resourcesync.FormatDateTime(t), "%s is %s, which is yet to come", name, resourcesync.FormatDateTime(t))
	}
}

// checkMetadata looks at which attributes there are, and at the form of those
// that describe a representation.
func (d *document) checkMetadata(m *metadata, at spot, allowed attrs) {
	if odd := m.has &^ allowed; odd != 0 && d.form != (form{}) {
		for _, name := range attrOrder {
			if which := attrNames[name]; odd&which&allTimes != 0 {
				d.report(timeAttribute, at, name, "%s has no meaning here", name)
			} else if odd&which != 0 {
				d.report(attributePlace, at, name, "%s has no meaning here", name)
			}
		}
	}
	d.checkRepresentation(m.has, m.Hash, m.Type, at)
}

// attrOrder makes reports come in the same order always.
var attrOrder = slices.Sorted(maps.Keys(attrNames))

func (d *document) checkRepresentation(has attrs, hash resourcesync.Hash, typ string, at spot) {
	if has&attrHash != 0 {
		d.checkHash(hash, at)
	}
	if has&attrType != 0 && !resourcesync.IsMediaType(typ) {
		d.report(typeForm, at, typ, "type is %q, not a media type", clip(typ))
	}
}

// usable returns a hash that has the right form, or nothing, since nothing can be
// compared with another one.
func usable(h resourcesync.Hash) resourcesync.Hash {
	if h != "" && h.Check() != nil {
		return ""
	}
	return h
}

func (d *document) checkHash(hash resourcesync.Hash, at spot) {
	if err := hash.Check(); err != nil {
		d.report(hashForm, at, string(hash), "%s", clip(err.Error()))
		return
	}
	for algorithm := range hash.All() {
		if !isKnownAlgorithm(algorithm) {
			d.report(hashAlgorithm, at, algorithm, "the algorithm %s is not known", clip(algorithm))
		}
	}
}

// checkLink looks at one link by itself.
func (d *document) checkLink(l *link, at func() spot) {
	switch {
	case l.has&attrHref == 0:
		d.report(linkHref, at(), "", "the link has no href")
	case !resourcesync.IsURI(l.Href):
		d.report(linkHref, at(), l.Href, "href is %q, not an absolute URI", clip(l.Href))
	}
	switch {
	case l.has&attrRel == 0:
		d.report(linkRel, at(), "", "the link has no rel")
	case !resourcesync.IsRelation(l.Rel):
		d.report(linkRel, at(), l.Rel, "rel is %q, neither registered nor a URI", clip(l.Rel))
	}
	if l.Pri < 0 || l.Pri > 999_999 {
		d.report(priRange, at(), "", "pri is %d, not a number from 1 to 999,999", l.Pri)
	}
	if l.has&attrPath != 0 && d.form != (form{}) && !d.form.manifest {
		d.report(attributePlace, at(), "path", "path has no meaning here")
	}
	if l.has&(attrHash|attrType) != 0 {
		d.checkRepresentation(l.has, l.Hash, l.Type, at())
	}
}
