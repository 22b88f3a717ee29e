package generator

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/verify"
)

// Each history takes a good part of a second, nearly all of it for the disk.
func init() {
	if os.Getenv("WELLSPRING_LONG") == "" {
		flag.Set("rapid.checks", "25")
	}
}

// TestAnyHistory edits a source at random and builds in between. Whatever
// happened, the publication describes the source as one made from scratch
// would, and its Change Lists lead from any state before to the last one.
func TestAnyHistory(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		dir := fmt.Sprintf("%s/%d", base, n)
		h := &history{world: newWorld(t, dir), t: t, dir: dir}
		h.options.AllowEmpty = true
		h.options.MaxDelete = &policy.Limit{Count: 100, Percent: true}
		h.options.Dumps = rapid.SampledFrom(someDumps).Draw(t, "dumps")
		h.options.PackageSize = rapid.SampledFrom([]int64{0, 4000, 1500}).Draw(t, "package size")
		h.options.Compression = rapid.IntRange(0, 9).Draw(t, "compression")
		h.options.limits = rapid.SampledFrom([]policy.Limits{{}, smallLists, joinedLists}).Draw(t, "lists")
		h.drawHistory()
		if rapid.Bool().Draw(t, "upload") {
			h.goLive()
		}
		h.play()
		os.RemoveAll(dir)
	})
}

var someDumps = []policy.Dumps{{}, {Resource: true}, {Change: true}, {Resource: true, Change: true}, {Resource: true, Change: true}}

type history struct {
	*world
	t     *rapid.T
	dir   string
	past  []publication
	files map[string]string // path to content
	lost  bool              // so that nobody knows what it led to
}

func (h *history) play() {
	h.files = map[string]string{}
	h.buildAndCheck()
	for range rapid.IntRange(1, 6).Draw(h.t, "runs") {
		for range rapid.IntRange(0, 25).Draw(h.t, "edits") {
			h.edit()
		}
		if rapid.Bool().Draw(h.t, "lose the cache") {
			os.Remove(h.cache)
		}
		if rapid.IntRange(0, 4).Draw(h.t, "other dumps") == 0 {
			h.options.Dumps = rapid.SampledFrom(someDumps).Draw(h.t, "dumps")
			h.options.PackageSize = rapid.SampledFrom([]int64{0, 4000, 1500}).Draw(h.t, "package size")
		}
		if rapid.IntRange(0, 4).Draw(h.t, "lose packages") == 0 {
			h.losePackages()
		}
		if rapid.IntRange(0, 4).Draw(h.t, "other rotation") == 0 {
			h.drawHistory()
		}
		if rapid.IntRange(0, 4).Draw(h.t, "prune") == 0 && !h.lost {
			h.prune()
		}
		h.now = h.now.Add(rapid.SampledFrom(pauses).Draw(h.t, "pause"))
		h.buildAndCheck()
	}
	h.compareWithScratch()
}

// prune leaves the publication whole, and the source as it is published.
func (h *history) prune() {
	before := h.past[len(h.past)-1]
	o := h.options
	o.Out, o.Now = h.out, func() time.Time { return h.now }
	o.DryRun = true
	foreseen, err := Prune(h.t.Context(), o)
	if err != nil {
		h.t.Fatal(err)
	}
	o.DryRun = false
	if h.live != nil {
		o.Plan = h.live.plan
	}
	done, err := Prune(h.t.Context(), o)
	if err != nil {
		h.t.Fatal(err)
	}
	foreseen.Notifications = done.Notifications // which say what was placed
	if diff := cmp.Diff(foreseen, done); diff != "" {
		h.t.Fatalf("pruned (-foreseen +done):\n%s", diff)
	}
	p := readAll(h.t, h.out)
	if diff := cmp.Diff(before.resources, p.resources); diff != "" {
		h.t.Fatalf("pruned (-before +after):\n%s", diff)
	}
}

// linkRules links each resource to a URI or to a file.
func linkRules(href, file string) []policy.LinkRule {
	return []policy.LinkRule{{Name: "x", Match: []string{"**"}, Rel: "related", Href: href, File: file}}
}

