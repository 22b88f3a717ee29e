package layout

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// These URIs have SHA-256 digests that end in 12 zero bits, the rare ones in 15,
// and no other URI below https://example.org/20000 has. They must not change:
// published lists are cut there.
var (
	cutURIs = []string{
		"https://example.org/2498", "https://example.org/6538", "https://example.org/7685",
		"https://example.org/10598", "https://example.org/17469",
	}
	rareURIs = []string{"https://example.org/17469", "https://example.org/73095"}
)

func TestCutAfter(t *testing.T) {
	t.Parallel()
	var got []string
	for i := range 20_000 {
		uri := fmt.Sprintf("https://example.org/%d", i)
		rare, cut := new(Cutter).After(PointOf(uri))
		if cut {
			got = append(got, uri)
		}
		if want := slices.Contains(rareURIs, uri); rare != want {
			t.Errorf("%s: is a rare cut: %t, want %t", uri, rare, want)
		}
	}
	if !slices.Equal(got, cutURIs) {
		t.Errorf("got %q, want %q", got, cutURIs)
	}
	for _, uri := range rareURIs {
		if rare, cut := new(Cutter).After(PointOf(uri)); !rare || !cut {
			t.Errorf("%s: rare %t, cut %t, want both", uri, rare, cut)
		}
	}
}

// Fewer bits make more cuts: those of more bits, and others.
func TestCutterBits(t *testing.T) {
	t.Parallel()
	const n = 20_000
	for _, bits := range []int{1, 4, 6, 8} {
		var cuts, rares int
		for i := range n {
			uri := fmt.Sprintf("https://example.org/%d", i)
			rare, cut := (&Cutter{Bits: bits}).After(PointOf(uri))
			if cut {
				cuts++
			}
			if rare {
				rares++
			}
			if rare && !cut || !cut && slices.Contains(cutURIs, uri) || !rare && slices.Contains(cutURIs, uri) {
				t.Errorf("%d bits: %s: rare %t, cut %t", bits, uri, rare, cut)
			}
		}
		if want := n >> bits; cuts < want*7/10 || cuts > want*13/10 {
			t.Errorf("%d bits: got %d cuts, about %d should be", bits, cuts, want)
		}
		if want := n >> (bits + 3); rares < want/3 || rares > want*2 {
			t.Errorf("%d bits: got %d rare cuts, about %d should be", bits, rares, want)
		}
	}
}

// item is an entry of a list.
type item struct {
	uri  string
	size int
}

// cut returns the parts into which a cutter cuts a list.
func (c Cutter) cut(list []item) [][]item {
	var parts [][]item
	start := 0
	for i, e := range list {
		if c.Before(e.size) {
			parts = append(parts, list[start:i])
			start = i
		}
		if _, cut := c.After(PointOf(e.uri)); cut {
			parts = append(parts, list[start:i+1])
			start = i + 1
		}
	}
	if start < len(list) {
		parts = append(parts, list[start:])
	}
	return parts
}

// isCut reports whether a URI makes a cut.
func (c Cutter) isCut(uri string) bool {
	_, cut := c.After(PointOf(uri))
	return cut
}

// lengths returns the numbers of entries of parts.
func lengths(parts [][]item) []int {
	var n []int
	for _, p := range parts {
		n = append(n, len(p))
	}
	return n
}

// sized returns entries of some sizes, at none of which the URI makes a cut.
func sized(sizes ...int) []item {
	var list []item
	for i, size := range sizes {
		list = append(list, item{fmt.Sprintf("https://example.org/%d", i%2000), size})
	}
	return list
}

func many(n, size int) []item { return sized(slices.Repeat([]int{size}, n)...) }

