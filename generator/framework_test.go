package generator

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/notify"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/verify"
)

const testHub = "https://hub.example/?a&b"

// told returns what reports say of each change: capability, change, name and the name of
// the Index.
func toldBy(notifications []notify.Notification) (lines []string) {
	for _, n := range notifications {
		for _, c := range n.Changes {
			line := strings.TrimSpace(n.Set + " " + string(c.Change) + " " + string(c.Capability) + " " + path.Base(c.URI))
			if c.Index != "" {
				line += " in " + path.Base(c.Index)
			}
			lines = append(lines, line)
		}
	}
	return lines
}

func (w *world) wantTold(what string, got []notify.Notification, want ...string) {
	w.t.Helper()
	if diff := cmp.Diff(want, toldBy(got)); diff != "" {
		w.t.Errorf("%s: told (-want +got):\n%s", what, diff)
	}
}

// TestNotification has a publication with a hub come into being, go on, and end.
func TestNotification(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.options.Hub = testHub
	topic := filepath.Join(w.out, "resourcesync", "framework.xml")
	w.file("a", "a", longAgo)
	r := w.build()
	w.wantTold("first", r.Notifications, "created changelist changelist.xml", "created resourcelist resourcelist.xml",
		"created capabilitylist capabilitylist.xml", "created description resourcesync")
	heads := []string{
		"resourcesync/style.css", "resourcesync/changelist.xml", "resourcesync/resourcelist.xml", "resourcesync/framework.xml",
		"resourcesync/capabilitylist.xml", "resourcesync/index.html", ".well-known/resourcesync", "resourcesync/publication.json",
	}
	if diff := cmp.Diff(heads, r.Heads); diff != "" {
		t.Errorf("the order of the commit (-want +got):\n%s", diff)
	}
	verified(t, w.out, verify.Content)
	list, err := os.ReadFile(filepath.Join(w.out, "resourcesync", "capabilitylist.xml"))
	if err != nil {
		t.Fatal(err)
	}
	entry := `<url><loc>https://example.org/resourcesync/framework.xml</loc><rs:md capability="framework-notification"/><rs:ln rel="hub" href="https://hub.example/?a&amp;b"/></url>`
	if !bytes.Contains(list, []byte(entry)) {
		t.Errorf("the Capability List does not have %s:\n%s", entry, list)
	}

	if r := w.build(); r.Wrote || len(r.Notifications) > 0 {
		t.Errorf("a run without changes wrote %v and tells of %v", r.Heads, r.Notifications)
	}

	w.file("a", "bb", longAgo)
	dry := w.build(func(o *Options) { o.DryRun = true })
	r = w.build()
	w.wantTold("updated", r.Notifications, "updated changelist changelist.xml", "updated resourcelist resourcelist.xml")
	if diff := cmp.Diff(dry.Heads, r.Heads); diff != "" {
		t.Errorf("written (-foreseen +written):\n%s", diff)
	}
	want := `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
<rs:md capability="framework-notification" from="2026-01-02T03:04:05Z" until="2026-01-02T03:07:05Z"/>
<rs:ln rel="up" href="https://example.org/resourcesync/capabilitylist.xml"/>
<url><loc>https://example.org/resourcesync/changelist.xml</loc><rs:md capability="changelist" change="updated" datetime="2026-01-02T03:07:05Z"/></url>
<url><loc>https://example.org/resourcesync/resourcelist.xml</loc><rs:md capability="resourcelist" change="updated" datetime="2026-01-02T03:07:05Z"/></url>
</urlset>
`
	got, err := os.ReadFile(topic)
	if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if b, err := r.Notifications[0].Payload(); err != nil || string(b) != want {
		t.Errorf("the payload is %q, %v", b, err)
	}

	// Lost, it is written again, and there is nothing to tell.
	os.Remove(topic)
	if r = w.build(); !r.Wrote || len(r.Notifications) > 0 || len(r.Warnings) != 1 {
		t.Errorf("wrote %v, tells of %v, warns %q", r.Heads, r.Notifications, r.Warnings)
	}
	verified(t, w.out, verify.Content)
	if r = w.build(); r.Wrote {
		t.Errorf("a run without changes wrote %v", r.Heads)
	}

	// Without a record, the Capability List tells that the file is ours.
	os.Remove(filepath.Join(w.out, "resourcesync", "publication.json"))
	w.build()
	verified(t, w.out, verify.Content)

	w.options.Hub = "https://other.example/"
	r = w.build()
	w.wantTold("other hub", r.Notifications, "updated capabilitylist capabilitylist.xml")
	w.options.Hub = ""
	r = w.build()
	if _, err := os.Stat(topic); !os.IsNotExist(err) || len(r.Notifications) > 0 {
		t.Errorf("the notification is still there: %v, %v", err, r.Notifications)
	}
	readAll(t, w.out)
}

