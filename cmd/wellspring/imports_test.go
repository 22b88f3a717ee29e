package main

import (
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/wellspring-sync/wellspring/"

// allowed says which packages of ours each package may import: those to the
// right of it in the picture of ARCHITECTURE.md.
var allowed = map[string][]string{
	"cmd/wellspring":             {"generator", "generator/policy", "hashing", "internal/httpclient", "internal/links", "internal/notify", "internal/plan", "internal/prepare", "internal/publish", "internal/remote", "internal/serve", "internal/settings", "internal/snapshot", "internal/watch", "layout", "resourcesync", "scanner", "templates", "verify"},
	"generator":                  {"generator/internal/edition", "generator/internal/front", "generator/internal/last", "generator/internal/linking", "generator/internal/stage", "generator/internal/survey", "generator/policy", "hashing", "internal/notify", "internal/plan", "internal/publish", "internal/snapshot", "layout", "resourcesync", "scanner", "zipdump"},
	"generator/internal/edition": {"generator/internal/last", "generator/internal/stage", "generator/internal/survey", "generator/policy", "internal/snapshot", "layout", "resourcesync", "zipdump"},
	"generator/internal/front":   {"generator/internal/edition", "generator/internal/last", "generator/internal/linking", "generator/internal/stage", "generator/policy", "internal/notify", "internal/publish", "internal/snapshot", "layout", "resourcesync", "templates"},
	"generator/internal/last":    {"generator/policy", "internal/httpclient", "internal/notify", "internal/publish", "internal/remote", "internal/snapshot", "internal/timemap", "layout", "resourcesync", "scanner", "templates", "zipdump"},
	"generator/internal/linking": {"generator/internal/last", "generator/internal/stage", "generator/internal/survey", "generator/policy", "internal/httpclient", "internal/links", "internal/patch", "internal/snapshot", "internal/timemap", "layout", "resourcesync", "zipdump"},
	"generator/internal/stage":   {"hashing", "internal/notify", "internal/plan", "internal/publish", "internal/snapshot", "layout", "resourcesync", "zipdump"},
	"generator/internal/survey":  {"generator/internal/last", "generator/internal/stage", "generator/policy", "hashing", "internal/gitlog", "internal/links", "internal/snapshot", "layout", "resourcesync", "scanner", "zipdump"},
	"generator/policy":           {"hashing", "layout", "resourcesync", "scanner", "templates"},
	"hashing":                    {"resourcesync"},
	"internal/gitlog":            {},
	"internal/httpclient":        {},
	"internal/links":             {"generator/policy", "internal/httpclient", "internal/remote", "resourcesync"},
	"internal/notify":            {"internal/httpclient", "resourcesync"},
	"internal/patch":             {},
	"internal/plan":              {"internal/notify"},
	"internal/prepare":           {"layout", "scanner", "templates"},
	"internal/publish":           {},
	"internal/remote":            {"internal/httpclient", "layout"},
	"internal/serve":             {},
	"internal/settings":          {},
	"internal/snapshot":          {"layout", "resourcesync"},
	"internal/testhub":           {},
	"internal/timemap":           {},
	"internal/tools/sbom":        {},
	"internal/watch":             {},
	"layout":                     {},
	"resourcesync":               {},
	"scanner":                    {},
	"templates":                  {},
	"verify":                     {"internal/httpclient", "resourcesync"},
	"zipdump":                    {},
}

// shared says which packages may import a module that more than one of them needs: they
// use different packages of it.
var shared = map[string][]string{
	"github.com/klauspost/compress": {"internal/patch", "zipdump"},
	"golang.org/x/net":              {"internal/prepare", "verify"},
}

// TestImportsPointOneWay keeps packages apart, and each third-party module in
// one of them.
func TestImportsPointOneWay(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	importer := map[string]string{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		name := strings.TrimPrefix(fields[0], module)
		ours, known := allowed[name]
		if !known {
			t.Errorf("package %s is not in the list of this test", name)
		}
		for _, dependency := range fields[1:] {
			if own, ok := strings.CutPrefix(dependency, module); ok {
				if !slices.Contains(ours, own) {
					t.Errorf("%s imports %s", name, own)
				}
				continue
			}
			if host, _, _ := strings.Cut(dependency, "/"); !strings.Contains(host, ".") {
				continue // the standard library
			}
			if name == "resourcesync" {
				t.Errorf("%s imports %s, which is not in the standard library", name, dependency)
			}
			m := moduleOf(dependency)
			if slices.Contains(shared[m], name) {
				continue
			}
			if other := importer[m]; shared[m] != nil || other != "" && other != name && m != "golang.org/x/sys" {
				t.Errorf("%s is imported by %s and by %s", m, other, name)
			}
			importer[m] = name
		}
	}
}

// moduleOf cuts an import path down to its module, roughly.
func moduleOf(dependency string) string {
	parts := strings.Split(dependency, "/")
	return path.Join(parts[:min(3, len(parts))]...)
}
