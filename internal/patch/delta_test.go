package patch

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

type size struct{ before, now int }

// sizes are the lengths of bitstreams before and now, at both sides of where another
// level of the encoder is used.
var sizes = []size{
	{0, 0}, {0, 1}, {0, 5000}, {1, 0}, {1, 1}, {7, 8}, {8, 7}, {9, 1000}, {1000, 9}, {5000, 6000}, {16 << 10, 16 << 10}, {16<<10 + 1, 16 << 10},
	{128 << 10, 128 << 10}, {128<<10 + 1, 128 << 10}, {300_000, 200_000}, {200_000, 300_000},
	{2 << 20, 2 << 20}, {2<<20 + 1, 2 << 20}, {3 << 20, 200}, {200, 6 << 20},
	{MaxLength, MaxLength}, {13 << 20, MaxLength}, {9 << 20, 100},
}

func sizesInTime() []size {
	if slow {
		return slices.DeleteFunc(slices.Clone(sizes), func(s size) bool { return s.before+s.now > 1<<20 })
	}
	return sizes
}

// pair returns two bitstreams that have as much in common as they can.
func pair(before, now int) (a, b []byte) {
	r := random(uint64(before))
	a, b = randomBytes(r, before), make([]byte, 0, now)
	for len(b) < now {
		b = append(b, "edit"...)
		b = append(b, a[:min(len(a), now/5)]...)
		b = append(b, a[len(a)-min(len(a), now/3):]...)
	}
	return a, b[:now]
}

func TestDelta(t *testing.T) {
	t.Parallel()
	for _, size := range sizesInTime() {
		before, now := pair(size.before, size.now)
		description, err := encode(before, now)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Apply(zstdType, before, description)
		if err != nil || !bytes.Equal(got, now) {
			t.Errorf("%v: %d bytes of description make %d bytes, %v", size, len(description), len(got), err)
		}
		if min(size.before, size.now) > 1<<10 && len(description) > 500+size.now>>13 { // a few bytes for each block
			t.Errorf("%v: %d bytes of description", size, len(description))
		}
	}
}

// TestLongest has to find what is common in bitstreams for which the tables of the
// encoder are only just large enough.
func TestLongest(t *testing.T) {
	t.Parallel()
	if slow {
		t.Skip("it takes a minute")
	}
	before := randomBytes(random(1), MaxLength)
	now := bytes.Clone(before[:MaxLength-1000])
	copy(now[MaxLength/2:], "something else")
	now = append(now[:1000], append([]byte("inserted"), now[1000:]...)...)
	if p := offered(t, "application/octet-stream", before, now); len(p.Content) > 4000 {
		t.Errorf("%d bytes of description", len(p.Content))
	}
}

// TestZstd has zstd itself apply what is written here.
func TestZstd(t *testing.T) {
	t.Parallel()
	zstd, err := exec.LookPath("zstd")
	if err != nil {
		t.Skip("there is no zstd to apply descriptions with")
	}
	dir := t.TempDir()
	write := func(name string, b []byte) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, b, 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for _, size := range sizesInTime() {
		before, now := pair(size.before, size.now)
		description, err := encode(before, now)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, "now")
		out, err := exec.Command(zstd, "-d", "-q", "-f", "--patch-from="+write("before", before), write("now.zst", description), "-o", name).CombinedOutput()
		if err != nil && size.before > 0 { // it takes no empty file to patch from
			t.Errorf("%v: %v\n%s", size, err, out)
			continue
		}
		if size.before == 0 {
			continue
		}
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, now) {
			t.Errorf("%v: zstd made %d bytes, %v", size, len(got), err)
		}
		if min(len(before), len(now)) < 100 {
			continue
		}
		wrong := bytes.Repeat([]byte("x"), len(before))
		if exec.Command(zstd, "-d", "-q", "-f", "--patch-from="+write("wrong", wrong), filepath.Join(dir, "now.zst"), "-o", name).Run() == nil {
			t.Errorf("%v: zstd did not see that the dictionary is wrong", size)
		}
	}
}

func TestApplyDeltaRefuses(t *testing.T) {
	t.Parallel()
	before, now := pair(5000, 6000)
	good, err := encode(before, now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Apply(zstdType, before[1:], good); !errors.Is(err, errMismatch) {
		t.Errorf("another bitstream: %v", err)
	}
	header := string(good[:headerLength])
	const frame = "\x28\xb5\x2f\xfd"
	for name, description := range map[string]string{
		"empty":                  "",
		"digest only":            header,
		"frame only":             string(good[headerLength:]),
		"one byte more":          string(good) + "x",
		"another frame":          string(good) + string(good[headerLength:]),
		"frame to skip":          string(good) + "\x50\x2a\x4d\x18\x01\x00\x00\x00x",
		"only a frame to skip":   header + "\x50\x2a\x4d\x18\x01\x00\x00\x00x",
		"another dictionary":     header + frame + "\x21\x07\x01\x01\x00\x00",
		"too long":               header + frame + "\xa0\x01\x00\x00\x01" + "\x03\x00\x08x",
		"too long, but not said": header + frame + "\x00\x70" + string(bytes.Repeat([]byte("\x02\x00\x10x"), MaxLength/(128<<10)+1)) + "\x01\x00\x00",
		"window too long":        header + frame + "\x00\xf8\x01\x00\x00",
		"reserved block":         header + frame + "\x20\x01\x0f\x00\x00x",
		"cut off block":          header + frame + "\x20\x05\x29\x00\x00x",
		"wrong length":           header + frame + "\x20\x02\x09\x00\x00x",
	} {
		if got, err := Apply(zstdType, before, []byte(description)); err == nil || errors.Is(err, errMismatch) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	for i := range good {
		if _, err := Apply(zstdType, before, good[:i]); err == nil {
			t.Errorf("%d of %d bytes were taken", i, len(good))
		}
	}
	if got, err := Apply(zstdType, before, []byte(header+frame+"\x20\x01\x09\x00\x00x")); string(got) != "x" {
		t.Errorf("%q, %v", got, err)
	}
}
