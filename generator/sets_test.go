package generator

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/scanner"
	"github.com/wellspring-sync/wellspring/verify"
)

func mustGlobs(t tester, patterns ...string) (globs []scanner.Glob) {
	t.Helper()
	for _, p := range patterns {
		g, err := scanner.NewGlob(p)
		if err != nil {
			t.Fatal(err)
		}
		globs = append(globs, g)
	}
	return globs
}

// someSets overlap, and differ in all that sets can differ in.
func someSets(t tester, w *world) []policy.Set {
	t.Helper()
	list := filepath.Join(filepath.Dir(w.source), "paths.txt")
	if err := os.WriteFile(list, []byte("d0/a.txt\r\n./d1/b.html\n\nd2/c.bin"), 0o644); err != nil {
		t.Fatal(err)
	}
	paths, err := policy.ReadPaths(list)
	if err != nil {
		t.Fatal(err)
	}
	yes := true
	return []policy.Set{
		{Name: "all", Dumps: policy.Dumps{Resource: true, Change: true}},
		{Name: "d0", Resources: policy.Selection{Include: mustGlobs(t, "d0/")}, Rotate: policy.Rotation{Period: "run"}},
		{Name: "pages", Resources: policy.Selection{Types: []string{"text/html"}}, Dumps: policy.Dumps{Change: true}},
		{Name: "texts", Resources: policy.Selection{Types: []string{"text/*"}, Exclude: mustGlobs(t, "d2/")}, Dumps: policy.Dumps{Resource: true}, Archive: &yes},
		{Name: "small", Folder: "elsewhere/small", Resources: policy.Selection{MaxSize: 12}, Dumps: policy.Dumps{Resource: true, Change: true}, PackageSize: 1500},
		{Name: "late", Resources: policy.Selection{ModifiedAfter: testStart.AddDate(-1, 0, 0)}},
		{Name: "listed", Resources: policy.Selection{Paths: paths}, Archive: &yes},
	}
}

// TestSetsAreIndependent edits a source at random, with sets that come and go. Each
// set is published byte for byte as it would be alone.
func TestSetsAreIndependent(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		dir := fmt.Sprintf("%s/%d", base, n)
		defer os.RemoveAll(dir)
		w := newWorld(t, dir)
		w.options.AllowEmpty, w.options.MaxDelete = true, &policy.Limit{Count: 100, Percent: true}
		w.options.Links = rapid.SampledFrom([][]policy.LinkRule{nil, linkRules("https://example.org/{name}", ""), linkRules("", "{path}")}).Draw(t, "links")
		w.file("x.txt", "x", longAgo)
		sets := someSets(t, w)
		in := map[string]bool{"all": true, "d0": true} // so that some always stay
		for range rapid.IntRange(2, 3).Draw(t, "builds") {
			for range rapid.IntRange(0, 4).Draw(t, "edits") {
				w.editForSets(t)
			}
			if toggled := rapid.SampledFrom(sets[2:]).Draw(t, "toggled").Name; in[toggled] {
				delete(in, toggled)
				os.RemoveAll(filepath.Join(dir, "alone", toggled))
			} else {
				in[toggled] = true
			}
			w.buildSets(t, dir, slices.DeleteFunc(slices.Clone(sets), func(s policy.Set) bool { return !in[s.Name] }))
		}
	})
}

func (w *world) editForSets(t *rapid.T) {
	name := rapid.SampledFrom([]string{"d0/a.txt", "d0/b", "d1/b.html", "d1/c", "d2/c.bin", "d2/d.txt"}).Draw(t, "name")
	content := rapid.SampledFrom([]string{"", "plain", "<!DOCTYPE html><p>x", "<!DOCTYPE html><p>", strings.Repeat("long", 9), "\x00\x01\x02"}).Draw(t, "content")
	if content == "" {
		w.remove(name)
		return
	}
	modified := longAgo // by the content, since all sets keep the lastmod of a file that is only touched
	if len(content)%2 == 0 {
		modified = testStart.Add(-oneDay)
	}
	w.file(name, content, modified)
}

