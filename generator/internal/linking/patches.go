package linking

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/internal/stage"
	"github.com/wellspring-sync/wellspring/generator/internal/survey"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/patch"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/zipdump"
)

// Patches describes how updated resources have changed, where that is much shorter. All
// methods do nothing if it is nil.
type Patches struct {
	o       *policy.Patches
	layout  layout.Layout
	area    *stage.Area
	former  Former
	matched bool // a file matched the patterns
	files   []Staged
	paths   map[string]bool // of files
}

// NewPatches returns what makes patches, or nil if the options are nil. The area is nil in
// a dry run, which makes none.
func NewPatches(o *policy.Patches, l layout.Layout, area *stage.Area, former Former) *Patches {
	if o == nil {
		return nil
	}
	return &Patches{o: o, layout: l, area: area, former: former, paths: map[string]bool{}}
}

// Annotate makes a patch for an updated resource, if it is worth it.
func (p *Patches) Annotate(f *survey.Finding) error {
	if p == nil {
		return nil
	}
	wanted := p.areWantedOf(f)
	p.matched = p.matched || wanted
	if !wanted || p.area == nil || f.Type != resourcesync.Updated || !f.IsUpdatedAnywhere() || f.Content == nil ||
		max(f.Size, f.FormerLength()) > patch.MaxLength {
		return nil
	}
	made, err := p.describe(f)
	if err != nil || made == nil {
		return err
	}
	file, err := p.area.Complete(made.Content)
	if err != nil {
		return err
	}
	ref := p.layout.Patch(file.Digest, made.Extension)
	f.Patch = &survey.Patch{
		Link: linkTo(ref, file.Hash(), file.Length, made.Type), Path: pathInPackage(f, made.Extension), Content: made.Content,
	}
	if p.paths[ref.Path] { // another resource has changed just so
		return file.Discard()
	}
	p.paths[ref.Path] = true
	p.files = append(p.files, Staged{file, ref})
	return nil
}

// areWantedOf reports whether a resource is one that can have patches.
func (p *Patches) areWantedOf(f *survey.Finding) bool {
	return len(p.o.Match) == 0 || policy.MatchesAny(p.o.Match, f.Path)
}

// describe describes how a resource has changed, or returns nil.
func (p *Patches) describe(f *survey.Finding) (*patch.Patch, error) {
	former, err := p.former(f)
	if err != nil || former == nil {
		return nil, err
	}
	defer former.Close()
	before, err := io.ReadAll(former)
	if err != nil {
		return nil, fmt.Errorf("reading what %q was: %w", f.Path, err)
	}
	var now bytes.Buffer
	if err := f.Content.WriteContent(&now); err != nil {
		return nil, err
	}
	return patch.Make(f.Entry.Metadata.Type, before, now.Bytes())
}

// linkTo returns the link to a patch.
func linkTo(ref layout.Ref, hash resourcesync.Hash, length int64, mediaType string) resourcesync.Link {
	return resourcesync.Link{Rel: last.RelPatch, Href: ref.URI, Hash: hash, Length: length, HasLength: true, Type: mediaType}
}

// pathInPackage is where a patch is in a package of a Change Dump.
func pathInPackage(f *survey.Finding, extension string) string {
	return "patches/" + strings.TrimPrefix(zipdump.Path(f.Path), "resources/") + extension
}

// Files are the patches, as bodies, each once.
func (p *Patches) Files() []Staged {
	if p == nil {
		return nil
	}
	return p.files
}

// Warnings are for people, once all findings are annotated.
func (p *Patches) Warnings() []string {
	if p == nil || p.matched {
		return nil
	}
	return []string{"patches: no file matches the patterns"}
}