// TestNotificationOfParts has documents under an Index, of which one is told for all.
func TestNotificationOfParts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	yes := true
	w.options.Hub, w.options.limits, w.options.Archive = testHub, smallLists, &yes
	w.options.Dumps, w.options.PackageSize, w.options.Rotate = policy.Dumps{Resource: true, Change: true}, 1500, policy.Rotation{Period: "run"}
	for i := range 60 {
		w.file("d/"+strings.Repeat("x", i+1), strings.Repeat("x", 10*i), longAgo)
	}
	w.build()
	n := &notifiedWorld{world: w, before: tree(t, w.out)}
	for i, name := range []string{"d/x", "d/xxxxx", "e/new"} {
		w.file(name, strings.Repeat("new", i+1), longAgo)
		n.check(w.build().Notifications)
	}
	w.remove("e/new")
	n.check(w.build().Notifications)
	readAll(t, w.out)
	w.options.limits = policy.Limits{}
	n.check(w.build().Notifications)

	o := w.options
	o.Now = func() time.Time { return w.now.AddDate(2, 0, 0) }
	o.KeepChanges, o.ArchiveKeep = policy.KeepFor(oneDay), policy.ArchiveKeep{}
	p, err := Prune(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Notifications) != 1 {
		t.Errorf("pruning %d lists and %d packages told of %v", p.Lists, p.Packages, p.Notifications)
	}
	n.check(p.Notifications)
	readAll(t, w.out)
}

// notifiedWorld knows what was there before, and looks whether notifications tell the
// difference.
type notifiedWorld struct {
	*world
	before map[string]string
}

// check compares the publication with the one before. The Index is never told of, and of
// what stands under it, one.
func (n *notifiedWorld) check(told []notify.Notification) {
	n.t.Helper()
	before, now := n.before, tree(n.t, n.out)
	n.before = now
	l, err := layout.New(n.options.Identity)
	if err != nil {
		n.t.Fatal(err)
	}
	var changes []notify.Change
	if len(told) > 0 {
		changes = told[0].Changes
	}
	by := map[resourcesync.Capability]notify.Change{}
	for _, c := range changes {
		if _, twice := by[c.Capability]; twice {
			n.t.Fatalf("%s is told twice: %v", c.Capability, toldBy(told))
		}
		by[c.Capability] = c
		name, _ := l.PathOf(c.URI)
		if now[name] == "" || strings.Contains(now[name], "<sitemapindex") || now[name] == before[name] {
			n.t.Fatalf("%s is told, and is an Index, not there, or as it was: %v", name, toldBy(told))
		}
		if c.Index != "" {
			index, _ := l.PathOf(c.Index)
			if !strings.Contains(now[index], "<sitemapindex") || !strings.Contains(now[index], "<loc>"+c.URI+"<") {
				n.t.Fatalf("%s is no Index of %s", index, name)
			}
		}
	}
	for _, c := range []resourcesync.Capability{
		resourcesync.ResourceList, resourcesync.ResourceDump, resourcesync.ChangeList, resourcesync.ChangeDump, resourcesync.CapabilityList,
		resourcesync.ResourceList.Archive(), resourcesync.ResourceDump.Archive(), resourcesync.ChangeList.Archive(), resourcesync.ChangeDump.Archive(),
	} {
		head := l.Live(string(c)).Path
		if now[head] == before[head] || now[head] == "" {
			continue
		}
		_, isTold := by[c]
		if isIndex := strings.Contains(now[head], "<sitemapindex"); !isTold && (!isIndex || hasNewPart(l, head, before, now)) {
			n.t.Fatalf("%s has changed and is not told: %v", head, toldBy(told))
		}
	}
}

// hasNewPart reports whether an Index names a document that was not there, or not so.
func hasNewPart(l layout.Layout, head string, before, now map[string]string) bool {
	d := resourcesync.NewDecoder(strings.NewReader(now[head]), resourcesync.Limits{})
	if _, err := d.Document(); err != nil {
		return false
	}
	for e, err := d.Next(); err == nil; e, err = d.Next() {
		name, _ := l.PathOf(e.Loc)
		if strings.Contains(name, "/changelist/") && e.Metadata.HasLength {
			continue // closed: the open one is told
		}
		if now[name] != before[name] {
			return true
		}
	}
	return false
}