// drawHistory chooses how changes are told, how lists are closed, and how long
// they stay.
func (h *history) drawHistory() {
	h.options.Rotate, _ = policy.ParseRotation(rapid.SampledFrom([]string{"full", "full", "run", "hourly", "daily", "weekly", "3"}).Draw(h.t, "rotate"))
	if on := rapid.SampledFrom([]string{"as before", "as before", "on", "off"}).Draw(h.t, "archive"); on != "as before" {
		archive := on == "on"
		h.options.Archive = &archive
	} else {
		h.options.Archive = nil
	}
	h.options.ArchiveKeep, _ = policy.ParseArchiveKeep(rapid.SampledFrom([]string{"daily=all", "daily=2", "weekly=1,yearly=all"}).Draw(h.t, "archive keep"))
	h.options.Standard = rapid.SampledFrom([]policy.Standard{"", policy.Standard11, policy.Standard10}).Draw(h.t, "standard")
	h.options.Links = rapid.SampledFrom([][]policy.LinkRule{nil, nil, linkRules("https://example.org/{name}", ""), linkRules("", "{dir}/a")}).Draw(h.t, "links")
	h.options.Hub = rapid.SampledFrom([]string{"", testHub}).Draw(h.t, "hub")
	h.options.KeepChanges, _ = policy.ParseKeep(rapid.SampledFrom([]string{"all", "all", "0", "2d"}).Draw(h.t, "keep"))
}

var pauses = []time.Duration{0, time.Minute, time.Hour, oneDay, 10 * oneDay}

// names are few, so that edits meet each other, and awkward.
var names = []string{
	"a", "a.txt", "a-b", "a/b", "a/b/c.html", "a/c", "a b", "a%20b", "é", "e\u0301", "z&<>'\"", "\x01\xff", "d/1", "d/2", "d/3", "d/4", "d/5", "d/6", "d/7", "d/8", "d/9", "e/1", "e/2", "e/3", "e/4", "e/5",
}

func (h *history) edit() {
	name := rapid.SampledFrom(names).Draw(h.t, "name")
	switch rapid.SampledFrom([]string{"write", "write", "write", "remove", "touch", "rename"}).Draw(h.t, "edit") {
	case "write":
		h.write(name, rapid.SampledFrom([]string{"", "x", "y", "longer", "looong"}).Draw(h.t, "content"))
	case "remove":
		h.delete(name)
	case "touch":
		if _, ok := h.files[name]; ok {
			h.touch(name, h.modified())
		}
	case "rename":
		if content, ok := h.files[name]; ok {
			h.delete(name)
			h.write(rapid.SampledFrom(names).Draw(h.t, "to"), content)
		}
	}
}

// losePackages removes files of the Resource Dump, which are written again. Those
// of an archive could not be.
func (h *history) losePackages() {
	if archives, _ := filepath.Glob(filepath.Join(h.out, "resourcesync", "*-archive.xml")); len(archives) > 0 {
		return
	}
	record := tree(h.t, h.out)["resourcesync/publication.json"]
	files, _ := filepath.Glob(filepath.Join(h.out, "resourcesync", "resourcedump", "*"))
	for _, f := range files {
		if !strings.Contains(record, filepath.Base(f)) && rapid.Bool().Draw(h.t, "lose") { // it is not retired
			os.Remove(f)
			h.lost, h.live = true, nil
		}
	}
}

// modified is the time of an edit: long ago, just before the next build, or in
// the future. No two edits have the same one, as with a real clock.
func (h *history) modified() time.Time {
	h.now = h.now.Add(time.Second)
	offset := rapid.SampledFrom([]time.Duration{-24 * time.Hour, -time.Second, 0, time.Hour}).Draw(h.t, "age")
	return h.now.Add(offset)
}

// write makes room for the file, as a file may become a directory and the
// reverse.
func (h *history) write(name, content string) {
	for other := range h.files {
		if len(other) > len(name) && other[:len(name)+1] == name+"/" || len(name) > len(other) && name[:len(other)+1] == other+"/" {
			h.delete(other)
		}
	}
	if _, ok := h.files[name]; !ok {
		h.remove(name) // a directory that is empty by now
	}
	h.file(name, content, h.modified())
	h.files[name] = content
}

// checkForm makes sure that the changes of a run are in the form that was asked
// for.
func (h *history) checkForm(report *Report, p publication) {
	if report.First || report.Events() == 0 {
		return
	}
	want := policy.Standard11
	if h.options.Standard == policy.Standard10 {
		want = policy.Standard10
	}
	open := p.changes[len(p.changes)-1]
	if got := formOf(&open[len(open)-1]); got != want {
		h.t.Fatalf("the changes are in the form of %s, not %s", got, want)
	}
}

