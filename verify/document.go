package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/internal/httpclient"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// document is one that is part of what is audited.
type document struct {
	a     *auditor
	uri   string
	file  string // its path in the directory, or empty
	order int    // in which it was met
	found found  // how it was met first

	head       head
	capability resourcesync.Capability
	form       form
	other      bool // it is not of the capability under which it was found
	read       bool // it has a head
	whole      bool // it was read to its end
	entries    int
	children   []child // what it names, unless these are resources, changes or bitstreams
	state      entryState
	size       int64
	digests    map[string]string // those that somebody asked for, by algorithm
	id         uint32            // in the ledger
	final      string            // where a server has it, if it redirected
	unrecorded bool              // what it says is not taken into the ledger
	linked     linkedKind        // to what kinds of files its entries link
	lists      []*document       // Capability Lists from which it was met again
	// stray is an up link to a Capability List that may not lead to the document,
	// and copyAbove one to another Source Description that does.
	stray, copyAbove *link
	strayHeader      string // the same as stray, of a Link header
	older            bool   // it is part of an older copy, in which nothing is judged
	// opener opens it, if it is in a package, and alsoEntry is given its entries.
	opener    func() (io.ReadCloser, error)
	alsoEntry func(*entry)
}

// found says how a document was met.
type found struct {
	capability resourcesync.Capability // which it must have, or empty
	by         *document               // that names it, or nil
	child      *child                  // by which that names it, or nil
	list       *document               // the Capability List to which it belongs, or nil
	index      *document               // the Index in which it stands, or nil
	archived   bool                    // it is reached from an archive
}

// child is an entry that names a document or a package.
type child struct {
	uri          string
	md           metadata
	links        []link
	lastModified time.Time
	spot
}

// report reports something about the document.
func (d *document) report(r *Rule, at spot, value, format string, args ...any) {
	if d.older {
		return
	}
	d.a.findings.add(Finding{
		Rule: r, Document: d.uri, File: d.file, Line: at.line, Column: at.column,
		Message: fmt.Sprintf(format, args...), Value: value, order: d.order,
	})
}

// blame reports something about a document where it is named, or else about
// itself.
func (d *document) blame(r *Rule, value, format string, args ...any) {
	d.found.blame(d, r, value, format, args...)
}

func (f *found) blame(d *document, r *Rule, value, format string, args ...any) {
	switch {
	case f.by == nil:
		d.report(r, spot{}, value, format, args...)
	case f.child == nil:
		f.by.report(r, spot{}, value, format, args...)
	default:
		f.by.report(r, f.child.spot, value, format, args...)
	}
}

// load reads the document and looks at all that can be judged by itself.
func (d *document) load(ctx context.Context) error {
	a := d.a
	f, err := a.open(ctx, d.uri)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if isOurs(err) {
			return err
		}
		d.cannotOpen(err)
		return nil
	}
	defer f.Close()
	d.file, d.size = f.path, f.size
	a.counted(d.size)
	d.state.host = strings.ToLower(hostOf(d.uri))
	if strings.HasPrefix(d.uri, "file:") || strings.HasSuffix(d.state.host, ".invalid") {
		d.state.host = ""
	}
	if f.answer != nil {
		d.final = f.answer.final
		d.checkAnswer(f.answer)
	}
	if d.size == 0 && d.found.capability == notificationCapability {
		return nil // a topic may be empty. See Framework Notification 1.0 §4.1.
	}
	if err := d.readFrom(ctx, f, d.open); err != nil {
		return err
	}
	if d.read {
		d.checkLinks(ctx)
		if f.answer != nil {
			d.checkCaching(f.answer)
		}
	}
	return d.compare(f)
}

// cannotOpen reports why a document could not be opened.
func (d *document) cannotOpen(err error) {
	r := documentMissing
	_, onDisk := d.a.place.(*disk)
	if errors.Is(err, errElsewhere) || onDisk && d.found.capability == notificationCapability {
		d.blame(documentElsewhere, d.uri, "%s: %v", clip(d.uri), err)
		return
	}
	if d.found.capability == resourcesync.ResourceDumpManifest || d.found.capability == resourcesync.ChangeDumpManifest {
		r = contentsMissing
	}
	title := "the document"
	if d.found.capability != "" {
		title = "the " + titleOf(d.found.capability, false)
	}
	if e, ok := errors.AsType[*httpclient.Error](err); ok {
		r = httpStatus
		err = e
	}
	d.blame(r, d.uri, "%s %s: %v", title, clip(d.uri), err)
}

