package layout

import (
	"path"
	"strings"
)

// Names of what people see of a publication. At the top of a site, there may be an
// index.html and a style.css that are the site's own.
const (
	pageName, styleName       = "index.html", "style.css"
	topPageName, topStyleName = "resourcesync.html", "resourcesync.css"
)

// Page returns the page for people, of which there is one for all sets.
func (l Layout) Page() Ref { return l.forPeople(pageName, topPageName) }

// Style returns the style sheet with which browsers show the documents of all sets.
func (l Layout) Style() Ref { return l.forPeople(styleName, topStyleName) }

func (l Layout) forPeople(name, atTop string) Ref {
	if l.ofSet {
		l.Folder = l.top
	}
	if l.Folder == "." {
		name = atTop
	}
	return l.inFolder(name)
}

// IsForPeople reports whether a document with this path is the page or the style sheet.
func (l Layout) IsForPeople(path string) bool {
	return path == l.Page().Path || path == l.Style().Path
}

// StyleFor returns the reference to the style sheet in a document.
func (l Layout) StyleFor(ref Ref) string { return Relative(ref.Path, l.Style().Path) }

// Relative returns the relative reference that leads from one document of a publication
// to another one, by their paths. It holds wherever the publication is, as the URIs of
// documents have the same segments as their paths.
func Relative(from, to string) string {
	above := strings.Split(path.Dir(from), "/")
	if above[0] == "." {
		above = nil
	}
	below := strings.Split(to, "/")
	for len(above) > 0 && len(below) > 1 && above[0] == below[0] {
		above, below = above[1:], below[1:]
	}
	ref := strings.Repeat("../", len(above))
	for i, segment := range below {
		if i > 0 {
			ref += "/"
		}
		ref += escapeAll(segment)
	}
	return ref
}

// escapeAll escapes all that is not always a part of a name, so that the result can
// stand in any text.
func escapeAll(name string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~", c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteString("%" + string(hex[c>>4]) + string(hex[c&15]))
		}
	}
	return b.String()
}

// IsOwnedBeside is IsOwned for a file among others. The page and the style sheet have
// names that many a file has, so that they are known by the record beside them: named
// reports whether another file is among the others.
func IsOwnedBeside(name string, named func(path string) bool) bool {
	if IsOwned(name) {
		return true
	}
	folder, err := checkFolder(path.Dir(name))
	l := Layout{Identity: Identity{Folder: folder}}
	return err == nil && l.IsForPeople(name) && named(l.Record().Path)
}
