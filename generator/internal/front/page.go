package front

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/wellspring-sync/wellspring/generator/internal/edition"
	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/templates"
)

// pageMaker makes the page for people.
type pageMaker struct {
	pub   *last.Publication
	o     *Options
	found policy.Counts
	sets  []SetDecision
	news  chronicle
}

// make decides on the page.
func (p *pageMaker) make() (r rendered, err error) {
	if p.o.Page.None {
		return r, nil
	}
	past, l := p.news.past(), p.pub.Layout
	page := &templates.Page{
		Title: cmp.Or(p.o.Page.Title, titleOf(l.BaseURL)), BaseURL: l.BaseURL, PublicationURL: l.PublicationURL, DescribedBy: p.o.DescribedBy,
		Description: p.onPage(resourcesync.Description, l.SourceDescription()),
		Resources:   p.found.Resources, Bytes: p.found.Bytes, Since: past.Since,
	}
	for _, c := range slices.Backward(past.Changes) {
		page.Changes = append(page.Changes, templates.Change(c))
	}
	page.Sets, page.MoreSets = p.setsOnPage()
	page.Commands = p.commands()
	b, err := p.o.Page.Template.Render(page)
	if err != nil {
		return r, fmt.Errorf("making the page for people: %w", err)
	}
	return render(p.pub.Files.FS, l.Page(), b)
}

// onPage returns what the page says of a document.
func (p *pageMaker) onPage(c resourcesync.Capability, ref layout.Ref) templates.Document {
	return templates.NewDocument(string(c), layout.Relative(p.pub.Layout.Page().Path, ref.Path), ref.URI)
}

// mostOnPage is how many sets the page shows.
const mostOnPage = 100

// setsOnPage returns the sets to show, by name, and how many more there are.
func (p *pageMaker) setsOnPage() (shown []templates.Set, more int) {
	sets := make([]*SetDecision, len(p.sets))
	for i := range p.sets {
		sets[i] = &p.sets[i]
	}
	slices.SortFunc(sets, compareNames)
	n := min(len(sets), mostOnPage)
	for _, s := range sets[:n] {
		x := templates.Set{
			Name: s.Set.Options.Name, DescribedBy: s.Set.Options.DescribedBy, Resources: s.Found.Resources, Bytes: s.Found.Bytes,
			Changed: p.news.pastOf(s).Last(),
		}
		if !s.Set.HasName() {
			x.DescribedBy = "" // which is said of the Source already
		}
		x.Documents = []templates.Document{p.onPage(resourcesync.CapabilityList, s.Set.Layout.CapabilityList())}
		for _, e := range edition.Documents(s.Set) {
			x.Documents = append(x.Documents, p.onPage(e.Capability, e.Ref))
		}
		shown = append(shown, x)
	}
	return shown, len(sets) - n
}

// titleOf is what a Source is called by default: where it is served.
func titleOf(baseURL string) string {
	_, rest, _ := strings.Cut(baseURL, "://")
	return strings.TrimSuffix(rest, "/")
}

// compareNames compares sets by their names as people would sort them, at least those
// in ASCII.
func compareNames(x, y *SetDecision) int {
	a, b := x.Set.Options.Name, y.Set.Options.Name
	return cmp.Or(strings.Compare(strings.ToLower(a), strings.ToLower(b)), strings.Compare(a, b))
}