// buildSets builds all sets together and each of them alone, and compares.
func (w *world) buildSets(t tester, dir string, sets []policy.Set) {
	t.Helper()
	now := w.now
	w.build(func(o *Options) { o.Sets = sets })
	verified(t, w.out, verify.Content)
	after := w.now
	for _, set := range sets {
		w.now = now
		alone := filepath.Join(dir, "alone", set.Name)
		w.build(func(o *Options) { o.Sets, o.Out, o.Cache = []policy.Set{set}, alone, "" })
		folder := filepath.FromSlash(folderOf(set))
		if diff := cmp.Diff(tree(t, filepath.Join(alone, folder)), tree(t, filepath.Join(w.out, folder))); diff != "" {
			t.Fatalf("the set %s is another one alone (-alone +together):\n%s", set.Name, diff)
		}
	}
	w.now = after
	for name := range tree(t, filepath.Join(w.out, "resourcesync")) {
		folder, _, below := strings.Cut(name, "/")
		if below && !slices.ContainsFunc(sets, func(s policy.Set) bool { return s.Name == folder }) {
			t.Fatalf("%s was left behind", name)
		}
	}
	before := tree(t, w.out)
	if r := w.build(func(o *Options) { o.Sets = sets }); r.Wrote {
		t.Fatalf("a second run wrote %v", r.Heads)
	}
	if diff := cmp.Diff(before, tree(t, w.out)); diff != "" {
		t.Fatalf("a second run changed\n%s", diff)
	}
}

func folderOf(s policy.Set) string {
	if s.Folder != "" {
		return s.Folder
	}
	return "resourcesync/" + s.Name
}

// TestSetsAreReadOnce has a file in several sets with dumps.
func TestSetsAreReadOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	for i := range 50 {
		w.file(fmt.Sprintf("d%d/file-%02d.txt", i%3, i), strings.Repeat("x", i), longAgo)
	}
	w.options.Cache = ""
	w.options.Sets = []policy.Set{{Name: "a", Dumps: policy.Dumps{Resource: true, Change: true}}, {Name: "b", Dumps: policy.Dumps{Resource: true, Change: true}}, {Name: "c"}}
	if r := w.build(); r.Read != 50 || r.Resources != 50 {
		t.Errorf("read %d of %d files", r.Read, r.Resources)
	}
	w.file("d0/file-00.txt", "changed", longAgo)
	r := w.build()
	if r.Read != 1 || r.Updated != 1 || len(r.Sets) != 3 || r.Sets[1].Updated != 1 {
		t.Errorf("read %d files for %d updates, by set %+v", r.Read, r.Updated, r.Sets)
	}
	// A set that is new needs its resources read for its dump only.
	w.options.Sets = append(w.options.Sets, policy.Set{Name: "d"})
	if r := w.build(); r.Read != 0 || !r.Sets[3].First || r.Events() != 0 {
		t.Errorf("read %d files, by set %+v", r.Read, r.Sets)
	}
}

// TestLinksBetweenSets links a resource to one of another set, and to one that no set
// has.
func TestLinksBetweenSets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.file("a.pdf", "%PDF", longAgo)
	w.file("a.pdf.xml", "<x/>", longAgo)
	w.options.Links = linkRules("", "{path}.xml")
	pdf := policy.Set{Name: "pdf", Resources: policy.Selection{Include: mustGlobs(t, "*.pdf")}}
	xml := policy.Set{Name: "xml", Resources: policy.Selection{Include: mustGlobs(t, "*.xml")}}
	list := func(sets ...policy.Set) string {
		t.Helper()
		w.build(func(o *Options) { o.Sets = sets })
		return tree(t, w.out)["resourcesync/pdf/resourcelist.xml"]
	}
	if !strings.Contains(list(pdf, xml), `href="https://example.org/a.pdf.xml"`) {
		t.Error("there is no link to what another set has")
	}
	if strings.Contains(list(pdf), "a.pdf.xml") {
		t.Error("there is a link to what no set has")
	}
}

