package scanner_test

import (
	"context"
	"fmt"
	"log"
	"testing/fstest"

	"github.com/wellspring-sync/wellspring/scanner"
)

// Files come in the order of their URIs, which is not that of directories: a hyphen is
// less than a slash.
func ExampleScan() {
	tree := scanner.FSTree(fstest.MapFS{
		"a/b.txt":        {Data: []byte("one")},
		"a-b.txt":        {Data: []byte("three")},
		"index.html":     {Data: []byte("<p>")},
		"draft/new.html": {},
		".git/config":    {},
	})
	draft, err := scanner.NewGlob("draft/")
	if err != nil {
		log.Fatal(err)
	}
	leftOut := map[string]scanner.Reason{}
	options := scanner.Options{
		Prefix:  "https://example.com/",
		Rules:   scanner.Rules{Exclude: []scanner.Glob{draft}},
		LeftOut: func(path string, why scanner.Reason) { leftOut[path] = why },
	}
	for file, err := range scanner.Scan(context.Background(), tree, options) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(file.URI, file.Size)
	}
	fmt.Println(leftOut)
	// Output:
	// https://example.com/a-b.txt 5
	// https://example.com/a/b.txt 3
	// https://example.com/index.html 3
	// map[.git:version control draft:excluded]
}

func ExampleGlob() {
	for _, pattern := range []string{"*.tmp", "/data/**/*.csv", "build/"} {
		g, err := scanner.NewGlob(pattern)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(pattern, g.Matches("data/2024/may.csv"), g.Matches("docs/build/x.tmp"))
	}
	// Output:
	// *.tmp false true
	// /data/**/*.csv true false
	// build/ false true
}
