package verify

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

const (
	birdsList    = "birds/capabilitylist.xml"
	birdsRes     = "birds/resourcelist.xml"
	birdsChanges = "birds/changelist.xml"
	source1      = "source-1.xml"
	source2      = "source-2.xml"
	allList      = "all/capabilitylist.xml"
)

// head returns the beginning of a document, with links as "rel path".
func headOf(metadata string, links ...string) string {
	s := `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
`
	for _, l := range links {
		rel, path, _ := strings.Cut(l, " ")
		s += `<rs:ln rel="` + rel + `" href="http://lake.example/` + path + `"/>` + "\n"
	}
	return s + `<rs:md ` + metadata + "/>\n"
}

func entryFor(path, metadata string) string {
	return `<url><loc>http://lake.example/` + path + `</loc><rs:md ` + metadata + "/></url>\n"
}

// twoSets returns the world with another set, which has some of the same resources as
// they were at another time.
func twoSets(t testing.TB) *world {
	t.Helper()
	w := good(t)
	w.replace(t, description, "</urlset>", `<url><loc>http://lake.example/birds/capabilitylist.xml</loc><rs:md capability="capabilitylist"/><rs:ln rel="describedby" href="http://lake.example/birds.html"/></url></urlset>`)
	w.files[birdsList] = headOf(`capability="capabilitylist"`, "describedby birds.html", "up "+description) +
		entryFor(birdsRes, `capability="resourcelist"`) + entryFor(birdsChanges, `capability="changelist"`) + "</urlset>\n"
	w.files[birdsRes] = headOf(`capability="resourcelist" at="2026-01-02T18:00:00Z"`, "up "+birdsList) +
		entryFor("carp.html", `hash="sha-256:{hash old/carp.html}" length="{length old/carp.html}" type="text/html"`) +
		entryFor("tench.json", `hash="sha-256:{hash old/tench.json}" length="{length old/tench.json}" type="application/json"`) + "</urlset>\n"
	w.files[birdsChanges] = headOf(`capability="changelist" from="2026-01-02T18:00:00Z"`, "up "+birdsList) +
		entryFor("carp.html", `change="updated" datetime="2026-01-03T18:00:00Z" hash="sha-256:{hash carp.html}" length="{length carp.html}" type="text/html"`) +
		entryFor("tench.json", `change="updated" datetime="2026-01-04T18:00:00Z" hash="sha-256:{hash tench.json}" length="{length tench.json}" type="application/json"`) + "</urlset>\n"
	return w
}

// twoSources puts each set into a Source Description of its own, below an Index.
func twoSources(t testing.TB) *world {
	t.Helper()
	w := twoSets(t)
	for name, list := range map[string]string{source1: capList, source2: birdsList} {
		w.files[name] = headOf(`capability="description"`, "describedby about.html", "index "+description) +
			`<url><loc>http://lake.example/` + list + `</loc><rs:md capability="capabilitylist"/><rs:ln rel="describedby" href="http://lake.example/about.html"/></url></urlset>`
		w.replace(t, list, `rel="up" href="http://lake.example/`+description, `rel="up" href="http://lake.example/`+name)
	}
	w.files[description] = `<?xml version="1.0" encoding="UTF-8"?>
<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
<rs:md capability="description"/>
<sitemap><loc>http://lake.example/source-1.xml</loc><rs:md capability="description"/></sitemap>
<sitemap><loc>http://lake.example/source-2.xml</loc></sitemap>
</sitemapindex>
`
	return w
}

// sharedSet adds a set to the world that has the documents of another one.
func sharedSet(t testing.TB) *world {
	t.Helper()
	w := good(t)
	w.replace(t, description, "</urlset>", `<url><loc>http://lake.example/all/capabilitylist.xml</loc><rs:ln rel="describedby" href="http://lake.example/about.html"/></url></urlset>`)
	w.files[allList] = w.files[capList]
	return w
}

