package generator

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"html"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wellspring-sync/wellspring/generator/internal/stage"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/notify"
	"github.com/wellspring-sync/wellspring/internal/plan"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// live is a site to which only upload plans lead.
type live struct {
	t           tester
	source, out string
	plan        string
	layout      layout.Layout
	files       map[string]string
	builds      int
}

// goLive has each build of a world plan an upload, which some of them carry out.
func (w *world) goLive() {
	l, err := layout.New(w.options.Identity)
	if err != nil {
		w.t.Fatal(err)
	}
	name := filepath.Join(filepath.Dir(w.out), "site.plan")
	w.live = &live{t: w.t, source: w.source, out: w.out, plan: name, layout: l, files: map[string]string{}}
}

// built uploads what two of three builds planned. What the others did is left to the
// next one.
func (l *live) built() {
	if l.builds++; l.builds%3 != 0 {
		l.upload()
		l.compare()
	}
}

// upload carries out a plan. After each phase, no document that can be found leads to
// one that is not there.
func (l *live) upload() {
	l.t.Helper()
	r, err := plan.Open(l.plan)
	if err != nil {
		l.t.Fatal(err)
	}
	defer r.Close()
	l.checkRecord(&r.Header)
	phase := plan.Phases[0]
	puts, deletes, bytes := 0, 0, int64(0)
	for f, err := range r.Files() {
		if err != nil {
			l.t.Fatal(err)
		}
		if f.Phase != phase {
			l.checkLinks(phase)
			phase = f.Phase
		}
		if f.Phase == plan.Delete {
			deletes++
			delete(l.files, f.Path)
			continue
		}
		puts, bytes = puts+1, bytes+f.Length
		l.put(f)
	}
	l.checkLinks(phase)
	l.checkNotifications(r.Notifications())
	if h := r.Header; puts != h.Puts || deletes != h.Deletes || bytes != h.PutBytes {
		l.t.Fatalf("the plan has %d files to put (%d bytes) and %d to delete, and says %+v", puts, bytes, deletes, h)
	}
	if err := os.Remove(l.plan); err != nil {
		l.t.Fatal(err)
	}
}

// checkRecord compares what is live with what a plan goes on from.
func (l *live) checkRecord(h *plan.Header) {
	l.t.Helper()
	record, ok := l.files[h.Record]
	if !ok {
		if h.From != nil {
			l.t.Fatalf("nothing is live, and the plan goes on from %v", h.From)
		}
		return
	}
	if h.From == nil || h.From.SHA256 != sha256Of(record) || h.From.MD5 != md5Of(record) {
		l.t.Fatalf("the plan goes on from another record than the one that is live: %+v", h.From)
	}
}

func (l *live) put(f *plan.File) {
	l.t.Helper()
	dir := l.out
	if f.Source {
		dir = l.source
	}
	b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f.Path)))
	if err != nil {
		l.t.Fatal(err)
	}
	content := string(b)
	if int64(len(content)) != f.Length || sha256Of(content) != f.SHA256 || md5Of(content) != f.MD5 {
		l.t.Fatalf("%s is not as the plan says: %+v", f.Path, f)
	}
	if strings.HasSuffix(f.Path, "/") || f.URI == "" || !f.Source && f.Type == "" || (f.CacheControl == "") != f.Source {
		l.t.Fatalf("%+v", f)
	}
	for other := range l.files { // as a bucket, and unlike a directory, it can have both for a while
		if strings.HasPrefix(other, f.Path+"/") && f.Phase != plan.Resources {
			l.t.Fatalf("%s is put over %s", f.Path, other)
		}
	}
	l.files[f.Path] = content
}

func sha256Of(s string) string { b := sha256.Sum256([]byte(s)); return hex.EncodeToString(b[:]) }
func md5Of(s string) string    { b := md5.Sum([]byte(s)); return hex.EncodeToString(b[:]) }

var hrefs = regexp.MustCompile(`<loc>([^<]*)</loc>|<rs:ln rel="(?:up|index)" href="([^"]*)"`)

// checkLinks follows the documents from the Source Description on. Archives may lead to
// what has gone.
func (l *live) checkLinks(phase plan.Phase) {
	l.t.Helper()
	todo, seen := []string{l.layout.SourceDescription().Path}, map[string]bool{}
	if _, ok := l.files[todo[0]]; !ok {
		return
	}
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		content, ok := l.files[name]
		if !ok {
			l.t.Fatalf("after the phase %s, %s is not there, though it is named", phase, name)
		}
		if path.Ext(name) != ".xml" && path.Ext(name) != "" || strings.Contains(name, "-archive") {
			continue
		}
		for _, m := range hrefs.FindAllStringSubmatch(content, -1) {
			to, ok := l.layout.PathOf(html.UnescapeString(m[1] + m[2]))
			if ok && layout.IsOwned(to) && !seen[to] {
				seen[to] = true
				todo = append(todo, to)
			}
		}
	}
}

// checkNotifications makes sure that what subscribers would be told is there, and that no
// Index is told of.
func (l *live) checkNotifications(all []notify.Notification) {
	l.t.Helper()
	seen := map[string]bool{}
	for _, n := range all {
		if seen[n.Topic] || len(n.Changes) == 0 {
			l.t.Fatalf("one of the notifications is empty, or the second one of its topic: %v", toldBy(all))
		}
		seen[n.Topic] = true
		for _, c := range n.Changes {
			name, _ := l.layout.PathOf(c.URI)
			if content, ok := l.files[name]; (!ok || strings.Contains(content, "<sitemapindex")) && c.Change != resourcesync.Deleted {
				l.t.Fatalf("%s is told, and is an Index or not there: %v", name, toldBy(all))
			}
		}
	}
}

