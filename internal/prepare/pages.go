package prepare

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/scanner"
)

// List is a Capability List, and what it pertains to.
type List struct {
	URI string
	// Has reports whether a file is in its set of resources, whatever its size.
	// Nil stands for all files.
	Has func(*scanner.File) bool
	// MinSize and MaxSize bound the files that are in it, in bytes, with the link in
	// them; a MaxSize of 0 is no limit.
	MinSize, MaxSize int64
}

// Pages says in which pages links are put.
type Pages struct {
	// Root is the directory of the site.
	Root   *os.Root
	Scan   scanner.Options
	Lists  []List
	DryRun bool
	// OnFile is told of each page; nil is fine.
	OnFile func(File)
}

// PagesReport says what was done.
type PagesReport struct {
	Updated   int `json:"updated"`
	Unchanged int `json:"unchanged"`
	// InNoSet counts pages that no Capability List pertains to.
	InNoSet int    `json:"in_no_set"`
	Left    []Left `json:"left_alone"`
}

// maxPage is how large a page may be, in bytes: it is held in memory.
const maxPage = 16 << 20

// Run puts links into all HTML pages of the site. If it fails, the pages before are
// done, and those behind are not.
func (p *Pages) Run(ctx context.Context) (*PagesReport, error) {
	tree, err := scanner.NewTree(p.Root)
	if err != nil {
		return nil, err
	}
	if p.OnFile == nil {
		p.OnFile = func(File) {}
	}
	r := &pagesRun{Pages: p, site: site{root: p.Root, dryRun: p.DryRun}}
	for f, err := range scanner.Scan(ctx, tree, p.Scan) {
		if err == nil && isPage(f.Path) && !p.isPublished(f.Path) {
			err = r.page(f)
		}
		if err != nil {
			return nil, err
		}
	}
	r.report.Left = r.left.sorted()
	return &r.report, r.site.finish()
}

// isPublished reports whether a file is of a publication, be it an old one in another
// folder.
func (p *Pages) isPublished(name string) bool {
	return layout.IsWrittenOnce(name) || layout.IsOwnedBeside(name, func(record string) bool {
		info, err := p.Root.Stat(filepath.FromSlash(record))
		return err == nil && info.Mode().IsRegular()
	})
}

// isPage reports whether a file is an HTML page by its name.
func isPage(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".html", ".htm", ".xhtml", ".xht":
		return true
	}
	return false
}

type pagesRun struct {
	*Pages
	site   site
	report PagesReport
	left   lefts
}

// page brings one page up to date.
func (r *pagesRun) page(f *scanner.File) error {
	switch {
	case f.Path != f.Real:
		r.left.add(ReachedByLink, f.Path)
		return nil
	case f.Size > maxPage:
		r.left.add(LargePage, f.Path)
		return nil
	}
	page, info, err := r.site.read(f.Path, maxPage)
	if err != nil {
		return fmt.Errorf("reading a page: %w", err)
	}
	result, linked, err := insertFitting(page, r.listsOf(f))
	if why, ok := errors.AsType[LeftAlone](err); ok {
		r.left.add(why, f.Path)
		return nil
	}
	action := Unchanged
	if !bytes.Equal(result, page) {
		action = Updated
		if err := r.site.replace(f.Path, result, info); err != nil {
			return fmt.Errorf("writing a page: %w", err)
		}
	}
	r.count(action, linked)
	r.OnFile(File{f.Path, action})
	return nil
}

func (r *pagesRun) count(action Action, linked bool) {
	switch {
	case action == Updated:
		r.report.Updated++
	case linked:
		r.report.Unchanged++
	default:
		r.report.InNoSet++
	}
}

// listsOf returns the lists that pertain to a file, if its size is right.
func (r *pagesRun) listsOf(f *scanner.File) (lists []List) {
	for _, l := range r.Lists {
		if l.Has == nil || l.Has(f) {
			lists = append(lists, l)
		}
	}
	return lists
}

// insertFitting puts links to lists into a page, as far as the page is in them with
// the links.
func insertFitting(page []byte, lists []List) (result []byte, linked bool, err error) {
	for {
		uris := make([]string, len(lists))
		for i := range lists {
			uris[i] = lists[i].URI
		}
		if result, err = Insert(page, uris); err != nil {
			return nil, false, err
		}
		size := int64(len(result))
		fitting := slices.DeleteFunc(slices.Clone(lists), func(l List) bool {
			return size < l.MinSize || l.MaxSize > 0 && size > l.MaxSize
		})
		if len(fitting) == len(lists) {
			return result, len(lists) > 0, nil
		}
		lists = fitting
	}
}
