package generator

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/patch"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/internal/timemap"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/scanner"
	"github.com/wellspring-sync/wellspring/verify"
)

// versioned is a history of a source whose versions and patches are published.
type versioned struct {
	*world
	t     *rapid.T
	files map[string]string
	// versions are the contents that each resource had since it was created, the
	// last one being what it is.
	versions map[string][]string
	before   map[string]string // what was published last
	last     *Report
}

// versionNames have contents that can be described, and others.
var versionNames = []string{"a.json", "b.csv", "d/c.txt", "d/e", "f.verylongextension"}

func versionContent(name string, n int) string {
	var b strings.Builder
	if path.Ext(name) == ".json" {
		b.WriteString("[\n")
		for i := range 200 {
			fmt.Fprintf(&b, "  {\"row\": %d, \"text\": \"%d\"},\n", i, i*i*(1+n*(i/199)))
		}
		b.WriteString("  {}\n]\n")
		return b.String()
	}
	for i := range 150 {
		fmt.Fprintf(&b, "%s,%d,%d\n", name, i, i*i*(1+n*(i/149)))
	}
	return b.String()
}

// TestAnyVersions edits a source at random. Each version that a resource had can be
// had, each patch leads from one state to the next, and nothing else lies about.
func TestAnyVersions(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		dir := fmt.Sprintf("%s/%d", base, n)
		defer os.RemoveAll(dir)
		h := &versioned{world: newWorld(t, dir), t: t, files: map[string]string{}, versions: map[string][]string{}}
		h.options.AllowEmpty, h.options.MaxDelete = true, &policy.Limit{Count: 100, Percent: true}
		h.options.Dumps = policy.Dumps{Resource: true, Change: rapid.Bool().Draw(t, "change dump")}
		h.options.Versions, h.options.Patches = &policy.Versions{}, &policy.Patches{}
		h.options.Links = rapid.SampledFrom([][]policy.LinkRule{nil, linkRules("", "{dir}/a.json")}).Draw(t, "links")
		h.options.Rotate = rapid.SampledFrom([]policy.Rotation{{}, {Period: "run"}}).Draw(t, "rotate")
		h.options.KeepChanges = rapid.SampledFrom([]policy.Keep{policy.KeepAll, policy.KeepFor(0)}).Draw(t, "keep")
		archive := rapid.Bool().Draw(t, "archive")
		h.options.Archive = &archive
		if rapid.Bool().Draw(t, "sets") {
			h.options.Sets = []policy.Set{
				{Name: "all", Dumps: h.options.Dumps, Rotate: h.options.Rotate, KeepChanges: h.options.KeepChanges, Archive: &archive},
				{Name: "d", Resources: policy.Selection{Include: mustGlobs(t, "d/")}, Rotate: h.options.Rotate, KeepChanges: h.options.KeepChanges},
			}
		}
		if rapid.Bool().Draw(t, "upload") {
			h.goLive()
		}
		h.play()
	})
}

func (h *versioned) play() {
	h.options.Cache = ""
	for i := range rapid.IntRange(2, 6).Draw(h.t, "runs") {
		for range rapid.IntRange(0, 5).Draw(h.t, "edits") {
			name := rapid.SampledFrom(versionNames).Draw(h.t, "name")
			n := rapid.IntRange(-1, 3).Draw(h.t, "content")
			if n < 0 {
				h.remove(name)
				delete(h.files, name)
				continue
			}
			h.file(name, versionContent(name, n), h.now.Add(-time.Minute))
			h.files[name] = versionContent(name, n)
		}
		h.now = h.now.Add(rapid.SampledFrom([]time.Duration{time.Hour, 3 * oneDay}).Draw(h.t, "pause"))
		if i > 0 && rapid.IntRange(0, 3).Draw(h.t, "empty disk") == 0 {
			h.moveHouse()
		}
		h.last = h.build()
		h.note()
		h.check()
	}
	// Without the setting they stay, until what they are of changes or goes.
	h.options.Versions = nil
	h.moveHouse()
	h.last = &Report{}
	h.check()
	for name := range h.files {
		h.remove(name)
	}
	h.build()
	h.now = h.now.Add(2 * oneDay)
	h.file("x", "x", h.now)
	h.build()
	verified(h.t, h.out, verify.Content)
	if left := tree(h.t, filepath.Join(h.out, "resourcesync", "versions")); len(left) > 0 {
		h.t.Fatalf("%d files are left of resources that are gone", len(left))
	}
}

