package generator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/hashing"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/scanner"
)

// step is a dry run and the build right after it.
type step struct {
	did           []string          // since the build before
	before, after map[string]string // what was published, and is
	now           time.Time
	options       Options
	foreseen      *Report
	built         *Report
	// errors of both
	errForeseen, err error
}

// outline is what a dry run can know of a build.
type outline struct {
	Heads                                           []string
	Wrote, First                                    bool
	At                                              time.Time
	Resources, Created, Updated, Deleted, Refreshed int
	Bytes                                           int64
	LeftOut                                         map[scanner.Reason]int
	Sets                                            []SetReport
	SourceDescription                               string
}

func outlineOf(r *Report) outline {
	return outline{
		r.Heads, r.Wrote, r.First, r.At, r.Resources, r.Created, r.Updated, r.Deleted, r.Refreshed, r.Bytes,
		r.LeftOut, r.Sets, r.SourceDescription,
	}
}

// difference is what the dry run said, and the build did not do just so, or empty. What is
// damaged in a publication that is elsewhere shows only when it is taken over.
func (s *step) difference() string {
	if s.errForeseen == nil && s.err != nil && strings.HasPrefix(s.err.Error(), "taking over the last publication: ") {
		return ""
	}
	if s.err != nil || s.errForeseen != nil {
		return cmp.Diff(fmt.Sprint(s.errForeseen), fmt.Sprint(s.err))
	}
	return cmp.Diff(outlineOf(s.foreseen), outlineOf(s.built), cmpopts.EquateEmpty())
}

// foreseeAndBuild builds after a dry run at the same time with the same options, which
// leaves everything as it is.
func (w *world) foreseeAndBuild(did ...string) *step {
	w.t.Helper()
	s := &step{did: did, before: tree(w.t, w.out), now: w.now, options: w.options}
	s.foreseen, s.errForeseen = w.dryRun()
	w.now = s.now
	s.built, s.err = w.run()
	s.after = tree(w.t, w.out)
	return s
}

// dryRun makes sure that nothing changes.
func (w *world) dryRun() (*Report, error) {
	w.t.Helper()
	all := func() map[string]string {
		files := tree(w.t, w.out)
		for _, beside := range []string{filepath.Dir(w.cache), w.options.Previous.Place} {
			for name, content := range tree(w.t, beside) {
				files[beside+": "+name] = content
			}
		}
		return files
	}
	before := all()
	r, err := w.run(func(o *Options) { o.DryRun = true })
	if diff := cmp.Diff(before, all()); diff != "" {
		w.t.Fatalf("a dry run changed\n%s", diff)
	}
	return r, err
}

// TestForeseen has one thing at a time before a build.
func TestForeseen(t *testing.T) {
	t.Parallel()
	for _, tt := range foreseenCases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, t.TempDir())
			w.options.AllowEmpty, w.options.MaxDelete = true, &policy.Limit{Count: 100, Percent: true}
			w.files(12)
			if tt.given != nil {
				tt.given(w)
			}
			w.build()
			var s *step
			for _, change := range tt.changes {
				change(w)
				s = w.foreseeAndBuild(tt.name)
			}
			if diff := s.difference(); diff != "" {
				t.Errorf("(-foreseen +built):\n%s", diff)
			}
			if failed := s.err != nil; failed != tt.fails {
				t.Fatalf("got %v", s.err)
			}
			if !tt.nothing && !tt.fails && !s.built.Wrote {
				t.Error("nothing was built")
			}
		})
	}
}

// foreseenCase is one thing that happens between two builds.
type foreseenCase struct {
	name  string
	given func(w *world) // before the first build; may be nil
	// changes are done one after the other, each before a build. What the dry run before
	// the last of them says counts.
	changes []func(w *world)
	nothing bool // is to be written
	fails   bool
}

