package generator

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/plan"
)

// TestOrder compares the order in which files are put into place, and that in which they
// are to be uploaded, with what it was. Nobody who reads a publication at any moment may
// be led to a file that is not there.
func TestOrder(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		given func(w *world)
		steps []orderStep
	}{
		{"lists", func(*world) {}, []orderStep{
			{"first", nothing}, {"edit", edit}, {"nothing", nothing}, {"archives", withArchives}, {"no page", withoutPage},
		}},
		{"everything", all(withDumps, withArchives, withHub, withVersions, withRotation), []orderStep{
			{"first", nothing}, {"edit", all(edit, editTable(1))}, {"edit again", all(edit, editTable(2))}, {"edit once more", all(edit, editTable(3))},
			{"lists are kept no longer", all(keepingNothing, withoutRotation, edit)},
			{"without all that", all(withoutArchives, withoutVersions, edit, func(w *world) { w.options.Dumps, w.options.Hub = policy.Dumps{}, "" })},
		}},
		{"parts", all(withDumps, withSmallLists), []orderStep{
			{"first", nothing}, {"edit", edit}, {"many edits", func(w *world) { w.edits(20) }},
		}},
		{"sets", all(goldenSets, func(w *world) { w.file("a.html", "<!DOCTYPE html>", longAgo) }), []orderStep{
			{"first", nothing}, {"edit", edit},
			{"one goes and one comes", func(w *world) { w.options.Sets = append(w.options.Sets[:2:2], policy.Set{Name: "new"}) }},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, t.TempDir())
			w.files(12)
			tt.given(w)
			var got strings.Builder
			for _, step := range tt.steps {
				step.do(w)
				fmt.Fprintf(&got, "# %s\n%s", step.name, w.order())
			}
			compareText(t, filepath.Join("testdata", "order", tt.name+".txt"), digestInName.ReplaceAllString(got.String(), "$1~"))
		})
	}
}

// digestInName is not what the order is about.
var digestInName = regexp.MustCompile(`([/-])(?:[0-9a-f]{32}|[0-9a-f]{16}|[0-9a-f]{8})\b`)

// orderStep is what happens before a build.
type orderStep struct {
	name string
	do   func(w *world)
}

func nothing(*world) {}

// order builds, and says in which order.
func (w *world) order() string {
	w.t.Helper()
	var b strings.Builder
	before, at := tree(w.t, w.out), filepath.Join(filepath.Dir(w.out), "site.plan")
	log := &putLog{}
	r := w.build(func(o *Options) { o.Log, o.Plan = slog.New(log), at })
	for _, name := range log.paths {
		fmt.Fprintf(&b, "put %s\n", name)
	}
	after := tree(w.t, w.out)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, stays := after[name]; !stays {
			fmt.Fprintf(&b, "remove %s\n", name)
		}
	}
	if !r.Wrote {
		return b.String()
	}
	p, err := plan.Open(at)
	if err != nil {
		w.t.Fatal(err)
	}
	defer p.Close()
	for f, err := range p.Files() {
		if err != nil {
			w.t.Fatal(err)
		}
		fmt.Fprintf(&b, "upload %s %s\n", f.Phase, f.Path)
	}
	if err := os.Remove(at); err != nil { // so that the next one begins here
		w.t.Fatal(err)
	}
	return b.String()
}

// putLog notes which files a commit puts into place.
type putLog struct{ paths []string }

func (l *putLog) Enabled(context.Context, slog.Level) bool { return true }
func (l *putLog) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *putLog) WithGroup(string) slog.Handler            { return l }

func (l *putLog) Handle(_ context.Context, r slog.Record) error {
	if r.Message != "put in place" {
		return nil
	}
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "path" {
			l.paths = append(l.paths, a.Value.String())
		}
		return true
	})
	return nil
}

// compareText compares a text with a golden one.
func compareText(t *testing.T, golden, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", golden, diff)
	}
}
