package verify

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLinkedFiles sees which files that links lead to must be there, and which need
// not.
func TestLinkedFiles(t *testing.T) {
	t.Parallel()
	gone := `<rs:ln rel="memento" href="http://lake.example/fish/versions/1/2.html" modified="2026-01-03T12:00:00Z" hash="md5:{md5 carp.html}"/>`
	for _, test := range []struct {
		name, rule string
		do         func(t *testing.T, w *world)
	}{
		{"a closed list names what is gone", "", func(t *testing.T, w *world) {
			w.replace(t, changes2, carpNow+`" modified`, versions+`gone.html" modified`)
			w.replace(t, changes2, carpMap, "fish/versions/gone.link")
		}},
		{"an archived list names what has become another", "", func(t *testing.T, w *world) {
			w.replace(t, changes1, "  </url>", `<rs:ln rel="memento" href="http://lake.example/pike.txt" modified="2026-01-03T12:00:00Z" hash="md5:{md5 carp.html}"/></url>`)
		}},
		{"the open list names what is gone", "linked-missing", func(t *testing.T, w *world) { w.replace(t, changes3, "  </url>", gone+"</url>") }},
		{"the open list names what is gone of a superseded change", "", func(t *testing.T, w *world) {
			entry := entryOf(t, w, changes3, "tench.json")
			begin, end := strings.Index(entry, "    <rs:ln"), strings.Index(entry, "  </url>")
			earlier := strings.Replace(entry[:begin]+gone+entry[end:], "T12:00:00Z\" hash", "T11:00:00Z\" hash", 1)
			w.replace(t, changes3, entry, earlier+entry)
			w.replace(t, day4, "  <url>", strings.Replace(strings.Replace(strings.Replace(earlier, gone, "", 1), `"/>`, `" path="/tench.json"/>`, 1), "    <lastmod>2026-01-04T12:00:00Z</lastmod>\n", "", 1)+"  <url>")
		}},
		{"the last closed list names what is gone", "linked-missing until-closed", func(t *testing.T, w *world) {
			w.replace(t, changes3, "  </url>", gone+"</url>")
			w.replace(t, changes3, `from="2026-01-04T00:00:00Z"`, `from="2026-01-04T00:00:00Z" until="2026-01-05T00:00:00Z"`)
		}},
		{"a URI led to another patch before", "", func(t *testing.T, w *world) {
			w.replace(t, changes2, "  </url>", `<rs:ln rel="http://www.openarchives.org/rs/terms/patch" href="http://lake.example/tench.patch" type="text/x-diff" hash="sha-256:{hash pike.txt}"/></url>`)
		}},
		{"nothing is stated", "", func(t *testing.T, w *world) {
			w.replace(t, changes3, ` hash="sha-256:{hash tench.patch}" length="{length tench.patch}"/>`, "/>")
			w.last = append(w.last, remove(patch))
		}},
		{"another host", "", func(t *testing.T, w *world) {
			w.replace(t, changes3, "http://lake.example/tench.patch", "http://patches.example/tench.patch")
		}},
		{"a TimeMap that a server makes", "", func(t *testing.T, w *world) { w.replace(t, part1, carpMap, "timemap/http://lake.example/carp.html") }},
		{"a TimeMap in another form", "", func(t *testing.T, w *world) {
			w.replace(t, part1, `type="application/link-format"`, `type="application/json"`)
			w.replace(t, changes2, `type="application/link-format"`, `type="application/json"`)
			w.files[carpMap] = "{}"
		}},
		{"a TimeMap in pages", "", func(t *testing.T, w *world) {
			w.replace(t, carpMap, `rel="last memento"`, `rel="timemap"`)
		}},
		{"relative references and anchors", "", func(t *testing.T, w *world) {
			w.replace(t, carpMap, "<http://lake.example/"+carpOld, "<"+filepath.Base(carpOld))
			w.files[carpMap] += `, <gone.html>; rel="memento"; anchor="http://lake.example/pike.txt"` + "\n, </carp.html>; rel=original; anchor=\"/carp.html\""
		}},
		{"resources elsewhere", "resource-elsewhere", func(t *testing.T, w *world) { // and mementos with them
			for _, name := range []string{"carp.html", "pike.txt", "tench.json", patch} {
				w.last = append(w.last, remove(name))
			}
		}},
		{"nothing was uploaded", "linked-missing resource-elsewhere", func(t *testing.T, w *world) {
			for _, name := range []string{"carp.html", "pike.txt", "tench.json", "fish/versions"} {
				w.last = append(w.last, func(dir string) error { return os.RemoveAll(filepath.Join(dir, name)) })
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := good(t)
			test.do(t, w)
			checkRules(t, w, strings.Fields(test.rule))
		})
	}
}

// TestLinkedBesideResources looks for what links lead to in the publication first, then
// where the user says that resources lie.
func TestLinkedBesideResources(t *testing.T) {
	t.Parallel()
	dir, source := good(t).write(t), t.TempDir()
	for _, name := range []string{"carp.html", "pike.txt", "tench.json", patch} {
		if err := os.Rename(filepath.Join(dir, name), filepath.Join(source, name)); err != nil {
			t.Fatal(err)
		}
	}
	r := audit(t, dir, Options{Resources: []Mapping{{lake, source}}})
	if len(r.Findings) > 0 || r.Linked != 3 {
		t.Errorf("%d files\n%s", r.Linked, lines(r))
	}
}

// TestLinkedOnServer asks a server for what links lead to, and reads TimeMaps where
// resources are read.
func TestLinkedOnServer(t *testing.T) {
	t.Parallel()
	dir := good(t).write(t)
	for _, test := range []struct {
		rule, path string
		all        bool
		do         func(http.ResponseWriter, *http.Request) bool
	}{
		{"", "/" + carpMap, false, func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodHead {
				t.Error("the TimeMap is read")
			}
			return false
		}},
		{"", "/" + carpOld, false, status(404)},
		{"timemap-memento", "/" + carpOld, true, status(404)},
		{"http-status", "/" + carpOld, true, status(403)},
		{"timemap-form", "/" + carpMap, true, text("application/link-format", "<!doctype html>")},
		{"linked-missing", "/" + carpMap, false, status(404)},
		{"linked-missing", "/" + patch, false, status(404)},
		{"http-status", "/" + patch, false, status(403)},
		{"linked-digest", "/" + patch, false, text("application/json-patch+json", "[]")},
	} {
		t.Run(test.rule+test.path, func(t *testing.T) {
			t.Parallel()
			s := serve(t, dir)
			s.change = func(w http.ResponseWriter, r *http.Request) bool {
				return r.URL.Path == test.path && test.do(w, r)
			}
			o := s.options()
			o.All = test.all
			r := audit(t, lake, o)
			if got := rulesOf(r); !slices.Equal(got, strings.Fields(test.rule)) {
				t.Errorf("broken: %v\n  want: %v\n%s", got, test.rule, lines(r))
			}
		})
	}
}

// TestManyLinkToOne has more resources lead to one than are compared with each other,
// and more findings than are kept.
func TestManyLinkToOne(t *testing.T) {
	t.Parallel()
	w := good(t)
	var entries strings.Builder
	for i := range mostOfOne + 10 {
		fmt.Fprintf(&entries, "<url><loc>http://lake.example/%05d</loc><rs:ln rel=\"describedby\" href=\"http://lake.example/tench.json\" length=\"45\"/></url>\n", i)
	}
	w.replace(t, part2, "  <url>", entries.String()+"  <url>")
	dir := w.write(t)
	for _, limits := range []Limits{{}, {Memory: 1}} {
		r := audit(t, dir, Options{Depth: Documents, Limits: limits})
		if got := rulesOf(r); !slices.Equal(got, []string{"coverage-dump", "link-content", "replay-state"}) || len(r.Findings) != 3000 || r.More["link-content"] != mostOfOne+10-1000 {
			t.Errorf("broken: %v, %d findings, %v more", got, len(r.Findings), r.More)
		}
	}
}
