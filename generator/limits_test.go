package generator

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

// TestLimitsOfTheStandard crosses the limits with as many files as that takes.
func TestLimitsOfTheStandard(t *testing.T) {
	if os.Getenv("WELLSPRING_LONG") == "" {
		t.Skip("takes many files; WELLSPRING_LONG=1 runs it")
	}
	t.Parallel()
	w := newWorld(t, t.TempDir())
	fill := func(from, to int) {
		for i := from; i < to; i++ {
			dir := filepath.Join(w.source, fmt.Sprintf("d%03d", i/1000))
			if i%1000 == 0 {
				if err := os.MkdirAll(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			name := filepath.Join(dir, fmt.Sprintf("f%06d", i))
			if err := os.WriteFile(name, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(name, longAgo, longAgo); err != nil {
				t.Fatal(err)
			}
		}
	}
	fill(0, resourcesync.MaxEntries)
	w.build()
	if p := read(t, w.out); p.indexed || len(p.parts[0]) != resourcesync.MaxEntries {
		t.Fatalf("50,000 resources fit into one list: indexed %v", p.indexed)
	}
	fill(resourcesync.MaxEntries, resourcesync.MaxEntries+1)
	w.build()
	if p := read(t, w.out); !p.indexed || len(p.resources) != resourcesync.MaxEntries+1 {
		t.Fatalf("50,001 resources need an Index: indexed %v, %d resources", p.indexed, len(p.resources))
	}

	// 50,001 events do not fit beside the one that is there, nor into one list.
	fill(resourcesync.MaxEntries+1, 2*resourcesync.MaxEntries+2)
	report := w.build()
	p := read(t, w.out)
	var sizes []int
	for _, list := range p.changes {
		sizes = append(sizes, len(list))
	}
	if fmt.Sprint(sizes) != "[1 50000 1]" || report.Created != resourcesync.MaxEntries+1 {
		t.Errorf("Change Lists of %v events", sizes)
	}
	if n := len(p.resources); n != 2*resourcesync.MaxEntries+2 {
		t.Errorf("%d resources", n)
	}
	if again := w.build(); again.Wrote || again.Read != 0 {
		t.Errorf("a second build: %+v", again)
	}
}