// compare makes sure that source and publication are live, and nothing else.
func (l *live) compare() {
	l.t.Helper()
	want := tree(l.t, l.source)
	for name, content := range tree(l.t, l.out) {
		want[name] = content
	}
	if diff := cmp.Diff(want, l.files); diff != "" {
		l.t.Fatalf("(-source and publication +live):\n%s", diff)
	}
}

// TestPlanOfStoppedRun has a run stopped between its commit and its plan.
func TestPlanOfStoppedRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.goLive()
	w.file("a", "1", longAgo)
	w.build()
	w.file("a", "22", longAgo)
	w.live.builds = 2
	w.build()
	if err := os.Rename(w.live.plan, w.live.plan+".next"); err != nil { // where it was before the commit
		t.Fatal(err)
	}
	w.live.builds = 2
	w.build() // nothing has changed
	w.live.upload()
	w.live.compare()
}

// TestPlanOfUncommittedRun has a run stopped before its commit.
func TestPlanOfUncommittedRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.goLive()
	w.file("a", "1", longAgo)
	w.live.builds = 2
	w.build()
	before, err := os.ReadFile(w.live.plan)
	if err != nil {
		t.Fatal(err)
	}
	h := string(before)
	at := strings.Index(h, `"to":`) + strings.Index(h[strings.Index(h, `"to":`):], `"sha256":"`) + len(`"sha256":"`)
	h = h[:at] + strings.Repeat("0", 64) + h[at+64:] // of a record that was never put
	if err := os.WriteFile(w.live.plan+".next", []byte(h), 0o644); err != nil {
		t.Fatal(err)
	}
	w.file("a", "22", longAgo)
	w.live.builds = 0
	w.build()
}

// TestPlanBehind has builds in between that nobody planned an upload for.
func TestPlanBehind(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.file("a", "1", longAgo)
	name := filepath.Join(t.TempDir(), "plan")
	planned := func(o *Options) { o.Plan = name }
	w.build(planned)
	w.file("a", "22", longAgo)
	w.build()
	w.file("a", "333", longAgo)
	if r := w.build(planned); len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "is replaced") {
		t.Errorf("warnings are %q", r.Warnings)
	}
	w.build(func(o *Options) { o.Plan = name + "2" })
	if r, err := plan.Open(name + "2"); err != nil || !r.Header.IsEmpty() || *r.Header.From != r.Header.To {
		t.Errorf("without changes, the plan is %+v, %v", r, err)
	}
}

// TestPlanOfOther has the plan of another publication in the way.
func TestPlanOfOther(t *testing.T) {
	t.Parallel()
	a, b := newWorld(t, t.TempDir()), newWorld(t, t.TempDir())
	b.options.Identity.BaseURL = "https://other.example/"
	a.file("a", "1", longAgo)
	b.file("a", "1", longAgo)
	name := filepath.Join(t.TempDir(), "plan")
	a.build(func(o *Options) { o.Plan = name })
	before := tree(t, filepath.Dir(name))
	var refusal *policy.Refusal
	if _, err := b.run(func(o *Options) { o.Plan = name }); !errors.As(err, &refusal) {
		t.Errorf("the error is %v, no refusal", err)
	}
	if diff := cmp.Diff(before, tree(t, filepath.Dir(name))); diff != "" {
		t.Errorf("the plan has changed:\n%s", diff)
	}
	if left := tree(t, b.out); len(left) > 0 {
		t.Errorf("it was published all the same: %v", left)
	}
}

// TestPlanKeepsFilesOfSite has files that are resources no more, and are still there.
func TestPlanKeepsFilesOfSite(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	name := filepath.Join(t.TempDir(), "plan")
	w.file("a", "1", longAgo)
	w.file("b", "1", longAgo)
	w.file("c", "1", longAgo)
	w.build()
	w.remove("c")
	w.options.Rules.Exclude = mustGlobs(t, "b")
	w.build(func(o *Options) { o.Plan = name })
	r, err := plan.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var deleted []string
	for f, err := range r.Files() {
		if err != nil {
			t.Fatal(err)
		}
		if f.Phase == plan.Delete {
			deleted = append(deleted, f.Path)
		}
	}
	if diff := cmp.Diff([]string{"c"}, deleted); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
}

// TestPlanThatIsTakenAway has something else move the next plan, behind the commit.
func TestPlanThatIsTakenAway(t *testing.T) {
	t.Parallel()
	l, err := layout.New(layout.Identity{BaseURL: "https://example.org/"})
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := stage.NewPlan(filepath.Join(t.TempDir(), "plan"), l, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var failed *policy.PlanError
	if err := (&committing{plan: p}).putPlan(); !errors.As(err, &failed) || !strings.Contains(err.Error(), "the publication is complete") {
		t.Errorf("the error is %v", err)
	}
}

// TestPlanNotInPlace publishes, and cannot put the plan in place. The report says what was
// published all the same.
func TestPlanNotInPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.options.Hub = testHub
	w.file("a", "one", longAgo)
	w.build()
	w.file("a", "three", longAgo)
	name, calls, now := filepath.Join(filepath.Dir(w.out), "site.plan"), 0, w.now
	r, err := w.run(func(o *Options) {
		o.Plan = name
		o.Now = func() time.Time { // once more when the survey is over
			if calls++; calls == 2 {
				if err := os.MkdirAll(filepath.Join(name, "in the way"), 0o755); err != nil {
					t.Error(err)
				}
			}
			return now
		}
	})
	if _, ok := errors.AsType[*policy.PlanError](err); !ok {
		t.Fatalf("got %v", err)
	}
	if len(r.Notifications) != 1 || r.WrittenBytes == 0 {
		t.Errorf("the report says %+v", r)
	}
}
