package policy

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"

	"github.com/wellspring-sync/wellspring/layout"
)

// Set is a set of resources with a Capability List of its own. See Z39.99-2017 §9.
type Set struct {
	// Name is what people call it. It is in messages and on the page, and not in
	// documents.
	Name string
	// Folder holds its documents: a slash path relative to the publication. By
	// default it is the name, in the folder of the publication.
	Folder string
	// Resources says what is in it.
	Resources Selection
	// DescribedBy is the URI of what describes it, or empty.
	DescribedBy string
	// Hub is the URL of the hub through which changes of its documents are told, or
	// empty.
	Hub string

	// These are as in generator.Options, which say nothing of it where there are sets.
	Dumps       Dumps
	PackageSize int64
	Rotate      Rotation
	KeepChanges Keep
	Archive     *bool
	ArchiveKeep ArchiveKeep
}

// WithDefaults returns the set with the defaults of what is not said of it.
func (s Set) WithDefaults() Set {
	if s.PackageSize <= 0 {
		s.PackageSize = DefaultPackageSize
	}
	if s.KeepChanges == (Keep{}) {
		s.KeepChanges = DefaultKeepChanges
	}
	if s.ArchiveKeep == (ArchiveKeep{}) {
		s.ArchiveKeep = DefaultArchiveKeep
	}
	return s
}

// RetainedFile is where a run that leaves bodies where they are says which must
// not be removed there: in the publication's folder, a path on each line.
const RetainedFile = "retain.txt"

// CheckSets returns an error if sets have the same name or folder in a publication, or
// one that cannot be.
func CheckSets(top layout.Layout, sets []Set) error {
	folders := map[string]string{}
	names := map[string]bool{}
	for i := range sets {
		s := &sets[i]
		switch {
		case s.Name == "":
			return errors.New("a set has no name")
		case strings.ContainsFunc(s.Name, unicode.IsControl):
			return fmt.Errorf("the set %q has a control character in its name", s.Name)
		case names[s.Name]:
			return fmt.Errorf("there are two sets with the name %q", s.Name)
		}
		names[s.Name] = true
		l, err := s.Layout(top)
		if err == nil {
			err = checkSetFolder(top.Folder, l.Folder)
		}
		if err != nil {
			return fmt.Errorf("the set %q: %w", s.Name, err)
		}
		folded := strings.ToLower(l.Folder) // which some file systems take for one
		if other, ok := folders[folded]; ok {
			return fmt.Errorf("the sets %q and %q have the same folder %s", other, s.Name, l.Folder)
		}
		folders[folded] = s.Name
	}
	return checkNested(folders)
}

// Layout names the documents of a set, in the publication with a layout of its own.
func (s *Set) Layout(top layout.Layout) (layout.Layout, error) {
	switch {
	case s.Folder != "":
		return top.OfSet(s.Folder)
	case top.Folder == ".":
		return top.OfSet(s.Name)
	}
	return top.OfSet(top.Folder + "/" + s.Name)
}

// checkSetFolder makes sure that a set has a folder of its own, which is not a name
// that the publication uses itself.
func checkSetFolder(top, folder string) error {
	if strings.EqualFold(folder, top) || folder == "." {
		return fmt.Errorf("its folder %s is that of the publication", folder)
	}
	rest, inside := strings.CutPrefix(folder, top+"/")
	if top == "." {
		rest, inside = folder, true
	}
	if name, _, _ := strings.Cut(rest, "/"); inside && (layout.IsTopName(strings.ToLower(name)) || strings.EqualFold(name, RetainedFile)) {
		return fmt.Errorf("its folder has the name %s, which the publication uses itself", name)
	}
	return nil
}

// checkNested makes sure that no set lies in the folder of another one.
func checkNested(folders map[string]string) error {
	for folder, name := range folders {
		for above := path.Dir(folder); above != "."; above = path.Dir(above) {
			if other, ok := folders[above]; ok {
				return fmt.Errorf("the folder of the set %q lies in that of %q", name, other)
			}
		}
	}
	return nil
}
