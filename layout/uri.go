package layout

import "strings"

// isPathByte marks what may stand for itself in a segment of a URI's path:
// RFC 3986 §3.3, pchar without percent-encoding. All other bytes are escaped,
// each on its own, so that every file name has just one URI and every URI leads
// back to one name, whatever its encoding. The table decides published URIs and
// must not change.
var isPathByte = func() (t [256]bool) {
	const others = "-._~!$&'()*+,;=:@"
	for c := range 256 {
		t[c] = 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
			c < 0x80 && strings.IndexByte(others, byte(c)) >= 0
	}
	return t
}()

const hexDigits = "0123456789ABCDEF"

// appendEscaped appends a slash path in the form in which URIs have it.
func appendEscaped(dst []byte, path string) []byte {
	start := 0
	for i := range len(path) {
		if c := path[i]; c != '/' && !isPathByte[c] {
			dst = append(dst, path[start:i]...)
			dst = append(dst, '%', hexDigits[c>>4], hexDigits[c&15])
			start = i + 1
		}
	}
	return append(dst, path[start:]...)
}

// unescape is the way back. It refuses what appendEscaped cannot have written for
// a relative path, but for a slash at its end, so that two spellings of one URI
// never lead to one file.
func unescape(s string) (string, bool) {
	var b []byte
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '/' || isPathByte[c]:
		case c == '%' && i+2 < len(s):
			hi, lo := strings.IndexByte(hexDigits, s[i+1]), strings.IndexByte(hexDigits, s[i+2])
			if hi < 0 || lo < 0 {
				return "", false
			}
			if c = byte(hi<<4 | lo); c == '/' || c == 0 || isPathByte[c] {
				return "", false
			}
			i += 2
		default:
			return "", false
		}
		b = append(b, c)
	}
	path := string(b)
	for segment := range strings.SplitSeq(strings.TrimSuffix(path, "/"), "/") {
		if segment == "." || segment == ".." || segment == "" && path != "" {
			return "", false
		}
	}
	return path, true
}

const (
	indexName     = "index.html"
	htmlExtension = ".html"
)

// AppendKey appends what a directory entry contributes to the URIs at and below
// it: its escaped name, with a slash behind that of a directory, changed as the
// form of URIs asks for. The entries of a directory sorted by their keys, each
// followed by what is below it, are in the byte order of their URIs.
func (l Layout) AppendKey(dst []byte, name string, dir bool) []byte {
	if dir {
		return append(appendEscaped(dst, name), '/')
	}
	return appendEscaped(dst, l.served(name))
}

// served returns the last segment of the URI under which a file is served.
func (l Layout) served(name string) string {
	if l.Form == PlainURIs {
		return name
	}
	if name == indexName {
		return ""
	}
	stem, ok := strings.CutSuffix(name, htmlExtension)
	if l.Form != CleanURIs || !ok || stem == "" || stem == "." || stem == ".." {
		return name
	}
	return stem
}

// URI returns the URI of a file, given its slash path relative to the source.
func (l Layout) URI(path string) string {
	dir, name := split(path)
	b := append([]byte(nil), l.BaseURL...)
	b = appendEscaped(b, dir)
	return string(l.AppendKey(b, name, false))
}

func split(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/') + 1
	return path[:i], path[i:]
}

// Paths returns the slash paths that files with the URI may have, or none if no
// file can have it. Only clean URIs leave a choice: x/about may be the file
// about.html or about, of which just one can exist.
func (l Layout) Paths(uri string) []string {
	rest, ok := strings.CutPrefix(uri, l.BaseURL)
	if !ok {
		return nil
	}
	path, ok := unescape(rest)
	if !ok {
		return nil
	}
	dir, name := split(path)
	candidates := []string{name, name + htmlExtension}
	if name == "" {
		candidates = []string{indexName}
	}
	var paths []string
	for _, candidate := range candidates {
		if l.served(candidate) == name {
			paths = append(paths, dir+candidate)
		}
	}
	return paths
}
