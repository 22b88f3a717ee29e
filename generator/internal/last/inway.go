package last

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/templates"
)

// guard keeps a publication from mixing with files that somebody else put there.
type guard struct{ pub *Publication }

// checkTop makes sure that a first publication does not mix with files that somebody
// else put there.
func (g *guard) checkTop() error {
	if path := g.pub.Layout.SourceDescription().Path; g.pub.Files.IsThere(path) {
		return foreign(path)
	}
	return g.checkEmpty(g.pub.Layout)
}

// checkFolder makes sure that nothing is in the folder of a set that is new.
func (g *guard) checkFolder(s *Set) error {
	if !s.HasName() {
		return g.checkTop()
	}
	return g.checkEmpty(s.Layout)
}

func foreign(name string) error {
	return &policy.Refusal{
		Why:  fmt.Sprintf("there are files in the way that are not of a publication: %s (--folder puts the documents elsewhere)", name),
		Flag: "--rebase",
	}
}

// checkEmpty makes sure that nothing is where documents are going to be.
func (g *guard) checkEmpty(l layout.Layout) error {
	if l.Folder == "." {
		for _, name := range g.pub.documents(l.Folder) {
			if g.pub.Files.IsThere(name) {
				return foreign(name)
			}
		}
		return nil
	}
	entries, err := fs.ReadDir(g.pub.Files.FS, l.Folder)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if info, errStat := fs.Stat(g.pub.Files.FS, l.Folder); errStat == nil && !info.IsDir() {
		return foreign(l.Folder)
	}
	if err != nil {
		return fmt.Errorf("looking at the folder %s: %w", l.Folder, err)
	}
	return foreign(path.Join(l.Folder, entries[0].Name()))
}

// checkInTheWay makes sure that the first notification of a publication that is there does
// not replace a file that somebody else put there.
func (g *guard) checkInTheWay(s *Set) error {
	path := s.Layout.FrameworkNotification().Path
	if s.Options.Hub == "" || s.HadNotification() || !g.pub.Files.IsThere(path) {
		return nil
	}
	return &policy.Refusal{Why: fmt.Sprintf("with a hub, notifications are published as %s, and there is a file in the way that is none", path)}
}

// checkForPeople makes sure that no file of somebody else is where the page and the
// style sheet of a publication go that is there. Where its record is lost, all that is
// there is taken for its own.
func (g *guard) checkForPeople() error {
	record := g.pub.Record()
	if record == nil {
		return nil
	}
	for _, path := range g.pub.ForPeople() {
		if record.Head(path) != nil {
			continue
		}
		b, err := snapshot.ReadFile(g.pub.Files.FS, path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && bytes.Equal(b, templates.Style) {
			continue
		}
		why := fmt.Sprintf("%s is in the way: it is not of the publication. Move it elsewhere", path)
		if path == g.pub.Layout.Page().Path {
			why += `, or keep it with page = "none"`
		}
		return &policy.Refusal{Why: why}
	}
	return nil
}