var foreseenCases = []foreseenCase{
	{name: "nothing", changes: []func(*world){func(w *world) {}}, nothing: true},
	{name: "edit", changes: []func(*world){edit}},
	{name: "edit with dumps, archives, hub", given: all(withDumps, withArchives, withHub), changes: []func(*world){edit}},
	{name: "touched file", changes: []func(*world){func(w *world) { w.touch("e/01", w.now) }}, nothing: true},

	{name: "archives on", changes: []func(*world){withArchives}},
	{name: "archives on with dumps", given: withDumps, changes: []func(*world){withArchives}},
	{name: "archives on with an edit", changes: []func(*world){all(edit, withArchives)}},
	{name: "archives on with an edit and an Index", given: withRotation, changes: []func(*world){edit, edit, all(edit, withoutRotation, withArchives)}},
	{name: "archives off", given: withArchives, changes: []func(*world){edit, withoutArchives}},
	{name: "archives off with dumps and hub", given: all(withDumps, withArchives, withHub), changes: []func(*world){edit, withoutArchives}},

	{name: "dumps on", changes: []func(*world){withDumps}},
	{name: "dumps on with archives", given: withArchives, changes: []func(*world){edit, withDumps}},
	{name: "dumps off", given: withDumps, changes: []func(*world){func(w *world) { w.options.Dumps = policy.Dumps{} }}},
	{name: "dumps off with archives", given: all(withDumps, withArchives), changes: []func(*world){edit, func(w *world) { w.options.Dumps = policy.Dumps{} }}},
	{name: "one dump more", given: func(w *world) { w.options.Dumps.Resource = true }, changes: []func(*world){withDumps}},
	{name: "smaller packages", given: withDumps, changes: []func(*world){withSmallPackages}},
	{name: "smaller packages with archives", given: all(withDumps, withArchives), changes: []func(*world){edit, withSmallPackages}},
	{name: "smaller packages that change nothing", given: withDumps, changes: []func(*world){func(w *world) { w.options.PackageSize = policy.DefaultPackageSize / 2 }}, nothing: true},
	{name: "smaller packages with a hub", given: all(withDumps, withHub), changes: []func(*world){withSmallPackages}},

	{name: "packages that need an Index", given: all(withDumps, withLargeFiles, withLists(20_000)), changes: []func(*world){withSmallPackages}},

	{name: "hub on", changes: []func(*world){withHub}},
	{name: "hub off", given: withHub, changes: []func(*world){func(w *world) { w.options.Hub = "" }}},
	{name: "other hub", given: withHub, changes: []func(*world){func(w *world) { w.options.Hub += "&c" }}},
	{name: "described", given: withHub, changes: []func(*world){func(w *world) { w.options.DescribedBy = "https://example.org/about" }}},

	{name: "no page", changes: []func(*world){withoutPage}},
	{name: "a page again", given: withoutPage, changes: []func(*world){func(w *world) { w.options.Page.None = false }}},
	{name: "other title", changes: []func(*world){func(w *world) { w.options.Page.Title = "Museum" }}},

	{name: "versions and patches on", given: withDumps, changes: []func(*world){withVersions}, nothing: true},
	{name: "edit with versions and patches", given: all(withDumps, withVersions), changes: []func(*world){editTable(1), editTable(2)}},
	{name: "edit after versions and patches", given: all(withDumps, withVersions), changes: []func(*world){editTable(1), all(withoutVersions, editTable(2))}},
	{name: "versions of what is deleted", given: all(withDumps, withVersions), changes: []func(*world){editTable(1), func(w *world) { w.remove("table.csv") }}},
	{name: "patches that fill a list", given: all(withDumps, withVersions, withRotation, withLists(2800)), changes: []func(*world){
		editTable(1), editTable(2), all(withoutRotation, editTable(3)),
	}},

	{name: "links to a URI", changes: []func(*world){func(w *world) { w.options.Links = linkRules("https://example.org/{name}", "") }}},
	{name: "links to a file", given: func(w *world) { w.file("e/a", "x", longAgo) }, changes: []func(*world){withFileLinks}},
	{name: "links to a file that comes", given: withFileLinks, changes: []func(*world){func(w *world) { w.file("e/a", "x", longAgo) }}},
	{name: "links to a file that goes", given: all(withFileLinks, func(w *world) { w.file("e/a", "x", longAgo) }), changes: []func(*world){func(w *world) { w.remove("e/a") }}},

	{name: "a list for each run", given: withRotation, changes: []func(*world){edit, edit}},
	{name: "lists that are kept no longer", given: all(withRotation, withDumps, keepingNothing), changes: []func(*world){edit, edit, edit, edit}},
	{name: "lists that are kept no longer, with archives", given: all(withRotation, withDumps, withArchives, keepingNothing), changes: []func(*world){edit, edit, edit, edit}},
	{name: "lists that are kept no longer, without a new one", given: withRotation, changes: []func(*world){edit, edit, edit, edit, all(keepingNothing, withoutRotation, edit)}},
	{name: "other standard", changes: []func(*world){edit, func(w *world) { w.options.Standard = policy.Standard10; edit(w) }}},
	{name: "many changes", given: withSmallLists, changes: []func(*world){func(w *world) { w.edits(30) }}},
	{name: "many changes at once", given: withSmallLists, changes: []func(*world){func(w *world) { w.edits(30); w.now = testStart }}},
	{name: "many changes for packages", given: all(withDumps, withRotation, withSmallPackages), changes: []func(*world){
		edit, edit, all(withoutRotation, func(w *world) { w.edits(30) }),
	}},

	{name: "lost package", given: withDumps, changes: []func(*world){losing("resourcesync/resourcedump/*.zip")}},
	{name: "lost package with a hub", given: all(withDumps, withHub), changes: []func(*world){losing("resourcesync/resourcedump/*.zip")}},
	{name: "lost package with an edit", given: withDumps, changes: []func(*world){all(edit, losing("resourcesync/resourcedump/*.zip"))}},
	{name: "lost package with an edit and archives", given: all(withDumps, withArchives), changes: []func(*world){all(edit, losing("resourcesync/resourcedump/*.zip"))}},
	{name: "lost package of changes", given: withDumps, changes: []func(*world){edit, all(edit, losing("resourcesync/changedump/*.zip"))}, fails: true},
	{name: "lost snapshot in an archive", given: all(withDumps, withArchives), changes: []func(*world){edit, edit, all(edit, losing("resourcesync/resourcedump/2*.xml"))}, fails: true},
	{name: "lost notification", given: withHub, changes: []func(*world){losing("resourcesync/framework.xml")}},
	{name: "lost Capability List", given: withHub, changes: []func(*world){losing("resourcesync/capabilitylist.xml")}},
	{name: "lost Source Description", given: withHub, changes: []func(*world){losing(".well-known/resourcesync")}},
	{name: "lost style sheet", changes: []func(*world){losing("resourcesync/style.css")}},
	{name: "lost page", changes: []func(*world){losing("resourcesync/index.html")}},
	{name: "lost Resource Dump", given: withDumps, changes: []func(*world){losing("resourcesync/resourcedump.xml")}},
	{name: "lost Resource Dump with a hub", given: all(withDumps, withHub), changes: []func(*world){losing("resourcesync/resourcedump.xml")}},
	{name: "lost Resource Dump Index", given: all(withDumps, withSmallLists, withSmallPackages), changes: []func(*world){losing("resourcesync/resourcedump.xml")}},
	{name: "lost Change Dump", given: withDumps, changes: []func(*world){losing("resourcesync/changedump.xml")}, fails: true},
	{name: "lost record", changes: []func(*world){losing("resourcesync/publication.json")}},
	{name: "lost record with dumps", given: withDumps, changes: []func(*world){losing("resourcesync/publication.json")}},
	{name: "lost record with dumps, archives, hub", given: all(withDumps, withArchives, withHub), changes: []func(*world){losing("resourcesync/publication.json")}},
	{name: "edited style sheet", changes: []func(*world){func(w *world) { appendTo(w.t, filepath.Join(w.out, "resourcesync", "style.css"), "/**/") }}},
	{name: "edited page", changes: []func(*world){func(w *world) { appendTo(w.t, filepath.Join(w.out, "resourcesync", "index.html"), "<!-- -->") }}},
	{name: "earlier release", given: all(withDumps, withArchives, withHub), changes: []func(*world){edit, earlierRelease}},
	{name: "earlier release with an Index", given: withRotation, changes: []func(*world){edit, edit, earlierRelease}},

	{name: "after prune", given: all(withRotation, withDumps), changes: []func(*world){edit, edit, edit, edit, pruned}, nothing: true},
	{name: "edit after prune", given: all(withRotation, withDumps), changes: []func(*world){edit, edit, edit, edit, all(pruned, edit)}},
	{name: "rebase", given: all(withDumps, withArchives, withHub), changes: []func(*world){edit, rebased}},
	{name: "rebase to another folder", changes: []func(*world){func(w *world) { w.options.Identity.Folder = "other"; rebased(w) }}},
	{name: "empty disk", given: all(withDumps, withArchives), changes: []func(*world){edit, all(withEmptyDisk, edit)}},
	{name: "empty disk and a lost manifest", given: withDumps, changes: []func(*world){all(losing("resourcesync/resourcedump/*.xml"), withEmptyDisk, edit)}, fails: true},
	{name: "empty disk and rebase", changes: []func(*world){all(withEmptyDisk, rebased, func(w *world) { w.options.Identity.BaseURL = "https://example.com/" })}, fails: true},

	{name: "with sets", given: withSets, changes: []func(*world){edit}},
	{name: "a set comes", given: withSets, changes: []func(*world){func(w *world) {
		w.options.Sets = append(w.options.Sets, policy.Set{Name: "new", Dumps: policy.Dumps{Resource: true, Change: true}})
	}}},
	{name: "a set goes", given: withSets, changes: []func(*world){func(w *world) { w.options.Sets = w.options.Sets[:1] }}},
	{name: "archives of a set", given: withSets, changes: []func(*world){func(w *world) { yes := true; w.options.Sets[1].Archive = &yes }}},
	{name: "sets in place of one", changes: []func(*world){all(withSets, rebased)}},
	{name: "lost style sheet with sets", given: withSets, changes: []func(*world){all(edit, losing("resourcesync/style.css"))}},
	{name: "lost record above sets", given: withSets, changes: []func(*world){losing("resourcesync/publication.json")}},
	{name: "no page with sets", given: withSets, changes: []func(*world){withoutPage}},
}

