package generator

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/layout"
)

// BenchmarkSets publishes 100,000 resources as one set and as three, which all have
// all of them, without packages: for the first time, and again without a change.
func BenchmarkSets(b *testing.B) {
	for _, n := range []int{1, 3} {
		for _, again := range []bool{false, true} {
			b.Run(fmt.Sprintf("sets=%d/again=%t", n, again), func(b *testing.B) {
				now := testStart
				o := Options{
					Source: "archive", Out: b.TempDir(), synthetic: &archive{folders: 100, every: 1}, Release: "wellspring test",
					Identity: layout.Identity{BaseURL: "https://archive.example/"},
					Now:      func() time.Time { return now }, FixedClock: true,
				}
				for i := range n {
					o.Sets = append(o.Sets, policy.Set{Name: fmt.Sprint(i)})
				}
				if again {
					if _, err := Run(context.Background(), o); err != nil {
						b.Fatal(err)
					}
				}
				for b.Loop() {
					if !again {
						o.Out = b.TempDir()
					}
					now = now.Add(time.Hour)
					if _, err := Run(context.Background(), o); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
