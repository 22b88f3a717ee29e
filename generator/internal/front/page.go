package front

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/generator/internal/edition"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/templates"
)

// decidePage decides on the page for people.
func (d *Decision) decidePage() error {
	if d.o.Page.None {
		return nil
	}
	past, l := d.past(), d.pub.Layout
	p := &templates.Page{
		Title: cmp.Or(d.o.Page.Title, titleOf(l.BaseURL)), BaseURL: l.BaseURL, PublicationURL: l.PublicationURL, DescribedBy: d.o.DescribedBy,
		Description: d.onPage(resourcesync.Description, l.SourceDescription()),
		Resources:   d.found.Resources, Bytes: d.found.Bytes, Since: past.Since,
	}
	for _, c := range slices.Backward(past.Changes) {
		p.Changes = append(p.Changes, templates.Change(c))
	}
	p.Sets, p.MoreSets = d.setsOnPage()
	p.Commands = d.commands()
	b, err := d.o.Page.Template.Render(p)
	if err != nil {
		return fmt.Errorf("making the page for people: %w", err)
	}
	d.page, err = render(d.pub.FS, l.Page(), b)
	return err
}

// onPage returns what the page says of a document.
func (d *Decision) onPage(c resourcesync.Capability, ref layout.Ref) templates.Document {
	return templates.NewDocument(string(c), layout.Relative(d.pub.Layout.Page().Path, ref.Path), ref.URI)
}

// mostOnPage is how many sets the page shows.
const mostOnPage = 100

// setsOnPage returns the sets to show, by name, and how many more there are.
func (d *Decision) setsOnPage() (shown []templates.Set, more int) {
	sets := make([]*SetDecision, len(d.Sets))
	for i := range d.Sets {
		sets[i] = &d.Sets[i]
	}
	slices.SortFunc(sets, compareNames)
	n := min(len(sets), mostOnPage)
	for _, s := range sets[:n] {
		x := templates.Set{
			Name: s.Set.Options.Name, DescribedBy: s.Set.Options.DescribedBy, Resources: s.Found.Resources, Bytes: s.Found.Bytes,
			Changed: d.pastOf(s).Last(),
		}
		if !s.Set.HasName() {
			x.DescribedBy = "" // which is said of the Source already
		}
		x.Documents = []templates.Document{d.onPage(resourcesync.CapabilityList, s.Set.Layout.CapabilityList())}
		for _, e := range edition.Documents(s.Set) {
			x.Documents = append(x.Documents, d.onPage(e.Capability, e.Ref))
		}
		shown = append(shown, x)
	}
	return shown, len(sets) - n
}

// past returns what is known of former publications once this one follows. A first one has
// no changes: it has all there is.
func (d *Decision) past() *snapshot.Past {
	c := snapshot.Changed{Created: d.found.Created, Updated: d.found.Updated, Deleted: d.found.Deleted}
	if !c.Any() { // some may have gone from one set to another
		for i := range d.Sets {
			if s := &d.Sets[i]; !s.Set.IsFirst() {
				c.Created, c.Updated, c.Deleted = c.Created+s.Found.Created, c.Updated+s.Found.Updated, c.Deleted+s.Found.Deleted
			}
		}
	}
	if d.pub.First {
		c = snapshot.Changed{}
	}
	record := d.pub.Record()
	if record == nil || record.Past == nil {
		since := d.at
		for i := range d.Sets {
			if from := d.followedSince(&d.Sets[i]); from.Before(since) {
				since = from
			}
		}
		return (&snapshot.Past{Since: since}).With(d.at, c, snapshot.MostChanged)
	}
	return record.Past.With(d.at, c, snapshot.MostChanged)
}

// pastOf is the same for one set. One among others remembers only the last change.
func (d *Decision) pastOf(s *SetDecision) *snapshot.Past {
	if !s.Set.HasName() {
		return d.past()
	}
	if s.Set.IsFirst() {
		return &snapshot.Past{Since: d.at}
	}
	c := snapshot.Changed{Created: s.Found.Created, Updated: s.Found.Updated, Deleted: s.Found.Deleted}
	if record := s.Set.Snapshot.Record; record != nil && record.Past != nil {
		return record.Past.With(d.at, c, 1)
	}
	return (&snapshot.Past{Since: d.followedSince(s)}).With(d.at, c, 1)
}

// followedSince is when the oldest Change List begins, which a record would know if it
// were there, or the time of the publication in a first one.
func (d *Decision) followedSince(s *SetDecision) time.Time {
	if s.Set.IsFirst() || len(s.Set.Snapshot.Changes) == 0 {
		return d.at
	}
	return s.Set.Snapshot.Changes[0].From
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
