package verify

import (
	"net/url"
	"slices"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

// isHub reports whether a URI can be that of a hub.
func isHub(uri string) bool {
	u, err := url.Parse(uri)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil && u.Fragment == ""
}

// checkNotification compares the latest notification of a set with the documents that it
// tells of, once all of them have been met. See Framework Notification 1.0 §2 and §3.
func (s *set) checkNotification() {
	d := s.live[notificationCapability]
	if d == nil || !d.read || d.other || d.found.list != s.list {
		return
	}
	lists := append(slices.Clone(d.lists), s.list) // which may share it
	isList := func(uri string) bool {
		return slices.ContainsFunc(lists, func(list *document) bool { return list != nil && list.isAt(uri) })
	}
	if l := d.head.link(resourcesync.RelUp); l != nil && !isList(l.Href) && !s.isSource(l.Href) {
		d.report(linkUpTarget, l.spot, l.Href, "the up link leads to %s, which is neither the Capability List of the set nor the Source Description", clip(l.Href))
	}
	for i := range d.children {
		c := &d.children[i]
		if named := s.a.known(c.uri); named != nil && named.read {
			d.checkNotified(c, named, lists)
		}
	}
}

// isSource reports whether a URI is that of a Source Description that was met or, if none
// was, to which the Capability List leads.
func (s *set) isSource(uri string) bool {
	if d := s.a.known(uri); d != nil {
		return d.capability == resourcesync.Description
	}
	up := s.list.head.link(resourcesync.RelUp)
	return s.list.found.by == nil && up != nil && sameURI(up.Href, uri)
}

// checkNotified compares what a notification for some sets says of a document with the
// document.
func (d *document) checkNotified(c *child, named *document, lists []*document) {
	if named.head.index {
		d.report(notificationIndex, c.spot, c.uri, "%s is an Index", clip(c.uri))
		return
	}
	if said := c.md.Capability; said != "" && said != named.capability && !named.other {
		d.report(notificationEntry, c.spot, string(said), "%s is told to have the capability %q, and has %q", clip(c.uri), clip(string(said)), named.capability)
	}
	if c.md.Change == resourcesync.Deleted {
		d.report(notificationEntry, c.spot, c.uri, "%s is told to be deleted, and is there", clip(c.uri))
	}
	ofSet := func(list *document) bool {
		return named == list || named.found.list == list || slices.Contains(named.lists, list)
	}
	if named.capability != resourcesync.Description && !slices.ContainsFunc(lists, ofSet) {
		d.report(notificationEntry, c.spot, c.uri, "%s is a document of another set of resources, which has a channel of its own", clip(c.uri))
	}
	index := named.found.index
	if index == nil {
		return
	}
	switch l := findLink(c.links, resourcesync.RelIndex); {
	case l == nil:
		d.report(notificationEntry, c.spot, c.uri, "%s stands in an Index, to which the entry has no link", clip(c.uri))
	case !sameURI(l.Href, index.uri):
		d.report(linkIndexTarget, c.spot, l.Href, "the index link leads to %s, not to %s", clip(l.Href), clip(index.uri))
	}
}
