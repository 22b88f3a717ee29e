package verify

import (
	"slices"
	"strings"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

// Relations from resources to others, in lower case. See Z39.99-2017 §14.
const (
	relDuplicate = "duplicate"
	relAlternate = "alternate"
	relCanonical = "canonical"
	relPatch     = "http://www.openarchives.org/rs/terms/patch"
	relDescribes = "describes"
	relProfile   = "profile"
	relMemento   = "memento"
	relTimegate  = "timegate"
	relTimemap   = "timemap"
	relVia       = "via"
)

// checkRelations looks at links from a resource to others, as far as they can be
// judged by the entry. See Z39.99-2017 §14.
func (d *document) checkRelations(e *entry) {
	var canonicals, mementos, originals int
	for i := range e.links {
		l := &e.links[i]
		d.linked |= linkedKindOf(l)
		rel := strings.ToLower(l.Rel)
		d.checkSelf(e, i, rel)
		switch rel {
		case relDuplicate:
			d.checkDuplicate(e, i)
		case relAlternate:
			if l.has&attrType == 0 {
				d.report(linkAlternate, e.atLink(i), l.Href, "the alternate representation has no type")
			}
		case relCanonical:
			d.onlyOne(&canonicals, linkCanonical, e, i)
		case relPatch:
			d.checkPatch(e, i)
		case relMemento:
			d.onlyOne(&mementos, linkMemento, e, i)
			d.checkMemento(e, i)
		case relTimegate:
			if l.has&^(attrRel|attrHref) != 0 {
				d.report(linkTimegate, e.atLink(i), l.Href, "the link to a TimeGate has other attributes than rel and href")
			}
		case relTimemap:
			if l.has&attrType == 0 {
				d.report(linkTimemap, e.atLink(i), l.Href, "the link to a TimeMap has no type")
			}
		case relVia:
			d.onlyOne(&originals, linkVia, e, i)
		}
	}
}

// onlyOne counts links with a relation that leads to one resource at most.
func (d *document) onlyOne(n *int, r *Rule, e *entry, i int) {
	if *n++; *n == 2 {
		d.report(r, e.atLink(i), e.links[i].Href, "there is more than one link with rel=%q", clip(strings.ToLower(e.links[i].Rel)))
	}
}

// checkSelf reports links that lead back to their own resource where that makes no
// sense. A version may be its own memento, and a page its own alternate.
func (d *document) checkSelf(e *entry, i int, rel string) {
	if e.links[i].Href != e.loc || e.loc == "" {
		return
	}
	switch rel {
	case relDuplicate, relPatch, resourcesync.RelDescribedBy, relDescribes, relProfile, relVia:
		d.report(linkSelf, e.atLink(i), e.loc, "the link with rel=%q leads to the resource itself", clip(e.links[i].Rel))
	}
}

func (d *document) checkDuplicate(e *entry, i int) {
	l := &e.links[i]
	if what := otherContent(&e.md, l); what != "" {
		d.report(linkDuplicate, e.atLink(i), l.Href, "the link states another %s than that of the resource, of which it says that it is a duplicate", what)
	} else if l.has&e.md.has&representation != 0 {
		d.report(linkDuplicate, e.atLink(i), l.Href, "the link says again what holds for the resource itself")
	}
}

// checkMemento looks at a link to the version that the entry tells of.
func (d *document) checkMemento(e *entry, i int) {
	l := &e.links[i]
	if what := otherContent(&e.md, l); what != "" {
		d.report(linkMementoContent, e.atLink(i), l.Href, "the memento has another %s than the resource", what)
	}
	if l.has&attrModified == 0 {
		d.report(linkMementoModified, e.atLink(i), l.Href, "the link to a memento does not say when that was modified")
	}
}

// otherContent says in which way the content that a link states is not that of the
// resource itself, or nothing. What only one of them states is not compared.
func otherContent(md *metadata, l *link) string {
	both := md.has & l.has
	switch {
	case both&attrHash != 0 && md.Hash != l.Hash && otherDigest(usable(md.Hash), usable(l.Hash)):
		return "hash"
	case md.HasLength && l.HasLength && md.Length != l.Length:
		return "length"
	case both&attrType != 0 && essence(md.Type) != essence(l.Type):
		return "type"
	}
	return ""
}

// otherDigest reports whether two hashes have different digests of the same
// algorithm.
func otherDigest(x, y resourcesync.Hash) bool {
	for algorithm, digest := range x.All() {
		if other := y.Get(algorithm); other != "" && !strings.EqualFold(digest, other) {
			return true
		}
	}
	return false
}

func (d *document) checkPatch(e *entry, i int) {
	l := &e.links[i]
	report := func(r *Rule, format string, args ...any) { d.report(r, e.atLink(i), l.Href, format, args...) }
	if l.has&attrType == 0 {
		report(linkPatch, "the patch has no type")
	} else if slices.Contains(noPatches, essence(l.Type)) {
		report(linkPatch, "the type of the patch is %s, which does not say how to apply it", clip(essence(l.Type)))
	}
	switch {
	case !d.form.changes:
		report(linkPatch, "a patch has no meaning outside of changes")
	case d.form.manifest && l.has&attrPath == 0:
		report(linkPatch, "the patch has no path in the package")
	}
	if c := e.md.Change; c == resourcesync.Created || c == resourcesync.Deleted {
		report(linkPatchChange, "the resource was %s, so there is nothing to patch", c)
	}
}

// noPatches are media types that everything has for which there is no better one.
var noPatches = []string{
	"application/octet-stream", "binary/octet-stream", "text/plain", "application/json", "application/xml", "text/xml",
}