// moveHouse goes on with an empty disk, from what was published.
func (h *versioned) moveHouse() {
	site := h.out + "-site"
	uploaded(h.t, h.out, site)
	os.RemoveAll(h.out)
	now := h.now
	want := tree(h.t, site)
	h.options.Previous.Place = site
	defer func() { h.options.Previous.Place = "" }()
	h.build()
	h.now = now
	h.note()
	for name := range want {
		if strings.Contains(name, "/versions/") {
			if _, err := os.Stat(filepath.Join(h.out, filepath.FromSlash(name))); err != nil && !strings.Contains(want["resourcesync/publication.json"], name) {
				h.t.Fatalf("%s was not taken over", name)
			}
		}
	}
}

// note remembers what was published.
func (h *versioned) note() {
	for name := range h.versions {
		if _, ok := h.files[name]; !ok {
			delete(h.versions, name)
		}
	}
	for name, content := range h.files {
		if v := h.versions[name]; len(v) == 0 || v[len(v)-1] != content {
			h.versions[name] = append(v, content)
		}
	}
}

func (h *versioned) check() {
	h.t.Helper()
	verified(h.t, h.out, verify.Content)
	l, err := layout.New(h.options.Identity)
	if err != nil {
		h.t.Fatal(err)
	}
	folders := []string{l.Folder}
	if len(h.options.Sets) > 0 {
		folders = []string{l.Folder + "/all", l.Folder + "/d"}
	}
	named := map[string]bool{}
	for _, folder := range folders {
		set := l
		if len(h.options.Sets) > 0 {
			set, _ = l.OfSet(folder)
		}
		s, err := snapshot.Open(os.DirFS(h.out), set)
		if err != nil {
			h.t.Fatal(err)
		}
		h.checkResources(l, s, named)
		h.checkPatches(l, s, named)
	}
	h.checkStrays(l, named)
	h.before = map[string]string{}
	for name, content := range h.files {
		h.before[name] = content
	}
}

// checkResources compares TimeMaps and versions with what resources were.
func (h *versioned) checkResources(l layout.Layout, s *snapshot.Snapshot, named map[string]bool) {
	for e, err := range s.Resources(h.t.Context()) {
		if err != nil {
			h.t.Fatal(err)
		}
		name := strings.TrimPrefix(e.Loc, "https://example.org/")
		want := h.versions[name]
		var current, timeMap string
		for _, link := range e.Links {
			switch link.Rel {
			case "memento":
				current = link.Href
				if link.Hash != e.Metadata.Hash || link.Length != e.Metadata.Length || link.Type != e.Metadata.Type || !link.Modified.Equal(e.LastModified) {
					h.t.Fatalf("%s: the version is another one than the resource: %+v", name, link)
				}
			case "timemap":
				timeMap = link.Href
			}
		}
		if len(want) < 2 {
			if timeMap != "" || current != "" {
				h.t.Fatalf("%s has versions, and never changed", name)
			}
			continue
		}
		if timeMap != l.TimeMap(e.Loc).URI {
			h.t.Fatalf("%s has the TimeMap %q after %d versions", name, timeMap, len(want))
		}
		h.checkTimeMap(l, e.Loc, current, want, named)
	}
}