// TestSetsThatCannotBe lists what is refused.
func TestSetsThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		sets []policy.Set
		want string
	}{
		{"same name", []policy.Set{{Name: "a"}, {Name: "a", Folder: "b"}}, `two sets with the name "a"`},
		{"same folder", []policy.Set{{Name: "a"}, {Name: "b", Folder: "resourcesync/a"}}, `"a" and "b" have the same folder`},
		{"same folder but for case", []policy.Set{{Name: "a"}, {Name: "A"}}, `have the same folder`},
		{"folder in another one", []policy.Set{{Name: "a"}, {Name: "b", Folder: "resourcesync/a/b"}}, `"b" lies in that of "a"`},
		{"folder of the publication", []policy.Set{{Name: "a", Folder: "resourcesync"}}, "is that of the publication"},
		{"above everything", []policy.Set{{Name: "a", Folder: "."}}, "is that of the publication"},
		{"name of a document", []policy.Set{{Name: "resourcelist"}}, "which the publication uses itself"},
		{"outside", []policy.Set{{Name: "../a"}}, "is not a path inside the publication"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, t.TempDir())
			w.file("x", "x", longAgo)
			w.options.Sets = tt.sets
			_, err := w.run()
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if len(tree(t, w.out)) > 0 {
				t.Error("something was written")
			}
		})
	}
}

// TestSetsComeAndGo changes between one set without a name and several with names,
// which needs to be asked for.
func TestSetsComeAndGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.file("x.txt", "x", longAgo)
	w.options.Dumps = policy.Dumps{Resource: true, Change: true}
	some := func(o *Options) {
		o.Sets = []policy.Set{{Name: "a", Dumps: policy.Dumps{Resource: true, Change: true}}, {Name: "b"}}
	}
	others := func(o *Options) { o.Sets = []policy.Set{{Name: "c"}} }
	rebase := func(o *Options) { o.Rebase = true }
	refused := func(change func(*Options)) {
		t.Helper()
		before := tree(t, w.out)
		_, err := w.run(change)
		if r, ok := errors.AsType[*policy.Refusal](err); !ok || r.Flag != "--rebase" {
			t.Errorf("got %v, want a refusal", err)
		}
		if diff := cmp.Diff(before, tree(t, w.out)); diff != "" {
			t.Errorf("a refused run changed\n%s", diff)
		}
	}
	named := func(want ...string) {
		t.Helper()
		verified(t, w.out, verify.Content)
		folders := map[string]bool{}
		for name := range tree(t, w.out) {
			if strings.HasSuffix(name, "/publication.json") {
				folders[strings.TrimSuffix(name, "/publication.json")] = true
			}
		}
		if len(folders) != len(want) {
			t.Errorf("got %v, want %v", folders, want)
		}
		for _, folder := range want {
			if !folders[folder] {
				t.Errorf("got %v, want %v", folders, want)
			}
		}
	}
	w.build()
	refused(some)
	w.build(some, rebase)
	named("resourcesync", "resourcesync/a", "resourcesync/b")
	refused(others)
	refused(func(*Options) {})
	w.build(others, rebase)
	named("resourcesync", "resourcesync/c")
	w.build(rebase)
	named("resourcesync")
	before := len(tree(t, w.out))
	w.options.Out = filepath.Join(filepath.Dir(w.out), "fresh")
	w.build()
	if after := len(tree(t, w.options.Out)); after != before {
		t.Errorf("%d files were left, a fresh publication has %d", before, after)
	}
}

// TestRebaseElsewhere puts a publication into another folder, also at another URL. It leaves
// as many files as a fresh one has, and none that would be published.
func TestRebaseElsewhere(t *testing.T) {
	t.Parallel()
	dumps := policy.Dumps{Resource: true, Change: true}
	all := map[string][]policy.Set{
		"no sets":   nil,
		"one set":   {{Name: "a", Dumps: dumps}},
		"two sets":  {{Name: "a", Dumps: dumps}, {Name: "b", Folder: "else/where"}},
		"many sets": {{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}},
	}
	for before, sets := range all {
		for _, after := range [...]string{"no sets", "two sets"} {
			for _, to := range [...]layout.Identity{
				{BaseURL: "https://example.org/", Folder: "."},
				{BaseURL: "https://example.com/x/", Folder: "a b/ü"},
			} {
				t.Run(fmt.Sprintf("%s to %s in %s", before, after, to.Folder), func(t *testing.T) {
					t.Parallel()
					dir := t.TempDir()
					w := newWorld(t, dir)
					w.options.Out, w.options.limits.Entries = "", 3
					w.options.Hub, w.options.Dumps, w.options.Sets = testHub, dumps, sets
					for _, content := range []string{"x", "xx"} {
						w.file("x.txt", content, longAgo)
						w.build()
					}
					w.options.Identity, w.options.Sets = to, all[after]
					if r := w.build(func(o *Options) { o.Rebase = true }); r.Resources != 1 || len(r.Warnings) > 0 {
						t.Errorf("%d resources, %q", r.Resources, r.Warnings)
					}
					fresh := newWorld(t, filepath.Join(dir, "fresh"))
					fresh.options.Out, fresh.options.limits = "", w.options.limits
					fresh.options.Hub, fresh.options.Dumps, fresh.options.Sets, fresh.options.Identity = testHub, dumps, all[after], to
					fresh.file("x.txt", "xx", longAgo)
					fresh.build()
					got, want := tree(t, w.source), tree(t, fresh.source)
					if len(got) != len(want) {
						t.Errorf("%d files were left, a fresh publication has %d: %q", len(got), len(want), slices.Sorted(maps.Keys(got)))
					}
				})
			}
		}
	}
}

