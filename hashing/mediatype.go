package hashing

import (
	_ "embed" // for the table
	"strings"

	"github.com/gabriel-vasile/mimetype"
)

// SniffLength is how many first bytes Sniff wants.
const SniffLength = 3072

// longestExtension is the length of the table's longest key. It bounds the
// buffer that folds the case of an extension, so that folding needs no heap.
const longestExtension = len("webmanifest")

// octetStream is what the sniffing library calls bytes it does not know.
const octetStream = "application/octet-stream"

// The library takes input shorter than its limit for a whole file, and input
// as long as the limit for the start of one. Were its limit not SniffLength,
// the start of a long JSON file would look like a broken one.
func init() { mimetype.SetLimit(SniffLength) }

// MediaType returns the media type a web host would send for a file of this
// name whose first bytes are head, or "" where neither tells. The name comes
// first, since hosts go by it alone. The answer is the same on every machine.
func MediaType(name string, head []byte) string {
	if t := ByExtension(name); t != "" {
		return t
	}
	return Sniff(head)
}

// ByExtension returns the media type that the name's extension stands for, or
// "" where it says nothing. The name is a slash path or a base name; case does
// not matter.
//
// Only the text after the last dot counts: a host that sends stored bytes as
// they are sends a.tar.gz, a.warc.gz and a.xml.gz alike as application/gzip.
func ByExtension(name string) string {
	ext := extension(name)
	if hasUpper(ext) {
		return byFoldedExtension(ext)
	}
	return extensionTypes[ext]
}

// extension returns the text after the last dot of the base name, or "". The
// dot of a hidden file (".html") starts its name, not an extension.
func extension(name string) string {
	base := name[strings.LastIndexByte(name, '/')+1:]
	dot := strings.LastIndexByte(base, '.')
	if dot <= 0 {
		return ""
	}
	return base[dot+1:]
}

func hasUpper(s string) bool {
	for i := range len(s) {
		if isUpper(s[i]) {
			return true
		}
	}
	return false
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

// byFoldedExtension folds ASCII only: Unicode has letters outside ASCII that
// fold into it (the Kelvin sign), and no host takes those for an extension.
func byFoldedExtension(ext string) string {
	if len(ext) > longestExtension {
		return ""
	}
	var folded [longestExtension]byte
	for i := range len(ext) {
		folded[i] = ext[i]
		if isUpper(ext[i]) {
			folded[i] += 'a' - 'A'
		}
	}
	return extensionTypes[string(folded[:len(ext)])]
}

// Sniff returns the media type that the first bytes of a file show, or ""
// where they show none. Bytes past SniffLength are not looked at; a shorter
// head is taken to be the whole file.
func Sniff(head []byte) string {
	if len(head) == 0 {
		return "" // the library would call an empty file text
	}
	head = head[:min(len(head), SniffLength)]
	t, _, _ := strings.Cut(mimetype.Detect(head).String(), ";")
	if t == octetStream {
		return ""
	}
	return t
}

//go:embed mediatypes.txt
var mediaTypes string

// extensionTypes has the media types of mediatypes.txt by extension.
var extensionTypes = func() map[string]string {
	types := map[string]string{}
	for line := range strings.Lines(mediaTypes) {
		line, _, _ = strings.Cut(line, "#")
		if fields := strings.Fields(line); len(fields) == 2 {
			types[fields[0]] = fields[1]
		}
	}
	return types
}()