func (h *versioned) checkTimeMap(l layout.Layout, uri, current string, want []string, named map[string]bool) {
	ref := l.TimeMap(uri)
	named[ref.Path] = true
	m, err := timemap.Parse([]byte(h.content(ref.Path)))
	if err != nil {
		h.t.Fatal(err)
	}
	if m.Original != uri || m.Self != ref.URI {
		h.t.Fatalf("the TimeMap of %s is of %s at %s", uri, m.Original, m.Self)
	}
	var got []string
	for _, v := range m.Versions {
		name, _ := l.PathOf(v.URI)
		named[name] = true
		got = append(got, h.content(name))
	}
	if !slices.Equal(got, want) {
		h.t.Fatalf("%s has %d versions, not these %d", uri, len(got), len(want))
	}
	if m.Versions[len(m.Versions)-1].URI != current {
		h.t.Fatalf("%s: the last version is not the current one", uri)
	}
}

func (h *versioned) content(name string) string {
	b, err := os.ReadFile(filepath.Join(h.out, filepath.FromSlash(name)))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(b)
}

// checkPatches applies the patches of the last run.
func (h *versioned) checkPatches(l layout.Layout, s *snapshot.Snapshot, named map[string]bool) {
	for _, list := range last.ChangeLists(s) {
		err := s.EachChange(list, func(e *resourcesync.Entry) error {
			name := strings.TrimPrefix(e.Loc, "https://example.org/")
			offered := false
			for _, link := range e.Links {
				if link.Rel != last.RelPatch {
					continue
				}
				offered = true
				file, _ := l.PathOf(link.Href)
				named[file] = true
				description := h.content(file)
				if int64(len(description)) != link.Length || link.Path != "" {
					h.t.Fatalf("%s: the link %+v to a patch of %d bytes", name, link, len(description))
				}
				if h.last.Events() == 0 || !e.Metadata.DateTime.Equal(h.last.At) {
					continue
				}
				want, err := patch.Make(e.Metadata.Type, []byte(h.before[name]), []byte(h.files[name]))
				if err != nil || want == nil || description != string(want.Content) || link.Type != want.Type {
					h.t.Fatalf("%s: the patch does not lead from what the file was to what it is: %v", name, err)
				}
			}
			if e.Metadata.Change == resourcesync.Updated && !offered {
				h.t.Fatalf("%s was updated without a patch", name)
			}
			return nil
		})
		if err != nil {
			h.t.Fatal(err)
		}
	}
}

// checkStrays makes sure that there are no versions and patches but those that are
// named or retired.
func (h *versioned) checkStrays(l layout.Layout, named map[string]bool) {
	record, err := snapshot.ReadRecord(os.DirFS(h.out), l)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, b := range record.Retired {
		if named[b.Path] {
			h.t.Fatalf("%s is retired and named", b.Path)
		}
		named[b.Path] = true
	}
	for _, folder := range []string{"versions", "patches"} {
		err := fs.WalkDir(os.DirFS(h.out), l.Folder+"/"+folder, func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && !named[name] {
				h.t.Fatalf("%s is named by nothing", name)
			}
			return nil
		})
		if err != nil {
			h.t.Fatal(err)
		}
	}
}

