package generator

import (
	"os"
	"testing"
	"time"
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
