package generator

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/layout"
)

// BenchmarkYears builds a source of 100,000 resources each day for two years,
// with 2,000 changes a day that lie together, archives and dumps. Run it with
// -benchtime 1x; it tells, for each hundred days, what a build takes and how large
// the publication is.
func BenchmarkYears(b *testing.B) {
	for _, bb := range []struct {
		name  string
		dumps policy.Dumps
	}{{"lists", policy.Dumps{}}, {"lists-and-dumps", policy.Dumps{Resource: true, Change: true}}} {
		b.Run(bb.name, func(b *testing.B) {
			for b.Loop() {
				years(b, bb.dumps)
			}
		})
	}
}

func years(b *testing.B, dumps policy.Dumps) {
	tree := &archive{folders: 100, every: 1, versions: make([]int, 100)}
	now, on := testStart, true
	o := Options{
		Source: "archive", Out: b.TempDir(), synthetic: tree, Release: "wellspring test",
		Identity: layout.Identity{BaseURL: "https://archive.example/"},
		Now:      func() time.Time { return now }, FixedClock: true,
		Archive: &on, Rotate: policy.Rotation{Period: "daily"}, Dumps: dumps, PackageSize: 1 << 20, Compression: 6,
	}
	var took time.Duration
	for day := range 731 {
		tree.versions[2*day%100]++
		tree.versions[(2*day+1)%100]++
		resetPeak()
		report, err := Run(context.Background(), o)
		if err != nil {
			b.Fatal(err)
		}
		if took += report.Took; day%100 == 30 || day == 730 {
			files, bytes := sizeOf(b, o.Out)
			b.Logf("day %3d: %4.0f ms, %.0f MB resident, %.1f MB written; %d files, %.0f MB in all",
				day, report.Took.Seconds()*1000, peakMB(), float64(report.WrittenBytes)/1e6, files, float64(bytes)/1e6)
		}
		now = now.Add(oneDay)
	}
	b.ReportMetric(took.Seconds()/731*1000, "ms/day")
}

func sizeOf(b *testing.B, dir string) (files int, bytes int64) {
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			files++
			bytes += info.Size()
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		b.Fatal(err)
	}
	return files, bytes
}
