package linking

import (
	"cmp"
	"math"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/internal/survey"
	"github.com/wellspring-sync/wellspring/internal/links"
	"github.com/wellspring-sync/wellspring/internal/patch"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// Room is how much longer entries of events can become by what this package adds to them:
// links by rule, to versions, and to patches. It is an upper bound that depends on what
// was published, what there is now and the rules alone, and not on what was made of that:
// so it is the same in a dry run, which makes no versions and patches, and the events are
// cut alike.
type Room struct {
	rules   *Linker
	links   *versionLinks
	patches *Patches
}

// NewRoom returns the room that a Linker, Versions and Patches need. Patches may be nil.
func NewRoom(k *Linker, v *Versions, p *Patches) *Room {
	return &Room{rules: k, links: &v.links, patches: p}
}

// Of returns how many bytes the entry of an event can take, at most, beside those that it
// takes without any links and changefreq. Whether the finding is annotated or described
// already makes no difference, so that the caller measures a copy of the entry from which
// links and changefreq are taken away, with all else that is staged with the event, and adds
// Of. The Type of the finding may be the change in a set, or that of the bytes.
func (r *Room) Of(f *survey.Finding) (bytes int64, err error) {
	if bytes, err = r.rules.Room(f); err != nil || f.Type == resourcesync.Deleted {
		return bytes, err
	}
	versions, err := r.links.room(f)
	if err != nil {
		return 0, err
	}
	patches, err := r.patches.room(f)
	return bytes + versions + patches, err
}

// Patch returns how long a patch can be, at most, that goes into a package with an event,
// in bytes. It is zero if there is none.
func (r *Room) Patch(f *survey.Finding) int64 { return r.patches.longest(f) }

// What is longer than anything that can be said of a file in a link.
var (
	someTime    = time.Unix(0, 0).UTC()
	longestType = strings.Repeat("x", 255)
	someHash    = resourcesync.Hash("sha-256:" + strings.Repeat("0", 64))
)

// Room returns how much longer an entry can become by what Describe adds, in bytes, at
// most.
func (k *Linker) Room(f *survey.Finding) (bytes int64, err error) {
	if k.rules == nil && len(k.o.Resources) == 0 {
		return 0, nil
	}
	planned, err := k.plan(f, nil)
	if err != nil {
		return 0, err
	}
	var all []resourcesync.Link
	for _, p := range planned {
		l, isThere := p.Link, true
		switch {
		case p.List != "": // of which all is known
			l, isThere, err = k.toOriginal(p)
		case p.File != "":
			l = k.longestToFile(f, p)
		}
		if err != nil {
			return 0, err
		}
		if isThere {
			all = append(all, l)
		}
	}
	bytes, err = lengthOf(all)
	return bytes + int64(len("<changefreq>monthly</changefreq>")), err
}

// longestToFile returns a link to a file of the source that says as much as can be.
func (k *Linker) longestToFile(f *survey.Finding, p links.Planned) resourcesync.Link {
	l := p.Link
	l.Href = cmp.Or(l.Href, k.o.Resources.URI(k.o.Layout, p.File))
	l.Modified, l.Hash, l.Length, l.HasLength = someTime, f.Entry.Metadata.Hash, math.MaxInt64, true
	l.Type, l.Encoding = cmp.Or(l.Type, longestType), k.o.Resources.LongestEncoding()
	return l
}

// room is how many bytes the links to versions can take, at most: those to new ones, or
// those that are published already.
func (v *versionLinks) room(f *survey.Finding) (int64, error) {
	before := f.WasAnywhere()
	if before == nil {
		return 0, nil
	}
	gate, err := v.timeGate(f)
	if err != nil {
		return 0, err
	}
	var carried, added []resourcesync.Link
	if last.TimeMapOf(v.layout, before) != "" {
		for l := range v.published(before) {
			carried = append(carried, l)
		}
		carried = append(carried, gate...)
	}
	if v.areWantedOf(f) {
		var digest [32]byte // one is as long as the other
		added = append(v.to(f, v.layout.Version(f.URI, digest, extensionOf(f.Path)).URI), gate...)
	}
	old, err := lengthOf(carried)
	if err != nil {
		return 0, err
	}
	bytes, err := lengthOf(added)
	return max(old, bytes), err
}

// room is how many bytes the link to a patch can take, at most.
func (p *Patches) room(f *survey.Finding) (int64, error) {
	longest := p.longest(f)
	if longest == 0 {
		return 0, nil
	}
	var digest [32]byte
	l := linkTo(p.layout.Patch(digest, patch.LongestExtension), someHash, longest, patch.LongestType)
	for i := range f.In {
		if f.In[i].Set.Options.Dumps.Change {
			l.Path = "/" + pathInPackage(f, patch.LongestExtension)
		}
	}
	return lengthOf([]resourcesync.Link{l})
}

// longest is how long a patch of a resource can be, in bytes, at most, and zero if there is
// none.
func (p *Patches) longest(f *survey.Finding) int64 {
	if p == nil || f.Type != resourcesync.Updated || !p.areWantedOf(f) {
		return 0
	}
	return patch.Longest(f.FormerLength(), f.Size)
}

// lengthOf returns how many bytes links take in an entry.
func lengthOf(links []resourcesync.Link) (int64, error) {
	if len(links) == 0 {
		return 0, nil
	}
	bare := resourcesync.Entry{Loc: "x"}
	b, err := resourcesync.AppendEntry(nil, false, &bare)
	if err != nil {
		return 0, err
	}
	without := len(b)
	bare.Links = links
	b, err = resourcesync.AppendEntry(b[:0], false, &bare)
	return int64(len(b) - without), err
}