func all(changes ...func(*world)) func(*world) {
	return func(w *world) {
		for _, change := range changes {
			change(w)
		}
	}
}

// edit changes two files and adds one, an hour later.
func edit(w *world) { w.edits(3) }

func (w *world) edits(n int) {
	w.now = w.now.Add(time.Hour)
	modified := w.now.Add(-time.Minute)
	for i := range n - 1 {
		w.file(fmt.Sprintf("e/%02d", i), fmt.Sprintf("of %v", w.now), modified)
	}
	w.file(fmt.Sprintf("e/new-%v", w.now.Unix()), "", modified)
}

func (w *world) files(n int) {
	for i := range n {
		w.file(fmt.Sprintf("e/%02d", i), strings.Repeat("x", i), longAgo)
	}
	editTable(0)(w)
}

// editTable changes a file that is worth a patch.
func editTable(n int) func(*world) {
	return func(w *world) { w.file("table.csv", versionContent("table.csv", n), w.now.Add(-time.Second)) }
}

func withDumps(w *world)         { w.options.Dumps = policy.Dumps{Resource: true, Change: true} }
func withArchives(w *world)      { yes := true; w.options.Archive = &yes }
func withoutArchives(w *world)   { no := false; w.options.Archive = &no }
func withHub(w *world)           { w.options.Hub = testHub }
func withoutPage(w *world)       { w.options.Page.None = true }
func withRotation(w *world)      { w.options.Rotate = policy.Rotation{Period: "run"} }
func withoutRotation(w *world)   { w.options.Rotate = policy.Rotation{} }
func withSmallLists(w *world)    { w.options.limits = smallLists }
func withSmallPackages(w *world) { w.options.PackageSize = 1500 }
func withFileLinks(w *world)     { w.options.Links = linkRules("", "{dir}/a") }
func withVersions(w *world) {
	w.options.Versions, w.options.Patches = &policy.Versions{}, &policy.Patches{}
}
func withoutVersions(w *world) { w.options.Versions, w.options.Patches = nil, nil }
func earlierRelease(w *world)  { asOfEarlierRelease(w.t, w.out) }
func keepingNothing(w *world)  { w.options.KeepChanges, _ = policy.ParseKeep("0") }
func rebased(w *world)         { w.options.Rebase = true }

