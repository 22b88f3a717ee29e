package verify

import (
	"slices"
	"strings"
	"testing"
)

// TestAgainst compares copies of a publication. older breaks the older copy, and
// newer the one that is audited.
func TestAgainst(t *testing.T) {
	t.Parallel()
	tench := `<url><loc>http://lake.example/tench.json</loc><rs:md change="updated" datetime="2026-01-04T11:00:00Z" hash="sha-256:{hash tench.json}"/></url>` + "\n"
	for _, test := range []struct {
		name, rule   string
		older, newer func(w *world)
	}{
		{"same", "", nil, nil},
		{"goes on", "", func(w *world) { // one change is new
			w.replace(t, changes3, entryOf(t, w, changes3, "tench.json"), "")
			w.replace(t, changes3, entryOf(t, w, changes3, "pike.txt"), "")
			w.replace(t, resList, `at="2026-01-05T00:00:00Z"`, `at="2026-01-04T06:00:00Z"`)
		}, nil},
		{"closed list", "closed-altered", nil, func(w *world) {
			w.replace(t, changes2, "<lastmod>2026-01-03T12:00:00Z", "<lastmod>2026-01-03T11:00:00Z")
		}},
		{"archived list", "closed-altered", nil, func(w *world) { w.replace(t, listOld, "<url>", "<url> ") }},
		{"open list", "", nil, func(w *world) {
			w.replace(t, changes3, "<lastmod>2026-01-04T12:00:00Z", "<lastmod>2026-01-04T11:00:00Z")
		}},
		{"lost change", "event-lost", func(w *world) { w.replace(t, changes3, "  <url>", tench+"  <url>") }, nil},
		{"other time", "event-late event-lost", func(w *world) {
			w.replace(t, changes3, "datetime=\"2026-01-04T12", "datetime=\"2026-01-04T13")
		}, nil},
		{"begins later", "event-lost", func(w *world) {
			w.replace(t, resList, `at="2026-01-05T00:00:00Z"`, `at="2026-01-02T00:00:00Z"`)
			w.replace(t, changes, "changes-2.xml", "changes-1.xml")
			w.replace(t, changes, `<rs:md from="2026-01-03T00:00:00Z" until="2026-01-04T00:00:00Z" hash="sha-256:{hash fish/changes-2.xml}"/>`, "")
			w.replace(t, changes, "  <sitemap>\n    <loc>http://lake.example/fish/changes-3.xml</loc>\n    <rs:md from=\"2026-01-04T00:00:00Z\"/>\n  </sitemap>\n", "")
		}, func(w *world) {
			w.replace(t, changes, `<rs:md capability="changelist" from="2026-01-03T00:00:00Z"/>`, `<rs:md capability="changelist" from="2026-01-04T00:00:00Z"/>`)
			second := w.files[changes][strings.Index(w.files[changes], "  <sitemap>"):]
			second = second[:strings.Index(second, "</sitemap>\n")+len("</sitemap>\n")]
			w.replace(t, changes, second, "")
			w.replace(t, chArchive, "</urlset>", strings.ReplaceAll(second, "sitemap>", "url>")+"</urlset>")
		}},
		{"newer", "older-copy", func(w *world) { w.replace(t, resList, `at="2026-01-05T00:00:00Z"`, `at="2026-02-05T00:00:00Z"`) }, nil},
		{"another Source", "older-copy", func(w *world) {
			w.files["birds/capabilitylist.xml"] = w.files[capList]
			w.replace(t, description, "fish/", "birds/")
		}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			older, newer := good(t), good(t)
			if test.older != nil {
				test.older(older)
			}
			if test.newer != nil {
				test.newer(newer)
			}
			r := audit(t, newer.write(t), Options{Against: older.write(t)})
			if got := rulesOf(r); !slices.Equal(got, strings.Fields(test.rule)) {
				t.Errorf("broken: %v\n  want: %v\n%s", got, test.rule, lines(r))
			}
		})
	}
}

func TestAgainstNothing(t *testing.T) {
	t.Parallel()
	if _, err := Check(t.Context(), good(t).write(t), Options{Against: t.TempDir()}); err == nil {
		t.Error("an empty directory was taken for an older copy")
	}
	broken := good(t)
	broken.replace(t, changes2, "</urlset>", "")
	if _, err := Check(t.Context(), good(t).write(t), Options{Against: broken.write(t)}); err == nil {
		t.Error("a copy that cannot be read was compared with")
	}
}
