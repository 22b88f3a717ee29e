package hashing

import (
	"slices"
	"strings"
	"testing"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

func TestNewSet(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		names []string
		want  Set
	}{
		{"none", nil, nil},
		{"one", []string{"sha-256"}, Set{SHA256}},
		{"all, in the order of the standard", []string{"sha-512", "sha-256", "sha-1", "md5"}, Set{MD5, SHA1, SHA256, SHA512}},
		{"twice", []string{"md5", "sha-256", "md5"}, Set{MD5, SHA256}},
		{"any case", []string{"SHA-256", "Md5"}, Set{MD5, SHA256}},
		{"without hyphens", []string{"sha1", "sha256", "SHA512"}, Set{SHA1, SHA256, SHA512}},
		{"two spellings of one", []string{"sha256", "SHA-256"}, Set{SHA256}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := NewSet(test.names...)
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("NewSet(%q) = %v, %v, want %v", test.names, got, err, test.want)
			}
		})
	}
}

func TestNewSetUnknown(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "sha", "sha-384", "sha-3", "crc32", "sha-256 ", "sha_256", "sha-256,md5", "none"} {
		got, err := NewSet("md5", name)
		if err == nil {
			t.Errorf("NewSet(%q) = %v, want an error", name, got)
			continue
		}
		for _, say := range []string{"\"" + name + "\"", "md5", "sha-1", "sha-256", "sha-512"} {
			if !strings.Contains(err.Error(), say) {
				t.Errorf("NewSet(%q): %v, which does not say %s", name, err, say)
			}
		}
	}
}

func TestSetWith(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name          string
		a, b, want    Set
		spareCapacity bool
	}{
		{name: "nothing and nothing"},
		{name: "something and nothing", a: Set{SHA1}, want: Set{SHA1}},
		{name: "nothing and something", b: Set{SHA1}, want: Set{SHA1}},
		{name: "the same", a: Set{MD5, SHA256}, b: Set{MD5, SHA256}, want: Set{MD5, SHA256}},
		{name: "in between", a: Set{MD5, SHA512}, b: Set{SHA1, SHA256}, want: Set{MD5, SHA1, SHA256, SHA512}},
		{name: "does not write into the first", a: Set{SHA512}, b: Set{MD5}, want: Set{MD5, SHA512}, spareCapacity: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.spareCapacity {
				test.a = slices.Grow(test.a, 8)
			}
			a, b := slices.Clone(test.a), slices.Clone(test.b)
			if got := test.a.With(test.b); !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
			if !slices.Equal(a, test.a) || !slices.Equal(b, test.b) {
				t.Errorf("the sets are now %v and %v, they were %v and %v", test.a, test.b, a, b)
			}
		})
	}
}

func TestOf(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		hash resourcesync.Hash
		want Set
	}{
		{"none", "", nil},
		{"one", "md5:aa", Set{MD5}},
		{"another order", "sha-256:bb md5:aa", Set{MD5, SHA256}},
		{"capitals", "SHA-256:bb MD5:aa", Set{MD5, SHA256}},
		{"unknown ones", "sha-384:cc md5:aa blake3:dd", Set{MD5}},
		{"only unknown ones", "sha-384:cc", nil},
		{"white space", " \t md5:aa \n sha-1:bb ", Set{MD5, SHA1}},
		{"twice", "md5:aa md5:bb", Set{MD5}},
		{"no digest", "md5: sha-1", nil},
		{"not the standard's spelling", "sha256:bb", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := Of(test.hash); !slices.Equal(got, test.want) {
				t.Errorf("Of(%q) = %v, want %v", test.hash, got, test.want)
			}
		})
	}
}

func TestSetSelect(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		set  Set
		hash resourcesync.Hash
		want resourcesync.Hash
		ok   bool
	}{
		{"nothing of nothing", nil, "", "", true},
		{"nothing of something", nil, "md5:aa", "", true},
		{"something of nothing", Set{MD5}, "", "", false},
		{"all", Set{MD5, SHA256}, "md5:aa sha-256:bb", "md5:aa sha-256:bb", true},
		{"some", Set{SHA256}, "md5:aa sha-256:bb sha-512:cc", "sha-256:bb", true},
		{"one is missing", Set{MD5, SHA1}, "md5:aa sha-256:bb", "", false},
		{"in the order of the set", Set{MD5, SHA256}, "sha-256:bb md5:aa", "md5:aa sha-256:bb", true},
		{"in lower case", Set{SHA256}, "SHA-256:BB", "sha-256:bb", true},
		{"no digest", Set{MD5}, "md5:", "", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got, ok := test.set.Select(test.hash); got != test.want || ok != test.ok {
				t.Errorf("%v.Select(%q) = %q, %t, want %q, %t", test.set, test.hash, got, ok, test.want, test.ok)
			}
		})
	}
}

