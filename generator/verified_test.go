package generator

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/wellspring-sync/wellspring/verify"
)

// verified audits a publication with all that it has for people.
func verified(t tester, dir string, depth verify.Depth) {
	t.Helper()
	audited(t, dir, depth)
	checkForPeople(t, dir)
}

// audited audits a publication, which must be clean: the auditor shares no code
// with what wrote it, but for the document model.
func audited(t tester, dir string, depth verify.Depth) {
	t.Helper()
	o := verify.Options{Depth: depth, Now: testStart.AddDate(2000, 0, 0)}
	// The source of a test lies beside what it publishes.
	if source := filepath.Join(filepath.Dir(dir), "source"); isDir(source) {
		o.Resources = []verify.Mapping{{Prefix: "https://example.org/", Dir: source}}
	}
	r, err := verify.Check(context.Background(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range r.Findings {
		if f.Rule.Severity > verify.Note {
			fmt.Fprintf(&b, "%s %s:%d:%d: %s: %s\n", f.Rule.Severity, f.File, f.Line, f.Column, f.Rule.Name, f.Message)
		}
	}
	if b.Len() > 0 {
		t.Fatalf("the audit finds\n%s", b.String())
	}
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}
