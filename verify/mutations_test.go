package verify

import (
	"archive/zip"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Shorthands for the files of testdata/good.txtar.
const (
	description = ".well-known/resourcesync"
	capList     = "fish/capabilitylist.xml"
	resList     = "fish/resourcelist.xml"
	part1       = "fish/list-1.xml"
	part2       = "fish/list-2.xml"
	listOld     = "fish/list-old.xml"
	resArchive  = "fish/resourcelist-archive.xml"
	changes     = "fish/changelist.xml"
	changes1    = "fish/changes-1.xml"
	changes2    = "fish/changes-2.xml"
	changes3    = "fish/changes-3.xml"
	chArchive   = "fish/changelist-archive.xml"
	resDump     = "fish/resourcedump.xml"
	allXML      = "fish/all.xml"
	allZIP      = "fish/all.zip"
	dumpArchive = "fish/resourcedump-archive.xml"
	dumpOld     = "fish/dump-old.xml"
	oldXML      = "fish/old.xml"
	oldZIP      = "fish/old.zip"
	chDump      = "fish/changedump.xml"
	day1        = "fish/day-1.xml"
	day3        = "fish/day-3.xml"
	day4        = "fish/day-4.xml"
	day4ZIP     = "fish/day-4.zip"
	versions    = "fish/versions/5a1e0c3f5a1e0c3f5a1e0c3f5a1e0c3f/"
	carpNow     = versions + "b2c4d6e8b2c4d6e8b2c4d6e8b2c4d6e8.html"
	carpOld     = versions + "a1b3c5d7a1b3c5d7a1b3c5d7a1b3c5d7.html"
	carpMap     = versions + "timemap.link"
	patch       = "tench.patch"
	days12      = "fish/days-1-2.xml"
	cdArchive   = "fish/changedump-archive.xml"
	framework   = "fish/framework.xml"
)

// edit is a small edit of one file that breaks one rule.
type edit struct {
	rule     string // names, separated by spaces, if one follows from the other
	file     string
	old, new string
}

// edits are ways to break a publication by its documents.
var edits = []edit{
	// XML
	{"xml-well-formed", part2, "</urlset>", ""},
	{"xml-well-formed", part2, "</urlset>", "</urlset>more"},
	{"xml-well-formed", part2, "</urlset>", "</urlset><urlset/>"},
	{"xml-well-formed", part2, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", "text"},
	{"xml-well-formed", chArchive, "<loc>", "<loc>\x01"},
	{"xml-well-formed", part2, `type="application/json"`, `type="application/json" type="application/json"`},
	{"xml-well-formed", part2, "tench.json</loc>", "tench.json?a&b</loc>"},
	{"xml-well-formed", part2, "</lastmod>", "</lastmodified>"},
	{"xml-encoding", part2, `encoding="UTF-8"`, `encoding="ISO-8859-1"`},
	{"xml-encoding", part2, "<lastmod>", "\xff<lastmod>"},
	{"xml-encoding", part2, "<?xml", "\xff\xfe<?xml"},
	{"xml-doctype", part2, "<urlset", "<!DOCTYPE urlset [<!ENTITY x \"y\">]>\n<urlset"},
	{"xml-namespace", part2, "sitemaps.org/schemas/sitemap/0.9", "google.com/schemas/sitemap/0.84"},
	{"xml-namespace", part2, "openarchives.org/rs/terms/", "openarchives.org/rs/terms"},
	{"xml-namespace", changes3, ` xmlns:rs="http://www.openarchives.org/rs/terms/"`, ""},
	{"xml-namespace", chArchive, `<rs:ln rel`, `<ln rel`},
	{"root-element", part2, "<urlset", "<html>"},
	{"root-element", allXML, "urlset", "{index}"},
	{"capability-index capability-entry capability-mismatch", capList, "urlset", "{index}"},
	{"root-element", framework, "urlset", "{index}"},
	{"content-unknown", part2, "<lastmod>", "<author>me</author><lastmod>"},
	{"content-unknown", part2, "<lastmod>", "<rs:note>me</rs:note><lastmod>"},
	{"content-unknown", part2, "<lastmod>", "yesterday <lastmod>"},
	{"content-unknown", part2, "  <url>", "text <url>"},
	{"content-unknown", chArchive, `until="2026-01-03T00:00:00Z"/>`, `until="2026-01-03T00:00:00Z">text</rs:md>`},
	{"element-order", part2, "    <loc>http://lake.example/tench.json</loc>\n    <lastmod>2026-01-04T12:00:00Z</lastmod>", "    <lastmod>2026-01-04T12:00:00Z</lastmod>\n    <loc>http://lake.example/tench.json</loc>"},
	{"element-order", chArchive, `  <rs:md capability="changelist-archive"/>` + "\n", "{behind}"},
	{"element-once", part2, "<lastmod>", "<loc>http://lake.example/tench.json</loc><lastmod>"},
	{"element-once", part2, "<lastmod>", "<lastmod>2026-01-04T12:00:00Z</lastmod><lastmod>"},
	{"element-once", part2, `type="application/json"/>`, `type="application/json"/><rs:md type="application/json"/>`},
	{"element-once", part2, "  <url>", "  <rs:md capability=\"resourcelist\"/>\n  <url>"},
	{"attribute-unknown", part2, `type="application/json"`, `type="application/json" size="3"`},
	{"attribute-unknown", part2, "<url>", `<url id="1">`},
	{"attribute-unknown", part2, "<loc>", `<loc type="uri">`},
	{"attribute-unknown", part2, "<urlset ", `<urlset version="1" `},
	{"attribute-unknown", part2, `rel="up"`, `rel="up" title="above"`},
	{"attribute-prefix", part2, `<rs:md capability`, `<rs:md rs:capability`},
	{"attribute-prefix", changes3, `change="updated"`, `rs:change="updated"`},
	{"attribute-place", part2, `type="application/json"`, `type="application/json" path="/a"`},
	{"attribute-place", part2, `type="application/json"`, `type="application/json" change="created"`},
	{"attribute-place", part2, `type="application/json"`, `type="application/json" capability="resourcelist"`},
	{"attribute-place", part2, `<rs:md capability`, `<rs:md length="3" capability`},
	{"attribute-place", part1, `rel="via"`, `rel="via" path="/a"`},

	// What documents say of themselves
	{"capability-missing", changes3, `capability="changelist" `, ""},
	{"capability-missing", part2, `  <rs:md capability="resourcelist" at="2026-01-05T00:00:00Z"/>` + "\n", ""},
	{"capability-value", part2, `capability="resourcelist"`, `capability="resourceList"`},
	{"capability-value", part2, `capability="resourcelist"`, `capability="resource-list"`},
	{"capability-missing", part2, `capability="resourcelist"`, `capability=""`},
	{"capability-value", capList, `capability="changedump-archive"`, `capability="ChangeDump-Archive"`},
	{"capability-mismatch", chArchive, `capability="changelist-archive"`, `capability="changelist"`},
	{"capability-mismatch", resArchive, `capability="resourcelist-archive"`, `capability="resourcedump-archive"`},
	{"capability-mismatch", capList, `capability="capabilitylist"`, `capability="description"`},
	{"capability-entry", capList, `<rs:md capability="changedump-archive"/>`, ""},
	{"capability-entry", capList, `capability="changedump-archive"`, `capability="changedump-manifest"`},
	{"capability-entry", description, `capability="capabilitylist"`, `capability="resourcelist"`},
	{"capability-once", capList, `  <url>` + "\n", `  <url><loc>http://lake.example/fish/list-old.xml</loc><rs:md capability="resourcelist"/></url>` + "\n  <url>\n"},
	{"time-required", part2, ` at="2026-01-05T00:00:00Z"`, ""},
	{"time-required", changes3, ` from="2026-01-04T00:00:00Z"`, ""},
	{"time-required", allXML, ` at="2026-01-05T00:00:00Z"`, ""},
	{"time-required", day4, ` from="2026-01-04T00:00:00Z"`, ""},
	{"time-required", resDump, ` at="2026-01-05T00:00:00Z"`, ""},
	{"time-required", chDump, ` from="2026-01-03T00:00:00Z"/>`, "/>"},
	{"time-recommended", changes, `<rs:md from="2026-01-04T00:00:00Z"/>`, ""},
	{"time-recommended", days12, ` from="2026-01-01T00:00:00Z" until="2026-01-03T00:00:00Z" length`, ` length`},
	{"time-attribute", part2, ` at="2026-01-05T00:00:00Z"`, ` at="2026-01-05T00:00:00Z" from="2026-01-05T00:00:00Z"`},
	{"time-attribute", changes3, ` from="2026-01-04T00:00:00Z"`, ` from="2026-01-04T00:00:00Z" at="2026-01-04T00:00:00Z"`},
	{"time-attribute", part2, `type="application/json"`, `type="application/json" datetime="2026-01-04T12:00:00Z"`},
	{"time-attribute", resList, `at="2026-01-05T00:00:00Z"/>`, `at="2026-01-05T00:00:00Z" until="2026-01-06T00:00:00Z"/>`},
	{"time-attribute", capList, `<rs:md capability="resourcedump"/>`, `<rs:md capability="resourcedump" at="2026-01-05T00:00:00Z"/>`},
	{"time-attribute", resArchive, `capability="resourcelist-archive"`, `capability="resourcelist-archive" at="2026-01-05T00:00:00Z"`},
	{"datetime-form", part2, "<lastmod>2026-01-04T12:00:00Z", "<lastmod>Sun, 04 Jan 2026"},
	{"datetime-form", part2, "<lastmod>2026-01-04T12:00:00Z", "<lastmod>"},
	{"datetime-form", changes3, `datetime="2026-01-04T12:00:00Z"`, `datetime="2026-01-04 12:00:00"`},
	{"datetime-form", part1, `modified="2026-01-03T12:00:00Z"`, `modified="2026-13-03T12:00:00Z"`},
	{"datetime-utc", part2, "<lastmod>2026-01-04T12:00:00Z", "<lastmod>2026-01-04"},
	{"datetime-utc", changes3, `datetime="2026-01-04T12:00:00Z"`, `datetime="2026-01-04T13:00:00+01:00"`},
	{"time-order", allXML, `completed="2026-01-05T00:02:00Z"`, `completed="2026-01-04T00:02:00Z"`},
	{"time-order", part1, `completed="2026-01-05T00:01:00Z"`, `completed="2026-01-04T00:01:00Z"`},
	{"time-agree", resList, `<rs:md at="2026-01-05T00:00:00Z"/>`, `<rs:md at="2026-01-05T00:00:01Z"/>`},
	{"time-agree", dumpArchive, `at="2026-01-01T00:00:00Z"`, `at="2025-01-01T00:00:00Z"`},
	{"link-up-missing", part2, `  <rs:ln rel="up" href="http://lake.example/fish/capabilitylist.xml"/>` + "\n", ""},
	{"link-up-missing", allXML, `  <rs:ln rel="up" href="http://lake.example/fish/capabilitylist.xml"/>` + "\n", ""},
	{"link-up-missing", capList, `  <rs:ln rel="up" href="http://lake.example/.well-known/resourcesync"/>` + "\n", ""},
	{"link-up-target", part2, `rel="up" href="http://lake.example/fish/capabilitylist.xml"`, `rel="up" href="http://lake.example/fish/resourcelist.xml"`},
	{"link-up-target", capList, `/.well-known/resourcesync`, `/sitemap.xml`},
	{"link-up-target", day3, `fish/capabilitylist.xml`, `birds/capabilitylist.xml`},
	{"link-index-missing", part2, `  <rs:ln rel="index" href="http://lake.example/fish/resourcelist.xml"/>` + "\n", ""},
	{"link-index-target", part2, `rel="index" href="http://lake.example/fish/resourcelist.xml"`, `rel="index" href="http://lake.example/fish/changelist.xml"`},
	{"link-index-target", resDump, `  <rs:md`, `  <rs:ln rel="index" href="http://lake.example/fish/resourcelist.xml"/>` + "\n  <rs:md"},
	{"link-describedby", description, `  <rs:ln rel="describedby" href="http://lake.example/about.html"/>` + "\n", ""},
	{"link-describedby", capList, `  <rs:ln rel="describedby" href="http://lake.example/fish.html"/>` + "\n", ""},
	{"link-archives", changes, `fish/changelist-archive.xml`, `fish/resourcelist-archive.xml`},
	{"link-href", part2, `rel="up" href="http://lake.example/fish/capabilitylist.xml"/>`, `rel="up" href="http://lake.example/fish/capabilitylist.xml"/><rs:ln rel="describedby" href="/about.html"/>`},
	{"link-href", part1, ` href="http://lake.example/river"`, ""},
	{"link-href", part1, `href="http://lake.example/river"`, `href="http://lake.example/the river"`},
	{"link-rel", part1, `rel="collection"`, `rel="gathering"`},
	{"link-rel", part1, `rel="collection" `, ``},
	{"pri-range", part1, `pri="1"`, `pri="0"`},
	{"pri-range", part1, `pri="1"`, `pri="1000000"`},
	{"pri-range", part1, `pri="1"`, `pri="first"`},
	{"hash-form", part2, `hash="sha-256:{hash tench.json}"`, `hash="{hash tench.json}"`},
	{"hash-form", part2, `hash="sha-256:{hash tench.json}"`, `hash="sha-256:n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg="`},
	{"hash-form", part1, `md5:{md5 carp.html}`, `md5:abc`},
	{"hash-form", part1, `md5:{md5 carp.html}`, `md5:{md5 carp.html} md5:{md5 carp.html}`},
	{"hash-algorithm", part1, `md5:{md5 carp.html}`, `crc32:01234567`},
	{"length-form", part2, `length="{length tench.json}"`, `length="many"`},
	{"length-form", part2, `length="{length tench.json}"`, `length="-1"`},
	{"type-form", part2, `type="application/json"`, `type="json"`},
	{"type-form", part1, `type="application/pdf"`, `type="PDF file"`},
	{"changefreq-value", part1, "weekly", "fortnightly"},

	// What entries say
	{"loc-missing", framework, "    <loc>http://lake.example/fish/changes-3.xml</loc>\n", ""},
	{"loc-missing", framework, "<loc>http://lake.example/fish/changes-3.xml</loc>", "<loc></loc>"},
	{"loc-uri", framework, "http://lake.example/fish/changes-3.xml", "/fish/changes-3.xml"},
	{"loc-uri", framework, "http://lake.example/fish/changes-3.xml", "http://lake.example/fish/änderungen.xml"},
	{"loc-uri", framework, "http://lake.example/fish/changes-3.xml", "http://lake.example/fish/changes 3.xml"},
	{"loc-uri", framework, "http://lake.example/fish/changes-3.xml", "http://lake.example/fish/100%.xml"},
	{"loc-uri", framework, "http://lake.example/fish/changes-3.xml", "http:///changes-3.xml"},
	{"loc-length", framework, "changes-3.xml", strings.Repeat("x", 2048)},
	{"loc-duplicate", part2, "  <url>", "  <url><loc>http://lake.example/pike.txt</loc></url>\n  <url>"},
	{"authority coverage-dump replay-state resource-elsewhere", part2, "  <url>", "  <url><loc>http://sea.example/cod.txt</loc></url>\n  <url>"},
	{"change-missing", changes3, `change="updated" `, ``},
	{"change-value", changes3, `change="updated"`, `change="modified"`},
	{"datetime-missing", day1, ` datetime="2026-01-02T12:00:00Z"`, ""},
	{"datetime-interval", day4, `datetime="2026-01-04T12:00:00Z"`, `datetime="2026-01-06T12:00:00Z"`},
	{"order-lists", changes, "{swap}", ""},
	{"order-packages", chDump, "{swap}", ""},
	{"interval-open", changes, "{open}", ""},
	{"until-closed", changes, ` until="2026-01-04T00:00:00Z"`, ""},
	{"until-closed", changes, `<rs:md from="2026-01-04T00:00:00Z"/>`, `<rs:md from="2026-01-04T00:00:00Z" until="2026-01-05T00:00:00Z"/>`},
	{"interval-cover", chDump, `<rs:md capability="changedump" from="2026-01-03T00:00:00Z"/>`, `<rs:md capability="changedump" from="2026-01-02T00:00:00Z"/>`},
	{"interval-cover", changes, `<rs:md capability="changelist" from="2026-01-03T00:00:00Z"/>`, `<rs:md capability="changelist" from="2026-01-02T00:00:00Z"/>`},
	{"archive-gap", cdArchive, "{empty until}", ""},
	{"path-form", allXML, `path="/resources/pike.txt"`, `path="resources/pike.txt"`},
	{"path-missing", allXML, ` path="/resources/pike.txt"`, ``},
	{"path-deleted", day3, `<rs:md change="deleted"`, `<rs:md path="/carp.html" change="deleted"`},
	{"index-nesting", resArchive, "{nested}", ""},
	{"hub-link", capList, `    <rs:ln rel="hub" href="http://hub.example/"/>` + "\n", ""},
	{"notification-entry", framework, `change="updated" `, ""},
	{"notification-entry", framework, `change="updated"`, `change="deleted"`},
	{"notification-entry", framework, ` capability="changelist"`, ``},
	{"notification-entry", framework, ` capability="changelist"`, ` capability="changedump"`},
	{"notification-entry", framework, "    <rs:ln rel=\"index\" href=\"http://lake.example/fish/changelist.xml\"/>\n", ""},
	{"notification-entry", framework, `fish/changes-3.xml</loc>
    <rs:md change="updated" capability="changelist"`, `fish/capabilitylist.xml</loc>
    <rs:md change="deleted" capability="capabilitylist"`},
	{"notification-index", framework, "fish/changes-3.xml</loc>", "fish/changelist.xml</loc>"},
	{"link-index-target", framework, `rel="index" href="http://lake.example/fish/changelist.xml"`, `rel="index" href="http://lake.example/fish/resourcelist.xml"`},
	{"link-up-target", framework, `rel="up" href="http://lake.example/fish/capabilitylist.xml"`, `rel="up" href="http://lake.example/fish/resourcelist.xml"`},
	{"link-up-target", framework, `rel="up" href="http://lake.example/fish/capabilitylist.xml"`, `rel="up" href="http://other.example/"`},
	{"", framework, `rel="up" href="http://lake.example/fish/capabilitylist.xml"`, `rel="up" href="http://lake.example/.well-known/resourcesync"`},
	{"hub-link", capList, `href="http://hub.example/"`, `href="mailto:hub@example"`},
	{"hub-link", capList, `href="http://hub.example/"`, `href="http://u:p@hub.example/"`},

	// Documents and digests
	{"authority document-elsewhere", cdArchive, "http://lake.example/fish/days-1-2.xml", "http://cdn.example/fish/days-1-2.xml"},
	{"authority document-elsewhere", dumpOld, "http://lake.example/fish/old.zip", "http://cdn.example/fish/old.zip"},
	{"lastmod-stale", capList, `resourcelist.xml</loc>`, `resourcelist.xml</loc><lastmod>2025-12-01T00:00:00Z</lastmod>`},
	{"time-future", resList, `completed="2026-01-05T00:01:00Z"/>`, `completed="2999-01-05T00:01:00Z"/>`},
	{"package-stated", days12, ` length="{length fish/day-1.zip}"`, ""},
	{"manifest-type", day1, ` type="application/json"`, ""},
	{"document-missing", description, "fish/capabilitylist.xml", "fish/capabilities.xml"},
	{"document-missing", cdArchive, "fish/days-1-2.xml", "fish/days.xml"},
	{"document-missing", cdArchive, "http://lake.example/fish/days-1-2.xml", "http://lake.example/../days-1-2.xml"},
	{"document-digest", resList, `length="{length fish/list-1.xml}"`, `length="1"`},
	{"document-digest", resArchive, `{hash fish/list-old.xml}`, `{hash pike.txt}`},
	{"contents-missing", days12, "fish/day-1.xml", "fish/day-one.xml"},
	{"package-missing", dumpOld, "fish/old.zip", "fish/older.zip"},
	{"package-digest", dumpOld, "{length fish/old.zip}", "17"},
	{"package-digest", resDump, "{hash fish/all.zip}", "{hash pike.txt}"},
	{"package-stated", dumpOld, `type="application/zip" `, ""},
	{"package-type", days12, `type="application/zip"`, `type="application/x-tar"`},
	{"manifest-time", chDump, `until="2026-01-05T00:00:00Z"`, `until="2026-01-04T18:00:00Z"`},
	{"manifest-path manifest-unlisted", allXML, `path="/resources/pike.txt"`, `path="/resources/pikes.txt"`},
	{"bitstream-digest", allXML, "{md5 pike.txt}", "{md5 carp.html}"},
	{"bitstream-digest coverage-dump", allXML, "{length pike.txt}", "1"},
	{"resource-digest replay-state coverage-dump", part2, "{hash tench.json}", "{hash old/tench.json}"},
	{"resource-digest replay-state", part2, "{length tench.json}", "1"},

	// What does not fit together
	{"link-content", part1, `rel="collection" href="http://lake.example/river"`, `rel="related" href="http://lake.example/tench.json" hash="sha-256:{hash old/tench.json}"`},
	{"link-content", part2, `type="application/json"/>`, `type="application/json"/><rs:ln rel="related" href="http://lake.example/carp.html" length="7"/>`},
	{"replay-state coverage-dump resource-missing link-describes", part2, "tench.json", "trench.json"},
	{"replay-state coverage-dump event-possible", listOld, `loc>http://lake.example/pike.txt`, `loc>http://lake.example/perch.txt`},
	{"coverage-dump", listOld, "{hash old/bream.txt}", "{hash pike.txt}"},
	{"coverage-dump event-possible", oldXML, "pike.txt</loc>", "perch.txt</loc>"},
	{"coverage-changes", day3, `datetime="2026-01-03T13:00:00Z"`, `datetime="2026-01-03T14:00:00Z"`},
	{"coverage-changes bitstream-digest", day4, "{hash tench.json}", "{hash old/tench.json}"},
}

func TestEdits(t *testing.T) {
	t.Parallel()
	for i, e := range slices.Concat(edits, linkEdits) {
		name, _, _ := strings.Cut(e.rule, " ")
		t.Run(fmt.Sprintf("%03d %s", i, name), func(t *testing.T) {
			t.Parallel()
			w := good(t)
			e.apply(t, w)
			checkRules(t, w, strings.Fields(e.rule))
		})
	}
}

// apply edits the world.
func (e edit) apply(t *testing.T, w *world) {
	text := w.files[e.file]
	switch {
	case e.new == "{index}":
		text = strings.NewReplacer("urlset", "sitemapindex", "<url>", "<sitemap>", "</url>", "</sitemap>").Replace(text)
	case e.new == "{behind}":
		text = strings.Replace(strings.Replace(text, e.old, "", 1), "</urlset>", e.old+"</urlset>", 1)
	case e.old == "{swap}":
		text = swapEntries(text)
	case e.old == "{open}":
		text = strings.Replace(text, ` until="2026-01-04T00:00:00Z" hash="sha-256:{hash fish/changes-2.xml}"`, "", 1)
		w.replace(t, changes2, ` until="2026-01-04T00:00:00Z"`, "")
	case e.old == "{empty until}":
		text = strings.Replace(text, `until="2026-01-03T00:00:00Z"`, `until="2026-01-02T18:00:00Z"`, 1)
		for _, file := range []string{days12, day1} {
			w.files[file] = strings.ReplaceAll(w.files[file], `until="2026-01-03T00:00:00Z"`, `until="2026-01-02T18:00:00Z"`)
		}
	case e.old == "{nested}":
		text = strings.NewReplacer("urlset", "sitemapindex", "<url>", "<sitemap>", "</url>", "</sitemap>",
			"fish/list-old.xml", "fish/resourcelist-archives.xml", ` at="2026-01-01T00:00:00Z" hash="sha-256:{hash fish/list-old.xml}"`, "",
			`<rs:md/>`, "").Replace(text)
		w.files["fish/resourcelist-archives.xml"] = text
	default:
		w.replace(t, e.file, e.old, e.new)
		return
	}
	w.files[e.file] = text
}

// swapEntries changes the order of the two entries of a document.
func swapEntries(text string) string {
	name := "url"
	if strings.Contains(text, "<sitemap>") {
		name = "sitemap"
	}
	begin, end := "  <"+name+">", "</"+name+">\n"
	first := strings.Index(text, begin)
	second := first + 1 + strings.Index(text[first+1:], begin)
	last := strings.LastIndex(text, end) + len(end)
	return text[:first] + text[second:last] + text[first:second] + text[last:]
}

func checkRules(t *testing.T, w *world, want []string) {
	t.Helper()
	r := audit(t, w.write(t), Options{})
	slices.Sort(want)
	if got := rulesOf(r); !slices.Equal(got, want) {
		t.Errorf("broken: %v\n  want: %v\n%s", got, want, lines(r))
	}
}

// act breaks one rule in its own way.
type act struct {
	rule string // as in edit
	do   func(t *testing.T, w *world)
}

// acts are ways to break a publication that are no edits of a document.
var acts = []act{
	{"limit-entries", func(t *testing.T, w *world) {
		w.replace(t, framework, "  <url>", strings.Repeat("<url><loc>http://lake.example/fish/changes-3.xml</loc><rs:md change=\"updated\" capability=\"changelist\"/><rs:ln rel=\"index\" href=\"http://lake.example/fish/changelist.xml\"/></url>\n", 50_000)+"  <url>")
	}},
	{"limit-bytes", func(t *testing.T, w *world) {
		w.replace(t, framework, "  <url>", strings.Repeat("<!-- "+strings.Repeat("x", 60_000)+" -->\n", 900)+"  <url>")
	}},
	{"audit-limit", func(t *testing.T, w *world) {
		w.replace(t, framework, "  <url>", "<!-- "+strings.Repeat("x", 70_000)+" -->\n  <url>")
	}},
	{"audit-limit", func(t *testing.T, w *world) {
		w.replace(t, framework, "  <url>", strings.Repeat("<a:a xmlns:a=\"urn:a\">", 20)+strings.Repeat("</a:a>", 20)+"  <url>")
	}},
	{"package-zip", func(t *testing.T, w *world) { w.zips[oldZIP].bytes = func(b []byte) []byte { return b[:len(b)-30] } }},
	{"package-zip", func(t *testing.T, w *world) {
		w.zips[oldZIP].bytes = func(b []byte) []byte { b[len("PK\x03\x04....................manifest.xml....")+40] ^= 0x55; return b }
	}},
	{"package-zip", func(t *testing.T, w *world) { w.zips[oldZIP].bytes = func([]byte) []byte { return []byte("tar") } }},
	{"package-zip", func(t *testing.T, w *world) { // encrypted, as the directory says
		w.zips[oldZIP].bytes = func(b []byte) []byte {
			at := strings.LastIndex(string(b), "PK\x01\x02")
			b[at+8] |= 1
			return b
		}
	}},
	{"package-zip", func(t *testing.T, w *world) { // another method
		w.zips[oldZIP].bytes = func(b []byte) []byte {
			at := strings.LastIndex(string(b), "PK\x01\x02")
			b[at+10] = 12
			return b
		}
	}},
	{"package-zip", func(t *testing.T, w *world) { // two entries at one place
		w.zips[oldZIP].bytes = func(b []byte) []byte {
			last := strings.LastIndex(string(b), "PK\x01\x02")
			before := strings.LastIndex(string(b[:last]), "PK\x01\x02")
			copy(b[last+42:last+46], b[before+42:before+46])
			return b
		}
	}},
	{"package-unsafe", unsafeEntry("../../etc/passwd")},
	{"package-unsafe", unsafeEntry("/etc/passwd")},
	{"package-unsafe", unsafeEntry(`a\b`)},
	{"package-unsafe", unsafeEntry("C:a")},
	{"package-unsafe", unsafeEntry("a\nb")},
	{"package-unsafe", unsafeEntry("pike.txt")},
	{"package-unsafe", func(t *testing.T, w *world) {
		w.zips[oldZIP].write = func(z *zip.Writer) error {
			h := &zip.FileHeader{Name: "link"}
			h.SetMode(os.ModeSymlink | 0o777)
			_, err := z.CreateHeader(h)
			return err
		}
	}},
	{"manifest-missing", func(t *testing.T, w *world) { w.zips[allZIP].name = "-" }},
	{"manifest-missing", func(t *testing.T, w *world) { w.zips[allZIP].name = "resources/manifest.xml" }},
	{"manifest-unlisted", func(t *testing.T, w *world) {
		w.zips[allZIP].files = append(w.zips[allZIP].files, zipFile{"more.txt", "old/bream.txt"})
	}},
	{"manifest-path", func(t *testing.T, w *world) { w.zips[day4ZIP].files = w.zips[day4ZIP].files[:1] }},
	{"bitstream-digest", func(t *testing.T, w *world) { w.zips[oldZIP].files[0].file = "old/carp.html" }},
	{"bitstream-digest", func(t *testing.T, w *world) { w.zips[day4ZIP].files[1].file = "carp.html" }},
	{"contents-differ", func(t *testing.T, w *world) {
		w.zips[allZIP].inside = strings.NewReplacer("2026-01-05T00:02:00Z", "2026-01-05T00:03:00Z").Replace(w.resolved(t, allXML))
	}},
	{"contents-differ", func(t *testing.T, w *world) {
		w.zips[allZIP].inside = strings.NewReplacer("application/json", "text/json").Replace(w.resolved(t, allXML))
	}},
	{"resource-missing", after(func(dir string) error { return os.Remove(filepath.Join(dir, "pike.txt")) })},
	{"resource-missing", after(func(dir string) error {
		return os.Rename(filepath.Join(dir, "pike.txt"), filepath.Join(dir, "Pike.txt"))
	})},
	{"resource-digest", after(func(dir string) error {
		return os.WriteFile(filepath.Join(dir, "pike.txt"), []byte("Pike: waits!\n"), 0o644)
	})},
	{"resource-digest", after(func(dir string) error { return os.WriteFile(filepath.Join(dir, "pike.txt"), nil, 0o644) })},
	{"resource-elsewhere", after(func(dir string) error {
		for _, name := range []string{"carp.html", "pike.txt", "tench.json"} {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
		return nil
	})},
	{"document-missing", after(func(dir string) error { return os.Remove(filepath.Join(dir, description)) })},
	{"document-elsewhere", after(func(dir string) error { return os.Remove(filepath.Join(dir, framework)) })},
	{"resource-changed", func(t *testing.T, w *world) { // with a Resource List alone
		for _, c := range []string{"changelist", "changedump", "changelist-archive", "changedump-archive"} {
			w.replace(t, capList, `  <url><loc>http://lake.example/fish/`+c+`.xml</loc><rs:md capability="`+c+`"/></url>`+"\n", "")
		}
		w.last = append(w.last, func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "pike.txt"), []byte("Pike: waits!\n"), 0o644)
		})
	}},
	{"replay-lag", func(t *testing.T, w *world) { // the open list tells less than the Resource List
		for file, names := range map[string][]string{changes2: {"bream.txt"}, changes3: {"pike.txt"}, day3: {"bream.txt"}, day4: {"pike.txt"}} {
			for _, name := range names {
				w.replace(t, file, entryOf(t, w, file, name), "")
			}
		}
		w.zips[day4ZIP].files = w.zips[day4ZIP].files[:2]
	}},
	{"replay-state", func(t *testing.T, w *world) { // an event is missing in both
		w.replace(t, changes2, entryOf(t, w, changes2, "bream.txt"), "")
		w.replace(t, day3, entryOf(t, w, day3, "bream.txt"), "")
	}},
	{"event-possible", func(t *testing.T, w *world) { // something is deleted twice
		deleted := entryOf(t, w, changes2, "bream.txt")
		w.replace(t, changes2, deleted, deleted+strings.Replace(deleted, "T13", "T14", 1))
		w.replace(t, day3, deleted, deleted+strings.Replace(deleted, "T13", "T14", 1))
	}},
	{"order-changes", func(t *testing.T, w *world) {
		for _, file := range []string{changes2, day3} {
			w.replace(t, file, "2026-01-03T12:00:00Z\" hash", "2026-01-03T14:00:00Z\" hash")
		}
	}},
	{"coverage-changes", func(t *testing.T, w *world) { w.replace(t, day3, entryOf(t, w, day3, "bream.txt"), "") }},
	{"coverage-dump", func(t *testing.T, w *world) {
		w.replace(t, allXML, entryOf(t, w, allXML, "pike.txt"), "")
		w.zips[allZIP].files = slices.Delete(w.zips[allZIP].files, 1, 2)
	}},
	{"event-possible link-patch-change", func(t *testing.T, w *world) {
		for _, file := range []string{changes3, day4} {
			w.replace(t, file, `change="updated"`, `change="created"`)
		}
	}},
	{"interval-join", func(t *testing.T, w *world) {
		for _, file := range []string{chDump, day4} {
			w.replace(t, file, `from="2026-01-04T00:00:00Z"`, `from="2026-01-04T01:00:00Z"`)
		}
	}},
	{"interval-overlap", func(t *testing.T, w *world) {
		for _, file := range []string{chDump, day3} {
			w.replace(t, file, `until="2026-01-04T00:00:00Z"`, `until="2026-01-04T01:00:00Z"`)
		}
	}},
	{"interval-cover", func(t *testing.T, w *world) {
		for _, file := range []string{cdArchive, days12} {
			w.replace(t, file, `until="2026-01-03T00:00:00Z"`, `until="2026-01-03T00:00:01Z"`)
		}
	}},
	{"interval-join", func(t *testing.T, w *world) {
		w.replace(t, changes, `<rs:md from="2026-01-04T00:00:00Z"/>`, `<rs:md from="2026-01-04T06:00:00Z"/>`)
		w.replace(t, changes3, `from="2026-01-04T00:00:00Z"`, `from="2026-01-04T06:00:00Z"`)
	}},
	{"interval-overlap", func(t *testing.T, w *world) {
		w.replace(t, changes, `<rs:md from="2026-01-04T00:00:00Z"/>`, `<rs:md from="2026-01-03T23:00:00Z"/>`)
		w.replace(t, changes3, `from="2026-01-04T00:00:00Z"`, `from="2026-01-03T23:00:00Z"`)
	}},
}

