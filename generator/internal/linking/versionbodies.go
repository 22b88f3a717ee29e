package linking

import (
	"errors"
	"fmt"
	"io"

	"github.com/wellspring-sync/wellspring/generator/internal/stage"
	"github.com/wellspring-sync/wellspring/generator/internal/survey"
	"github.com/wellspring-sync/wellspring/layout"
)

// Former opens what an updated resource was, out of the last Resource Dump of one of its
// sets. It returns nil if none has it.
type Former func(f *survey.Finding) (io.ReadCloser, error)

// Staged is a staged file that has a name already.
type Staged struct {
	File *stage.File
	Ref  layout.Ref
}

// versionBodies stages versions.
type versionBodies struct {
	area   *stage.Area // nil in a dry run, which stages none
	layout layout.Layout
	former Former
	kept   []Staged
}

// stageFormer takes what a resource was out of the last Resource Dump, or returns nil if
// that does not have it.
func (b *versionBodies) stageFormer(f *survey.Finding) (*Staged, error) {
	former, err := b.former(f)
	if err != nil || former == nil {
		return nil, err
	}
	defer former.Close()
	x, err := b.stage(f, func(w io.Writer) error {
		_, err := io.Copy(w, former)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("taking the former version of %q out of the Resource Dump: %w", f.Path, err)
	}
	return x, nil
}

func (b *versionBodies) stage(f *survey.Finding, write func(io.Writer) error) (*Staged, error) {
	file, err := b.area.Create()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(write(file), file.Close()); err != nil {
		return nil, err
	}
	if err := file.Sync(); err != nil {
		return nil, err
	}
	return &Staged{file, b.layout.Version(f.URI, file.Digest, extensionOf(f.Path))}, nil
}

// keep keeps those of the versions that are needed.
func (b *versionBodies) keep(staged []Staged, isNeeded func(Staged) bool) error {
	for _, x := range staged {
		if isNeeded(x) {
			b.kept = append(b.kept, x)
		} else if err := x.File.Discard(); err != nil {
			return err
		}
	}
	return nil
}
