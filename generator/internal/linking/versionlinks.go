package linking

import (
	"fmt"
	"iter"
	"path"
	"strings"

	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/internal/survey"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/links"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/internal/timemap"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

const relTimeGate = "timegate"

// versionLinks makes the links of resources that have versions. It touches no file.
type versionLinks struct {
	o      *policy.Versions // nil if none are kept
	layout layout.Layout
	gate   *links.Rules // nil if there is no TimeGate
}

func newVersionLinks(o *policy.Versions, l layout.Layout) (versionLinks, error) {
	v := versionLinks{o: o, layout: l}
	if o == nil || o.TimeGate == "" {
		return v, nil
	}
	var err error
	v.gate, err = links.New([]policy.LinkRule{o.TimeGateRule()})
	return v, err
}

// areKept reports whether versions are kept of any resources.
func (v *versionLinks) areKept() bool { return v.o != nil }

// keep says which versions of a resource are kept, or is nil if all are.
func (v *versionLinks) keep() *policy.ArchiveKeep {
	if v.o == nil {
		return nil
	}
	return v.o.Keep
}

// areWantedOf reports whether a resource is one whose versions are kept.
func (v *versionLinks) areWantedOf(f *survey.Finding) bool {
	return v.o != nil && (len(v.o.Match) == 0 || policy.MatchesAny(v.o.Match, f.Path))
}

// to returns the links to the current version of a resource and to its TimeMap.
func (v *versionLinks) to(f *survey.Finding, current string) []resourcesync.Link {
	md := &f.Entry.Metadata
	return []resourcesync.Link{{
		Rel: last.RelMemento, Href: current, Modified: f.Entry.LastModified,
		Hash: md.Hash, Length: md.Length, HasLength: md.HasLength, Type: md.Type, Encoding: md.Encoding,
	}, v.toTimeMap(f)}
}

func (v *versionLinks) toTimeMap(f *survey.Finding) resourcesync.Link {
	return resourcesync.Link{Rel: last.RelTimeMap, Href: v.layout.TimeMap(f.URI).URI, Type: timemap.MediaType}
}

// timeGate returns the link to the TimeGate of a resource, or none.
func (v *versionLinks) timeGate(f *survey.Finding) (all []resourcesync.Link, err error) {
	if v.gate == nil || !v.areWantedOf(f) {
		return nil, nil
	}
	planned, err := v.gate.Plan(f.Resource(), nil)
	if err != nil {
		return nil, fmt.Errorf("versions: %w", err)
	}
	for _, p := range planned {
		all = append(all, p.Link)
	}
	return all, nil
}

// timeGateIn returns the TimeGate to which an entry leads, or nothing.
func (v *versionLinks) timeGateIn(f *survey.Finding) string {
	if l := f.Entry.Links[len(f.Entry.Links)-1]; l.Rel == relTimeGate {
		return l.Href
	}
	return ""
}

// published yields the links to a resource's TimeMap and version that are published, each
// with the path of what it leads to. What leads elsewhere than beside the TimeMap of the
// resource is none of ours.
func (v *versionLinks) published(before *snapshot.Previous) iter.Seq2[resourcesync.Link, string] {
	return func(yield func(resourcesync.Link, string) bool) {
		own := v.layout.TimeMap(before.Loc)
		for _, l := range before.Links {
			name, ours := own.Path, l.Rel == last.RelTimeMap && l.Href == own.URI
			if l.Rel == last.RelMemento {
				name, ours = last.VersionPath(v.layout, l.Href, own.Path)
			}
			if ours && !yield(l, name) {
				return
			}
		}
	}
}

// longestExtension is that of formats that hosts know by it.
const longestExtension = 10

// extensionOf returns the extension of a file with its dot, if that is a plain one.
func extensionOf(name string) string {
	e := path.Ext(name)
	if len(e) < 2 || len(e) > longestExtension || strings.Trim(strings.ToLower(e[1:]), "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		return ""
	}
	return e
}