// readFrom reads the document by an open function. The first time, it is opened
// already.
func (d *document) readFrom(ctx context.Context, first io.Reader, again func() (io.ReadCloser, error)) error {
	opened := false
	r := &reading{
		limits: &d.a.o.Limits,
		open: func() (io.ReadCloser, error) {
			if !opened {
				opened = true
				return io.NopCloser(first), nil
			}
			return again()
		},
		onHead: func(h *head) bool {
			d.head, d.read = *h, true
			d.checkHead()
			return true
		},
		onEntry: d.entry,
		report:  d.report,
	}
	err := r.run(ctx)
	if errors.Is(err, errStop) {
		err = nil
	}
	if err != nil && ctx.Err() == nil && d.opener == nil {
		d.blame(documentMissing, d.uri, "reading %s: %v", clip(d.uri), err)
		err = nil
	}
	d.whole, d.entries = r.whole, r.entries
	d.a.entries.Add(int64(r.entries))
	if r.entries > resourcesync.MaxEntries {
		d.report(limitEntries, d.head.root, "", "the document has %d entries, more than %d", r.entries, resourcesync.MaxEntries)
	}
	if d.size > resourcesync.MaxBytes {
		d.report(limitBytes, d.head.root, "", "the document has %d bytes, more than %d", d.size, resourcesync.MaxBytes)
	}
	return err
}

// entry takes an entry in.
func (d *document) entry(e *entry) error {
	d.checkEntry(e)
	if d.alsoEntry != nil {
		d.alsoEntry(e)
	}
	if e.loc == "" {
		return nil
	}
	if d.form.leaf && !d.head.index {
		if !d.other {
			return d.a.ledger.entry(d, e)
		}
		return nil
	}
	if len(d.children) < d.a.o.Limits.Documents {
		at := e.spot
		if !e.plain && e.locSpot != (spot{}) {
			at = e.locSpot
		}
		d.children = append(d.children, child{e.loc, e.md, slices.Clone(e.links), e.lastModified, at})
	}
	return nil
}

// compare compares a document with what is stated of it where it is named.
func (d *document) compare(f *file) error {
	var want []string
	if d.found.child != nil {
		want = algorithmsOf(d.found.child.md.Hash)
	}
	if d.a.keepDigests && !slices.Contains(want, "sha-256") {
		want = append(want, "sha-256")
	}
	if len(want) > 0 {
		if err := d.digest(f, want); err != nil {
			return err
		}
	}
	d.compareStated(&d.found)
	return nil
}

// digest reads the document once more, for digests.
func (d *document) digest(f *file, algorithms []string) error {
	digests, _, err := digestOf(io.NewSectionReader(f, 0, f.size), algorithms)
	if err != nil {
		d.blame(documentMissing, d.uri, "reading %s: %v", clip(d.uri), err)
		return nil
	}
	d.digests = digests
	return nil
}

// again compares a document that was read before with what is stated of it at
// another place.
func (d *document) again(f found) error {
	d.lists = append(d.lists, f.list)
	if f.child == nil || !d.read {
		return nil
	}
	if f.capability != "" && d.capability != f.capability && !d.other {
		f.blame(d, capabilityMismatch, string(d.capability), "%s is of the capability %q%s", clip(d.uri), d.capability, expected(f.capability))
		return nil
	}
	if lacks(d.digests, f.child.md.Hash) {
		again, err := d.a.open(context.Background(), d.uri)
		if err != nil {
			return nil // which was reported when it was read
		}
		defer again.Close()
		if err := d.digest(&file{File: again.File, size: d.size}, algorithmsOf(f.child.md.Hash)); err != nil {
			return err
		}
	}
	d.compareStated(&f)
	return nil
}

// lacks reports whether a digest is stated that is not among those computed.
func lacks(sums map[string]string, stated resourcesync.Hash) bool {
	for _, name := range algorithmsOf(stated) {
		if _, ok := sums[name]; !ok && isKnownAlgorithm(name) {
			return true
		}
	}
	return false
}

