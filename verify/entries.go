package verify

import (
	"slices"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

// entryState is what the checks of entries remember from one to the next.
type entryState struct {
	host       string // of the document
	otherHosts map[string]bool
	last       time.Time // of the changes so far
}

// checkEntry looks at an entry by itself, and at its order.
func (d *document) checkEntry(e *entry) {
	d.checkLoc(e)
	if e.changeFreq != "" && !slices.Contains(changeFrequencies, e.changeFreq) {
		d.report(changefreqValue, e.atFreq(), e.changeFreq, "changefreq is %q", clip(e.changeFreq))
	}
	allowed := d.form.entry
	if d.head.index {
		allowed = d.form.index
	}
	// Where something is said is only worked out if there is something to say.
	if e.md.has&^allowed != 0 || e.md.has&(attrHash|attrType) != 0 && !d.plainRepresentation(e) {
		d.checkMetadata(&e.md, e.atMetadata(), allowed)
		e.md.Hash = usable(e.md.Hash)
	}
	for i := range e.links {
		d.checkLink(&e.links[i], func() spot { return e.atLink(i) })
	}
	if d.form.leaf && !d.head.index {
		d.checkRelations(e)
	}
	switch {
	case d.other:
	case d.head.index || !d.form.leaf:
		d.checkNaming(e)
	case d.form.changes:
		d.checkChange(e)
	}
	if d.form.manifest {
		d.checkPath(e)
		d.checkLinkPaths(e)
	}
}

// plainRepresentation reports whether hash and type are such as most are, and
// have nothing wrong with them.
func (d *document) plainRepresentation(e *entry) bool {
	digest, ok := strings.CutPrefix(string(e.md.Hash), "sha-256:")
	if e.md.has&attrHash != 0 {
		if !ok || len(digest) != 64 {
			return false
		}
		for i := range len(digest) {
			if !isHex(digest[i]) {
				return false
			}
		}
	}
	return e.md.has&attrType == 0 || resourcesync.IsMediaType(e.md.Type)
}

func (d *document) checkLoc(e *entry) {
	switch {
	case e.loc == "":
		d.report(locMissing, e.spot, "", "the entry has no loc")
		return
	case !resourcesync.IsURI(e.loc):
		d.report(locURI, e.atLoc(), e.loc, "loc is %q, not an absolute URI", clip(e.loc))
		return
	case len(e.loc) >= 2048:
		d.report(locLength, e.atLoc(), e.loc, "the URI has %d characters", len(e.loc))
	}
	host := hostOf(e.loc)
	if d.state.host == "" || host == d.state.host || d.capability == notificationCapability {
		return
	}
	if host = strings.ToLower(host); host != d.state.host && !d.state.otherHosts[host] && len(d.state.otherHosts) < 20 {
		if d.state.otherHosts == nil {
			d.state.otherHosts = map[string]bool{}
		}
		d.state.otherHosts[strings.Clone(host)] = true
		d.report(authority, e.atLoc(), e.loc, "it is on %s, this document on %s (the first one of those on this host)", clip(host), d.state.host)
	}
}

// checkNaming looks at an entry that names a document or a package.
func (d *document) checkNaming(e *entry) {
	d.checkTimes(&e.md, d.form.entrySpan, false)
	if c := e.md.Capability; d.head.index && c != "" && c != d.capability {
		d.report(capabilityEntry, e.atMetadata(), string(c), "the entry has the capability %q, the Index %s", clip(string(c)), d.capability)
	}
	switch d.capability {
	case resourcesync.Description:
		if !d.head.index && findLink(e.links, resourcesync.RelDescribedBy) == nil {
			d.report(linkDescribedBy, e.atLoc(), e.loc, "there is no link with rel=\"describedby\" to a description of the set of resources")
		}
		if !d.head.index && e.md.there && e.md.Capability != resourcesync.CapabilityList {
			d.report(capabilityEntry, e.atMetadata(), string(e.md.Capability), "the entry has the capability %q, not capabilitylist", clip(string(e.md.Capability)))
		}
	case resourcesync.CapabilityList:
		if !d.head.index {
			d.checkCapabilityEntry(e)
		}
	case notificationCapability:
		d.checkNotificationEntry(e)
	case resourcesync.ChangeDump, resourcesync.ChangeList:
		if e.md.has&attrFrom == 0 {
			d.report(timeRecommended, e.atMetadata(), "", "the entry has no from")
		}
	}
}

func (d *document) checkCapabilityEntry(e *entry) {
	c := e.md.Capability
	if c == "" {
		d.report(capabilityEntry, e.atMetadata(), "", "the entry has no capability")
		return
	}
	if _, known := forms[c]; !known {
		if _, known := forms[resourcesync.Capability(strings.ToLower(string(c)))]; known {
			d.report(capabilityValue, e.atMetadata(), string(c), "the capability is %q; write it in lower case", clip(string(c)))
		}
		return
	}
	if c == resourcesync.Description || c == resourcesync.CapabilityList || forms[c].manifest {
		d.report(capabilityEntry, e.atMetadata(), string(c), "a %s has no place in a Capability List", titleOf(c, false))
	}
	if c != notificationCapability {
		return
	}
	switch hub := findLink(e.links, resourcesync.RelHub); {
	case hub == nil:
		d.report(hubLink, e.atMetadata(), "", "the entry has no link with rel=\"hub\"")
	case !isHub(hub.Href):
		d.report(hubLink, hub.spot, hub.Href, "the hub is %q, not a URL with http or https and no more than host, path and query", clip(hub.Href))
	}
}

// checkNotificationEntry looks at the entry of a notification. See Framework
// Notification 1.0 §2.1 and §3.
func (d *document) checkNotificationEntry(e *entry) {
	md := e.md
	if md.Change == "" || md.Capability == "" {
		d.report(notificationEntry, e.atMetadata(), "", "the entry has no %s", map[bool]string{true: "change", false: "capability"}[md.Change == ""])
		return
	}
	live := md.Capability
	if kind := archived(live); kind != "" {
		live = kind
	}
	ok := md.Change == resourcesync.Created
	switch live {
	case resourcesync.ResourceList, resourcesync.ChangeList, resourcesync.ChangeDump:
		ok = ok || md.Change == resourcesync.Updated
	case resourcesync.CapabilityList, resourcesync.Description:
		ok = ok || md.Change == resourcesync.Updated || md.Change == resourcesync.Deleted
	case resourcesync.ResourceDump:
		ok = ok || live != md.Capability && md.Change == resourcesync.Updated
	default:
		ok = false
	}
	if !ok {
		d.report(notificationEntry, e.atMetadata(), string(md.Change), "%q of capability %q is not a change that is defined", clip(string(md.Change)), clip(string(md.Capability)))
	}
}

// checkChange looks at an entry of a Change List or a Change Dump Manifest.
func (d *document) checkChange(e *entry) {
	switch e.md.Change {
	case resourcesync.Created, resourcesync.Updated, resourcesync.Deleted:
	case "":
		e.odd = true
		d.report(changeMissing, e.atMetadata(), "", "the entry does not say what happened")
	default:
		e.odd = true
		d.report(changeValue, e.atMetadata(), string(e.md.Change), "change is %q", clip(string(e.md.Change)))
	}
	t := e.md.DateTime
	if t.IsZero() {
		e.odd = e.odd || e.md.has&attrDateTime != 0
		if e.md.has&attrDateTime == 0 && e.lastModified.IsZero() {
			d.report(datetimeMissing, e.atMetadata(), "", "the change has no datetime")
		}
		return
	}
	if t.After(d.a.o.Now) {
		d.checkFuture("datetime", t, e.atMetadata())
	}
	if e.md.coarse || d.head.md.coarse {
		return
	}
	e.odd = !d.checkChronology(e, t) || e.odd
}

// checkChronology compares the time of a change with the interval of the list and
// with the changes before it.
func (d *document) checkChronology(e *entry, t time.Time) bool {
	md := &d.head.md
	switch {
	case !md.From.IsZero() && t.Before(md.From):
		d.report(datetimeInterval, e.atMetadata(), resourcesync.FormatDateTime(t), "the change is before from, which is %s", resourcesync.FormatDateTime(md.From))
	case !md.Until.IsZero() && t.After(md.Until):
		d.report(datetimeInterval, e.atMetadata(), resourcesync.FormatDateTime(t), "the change is after until, which is %s", resourcesync.FormatDateTime(md.Until))
	case t.Before(d.state.last):
		d.report(orderChanges, e.atMetadata(), resourcesync.FormatDateTime(t), "the change is earlier than one before it, which is of %s", resourcesync.FormatDateTime(d.state.last))
	default:
		d.state.last = t
		return true
	}
	return false
}

// checkPath looks at the path of an entry of a manifest.
func (d *document) checkPath(e *entry) {
	deleted := e.md.Change == resourcesync.Deleted
	switch {
	case deleted && e.md.has&attrPath != 0:
		d.report(pathDeleted, e.atMetadata(), e.md.Path, "the resource was deleted and has a path")
	case deleted:
	case e.md.has&attrPath == 0:
		d.report(pathMissing, e.atMetadata(), "", "the entry has no path")
	case e.md.has&attrType == 0 && strings.HasPrefix(e.md.Path, "/"):
		d.report(manifestType, e.atMetadata(), e.md.Path, "the type of the bitstream is not said")
	case !strings.HasPrefix(e.md.Path, "/"):
		d.report(pathForm, e.atMetadata(), e.md.Path, "path is %q, which does not begin with a slash", clip(e.md.Path))
	}
}

// checkLinkPaths looks at the paths of what the package has besides resources, such
// as patches.
func (d *document) checkLinkPaths(e *entry) {
	for i := range e.links {
		if l := &e.links[i]; l.has&attrPath != 0 && !strings.HasPrefix(l.Path, "/") {
			d.report(pathForm, e.atLink(i), l.Path, "path is %q, which does not begin with a slash", clip(l.Path))
		}
	}
}
