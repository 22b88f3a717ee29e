package generator

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

	used bool
}

// resourceRule returns the first rule about a path that says something, or nil.
func (o *Options) resourceRule(path string, says func(*ResourceRule) bool) *ResourceRule {
	for _, r := range o.Resources {
		if says(r) && matchesAny(r.Match, path) {
			return r
		}
	}
	return nil
}

// encodingOf returns the rule by which a file is stored in a content coding, or nil.
func (o *Options) encodingOf(path string) *ResourceRule {
	return o.resourceRule(path, func(r *ResourceRule) bool { return r.Encoding != "" })
}

// longestEncoding returns the longest name of a content coding that rules give.
func (o *Options) longestEncoding() (longest string) {
	for _, r := range o.Resources {
		if len(r.Encoding) > len(longest) {
			longest = r.Encoding
		}
	}
	return longest
}

// setEncoding says of a resource that is stored in a content coding which one that is,
// and the media type of what it decodes to, as far as its name says.
func (o *Options) setEncoding(f *finding) {
	if rule := o.encodingOf(f.Path); rule != nil {
		rule.used = true
		f.entry.Metadata.Encoding, f.entry.Metadata.Type = rule.Encoding, decodedType(f.Path)
	}
}

// decodedType returns the media type of a file whose name has the ending of a content
// coding.
func decodedType(name string) string {
	return hashing.ByExtension(strings.TrimSuffix(name, path.Ext(name)))
}

// typeByName returns the media type of a file, if its name tells it.
func (o *Options) typeByName(name string) string {
	if o.encodingOf(name) != nil {
		return decodedType(name)
	}
	return hashing.ByExtension(name)
}

// typeOf returns the media type that is published of a file, of whose content one is
// known.
func (o *Options) typeOf(name, found string) string {
	if o.encodingOf(name) != nil {
		return decodedType(name)
	}
	return found
}

// mustSniff reports whether the media type of a file that is as it was has to be found
// out again, since it was that of what the file decoded to.
func (d *detector) mustSniff(c *candidate) bool {
	return c.Before.Metadata.Encoding != "" && d.o.typeByName(c.After.Path) == "" && d.o.encodingOf(c.After.Path) == nil
}

// stripped returns the name under which a file is served, without the ending of a
// content coding.
func (o *Options) stripped(name string) string {
	if rule := o.encodingOf(name); rule != nil {
		if stem := strings.TrimSuffix(name, rule.Strip); stem != "" && stem != "." && stem != ".." {
			return stem
		}
	}
	return name
}

func (o *Options) strips() bool {
	for _, r := range o.Resources {
		if r.Strip != "" {
			return true
		}
	}
	return false
}

// key returns what a directory entry contributes to URIs.
func (o *Options) key(l layout.Layout) func(dst []byte, name string, dir bool) []byte {
	if !o.strips() {
		return l.AppendKey
	}
	return func(dst []byte, name string, dir bool) []byte {
		if !dir {
			name = o.stripped(name)
		}
		return l.AppendKey(dst, name, dir)
	}
}

// variant reports whether a file is left out if the one is there under whose name it
// is served.
func (o *Options) variant() func(name string) bool {
	if !o.strips() {
		return nil
	}
	return func(name string) bool { return o.stripped(name) != name }
}

// uri returns the URI of a file.
func (r *run) uri(name string) string {
	dir, file := path.Split(name)
	return r.layout.URI(dir + r.o.stripped(file))
}