// compareStated compares length, digests and times.
func (d *document) compareStated(f *found) {
	if f.child == nil || !d.read {
		return
	}
	stated := &f.child.md
	if what := mismatch(stated.Metadata, d.size, d.digests); what != "" {
		f.blame(d, documentDigest, d.uri, "%s: %s", clip(d.uri), what)
	}
	if f.by.capability != resourcesync.CapabilityList && f.by.capability != resourcesync.Description {
		d.compareTimes(f, stated)
	} else if own := latest(d.head.md.At, d.state.last); !f.child.lastModified.IsZero() && f.child.lastModified.Before(own) && !d.head.md.coarse {
		f.blame(d, lastmodStale, d.uri, "lastmod of %s is %s, but it speaks of %s", clip(d.uri),
			resourcesync.FormatDateTime(f.child.lastModified), resourcesync.FormatDateTime(own))
	}
}

// compareTimes compares the times that are stated of a document with its own.
func (d *document) compareTimes(f *found, stated *metadata) {
	own := &d.head.md
	if own.Completed.Before(own.At) && !own.Completed.IsZero() || own.Until.Before(own.From) && !own.Until.IsZero() {
		return // which is reported, and one of them is wrong
	}
	rule := timeAgree
	if d.form.manifest {
		rule = manifestTime
	}
	for _, t := range []struct {
		name        string
		attr        attrs
		stated, own time.Time
	}{
		{"at", attrAt, stated.At, own.At}, {"completed", attrCompleted, stated.Completed, own.Completed},
		{"from", attrFrom, stated.From, own.From}, {"until", attrUntil, stated.Until, own.Until},
	} {
		if !t.stated.IsZero() && !t.own.IsZero() && !t.stated.Equal(t.own) && !stated.coarse && !own.coarse {
			f.blame(d, rule, resourcesync.FormatDateTime(t.stated), "%s is %s here, and %s in %s", t.name,
				resourcesync.FormatDateTime(t.stated), resourcesync.FormatDateTime(t.own), clip(d.uri))
		}
	}
	if whole := f.by.head.md.Completed; f.index != nil && own.Completed.After(whole) && !whole.IsZero() && !own.coarse && !f.archived {
		f.blame(d, timeAgree, d.uri, "%s was completed at %s, after all of the Index, which was at %s", clip(d.uri),
			resourcesync.FormatDateTime(own.Completed), resourcesync.FormatDateTime(whole))
	}
	if f.index == nil || d.form.span != interval {
		return
	}
	switch closed := own.has&attrUntil != 0; {
	case closed && stated.has&attrUntil == 0:
		f.blame(d, untilClosed, d.uri, "%s is closed (until %s), which is not said here", clip(d.uri), resourcesync.FormatDateTime(own.Until))
	case !closed && stated.has&attrUntil != 0:
		f.blame(d, untilClosed, d.uri, "%s is open, but has until here", clip(d.uri))
	}
}

// checkLinks looks at the links that connect documents.
func (d *document) checkLinks(ctx context.Context) {
	if d.a.alone {
		if d.capability != resourcesync.Description && d.head.link(resourcesync.RelUp) == nil && d.capability != notificationCapability {
			d.report(linkUpMissing, d.head.root, "", "there is no link with rel=\"up\"")
		}
		return
	}
	d.checkUp(ctx)
	d.checkIndexLink()
	if l := d.head.link(resourcesync.RelArchives); l != nil && d.found.list != nil && !d.form.manifest {
		target := d.found.list.entryOf(d.capability.Archive())
		if target != nil && !sameURI(target.uri, l.Href) || target == nil && !d.found.archived && !d.found.list.names(l.Href) {
			d.report(linkArchives, l.spot, l.Href, "the archives link leads to %s, which is not the %s of the Capability List",
				clip(l.Href), titleOf(d.capability.Archive(), false))
		}
	}
}

// entryOf returns the first entry of a Capability List for a capability.
func (d *document) entryOf(c resourcesync.Capability) *child {
	for i := range d.children {
		if d.children[i].md.Capability == c {
			return &d.children[i]
		}
	}
	return nil
}

// names reports whether an entry of the document names a URI.
func (d *document) names(uri string) bool {
	return slices.ContainsFunc(d.children, func(c child) bool { return c.uri == uri })
}