// TestVersionsAreThinned keeps one version a day.
func TestVersionsAreThinned(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.options.Dumps = policy.Dumps{Resource: true}
	w.options.Versions = &policy.Versions{Keep: &policy.ArchiveKeep{Daily: 3}, Match: mustGlobs(t, "*.txt")}
	for i := range 12 {
		w.file("a.txt", strings.Repeat("x", i+1), w.now.Add(-time.Second))
		w.file("b.csv", strings.Repeat("x", i+1), w.now.Add(-time.Second))
		w.build()
		verified(t, w.out, verify.Content)
		w.now = w.now.Add(12 * time.Hour)
	}
	l, _ := layout.New(w.options.Identity)
	m, err := timemap.Parse([]byte(tree(t, w.out)[l.TimeMap("https://example.org/a.txt").Path]))
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Versions) != 3 {
		t.Errorf("%d versions are kept, not 3", len(m.Versions))
	}
	o := w.options
	now := w.now
	o.Versions, o.Now, o.DryRun = &policy.Versions{Keep: &policy.ArchiveKeep{Daily: 2}}, func() time.Time { return now }, true
	foreseen, err := Prune(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	o.DryRun = false
	pruned, err := Prune(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(foreseen, pruned); diff != "" || pruned.Versions != 1 {
		t.Errorf("%d versions were pruned, not 1 (-foreseen +done):\n%s", pruned.Versions, diff)
	}
	verified(t, w.out, verify.Content)
	if r := w.build(); r.Wrote {
		t.Errorf("a run after prune wrote %v", r.Heads)
	}
	if files := tree(t, filepath.Join(w.out, "resourcesync", "versions")); len(files) > 8 {
		t.Errorf("%d files are kept", len(files))
	}
	if _, ok := tree(t, w.out)[l.TimeMap("https://example.org/b.csv").Path]; ok {
		t.Error("what does not match has versions")
	}
}

// TestVersionsOfWhatIsLost has no Resource Dump to take the former bytes from.
func TestVersionsOfWhatIsLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.file("a.txt", "a", longAgo)
	w.file("b.txt", "b", longAgo)
	w.build()
	w.options.Dumps, w.options.Versions, w.options.Patches = policy.Dumps{Resource: true}, &policy.Versions{}, &policy.Patches{}
	w.file("a.txt", "aa", longAgo)
	w.file("b.txt", "bb", longAgo)
	r := w.build()
	if !slices.ContainsFunc(r.Warnings, func(s string) bool { return strings.Contains(s, `no versions of "a.txt" and 1 more are kept`) }) {
		t.Errorf("warnings: %q", r.Warnings)
	}
	w.file("a.txt", "aaa", longAgo)
	w.build()
	verified(t, w.out, verify.Content)
	timeMap := ""
	for name, content := range tree(t, w.out) {
		if strings.HasSuffix(name, "/timemap.link") {
			timeMap = name
			if n := strings.Count(content, "memento"); n != 2 {
				t.Errorf("there are %d versions, not 2", n)
			}
		}
	}
	// A TimeMap that somebody damaged begins anew.
	if err := os.WriteFile(filepath.Join(w.out, filepath.FromSlash(timeMap)), []byte("<"), 0o644); err != nil {
		t.Fatal(err)
	}
	w.file("a.txt", "aaaa", longAgo)
	r = w.build()
	if !slices.ContainsFunc(r.Warnings, func(s string) bool { return strings.Contains(s, "begins anew") }) {
		t.Errorf("warnings: %q", r.Warnings)
	}
	verified(t, w.out, verify.Content)
}

// TestEncoding has files that are stored compressed, beside others and instead of
// them.
func TestEncoding(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.options.Dumps = policy.Dumps{Resource: true, Change: true}
	w.file("beside.html", "<p>", longAgo)
	w.file("beside.html.gz", "\x1f\x8b1", longAgo)
	w.file("d/instead.html.gz", "\x1f\x8b2", longAgo)
	w.file("d/data.gz", "\x1f\x8b3", longAgo)
	rule := func(strip string) policy.ResourceRules {
		return policy.ResourceRules{{Name: "x", Match: mustGlobs(t, "*.gz"), Encoding: "gzip", Strip: strip}}
	}
	entries := func() map[string]string {
		t.Helper()
		verified(t, w.out, verify.Content)
		got := map[string]string{}
		for uri, e := range read(t, w.out).resources {
			got[strings.TrimPrefix(uri, "https://example.org/")] = strings.TrimSpace(e.Metadata.Type + " " + e.Metadata.Encoding)
		}
		return got
	}
	plain := map[string]string{
		"beside.html": "text/html", "beside.html.gz": "application/gzip", "d/instead.html.gz": "application/gzip", "d/data.gz": "application/gzip",
	}
	for _, tt := range []struct {
		name  string
		rules policy.ResourceRules
		want  map[string]string
	}{
		{"without rules", nil, plain},
		{"beside", rule(""), map[string]string{
			"beside.html": "text/html", "beside.html.gz": "text/html gzip", "d/instead.html.gz": "text/html gzip", "d/data.gz": "gzip",
		}},
		{"without rules again", nil, plain},
		{"instead", rule(".gz"), map[string]string{
			"beside.html": "text/html", "d/instead.html": "text/html gzip", "d/data": "gzip",
		}},
	} {
		w.options.Resources = tt.rules
		r := w.build()
		if diff := cmp.Diff(tt.want, entries()); diff != "" {
			t.Errorf("%s:\n%s", tt.name, diff)
		}
		if tt.name != "instead" && r.Events() != 0 && !r.First {
			t.Errorf("%s: %d events", tt.name, r.Events())
		}
		if left := r.LeftOut[scanner.Beside]; (tt.name == "instead") != (left == 1) {
			t.Errorf("%s: %d files are left out as stored beside others", tt.name, left)
		}
		if r := w.build(); r.Wrote {
			t.Errorf("%s: a second run wrote %v", tt.name, r.Heads)
		}
	}
}

