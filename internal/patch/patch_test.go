package patch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// slow says that it is the race detector that makes everything take long.
var slow bool

// few returns how many cases there are to be of which a few would do.
func few(n int) int {
	if slow {
		return 1 + n/10
	}
	return n
}

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := 0; i < n; i += 8 {
		var eight [8]byte
		binary.LittleEndian.PutUint64(eight[:], r.Uint64())
		copy(b[i:], eight[:])
	}
	return b
}

var words = strings.Fields(`a resource is anything that has a URI and of which there may be a
representation whose bitstream changes over time so that a Destination which has
synchronized with the Source some time ago has to find out what was created updated or
deleted since then and fetches no more than that`)

func sentence(r *rand.Rand) string {
	s := make([]string, 5+r.IntN(10))
	for i := range s {
		s[i] = words[r.IntN(len(words))]
	}
	return strings.Join(s, " ")
}

// lines returns so many lines of what a function gives for each.
func lines(n int, line func(i int) string) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = line(i) + "\n"
	}
	return all
}

func join(all []string) []byte { return []byte(strings.Join(all, "")) }

// editLines inserts, removes, moves and changes a few lines.
func editLines(r *rand.Rand, all []string) []string {
	all = append([]string(nil), all...)
	for range 1 + r.IntN(5) {
		at, other := r.IntN(len(all)), r.IntN(len(all))
		switch r.IntN(4) {
		case 0:
			all = append(all[:at], append([]string{sentence(r) + "\n"}, all[at:]...)...)
		case 1:
			all = append(all[:at], all[at+1:]...)
		case 2:
			all[at], all[other] = all[other], all[at]
		default:
			all[at] = strings.Replace(all[at], " ", " not ", 1)
		}
	}
	return all
}

// editBytes overwrites, inserts and removes a few ranges.
func editBytes(r *rand.Rand, b []byte) []byte {
	b = bytes.Clone(b)
	for range 1 + r.IntN(5) {
		at, n := r.IntN(len(b)-100), r.IntN(100)
		switch r.IntN(3) {
		case 0:
			copy(b[at:], randomBytes(r, n))
		case 1:
			b = append(b[:at], append(randomBytes(r, n), b[at:]...)...)
		default:
			b = append(b[:at], b[at+n:]...)
		}
	}
	return b
}

// TestEdits makes descriptions of what is changed little, which there have to be.
func TestEdits(t *testing.T) {
	t.Parallel()
	row := func(r *rand.Rand) func(int) string {
		return func(i int) string { return fmt.Sprintf("%d,%d,%s", i, r.IntN(1e6), words[r.IntN(len(words))]) }
	}
	for name, edit := range map[string]func(r *rand.Rand) (before, now []byte){
		"text/plain": func(r *rand.Rand) (before, now []byte) {
			all := lines(200, func(int) string { return sentence(r) })
			return join(all), join(editLines(r, all))
		},
		"application/octet-stream": func(r *rand.Rand) (before, now []byte) {
			before = randomBytes(r, 5000+r.IntN(500_000))
			return before, editBytes(r, before)
		},
		"text/csv": func(r *rand.Rand) (before, now []byte) {
			all := lines(1000, row(r))
			return join(all[:900]), join(all)
		},
		"application/xml": func(r *rand.Rand) (before, now []byte) {
			all := lines(100, func(i int) string { return fmt.Sprintf(`<place id="p%d" lon="%d"/>`, i, r.IntN(180)) })
			now = bytes.Replace(join(all), []byte(`id="p50"`), []byte(`id="p50" lat="3"`), 1)
			return join(all), now
		},
		"application/x-shorter": func(r *rand.Rand) (before, now []byte) {
			all := lines(1000, row(r))
			return join(all), join(all[300:400])
		},
		"application/x-ndjson": func(r *rand.Rand) (before, now []byte) {
			all := lines(100, func(i int) string { return fmt.Sprintf(`{"id":%d,"name":%q}`, i, sentence(r)) })
			return join(all), join(editLines(r, all))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(few(20)) {
				before, now := edit(random(seed))
				p := offered(t, name, before, now)
				if p.Type != "application/x-zstd-patch" || p.Extension != ".zst" {
					t.Errorf("%d: %s, %s", seed, p.Type, p.Extension)
				}
			}
		})
	}
}

// offered makes a description, which has to be there, small and right, and the same each
// time.
func offered(t *testing.T, mediaType string, before, now []byte) *Patch {
	t.Helper()
	p, err := Make(mediaType, before, now)
	if err != nil {
		t.Fatal(err)
	}
	if p == nil {
		t.Fatalf("no description of how %.1000q\ndiffers from %.1000q", now, before)
	}
	if len(p.Content) >= len(now)/3 {
		t.Errorf("%d bytes describe a change to %d bytes", len(p.Content), len(now))
	}
	got, err := Apply(p.Type, before, p.Content)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, now) {
		t.Errorf("%s makes\n%q of\n%q, want\n%q", p.Content, got, before, now)
	}
	if again, err := Make(mediaType, before, now); err != nil || !bytes.Equal(again.Content, p.Content) {
		t.Errorf("another time it is different, %v", err)
	}
	return p
}

