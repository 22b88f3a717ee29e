package layout

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// cutPackages returns how many bitstreams go into each package.
func cutPackages(c PackageCutter, list []item) []int {
	var sizes []int
	open := 0
	for _, e := range list {
		before, after := c.Add(e.uri, int64(e.size))
		if before {
			sizes = append(sizes, open)
			open = 0
		}
		if open++; after {
			sizes = append(sizes, open)
			open = 0
		}
	}
	if open > 0 {
		sizes = append(sizes, open)
	}
	return sizes
}

// uncut returns items, none of which is the last of a package by its URI.
func uncut(c PackageCutter, n, size int) []item {
	var list []item
	for i := 0; len(list) < n; i++ {
		uri := fmt.Sprintf("https://example.org/%06d", i)
		if !c.isLast(uri, Weight(uri, int64(size))) {
			list = append(list, item{uri, size})
		}
	}
	return list
}

func TestPackageCutterLimits(t *testing.T) {
	t.Parallel()
	const mega = 1 << 20
	c := PackageCutter{MaxSize: 64 * mega, MaxEntries: 100, MaxManifest: 50 * mega}
	each := Weight("https://example.org/000000", mega)
	fit := int(c.MaxSize / each)
	for _, test := range []struct {
		name string
		list []item
		want []int
	}{
		{"nothing", nil, nil},
		{"as many as there can be", uncut(c, 100, 0), []int{100}},
		{"one more", uncut(c, 101, 0), []int{100, 1}},
		{"as large as there can be", uncut(c, fit, mega), []int{fit}},
		{"one too large", uncut(c, fit+1, mega), []int{fit, 1}},
	} {
		if got := cutPackages(c, test.list); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %d, want %d", test.name, got, test.want)
		}
	}
	c.MaxManifest = 10 * manifestBytes("https://example.org/000000")
	if got := cutPackages(c, uncut(c, 25, 0)); !slices.Equal(got, []int{10, 10, 5}) {
		t.Errorf("long manifests: got %d", got)
	}
}

// What is too large for a package has one of its own, wherever it stands.
func TestPackageCutterLarge(t *testing.T) {
	t.Parallel()
	c := PackageCutter{MaxSize: 1 << 20, MaxEntries: 100, MaxManifest: 1 << 20}
	for _, length := range []int{1 << 20, 1 << 30, math.MaxInt} {
		list := uncut(c, 4, 10)
		list[2].size = length
		if got := cutPackages(c, list); !slices.Equal(got, []int{2, 1, 1}) {
			t.Errorf("%d bytes: got %d", length, got)
		}
		if !c.IsLarge(list[2].uri, int64(length)) || c.IsLarge(list[1].uri, 10) {
			t.Errorf("%d bytes: what is large is not known", length)
		}
	}
}

// Packages are an eighth of the largest size on average, whatever is in them.
func TestPackageCutterMean(t *testing.T) {
	t.Parallel()
	for _, length := range []int{0, 1000, 100_000} {
		c := PackageCutter{MaxSize: 8 << 20, MaxEntries: 50_000, MaxManifest: 50 << 20}
		var list []item
		var sum int64
		for i := range 20_000 {
			uri := fmt.Sprintf("https://example.org/%d", i)
			list = append(list, item{uri, length})
			sum += Weight(uri, int64(length))
		}
		got, want := len(cutPackages(c, list)), int(sum>>20)
		if got < want*6/10 || got > want*16/10 {
			t.Errorf("%d bytes each: %d packages, about %d should be", length, got, want)
		}
	}
}

// One more resource changes the packages around it and no others.
func TestPackageCutterLocal(t *testing.T) {
	t.Parallel()
	c := PackageCutter{MaxSize: 1 << 20, MaxEntries: 1000, MaxManifest: 1 << 20}
	var list []item
	for i := range 5000 {
		list = append(list, item{fmt.Sprintf("https://example.org/%05d", i), 1000})
	}
	before := cutPackages(c, list)
	after := cutPackages(c, slices.Insert(slices.Clone(list), 2500, item{"https://example.org/02499x", 1000}))
	same := 0
	for same < len(before) && before[same] == after[same] {
		same++
	}
	for i := 1; before[len(before)-i] == after[len(after)-i] && same < len(before); i++ {
		same++
	}
	if same < len(before)-3 {
		t.Errorf("%d of %d packages are the same", same, len(before))
	}
}

func TestPackageNames(t *testing.T) {
	t.Parallel()
	l := mustNew(t, "https://example.org/", "", PlainURIs)
	digest := [32]byte{0xab, 0xcd, 0xef, 0x01, 0x23}
	zip, manifest := l.ResourceDumpPackage(digest)
	until := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	changes, changesManifest := l.ChangeDumpPackage(until, digest)
	for _, test := range []struct{ got, want string }{
		{zip.URI, "https://example.org/resourcesync/resourcedump/abcdef01230000000000000000000000.zip"},
		{manifest.Path, strings.TrimSuffix(zip.Path, "zip") + "xml"},
		{changes.Path, "resourcesync/changedump/20260102T030405Z-abcdef01.zip"},
		{changesManifest.URI, "https://example.org/resourcesync/changedump/20260102T030405Z-abcdef01.xml"},
		{l.ManifestOf(zip).URI, manifest.URI},
	} {
		if test.got != test.want {
			t.Errorf("got %s, want %s", test.got, test.want)
		}
	}
	for _, ref := range []Ref{zip, manifest, changes, changesManifest, l.ResourceDumpPart(digest)} {
		if !l.IsBody(ref.Path) || l.IsHead(ref.Path) {
			t.Errorf("%s is no body", ref.Path)
		}
	}
	if !l.IsHead(l.ResourceDump().Path) || !l.IsHead(l.ChangeDump().Path) {
		t.Error("the dumps are no heads")
	}
}
