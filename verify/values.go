package verify

import (
	"strings"
)

// hostOf returns what stands between // and the path.
func hostOf(uri string) string {
	_, rest, ok := strings.Cut(uri, "://")
	if !ok {
		return ""
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	return rest
}

// essence returns a media type without its parameters, in lower case.
func essence(s string) string {
	s, _, _ = strings.Cut(s, ";")
	return strings.ToLower(strings.TrimSpace(s))
}

// changeFrequencies are the words of Sitemaps.
var changeFrequencies = []string{"always", "hourly", "daily", "weekly", "monthly", "yearly", "never"}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