// TestArchivesOfOtherSets are not looked at if nothing of their set is written.
func TestArchivesOfOtherSets(t *testing.T) {
	t.Parallel()
	yes := true
	w := newWorld(t, t.TempDir())
	w.options.Sets = []policy.Set{
		{Name: "a", Resources: policy.Selection{Include: mustGlobs(t, "a/")}, Archive: &yes},
		{Name: "b", Resources: policy.Selection{Include: mustGlobs(t, "b/")}, Archive: &yes},
	}
	for i := range 2 {
		w.file("a/x", strings.Repeat("x", i), longAgo)
		w.file("b/x", strings.Repeat("x", i), longAgo)
		w.build()
	}
	losing("resourcesync/b/resourcelist/2*.xml")(w)
	w.file("a/x", "xxx", longAgo)
	w.build()
	w.file("b/x", "xxx", longAgo)
	if _, err := w.run(); err == nil {
		t.Error("an archive was written that leads to nothing")
	}
}

// TestPruneRestyles writes the archives of all sets again if they have no style sheet, and
// the records that say so.
func TestPruneRestyles(t *testing.T) {
	t.Parallel()
	yes := true
	w := newWorld(t, t.TempDir())
	for _, name := range []string{"a", "b"} {
		w.options.Sets = append(w.options.Sets, policy.Set{
			Name: name, Resources: policy.Selection{Include: mustGlobs(t, name+"/")}, Archive: &yes, Rotate: policy.Rotation{Period: "run"},
		})
	}
	w.file("b/x", "x", longAgo)
	for i := range 5 {
		w.file("a/x", strings.Repeat("x", i), longAgo)
		w.build()
	}
	asOfEarlierRelease(t, w.out)
	o := w.options
	o.Now = func() time.Time { return w.now.Add(oneDay) }
	o.Sets = slices.Clone(o.Sets)
	o.Sets[0].KeepChanges, _ = policy.ParseKeep("0")
	if p, err := Prune(t.Context(), o); err != nil || p.Lists == 0 {
		t.Fatalf("%+v, %v", p, err)
	}
	w.now = w.now.Add(2 * oneDay)
	if r := w.build(); slices.ContainsFunc(r.Warnings, func(s string) bool { return strings.Contains(s, "changed by something else") }) {
		t.Errorf("after prune: %q", r.Warnings)
	}
}

