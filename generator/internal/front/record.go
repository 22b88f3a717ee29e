package front

import (
	"fmt"
	"slices"
	"time"

	"github.com/wellspring-sync/wellspring/generator/internal/edition"
	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/internal/stage"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
)

// newRecord begins a record.
func (w *writing) newRecord(l layout.Layout, at time.Time) *snapshot.Record {
	return &snapshot.Record{Format: snapshot.RecordFormat, Release: w.d.o.Release, Identity: l.Identity, At: at}
}

// placeSetRecord places the record of one of several sets.
func (w *writing) placeSetRecord(s *SetDecision, unreached []string, to *stage.Placer) error {
	record := w.newRecord(s.Set.Layout, w.d.recordAt(s))
	past := w.d.chronicle()
	record.Past, record.Packages = past.pastOf(s), s.Edition.Packages()
	var err error
	if record.Heads, err = headsAsTheyWillBe(w.d.pub, to.Placed, sorted(headsOf(s))); err != nil {
		return err
	}
	if record.Retired, err = w.retirement.set(s, unreached, to.Placed); err != nil {
		return err
	}
	return placeRecord(record, s.Set.Layout, to)
}

// placeRecord places the record of the publication.
func (w *writing) placeRecord(top *stage.Placer) error {
	d := w.d
	record := w.newRecord(d.pub.Layout, d.at)
	past := d.chronicle()
	record.Past = past.past()
	paths := append(d.pub.ForPeople(), d.pub.Layout.SourceDescription().Path)
	var err error
	if d.pub.HasNames() {
		var records []string
		for i := range d.Sets {
			l := d.Sets[i].Set.Layout
			record.Sets = append(record.Sets, l.Folder)
			records = append(records, l.Record().Path)
		}
		slices.Sort(record.Sets)
		paths = append(records, paths...)
		record.Retired, err = w.retirement.top(w.result.Placed)
	} else {
		s := &d.Sets[0]
		record.At, record.Packages = d.recordAt(s), s.Edition.Packages()
		paths = sorted(append(paths, headsOf(s)...))
		record.Retired, err = w.retirement.all(s, w.result.Placed)
	}
	if err != nil {
		return err
	}
	if record.Heads, err = headsAsTheyWillBe(d.pub, w.result.Placed, paths); err != nil {
		return err
	}
	return placeRecord(record, d.pub.Layout, top)
}

func placeRecord(record *snapshot.Record, l layout.Layout, to *stage.Placer) error {
	b, err := record.Marshal()
	if err != nil {
		return err
	}
	return to.PlaceBytes(l.Record(), b)
}

// headsOf returns the paths of the heads of a set, as they will be.
func headsOf(s *SetDecision) []string {
	paths := []string{s.Set.Layout.CapabilityList().Path, s.Edition.OpenList()}
	for _, d := range edition.Documents(s.Set) {
		paths = append(paths, d.Path)
	}
	if s.Set.Options.Hub != "" {
		paths = append(paths, s.Set.Layout.FrameworkNotification().Path)
	}
	return paths
}

// sorted returns paths in their order, each once, so that what had to be written again
// leaves no trace in a record.
func sorted(paths []string) []string {
	slices.Sort(paths)
	return slices.Compact(paths)
}

// headsAsTheyWillBe returns the heads of paths as they will be, those that are placed and those that
// stay.
func headsAsTheyWillBe(pub *last.Publication, placed []stage.Placed, paths []string) (heads []snapshot.Head, err error) {
	have := map[string]*stage.Placed{}
	for i := range placed {
		if placed[i].Kind == stage.Head { // of very many files
			have[placed[i].Path] = &placed[i]
		}
	}
	for _, path := range paths {
		if p := have[path]; p != nil {
			heads = append(heads, p.Head())
			continue
		}
		h, err := snapshot.HeadOf(pub.Files.FS, path)
		if err != nil {
			return nil, fmt.Errorf("looking at %s: %w", path, err)
		}
		heads = append(heads, h)
	}
	return heads, nil
}