// checkUp compares the up link with the document above.
func (d *document) checkUp(ctx context.Context) {
	if d.capability == resourcesync.Description || d.form == (form{}) {
		return
	}
	l := d.head.link(resourcesync.RelUp)
	if l == nil {
		if d.capability != notificationCapability { // where it is optional
			d.report(linkUpMissing, d.head.root, "", "there is no link with rel=\"up\"")
		}
		return
	}
	above := d.found.list
	if d.capability == resourcesync.CapabilityList {
		above = d.found.by
	}
	if above == nil || d.capability == notificationCapability {
		return
	}
	for i := range d.head.links {
		if up := &d.head.links[i]; strings.EqualFold(up.Rel, resourcesync.RelUp) && d.leadsUp(ctx, above, up) {
			d.stray = nil
			return
		}
	}
	if d.stray == nil { // which is judged when all sets are known
		d.report(linkUpTarget, l.spot, l.Href, "the up link leads to %s, not to %s", clip(l.Href), above.uri)
	}
}

// leadsUp reports whether a link leads to the document above, or to another one that
// leads to this one.
func (d *document) leadsUp(ctx context.Context, above *document, up *link) bool {
	switch {
	case above.isAt(up.Href):
		return true
	case d.capability != resourcesync.CapabilityList && d.a.isList(up.Href):
		d.stray = up
		return false
	case !d.isListedBy(ctx, up.Href, d.above()):
		return false
	}
	if d.capability == resourcesync.CapabilityList {
		d.copyAbove = up
	}
	return true
}

// isAt reports whether a URI leads to the document, or to the Index in which it
// stands.
func (d *document) isAt(uri string) bool {
	return sameURI(uri, d.uri) || d.final != "" && sameURI(uri, d.final) || d.found.index != nil && sameURI(uri, d.found.index.uri)
}

// isListedBy reports whether a URI leads to another document of some capability that
// lists this one: a Source Description may have copies.
func (d *document) isListedBy(ctx context.Context, uri string, by resourcesync.Capability) bool {
	if !resourcesync.IsURI(uri) {
		return false
	}
	f, err := d.a.open(ctx, uri)
	if err != nil {
		return false
	}
	defer f.Close()
	decoder := resourcesync.NewDecoder(f, resourcesync.Limits{})
	above, err := decoder.Document()
	if err != nil || above.Metadata.Capability != by {
		return false
	}
	for e, err := decoder.Next(); err == nil; e, err = decoder.Next() {
		if sameURI(e.Loc, d.uri) {
			return true
		}
	}
	return false
}

// above returns the capability of the document above.
func (d *document) above() resourcesync.Capability {
	if d.capability == resourcesync.CapabilityList {
		return resourcesync.Description
	}
	return resourcesync.CapabilityList
}

// checkIndexLink compares the index link with the Index. A document that is
// reached from an archive may link to the live Index, under which it once stood.
func (d *document) checkIndexLink() {
	l := d.head.link(resourcesync.RelIndex)
	in := d.found.index
	if d.head.index || d.form == (form{}) {
		return
	}
	if l == nil {
		if in != nil && !d.form.manifest {
			d.report(linkIndexMissing, d.head.root, "", "there is no link with rel=\"index\" to %s", in.uri)
		}
		return
	}
	if in != nil && sameURI(l.Href, in.uri) {
		return
	}
	if d.found.archived && d.found.list != nil {
		if live := d.found.list.entryOf(d.capability); live == nil || sameURI(live.uri, l.Href) {
			return
		}
	}
	if in == nil {
		return // the Index is looked at when the walk comes to it
	}
	d.report(linkIndexTarget, l.spot, l.Href, "the index link leads to %s, not to %s", clip(l.Href), in.uri)
}

// sameURI reports whether two URIs are the same once they are written in the same
// way. See RFC 3986 §6.2.
func sameURI(x, y string) bool {
	return x == y || normalURI(x) == normalURI(y)
}

// normalURI returns a URI without what makes no difference: the case of scheme and
// host, the port that goes without saying, dot segments, and escapes of what needs
// none.
func normalURI(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Opaque != "" {
		return s
	}
	u = u.ResolveReference(&url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery, ForceQuery: u.ForceQuery})
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	port := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]
	u.Host = strings.TrimSuffix(strings.TrimSuffix(u.Host, port), ":")
	if u.Path == "" {
		u.Path = "/"
	}
	u.RawPath = "" // so that it is escaped anew
	return u.String()
}
