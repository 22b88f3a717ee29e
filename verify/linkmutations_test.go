package verify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const patchLink = `<rs:ln rel="http://www.openarchives.org/rs/terms/patch" href="http://lake.example/carp.patch" type="text/x-diff"/>`

// linkEdits are ways to break the links of resources. See Z39.99-2017 §14.
var linkEdits = []edit{
	{"link-duplicate", part1, `rel="duplicate"`, `rel="duplicate" length="{length carp.html}"`},
	{"link-duplicate", part1, `rel="duplicate"`, `rel="duplicate" length="1"`},
	{"link-duplicate", part1, `rel="duplicate"`, `rel="duplicate" hash="md5:{md5 pike.txt}"`},
	{"link-alternate", part1, ` type="application/pdf"`, ""},
	{"link-canonical", part2, `<rs:ln rel="canonical"`, `<rs:ln rel="canonical" href="http://lake.example/tinca"/><rs:ln rel="canonical"`},
	{"link-patch", changes3, ` type="application/json-patch+json"`, ""},
	{"link-patch", changes3, ` type="application/json-patch+json"`, ` type="application/octet-stream"`},
	{"link-patch", part2, `type="application/json"/>`, `type="application/json"/>` + patchLink},
	{"link-patch", day3, `path="/carp.html"/>`, `path="/carp.html"/>` + patchLink},
	{"link-patch", allXML, `path="/resources/carp.html"/>`, `path="/resources/carp.html"/>` + patchLink},
	{"link-patch-change", changes1, `type="application/json"/>`, `type="application/json"/>` + patchLink},
	{"link-patch-change", changes2, `datetime="2026-01-03T13:00:00Z"/>`, `datetime="2026-01-03T13:00:00Z"/>` + patchLink},
	{"path-form", day4, `path="/tench.patch"`, `path="tench.patch"`},
	{"manifest-path manifest-unlisted", day4, `path="/tench.patch"`, `path="/trench.patch"`},
	{"bitstream-digest", day4, `{hash tench.patch}`, `{hash pike.txt}`},
	{"link-describes", part2, `    <rs:ln rel="describes" href="http://lake.example/pike.txt"/>` + "\n", ""},
	{"link-describes", part1, `    <rs:ln rel="describedby" href="http://lake.example/tench.json" type="application/json"/>` + "\n", ""},
	{"link-describes", part1, `<rs:ln rel="collection"`, `<rs:ln rel="describedby" href="http://lake.example/tench.json"/><rs:ln rel="collection"`},
	{"link-memento", part1, `<rs:ln rel="timegate"`, `<rs:ln rel="memento" href="http://lake.example/2025/carp.html" modified="2025-01-03T12:00:00Z"/><rs:ln rel="timegate"`},
	{"link-memento-content", part1, "{length " + carpNow + `}" type="text/html"`, "{length " + carpNow + `}" type="text/plain"`},
	{"link-memento-modified", part1, ` modified="2026-01-03T12:00:00Z" hash`, ` hash`},
	{"link-timegate", part1, `rel="timegate"`, `rel="timegate" type="text/html"`},
	{"link-timemap", part1, ` type="application/link-format"`, ""},
	{"link-via", part1, `<rs:ln rel="via"`, `<rs:ln rel="via" href="http://ocean.example/pike.txt"/><rs:ln rel="via"`},
	{"link-via", part2, `<rs:ln rel="canonical"`, `<rs:ln rel="via" href="http://lake.example/pike.txt"/><rs:ln rel="canonical"`},
	{"link-self", part1, `http://mirror.example/carp.html`, `http://lake.example/carp.html`},
	{"link-self", part1, `rel="via" href="http://sea.example/pike.txt"`, `rel="VIA" href="http://lake.example/pike.txt"`},
	{"link-self", part2, `rel="profile" href="http://fish.example/terms/"`, `rel="profile" href="http://lake.example/tench.json"`},

	// What the links lead to
	{"linked-digest", changes3, "{hash tench.patch}", "{hash pike.txt}"},
	{"linked-digest", changes3, "{length tench.patch}", "1"},
	{"linked-digest link-memento-content", part1, "{hash " + carpNow + "}", "{hash " + carpOld + "}"},
	{"linked-digest link-memento-content", part1, "{length " + carpNow + "}", "{length " + carpOld + "}"},
	{"linked-digest", changes2, carpNow + `" modified="2026-01-03T12:00:00Z" hash="sha-256:{hash ` + carpNow + `}" length="{length ` + carpNow + `}"`, carpOld + `" modified="2026-01-03T12:00:00Z" hash="md5:{md5 ` + carpNow + `}"`}, // which is closed
	{"linked-missing", changes3, "http://lake.example/tench.patch", "http://lake.example/trench.patch"},
	{"linked-missing timemap-complete", part1, carpNow + `" modified`, versions + `carp.html" modified`},
	{"timemap-form", carpMap, `<http://lake.example/carp.html>; rel="original"`, `<http://lake.example/pike.txt>; rel="original"`},
	{"timemap-form", carpMap, `rel="original"`, `rel="self"`},
	{"timemap-form", carpMap, `rel="original"`, `anchor="http://lake.example/pike.txt"; rel="original"`},
	{"timemap-form", carpMap, `; datetime="Sat, 03 Jan 2026 12:00:00 GMT"`, ``},
	{"timemap-form", carpMap, `datetime="Sat, 03 Jan 2026 12:00:00 GMT"`, `datetime="2026-01-03T12:00:00Z"`},
	{"timemap-form", carpMap, `datetime="Sat, 03 Jan 2026 12:00:00 GMT"`, `datetime="Sun, 03 Jan 2026 12:00:00 GMT"`},
	{"timemap-form", carpMap, `datetime="Sat, 03 Jan 2026 12:00:00 GMT"`, `datetime="Sat, 3 Jan 2026 12:00:00 GMT"`},
	{"timemap-form", carpMap, `datetime="Sat, 03 Jan 2026 12:00:00 GMT"`, `datetime="Sat, 03 Jan 2026 12:00:00 +0000"`},
	{"timemap-form", carpMap, "<", "<!doctype html><"},
	{"timemap-form", carpMap, `rel="original",`, `rel="original"`},
	{"timemap-memento", carpMap, carpOld, versions + "old.html"},
	{"timemap-memento", carpMap, "http://lake.example/" + carpOld, "old.html"},
	{"timemap-complete", carpMap, carpNow + `>; rel="last memento"`, carpNow + `>; rel="last"`},
}

// linkActs are ways to break what links lead to, and what several sets share.
var linkActs = []act{
	{"linked-missing", after(remove(patch))},
	{"linked-missing", after(remove(carpMap))},
	{"linked-missing timemap-memento", after(remove(carpNow))},
	{"timemap-memento", after(remove(carpOld))},
	{"linked-digest", after(func(dir string) error {
		return os.WriteFile(filepath.Join(dir, patch), []byte(`[{"op":"add","path":"/weight","value":3}]`+"\n"), 0o644)
	})},
	{"audit-limit", func(_ *testing.T, w *world) { w.files[carpMap] += strings.Repeat(", ", 5<<20) }},
	{"source-index", func(t *testing.T, w *world) {
		w.files["source.xml"] = strings.Replace(w.files[description], "</urlset>", "<url><loc>http://lake.example/birds/capabilitylist.xml</loc></url></urlset>", 1)
		w.replace(t, capList, ".well-known/resourcesync", "source.xml")
	}},
}

func remove(name string) func(dir string) error {
	return func(dir string) error { return os.Remove(filepath.Join(dir, filepath.FromSlash(name))) }
}
