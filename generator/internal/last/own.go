package last

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/publish"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/scanner"
)

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
	err := fs.WalkDir(p.Files.FS, dir, func(name string, d fs.DirEntry, err error) error {
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
		if info, err := fs.Stat(p.Files.FS, dir); err == nil && info.IsDir() {
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
