package prepare_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/wellspring-sync/wellspring/internal/prepare"
)

// writeSized makes files of some sizes that take no room.
func writeSized(t *testing.T, dir string, sizes map[string]int64) {
	t.Helper()
	for name, size := range sizes {
		writeTree(t, dir, map[string]string{name: ""})
		if err := os.Truncate(filepath.Join(dir, filepath.FromSlash(name)), size); err != nil {
			t.Skip(err)
		}
	}
}

func checkUpload(t *testing.T, dir string, hosts ...string) *prepare.Upload {
	t.Helper()
	u, err := prepare.CheckUpload(t.Context(), []string{dir}, hosts)
	if err != nil || u.Err != nil || u.Unread > 0 {
		t.Fatalf("got %+v, %v", u, err)
	}
	return u
}

func TestCheckUpload(t *testing.T) {
	t.Parallel()
	const (
		most = 25 << 20
		pack = "resourcesync/resourcedump/0123456789abcdef0123456789abcdef.zip"
	)
	long := strings.Repeat(strings.Repeat("é", 100)+"/", 5) // 1,005 bytes
	file := prepare.Limit{Kind: prepare.LimitFile, Most: most}
	path := prepare.Limit{Kind: prepare.LimitPath, Most: 1024}
	tests := []struct {
		name  string
		sizes map[string]int64
		host  string
		want  []prepare.Passed
	}{
		{"just fits", map[string]int64{"a": most}, "cloudflare-pages", nil},
		{"too large", map[string]int64{"a": most + 1, "b": 1}, "cloudflare-pages", []prepare.Passed{{Host: "cloudflare-pages", Limit: file, Found: most + 1, Count: 1, Path: "a"}}},
		{"the largest", map[string]int64{"a": most + 1, "b": most + 3, "c": most + 2}, "cloudflare-pages", []prepare.Passed{{Host: "cloudflare-pages", Limit: file, Found: most + 3, Count: 3, Path: "b"}}},
		{"a package", map[string]int64{pack: most + 1}, "cloudflare-pages", []prepare.Passed{{Host: "cloudflare-pages", Limit: file, Found: most + 1, Count: 1, Path: pack, Packages: 1}}},
		{"a package because of a file", map[string]int64{"z": most + 1, pack: most + 9}, "cloudflare-pages", []prepare.Passed{{Host: "cloudflare-pages", Limit: file, Found: most + 1, Count: 2, Path: "z", Packages: 1}}},
		{"a package behind a file", map[string]int64{"a": most + 1, pack: most + 9}, "cloudflare-pages", []prepare.Passed{{Host: "cloudflare-pages", Limit: file, Found: most + 1, Count: 2, Path: "a", Packages: 1}}},
		{"no package", map[string]int64{"data.zip": most + 1}, "cloudflare-pages", []prepare.Passed{{Host: "cloudflare-pages", Limit: file, Found: most + 1, Count: 1, Path: "data.zip"}}},
		{"version control", map[string]int64{".git/a": most + 1, "x/.git/a": most + 1}, "cloudflare-pages", nil},
		{"hidden", map[string]int64{".x/a": most + 1}, "cloudflare-pages", []prepare.Passed{{Host: "cloudflare-pages", Limit: file, Found: most + 1, Count: 1, Path: ".x/a"}}},
		{"large in all", map[string]int64{"a": 90 << 20, "b/c": 1e9 - 90<<20 + 1}, "github-pages", []prepare.Passed{
			{Host: "github-pages", Limit: prepare.Limit{Kind: prepare.LimitTotal, Most: 1e9}, Found: 1e9 + 1},
			{Host: "github-pages", Limit: prepare.Limit{Kind: prepare.LimitFile, Most: 100 << 20, Where: "where the site is pushed to a branch"}, Found: 1e9 - 90<<20 + 1, Count: 1, Path: "b/c"},
		}},
		{"long", map[string]int64{long + "aaaaaaaaaaaaaaaaaaa": 1, long + "aaaaaaaaaaaaaaaaaaaa": 1}, "s3", []prepare.Passed{{Host: "s3", Limit: path, Found: 1025, Count: 1, Path: long + "aaaaaaaaaaaaaaaaaaaa"}}},
		{"long in bytes alone", map[string]int64{long + "aaaaaaaaaaaaaaaaaaaa": 1}, "azure", nil},
		{"no limits", map[string]int64{"a": 1 << 40}, "nginx", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			writeSized(t, dir, test.sizes)
			if got := checkUpload(t, dir, test.host); !slices.Equal(got.Passed, test.want) {
				t.Errorf("got %+v\nwant %+v", got.Passed, test.want)
			}
		})
	}
}

