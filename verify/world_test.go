package verify

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// world is a publication that can be broken before it is written.
type world struct {
	files map[string]string
	zips  map[string]*zipOf
	// last is done to the files when all digests stand in the documents.
	last []func(dir string) error
}

// zipOf is a package: the manifest, and the files that it names.
type zipOf struct {
	manifest string // the file whose text it is
	name     string // under which the manifest stands
	inside   string // another text for the manifest, or empty
	files    []zipFile
	write    func(*zip.Writer) error // more, or nil
	bytes    func([]byte) []byte
}

type zipFile struct{ name, file string }

// good returns the world of testdata/good.txtar, in which nothing is wrong.
func good(t testing.TB) *world {
	t.Helper()
	a, err := txtar.ParseFile("testdata/good.txtar")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{files: map[string]string{}, zips: map[string]*zipOf{
		"fish/all.zip": {manifest: "fish/all.xml", files: []zipFile{
			{"resources/carp.html", "carp.html"}, {"resources/pike.txt", "pike.txt"}, {"resources/tench.json", "tench.json"},
		}},
		"fish/old.zip": {manifest: "fish/old.xml", files: []zipFile{
			{"old/bream.txt", "old/bream.txt"}, {"old/carp.html", "old/carp.html"}, {"pike.txt", "pike.txt"},
		}},
		"fish/day-1.zip": {manifest: "fish/day-1.xml", files: []zipFile{{"old/tench.json", "old/tench.json"}}},
		"fish/day-3.zip": {manifest: "fish/day-3.xml", files: []zipFile{{"carp.html", "carp.html"}}},
		"fish/day-4.zip": {manifest: "fish/day-4.xml", files: []zipFile{{"tench.json", "tench.json"}, {"tench.patch", "tench.patch"}, {"pike.txt", "pike.txt"}}},
	}}
	for _, f := range a.Files {
		w.files[f.Name] = string(f.Data)
	}
	return w
}

// replace replaces a text in a file, which must be there.
func (w *world) replace(t testing.TB, file, old, new string) {
	t.Helper()
	if !strings.Contains(w.files[file], old) {
		t.Fatalf("%s has no %q", file, old)
	}
	w.files[file] = strings.Replace(w.files[file], old, new, 1)
}

var placeholder = regexp.MustCompile(`\{(hash|md5|length) ([^}]+)\}`)

// resolve returns a file with the digests of others in it.
func (w *world) resolve(name string, done map[string][]byte) ([]byte, error) {
	if b, ok := done[name]; ok {
		return b, nil
	}
	if z := w.zips[name]; z != nil {
		b, err := w.zip(z, done)
		done[name] = b
		return b, err
	}
	text, ok := w.files[name]
	if !ok {
		return nil, fmt.Errorf("no file %s", name)
	}
	var failed error
	b := placeholder.ReplaceAllFunc([]byte(text), func(m []byte) []byte {
		p := placeholder.FindSubmatch(m)
		other, err := w.resolve(string(p[2]), done)
		if err != nil {
			failed = err
		}
		switch string(p[1]) {
		case "hash":
			return fmt.Appendf(nil, "%x", sha256.Sum256(other))
		case "md5":
			return fmt.Appendf(nil, "%x", md5.Sum(other))
		}
		return fmt.Appendf(nil, "%d", len(other))
	})
	done[name] = b
	return b, failed
}

func (w *world) zip(z *zipOf, done map[string][]byte) ([]byte, error) {
	var b bytes.Buffer
	zw := zip.NewWriter(&b)
	add := func(name string, content []byte) error {
		f, err := zw.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
		if err == nil {
			_, err = f.Write(content)
		}
		return err
	}
	manifest, err := w.resolve(z.manifest, done)
	if err != nil {
		return nil, err
	}
	if z.inside != "" {
		manifest = []byte(z.inside)
	}
	name := "manifest.xml"
	if z.name != "" {
		name = z.name
	}
	if z.name != "-" {
		if err := add(name, manifest); err != nil {
			return nil, err
		}
	}
	for _, f := range z.files {
		content, err := w.resolve(f.file, done)
		if err != nil {
			return nil, err
		}
		if err := add(f.name, content); err != nil {
			return nil, err
		}
	}
	if z.write != nil {
		if err := z.write(zw); err != nil {
			return nil, err
		}
	}
	if err := zw.Close(); err != nil {
		return nil, err
	}
	if z.bytes != nil {
		return z.bytes(b.Bytes()), nil
	}
	return b.Bytes(), nil
}

// write writes the world into a directory.
func (w *world) write(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	done := map[string][]byte{}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(w.files)), slices.Collect(maps.Keys(w.zips))) {
		b, err := w.resolve(name, done)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range w.last {
		if err := f(dir); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// audit audits a directory or a URL.
func audit(t testing.TB, place string, o Options) *Report {
	t.Helper()
	r, err := Check(context.Background(), place, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// rulesOf returns the names of the rules that were broken, in order.
func rulesOf(r *Report) []string {
	names := map[string]bool{}
	for _, f := range r.Findings {
		names[f.Rule.Name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// lines returns the findings as text.
func lines(r *Report) string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%s:%d:%d %s: %s\n", f.where(), f.Line, f.Column, f.Rule.Name, f.Message)
	}
	return b.String()
}
