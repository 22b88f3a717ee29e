package verify

import (
	"context"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

// A Source may have several sets of resources, each with a Capability List, and a
// resource may be in any number of them, at different times. So each set is judged by
// itself. What follows is about what sets share. See Z39.99-2017 §8 and §9.

// checkStrays reports documents whose up link or Link header leads to the Capability
// List of a set to which they do not belong.
func (a *auditor) checkStrays() {
	const text = "leads to %s, the Capability List of another set, which does not lead here"
	for _, d := range a.all {
		if l := d.stray; l != nil && !d.isIn(l.Href) {
			d.report(linkUpTarget, l.spot, l.Href, "the up link "+text, clip(l.Href))
		}
		if uri := d.strayHeader; uri != "" && !d.isIn(uri) {
			d.report(httpLink, spot{}, uri, "the Link header "+text, clip(uri))
		}
	}
}

// isIn reports whether the Capability List of a URI leads to the document, as was seen
// when that was met again.
func (d *document) isIn(uri string) bool {
	return slices.ContainsFunc(d.lists, func(list *document) bool { return list != nil && list.isAt(uri) })
}

// mostSources is how many Source Descriptions are compared with the one of the audit:
// more than any Source has copies of.
const mostSources = 20

// checkOtherSources looks at Source Descriptions to which Capability Lists lead up,
// besides the one by which these were found. A copy lists the same.
func (a *auditor) checkOtherSources(ctx context.Context) error {
	seen := map[string]bool{}
	for _, d := range a.all {
		if d.copyAbove == nil || seen[d.copyAbove.Href] || len(seen) == mostSources {
			continue
		}
		seen[d.copyAbove.Href] = true
		more, err := a.listedOnlyBy(ctx, d.copyAbove.Href)
		if err != nil {
			return err
		}
		if more != "" {
			d.report(sourceIndex, d.copyAbove.spot, d.copyAbove.Href, "the up link leads to another Source Description than the one that lists this Capability List: it lists %s besides, and no Index groups the two", clip(more))
		}
	}
	return nil
}

// listedOnlyBy returns a Capability List that a Source Description lists and that was
// not met, or nothing.
func (a *auditor) listedOnlyBy(ctx context.Context, uri string) (string, error) {
	f, err := a.open(ctx, uri)
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		return "", nil // it was there when the link was looked at
	}
	defer f.Close()
	decoder := resourcesync.NewDecoder(f, resourcesync.Limits{})
	for e, err := decoder.Next(); err == nil; e, err = decoder.Next() {
		if resourcesync.IsURI(e.Loc) && a.known(e.Loc) == nil {
			return strings.Clone(e.Loc), nil
		}
	}
	return "", nil
}

// packageKey names a package by the dump that lists it and its URI.
type packageKey struct {
	dump *document
	uri  string
}

// packageIn returns the package that an entry of a dump names, which another set may
// have as well.
func (a *auditor) packageIn(d *document, c *child) *packageOf {
	p := a.packs[packageKey{d, c.uri}]
	if p == nil {
		p = &packageOf{child: c, dump: d}
		a.packs[packageKey{d, c.uri}] = p
	}
	return p
}

// mostCompared is how many resources are remembered, so that another set that says the
// same of them does not have them read again.
const mostCompared = 1_000_000

// comparedResources remembers resources that are what a set says.
type comparedResources struct {
	mu   sync.Mutex
	seed maphash.Seed
	full map[uint64]bool // whether all of it was read
}

func (c *comparedResources) key(r *resource) uint64 {
	text := []string{r.uri, string(r.md.Hash), strconv.FormatInt(r.md.Length, 10), strconv.FormatBool(r.md.HasLength), r.md.Type, r.md.Encoding}
	return maphash.String(c.seed, strings.Join(text, "\n"))
}

// add remembers a resource.
func (c *comparedResources) add(r *resource) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.full == nil {
		c.seed, c.full = maphash.MakeSeed(), map[uint64]bool{}
	}
	if len(c.full) < mostCompared {
		c.full[c.key(r)] = r.full
	}
}

// has reports whether a resource was compared that closely.
func (c *comparedResources) has(r *resource) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.full == nil {
		return false
	}
	full, ok := c.full[c.key(r)]
	return ok && (full || !r.full)
}