// TestManySets has more sets than a Source Description can hold.
func TestManySets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.options.limits = policy.Limits{Entries: 3, Bytes: 5000}
	for i := range 20 {
		w.file(fmt.Sprintf("d%02d/file.txt", i), "x", longAgo)
		w.options.Sets = append(w.options.Sets, policy.Set{Name: fmt.Sprintf("s%02d", i), Resources: policy.Selection{Include: mustGlobs(t, fmt.Sprintf("d%02d/", i))}})
	}
	w.options.Sets = w.options.Sets[:8]
	w.build()
	verified(t, w.out, verify.Content)
	old := descriptionParts(t, w.out)
	if len(old) != 3 {
		t.Errorf("there are %d Source Descriptions under the Index, not 3", len(old))
	}
	w.options.Sets = w.options.Sets[:9]
	if r := w.build(); r.Bodies != 1 {
		t.Errorf("%d bodies were written for one more set, not 1", r.Bodies)
	}
	verified(t, w.out, verify.Content)
	if r := w.build(); r.Wrote {
		t.Errorf("a second run wrote %v", r.Heads)
	}
	// What is under the Index no more stays for the grace time.
	if n := len(descriptionParts(t, w.out)); n != 4 {
		t.Errorf("there are %d parts, with the retired one, not 4", n)
	}
	w.now = w.now.Add(2 * oneDay)
	w.options.Sets = w.options.Sets[:2]
	w.build()
	verified(t, w.out, verify.Content)
	w.now = w.now.Add(2 * oneDay)
	w.file("d00/file.txt", "yy", longAgo)
	w.build()
	if n := len(descriptionParts(t, w.out)); n != 0 {
		t.Errorf("%d parts were left behind", n)
	}
}

func descriptionParts(t tester, out string) map[string]string {
	return tree(t, filepath.Join(out, "resourcesync", "description"))
}

// TestSetsElsewhere has sets built on a disk that stays and on one that is empty each
// time: the publications are the same.
func TestSetsElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	site := filepath.Join(t.TempDir(), "site")
	s := serve(t, site)
	defer s.Close()
	sets := someSets(t, w)
	w.options.AllowEmpty = true
	for i := range 4 {
		w.now = w.now.Add(2 * oneDay)
		w.file("d0/a.txt", strings.Repeat("x", i+1), longAgo)
		w.file(fmt.Sprintf("d1/b%d.html", i), "<!DOCTYPE html>", longAgo)
		w.options.Sets = sets[:7-i] // one less each time
		now := w.now
		w.build()
		if i > 0 {
			for _, kind := range []string{s.URL, site} {
				w.now = now
				empty := filepath.Join(t.TempDir(), "empty")
				w.build(func(o *Options) { o.Out, o.Previous.Place, o.Cache = empty, kind, "" })
				if diff := cmp.Diff(tree(t, w.out), tree(t, empty)); diff != "" {
					t.Fatalf("from %s (-stays +empty):\n%s", kind, diff)
				}
				w.now = now
				heads := filepath.Join(t.TempDir(), "heads")
				w.build(func(o *Options) {
					o.Out, o.Previous.Place, o.Previous.LeaveBodies, o.Cache = heads, kind, true, ""
				})
				w.compareWithRetained(t, heads, site)
			}
		}
		uploaded(t, w.out, site)
	}
}

// compareWithRetained compares a publication without the bodies that stay elsewhere,
// together with these.
func (w *world) compareWithRetained(t tester, heads, site string) {
	t.Helper()
	got, far := tree(t, heads), tree(t, site)
	retained := got["resourcesync/"+policy.RetainedFile]
	delete(got, "resourcesync/"+policy.RetainedFile)
	for name := range strings.Lines(retained) {
		name = strings.TrimSpace(name)
		got[name] = far[name]
	}
	if diff := cmp.Diff(tree(t, w.out), got); diff != "" {
		t.Fatalf("with what must stay (-stays +heads):\n%s", diff)
	}
}

// TestPruneOfSets prunes all sets in one commit.
func TestPruneOfSets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	keep := policy.KeepAll
	w.options.Sets = []policy.Set{
		{Name: "a", Dumps: policy.Dumps{Resource: true, Change: true}, Rotate: policy.Rotation{Period: "run"}, KeepChanges: keep},
		{Name: "b", Rotate: policy.Rotation{Period: "run"}, KeepChanges: keep},
	}
	for i := range 6 {
		w.file("x", strings.Repeat("x", i+1), longAgo)
		w.build()
		w.now = w.now.Add(oneDay)
	}
	o := w.options
	now := w.now
	o.Sets, o.KeepChanges, o.Now = nil, policy.KeepFor(oneDay), func() time.Time { return now }
	p, err := Prune(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if p.Lists != 6 || p.Packages != 3 {
		t.Errorf("%d lists and %d packages were taken out, not 6 and 3", p.Lists, p.Packages)
	}
	verified(t, w.out, verify.Content)
	if r := w.build(); r.Wrote {
		t.Errorf("a run after that wrote %v", r.Heads)
	}
}

