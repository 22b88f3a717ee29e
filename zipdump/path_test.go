package zipdump

import (
	"strconv"
	"strings"
	"testing"
)

func TestPath(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"a/b.txt":          "resources/a/b.txt",
		"manifest.xml":     "resources/manifest.xml",
		"ü/日本 語&<>\"'":     "resources/ü/日本 語&<>\"'",
		"100%":             "resources/100%",
		"100%/a":           "resources/100%/a",
		"%4":               "resources/%4",
		"%41%zz%e":         "resources/%2541%zz%e",
		"%%41":             "resources/%%2541",
		"%\x01":            "resources/%%01",
		"%4\x01":           "resources/%4%01",
		"a\tb\nc\x7f":      "resources/a%09b%0Ac%7F",
		"\u0085\u009f":     "resources/%C2%85%C2%9F",
		"\xff\xc3(":        "resources/%FF%C3(",
		"\xed\xa0\x80":     "resources/%ED%A0%80",
		"\ufffd\ufffe":     "resources/\ufffd%EF%BF%BE",
		"\uffff":           "resources/%EF%BF%BF",
		`a\b`:              "resources/a%5Cb",
		"./../...":         "resources/%2E/%2E%2E/...",
		"a//b":             "resources/a/%2Fb",
		"a///b":            "resources/a/%2F/b",
		"/":                "resources/%2F",
		"/a/":              "resources/%2Fa%2F",
		"//..":             "resources/%2F/%2E%2E",
		".hidden":          "resources/.hidden",
		"C:/x":             "resources/C:/x",
		"\U0001fffe\u2028": "resources/\U0001fffe\u2028",
	} {
		if got := Path(source); got != want {
			t.Errorf("Path(%q) = %q, want %q", source, got, want)
		}
		if err := checkPath(Path(source)); err != nil {
			t.Error(err)
		}
	}
}

// decode is the inverse of Path. That there is one shows that no two paths
// become the same.
func decode(path string) string {
	path = strings.TrimPrefix(path, folder)
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] == '%' && i+2 < len(path) && isHex(path[i+1]) && isHex(path[i+2]) {
			c, _ := strconv.ParseUint(path[i+1:i+3], 16, 8)
			b.WriteByte(byte(c))
			i += 2
		} else {
			b.WriteByte(path[i])
		}
	}
	return b.String()
}

func FuzzPath(f *testing.F) {
	for _, s := range []string{"a/b", "%41", "%%", "%\x01/", "//", "../.", "a\\%5c", "\xff\u0080", "%2", "2F/%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		if source == "" || len(source) > 10_000 {
			return
		}
		path := Path(source)
		if got := decode(path); got != source {
			t.Errorf("Path(%q) = %q, which stands for %q", source, path, got)
		}
		if err := checkPath(path); err != nil {
			t.Error(err)
		}
	})
}

func TestCheckPath(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		"", "/", "/a", "a/", "a//b", ".", "..", "a/./b", "a/..", "../a", `a\b`, "a\x00", "a\nb", "\x7f", "\u0085",
		"\xff", "\ufffe", "a/\uffff", "manifest.xml", strings.Repeat("a", maxName+1),
	} {
		if err := checkPath(path); err == nil {
			t.Errorf("%.40q is taken for a path", path)
		} else if path == manifestName && !strings.Contains(err.Error(), "manifest") {
			t.Errorf("the error does not say what is wrong with %q: %v", path, err)
		}
	}
	for _, path := range []string{"a", "...", "resources/manifest.xml", "a/.b", "%", "\ufffd", strings.Repeat("ä", maxName/2)} {
		if err := checkPath(path); err != nil {
			t.Error(err)
		}
	}
}
