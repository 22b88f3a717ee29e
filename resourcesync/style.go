package resourcesync

import (
	"bytes"
	"errors"
	"strings"
)

// How a document names its style sheet, so that a browser shows it to people. See
// Associating Style Sheets with XML documents 1.0 §4.
const (
	styleTarget = "xml-stylesheet"
	styleData   = `type="text/css" href="`
	styleStart  = "<?" + styleTarget + " " + styleData
	styleEnd    = `"?>` + "\n"
)

var errStyle = errors.New("the reference to the style sheet has characters that have to be escaped")

// IsStyle reports whether a relative reference can name the style sheet of a
// document: it has nothing in it but slashes and characters of names, all others being
// percent-encoded.
func IsStyle(ref string) bool {
	for i := range len(ref) {
		switch c := ref[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~%/", c) >= 0:
		default:
			return false
		}
	}
	return ref != ""
}

func (w *writer) style(ref string) {
	if !IsStyle(ref) {
		w.fail(errStyle)
	}
	w.text(styleStart)
	w.text(ref)
	w.text(styleEnd)
}

// styleOf returns the reference in the data of a processing instruction, if that has
// the form in which it is written here.
func styleOf(data string) string {
	ref, ok := strings.CutPrefix(data, styleData)
	if ref, ok2 := strings.CutSuffix(ref, `"`); ok && ok2 && IsStyle(ref) {
		return ref
	}
	return ""
}

// fastStyle takes the line that AppendHead writes, if it comes next.
func (d *Decoder) fastStyle() {
	line := d.lines.peek()
	rest, ok := strings.CutPrefix(line, styleStart)
	if ref, ok2 := strings.CutSuffix(rest, styleEnd); ok && ok2 && IsStyle(ref) {
		d.document.Style = ref
		d.lines.take(line)
	}
}

// SetStyle returns a document as AppendHead begins it with another reference to its
// style sheet, as it needs one when it is moved. A document without one stays as it is.
func SetStyle(document []byte, ref string) []byte {
	start := []byte(prolog + styleStart)
	rest, ok := bytes.CutPrefix(document, start)
	end := bytes.Index(rest, []byte(styleEnd))
	if !ok || end < 0 || !IsStyle(ref) {
		return document
	}
	return append(append(start, ref...), rest[end:]...)
}
