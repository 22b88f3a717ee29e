package linking

import (
	"context"
	"time"

	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/internal/survey"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/internal/timemap"
	"github.com/wellspring-sync/wellspring/layout"
)

// Prune thins the versions of all resources, without any findings. In a dry run, it stages
// no TimeMaps.
func (v *Versions) Prune(ctx context.Context) error {
	if v.links.keep() == nil {
		return nil
	}
	for p, err := range survey.Before(ctx, v.pub.Sets) {
		if err != nil {
			return err
		}
		e := p.In[0].Previous
		if timeMap := last.TimeMapOf(v.pub.Layout, e); timeMap != "" {
			if err := v.pruneOne(e, timeMap); err != nil {
				return err
			}
		}
	}
	return nil
}

// pruneOne thins the versions of a resource.
func (v *Versions) pruneOne(e *snapshot.Previous, timeMap string) error {
	m, err := v.read(timeMap, "is left as it is")
	if m == nil {
		return err
	}
	current := ""
	for _, l := range e.Links {
		if l.Rel == last.RelMemento {
			current = l.Href
		}
	}
	n := len(m.Versions)
	m.Original = e.Loc
	if v.thin(m, current); len(m.Versions) == n || v.isDry() {
		return nil
	}
	return v.stageTimeMap(m, v.pub.Layout.TimeMap(e.Loc))
}

// thin drops versions that are not to be kept, but not the current one.
func (v *Versions) thin(m *timemap.TimeMap, current string) {
	if keep := v.links.keep(); keep != nil {
		v.dropped = append(v.dropped, thin(v.pub.Layout, m, *keep, current)...)
	}
}

// thin takes versions out of a TimeMap that are not to be kept, and returns the paths of
// files that it names no more.
func thin(l layout.Layout, m *timemap.TimeMap, keep policy.ArchiveKeep, current string) (dropped []string) {
	times := make([]time.Time, len(m.Versions))
	for i, x := range m.Versions {
		times[i] = x.At
	}
	stays := map[string]bool{current: true}
	for i, kept := range keep.Thin(times) {
		if kept {
			stays[m.Versions[i].URI] = true
		}
	}
	own := l.TimeMap(m.Original)
	var left []timemap.Version
	for _, x := range m.Versions {
		if stays[x.URI] {
			left = append(left, x)
		} else if name, ok := last.VersionPath(l, x.URI, own.Path); ok && !stays[name] {
			stays[name] = true // one file can be several versions
			dropped = append(dropped, name)
		}
	}
	m.Versions = left
	return dropped
}
