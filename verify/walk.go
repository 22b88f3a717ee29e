package verify

import (
	"context"
	"slices"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

// set is one set of resources: what a Capability List leads to.
type set struct {
	a    *auditor
	list *document

	// live are the documents that the Capability List names, by capability.
	live map[resourcesync.Capability]*document
	// Resource Lists and Resource Dumps, live and archived.
	snapshots []*snapshotOf
	// Change Lists, archived and live, in the order in which they are named.
	archivedChanges, liveChanges []*document
	// Packages of dumps, live and archived.
	packages []*packageOf
	byURI    map[string]*packageOf
	dumps    []dumpOf
	// elsewhere is true if its resources lie where the audit could not look for them.
	elsewhere bool
}

// dumpOf is a dump, and its parts if it is an Index.
type dumpOf struct {
	doc   *document
	parts []*document
}

// snapshotOf is a Resource List or Resource Dump, with all its parts.
type snapshotOf struct {
	doc   *document
	lists []*document  // with resources in them: parts, or manifests
	packs []*packageOf // of a Resource Dump
	live  bool
	// missing is true if a part could not be read, so that nothing can be said of
	// what is not in it.
	missing bool
}

// walk goes down from a document.
func (a *auditor) walk(ctx context.Context, top *document) error {
	switch {
	case !top.read:
		return nil
	case top.capability == resourcesync.Description:
		return a.walkSource(ctx, top)
	case top.capability == resourcesync.CapabilityList:
		return a.walkLists(ctx, []*document{top})
	case top.form != form{}:
		list := &document{a: a} // which is not read
		if l := top.head.link(resourcesync.RelUp); l != nil {
			list.uri = l.Href
		}
		return a.newSet(list).walkDocument(ctx, top)
	}
	return nil
}

// walkSource goes down from a Source Description, or from an Index of them.
func (a *auditor) walkSource(ctx context.Context, d *document) error {
	if d.head.index {
		parts, err := a.followAll(ctx, d, found{capability: resourcesync.Description, by: d, index: d})
		if err != nil {
			return err
		}
		for _, part := range slices.DeleteFunc(parts, (*document).nested) {
			if err := a.walkSource(ctx, part); err != nil {
				return err
			}
		}
		return nil
	}
	lists, err := a.followAll(ctx, d, found{capability: resourcesync.CapabilityList, by: d})
	if err != nil {
		return err
	}
	return a.walkLists(ctx, lists)
}

// walkLists goes down from Capability Lists. Those that are an Index, as they should
// not be, stand for what they list.
func (a *auditor) walkLists(ctx context.Context, lists []*document) error {
	for _, list := range lists {
		if list.other || a.setOf(list.uri) != nil {
			continue
		}
		if !list.head.index {
			if err := a.walkSet(ctx, list); err != nil {
				return err
			}
			continue
		}
		parts, err := a.followAll(ctx, list, found{capability: resourcesync.CapabilityList, by: list.found.by, index: list})
		if err == nil {
			err = a.walkLists(ctx, slices.DeleteFunc(parts, (*document).nested))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// followAll reads the documents that a document names. It returns those that could
// be read.
func (a *auditor) followAll(ctx context.Context, d *document, f found) ([]*document, error) {
	var named []found
	var uris []string
	seen := map[string]bool{}
	for i := range d.children {
		c := &d.children[i]
		if seen[c.uri] {
			d.report(locDuplicate, c.spot, c.uri, "%s is listed a second time", clip(c.uri))
		} else if resourcesync.IsURI(c.uri) {
			f.child = c
			named = append(named, f)
			uris = append(uris, c.uri)
		}
		seen[c.uri] = true
	}
	docs, err := a.follow(ctx, named, uris)
	return slices.DeleteFunc(docs, func(d *document) bool {
		return d == nil || !d.read || d.capability != f.capability && !d.other // as which it was met before
	}), err
}

// nested reports an Index below an Index.
func (d *document) nested() bool {
	if d.head.index {
		d.report(indexNesting, d.head.root, "", "this is an Index, and stands in an Index; what it names was not read")
	}
	return d.head.index || d.other
}

func (a *auditor) newSet(list *document) *set {
	s := &set{a: a, list: list, live: map[resourcesync.Capability]*document{}, byURI: map[string]*packageOf{}}
	a.sets = append(a.sets, s)
	return s
}

// walkSet goes down from a Capability List: to what is live, then to the archives.
func (a *auditor) walkSet(ctx context.Context, list *document) error {
	s := a.newSet(list)
	for _, archives := range []bool{false, true} {
		for i := range list.children {
			c := &list.children[i]
			if (archived(c.md.Capability) != "") == archives {
				if err := s.walkCapability(ctx, c); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// isList reports whether a URI is that of a Capability List that was met: documents
// may belong to several.
func (a *auditor) isList(uri string) bool {
	a.meeting.Lock()
	defer a.meeting.Unlock()
	d := a.known(uri)
	return d != nil && d.found.capability == resourcesync.CapabilityList
}

// walkCapability goes to a document that a Capability List names.
func (s *set) walkCapability(ctx context.Context, c *child) error {
	f, known := forms[c.md.Capability]
	if !known || f.manifest || c.md.Capability == resourcesync.Description || c.md.Capability == resourcesync.CapabilityList || !resourcesync.IsURI(c.uri) {
		return nil
	}
	if s.live[c.md.Capability] != nil {
		s.list.report(capabilityOnce, c.spot, string(c.md.Capability), "a second entry of capability %s", c.md.Capability)
		return nil
	}
	docs, err := s.a.follow(ctx, []found{{capability: c.md.Capability, by: s.list, child: c, list: s.list}}, []string{c.uri})
	if err != nil || docs[0] == nil {
		return err
	}
	if docs[0].read && docs[0].capability != c.md.Capability {
		return nil // as which it was met before
	}
	s.live[c.md.Capability] = docs[0]
	if c.md.Capability == notificationCapability {
		s.checkTopic(ctx, docs[0], c)
	}
	return s.walkDocument(ctx, docs[0])
}

// walkDocument goes down from a document that has a capability of its own.
func (s *set) walkDocument(ctx context.Context, d *document) error {
	if !d.read || d.other {
		return nil
	}
	switch kind := archived(d.capability); {
	case kind != "":
		return s.walkArchive(ctx, d, kind)
	case d.capability == resourcesync.ResourceList, isDump(d.capability), d.capability == resourcesync.ChangeList:
		return s.walkState(ctx, d, false)
	}
	return nil
}

// walkArchive goes down from an archive, or from an Index of archives.
func (s *set) walkArchive(ctx context.Context, d *document, kind resourcesync.Capability) error {
	archives := []*document{d}
	if d.head.index {
		parts, err := s.a.followAll(ctx, d, found{capability: d.capability, by: d, list: s.list, index: d})
		if err != nil {
			return err
		}
		archives = slices.DeleteFunc(parts, (*document).nested)
	}
	var stretches []stretch
	met := map[*document]bool{}
	for _, archive := range archives {
		docs, err := s.a.followAll(ctx, archive, found{capability: kind, by: archive, list: s.list, archived: true})
		if err != nil {
			return err
		}
		for _, doc := range docs {
			if doc.other || met[doc] {
				continue
			}
			met[doc] = true
			if err := s.walkState(ctx, doc, true); err != nil {
				return err
			}
		}
		stretches = append(stretches, archive.stretches()...)
	}
	if forms[kind].span == interval {
		s.checkArchive(stretches, kind)
	}
	return nil
}

// walkState goes down from a Resource List, Resource Dump, Change List or Change
// Dump, which may be an Index.
func (s *set) walkState(ctx context.Context, d *document, fromArchive bool) error {
	parts := []*document{d}
	missing := !d.whole
	if !fromArchive && !d.head.index {
		index, err := s.indexOf(ctx, d)
		if err != nil {
			return err
		}
		if index != nil {
			d = index
		}
	}
	if d.head.index {
		f := found{capability: d.capability, by: d, list: s.list, index: d, archived: fromArchive}
		docs, err := s.a.followAll(ctx, d, f)
		if err != nil {
			return err
		}
		missing = missing || len(docs) < len(d.children)
		parts = slices.DeleteFunc(docs, (*document).nested)
		for _, part := range parts {
			missing = missing || !part.whole
		}
	}
	switch d.capability {
	case resourcesync.ResourceList:
		s.snapshots = append(s.snapshots, &snapshotOf{doc: d, lists: parts, live: !fromArchive, missing: missing})
	case resourcesync.ChangeList:
		s.addChanges(d, parts, fromArchive)
	case resourcesync.ResourceDump, resourcesync.ChangeDump:
		return s.walkDump(ctx, d, parts, fromArchive, missing)
	}
	return nil
}

// indexOf returns the Index to which a document links, if it lists the document. One
// list of several may stand in the Capability List instead of their Index.
func (s *set) indexOf(ctx context.Context, d *document) (*document, error) {
	l := d.head.link(resourcesync.RelIndex)
	if l == nil || !resourcesync.IsURI(l.Href) {
		return nil, nil
	}
	f := found{capability: d.capability, by: d, child: &child{uri: l.Href, spot: l.spot}, list: s.list}
	if s.a.known(l.Href) != nil {
		f.capability = "" // which is looked at below
	}
	docs, err := s.a.follow(ctx, []found{f}, []string{l.Href})
	if err != nil || docs[0] == nil || !docs[0].read {
		return nil, err
	}
	if index := docs[0]; index.head.index && !index.other && index.names(d.uri) {
		return index, nil
	}
	d.report(linkIndexTarget, l.spot, l.Href, "the index link leads to %s, which is no Index that lists this document", clip(l.Href))
	return nil, nil
}

// addChanges takes Change Lists in.
func (s *set) addChanges(d *document, parts []*document, fromArchive bool) {
	if fromArchive {
		s.archivedChanges = append(s.archivedChanges, parts...)
		return
	}
	s.liveChanges = append(s.liveChanges, parts...)
	if d.head.index {
		checkStretches(d.stretches(), orderLists)
		d.checkCover(ownStretches(parts))
	}
}

// walkDump takes the packages of a dump in, and reads the copies of their manifests.
func (s *set) walkDump(ctx context.Context, d *document, parts []*document, fromArchive, missing bool) error {
	snap := &snapshotOf{doc: d, live: !fromArchive, missing: missing}
	s.dumps = append(s.dumps, dumpOf{d, parts})
	for _, part := range parts {
		packs, err := s.packagesOf(ctx, part, fromArchive)
		if err != nil {
			return err
		}
		snap.packs = append(snap.packs, packs...)
	}
	if d.capability == resourcesync.ResourceDump {
		s.snapshots = append(s.snapshots, snap)
	}
	return nil
}