// Of several limits for the same, the largest that is passed is told.
func TestCheckUploadCounts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(from, to int) {
		for i := from; i < to; i++ {
			if err := os.WriteFile(filepath.Join(dir, "x", strconv.Itoa(i)), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(0, 20_001)
	free := prepare.Limit{Kind: prepare.LimitFiles, Most: 20_000, Where: "on the free plan; 100,000 on paid ones"}
	if got := checkUpload(t, dir, "cloudflare-pages", "netlify", "gitlab-pages").Passed; !slices.Equal(got, []prepare.Passed{{Host: "cloudflare-pages", Limit: free, Found: 20_001}}) {
		t.Errorf("got %+v", got)
	}
	write(20_001, 54_001)
	folder := prepare.Limit{Kind: prepare.LimitFolder, Most: 54_000}
	if got := checkUpload(t, dir, "netlify").Passed; !slices.Equal(got, []prepare.Passed{{Host: "netlify", Limit: folder, Found: 54_001, Count: 1, Path: "x"}}) {
		t.Errorf("got %+v", got)
	}
	both, err := prepare.CheckUpload(t.Context(), []string{dir, dir}, []string{"cloudflare-pages"})
	if paid := (prepare.Limit{Kind: prepare.LimitFiles, Most: 100_000, Where: "on paid plans"}); err != nil || !slices.Equal(both.Passed, []prepare.Passed{{Host: "cloudflare-pages", Limit: paid, Found: 108_002}}) {
		t.Errorf("got %+v, %v", both, err)
	}
}

// Links to files count as what they lead to; others do not.
func TestCheckUploadLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeSized(t, dir, map[string]int64{"d/a": 25<<20 + 1})
	for name, target := range map[string]string{"file": "d/a", "folder": "d", "nothing": "x", "circle": "circle", "out": "/etc/hosts"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	if got := checkUpload(t, dir, "cloudflare-pages").Passed; len(got) != 1 || got[0].Count != 2 {
		t.Errorf("got %+v", got)
	}
}

func TestCheckUploadUnreadable(t *testing.T) {
	t.Parallel()
	u, err := prepare.CheckUpload(t.Context(), []string{filepath.Join(t.TempDir(), "nowhere")}, []string{"s3"})
	if err != nil || u.Unread != 1 || u.Err == nil {
		t.Errorf("got %+v, %v", u, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	writeTree(t, dir, map[string]string{"a": ""})
	if _, err := prepare.CheckUpload(ctx, []string{dir}, []string{"s3"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestHostLimits(t *testing.T) {
	t.Parallel()
	with := 0
	for _, host := range prepare.HostNames() {
		last := prepare.Limit{}
		for _, l := range prepare.HostLimits(host) {
			if l.Kind == last.Kind && l.Most <= last.Most {
				t.Errorf("%s: %+v comes behind %+v", host, l, last)
			}
			last = l
		}
		if last.Most > 0 {
			with++
		}
	}
	if with != 7 {
		t.Errorf("%d hosts have limits", with)
	}
	if most, host := prepare.LargestFile([]string{"github-pages", "nginx", "cloudflare-pages"}); most != 25<<20 || host != "cloudflare-pages" {
		t.Errorf("got %d, %s", most, host)
	}
}
