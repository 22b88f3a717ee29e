package generator

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/hashing"
	"github.com/wellspring-sync/wellspring/scanner"
)

// TestOptionsAreShared has two histories at the same time with one value, all of whose
// pointers and slices they share, and compares it with what it was.
func TestOptionsAreShared(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.files(12)
	w.options.Dumps, w.options.Archive = policy.Dumps{Resource: true, Change: true}, new(bool)
	w.options.MaxDelete = &policy.Limit{Count: 10}
	w.options.Hash = append(make(hashing.Set, 0, 4), hashing.MD5, hashing.SHA256)
	w.options.Rules = scanner.Rules{Include: mustGlobs(t, "e/", "*.csv"), Exclude: mustGlobs(t, "*.no")}
	w.options.Links = someLinks(t)
	w.options.Resources = append(make(policy.ResourceRules, 0, 4), policy.ResourceRule{Name: "used", Match: mustGlobs(t, "*.csv"), ChangeFreq: "daily"},
		policy.ResourceRule{Name: "unused", Match: mustGlobs(t, "*.no"), Encoding: "gzip"})
	w.options.Versions = &policy.Versions{Match: mustGlobs(t, "*.csv"), Keep: &policy.ArchiveKeep{Daily: 1}, TimeGate: "https://example.org/gate/{path}"}
	w.options.Patches = &policy.Patches{Match: mustGlobs(t, "*.csv")}
	w.options.Sets = append(make([]policy.Set, 0, 4),
		policy.Set{Name: "all", Dumps: policy.Dumps{Resource: true, Change: true}, Archive: w.options.Archive},
		policy.Set{Name: "some", Resources: policy.Selection{Include: mustGlobs(t, "e/"), Types: []string{"text/*"}}},
		policy.Set{Name: "listed", Resources: policy.Selection{Paths: somePaths(t, "e/01", "e/none")}},
	)
	before := outlineOfValue(w.options)
	run := func(worlds []*world, what func(w *world)) {
		var wg sync.WaitGroup
		for _, w := range worlds {
			wg.Go(func() { what(w) })
		}
		wg.Wait()
	}
	var worlds []*world
	for i := range 2 {
		other := *w
		other.out = filepath.Join(filepath.Dir(w.out), fmt.Sprint("out", i))
		other.options.Out, other.options.Cache = other.out, other.cache+fmt.Sprint(i)
		worlds = append(worlds, &other)
	}
	build := func(w *world) {
		for _, dry := range []bool{true, false} {
			if _, err := w.run(func(o *Options) { o.DryRun = dry }); err != nil {
				t.Error(err)
			}
		}
	}
	run(worlds, build)
	editTable(1)(w)
	run(worlds, build)
	if diff := cmp.Diff(tree(t, worlds[0].out), tree(t, worlds[1].out)); diff != "" {
		t.Errorf("with the same options:\n%s", diff)
	}
	if diff := cmp.Diff(before, outlineOfValue(w.options)); diff != "" {
		t.Errorf("the options changed (-before +after):\n%s", diff)
	}
}

func someLinks(t tester) []policy.LinkRule {
	t.Helper()
	return []policy.LinkRule{
		{Name: "to a URI", Match: []string{"e/*"}, Rel: "related", Href: "https://example.org/about/{1}"},
		{Name: "to a file", Match: []string{"e/*"}, Rel: "up", File: "table.csv"},
		{Name: "to nothing", Match: []string{"e/*"}, Rel: "alternate", File: "none"},
		{Name: "from nothing", Match: []string{"none"}, Rel: "related", Href: "https://example.org/"},
	}
}

