package zipdump

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	manifestName = "manifest.xml"
	folder       = "resources/"
)

// Path returns the path of a file within a package: resources/, and the slash
// path that the file has at its source. What manifests or ZIP readers could not
// carry is percent-escaped: control characters, backslashes, U+FFFE, U+FFFF,
// bytes that are not UTF-8, segments "." and "..", slashes that would leave a
// segment empty, and "%" before two hexadecimal digits. Two source paths never
// come out as the same; they must not be empty.
func Path(source string) string {
	var b strings.Builder
	b.Grow(len(folder) + len(source))
	b.WriteString(folder)
	for rest := source; rest != ""; {
		segment, after, more := strings.Cut(rest, "/")
		writeSegment(&b, segment)
		if more {
			writeSlash(&b, after == "")
		}
		rest = after
	}
	return b.String()
}

// writeSlash escapes the slash if it would end an empty segment, or the path.
func writeSlash(b *strings.Builder, last bool) {
	if last || strings.HasSuffix(b.String(), "/") {
		writeEscaped(b, "/")
	} else {
		b.WriteByte('/')
	}
}

func writeSegment(b *strings.Builder, s string) {
	if s == "." || s == ".." {
		writeEscaped(b, s)
		return
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !portable(r, n) || r == '%' && len(s) > i+2 && isHex(s[i+1]) && isHex(s[i+2]) {
			writeEscaped(b, s[i:i+n])
		} else {
			b.WriteString(s[i : i+n])
		}
		i += n
	}
}

func writeEscaped(b *strings.Builder, s string) {
	for i := range len(s) {
		fmt.Fprintf(b, "%%%02X", s[i])
	}
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// portable reports whether a character of n bytes can stand in a path.
func portable(r rune, n int) bool {
	if r == utf8.RuneError && n == 1 {
		return false // not UTF-8
	}
	return !unicode.IsControl(r) && r != '\\' && r != 0xFFFE && r != 0xFFFF
}

// checkPath says what is wrong with the path of a bitstream.
func checkPath(path string) error {
	switch {
	case path == "":
		return errors.New("the path is empty")
	case len(path) > maxName:
		return fmt.Errorf("the path %.40q… is longer than %d bytes", path, maxName)
	case path == manifestName:
		return fmt.Errorf("the path %q is that of the manifest", path)
	}
	for rest := path; rest != ""; {
		r, n := utf8.DecodeRuneInString(rest)
		if !portable(r, n) {
			return fmt.Errorf("the path %q has bytes that not all readers understand: %q", path, rest[:n])
		}
		rest = rest[n:]
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "" || segment == "." || segment == ".." {
			return fmt.Errorf("the path %q has a segment %q", path, segment)
		}
	}
	return nil
}
