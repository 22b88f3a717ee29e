package layout_test

import (
	"fmt"
	"log"

	"github.com/wellspring-sync/wellspring/layout"
)

func ExampleNew() {
	l, err := layout.New(layout.Identity{BaseURL: "https://example.com/data", Folder: "resourcesync", Form: layout.CleanURIs})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(l.URI("guide/index.html"))
	fmt.Println(l.URI("guide/first steps.html"))
	for _, ref := range []layout.Ref{l.SourceDescription(), l.ResourceList()} {
		fmt.Println(ref.Path, ref.URI)
	}
	// Output:
	// https://example.com/data/guide/
	// https://example.com/data/guide/first%20steps
	// .well-known/resourcesync https://example.com/data/.well-known/resourcesync
	// resourcesync/resourcelist.xml https://example.com/data/resourcesync/resourcelist.xml
}

// A list is cut behind certain resources, so that it is cut alike with one resource less.
func ExampleCutter() {
	cuts := func(without int) (ends []string) {
		c := layout.Cutter{MaxEntries: 50_000, MaxBytes: 50 << 20, Bits: 3}
		for i := range 30 {
			if i == without {
				continue
			}
			uri := fmt.Sprintf("https://example.com/%02d", i)
			if c.Before(100) {
				ends = append(ends, "before "+uri[20:])
			}
			if _, cut := c.After(layout.PointOf(uri)); cut {
				ends = append(ends, uri[20:])
			}
		}
		return ends
	}
	fmt.Println(cuts(-1))
	fmt.Println(cuts(2))
	// Output:
	// [06 15 19]
	// [06 15 19]
}