// TestVersionsWithoutDumps has resources that come into a set without packages: what
// they were stays, and nothing is added.
func TestVersionsWithoutDumps(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.options.AllowEmpty, w.options.MaxDelete = true, &policy.Limit{Count: 100, Percent: true}
	w.options.Versions, w.options.Patches = &policy.Versions{}, &policy.Patches{}
	w.options.Sets = []policy.Set{
		{Name: "small", Resources: policy.Selection{MaxSize: 5000}, Dumps: policy.Dumps{Resource: true}},
		{Name: "large", Resources: policy.Selection{MinSize: 5001}},
	}
	for i, n := range []int{2000, 2100, 6000, 2200, 2300} {
		w.file("a.csv", strings.Repeat("x", n), longAgo)
		r := w.build()
		verified(t, w.out, verify.Content)
		if warned := slices.ContainsFunc(r.Warnings, func(s string) bool { return strings.Contains(s, `no version of "a.csv" is kept`) }); warned != (n == 6000) {
			t.Errorf("%d: warnings %q", i, r.Warnings)
		}
	}
	m := onlyTimeMap(t, w.out)
	if len(m.Versions) != 4 {
		t.Errorf("there are %d versions, not 4", len(m.Versions))
	}
	if n := len(tree(t, filepath.Join(w.out, "resourcesync", "patches"))); n != 2 {
		t.Errorf("there are %d patches, not 2", n)
	}
}

// onlyTimeMap returns the one TimeMap that there is.
func onlyTimeMap(t *testing.T, out string) *timemap.TimeMap {
	t.Helper()
	var found *timemap.TimeMap
	for name, content := range tree(t, out) {
		if path.Base(name) != "timemap.link" {
			continue
		}
		m, err := timemap.Parse([]byte(content))
		if err != nil || found != nil {
			t.Fatalf("%s: %v, beside another one: %v", name, err, found != nil)
		}
		found = m
	}
	if found == nil {
		t.Fatal("there is no TimeMap")
	}
	return found
}

// TestVersionsThatAreNotKept publishes no version that the TimeMap does not name.
func TestVersionsThatAreNotKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.options.Dumps = policy.Dumps{Resource: true}
	w.options.Versions = &policy.Versions{Keep: &policy.ArchiveKeep{Yearly: 1}}
	w.file("a.txt", "a", longAgo)
	w.build()
	w.file("a.txt", "aa", longAgo.Add(time.Hour))
	w.build()
	if n := len(tree(t, filepath.Join(w.out, "resourcesync", "versions"))); n != 2 {
		t.Errorf("%d files are there, not the TimeMap and the current version", n)
	}
	verified(t, w.out, verify.Content)
}

