package last

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/publish"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/scanner"
	"github.com/wellspring-sync/wellspring/templates"
)

// checkTop makes sure that a first publication does not mix with files that somebody
// else put there.
func (p *Publication) checkTop() error {
	if path := p.Layout.SourceDescription().Path; p.IsThere(path) {
		return foreign(path)
	}
	return p.checkEmpty(p.Layout)
}

// checkFolder makes sure that nothing is in the folder of a set that is new.
func (p *Publication) checkFolder(s *Set) error {
	if !s.HasName() {
		return p.checkTop()
	}
	return p.checkEmpty(s.Layout)
}

func foreign(name string) error {
	return &policy.Refusal{
		Why:  fmt.Sprintf("there are files in the way that are not of a publication: %s (--folder puts the documents elsewhere)", name),
		Flag: "--rebase",
	}
}

// checkEmpty makes sure that nothing is where documents are going to be.
func (p *Publication) checkEmpty(l layout.Layout) error {
	if l.Folder == "." {
		for _, name := range p.documents(l.Folder) {
			if p.IsThere(name) {
				return foreign(name)
			}
		}
		return nil
	}
	entries, err := fs.ReadDir(p.FS, l.Folder)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if info, errStat := fs.Stat(p.FS, l.Folder); errStat == nil && !info.IsDir() {
		return foreign(l.Folder)
	}
	if err != nil {
		return fmt.Errorf("looking at the folder %s: %w", l.Folder, err)
	}
	return foreign(path.Join(l.Folder, entries[0].Name()))
}

// checkInTheWay makes sure that the first notification of a publication that is there does
// not replace a file that somebody else put there.
func (p *Publication) checkInTheWay(s *Set) error {
	path := s.Layout.FrameworkNotification().Path
	if s.Options.Hub == "" || s.HadNotification() || !p.IsThere(path) {
		return nil
	}
	return &policy.Refusal{Why: fmt.Sprintf("with a hub, notifications are published as %s, and there is a file in the way that is none", path)}
}

// ForPeople returns the paths of the documents for people that there will be.
func (p *Publication) ForPeople() []string {
	paths := []string{p.Layout.Style().Path}
	if p.next.Page {
		paths = append(paths, p.Layout.Page().Path)
	}
	return paths
}

// checkForPeople makes sure that no file of somebody else is where the page and the
// style sheet of a publication go that is there. Where its record is lost, all that is
// there is taken for its own.
func (p *Publication) checkForPeople() error {
	record := p.Record()
	if record == nil {
		return nil
	}
	for _, path := range p.ForPeople() {
		if record.Head(path) != nil {
			continue
		}
		b, err := snapshot.ReadFile(p.FS, path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && bytes.Equal(b, templates.Style) {
			continue
		}
		why := fmt.Sprintf("%s is in the way: it is not of the publication. Move it elsewhere", path)
		if path == p.Layout.Page().Path {
			why += `, or keep it with page = "none"`
		}
		return &policy.Refusal{Why: why}
	}
	return nil
}

// documents returns the names that the publication uses in a folder. At the top of the
// source, those of directories that it may never need are left to the source.
func (p *Publication) documents(folder string) []string {
	names := p.Layout.Documents()
	if folder != "." {
		return names
	}
	needs := map[string]bool{
		path.Base(p.Layout.Page().Path): p.next.Page || p.HadPage(),
		"versions":                      p.next.Versions, "patches": p.next.Patches, "description": len(p.Sets) > p.next.Limits.Entries,
	}
	if notification := p.Layout.FrameworkNotification().Path; !slices.Contains(p.Leaving.Remove, notification) &&
		!slices.ContainsFunc(p.Sets, func(s *Set) bool { return s.Options.Hub != "" || s.HadNotification() }) {
		names = slices.DeleteFunc(names, func(n string) bool { return n == path.Base(notification) })
	}
	return slices.DeleteFunc(names, func(name string) bool {
		needed, optional := needs[name]
		return optional && !needed && (layout.IsOwned(name) || !p.hasOwned(name))
	})
}

// hasOwned reports whether anything in a directory of the output is of a publication.
func (p *Publication) hasOwned(dir string) bool {
	found := errors.New("found")
	err := fs.WalkDir(p.FS, dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && layout.IsOwned(name) {
			return found
		}
		return nil
	})
	return err == found
}

