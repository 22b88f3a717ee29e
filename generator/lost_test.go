package generator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wellspring-sync/wellspring/generator/policy"
)

// TestPruneWithLostPackages needs no packages, as prune makes none.
func TestPruneWithLostPackages(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"changedump", "resourcedump"} {
		w := newDumps(t)
		w.build()
		w.file("d1/file-031.txt", "changed", longAgo)
		w.build()
		for _, name := range w.packages(folder) {
			os.Remove(name)
		}
		o := w.options
		o.Now = func() time.Time { return w.now.Add(3 * oneDay) }
		p, err := Prune(t.Context(), o)
		if err != nil || len(p.Warnings) > 0 || p.Swept == 0 {
			t.Errorf("without the packages of the %s: %+v, %v", folder, p, err)
		}
	}
}

// TestSurveyThatBeginsAnew keeps nothing of the one before, which a package cut short that
// turned out to be damaged.
func TestSurveyThatBeginsAnew(t *testing.T) {
	t.Parallel()
	staged := map[bool]int{}
	for _, damaged := range []bool{false, true} {
		w := newDumps(t)
		w.build()
		for _, name := range w.packages("resourcedump") {
			if damaged {
				flip(t, name)
			}
		}
		w.file("a-new", "new", longAgo)
		w.file("d1/file-031.txt", "changed", longAgo)
		now := w.now
		r := w.build(func(o *Options) {
			o.Now = func() time.Time {
				names, _ := filepath.Glob(filepath.Join(w.out, ".wellspring", "*", "*"))
				staged[damaged] = len(names)
				return now
			}
		})
		if warned := len(r.Warnings) > 0; warned != damaged {
			t.Errorf("damaged: %v, warnings: %q", damaged, r.Warnings)
		}
	}
	if staged[true] != staged[false] {
		t.Errorf("%d files were staged, %d without a damaged package", staged[true], staged[false])
	}
}

// flip damages a file.
func flip(t *testing.T, name string) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[40] ^= 1
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestNothingStaysOpen has runs that end early, in the survey or after it. They leave no
// file open.
func TestNothingStaysOpen(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("what is open cannot be seen here")
	}
	w := newDumps(t)
	w.options.Versions, w.options.Patches = &policy.Versions{}, &policy.Patches{}
	w.build()
	for i := range 9 {
		w.file(fmt.Sprintf("d1/file-03%d.txt", i), strings.Repeat("changed", i), longAgo)
	}
	w.remove("d1/file-001.txt")
	for _, isCancelled := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		o := w.options
		o.Now, o.FixedClock = func() time.Time { return w.now }, true
		o.MaxDelete = &policy.Limit{}
		o.OnChange = func(c policy.Change) {
			if isCancelled && strings.HasSuffix(c.Path, "8.txt") {
				cancel()
			}
		}
		_, err := Run(ctx, o)
		cancel()
		if errors.Is(err, context.Canceled) != isCancelled || err == nil {
			t.Errorf("got %v", err)
		}
		if open := openBelow(t, filepath.Dir(w.out)); len(open) > 0 {
			t.Errorf("after %v, these are open: %q", err, open)
		}
	}
}

// openBelow returns the files below a directory that this process has open.
func openBelow(t *testing.T, dir string) []string {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	var open []string
	for _, l := range links {
		if name, err := os.Readlink(l); err == nil && strings.HasPrefix(name, dir+"/") {
			open = append(open, name)
		}
	}
	slices.Sort(open)
	return open
}