// TestHostileTimeMaps name what is not theirs: nothing of that is removed.
func TestHostileTimeMaps(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.options.Dumps = policy.Dumps{Resource: true}
	w.options.Versions, w.options.Patches = &policy.Versions{Keep: &policy.ArchiveKeep{Yearly: 1}}, &policy.Patches{}
	content := func(n int) string { return versionContent("a.csv", n) }
	for i := range 2 {
		w.file("a.csv", content(i), longAgo.Add(time.Duration(i)*time.Hour))
		w.file("k.csv", content(i)+"k", longAgo.Add(time.Duration(i)*time.Hour))
		w.build()
	}
	l, _ := layout.New(w.options.Identity)
	own, others := l.TimeMap("https://example.org/a.csv"), path.Dir(l.TimeMap("https://example.org/k.csv").Path)
	m, err := timemap.Parse([]byte(tree(t, w.out)[own.Path]))
	if err != nil {
		t.Fatal(err)
	}
	for name := range tree(t, w.out) {
		if strings.HasPrefix(name, others) || strings.HasPrefix(name, "resourcesync/patches/") || name == "resourcesync/resourcelist.xml" {
			m.Versions = append(m.Versions, timemap.Version{URI: "https://example.org/" + name, At: longAgo.AddDate(-9, 0, 0)})
		}
	}
	m.Sort()
	if err := os.WriteFile(filepath.Join(w.out, filepath.FromSlash(own.Path)), m.Marshal(), 0o644); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		w.now = w.now.Add(2 * oneDay)
		w.file("a.csv", content(i+2), longAgo.Add(time.Duration(i+3)*time.Hour))
		w.build()
		verified(t, w.out, verify.Content)
	}
	if strings.Contains(tree(t, w.out)[own.Path], others) {
		t.Error("what is not its own was published again")
	}
}

// TestLostVersions goes on where somebody removed versions, and where the record was
// lost.
func TestLostVersions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.options.Dumps = policy.Dumps{Resource: true}
	w.options.Versions, w.options.Patches = &policy.Versions{}, &policy.Patches{}
	for i := range 3 {
		w.file("a.csv", versionContent("a.csv", i%2), longAgo.Add(time.Duration(i)*time.Hour))
		w.build()
	}
	site := filepath.Join(t.TempDir(), "site")
	uploaded(t, w.out, site)
	if err := os.Remove(filepath.Join(site, "resourcesync", "publication.json")); err != nil {
		t.Fatal(err)
	}
	w.options.Out = filepath.Join(t.TempDir(), "out")
	w.options.Previous.Place = site
	w.build()
	verified(t, w.options.Out, verify.Content)
	w.options.Previous.Place = ""
	os.RemoveAll(filepath.Join(w.options.Out, "resourcesync", "versions"))
	r := w.build()
	if !r.Wrote || !slices.ContainsFunc(r.Warnings, func(s string) bool { return strings.Contains(s, `versions of "a.csv"`) }) {
		t.Errorf("wrote: %v, warnings: %q", r.Wrote, r.Warnings)
	}
	if r := w.build(); r.Wrote {
		t.Errorf("a second run wrote %v", r.Heads)
	}
}

// TestRebaseWithVersions leaves nothing behind.
func TestRebaseWithVersions(t *testing.T) {
	t.Parallel()
	named := []policy.Set{{Name: "a", Dumps: policy.Dumps{Resource: true}}}
	for _, tt := range []struct {
		name   string
		before []policy.Set
		change func(*Options)
	}{
		{"same folder", nil, func(*Options) {}},
		{"other folder", nil, func(o *Options) { o.Identity.Folder = "rs" }},
		{"other URL", named, func(o *Options) { o.Identity.BaseURL = "https://example.net/" }},
		{"set without versions", nil, func(o *Options) { o.Versions, o.Patches = nil, nil }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, t.TempDir())
			w.options.Dumps, w.options.Sets = policy.Dumps{Resource: true}, tt.before
			w.options.Versions, w.options.Patches = &policy.Versions{}, &policy.Patches{}
			for i := range 2 {
				w.file("a.csv", versionContent("a.csv", i), longAgo.Add(time.Duration(i)*time.Hour))
				w.build()
			}
			w.build(tt.change, func(o *Options) { o.Rebase = true })
			w.now = w.now.Add(2 * oneDay)
			w.file("b.csv", "b", longAgo)
			w.build(tt.change)
			for name := range tree(t, w.out) {
				if strings.Contains(name, "/versions/") || strings.Contains(name, "/patches/") {
					t.Errorf("%s was left behind", name)
				}
			}
		})
	}
}

