package main

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

var updateExamples = flag.Bool("update-examples", false, "rewrite the documents in testdata/relations/want")

const relations = "../../testdata/relations"

// exampleSources are those of testdata/relations, in the order in which they take
// from each other.
var exampleSources = []string{"original", ".", "second"}

// TestExamplesOfLinks publishes sources with all relations of Z39.99-2017 §14, changes
// them, and publishes them again.
func TestExamplesOfLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(relations)); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ state, now string }{{"before", "2026-01-02T00:00:00Z"}, {"after", "2026-01-03T00:00:00Z"}} {
		for _, source := range exampleSources {
			at := filepath.Join(dir, source)
			settle(t, filepath.Join(at, step.state), filepath.Join(at, "site"), step.now)
			mustRun(t, "build", "--config", filepath.Join(at, "wellspring.toml"), "--cache", "none", "--now", step.now)
			mustRun(t, "verify", "--config", filepath.Join(at, "wellspring.toml"), "--strict")
		}
	}
	for _, source := range exampleSources {
		compareWithWanted(t, filepath.Join(dir, source, "public"), filepath.Join(relations, "want", source))
	}
}

// settle makes the site of a source what it is in a state, half a day before a time.
func settle(t *testing.T, state, site, now string) {
	t.Helper()
	os.RemoveAll(site)
	if err := os.CopyFS(site, os.DirFS(state)); err != nil {
		t.Fatal(err)
	}
	at, err := resourcesync.ParseDateTime(now)
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(site, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.Chtimes(name, time.Time{}, at.Add(-12*time.Hour))
	})
	if err != nil {
		t.Fatal(err)
	}
}

func mustRun(t *testing.T, args ...string) {
	t.Helper()
	var stderr bytes.Buffer
	if code := run(t.Context(), args, io.Discard, &stderr); code != 0 {
		t.Fatalf("wellspring %s: exit code %d\n%s", strings.Join(args, " "), code, &stderr)
	}
}

// compareWithWanted compares documents, and what lies beside them.
func compareWithWanted(t *testing.T, public, want string) {
	t.Helper()
	for _, name := range []string{"changelist.xml", "resourcelist.xml", "timemap.link"} {
		got := exampleDocument(t, public, name)
		if *updateExamples && got != "" {
			if err := os.MkdirAll(want, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(want, name), []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		wanted, err := os.ReadFile(filepath.Join(want, name))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(wanted), got); diff != "" {
			t.Errorf("%s of %s (-want +got; rewrite it with -update-examples):\n%s", name, want, diff)
		}
	}
}

// exampleDocument returns a document, or nothing if there is none. There is one TimeMap
// at most.
func exampleDocument(t *testing.T, public, name string) string {
	t.Helper()
	folder := filepath.Join(public, "resourcesync")
	found, err := filepath.Glob(filepath.Join(folder, "versions", "*", name))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(found, filepath.Join(folder, name)) {
		b, err := os.ReadFile(file)
		if err == nil {
			return string(b)
		}
		if !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	return ""
}

// TestExamplesHaveTheirStructure compares the documents with the examples of the
// standard: for each of them, one of our resources has the same links, with the same
// attributes at least.
func TestExamplesHaveTheirStructure(t *testing.T) {
	t.Parallel()
	const examples = "../../../shared/spec-examples"
	if _, err := os.Stat(examples); err != nil {
		t.Skip("the examples of the standard are not here: ", err)
	}
	for _, tt := range []struct {
		example string
		source  string
		ours    []string // for each entry of the example
	}{
		{"24", ".", []string{"mirrored.html"}},
		{"25", ".", []string{"article"}},
		{"26", ".", []string{"article.html"}},
		{"27", ".", []string{"levels.json", "chart.svg"}},
		{"28", ".", []string{"paper.pdf", "paper.pdf.xml"}},
		{"29", ".", []string{"notice.html"}},
		{"30", ".", []string{"series/1907.csv"}},
		{"31", "original", []string{"tables.html"}},
		{"32", ".", []string{"taken/tables.html"}},
		{"33", "second", []string{"copies/tables.html"}},
	} {
		t.Run(tt.example, func(t *testing.T) {
			t.Parallel()
			theirs := entriesOf(t, filepath.Join(examples, "core-1.1-example-"+tt.example+".xml"))
			ours := entriesOf(t, filepath.Join(relations, "want", tt.source, "changelist.xml"))
			if len(theirs) != len(tt.ours) {
				t.Fatalf("the example has %d entries, not %d", len(theirs), len(tt.ours))
			}
			for i, name := range tt.ours {
				at := slices.IndexFunc(ours, func(e resourcesync.Entry) bool { return strings.HasSuffix(e.Loc, ".example/"+name) })
				if at < 0 {
					t.Fatalf("%s has no entry", name)
				}
				compareStructure(t, &theirs[i], &ours[at])
			}
		})
	}
}

func entriesOf(t *testing.T, name string) (entries []resourcesync.Entry) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d := resourcesync.NewDecoder(f, resourcesync.Limits{})
	for {
		e, err := d.Next()
		if err == io.EOF {
			return entries
		}
		if err != nil {
			t.Fatal(err)
		}
		c := *e
		c.Links = slices.Clone(e.Links)
		entries = append(entries, c)
	}
}

func compareStructure(t *testing.T, theirs, ours *resourcesync.Entry) {
	t.Helper()
	if ours.Metadata.Change != theirs.Metadata.Change {
		t.Errorf("%s is %s, not %s", ours.Loc, ours.Metadata.Change, theirs.Metadata.Change)
	}
	rels := func(e *resourcesync.Entry) (rels []string) {
		for _, l := range e.Links {
			rels = append(rels, l.Rel)
		}
		slices.Sort(rels)
		return rels
	}
	if diff := cmp.Diff(rels(theirs), rels(ours)); diff != "" {
		t.Fatalf("%s has other links (-example +ours):\n%s", ours.Loc, diff)
	}
	rest := slices.Clone(ours.Links)
	for _, l := range theirs.Links {
		at := slices.IndexFunc(rest, func(o resourcesync.Link) bool { return o.Rel == l.Rel })
		o := rest[at]
		rest = slices.Delete(rest, at, at+1)
		for name, missing := range map[string]bool{
			"hash": l.Hash != "" && o.Hash == "", "length": l.HasLength && !o.HasLength, "type": l.Type != "" && o.Type == "",
			"pri": l.Pri != o.Pri,
			// When a mirror got its copy, nobody can tell.
			"modified": !l.Modified.IsZero() && o.Modified.IsZero() && l.Rel != "duplicate",
		} {
			if missing {
				t.Errorf("%s: the link %s has another %s, or none", ours.Loc, l.Rel, name)
			}
		}
	}
}
