package policy

import (
	"path"
	"strings"

	"github.com/wellspring-sync/wellspring/hashing"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/scanner"
)

// ResourceRule says something of resources whose paths match. See Z39.99-2017 §7.
type ResourceRule struct {
	Name  string
	Match []scanner.Glob
	// ChangeFreq is a hint about how often they change, or empty.
	ChangeFreq string
	// Encoding is the content coding in which they are stored and served, or empty.
	Encoding string
	// Strip is the ending of names, such as .gz, that is not in URIs; it needs an
	// Encoding. A file whose name without it is there, too, is left out.
	Strip string
}

// ResourceRules are rules in order: of those that say something of a resource, the first
// one that matches counts.
type ResourceRules []ResourceRule

// ChangeFreqOf returns which rule says how often a file changes, by its number, or -1.
func (rs ResourceRules) ChangeFreqOf(path string) int {
	return rs.find(path, func(r *ResourceRule) bool { return r.ChangeFreq != "" })
}

// EncodingOf returns which rule says that a file is stored in a content coding, by its
// number, or -1.
func (rs ResourceRules) EncodingOf(path string) int {
	return rs.find(path, func(r *ResourceRule) bool { return r.Encoding != "" })
}

func (rs ResourceRules) find(path string, says func(*ResourceRule) bool) int {
	for i := range rs {
		if says(&rs[i]) && MatchesAny(rs[i].Match, path) {
			return i
		}
	}
	return -1
}

// LongestEncoding returns the longest name of a content coding that rules give.
func (rs ResourceRules) LongestEncoding() (longest string) {
	for i := range rs {
		if len(rs[i].Encoding) > len(longest) {
			longest = rs[i].Encoding
		}
	}
	return longest
}

// DecodedType returns the media type of a file whose name has the ending of a content
// coding.
func DecodedType(name string) string {
	return hashing.ByExtension(strings.TrimSuffix(name, path.Ext(name)))
}

// TypeByName returns the media type of a file, if its name tells it.
func (rs ResourceRules) TypeByName(name string) string {
	if rs.EncodingOf(name) >= 0 {
		return DecodedType(name)
	}
	return hashing.ByExtension(name)
}

// TypeOf returns the media type that is published of a file, of whose content one is
// known.
func (rs ResourceRules) TypeOf(name, found string) string {
	if rs.EncodingOf(name) >= 0 {
		return DecodedType(name)
	}
	return found
}

// Stripped returns the name under which a file is served, without the ending of a
// content coding.
func (rs ResourceRules) Stripped(name string) string {
	if i := rs.EncodingOf(name); i >= 0 {
		if stem := strings.TrimSuffix(name, rs[i].Strip); stem != "" && stem != "." && stem != ".." {
			return stem
		}
	}
	return name
}

// URI returns the URI of a file.
func (rs ResourceRules) URI(l layout.Layout, name string) string {
	dir, file := path.Split(name)
	return l.URI(dir + rs.Stripped(file))
}

// Paths returns the paths of the files that may have been published under a URI.
func (rs ResourceRules) Paths(l layout.Layout, uri string) []string {
	paths := l.Paths(uri)
	for _, name := range paths {
		for i := range rs {
			if strip := rs[i].Strip; strip != "" && rs.Stripped(name+strip) == name {
				paths = append(paths, name+strip)
			}
		}
	}
	return paths
}

// Key returns what a directory entry contributes to URIs, as scanner.Options has it.
func (rs ResourceRules) Key(l layout.Layout) func(dst []byte, name string, dir bool) []byte {
	if !rs.strips() {
		return l.AppendKey
	}
	return func(dst []byte, name string, dir bool) []byte {
		if !dir {
			name = rs.Stripped(name)
		}
		return l.AppendKey(dst, name, dir)
	}
}

// Variant reports whether a file is left out if the one is there under whose name it
// is served, as scanner.Options has it.
func (rs ResourceRules) Variant() func(name string) bool {
	if !rs.strips() {
		return nil
	}
	return func(name string) bool { return rs.Stripped(name) != name }
}

func (rs ResourceRules) strips() bool {
	for i := range rs {
		if rs[i].Strip != "" {
			return true
		}
	}
	return false
}
