package verify_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing/fstest"

	"github.com/wellspring-sync/wellspring/verify"
)

const source = `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
  <rs:md capability="description"/>
  <url>
    <loc>https://example.com/capabilitylist.xml</loc>
    <rs:md capability="capabilitylist"/>
  </url>
</urlset>`

const capabilities = `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
  <rs:ln rel="up" href="https://example.com/.well-known/resourcesync"/>
  <rs:md capability="capabilitylist"/>
  <url>
    <loc>https://example.com/resourcelist.xml</loc>
    <rs:md capability="resourcelist"/>
  </url>
</urlset>`

// The Resource List that the Capability List names was forgotten.
func ExampleCheck() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, fstest.MapFS{
		".well-known/resourcesync": {Data: []byte(source)},
		"capabilitylist.xml":       {Data: []byte(capabilities)},
	}); err != nil {
		log.Fatal(err)
	}
	report, err := verify.Check(context.Background(), dir, verify.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range report.Findings {
		if f.Rule.Severity == verify.Error {
			fmt.Printf("%s:%d: %s\n", filepath.ToSlash(f.File), f.Line, f.Rule.Name)
		}
	}
	fmt.Printf("%d error, %d notes\n", report.Errors, report.Notes)
	// Output:
	// capabilitylist.xml:6: document-missing
	// 1 error, 3 notes
}

func ExampleFindRule() {
	rule := verify.FindRule("hash-form")
	fmt.Println(rule.Severity, rule.Section)
	fmt.Println(rule.Title)
	// Output:
	// error Z39.99-2017 §7
	// hashes are lists of algorithm, colon and hexadecimal digest
}