// TestVersionsOfPackages are versions of ZIP files, which are no packages of a dump.
func TestVersionsOfPackages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.options.Dumps, w.options.Versions = policy.Dumps{Resource: true}, &policy.Versions{}
	w.file("a.zip", "one", longAgo)
	w.build()
	w.file("a.zip", "three", longAgo)
	if r := w.build(); r.Packages != 1 || r.Bodies != 5 {
		t.Errorf("%d packages and %d bodies in all were written, not 1 and 5", r.Packages, r.Bodies)
	}
}

// TestEncodedFilesInSets have the media type of what they decode to, in rules of sets
// as in entries.
func TestEncodedFilesInSets(t *testing.T) {
	t.Parallel()
	for _, dumps := range []policy.Dumps{{Resource: true}, {Change: true}, {Resource: true, Change: true}} {
		w := newWorld(t, t.TempDir())
		w.options.Resources = policy.ResourceRules{{Name: "x", Match: mustGlobs(t, "*.gz"), Encoding: "gzip", Strip: ".gz"}}
		w.options.Sets = []policy.Set{{Name: "pages", Resources: policy.Selection{Types: []string{"text/html"}}, Dumps: dumps}}
		w.options.Links = linkRules("", "{path}")
		w.file("a.html.gz", "\x1f\x8b1", longAgo)
		w.build()
		w.file("b.html.gz", "\x1f\x8b2", longAgo)
		w.file("a.html.gz", "\x1f\x8b11", longAgo)
		if r := w.build(); r.Sets[0].Created != 1 || r.Sets[0].Updated != 1 {
			t.Errorf("%+v: %+v", dumps, r.Sets[0])
		}
		verified(t, w.out, verify.Content)
		if list := tree(t, w.out)["resourcesync/pages/resourcelist.xml"]; strings.Count(list, `encoding="gzip"`) != 4 {
			t.Errorf("%+v: entries and links do not say the encoding:\n%s", dumps, list)
		}
		if r := w.build(); r.Wrote {
			t.Errorf("%+v: a second run wrote %v", dumps, r.Heads)
		}
	}
}

// TestRecordThatRetiresVersions calls retired what is named: nothing of it is removed.
func TestRecordThatRetiresVersions(t *testing.T) {
	t.Parallel()
	for _, sets := range [][]policy.Set{nil, {{Name: "a", Dumps: policy.Dumps{Resource: true}}}} {
		w := newWorld(t, t.TempDir())
		w.options.Dumps, w.options.Sets = policy.Dumps{Resource: true}, sets
		w.options.Versions, w.options.Patches = &policy.Versions{}, &policy.Patches{}
		for i := range 2 {
			w.file("a.csv", versionContent("a.csv", i), longAgo.Add(time.Duration(i)*time.Hour))
			w.build()
		}
		l, _ := layout.New(w.options.Identity)
		record, err := snapshot.ReadRecord(os.DirFS(w.out), l)
		if err != nil {
			t.Fatal(err)
		}
		for name := range tree(t, w.out) {
			if l.IsBeside(name) {
				record.Retired = append(record.Retired, snapshot.Retired{Path: name, Since: testStart})
			}
		}
		b, err := record.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(w.out, filepath.FromSlash(l.Record().Path)), b, 0o644); err != nil {
			t.Fatal(err)
		}
		w.now = w.now.Add(2 * oneDay)
		w.file("b.csv", "b", longAgo)
		w.build()
		verified(t, w.out, verify.Content)
	}
}
