package prepare_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wellspring-sync/wellspring/internal/prepare"
)

func TestRobots(t *testing.T) {
	t.Parallel()
	const block = "# wellspring begin\nSitemap: " + uriA + "\n# wellspring end\n"
	crlf := strings.ReplaceAll(block, "\n", "\r\n")
	two := strings.Replace(block, "# wellspring end", "Sitemap: "+uriB+"\n# wellspring end", 1)
	tests := []struct {
		name, text, want string
		uris             []string
	}{
		{"empty", "", block, []string{uriA}},
		{"appended", "User-agent: *\nDisallow: /x\n", "User-agent: *\nDisallow: /x\n" + block, []string{uriA}},
		{"no line end", "User-agent: *", "User-agent: *\n" + block, []string{uriA}},
		{"CRLF", "User-agent: *\r\nDisallow: /\r\n", "User-agent: *\r\nDisallow: /\r\n" + crlf, []string{uriA}},
		{"CR", "User-agent: *\rDisallow: /", "User-agent: *\rDisallow: /\r" + strings.ReplaceAll(block, "\n", "\r"), []string{uriA}},
		{"mixed line ends", "a: b\r\nc: d\ne: f\r", "a: b\r\nc: d\ne: f\r" + crlf, []string{uriA}},
		{"in place", "a: b\n" + strings.Replace(block, "org", "com", 1) + "c: d", "a: b\n" + block + "c: d", []string{uriA}},
		{"more", block + "c: d", two + "c: d", []string{uriA, uriB}},
		{"fewer", two + "c: d", block + "c: d", []string{uriA}},
		{"other line ends", "a: b\n" + crlf, "a: b\n" + crlf, []string{uriA}},
		{"no end behind the block", strings.TrimSuffix(block, "\n"), strings.TrimSuffix(block, "\n"), []string{uriA}},
		{"named already", "sitemap : " + uriA + " # mine\n", "sitemap : " + uriA + " # mine\n", []string{uriA}},
		{"one named already", "Sitemap:" + uriB, "Sitemap:" + uriB + "\n" + block, []string{uriA, uriB}},
		{"named twice", block + "Sitemap: " + uriA, "Sitemap: " + uriA, []string{uriA}},
		{"a comment is no line", "# Sitemap: " + uriA + "\n", "# Sitemap: " + uriA + "\n" + block, []string{uriA}},
		{"byte order mark", "\ufeffUser-agent: *\n", "\ufeffUser-agent: *\n" + block, []string{uriA}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := prepare.Robots([]byte(test.text), test.uris)
			if err != nil || string(got) != test.want {
				t.Fatalf("got  %q, %v\nwant %q", got, err, test.want)
			}
			if again, err := prepare.Robots(got, test.uris); err != nil || !bytes.Equal(again, got) {
				t.Errorf("the second time: got %q, %v", again, err)
			}
		})
	}
}

func TestRobotsLeavesAlone(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       prepare.LeftAlone
	}{
		{"latin-1", "# caf\xe9\n", prepare.NotText},
		{"UTF-16", "a\x00:\x00", prepare.NotText},
		{"no end", "# wellspring begin\nSitemap: x\n", prepare.BrokenBlock},
		{"no beginning", "Sitemap: x\n# wellspring end\n", prepare.BrokenBlock},
		{"turned around", "# wellspring end\n# wellspring begin\n", prepare.BrokenBlock},
		{"two blocks", "# wellspring begin\n# wellspring end\n# wellspring begin\n# wellspring end\n", prepare.BrokenBlock},
		{"two beginnings", "# wellspring begin\n# wellspring begin\n# wellspring end\n", prepare.BrokenBlock},
		{"enormous", strings.Repeat("# x\n", 130_000), prepare.LargeRobots},
		{"just too large with ours", strings.Repeat("#", 500<<10), prepare.LargeRobots},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got, err := prepare.Robots([]byte(test.text), []string{uriA}); !errors.Is(err, test.want) {
				t.Errorf("got %q, %v, want %v", got, err, test.want)
			}
		})
	}
}

func TestWriteRobots(t *testing.T) {
	t.Parallel()
	for _, dryRun := range []bool{true, false} {
		dir, root := openDir(t)
		for i, want := range []prepare.Action{prepare.Created, prepare.Unchanged} {
			if dryRun && i > 0 {
				want = prepare.Created
			}
			if got, err := prepare.WriteRobots(root, []string{uriA}, dryRun); err != nil || got != want {
				t.Errorf("got %v, %v, want %v", got, err, want)
			}
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != map[bool]int{true: 0, false: 1}[dryRun] {
			t.Errorf("dry run %v: there are %v, %v", dryRun, entries, err)
		}
	}
}

func TestWriteRobotsOddFiles(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(name string) error{
		"directory": func(name string) error { return os.Mkdir(name, 0o755) },
		"link":      func(name string) error { return os.Symlink("other.txt", name) },
	} {
		dir, root := openDir(t)
		if err := make(filepath.Join(dir, "robots.txt")); err != nil {
			t.Skip(err)
		}
		if got, err := prepare.WriteRobots(root, []string{uriA}, false); !errors.Is(err, prepare.NotRegular) {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
}

// A file keeps its mode, and what a killed run left is no hindrance.
func TestReplaceKeepsMode(t *testing.T) {
	t.Parallel()
	dir, root := openDir(t)
	name := filepath.Join(dir, "robots.txt")
	for _, name := range []string{name, filepath.Join(dir, ".wellspring-prepare~")} {
		if err := os.WriteFile(name, []byte("a: b\n"), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	before, _ := os.Stat(name)
	if got, err := prepare.WriteRobots(root, []string{uriA}, false); err != nil || got != prepare.Updated {
		t.Fatalf("got %v, %v", got, err)
	}
	after, err := os.Stat(name)
	if err != nil || after.Mode() != before.Mode() {
		t.Errorf("the mode is %v, %v, was %v", after.Mode(), err, before.Mode())
	}
	if _, err := os.Stat(filepath.Join(dir, ".wellspring-prepare~")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the temporary file is there: %v", err)
	}
}

func openDir(t *testing.T) (string, *os.Root) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return dir, root
}