func TestNotOffered(t *testing.T) {
	t.Parallel()
	r := random(1)
	text := join(lines(100, func(int) string { return sentence(r) }))
	half := append(randomBytes(r, 5000), text[:5000]...)
	for name, test := range map[string]struct {
		mediaType   string
		before, now []byte
	}{
		"nothing changed":   {"text/plain", text, text},
		"short":             {"text/plain", text, text[:minLength-1]},
		"empty":             {"text/plain", text, nil},
		"new":               {"text/plain", nil, text},
		"nothing in common": {"image/jpeg", randomBytes(r, 20_000), randomBytes(r, 20_000)},
		"half in common":    {"application/octet-stream", text, half},
		"too long before":   {"text/plain", append(make([]byte, MaxLength), text...), text},
		"too long now":      {"text/plain", text, append(make([]byte, MaxLength), text...)},
		"other JSON":        {"application/json", []byte(`{"a":"` + string(text[:3000]) + `"}`), []byte(`["` + strings.Repeat("0123456789", 500) + `"]`)},
		// A decoder need not have a window as long as this. See RFC 9842 §5.
		"grown beyond the window": {"text/plain", text, bytes.Repeat(text, 8<<20/len(text)+1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if p, err := Make(test.mediaType, test.before, test.now); p != nil || err != nil {
				t.Errorf("%d bytes of %s for %d bytes, %v", len(p.Content), p.Type, len(test.now), err)
			}
		})
	}
}

// TestThird shows that the size of a description decides, by adding to what is new in a
// bitstream until there is none any more.
func TestThird(t *testing.T) {
	t.Parallel()
	r := random(1)
	before := randomBytes(r, 10_000)
	largest, none := 0, 0
	for n := 0; n < 10_000; n += 250 {
		now := append(bytes.Clone(before), randomBytes(r, n+1)...)
		p, err := Make("application/octet-stream", before, now)
		if err != nil {
			t.Fatal(err)
		}
		if p == nil {
			none++
			continue
		}
		largest = max(largest, n)
		if len(p.Content) >= len(now)/3 {
			t.Errorf("%d bytes for %d", len(p.Content), len(now))
		}
	}
	if largest < 4500 || largest > 5000 || none == 0 {
		t.Errorf("the last description was of %d new bytes after 10000 old ones", largest)
	}
}

func TestIsWorthTrying(t *testing.T) {
	t.Parallel()
	r := random(1)
	a, b := randomBytes(r, 1<<20), randomBytes(r, 1<<20)
	mix := func(n int) []byte { return append(bytes.Clone(a[:n]), b[n:]...) }
	for name, test := range map[string]struct {
		before, now []byte
		want        bool
	}{
		"same":           {a, a, false},
		"other":          {a, b, false},
		"eighth":         {a, mix(1 << 17), false},
		"half":           {a, mix(1 << 19), true},
		"moved":          {a, append(bytes.Clone(a[12345:]), a[:12345]...), true},
		"short eighth":   {a[:8000], append(bytes.Clone(a[:1000]), b[:7000]...), false},
		"short half":     {a[:8000], append(bytes.Clone(a[:4000]), b[:4000]...), true},
		"long runs":      {append(make([]byte, 1<<20), a...), append(make([]byte, 1<<19), a...), true},
		"tiny":           {a[:4], a[:5], true}, // it cannot tell
		"repeated":       {bytes.Repeat([]byte("abc"), 1<<18), bytes.Repeat([]byte("cba"), 1<<18), true},
		"nothing before": {nil, a, false},
	} {
		if got := isWorthTrying(test.before, test.now); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}

func TestApplyRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		mediaType, before, description string
		want                           error
	}{
		{"application/vcdiff", "a", "b", errors.ErrUnsupported},
		{"", "a", "b", errors.ErrUnsupported},
		{"application/json", "{}", "[]", errors.ErrUnsupported},
		{"application/json-patch+json", "[]", `[{"op":"test","path":"","value":[]}]`, errors.ErrUnsupported},
		{"Application/JSON-Patch+json; charset=utf-8", "[]", `[{"op":"remove","path":"/0"}]`, errMismatch},
		{"application/x-zstd-patch", "a", magic + strings.Repeat("x", 32) + "(\xb5/\xfd\x20\x00\x01\x00\x00", errMismatch},
	} {
		if _, err := Apply(test.mediaType, []byte(test.before), []byte(test.description)); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.mediaType, err, test.want)
		}
	}
	long := make([]byte, MaxLength+1)
	for _, mediaType := range []string{jsonType, zstdType} {
		if _, err := Apply(mediaType, long, nil); err == nil {
			t.Errorf("%s: a bitstream that is too long was taken", mediaType)
		}
		if _, err := Apply(mediaType, nil, long); err == nil {
			t.Errorf("%s: a description that is too long was taken", mediaType)
		}
	}
}
