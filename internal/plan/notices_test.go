package plan

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wellspring-sync/wellspring/internal/notify"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// makePlan makes a plan from one state to the next. It deletes what begins with a minus.
func makePlan(t *testing.T, name string, from *State, to State, files []string, notices ...notify.Notification) {
	t.Helper()
	w, _, err := Create(name, site, from)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, f := range files {
		file := put(Pages, f)
		if path, deletes := strings.CutPrefix(f, "-"); deletes {
			file = gone(path)
		}
		if err := w.Add(file); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range notices {
		w.Notify(n)
	}
	if err := w.Prepare(Header{Record: "publication.json", To: to}); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
}

func readNotices(t *testing.T, name string) ([]notify.Notification, *Reader) {
	t.Helper()
	r, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	for _, err := range r.Files() {
		if err != nil {
			t.Fatal(err)
		}
	}
	return r.Notifications(), r
}

func notice(topic string, changes ...notify.Change) notify.Notification {
	return notify.Notification{Channel: notify.Channel{Hub: "https://hub.example/?a&b", Topic: site + topic, CapabilityList: site + "c"}, Until: time.Unix(1e9, 0).UTC(), Changes: changes}
}

func change(name string, c resourcesync.Capability, how resourcesync.ChangeType) notify.Change {
	return notify.Change{URI: site + name, Capability: c, Change: how, DateTime: time.Unix(1e9, 0).UTC()}
}

// TestNotices has notifications of builds that were not uploaded, or not told, come
// together in one plan.
func TestNotices(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "plan")
	a, b, c := state("a"), state("b"), state("c")
	listNew := change("list", resourcesync.ResourceList, resourcesync.Created)
	list := change("list", resourcesync.ResourceList, resourcesync.Updated)
	changes := change("changes", resourcesync.ChangeList, resourcesync.Updated)
	dump := change("dump", resourcesync.ResourceDump, resourcesync.Created)
	makePlan(t, name, nil, a, []string{"list", "dump"},
		notice("told", list), notice("both", listNew, dump), notice("only", changes), notice("ended", list))
	if err := AddMark(name, Mark{Notified: site + "told"}); err != nil {
		t.Fatal(err)
	}
	got, r := readNotices(t, name)
	if len(got) != 4 || !r.IsNotified(site+"told") || r.IsNotified(site+"both") {
		t.Fatalf("%+v", got)
	}

	makePlan(t, name, &a, b, []string{"list", "-dump", "-ended"}, notice("both", list, changes), notice("told", changes))
	got, r = readNotices(t, name)
	want := []notify.Notification{notice("both", listNew, changes), notice("told", changes), notice("only", changes)}
	if diff := cmp.Diff(want, got); diff != "" || r.IsNotified(site+"told") {
		t.Errorf("merged (-want +got):\n%s", diff)
	}

	end := change("c", resourcesync.CapabilityList, resourcesync.Deleted)
	makePlan(t, name, &b, c, []string{"-both"}, notice("both", end))
	got, _ = readNotices(t, name)
	want = []notify.Notification{notice("both", end), notice("told", changes), notice("only", changes)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("with the end of a set (-want +got):\n%s", diff)
	}

	if err := os.Remove(name); err != nil { // it was carried out
		t.Fatal(err)
	}
	makePlan(t, name, &c, a, []string{"list"}, notice("only", list))
	if got, _ = readNotices(t, name); len(got) != 1 {
		t.Errorf("a plan that was carried out is still told: %+v", got)
	}
	var b2 strings.Builder
	again, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if err := WriteJSON(&b2, again); err != nil || !strings.Contains(b2.String(), `"notifications":[{"hub":`) {
		t.Errorf("%v\n%s", err, b2.String())
	}
}

// TestOddNotices have lines that no build writes.
func TestOddNotices(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "plan")
	makePlan(t, name, nil, state("a"), nil)
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{`{"notify": 1}`, `{"notify": {"hubs": "x"}}`, `{"notify": {"changes": [{"datetime": "soon"}]}}`} {
		if err := os.WriteFile(name, append(b, line+"\n"...), 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		var failed error
		for _, err := range r.Files() {
			failed = err
		}
		r.Close()
		if failed == nil {
			t.Errorf("%s was read", line)
		}
	}
}