func (h *history) delete(name string) {
	if _, ok := h.files[name]; ok {
		h.remove(name)
		delete(h.files, name)
	}
}

func (h *history) buildAndCheck() {
	told := &notifiedWorld{h.world, tree(h.t, h.out)}
	report := h.build()
	if h.options.Hub != "" {
		told.check(report.Notifications)
	}
	p := read(h.t, h.out)
	if !h.lost {
		readAll(h.t, h.out)
		verified(h.t, h.out, verify.Content)
	}
	h.checkForm(report, p)
	if len(p.resources) != len(h.files) {
		h.t.Fatalf("%d resources for %d files", len(p.resources), len(h.files))
	}
	if p.from.After(p.at) {
		h.t.Fatalf("the Change List is from %v, later than the Resource List of %v", p.from, p.at)
	}
	for _, before := range h.past {
		if p.from.After(before.at) { // what led from there is kept no longer
			continue
		}
		got := replay(h.t, before.resources, p, before.at)
		if diff := cmp.Diff(withoutTimes(p.resources), withoutTimes(got)); diff != "" {
			h.t.Fatalf("replaying from %v (-published +replayed):\n%s", before.at, diff)
		}
	}
	for _, before := range p.archived {
		if p.from.After(before.at) {
			continue
		}
		got := replay(h.t, before.resources, p, before.at)
		if diff := cmp.Diff(withoutTimes(p.resources), withoutTimes(got)); diff != "" {
			h.t.Fatalf("replaying from the archived %v (-published +replayed):\n%s", before.at, diff)
		}
	}
	for _, before := range h.past {
		if !before.dumps.any || !p.dumps.any || p.dumps.from.IsZero() || p.dumps.from.After(before.at) {
			continue
		}
		got := replayContent(before.dumps.content, p, before.at)
		if diff := cmp.Diff(p.dumps.content, got); diff != "" {
			h.t.Fatalf("replaying the packages from %v (-published +replayed):\n%s", before.at, diff)
		}
	}
	h.past = append(h.past, p)
	again := tree(h.t, h.out)
	if report := h.build(); report.Wrote || report.Read > 0 {
		h.t.Fatalf("a second build did something: %+v", report)
	}
	if diff := cmp.Diff(again, tree(h.t, h.out)); diff != "" {
		h.t.Fatalf("a second build changed something:\n%s", diff)
	}
}

func withoutTimes(state map[string]resourcesync.Entry) map[string]resourcesync.Entry {
	bare := map[string]resourcesync.Entry{}
	for uri, e := range state {
		e.LastModified, e.Links = time.Time{}, nil
		bare[uri] = e
	}
	return bare
}

// linksOf returns the links of all resources, but for times.
func linksOf(p publication) map[string][]resourcesync.Link {
	all := map[string][]resourcesync.Link{}
	for uri, e := range p.resources {
		for _, l := range e.Links {
			l.Modified = time.Time{}
			all[uri] = append(all[uri], l)
		}
	}
	return all
}

func (h *history) compareWithScratch() {
	fresh := newWorld(h.t, h.dir)
	fresh.options = h.options
	fresh.options.Out = h.dir + "/scratch"
	fresh.options.Cache = ""
	fresh.now = h.now
	// Archives that were on stay on, and the list has a link to them.
	_, err := os.Stat(filepath.Join(h.out, "resourcesync", "resourcelist-archive.xml"))
	archives := err == nil
	fresh.options.Archive = &archives
	fresh.build()
	scratch, steps := read(h.t, fresh.options.Out), h.past[len(h.past)-1]
	if diff := cmp.Diff(describe(scratch.parts), describe(steps.parts)); diff != "" {
		h.t.Fatalf("(-from scratch +step by step):\n%s", diff)
	}
	if diff := cmp.Diff(linksOf(scratch), linksOf(steps)); diff != "" {
		h.t.Fatalf("links (-from scratch +step by step):\n%s", diff)
	}
	if diff := cmp.Diff(describePackages(scratch), describePackages(steps)); diff != "" {
		h.t.Fatalf("packages (-from scratch +step by step):\n%s", diff)
	}
}
