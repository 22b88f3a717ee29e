package prepare_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wellspring-sync/wellspring/internal/prepare"
	"github.com/wellspring-sync/wellspring/scanner"
)

// writeTree writes files into a directory.
func writeTree(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	const body = "versions/0123456789abcdef0123456789abcdef/0123456789abcdef0123456789abcdef.html"
	const page = "<head></head>"
	dir, root := openDir(t)
	writeTree(t, dir, map[string]string{
		"a.html": page, "b/c.HTM": page, "b/d.xhtml": page, "e.txt": page, "f.htmlx": page, "old/" + body: page,
		"none.html": "<p>", "none2.html": "", "wide.html": "\xfe\xff\x00<", "only/g.html": page,
	})
	large := filepath.Join(dir, "large.html")
	if err := errors.Join(os.WriteFile(large, []byte(page), 0o644), os.Truncate(large, 17<<20)); err != nil {
		t.Fatal(err)
	}
	var seen []prepare.File
	p := prepare.Pages{
		Root: root, OnFile: func(f prepare.File) { seen = append(seen, f) },
		Lists: []prepare.List{{URI: uriA, Has: func(f *scanner.File) bool { return !strings.HasPrefix(f.Path, "only/") }}},
	}
	want := prepare.PagesReport{Updated: 3, InNoSet: 1, Left: []prepare.Left{
		{Why: prepare.NoHead, Count: 2, First: "none.html"}, {Why: prepare.LargePage, Count: 1, First: "large.html"},
		{Why: prepare.NotASCII, Count: 1, First: "wide.html"},
	}}
	for _, dryRun := range []bool{true, false, false} {
		p.DryRun, seen = dryRun, nil
		got, err := p.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Errorf("dry run %v (-want +got):\n%s", dryRun, diff)
		}
		if len(seen) != 4 || seen[0].Path != "a.html" {
			t.Errorf("told of %v", seen)
		}
		if !dryRun {
			want.Updated, want.Unchanged = 0, 3
		}
	}
	if got, err := os.ReadFile(filepath.Join(dir, "old", filepath.FromSlash(body))); err != nil || string(got) != page {
		t.Errorf("a version of an old publication is %q now, %v", got, err)
	}
}

// The size of a page counts with the links in it.
func TestPagesBySize(t *testing.T) {
	t.Parallel()
	size := int64(len("<head></head>") + len(linkA))
	tests := []struct {
		name  string
		lists []prepare.List
		want  string
	}{
		{"fits", []prepare.List{{URI: uriA, MaxSize: size}}, linkA},
		{"just too large with the link", []prepare.List{{URI: uriA, MaxSize: size - 1}}, ""},
		{"large enough with the link", []prepare.List{{URI: uriA, MinSize: size}}, linkA},
		{"too large with another link", []prepare.List{{URI: uriA}, {URI: uriB, MaxSize: size + 1}}, linkA},
		{"large enough with two, and neither alone", []prepare.List{{URI: uriA, MinSize: size + 1}, {URI: uriB, MaxSize: size}}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir, root := openDir(t)
			writeTree(t, dir, map[string]string{"a.html": "<head></head>"})
			p := prepare.Pages{Root: root, Lists: test.lists}
			for range 2 {
				if _, err := p.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got, err := os.ReadFile(filepath.Join(dir, "a.html")); err != nil || string(got) != "<head>"+test.want+"</head>" {
					t.Errorf("got %q, %v", got, err)
				}
			}
		})
	}
}

func TestPagesStops(t *testing.T) {
	t.Parallel()
	dir, root := openDir(t)
	writeTree(t, dir, map[string]string{"a.html": "<head></head>"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := prepare.Pages{Root: root, Lists: []prepare.List{{URI: uriA}}}
	if _, err := p.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
