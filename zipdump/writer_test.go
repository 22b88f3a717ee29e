package zipdump

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	kzip "github.com/klauspost/compress/zip"
)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	list := mixed()
	b := build(t, list)
	std, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	k, err := kzip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	own := openBytes(t, b)
	if std.Comment != "wellspring 1.2.3; deflate 6; policy 1" || own.Comment() != std.Comment {
		t.Errorf("comments %q and %q", std.Comment, own.Comment())
	}
	if len(std.File) != len(list)+1 || len(k.File) != len(list)+1 || own.Len() != len(list) {
		t.Fatalf("%d, %d and %d entries", len(std.File), len(k.File), own.Len())
	}
	for i, f := range append(list, file{Header: Header{manifestName, day}, content: []byte("<urlset/>")}) {
		s, err := std.File[i].Open()
		fromStd := readAll(t, s, err)
		s, err = k.File[i].Open()
		fromK := readAll(t, s, err)
		s, err = own.Open(i)
		if !bytes.Equal(fromStd, f.content) || !bytes.Equal(fromK, f.content) || !bytes.Equal(readAll(t, s, err), f.content) {
			t.Errorf("%q: other content", f.Path)
		}
		if own.Path(i) != f.Path || own.Length(i) != int64(len(f.content)) {
			t.Errorf("entry %d is %q of %d bytes", i, own.Path(i), own.Length(i))
		}
		checkFile(t, std.File[i], f)
	}
	m, err := own.Manifest()
	if got := readAll(t, m, err); string(got) != "<urlset/>" {
		t.Errorf("manifest is %q", got)
	}
}

