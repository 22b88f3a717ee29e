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
		return a.walkSet(ctx, top)
	case top.form != form{}:
		s := a.newSet(&document{a: a, uri: top.found.uriOfList(top)})
		return s.walkDocument(ctx, top)
	}
	return nil
}

// uriOfList returns where the Capability List of a document should be.
func (f *found) uriOfList(d *document) string {
	if l := d.head.link(resourcesync.RelUp); l != nil {
		return l.Href
	}
	return ""
}

// walkSource goes down from a Source Description, or from an Index of them.
func (a *auditor) walkSource(ctx context.Context, d *document) error {
	if d.head.index {
		parts, err := a.followAll(ctx, d, found{capability: resourcesync.Description, by: d, index: d})
		if err != nil {
			return err
		}
		for _, part := range parts {
			if part.nested() {
				continue
			}
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
	for _, list := range lists {
		if list.head.index || list.other {
			continue
		}
		if err := a.walkSet(ctx, list); err != nil {
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
	for i := range d.children {
		if isURI(d.children[i].uri) {
			f.child = &d.children[i]
			named = append(named, f)
			uris = append(uris, d.children[i].uri)
		}
	}
	docs, err := a.follow(ctx, named, uris)
	return slices.DeleteFunc(docs, func(d *document) bool { return d == nil || !d.read }), err
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

// walkCapability goes to a document that a Capability List names.
func (s *set) walkCapability(ctx context.Context, c *child) error {
	f, known := forms[c.md.Capability]
	if !known || f.manifest || c.md.Capability == resourcesync.Description || c.md.Capability == resourcesync.CapabilityList || !isURI(c.uri) {
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
	s.live[c.md.Capability] = docs[0]
	if c.md.Capability == notificationCapability {
		s.checkTopic(docs[0], c)
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
	for _, archive := range archives {
		docs, err := s.a.followAll(ctx, archive, found{capability: kind, by: archive, list: s.list, archived: true})
		if err != nil {
			return err
		}
		for _, doc := range docs {
			if doc.other {
				continue
			}
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
	if d.capability == resourcesync.ChangeDump && d.head.index {
		checkStretches(d.stretches(), orderLists)
		d.checkCover(ownStretches(parts))
	}
	for _, part := range parts {
		packs, err := s.packagesOf(ctx, part, fromArchive)
		if err != nil {
			return err
		}
		snap.packs = append(snap.packs, packs...)
		if part.capability == resourcesync.ChangeDump {
			checkStretches(part.stretches(), orderPackages)
			part.checkCover(part.stretches())
		}
	}
	if d.capability == resourcesync.ResourceDump {
		s.snapshots = append(s.snapshots, snap)
	}
	return nil
}