func TestAgree(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		a, b resourcesync.Hash
		want bool
	}{
		{"nothing", "", "", false},
		{"one has none", "md5:aa", "", false},
		{"the same", "md5:aa", "md5:aa", true},
		{"another", "md5:aa", "md5:ab", false},
		{"one of each in common", "md5:aa sha-256:bb", "sha-256:bb sha-512:cc", true},
		{"nothing in common", "md5:aa", "sha-256:bb", false},
		{"one agrees, one differs", "md5:aa sha-256:bb", "md5:aa sha-256:bc", false},
		{"one differs, one agrees", "md5:ab sha-256:bb", "md5:aa sha-256:bb", false},
		{"another order", "md5:aa sha-256:bb", "sha-256:bb md5:aa", true},
		{"another case", "MD5:AA", "md5:aa", true},
		{"an unknown one differs", "md5:aa blake3:01", "md5:aa blake3:02", true},
		{"only an unknown one in common", "blake3:01", "blake3:01", false},
		{"a digest that is not there differs from none", "md5:aa sha-256:", "md5:aa sha-256:bb", true},
		{"digests that are not there have nothing in common", "md5:", "md5:", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := Agree(test.a, test.b); got != test.want {
				t.Errorf("Agree(%q, %q) = %t, want %t", test.a, test.b, got, test.want)
			}
			if got := Agree(test.b, test.a); got != test.want {
				t.Errorf("Agree(%q, %q) = %t, want %t", test.b, test.a, got, test.want)
			}
		})
	}
}

func FuzzSets(f *testing.F) {
	for _, seed := range []struct{ names, a, b string }{
		{"", "", ""},
		{"sha-256", "md5:aa sha-256:bb", "sha-256:bb"},
		{"MD5 sha1 sha-1", "SHA-1:AA md5:", "sha-1 sha-1:aa"},
		{"sha512 md5", "md5: md5:aa sha-512:00", "sha-512:00 sha-384:11"},
		{"m-d-5", "\u017fha-256:aa", "sha-256:aa"},
		{"sha-384", ":aa ::", "md5:aa:bb"},
	} {
		f.Add(seed.names, seed.a, seed.b)
	}
	f.Fuzz(func(t *testing.T, names, a, b string) {
		ha, hb := resourcesync.Hash(a), resourcesync.Hash(b)
		checkSet(t, Of(ha))
		checkSet(t, Of(ha).With(Of(hb)))
		if x, y := Of(ha).With(Of(hb)), Of(hb).With(Of(ha)); !slices.Equal(x, y) {
			t.Errorf("the union of %v and %v depends on their order", Of(ha), Of(hb))
		}
		set, err := NewSet(strings.Fields(names)...)
		if err == nil {
			checkNames(t, set)
			checkSelect(t, set, ha)
		}
		checkSelect(t, Of(ha), ha)
		if _, ok := Of(ha).Select(ha); !ok {
			t.Errorf("%q has digests by %v, which cannot be selected", ha, Of(ha))
		}
		if Agree(ha, hb) != Agree(hb, ha) {
			t.Errorf("whether %q and %q agree depends on their order", ha, hb)
		}
		if Agree(ha, ha) != (len(Of(ha)) > 0) {
			t.Errorf("Agree(%q, itself) = %t, yet it has digests by %v", ha, Agree(ha, ha), Of(ha))
		}
		if Agree(ha, hb) {
			checkAgreement(t, ha, hb)
		}
	})
}

// checkSet fails if a set is not sorted, or has something twice or unknown.
func checkSet(t *testing.T, s Set) {
	t.Helper()
	last := -1
	for _, a := range s {
		i := slices.Index(algorithms, a)
		if i <= last {
			t.Fatalf("%v is no set", s)
		}
		last = i
	}
}

// checkNames fails if the names of a set do not make the same set.
func checkNames(t *testing.T, s Set) {
	t.Helper()
	checkSet(t, s)
	var names []string
	for _, a := range s {
		names = append(names, string(a))
	}
	if again, err := NewSet(names...); err != nil || !slices.Equal(again, s) {
		t.Errorf("NewSet(%v) = %v, %v", names, again, err)
	}
}

// checkSelect fails if what a set selects has not its digests, and no others.
func checkSelect(t *testing.T, s Set, h resourcesync.Hash) {
	t.Helper()
	got, ok := s.Select(h)
	if !ok {
		if got != "" {
			t.Errorf("%v.Select(%q) = %q without being complete", s, h, got)
		}
		return
	}
	if !slices.Equal(Of(got), s) {
		t.Errorf("%v.Select(%q) = %q", s, h, got)
	}
	if again, ok := s.Select(got); !ok || again != got {
		t.Errorf("%v.Select(%q) = %q, %t", s, got, again, ok)
	}
	if len(s) > 0 && !Agree(got, h) {
		t.Errorf("%q, selected from %q, does not agree with it", got, h)
	}
}

// checkAgreement fails if two that agree have nothing in common, or differ.
func checkAgreement(t *testing.T, a, b resourcesync.Hash) {
	t.Helper()
	common := 0
	for _, algorithm := range algorithms {
		x, y := a.Get(string(algorithm)), b.Get(string(algorithm))
		if x == "" || y == "" {
			continue
		}
		common++
		if x != y {
			t.Errorf("%q and %q agree, but not by %s", a, b, algorithm)
		}
	}
	if common == 0 {
		t.Errorf("%q and %q agree, but have nothing in common", a, b)
	}
}