func TestCutterLimits(t *testing.T) {
	t.Parallel()
	const bytes = 52_428_800
	limits := Cutter{MaxEntries: 50_000, MaxBytes: bytes}
	tests := []struct {
		name string
		list []item
		want []int
	}{
		{"no entries", nil, nil},
		{"one entry", many(1, 200), []int{1}},
		{"one less than the entries", many(49_999, 200), []int{49_999}},
		{"as many as the entries", many(50_000, 200), []int{50_000}},
		{"one more than the entries", many(50_001, 200), []int{50_000, 1}},
		{"one more than twice the entries", many(100_001, 200), []int{50_000, 50_000, 1}},
		{"one byte less than the bytes", sized(bytes-101, 100), []int{2}},
		{"as many as the bytes", sized(bytes-100, 100), []int{2}},
		{"one byte more than the bytes", sized(bytes-99, 100), []int{1, 1}},
		{"as many as the bytes, twice", sized(bytes-100, 100, bytes/2, bytes/2, 1), []int{2, 2, 1}},
		{"an entry as large as the bytes", sized(1, bytes, 1), []int{1, 1, 1}},
		{"an entry larger than the bytes first", sized(bytes+1, 1, 1), []int{1, 2}},
		{"an entry larger than the bytes in between", sized(1, 1, bytes+1, 1, 1), []int{2, 1, 2}},
		{"an entry larger than the bytes last", sized(1, 1, bytes+1), []int{2, 1}},
		{"entries larger than the bytes alone", sized(bytes+1, bytes+1), []int{1, 1}},
		{"empty entries behind a full part", sized(bytes, 0, 0), []int{3}},
		{"both limits at once", append(many(49_999, 1), sized(bytes-49_999, 1)...), []int{50_000, 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := lengths(limits.cut(test.list)); !slices.Equal(got, test.want) {
				t.Errorf("got parts of %d entries, want %d", got, test.want)
			}
		})
	}
}

// A cut that the URI makes begins the counting anew.
func TestCutterCountsFromCut(t *testing.T) {
	t.Parallel()
	c := Cutter{MaxEntries: 3, MaxBytes: 10}
	end := item{cutURIs[0], 4}
	for _, test := range []struct {
		name string
		list []item
		want []int
	}{
		{"entries", slices.Concat(sized(1, 1), []item{end}, sized(1, 1, 1, 1)), []int{3, 3, 1}},
		{"bytes", slices.Concat(sized(6), []item{end}, sized(6, 4, 1)), []int{2, 2, 1}},
		{"limit just before", slices.Concat(sized(1, 1, 1), []item{end}, sized(1, 1, 1)), []int{3, 1, 3}},
		{"in a row", []item{end, end, end}, []int{1, 1, 1}},
	} {
		if got := lengths(c.cut(test.list)); !slices.Equal(got, test.want) {
			t.Errorf("%s: got parts of %d entries, want %d", test.name, got, test.want)
		}
	}
}

func TestCutDensity(t *testing.T) {
	t.Parallel()
	const n = 1 << 17
	var cuts, rares int
	for i := range n {
		rare, cut := new(Cutter).After(PointOf(fmt.Sprintf("https://example.com/d/%d.html", i)))
		if cut {
			cuts++
		}
		if rare {
			rares++
		}
		if rare && !cut {
			t.Fatalf("%d is a rare cut, but no cut", i)
		}
	}
	// The bounds are four standard deviations away.
	if cuts < n/4096-23 || cuts > n/4096+23 {
		t.Errorf("%d of %d URIs make a cut, about %d should", cuts, n, n/4096)
	}
	if rares > n/32768+8 {
		t.Errorf("%d of %d URIs make a rare cut, about %d should", rares, n, n/32768)
	}
}

// randomList returns a list in the order of its URIs.
func randomList(r *rand.Rand, n int) []item {
	list := make([]item, n)
	for i := range list {
		list[i] = item{fmt.Sprintf("https://example.org/%015x", r.Uint64()>>4), 150 + r.IntN(150)}
	}
	slices.SortFunc(list, compareItems)
	return slices.Compact(list)
}

func compareItems(a, b item) int { return strings.Compare(a.uri, b.uri) }