func withLargeFiles(w *world) {
	for i := range 9 {
		w.file(fmt.Sprintf("f/%d", i), strings.Repeat("x", 1000), longAgo)
	}
}

// withLists has small lists of other lengths.
func withLists(bytes int64) func(*world) {
	return func(w *world) {
		w.options.limits = smallLists
		w.options.limits.Bytes = bytes
	}
}

func withSets(w *world) {
	w.options.Sets = []policy.Set{
		{Name: "all", Dumps: policy.Dumps{Resource: true, Change: true}, Hub: testHub},
		{Name: "some", Folder: "elsewhere/some", Resources: policy.Selection{Include: mustGlobs(w.t, "e/")}},
	}
}

// losing removes files of the publication, of which there have to be some.
func losing(pattern string) func(*world) {
	return func(w *world) {
		names, _ := filepath.Glob(filepath.Join(w.out, filepath.FromSlash(pattern)))
		if len(names) == 0 {
			w.t.Fatalf("there is no %s", pattern)
		}
		for _, name := range names {
			if err := os.Remove(name); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

func pruned(w *world) {
	o, now := w.options, w.now.Add(oneDay)
	o.Now = func() time.Time { return now }
	o.KeepChanges, _ = policy.ParseKeep("0")
	p, err := Prune(context.Background(), o)
	if err != nil || p.Lists == 0 {
		w.t.Fatalf("%+v, %v", p, err)
	}
}

// withEmptyDisk takes what is published elsewhere.
func withEmptyDisk(w *world) {
	w.options.Previous.Place = w.out + "-site"
	uploaded(w.t, w.out, w.options.Previous.Place)
	if err := os.RemoveAll(w.out); err != nil {
		w.t.Fatal(err)
	}
}

// TestForeseenInAnyHistory has any source with any settings. The build does exactly what
// the dry run before it said.
func TestForeseenInAnyHistory(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		dir := fmt.Sprintf("%s/%d", base, n)
		defer os.RemoveAll(dir)
		h := &foreseen{world: newWorld(t, dir), t: t}
		h.play()
	})
}

// foreseen is a history of a source and its settings, with one set of resources or with
// named ones.
type foreseen struct {
	*world
	t    *rapid.T
	sets []policy.Set // if there are named ones: also those that are not published now
	did  []string
	// dirty says that files are lost that archives may need, or that some are left of
	// another folder.
	dirty bool
}

func (h *foreseen) play() {
	h.options.AllowEmpty = true
	h.options.MaxDelete = &policy.Limit{Count: 100, Percent: true}
	h.options.limits = rapid.SampledFrom([]policy.Limits{{}, smallLists, joinedLists}).Draw(h.t, "lists")
	h.drawSets()
	for range rapid.IntRange(0, 2).Draw(h.t, "settings") {
		h.do(rapid.SampledFrom(newSettings).Draw(h.t, "setting"))
	}
	h.edit(rapid.IntRange(1, 16).Draw(h.t, "files"))
	h.build()
	for range rapid.IntRange(1, 5).Draw(h.t, "builds") {
		for range rapid.IntRange(0, 3).Draw(h.t, "changes") {
			h.do(rapid.SampledFrom(anything).Draw(h.t, "change"))
		}
		if rapid.Bool().Draw(h.t, "edit") {
			h.edit(rapid.IntRange(1, 12).Draw(h.t, "edits"))
		}
		h.now = h.now.Add(rapid.SampledFrom(pauses).Draw(h.t, "pause"))
		h.build()
	}
}

// build compares a build with the dry run before it. A second one would do nothing.
func (h *foreseen) build() {
	s := h.foreseeAndBuild(h.did...)
	h.compare(s)
	if s.err != nil && !h.options.Rebase { // some documents cannot be done without
		h.options.Rebase, h.did = true, append(h.did, "rebased, as it was damaged")
		s = h.foreseeAndBuild(h.did...)
		h.compare(s)
	}
	if s.err != nil {
		h.t.Fatalf("after %q: %v", h.did, s.err)
	}
	h.options.Previous.Place, h.options.Rebase, h.did = "", false, nil
	r, err := h.dryRun()
	if err != nil {
		h.t.Fatalf("after %q and the build, another one says %v", s.did, err)
	}
	idle := *r
	idle.Heads, idle.Wrote, idle.At, idle.Sets = nil, false, s.built.At, slices.Clone(r.Sets)
	for i := range idle.Sets {
		idle.Sets[i].Wrote = false
	}
	h.compare(&step{did: append(s.did, "a build"), before: s.after, after: s.after, now: h.now, options: h.options, foreseen: r, built: &idle})
}

func (h *foreseen) compare(s *step) {
	if diff := s.difference(); diff != "" {
		h.t.Fatalf("after %q (-foreseen +built):\n%s", s.did, diff)
	}
}

func (h *foreseen) do(c change) {
	if does := c.do(h); does != "" {
		h.did = append(h.did, c.name+": "+does)
	}
}

// change is something that happens to the settings or to the publication, and says what
// it did, or nothing if it could do nothing.
type change struct {
	name string
	do   func(h *foreseen) string
}

// newSettings are those that a user may change at any time.
var newSettings = []change{
	{"archive", func(h *foreseen) string {
		on := rapid.SampledFrom([]string{"on", "off", "as before"}).Draw(h.t, "archive")
		return h.some(on, func(s *policy.Set) {
			s.Archive = nil
			if on != "as before" {
				yes := on == "on"
				s.Archive = &yes
			}
		})
	}},
	{"archive keep", func(h *foreseen) string {
		keep := rapid.SampledFrom([]string{"daily=all", "daily=2", "weekly=1,yearly=all"}).Draw(h.t, "archive keep")
		return h.some(keep, func(s *policy.Set) { s.ArchiveKeep, _ = policy.ParseArchiveKeep(keep) })
	}},
	{"dumps", func(h *foreseen) string {
		dumps := rapid.SampledFrom(someDumps).Draw(h.t, "dumps")
		return h.some(fmt.Sprintf("%+v", dumps), func(s *policy.Set) { s.Dumps = dumps })
	}},
	{"package size", func(h *foreseen) string {
		size := rapid.SampledFrom([]int64{0, 4000, 1500}).Draw(h.t, "package size")
		return h.some(fmt.Sprint(size), func(s *policy.Set) { s.PackageSize = size })
	}},
	{"rotation", func(h *foreseen) string {
		rotate := rapid.SampledFrom([]string{"full", "run", "hourly", "daily", "3"}).Draw(h.t, "rotate")
		return h.some(rotate, func(s *policy.Set) { s.Rotate, _ = policy.ParseRotation(rotate) })
	}},
	{"keep changes", func(h *foreseen) string {
		keep := rapid.SampledFrom([]string{"all", "0", "2d"}).Draw(h.t, "keep changes")
		return h.some(keep, func(s *policy.Set) { s.KeepChanges, _ = policy.ParseKeep(keep) })
	}},
	{"hub", func(h *foreseen) string {
		hub := rapid.SampledFrom([]string{"", testHub, testHub + "other"}).Draw(h.t, "hub")
		return h.some(hub+" ", func(s *policy.Set) { s.Hub = hub })
	}},
	{"described by", func(h *foreseen) string {
		uri := rapid.SampledFrom([]string{"", "https://example.org/about"}).Draw(h.t, "described by")
		return h.some(uri+" ", func(s *policy.Set) { s.DescribedBy = uri })
	}},
	{"page", func(h *foreseen) string {
		h.options.Page.None = rapid.Bool().Draw(h.t, "no page")
		return fmt.Sprint(!h.options.Page.None)
	}},
	{"title", func(h *foreseen) string {
		h.options.Page.Title = rapid.SampledFrom([]string{"", "Museum", "Archive"}).Draw(h.t, "title")
		return h.options.Page.Title + " "
	}},
	{"versions", func(h *foreseen) string {
		h.options.Versions = rapid.SampledFrom([]*policy.Versions{nil, {}, {Match: mustGlobs(h.t, "*.json")}}).Draw(h.t, "versions")
		return fmt.Sprintf("%+v", h.options.Versions)
	}},
	{"patches", func(h *foreseen) string {
		h.options.Patches = rapid.SampledFrom([]*policy.Patches{nil, {}}).Draw(h.t, "patches")
		return fmt.Sprint(h.options.Patches != nil)
	}},
	{"links", func(h *foreseen) string {
		kind := rapid.SampledFrom([]string{"none", "to a URI", "to a file", "to another file"}).Draw(h.t, "links")
		h.options.Links = map[string][]policy.LinkRule{
			"none": nil, "to a URI": linkRules("https://example.org/{name}", ""), "to a file": linkRules("", "{dir}/a"), "to another file": linkRules("", "{path}.xml"),
		}[kind]
		return kind
	}},
	{"rules for resources", func(h *foreseen) string {
		freq := rapid.SampledFrom([]string{"", "daily", "yearly"}).Draw(h.t, "change frequency")
		h.options.Resources = policy.ResourceRules{{Name: "rule", Match: mustGlobs(h.t, "d/"), ChangeFreq: freq}}
		return freq + " "
	}},
	{"standard", func(h *foreseen) string {
		h.options.Standard = rapid.SampledFrom([]policy.Standard{"", policy.Standard11, policy.Standard10}).Draw(h.t, "standard")
		return string(h.options.Standard) + " "
	}},
	{"hashes", func(h *foreseen) string {
		h.options.Hash = rapid.SampledFrom([]hashing.Set{nil, {hashing.SHA256}, {hashing.MD5, hashing.SHA256}}).Draw(h.t, "hashes")
		return fmt.Sprint(h.options.Hash)
	}},
	{"set", func(h *foreseen) string {
		if h.sets == nil {
			return ""
		}
		return h.toggle(rapid.SampledFrom(h.sets[1:]).Draw(h.t, "set").Name)
	}},
}

// anything is what can happen between two builds.
var anything = append([]change{
	{"other sets", func(h *foreseen) string {
		if h.options.Previous.Place != "" {
			return ""
		}
		h.options.Rebase = true
		h.drawSets()
		return fmt.Sprintf("%d", len(h.options.Sets))
	}},
	{"rebase", func(h *foreseen) string {
		if h.options.Previous.Place != "" {
			return ""
		}
		h.options.Rebase, h.dirty = true, true
		h.options.Identity.Folder = rapid.SampledFrom([]string{"", ".", "elsewhere", "resourcesync"}).Draw(h.t, "folder")
		h.options.Identity.BaseURL = rapid.SampledFrom([]string{"https://example.org/", "https://example.com/x/"}).Draw(h.t, "base")
		return h.options.Identity.Folder + " at " + h.options.Identity.BaseURL
	}},
	{"prune", (*foreseen).prune},
	{"pause", func(h *foreseen) string {
		h.now = h.now.Add(3 * oneDay)
		return "3 days"
	}},
	{"empty disk", func(h *foreseen) string {
		if h.dirty || h.options.Rebase || h.options.Previous.Place != "" {
			return ""
		}
		withEmptyDisk(h.world)
		return "yes"
	}},
	{"clock", func(h *foreseen) string {
		h.now = h.now.Add(-2 * time.Minute)
		return "behind"
	}},
	{"cache", func(h *foreseen) string {
		os.Remove(h.cache)
		return "lost"
	}},
	{"package", func(h *foreseen) string {
		return h.lose(func(name string) bool { return path.Ext(name) == ".zip" && strings.Contains(name, "resourcedump/") })
	}},
	{"manifest", func(h *foreseen) string {
		return h.lose(func(name string) bool { return path.Ext(name) == ".xml" && strings.Contains(name, "resourcedump/") })
	}},
	{"document", func(h *foreseen) string { return h.lose(canBeLost) }},
	{"document", func(h *foreseen) string { return h.lose(canBeLost) }},
	{"record", func(h *foreseen) string {
		return h.lose(func(name string) bool { return path.Base(name) == "publication.json" })
	}},
	{"document for people", func(h *foreseen) string {
		name := h.pick(func(name string) bool { return path.Base(name) == "style.css" || path.Base(name) == "index.html" })
		if name != "" {
			appendTo(h.t, filepath.Join(h.out, filepath.FromSlash(name)), "/* edited */")
		}
		return name
	}},
	{"earlier release", func(h *foreseen) string {
		asOfEarlierRelease(h.t, h.out)
		return "without style sheet"
	}},
}, newSettings...)

// canBeLost are documents that a build can write again.
func canBeLost(name string) bool {
	return slices.Contains([]string{
		"framework.xml", "capabilitylist.xml", "resourcesync", "style.css", "index.html", "resourcedump.xml", "changedump.xml",
	}, path.Base(name))
}

// lose removes a file of the publication.
func (h *foreseen) lose(isOne func(name string) bool) string {
	name := h.pick(isOne)
	if name != "" {
		h.dirty = true
		if err := os.Remove(filepath.Join(h.out, filepath.FromSlash(name))); err != nil {
			h.t.Fatal(err)
		}
	}
	return name
}

// pick draws a file of the publication, or nothing if there is none.
func (h *foreseen) pick(isOne func(name string) bool) string {
	var names []string
	for name := range tree(h.t, h.out) {
		if isOne(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return rapid.SampledFrom(names).Draw(h.t, "file")
}

// some changes the settings of the one set, or of one of those that have names.
func (h *foreseen) some(what string, change func(*policy.Set)) string {
	o := &h.options
	if h.sets == nil {
		s := policy.Set{
			DescribedBy: o.DescribedBy, Hub: o.Hub, Dumps: o.Dumps, PackageSize: o.PackageSize, Rotate: o.Rotate,
			KeepChanges: o.KeepChanges, Archive: o.Archive, ArchiveKeep: o.ArchiveKeep,
		}
		change(&s)
		o.DescribedBy, o.Hub, o.Dumps, o.PackageSize = s.DescribedBy, s.Hub, s.Dumps, s.PackageSize
		o.Rotate, o.KeepChanges, o.Archive, o.ArchiveKeep = s.Rotate, s.KeepChanges, s.Archive, s.ArchiveKeep
		return what
	}
	s := &h.sets[rapid.IntRange(0, len(h.sets)-1).Draw(h.t, "set")]
	change(s)
	o.Sets = slices.Clone(o.Sets)
	for i := range o.Sets {
		if o.Sets[i].Name == s.Name {
			o.Sets[i] = *s
		}
	}
	return s.Name + ": " + what
}

// drawSets begins with one set, or with named ones.
func (h *foreseen) drawSets() {
	h.sets, h.options.Sets = nil, nil
	if rapid.Bool().Draw(h.t, "named sets") {
		h.sets = []policy.Set{
			{Name: "all", Dumps: rapid.SampledFrom(someDumps).Draw(h.t, "dumps")},
			{Name: "folder", Resources: policy.Selection{Include: mustGlobs(h.t, "d/")}},
			{Name: "small", Folder: "other/small", Resources: policy.Selection{MaxSize: 12}},
		}
		h.options.Sets = slices.Clone(h.sets[:rapid.IntRange(1, 3).Draw(h.t, "sets")])
	}
}

// toggle adds a set or takes one out.
func (h *foreseen) toggle(name string) string {
	is := func(s policy.Set) bool { return s.Name == name }
	if slices.ContainsFunc(h.options.Sets, is) {
		h.options.Sets = slices.DeleteFunc(slices.Clone(h.options.Sets), is)
		return name + " is gone"
	}
	h.options.Sets = append(slices.Clone(h.options.Sets), h.sets[slices.IndexFunc(h.sets, is)])
	return name + " is new"
}

// edit writes and removes files, some of which are worth a patch when they change.
func (h *foreseen) edit(n int) {
	for range n {
		h.now = h.now.Add(time.Second)
		name := rapid.SampledFrom([]string{"a", "a.xml", "d/a", "b.json", "d/c.csv", "d/1", "d/2", "d/3", "e/1", "e/2", "e/3", "e/4", "é"}).Draw(h.t, "name")
		content := rapid.IntRange(-1, 3).Draw(h.t, "content")
		modified := h.now.Add(rapid.SampledFrom([]time.Duration{-oneDay, -time.Second, time.Hour}).Draw(h.t, "age"))
		switch path.Ext(name) {
		case ".json", ".csv":
			h.file(name, versionContent(name, content), modified)
		default:
			h.file(name, strings.Repeat("x", 1+7*max(content, 0)), modified)
		}
		if content < 0 {
			h.remove(name)
		}
	}
	h.did = append(h.did, fmt.Sprintf("%d edits", n))
}

// prune leaves a publication that is whole, if it was.
func (h *foreseen) prune() string {
	if h.options.Previous.Place != "" || h.options.Rebase {
		return "" // there is nothing to prune
	}
	o := h.options
	o.Now = func() time.Time { return h.now }
	o.DryRun = true
	before := tree(h.t, h.out)
	foreseen, errForeseen := Prune(h.t.Context(), o)
	if diff := cmp.Diff(before, tree(h.t, h.out)); diff != "" {
		h.t.Fatalf("after %q, a dry run of prune changed\n%s", h.did, diff)
	}
	o.DryRun = false
	pruned, err := Prune(h.t.Context(), o)
	if fmt.Sprint(err) != fmt.Sprint(errForeseen) {
		h.t.Fatalf("after %q, prune says %v, and its dry run %v", h.did, err, errForeseen)
	}
	if diff := cmp.Diff(foreseen, pruned); diff != "" {
		h.t.Fatalf("after %q, prune (-foreseen +done):\n%s", h.did, diff)
	}
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d lists, %d packages, %d snapshots", pruned.Lists, pruned.Packages, pruned.Snapshots)
}

func appendTo(t tester, name, text string) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, append(b, text...), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

var styleLine = regexp.MustCompile(`<\?xml-stylesheet [^\n]*\n`)

// asOfEarlierRelease makes of a publication what a release without style sheets would
// have published.
func asOfEarlierRelease(t tester, out string) {
	t.Helper()
	files := tree(t, out)
	var records []string
	for name := range files {
		if path.Base(name) == "publication.json" {
			records = append(records, name)
		}
	}
	slices.Sort(records)
	isTop := func(name string) bool { return strings.Contains(files[name], `"sets"`) }
	slices.SortStableFunc(records, func(a, b string) int { // one above sets guards theirs
		switch {
		case isTop(a) == isTop(b):
			return 0
		case isTop(a):
			return 1
		}
		return -1
	})
	for _, name := range records {
		record, err := snapshot.ParseRecord([]byte(files[name]))
		if err != nil {
			t.Fatal(err)
		}
		record.Heads = slices.DeleteFunc(record.Heads, func(h snapshot.Head) bool {
			base := path.Base(h.Path)
			forPeople := base == "style.css" || base == "index.html"
			if forPeople {
				os.Remove(filepath.Join(out, filepath.FromSlash(h.Path)))
			}
			return forPeople
		})
		for i := range record.Heads {
			h := &record.Heads[i]
			content, ok := files[h.Path]
			if !ok {
				continue // it is lost
			}
			if path.Ext(h.Path) != ".json" {
				content = styleLine.ReplaceAllString(content, "")
				writeFile(t, out, h.Path, content)
			}
			sum := sha256.Sum256([]byte(content))
			h.Length, h.SHA256 = int64(len(content)), hex.EncodeToString(sum[:])
		}
		b, err := record.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(b)
		writeFile(t, out, name, string(b))
	}
}

func writeFile(t tester, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