func unsafeEntry(name string) func(*testing.T, *world) {
	return func(_ *testing.T, w *world) {
		w.zips[oldZIP].write = func(z *zip.Writer) error {
			_, err := z.CreateHeader(&zip.FileHeader{Name: name})
			return err
		}
	}
}

func after(do func(dir string) error) func(*testing.T, *world) {
	return func(_ *testing.T, w *world) { w.last = append(w.last, do) }
}

// entryOf returns the entry of a resource.
func entryOf(t *testing.T, w *world, file, name string) string {
	t.Helper()
	text := w.files[file]
	at := strings.Index(text, "/"+name+"</loc>")
	begin := strings.LastIndex(text[:max(at, 0)], "  <url>")
	end := strings.Index(text[max(at, 0):], "</url>\n")
	if at < 0 || begin < 0 || end < 0 {
		t.Fatalf("%s has no entry for %s", file, name)
	}
	return text[begin : at+end+len("</url>\n")]
}

func (w *world) resolved(t *testing.T, file string) string {
	t.Helper()
	b, err := w.resolve(file, map[string][]byte{})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestActs(t *testing.T) {
	t.Parallel()
	for i, a := range slices.Concat(acts, linkActs) {
		t.Run(fmt.Sprintf("%03d %s", i, a.rule), func(t *testing.T) {
			t.Parallel()
			w := good(t)
			a.do(t, w)
			checkRules(t, w, strings.Fields(a.rule))
		})
	}
}