// TestDamagedSets has parts of a publication with sets gone or changed.
func TestDamagedSets(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		damage func(files map[string]string)
		want   string // error, or empty where the run mends it
	}{
		{"record above", func(f map[string]string) { delete(f, "resourcesync/publication.json") }, ""},
		{"Source Description", func(f map[string]string) { delete(f, ".well-known/resourcesync") }, ""},
		{"record above and Source Description", func(f map[string]string) {
			delete(f, "resourcesync/publication.json")
			delete(f, ".well-known/resourcesync")
		}, "files in the way"},
		{"record of a set", func(f map[string]string) { delete(f, "resourcesync/a/publication.json") }, "resourcesync/a/publication.json"},
		{"older record of a set", func(f map[string]string) {
			f["resourcesync/a/publication.json"] = strings.Replace(f["resourcesync/a/publication.json"], "2026", "2025", 1)
		}, "not the document that the record names"},
		{"list of a set", func(f map[string]string) { f["resourcesync/b/resourcelist.xml"] += " " }, `set "b": `},
		{"record with a foreign folder", func(f map[string]string) {
			f["resourcesync/publication.json"] = strings.Replace(f["resourcesync/publication.json"], `"resourcesync/a"`, `"../a"`, 1)
		}, "folder"},
		{"record with no set", func(f map[string]string) {
			f["resourcesync/publication.json"] = strings.Replace(f["resourcesync/publication.json"], `"sets"`, `"sest"`, 1)
		}, "unknown field"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, t.TempDir())
			w.file("x", "x", longAgo)
			w.options.Sets = []policy.Set{{Name: "a"}, {Name: "b"}}
			w.build()
			files := tree(t, w.out)
			want := tree(t, w.out)
			tt.damage(files)
			os.RemoveAll(w.out)
			for name, content := range files {
				native := filepath.Join(w.out, filepath.FromSlash(name))
				os.MkdirAll(filepath.Dir(native), 0o755)
				if err := os.WriteFile(native, []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			r, err := w.run()
			switch {
			case tt.want == "" && err != nil:
				t.Fatal(err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Fatalf("got %v, want %s", err, tt.want)
			case tt.want != "":
				if diff := cmp.Diff(files, tree(t, w.out)); diff != "" {
					t.Errorf("a failed run changed\n%s", diff)
				}
				return
			}
			if len(r.Warnings) == 0 {
				t.Error("nothing was said of it")
			}
			got := tree(t, w.out)
			delete(got, "resourcesync/publication.json") // which has another time
			delete(want, "resourcesync/publication.json")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("it was not mended:\n%s", diff)
			}
		})
	}
}

// TestRollingSet is empty at times, without keeping the others from being published or
// warning of what left it.
func TestRollingSet(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.file("a.txt", "a", w.now.Add(-time.Hour))
	w.file("b.txt", "b", longAgo)
	recent := func(o *Options) {
		dumps := policy.Dumps{Resource: true, Change: true}
		o.Sets = []policy.Set{
			{Name: "all", Dumps: dumps},
			{Name: "recent", Dumps: dumps, Resources: policy.Selection{ModifiedAfter: o.Now().Add(-oneDay)}},
		}
	}
	if r := w.build(recent); r.Sets[1].Resources != 1 {
		t.Errorf("%+v", r.Sets)
	}
	w.now = w.now.Add(3 * oneDay)
	r := w.build(recent)
	if r.Sets[1].Deleted != 1 || r.Events() != 0 || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "no file of the source is in it now") {
		t.Errorf("%+v, %q", r.Sets, r.Warnings)
	}
	verified(t, w.out, verify.Content)
}

// TestFilesInNoSet are read to find that out, and only once as long as there is a cache.
func TestFilesInNoSet(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.file("NOTES", "plain text", longAgo)
	w.file("a.html", "<p>", longAgo)
	w.options.Sets = []policy.Set{{Name: "web", Resources: policy.Selection{Types: []string{"text/html"}}}}
	for i, want := range []int{2, 0} {
		if r := w.build(); r.Read != want || r.LeftOut[InNoSet] != 1 || r.Resources != 1 {
			t.Errorf("run %d: read %d, %+v", i, r.Read, r.LeftOut)
		}
	}
}
