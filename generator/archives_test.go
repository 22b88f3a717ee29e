package generator

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wellspring-sync/wellspring/generator/policy"
)

func newArchived(t *testing.T) *world {
	t.Helper()
	w := newDumps(t)
	on := true
	w.options.Archive = &on
	w.options.ArchiveKeep = policy.ArchiveKeep{Daily: -1, Weekly: -1, Monthly: -1, Yearly: -1}
	return w
}

// Each superseded snapshot is archived, with its packages.
func TestArchives(t *testing.T) {
	t.Parallel()
	for name, lim := range map[string]policy.Limits{"plain": {}, "Index": smallLists} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newArchived(t)
			w.options.limits = lim
			w.options.Rotate = policy.Rotation{Period: "run"}
			w.options.KeepChanges = policy.KeepFor(0)
			w.options.Grace = -1
			w.build()
			states := []publication{readAll(t, w.out)}
			for i := range 6 {
				w.now = w.now.Add(oneDay)
				w.file("new", strings.Repeat("x", i), longAgo)
				w.build()
				states = append(states, readAll(t, w.out))
			}
			last := states[len(states)-1]
			if len(last.archived) != 6 || len(last.changes) != 6 {
				t.Fatalf("%d snapshots are archived, %d lists", len(last.archived), len(last.changes))
			}
			for i, p := range last.archived {
				if diff := cmp.Diff(states[i].resources, p.resources); diff != "" {
					t.Errorf("snapshot %d (-live +archived):\n%s", i, diff)
				}
				if diff := cmp.Diff(states[i].dumps.content, p.dumps.content); diff != "" {
					t.Errorf("packages of snapshot %d (-live +archived):\n%s", i, diff)
				}
				got := replay(t, p.resources, last, p.at)
				if diff := cmp.Diff(last.resources, got); diff != "" {
					t.Errorf("replaying from snapshot %d:\n%s", i, diff)
				}
			}
			// One change costs a few documents, and what did not change is shared.
			parts, _ := filepath.Glob(filepath.Join(w.out, "resourcesync", "resourcelist", "*.xml"))
			if whole := len(last.archived) * len(last.archived[0].parts); name == "Index" && len(parts) > 6+whole/2 {
				t.Errorf("%d documents for %d parts of snapshots", len(parts), whole)
			}
		})
	}
}