// folders returns those of the publication and of its sets, and those of one that is
// replaced, without what lies in that of the publication.
func (p *Publication) folders() []string {
	folders := append([]string{p.Layout.Folder}, p.Leaving.Folders...)
	for _, s := range p.Sets {
		folders = append(folders, s.Layout.Folder)
	}
	slices.Sort(folders)
	folders = slices.Compact(folders)
	if p.Layout.Folder == "." {
		return folders
	}
	return slices.DeleteFunc(folders, func(f string) bool { return strings.HasPrefix(f, p.Layout.Folder+"/") })
}

// Own returns where the publication lies, so that it is not taken for a part of
// the source.
func (p *Publication) Own() []scanner.Own {
	var own []scanner.Own
	add := func(dir string, folder bool, names ...string) {
		if info, err := fs.Stat(p.FS, dir); err == nil && info.IsDir() {
			own = append(own, scanner.Own{Dir: info, Names: names, Folder: folder})
		}
	}
	add(".", false, publish.Folder)
	for _, folder := range p.folders() {
		add(folder, folder != ".", append(p.documents(folder), append(p.setFoldersIn(folder), policy.RetainedFile)...)...)
	}
	description := p.Layout.SourceDescription().Path
	add(path.Dir(description), false, path.Base(description))
	return own
}

// setFoldersIn returns the names in a folder of what leads to folders of sets.
func (p *Publication) setFoldersIn(folder string) (names []string) {
	for _, s := range p.Sets {
		if rest, below := strings.CutPrefix(s.Layout.Folder, folder+"/"); below {
			name, _, _ := strings.Cut(rest, "/")
			names = append(names, name)
		}
	}
	return names
}

// Reserved are the URIs of a publication, which no resource may have.
type Reserved struct {
	description string // that of the Source Description, wherever the folder is
	exact       map[string]bool
	prefixes    []string
}

// Reserved returns the URIs that the publication takes.
func (p *Publication) Reserved() *Reserved {
	own := &Reserved{description: p.Layout.SourceDescription().URI, exact: map[string]bool{}}
	own.add(p.Layout, p.documents(p.Layout.Folder))
	for _, s := range p.Sets {
		own.add(s.Layout, p.documents(s.Layout.Folder))
	}
	return own
}

// add takes the URIs of the documents in a folder, unless it lies in one whose URIs
// are taken.
func (r *Reserved) add(l layout.Layout, documents []string) {
	folder := strings.TrimSuffix(l.Record().URI, path.Base(l.Record().Path))
	if l.Folder != "." {
		if !slices.ContainsFunc(r.prefixes, func(p string) bool { return strings.HasPrefix(folder, p) }) {
			r.prefixes = append(r.prefixes, folder)
		}
		return
	}
	for _, name := range documents {
		if strings.Contains(name, ".") {
			r.exact[folder+name] = true
		} else {
			r.prefixes = append(r.prefixes, folder+name+"/")
		}
	}
}

// Check refuses a file that has one of the URIs.
func (r *Reserved) Check(f *scanner.File) error {
	taken := f.URI == r.description || r.exact[f.URI]
	for _, p := range r.prefixes {
		taken = taken || strings.HasPrefix(f.URI, p)
	}
	if !taken {
		return nil
	}
	wayOut := "leave it out with --exclude, or choose another --folder"
	if f.URI == r.description {
		wayOut = "leave it out with --exclude"
	}
	return &policy.Refusal{Why: fmt.Sprintf("the file %q has the URI %s, which is one of the publication's own: %s", f.Path, f.URI, wayOut)}
}