// TestSets audits Sources with several sets of resources.
func TestSets(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, rule string
		of         func(testing.TB) *world
		do         func(t *testing.T, w *world)
	}{
		{"two sets", "", twoSets, nil},
		{"two Source Descriptions", "", twoSources, nil},
		{"up to the Index of Source Descriptions", "", twoSources, func(t *testing.T, w *world) {
			w.replace(t, birdsList, `rel="up" href="http://lake.example/`+source2, `rel="up" href="http://lake.example/`+description)
		}},
		{"up to the other Source Description", "link-up-target", twoSources, func(t *testing.T, w *world) {
			w.replace(t, birdsList, `rel="up" href="http://lake.example/`+source2, `rel="up" href="http://lake.example/`+source1)
		}},
		{"listed by both", "", twoSources, func(t *testing.T, w *world) {
			w.replace(t, source1, "</urlset>", `<url><loc>http://lake.example/`+birdsList+`</loc><rs:ln rel="describedby" href="http://lake.example/about.html"/></url></urlset>`)
		}},
		{"no Index groups them", "source-index", twoSources, func(t *testing.T, w *world) {
			w.files[description] = strings.Replace(w.files[source1], "index", "related", 1)
			w.replace(t, source1, "</urlset>", `<url><loc>http://lake.example/`+birdsList+`</loc><rs:ln rel="describedby" href="http://lake.example/about.html"/></url></urlset>`)
		}},
		{"an Index in an Index", "index-nesting", twoSources, func(t *testing.T, w *world) {
			w.files[source2] = strings.Replace(w.files[description], source1, "source-3.xml", 1)
			w.files["source-3.xml"] = headOf(`capability="description"`)
			w.replace(t, birdsList, source2, description)
			w.replace(t, source1, "</urlset>", `<url><loc>http://lake.example/`+birdsList+`</loc><rs:ln rel="describedby" href="http://lake.example/about.html"/></url></urlset>`)
		}},
		{"up to the list of the other set", "link-up-target", twoSets, func(t *testing.T, w *world) {
			w.replace(t, birdsRes, `rel="up" href="http://lake.example/`+birdsList, `rel="up" href="http://lake.example/`+capList)
		}},
		{"something impossible in one set", "event-possible", twoSets, func(t *testing.T, w *world) {
			w.replace(t, birdsChanges, "updated", "created")
		}},
		{"the sets are as of different times", "resource-digest", twoSets, func(t *testing.T, w *world) { // and one lags behind
			w.replace(t, birdsChanges, entryFor("carp.html", `change="updated" datetime="2026-01-03T18:00:00Z" hash="sha-256:{hash carp.html}" length="{length carp.html}" type="text/html"`), "")
		}},
		{"named as something else", "capability-mismatch resource-changed", twoSets, func(t *testing.T, w *world) {
			w.replace(t, birdsList, birdsChanges, "fish/resourcelist.xml")
		}},
		{"shared documents", "", sharedSet, nil},
		{"shared documents that lead up to the second list", "", sharedSet, func(t *testing.T, w *world) {
			for _, name := range []string{part2, changes3, chDump, day4, oldXML, listOld} {
				w.replace(t, name, `rel="up" href="http://lake.example/`+capList, `rel="up" href="http://lake.example/`+allList)
			}
		}},
		{"one document is not shared", "link-up-target", sharedSet, func(t *testing.T, w *world) {
			w.replace(t, allList, `<url><loc>http://lake.example/fish/changedump-archive.xml</loc><rs:md capability="changedump-archive"/></url>`, "")
			w.replace(t, day1, `rel="up" href="http://lake.example/`+capList, `rel="up" href="http://lake.example/`+allList)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := test.of(t)
			if test.do != nil {
				test.do(t, w)
			}
			checkRules(t, w, strings.Fields(test.rule))
		})
	}
}

// TestSetsShare reads once of what several sets say the same, and tells once what is wrong with
// it.
func TestSetsShare(t *testing.T) {
	t.Parallel()
	one, two := good(t), sharedSet(t)
	for _, w := range []*world{one, two} {
		w.replace(t, part2, "tench.json", "trench.json")
		w.replace(t, dumpOld, `type="application/zip" `, "")
		w.last = append(w.last, remove(patch))
	}
	want, got := audit(t, one.write(t), Options{}), audit(t, two.write(t), Options{})
	if lines(got) != lines(want) || got.Errors != want.Errors || got.Packages != 5 || got.Resources != want.Resources || got.Linked != 2 {
		t.Errorf("%d packages, %d resources, %d linked files\n%s\nin one set:\n%s", got.Packages, got.Resources, got.Linked, lines(got), lines(want))
	}
	if r := audit(t, twoSets(t).write(t), Options{}); r.Resources != 4 || r.Documents != 27 {
		t.Errorf("%d resources in %d documents", r.Resources, r.Documents)
	}
}

