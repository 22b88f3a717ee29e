package generator

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/templates"
)

// Page says how people see a publication. The zero value stands for the page that is
// embedded.
type Page struct {
	// None says that there is no page.
	None bool
	// Title is what people call the Source; by default where it is served.
	Title string
	// Template makes the page. File is where it is from, or empty; it is never
	// published.
	Template templates.PageTemplate
	File     string
}

// lastRecord returns the record of the whole publication that is there, or nil.
func (r *run) lastRecord() *snapshot.Record {
	switch {
	case r.hasNames() && r.top.published != nil:
		return r.top.published.Record
	case !r.hasNames() && !r.sets[0].isFirst():
		return r.sets[0].prev.snapshot.Record
	}
	return nil
}

// hadPage reports whether the last publication has a page.
func (r *run) hadPage() bool {
	last := r.lastRecord()
	return last != nil && last.Head(r.layout.Page().Path) != nil
}

// endsPage reports whether there was a page, and will be none.
func (r *run) endsPage() bool { return r.o.Page.None && r.hadPage() }

// isTopHead reports whether a path is that of a document that stays whatever becomes
// of the sets.
func (r *run) isTopHead(path string) bool {
	l := r.layout
	return path == l.Record().Path || path == l.SourceDescription().Path || path == l.Style().Path || path == l.Page().Path && !r.o.Page.None
}

// forPeople returns the paths of the documents for people that there will be.
func (r *run) forPeople() []string {
	paths := []string{r.layout.Style().Path}
	if !r.o.Page.None {
		paths = append(paths, r.layout.Page().Path)
	}
	return paths
}

// checkForPeople makes sure that no file of somebody else is where the page and the
// style sheet of a publication go that is there. Where its record is lost, all that is
// there is taken for its own.
func (r *run) checkForPeople() error {
	last := r.lastRecord()
	if last == nil {
		return nil
	}
	for _, path := range r.forPeople() {
		if last.Head(path) != nil {
			continue
		}
		b, err := snapshot.ReadFile(r.out, path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && bytes.Equal(b, templates.Style) {
			continue
		}
		why := fmt.Sprintf("%s is in the way: it is not of the publication. Move it elsewhere", path)
		if path == r.layout.Page().Path {
			why += `, or keep it with page = "none"`
		}
		return &Refusal{Why: why}
	}
	return nil
}

// warnOfPublished tells of documents that were not there, or not as they were published.
func (r *run) warnOfPublished(missing, altered []string) {
	for _, path := range missing {
		r.warn("%s was missing", path)
	}
	for _, path := range altered {
		r.warn("%s was changed by something else: it is written again", path)
	}
}

// putStyle stages the style sheet, unless it is as it was.
func (r *run) putStyle(st *stage) error {
	return r.putDescription(st, description{r.layout.Style(), templates.Style})
}

// putPage stages the page, unless it is as it was.
func (r *run) putPage(st *stage, at time.Time) error {
	if r.o.Page.None {
		return nil
	}
	d, err := r.page(at)
	if err != nil {
		return err
	}
	return r.putDescription(st, d)
}

// page returns the page of a publication of the time at.
func (r *run) page(at time.Time) (description, error) {
	past := r.past(at)
	p := &templates.Page{
		Title: r.o.Page.Title, BaseURL: r.layout.BaseURL, PublicationURL: r.layout.PublicationURL, DescribedBy: r.o.DescribedBy,
		Description: r.onPage(resourcesync.Description, r.layout.SourceDescription()),
		Resources:   r.report.Resources, Bytes: r.report.Bytes, Since: past.Since,
	}
	if p.Title == "" {
		p.Title = titleOf(p.BaseURL)
	}
	for _, c := range slices.Backward(past.Changes) {
		p.Changes = append(p.Changes, templates.Change(c))
	}
	p.Sets, p.MoreSets = r.setsOnPage(at)
	p.Commands = r.commands()
	b, err := r.o.Page.Template.Render(p)
	if err != nil {
		return description{}, fmt.Errorf("making the page for people: %w", err)
	}
	return description{r.layout.Page(), b}, nil
}

// onPage returns what the page says of a document.
func (r *run) onPage(c resourcesync.Capability, ref layout.Ref) templates.Document {
	return templates.NewDocument(string(c), layout.Relative(r.layout.Page().Path, ref.Path), ref.URI)
}

// mostOnPage is how many sets the page shows.
const mostOnPage = 100

// setsOnPage returns the sets to show, by name, and how many more there are.
func (r *run) setsOnPage(at time.Time) (shown []templates.Set, more int) {
	sets := slices.Clone(r.sets)
	slices.SortFunc(sets, compareNames)
	n := min(len(sets), mostOnPage)
	for _, set := range sets[:n] {
		s := templates.Set{
			Name: set.name, DescribedBy: set.o.DescribedBy, Resources: set.found.Resources, Bytes: set.found.Bytes, Changed: set.past(at).Last(),
		}
		if !r.hasNames() {
			s.DescribedBy = "" // which is said of the Source already
		}
		for _, e := range set.documents() {
			s.Documents = append(s.Documents, r.onPage(e.capability, e.ref))
		}
		shown = append(shown, s)
	}
	return shown, len(sets) - n
}

// past returns what is known of former publications once one of the time at follows. A
// first one has no changes: it has all there is.
func (r *run) past(at time.Time) *snapshot.Past {
	c := snapshot.Changed{Created: r.report.Created, Updated: r.report.Updated, Deleted: r.report.Deleted}
	if !c.Any() { // some may have gone from one set to another
		for _, set := range r.sets {
			if !set.isFirst() {
				c.Created, c.Updated, c.Deleted = c.Created+set.found.Created, c.Updated+set.found.Updated, c.Deleted+set.found.Deleted
			}
		}
	}
	if r.report.First {
		c = snapshot.Changed{}
	}
	last := r.lastRecord()
	if last == nil || last.Past == nil {
		since := at
		for _, set := range r.sets {
			if from := set.followedSince(at); from.Before(since) {
				since = from
			}
		}
		return (&snapshot.Past{Since: since}).With(at, c, snapshot.MostChanged)
	}
	return last.Past.With(at, c, snapshot.MostChanged)
}

// past is the same for one set. One among others remembers only the last change.
func (r *resourceSet) past(at time.Time) *snapshot.Past {
	if !r.hasNames() {
		return r.run.past(at)
	}
	if r.isFirst() {
		return &snapshot.Past{Since: at}
	}
	c := snapshot.Changed{Created: r.found.Created, Updated: r.found.Updated, Deleted: r.found.Deleted}
	if record := r.prev.snapshot.Record; record != nil && record.Past != nil {
		return record.Past.With(at, c, 1)
	}
	return (&snapshot.Past{Since: r.followedSince(at)}).With(at, c, 1)
}

// followedSince is when the oldest Change List begins, which a record would know if it
// were there, or the time at in a first publication.
func (r *resourceSet) followedSince(at time.Time) time.Time {
	if r.isFirst() || len(r.prev.snapshot.Changes) == 0 {
		return at
	}
	return r.prev.snapshot.Changes[0].From
}