// edit inserts or removes some entries that lie together, and returns from where
// to where the URIs are that are touched.
func edit(r *rand.Rand, list []item, n int) (edited []item, from, to string) {
	at := r.IntN(len(list) - n)
	if r.IntN(2) == 0 {
		return slices.Delete(slices.Clone(list), at, at+n), list[at].uri, list[at+n-1].uri
	}
	var more []item
	for i := range n {
		more = append(more, item{fmt.Sprintf("%s.%05d", list[at].uri, i), 150 + r.IntN(150)})
	}
	return slices.Insert(slices.Clone(list), at+1, more...), more[0].uri, more[n-1].uri
}

// One resource more or less changes the part it is in, and what follows only up
// to the next URI that makes a cut.
func TestEditsChangeFewParts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		cutter Cutter
	}{
		{"cuts by URI", Cutter{Bits: 6, MaxEntries: 50_000, MaxBytes: 52_428_800}},
		{"cuts by entries too", Cutter{Bits: 6, MaxEntries: 20, MaxBytes: 52_428_800}},
		{"cuts by bytes too", Cutter{Bits: 6, MaxEntries: 50_000, MaxBytes: 4_000}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(1, 2))
			list := randomList(r, 1000)
			for range 100 {
				edited, from, to := edit(r, list, 1+r.IntN(3))
				checkRejoins(t, test.cutter, list, edited, from, to)
				list = edited
			}
		})
	}
}

func checkRejoins(t *testing.T, c Cutter, before, after []item, from, to string) {
	t.Helper()
	lo, hi := c.cutsAround(after, from, to)
	old := c.cut(before)
	known := func(p []item) bool {
		return slices.ContainsFunc(old, func(o []item) bool { return slices.Equal(o, p) })
	}
	changed := 0
	for _, p := range c.cut(after) {
		if known(p) {
			continue
		}
		changed++
		if p[0].uri <= lo || p[len(p)-1].uri > hi {
			t.Errorf("the part from %s to %s changed, by an edit between the cuts at %s and %s", p[0].uri, p[len(p)-1].uri, lo, hi)
		}
	}
	if byURI := c.MaxEntries == 50_000 && c.MaxBytes == 52_428_800; byURI && changed > 2 {
		t.Errorf("%d parts changed, by an edit between %s and %s", changed, from, to)
	}
}

// cutsAround returns the next URIs that make a cut before and behind others.
func (c Cutter) cutsAround(list []item, from, to string) (before, behind string) {
	i, _ := slices.BinarySearchFunc(list, item{uri: from}, compareItems)
	for i--; i >= 0 && before == ""; i-- {
		if c.isCut(list[i].uri) {
			before = list[i].uri
		}
	}
	behind = "\xff"
	i, _ = slices.BinarySearchFunc(list, item{uri: to + "\x00"}, compareItems)
	for ; i < len(list); i++ {
		if c.isCut(list[i].uri) {
			return before, list[i].uri
		}
	}
	return before, behind
}

// A list is cut alike from any part that begins behind the cut of a URI, which
// is what makes many small runs cut like one.
func TestCutsDoNotDependOnHistory(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	list := randomList(r, 3000)
	for _, c := range []Cutter{
		{Bits: 6, MaxEntries: 50_000, MaxBytes: 52_428_800}, {Bits: 8, MaxEntries: 50, MaxBytes: 12_000},
	} {
		parts := c.cut(list)
		rest, resumed := list, 0
		for i, p := range parts {
			rest = rest[len(p):]
			if !c.isCut(p[len(p)-1].uri) {
				continue
			}
			resumed++
			if got, want := lengths(c.cut(rest)), lengths(parts[i+1:]); !slices.Equal(got, want) {
				t.Errorf("behind part %d: got parts of %d entries, want %d", i, got, want)
			}
		}
		if resumed < 5 {
			t.Errorf("just %d of %d parts ended with the cut of a URI", resumed, len(parts))
		}
	}
}

func BenchmarkCutter(b *testing.B) {
	c := Cutter{MaxEntries: 50_000, MaxBytes: 52_428_800}
	b.ReportAllocs()
	for b.Loop() {
		c.Before(200)
		c.After(PointOf("https://example.org/a/rather/long/path/as/there/are/many.html"))
	}
}
