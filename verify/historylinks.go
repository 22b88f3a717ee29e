package verify

// inSnapshots takes in what an entry, or a link to or from the resource, says in some
// snapshots.
func (h *history) inSnapshots(l listing) {
	switch l.change {
	case linkTo:
		h.links = append(h.links, l)
	case linkFrom:
		h.own = append(h.own, l)
	default:
		h.listed = append(h.listed, l)
	}
}

// checkLinks compares what links say of the resource with what the same Resource
// List says.
func (h *history) checkLinks(present []*record) {
	for _, l := range h.links {
		for _, i := range l.snapshots {
			if present[i] != nil && h.checkLink(l.record, present[i]) {
				break
			}
		}
	}
	h.checkBack(present, toMetadata, toDescribed, "%s: a resource of this list says that this one describes it, which has no link with rel=\"describes\" to it")
	h.checkBack(present, toDescribed, toMetadata, "%s: a resource of this list says that it describes this one, which has no link with rel=\"describedby\" to it")
}

// checkLink compares what a link says of a resource with its entry, and reports
// whether there is something wrong.
func (h *history) checkLink(l, entry *record) bool {
	if l.rel == toOriginal {
		if entry.rel&toOriginal != 0 {
			h.accuse(linkVia, l, "%s: a link with rel=\"via\" leads to a resource which is itself from elsewhere, by its own link with rel=\"via\"")
		}
		return entry.rel&toOriginal != 0
	}
	what := differs(l, entry)
	if what != "" {
		h.accuse(linkContent, l, "%s: a link says another "+what+" of a resource than its own entry does")
	}
	return what != ""
}

// mostBack is how many links to one resource have to be answered by links back.
const mostBack = 1000

// checkBack sees that the resource has a link back to those that link to it with a
// relation, in the live Resource List. It reports one that is not there once.
func (h *history) checkBack(present []*record, there, back relations, text string) {
	live := func(l *listing, rel relations) *record {
		for _, i := range l.snapshots {
			if l.rel == rel && h.c.snapshots[i].live {
				return present[i]
			}
		}
		return nil
	}
	var linked *record
	others := map[int64]bool{} // that link to it
	for i := range h.links {
		if entry := live(&h.links[i], there); entry != nil {
			linked = entry
			others[h.links[i].time] = true
		}
	}
	if linked == nil || len(others) > mostBack {
		return
	}
	for i := range h.own {
		if live(&h.own[i], back) != nil {
			delete(others, h.own[i].time)
		}
	}
	if len(others) > 0 {
		h.accuse(linkDescribes, linked, text)
	}
}