func checkFile(t *testing.T, z *zip.File, f file) {
	t.Helper()
	if z.Name != f.Path || z.NonUTF8 || z.Flags != flags || z.Mode() != 0o644 {
		t.Errorf("%q: got name %q, flags %x, mode %v", f.Path, z.Name, z.Flags, z.Mode())
	}
	want := f.Modified
	if want.Year() < 1901 {
		want = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	if !z.Modified.Equal(want) {
		t.Errorf("%q: got %v, want %v", f.Path, z.Modified, want)
	}
}

// TestPlain looks at the bytes of a package that needs nothing of ZIP64.
func TestPlain(t *testing.T) {
	t.Parallel()
	list := mixed()
	b := build(t, list)
	le := binary.LittleEndian
	at := 0
	for range len(list) + 1 {
		h := b[at:]
		if le.Uint32(h) != localSignature || le.Uint16(h[4:]) != 20 || le.Uint16(h[6:]) != 0x800 {
			t.Fatalf("local header %x", h[:localSize])
		}
		name, extra := int(le.Uint16(h[26:])), int(le.Uint16(h[28:]))
		checkExtra(t, h[localSize+name:][:extra])
		at += localSize + name + extra + int(le.Uint32(h[18:]))
	}
	for range len(list) + 1 {
		h := b[at:]
		if le.Uint32(h) != centralSignature || le.Uint16(h[4:]) != 0x32d || le.Uint16(h[6:]) != 20 || le.Uint16(h[8:]) != 0x800 {
			t.Fatalf("directory record %x", h[:centralSize])
		}
		name, extra := int(le.Uint16(h[28:])), int(le.Uint16(h[30:]))
		checkExtra(t, h[centralSize+name:][:extra])
		at += centralSize + name + extra
	}
	if le.Uint32(b[at:]) != endSignature || len(b) != at+endSize+len(packer.Policy.Comment()) {
		t.Errorf("the end is %x", b[at:])
	}
}

func checkExtra(t *testing.T, x []byte) {
	t.Helper()
	if len(x) > 0 && (len(x) != 9 || !bytes.HasPrefix(x, []byte{'U', 'T', 5, 0, 1})) {
		t.Errorf("extra fields are %x", x)
	}
}

func TestSameBytes(t *testing.T) {
	t.Parallel()
	if !bytes.Equal(build(t, mixed()), build(t, mixed())) {
		t.Error("the same bitstreams make different packages")
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	first := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)
	last := time.Date(2107, 12, 31, 23, 59, 58, 0, time.UTC)
	edge := time.Unix(1<<31-1, 0).UTC()
	for _, c := range []struct {
		modified, dos time.Time
		stamped       bool
	}{
		{time.Time{}, first, false},
		{time.Date(1601, 1, 1, 0, 0, 0, 0, time.UTC), first, false},
		{time.Unix(0, 0), first, true},
		{first.Add(-time.Nanosecond), first, true},
		{first.Add(2 * time.Second), first.Add(2 * time.Second), true},
		{day.In(time.FixedZone("", 5*3600)), day, true},
		{day.Add(1999 * time.Millisecond), day, true},
		{edge, edge.Add(-time.Second), true},
		{edge.Add(time.Second), edge.Add(time.Second), false},
		{last.Add(time.Second), last, false},
		{last.Add(2 * time.Second), last, false},
		{time.Date(1_000_000, 1, 1, 0, 0, 0, 0, time.UTC), last, false},
	} {
		b := build(t, []file{{Header: Header{Path("a"), c.modified}}})
		z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		f := z.File[0]
		date, clock := f.ModifiedDate, f.ModifiedTime
		dos := time.Date(int(date>>9)+1980, time.Month(date>>5&15), int(date&31), int(clock>>11), int(clock>>5&63), int(clock&31)*2, 0, time.UTC)
		if !dos.Equal(c.dos) || len(f.Extra) > 0 != c.stamped {
			t.Errorf("%v: got %v and %d bytes of extra fields, want %v", c.modified, dos, len(f.Extra), c.dos)
		}
		if c.stamped && f.Modified.Unix() != c.modified.Unix() {
			t.Errorf("%v: got %v", c.modified, f.Modified)
		}
		openBytes(t, b)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	var list []file
	for _, name := range []string{
		strings.Repeat("ä", 127) + "x", strings.Repeat("日", 85), strings.Repeat("a", maxName-len(folder)), "\xff/..\n", "é", "e\u0301",
	} {
		list = append(list, file{Header: Header{Path(name), day}, content: []byte(name)})
	}
	p := openBytes(t, build(t, list))
	for i, f := range list {
		if p.Path(i) != f.Path {
			t.Errorf("got %q, want %q", p.Path(i), f.Path)
		}
	}
}

func TestAddRefuses(t *testing.T) {
	t.Parallel()
	var zip, directory bytes.Buffer
	w := NewWriter(&zip, &directory)
	done := pack(t, packer, file{})
	for _, path := range []string{"", "a//b", "manifest.xml"} {
		if err := w.Add(Header{Path: path}, done); err == nil {
			t.Errorf("%q was added", path)
		}
	}
	if err := w.Add(Header{Path: "a"}, packer.New()); !errors.Is(err, errNotFinished) {
		t.Errorf("an unfinished bitstream gave %v", err)
	}
	if zip.Len() > 0 || directory.Len() > 0 || w.End() != (End{}) {
		t.Error("something was written nevertheless")
	}
	if err := w.Add(Header{Path: "a"}, done); err != nil {
		t.Error(err)
	}
	wrong := pack(t, packer, file{content: text(1000, 1)})
	wrong.packed.size++
	if err := NewWriter(io.Discard, io.Discard).Add(Header{Path: "a"}, wrong); err == nil {
		t.Error("less was written than had been said")
	}
	for _, comment := range []string{"ä", "a\n", "PK\x05\x06", strings.Repeat("a", max16+1)} {
		if _, err := w.End().Finish(io.Discard, &directory, Closing{Manifest: done, Comment: comment}); err == nil {
			t.Errorf("the comment %.9q was taken", comment)
		}
	}
	if _, err := w.End().Finish(io.Discard, &directory, Closing{Manifest: packer.New()}); err == nil {
		t.Error("an unfinished manifest was taken")
	}
	for _, directory := range []string{"", strings.Repeat("a", int(w.DirectorySize())+1)} {
		if _, err := w.End().Finish(io.Discard, strings.NewReader(directory), Closing{Manifest: done}); err == nil {
			t.Errorf("a directory of %d bytes was taken", len(directory))
		}
	}
}

// TestWriterFails has each write fail.
func TestWriterFails(t *testing.T) {
	t.Parallel()
	list := mixed()
	var bs []*Bitstream
	for _, f := range list {
		bs = append(bs, pack(t, packer, f))
	}
	add := func(w *Writer) error {
		for i, b := range bs {
			if err := w.Add(list[i].Header, b); err != nil {
				if again := w.Add(list[i].Header, b); again != err {
					t.Errorf("then Add returned %v", again)
				}
				return err
			}
		}
		return nil
	}
	old := openBytes(t, build(t, list))
	take := func(w *Writer) error { return w.Take(old, 0, old.Len()) }
	var directory bytes.Buffer
	whole := NewWriter(io.Discard, &directory)
	if err := add(whole); err != nil {
		t.Fatal(err)
	}
	end := closing(t)
	for name, run := range map[string]func(f *failing) error{
		"zip":            func(f *failing) error { return add(NewWriter(f, io.Discard)) },
		"directory":      func(f *failing) error { return add(NewWriter(io.Discard, f)) },
		"take":           func(f *failing) error { return take(NewWriter(f, io.Discard)) },
		"take directory": func(f *failing) error { return take(NewWriter(io.Discard, f)) },
		"finish": func(f *failing) error {
			_, err := whole.End().Finish(f, bytes.NewReader(directory.Bytes()), end)
			return err
		},
	} {
		n := 0
		for ; n < 1000; n++ {
			err := run(&failing{n: n})
			if err == nil {
				break
			}
			if !errors.Is(err, errTest) || strings.Count(err.Error(), ":") == 0 {
				t.Errorf("%s: failing write %d gave %v", name, n, err)
			}
		}
		if n < 3 || n == 1000 {
			t.Errorf("%s: it took %d writes", name, n)
		}
	}
	if err := add(NewWriter(short{}, io.Discard)); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("short writes gave %v", err)
	}
}

// TestTools has other programs look at packages, as far as they are installed.
func TestTools(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	small, many := filepath.Join(dir, "small.zip"), filepath.Join(dir, "many.zip")
	list := mixed()
	list[0], list[2] = list[2], list[0] // funzip wants content in the first
	for name, content := range map[string][]byte{small: build(t, list), many: buildMany(t, 70_000)} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ command, want string }{
		{"unzip -tqq " + small, ""},
		{"unzip -tqq " + many, ""},
		{"bsdtar -tf " + small, "日本語"},
		{"bsdtar -tf " + many, "resources/69999\nmanifest.xml"},
		{"python3 -m zipfile -t " + small, ""},
		{"funzip " + small, string(list[0].content)},
	} {
		t.Run(strings.ReplaceAll(c.command, dir, ""), func(t *testing.T) {
			t.Parallel()
			args := strings.Fields(c.command)
			if _, err := exec.LookPath(args[0]); err != nil {
				t.Skip(args[0], "is not installed")
			}
			cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
			cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
			out, err := cmd.Output()
			if err != nil || !strings.Contains(string(out), c.want) {
				t.Errorf("%v: %.500s", err, out)
			}
		})
	}
}

// buildMany returns a package of n empty bitstreams.
func buildMany(t testing.TB, n int) []byte {
	t.Helper()
	var zip, directory bytes.Buffer
	w := NewWriter(&zip, &directory)
	empty := pack(t, packer, file{})
	for i := range n {
		if err := w.Add(Header{Path(fmt.Sprint(i)), day}, empty); err != nil {
			t.Fatal(err)
		}
	}
	return complete(t, w, &zip, &directory)
}
