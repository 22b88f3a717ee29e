package generator

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/wellspring-sync/wellspring/generator/policy"
)

// The tests in this file are named after the rows of docs/faults.md that are
// about packages.

// TestRow35LargeBitstream packs more than 4 GiB.
func TestRow35LargeBitstream(t *testing.T) {
	if os.Getenv("WELLSPRING_LONG") == "" {
		t.Skip("packs more than 4 GiB; WELLSPRING_LONG=1 runs it")
	}
	t.Parallel()
	w := newDumps(t)
	w.options.Compression = 1
	w.file("large.txt", "", longAgo)
	const size = 4<<30 + 1
	if err := os.Truncate(filepath.Join(w.source, "large.txt"), size); err != nil {
		t.Skip(err)
	}
	w.touch("large.txt", longAgo)
	wantWarning(t, w.build(), `"large.txt" is larger than a package should be`)
	if got := w.sizeInPackages("resources/large.txt"); got != size {
		t.Errorf("%d bytes are packed, want %d", got, int64(size))
	}
}

// sizeInPackages reads a bitstream with another implementation of ZIP, which
// compares its checksum, and returns its length.
func (w *world) sizeInPackages(name string) int64 {
	w.t.Helper()
	for _, p := range w.packages("resourcedump") {
		z, err := zip.OpenReader(p)
		if err != nil {
			w.t.Fatal(err)
		}
		defer z.Close()
		for _, f := range z.File {
			if f.Name != name {
				continue
			}
			if len(z.File) != 2 {
				w.t.Errorf("%s is in a package with %d others", name, len(z.File)-2)
			}
			r, err := f.Open()
			if err != nil {
				w.t.Fatal(err)
			}
			n, err := io.Copy(io.Discard, r)
			if err != nil {
				w.t.Errorf("%s: %v", name, err)
			}
			return n
		}
	}
	return -1
}

// TestRow60HostilePackages has packages of the last publication replaced by
// others of the same length, which are never copied from.
func TestRow60HostilePackages(t *testing.T) {
	t.Parallel()
	w := newDumps(t)
	w.build()
	want := read(t, w.out).dumps.content
	changes := regexp.MustCompile(`[05]\.txt`)
	for _, name := range w.packages("resourcedump") {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !changes.Match(b) { // the directory has the names
			continue // nothing will be copied from it
		}
		hostile := bytes.ReplaceAll(b, []byte("resources/d"), []byte("../../.././d"[:11]))
		if err := os.WriteFile(name, hostile, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files := tree(t, w.source)
	for name := range files {
		if changes.MatchString(name) {
			w.file(name, "changed", longAgo)
		}
	}
	wantWarning(t, w.build(), "is made anew from the source")
	got := read(t, w.out).dumps.content
	for uri, content := range want {
		if changes.MatchString(uri) {
			content = "changed"
		}
		if got[uri] != content {
			t.Errorf("%s is %q, want %q", uri, got[uri], content)
		}
	}
}

// TestRow61EntriesOfPackages goes over the limit of bitstreams in one package.
func TestRow61EntriesOfPackages(t *testing.T) {
	t.Parallel()
	for n, packages := range map[int]int{19: 1, 20: 1, 21: 2} {
		w := newWorld(t, t.TempDir()).seed(n)
		w.options.Dumps.Resource = true
		w.options.limits = policy.Limits{Entries: 20, Bytes: 50 << 20, CutBits: 60}
		w.build()
		p := read(t, w.out)
		if got := len(p.dumps.packages); got != packages {
			t.Errorf("%d resources are in %d packages, want %d", n, got, packages)
		}
	}
}

// TestRow62MaximumOfPackages goes over the maximum byte by byte: no package is
// larger, but for that of a bitstream that is so alone.
func TestRow62MaximumOfPackages(t *testing.T) {
	t.Parallel()
	const most = 4096
	for length := most - 600; length <= most+1; length += 37 {
		w := newWorld(t, t.TempDir()).seed(3)
		w.options.Dumps.Resource = true
		w.options.PackageSize, w.options.Compression = most, 0
		w.file("large", strings.Repeat("x", length), longAgo)
		report := w.build()
		for _, name := range w.packages("resourcedump") {
			info, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			if info.Size() > most && len(report.Warnings) == 0 {
				t.Errorf("a package of %d bytes with a file of %d", info.Size(), length)
			}
		}
		if length >= most && len(report.Warnings) == 0 {
			t.Errorf("no warning for a file of %d bytes", length)
		}
		read(t, w.out)
	}
}

// TestPackedNames has files without bytes, and names as long as they can be.
func TestPackedNames(t *testing.T) {
	t.Parallel()
	w := newDumps(t)
	names := []string{
		strings.Repeat("é", 127) + "x", strings.Repeat("日", 85), strings.Repeat("\U0001f600", 63) + ".xz",
		"empty", "a\\b", "a..b", "a:b", "con", "nul.txt", "%2e%2e", "tab\tbell\a",
	}
	for i, name := range names {
		content := ""
		if name != "empty" {
			content = fmt.Sprint(i)
		}
		w.file(name, content, longAgo)
	}
	w.build()
	p := read(t, w.out) // which opens each package and compares it with the source
	if got := len(p.dumps.content); got != 60+len(names) {
		t.Errorf("%d bitstreams are packed, want %d", got, 60+len(names))
	}
	w.file("empty", "no more", longAgo)
	w.file("a..b", "", longAgo)
	w.build()
	read(t, w.out)
}