// TestNotificationOfSets has the Source Description told on each channel, and only what
// is of a set on its own.
func TestNotificationOfSets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.file("a/x", "x", longAgo)
	w.file("b/x", "x", longAgo)
	set := func(name, hub string) policy.Set {
		return policy.Set{Name: name, Hub: hub, Resources: policy.Selection{Include: mustGlobs(t, name+"/")}}
	}
	a, b, c := set("a", testHub), set("b", testHub), set("c", "")
	c.Resources = a.Resources
	w.options.Sets = []policy.Set{a, b}
	w.build()
	verified(t, w.out, verify.Content)

	w.file("a/x", "yy", longAgo)
	r := w.build()
	w.wantTold("one set", r.Notifications, "a updated changelist changelist.xml", "a updated resourcelist resourcelist.xml")

	w.options.Sets = []policy.Set{a, b, c}
	r = w.build()
	w.wantTold("a new set", r.Notifications, "a updated description resourcesync", "b updated description resourcesync")
	verified(t, w.out, verify.Content)
	if files := tree(t, w.out); files["resourcesync/c/framework.xml"] != "" {
		t.Error("a set without a hub has a notification")
	}
	if r = w.build(); r.Wrote {
		t.Errorf("a run without changes wrote %v", r.Heads)
	}

	w.options.Sets = []policy.Set{a, c}
	r = w.build()
	w.wantTold("a set ends", r.Notifications, "a updated description resourcesync",
		"resourcesync/b deleted capabilitylist capabilitylist.xml", "resourcesync/b updated description resourcesync")
	last := r.Notifications[1]
	payload, err := last.Payload()
	if err != nil || !last.IsLast() || bytes.Contains(payload, []byte(`rel="up"`)) || !last.Changes[0].DateTime.Equal(r.At) {
		t.Errorf("%+v, %s, %v", last, payload, err)
	}
	verified(t, w.out, verify.Content)
	if files := tree(t, w.out); files["resourcesync/b/framework.xml"] != "" {
		t.Error("the notification of a set that has ended is still there")
	}
}

// TestNotificationIsNoResource has the documents at the top of the source, where a file
// with the name of the notification is a resource as long as there is no hub.
func TestNotificationIsNoResource(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.options.Out, w.options.Identity.Folder, w.options.Cache = "", ".", ""
	w.file("framework.xml", "<mine/>", longAgo)
	w.file("a", "a", longAgo)
	if r := w.build(); r.Resources != 2 {
		t.Errorf("%d resources, not 2", r.Resources)
	}
	files := tree(t, w.source)
	if _, err := w.run(func(o *Options) { o.Hub = testHub }); err == nil || !strings.Contains(err.Error(), "framework.xml") {
		t.Errorf("a file in the way: %v", err)
	}
	if diff := cmp.Diff(files, tree(t, w.source)); diff != "" {
		t.Errorf("a refused run changed\n%s", diff)
	}
	w.remove("framework.xml")
	w.options.Hub = testHub
	w.build()
	if r := w.build(); r.Resources != 1 || r.Wrote {
		t.Errorf("%d resources, wrote %v", r.Resources, r.Heads)
	}
	w.options.Hub = ""
	if r := w.build(func(o *Options) { o.Rebase = true }); r.Resources != 1 || slices.Contains(r.Heads, "framework.xml") {
		t.Errorf("%d resources, wrote %v", r.Resources, r.Heads)
	}
	if files := tree(t, w.source); files["framework.xml"] != "" {
		t.Error("the notification is still there")
	}
}

// TestBadHubs are refused before anything is written.
func TestBadHubs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.file("a", "a", longAgo)
	for _, hub := range []string{"hub.example", "ftp://hub.example/", "https://u:p@hub.example/", "https://hub.example/#x", "https:///x", "https://hub.example/ x", "\x00"} {
		if _, err := w.run(func(o *Options) { o.Hub = hub }); err == nil || strings.Contains(err.Error(), "u:p") {
			t.Errorf("%q: %v", hub, err)
		}
		if _, err := w.run(func(o *Options) { o.Sets = []policy.Set{{Name: "a", Hub: hub}} }); err == nil {
			t.Errorf("%q is a hub of a set", hub)
		}
	}
	if files := tree(t, w.out); len(files) > 0 {
		t.Errorf("%v was written", files)
	}
}