// somePaths are the paths that a file lists.
func somePaths(t *testing.T, paths ...string) *policy.Paths {
	t.Helper()
	name := filepath.Join(t.TempDir(), "paths.txt")
	if err := os.WriteFile(name, []byte(strings.Join(paths, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := policy.ReadPaths(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestRulesThatMatchNothing has two runs with one value, as when a directory is watched.
// Both tell of a rule that matches nothing, also if it matched something before.
func TestRulesThatMatchNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, want string
		add        func(t *testing.T, o *Options)
	}{
		{"links", "x: the rule gives no link", func(t *testing.T, o *Options) {
			o.Links = []policy.LinkRule{{Name: "x", Match: []string{"gone.txt"}, Rel: "related", Href: "https://example.org/"}}
		}},
		{"links to a file", "x: the rule gives no link", func(t *testing.T, o *Options) {
			o.Links = []policy.LinkRule{{Name: "x", Match: []string{"stays"}, Rel: "related", File: "gone.txt"}}
		}},
		{"versions", "versions: no file matches", func(t *testing.T, o *Options) { o.Versions = &policy.Versions{Match: mustGlobs(t, "*.txt")} }},
		{"patches", "patches: no file matches", func(t *testing.T, o *Options) { o.Patches = &policy.Patches{Match: mustGlobs(t, "*.txt")} }},
		{"resources", "x: no file matches the rule", func(t *testing.T, o *Options) {
			o.Resources = policy.ResourceRules{{Name: "x", Match: mustGlobs(t, "*.txt"), ChangeFreq: "daily"}}
		}},
		{"encoding", "x: no file matches the rule", func(t *testing.T, o *Options) {
			o.Resources = policy.ResourceRules{{Name: "x", Match: mustGlobs(t, "*.txt"), Encoding: "gzip"}}
		}},
		{"paths", `"gone.txt" is in`, func(t *testing.T, o *Options) {
			o.Sets = []policy.Set{{Name: "all"}, {Name: "listed", Resources: policy.Selection{Paths: somePaths(t, "gone.txt", "stays")}}}
		}},
	} {
		for _, before := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, matched before: %v", tt.name, before), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, t.TempDir())
				w.file("stays", "x", longAgo)
				tt.add(t, &w.options)
				warns := func() bool {
					r := w.build()
					return slices.ContainsFunc(r.Warnings, func(s string) bool { return strings.Contains(s, tt.want) })
				}
				if before {
					w.file("gone.txt", "x", longAgo)
				}
				if warns() == before {
					t.Errorf("the first run warns: %v", !before)
				}
				w.remove("gone.txt")
				if !warns() {
					t.Error("the second run does not warn")
				}
			})
		}
	}
}

// outlineOfValue describes all that a value holds and leads to, but for functions: also
// what is behind the end of slices, where something could be appended.
func outlineOfValue(v any) map[string]string {
	lines := map[string]string{}
	seen := map[uintptr]bool{}
	var walk func(path string, v reflect.Value)
	walk = func(path string, v reflect.Value) {
		switch v.Kind() {
		case reflect.Func, reflect.Chan:
		case reflect.Interface:
			if !v.IsNil() {
				walk(path+"."+v.Elem().Type().String(), v.Elem())
			}
		case reflect.Pointer:
			lines[path] = fmt.Sprint("is nil: ", v.IsNil())
			if !v.IsNil() && !seen[v.Pointer()] {
				seen[v.Pointer()] = true
				walk("*"+path, v.Elem())
			}
		case reflect.UnsafePointer: // of an atomic.Pointer
			lines[path] = fmt.Sprint("is nil: ", v.IsNil())
		case reflect.Struct:
			for i := range v.NumField() {
				walk(path+"."+v.Type().Field(i).Name, v.Field(i))
			}
		case reflect.Slice:
			lines[path] = fmt.Sprint("length ", v.Len())
			for i := range v.Cap() {
				walk(fmt.Sprintf("%s[%d]", path, i), v.Slice(0, v.Cap()).Index(i))
			}
		case reflect.Array:
			for i := range v.Len() {
				walk(fmt.Sprintf("%s[%d]", path, i), v.Index(i))
			}
		case reflect.Map:
			lines[path] = fmt.Sprint("length ", v.Len())
			for _, k := range v.MapKeys() {
				walk(fmt.Sprintf("%s[%v]", path, k), v.MapIndex(k))
			}
		default:
			lines[path] = fmt.Sprint(v)
		}
	}
	walk("options", reflect.ValueOf(v))
	return lines
}