// TestSetsOnServer climbs from any document to the top of all sets.
func TestSetsOnServer(t *testing.T) {
	t.Parallel()
	s := serve(t, twoSources(t).write(t))
	for _, path := range []string{"", source1, source2, birdsList, birdsChanges, part2} {
		if r := audit(t, lake+path, s.options()); len(r.Findings) > 0 || r.Documents != 29 || r.Resources != 4 {
			t.Errorf("from %s: %d documents, %d resources\n%s", path, r.Documents, r.Resources, lines(r))
		}
	}
	s.change = func(w http.ResponseWriter, r *http.Request) bool {
		return r.URL.Path == "/"+source2 && text("application/xml", strings.Replace(headOf(`capability="description"`, "index "+birdsRes), "<rs:md", "<rs:ln rel=\"describedby\" href=\"http://lake.example/about.html\"/><rs:md", 1)+"</urlset>")(w, r)
	}
	if got := rulesOf(audit(t, lake+source2, s.options())); !slices.Equal(got, nil) {
		t.Errorf("an Index that is none was climbed to: %v", got)
	}
}

// TestSetsInHeaders sees to which lists the headers of documents lead.
func TestSetsInHeaders(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		of               func(testing.TB) *world
		path, list, rule string
	}{
		{sharedSet, "/fish/list-2.xml", allList, ""},
		{twoSets, "/birds/resourcelist.xml", birdsList, ""},
		{twoSets, "/birds/resourcelist.xml", capList, "http-link"},
	} {
		s := serve(t, test.of(t).write(t))
		s.change = func(w http.ResponseWriter, r *http.Request) bool {
			return r.URL.Path == test.path && header("Link", "</"+test.list+`>; rel="resourcesync"`)(w, r)
		}
		if r := audit(t, lake, s.options()); !slices.Equal(rulesOf(r), strings.Fields(test.rule)) {
			t.Errorf("%s\nwant: %v", lines(r), test.rule)
		}
	}
}

func TestFolderOfSets(t *testing.T) {
	t.Parallel()
	for lists, want := range map[string]string{
		"http://h/a/list.xml":                     "http://h/a/",
		"http://h/list.xml":                       "http://h/",
		"http://h/rs/a/list.xml http://h/rs/b/l":  "http://h/rs/",
		"http://h/rs/a/list.xml http://h/rs/ab/l": "http://h/rs/",
		"http://h/a/list.xml http://h/b/list.xml": "http://h/a/",
		"http://h/a/list.xml http://i/a/list.xml": "http://h/a/",
	} {
		a := &auditor{}
		for uri := range strings.FieldsSeq(lists) {
			a.newSet(&document{uri: uri})
		}
		if got := a.sets[0].folder(); got != want {
			t.Errorf("%s: %s, want %s", lists, got, want)
		}
	}
}

// TestSetsAgainst compares each set with the same one of an older copy.
func TestSetsAgainst(t *testing.T) {
	t.Parallel()
	older := twoSets(t)
	older.replace(t, birdsChanges, `change="updated" datetime="2026-01-04T18:00:00Z"`, `change="updated" datetime="2026-01-04T17:00:00Z"`)
	dir := twoSets(t).write(t)
	if r := audit(t, dir, Options{Against: dir}); len(r.Findings) > 0 {
		t.Errorf("%s", lines(r))
	}
	r := audit(t, dir, Options{Against: older.write(t)})
	if got := rulesOf(r); !slices.Equal(got, []string{"event-lost"}) {
		t.Errorf("%v\n%s", got, lines(r))
	}
	for _, f := range r.Findings {
		if !strings.Contains(f.Document, "/birds/") {
			t.Errorf("%s is blamed on %s", f.Rule.Name, f.Document)
		}
	}
}
