package front

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/wellspring-sync/wellspring/generator/internal/edition"
	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/templates"
)

// Pruned counts what pruning does.
type Pruned struct {
	// Lists, Packages and Snapshots are named no more where they were.
	Lists, Packages, Snapshots int
	// Retired files are named no more at all, and Swept ones are removed.
	Retired, Swept           int
	RetiredBytes, SweptBytes int64
}

// any reports whether there is anything to do.
func (p *Pruned) any() bool { return p.Lists+p.Packages+p.Snapshots+p.Swept > 0 }

func (p *Pruned) add(other *Pruned) {
	p.Lists, p.Packages, p.Snapshots = p.Lists+other.Lists, p.Packages+other.Packages, p.Snapshots+other.Snapshots
	p.Retired, p.Swept = p.Retired+other.Retired, p.Swept+other.Swept
	p.RetiredBytes, p.SweptBytes = p.RetiredBytes+other.RetiredBytes, p.SweptBytes+other.SweptBytes
}

// DecidePrune decides what pruning at a time makes of a publication, of which some
// versions are dropped.
func DecidePrune(pub *last.Publication, o *Options, rules edition.Rules, now time.Time, dropped []string) (*Decision, *Pruned, error) {
	d := &Decision{pub: pub, o: o, at: pub.At(), until: now, isPruned: true}
	total := &Pruned{}
	var err error
	if d.style, err = render(pub.Files.FS, pub.Layout.Style(), templates.Style); err != nil {
		return nil, nil, err
	}
	c := &counter{pub, o, now}
	for _, path := range dropped {
		if err := c.size(path, &total.Retired, &total.RetiredBytes); err != nil {
			return nil, nil, err
		}
	}
	for _, set := range pub.Sets {
		s := SetDecision{Set: set, Edition: edition.DecidePrune(set, rules, now)}
		n, err := c.count(&s)
		if err != nil {
			return nil, nil, set.Failed(err)
		}
		s.Wrote = n.any() || len(s.Edition.Heads()) > 0 || len(dropped) > 0 && !set.HasName()
		s.notifies = s.Wrote && set.Options.Hub != "" && (s.Edition.Tells() || !pub.Files.IsThere(set.Layout.FrameworkNotification().Path))
		d.Sets = append(d.Sets, s)
		total.add(n)
	}
	if pub.Together != nil {
		d.source = description{paths: pub.Together.Parts}
		if record := pub.Together.Record; record != nil {
			err = c.sweep(record.Retired, total)
		}
	}
	d.Wrote = total.any() || len(dropped) > 0
	return d, total, err
}

// counter counts files that are retired or swept.
type counter struct {
	pub *last.Publication
	o   *Options
	now time.Time
}

func (c *counter) count(s *SetDecision) (*Pruned, error) {
	n := &Pruned{}
	n.Lists, n.Packages, n.Snapshots = s.Edition.Dropped()
	var err error
	if s.unreached, s.reused, err = s.Edition.Unreached(c.pub.Files.IsThere); err != nil {
		return nil, err
	}
	for _, path := range s.unreached {
		if err := c.size(path, &n.Retired, &n.RetiredBytes); err != nil {
			return nil, err
		}
	}
	return n, c.sweep(s.Set.Retired, n)
}

// sweep counts what was retired for long enough.
func (c *counter) sweep(retired []snapshot.Retired, n *Pruned) error {
	for _, b := range retired {
		if c.now.Sub(b.Since) < c.o.Grace {
			continue
		}
		if err := c.size(b.Path, &n.Swept, &n.SweptBytes); err != nil {
			return err
		}
	}
	return nil
}

func (c *counter) size(path string, files *int, bytes *int64) error {
	info, err := fs.Stat(c.pub.Files.FS, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking at %s: %w", path, err)
	}
	*files++
	*bytes += info.Size()
	return nil
}
