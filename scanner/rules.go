package scanner

import (
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Reason says why something is left out of the source.
type Reason string

// The reasons.
const (
	Hidden         Reason = "hidden"
	EditorFile     Reason = "editor's file"
	VersionControl Reason = "version control"
	HostFile       Reason = "host's control file"
	PrivateKey     Reason = "private key"
	Published      Reason = "publication"
	InFolder       Reason = "in the publication's folder"
	Special        Reason = "not a regular file"
	Symlink        Reason = "symbolic link"
	DanglingLink   Reason = "link to nothing"
	OutsideLink    Reason = "link out of the source"
	LoopLink       Reason = "link that goes in a circle"
	Excluded       Reason = "excluded"
	NotIncluded    Reason = "not included"
	Vanished       Reason = "vanished"
	Beside         Reason = "stored form of a file beside it"
)

// Rules say which files belong to the source. The zero value takes all but what
// is never meant to be published.
type Rules struct {
	// Include, if not empty, names what alone is taken.
	Include []Glob
	// Exclude names what is left out, and wins.
	Exclude []Glob
	// Hidden takes names that begin with a dot, too.
	Hidden bool
}

// Glob is a pattern for paths: * and ? stop at a slash, ** does not, [a-z] and
// {a,b} are choices. A pattern without a slash is about names at any depth, one
// with a slash about paths from the top of the source; a slash at its end is
// about directories. What matches a directory goes for all that is below it.
type Glob struct {
	pattern  string
	anchored bool
	dirOnly  bool
}

// NewGlob checks a pattern.
func NewGlob(pattern string) (Glob, error) {
	p := strings.TrimSuffix(pattern, "/")
	g := Glob{dirOnly: p != pattern, anchored: strings.Contains(p, "/")}
	g.pattern = strings.TrimPrefix(p, "/")
	if g.pattern == "" || !doublestar.ValidatePattern(g.pattern) {
		return Glob{}, fmt.Errorf("%q is not a pattern (quote *, ? and [ with a backslash to mean themselves)", pattern)
	}
	for segment := range strings.SplitSeq(g.pattern, "/") {
		if segment == "" || segment == "." || segment == ".." {
			return Glob{}, fmt.Errorf("%q matches nothing: paths begin at the top of the source and have no %q in them", pattern, segment)
		}
	}
	return g, nil
}

// Matches reports whether the pattern is about a file, or about a directory in which
// it is.
func (g *Glob) Matches(path string) bool {
	for end := 1; end <= len(path); end++ {
		if end < len(path) && path[end] != '/' {
			continue
		}
		entry := path[:end]
		if g.match(entry, entry[strings.LastIndexByte(entry, '/')+1:], end < len(path)) {
			return true
		}
	}
	return false
}

// Folder returns the name of the one folder at the top of the source in which all is
// that the pattern is about, and false if there is none such.
func (g *Glob) Folder() (string, bool) {
	name, _, below := strings.Cut(g.pattern, "/")
	return name, g.anchored && (below || g.dirOnly) && !strings.ContainsAny(name, `*?[{\\`)
}

// match reports whether the pattern is about this entry itself.
func (g *Glob) match(path, name string, dir bool) bool {
	if g.dirOnly && !dir {
		return false
	}
	if !g.anchored {
		path = name
	}
	return doublestar.MatchUnvalidated(g.pattern, path)
}

// spells reports whether the pattern, or the beginning of it, matches the path
// with a last segment that says something of the name. As in a shell, only that
// brings in what is left out otherwise.
func (g *Glob) spells(path, name string) bool {
	if !g.anchored {
		return meansName(g.pattern, name) && doublestar.MatchUnvalidated(g.pattern, name)
	}
	for end := 0; end <= len(g.pattern); end++ {
		if end < len(g.pattern) && g.pattern[end] != '/' {
			continue
		}
		prefix := g.pattern[:end]
		segment := prefix[strings.LastIndexByte(prefix, '/')+1:]
		if meansName(segment, name) && doublestar.MatchUnvalidated(prefix, path) {
			return true
		}
	}
	return false
}

// meansName reports whether a segment of a pattern has more than wildcards in
// it and, for a hidden name, begins with its dot.
func meansName(segment, name string) bool {
	if name[0] == '.' && !strings.HasPrefix(segment, ".") {
		return false
	}
	return strings.Trim(segment, "*?.") != ""
}

// judge says whether an entry belongs to the source, and if it does, whether a
// rule takes all below it.
func (r *Rules) judge(path, name string, dir, inherited bool) (included bool, why Reason) {
	if why := r.leaveOut(path, name, dir); why != "" {
		return false, why
	}
	if len(r.Include) == 0 {
		return true, ""
	}
	included = inherited
	for i := range r.Include {
		included = included || r.Include[i].match(path, name, dir)
	}
	if !included && !dir {
		return false, NotIncluded
	}
	return included, ""
}

// leaveOut says whether an entry is excluded, or left out by default and not
// spelled out by a rule.
func (r *Rules) leaveOut(path, name string, dir bool) Reason {
	for i := range r.Exclude {
		if r.Exclude[i].match(path, name, dir) {
			return Excluded
		}
	}
	why := neverMeant(name, path == name)
	if why == "" || why == Hidden && r.Hidden {
		return ""
	}
	for i := range r.Include {
		if r.Include[i].spells(path, name) {
			return ""
		}
	}
	return why
}

// leaveOutTarget says whether a link leads to what must not get out by another
// name: to what is excluded, to version control or to private keys. A link to a
// hidden folder is one way to publish it, and taken to be meant.
func (r *Rules) leaveOutTarget(real string, dir bool) Reason {
	for end := 0; end <= len(real); end++ {
		if end < len(real) && real[end] != '/' {
			continue
		}
		path := real[:end]
		name := path[strings.LastIndexByte(path, '/')+1:]
		if why := r.leaveOut(path, name, dir || end < len(real)); why == Excluded || why == VersionControl || why == PrivateKey {
			return why
		}
	}
	return ""
}

// neverMeant names the reason why something with this name is hardly meant to
// be published.
func neverMeant(name string, top bool) Reason {
	switch {
	case isVersionControl(name):
		return VersionControl
	case isEditorFile(name):
		return EditorFile
	case name[0] == '.' && name != ".well-known":
		return Hidden
	case top && isHostFile(name), name == "web.config", name == "wellspring.toml":
		return HostFile
	case isKeyFile(name):
		return PrivateKey
	}
	return ""
}

// takesAsUsual reports whether a file or directory belongs to the source without
// a rule that has to look at its path.
func (r *Rules) takesAsUsual(name string, top bool) bool {
	return len(r.Include) == 0 && len(r.Exclude) == 0 && neverMeant(name, top) == ""
}

func isVersionControl(name string) bool {
	switch name {
	case ".git", ".gitignore", ".gitattributes", ".gitmodules", ".hg", ".hgignore", ".svn", ".bzr",
		".fslckout", "_FOSSIL_", "_darcs", "CVS", "RCS", "SCCS":
		return true
	}
	return false
}

// isHostFile knows what steers static hosts, at the top of a site, and is not
// served.
func isHostFile(name string) bool {
	switch name {
	case "_headers", "_redirects", "_routes.json", "_worker.js", "netlify.toml", "vercel.json", "now.json",
		"staticwebapp.config.json", "wrangler.toml", "wrangler.json", "wrangler.jsonc", "firebase.json", "amplify.yml",
		"render.yaml", "app.yaml", "fly.toml":
		return true
	}
	return false
}

// isKeyFile knows the names and endings of files that have private keys in them.
func isKeyFile(name string) bool {
	switch name {
	case "id_rsa", "id_dsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk":
		return true
	}
	for _, suffix := range [...]string{".pem", ".p12", ".pfx", ".ppk"} {
		if len(name) > len(suffix) && strings.EqualFold(name[len(name)-len(suffix):], suffix) {
			return true
		}
	}
	return false
}

// isEditorFile knows backup, swap and lock files, and what file managers leave.
func isEditorFile(name string) bool {
	if strings.HasSuffix(name, "~") || strings.HasPrefix(name, "~$") || strings.HasPrefix(name, ".#") ||
		len(name) > 1 && name[0] == '#' && name[len(name)-1] == '#' {
		return true
	}
	for _, suffix := range [...]string{".swp", ".swo", ".swx", "___jb_tmp___", "___jb_old___"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return name == ".DS_Store" || name == "Thumbs.db" || name == "desktop.ini" || name == "__MACOSX"
}
