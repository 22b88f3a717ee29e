package generator_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/wellspring-sync/wellspring/generator"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/layout"
)

// A directory is published, and published again after a file has changed.
func Example() {
	site, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(site)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	o := generator.Options{
		Source: site, Identity: layout.Identity{BaseURL: "https://example.org/"},
		Now: func() time.Time { return now }, FixedClock: true,
	}
	for _, text := range []string{"one", "two!"} {
		if err := os.WriteFile(filepath.Join(site, "page.html"), []byte(text), 0o644); err != nil {
			fmt.Println(err)
			return
		}
		report, err := generator.Run(context.Background(), o)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(report.At.Format(time.RFC3339), report.Created, "created", report.Updated, "updated")
		now = now.Add(time.Hour)
	}
	// Output:
	// 2026-01-02T03:04:05Z 1 created 0 updated
	// 2026-01-02T04:04:05Z 0 created 1 updated
}

// A dry run names the documents that a run would write.
func ExampleRun_dryRun() {
	site, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(site)
	if err := os.WriteFile(filepath.Join(site, "page.html"), []byte("one"), 0o644); err != nil {
		fmt.Println(err)
		return
	}
	report, err := generator.Run(context.Background(), generator.Options{
		Source: site, Identity: layout.Identity{BaseURL: "https://example.org/"}, DryRun: true,
		Page: policy.Page{None: true},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, path := range report.Heads {
		fmt.Println(path)
	}
	// Output:
	// resourcesync/style.css
	// resourcesync/changelist.xml
	// resourcesync/resourcelist.xml
	// resourcesync/capabilitylist.xml
	// .well-known/resourcesync
	// resourcesync/publication.json
}
