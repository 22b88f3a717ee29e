package verify

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestLimits sees that each limit ends what it is meant to end, and names itself.
func TestLimits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, rule, message string
		limits              Limits
		do                  func(w *world)
	}{
		{"document", "audit-limit", "longer than 5000 bytes", Limits{DocumentBytes: 5000}, func(w *world) {
			w.replace(t, framework, "  <url>", "<!-- "+strings.Repeat("x", 6000)+" -->  <url>")
		}},
		{"entries", "audit-limit", "more than 9 entries", Limits{Entries: 9}, func(w *world) {
			w.replace(t, framework, "  <url>", strings.Repeat("<url><loc>http://lake.example/fish/changes-3.xml</loc><rs:md change=\"updated\" capability=\"changelist\"/></url>\n", 9)+"  <url>")
		}},
		{"token", "audit-limit", "longer than 3000 bytes", Limits{Token: 3000}, func(w *world) {
			w.replace(t, framework, "  <url>", "<url><loc>http://lake.example/"+strings.Repeat("a", 4000)+"</loc></url>  <url>")
		}},
		{"documents", "audit-limit", "more than 20 documents", Limits{Documents: 20}, nil},
		{"TimeMap", "audit-limit", "longer than 100 bytes", Limits{TimeMapBytes: 100}, nil},
		{"files in a package", "audit-limit", "5 files or more, which is more than 4", Limits{PackageFiles: 4}, func(w *world) {
			w.zips["fish/day-1.zip"].files = append(w.zips["fish/day-1.zip"].files, zipFile{"a", "pike.txt"}, zipFile{"b", "pike.txt"}, zipFile{"c", "pike.txt"})
			for _, name := range []string{"fish/all.zip", "fish/old.zip"} {
				z := w.zips[name]
				z.files = z.files[:2]
				text := w.files[z.manifest]
				last := strings.LastIndex(text, "  <url>")
				w.files[z.manifest] = text[:last] + "</urlset>\n"
			}
		}},
		{"bomb", "audit-limit", "more than 10 times as long", Limits{Inflation: 10, Inflated: 100_000}, func(w *world) {
			w.zips["fish/day-1.zip"].write = func(z *zip.Writer) error {
				f, err := z.Create("zeros")
				if err == nil {
					_, err = f.Write(make([]byte, 10<<20))
				}
				return err
			}
			w.replace(t, day1, "</urlset>", `<url><loc>http://lake.example/zeros</loc><rs:md change="created" datetime="2026-01-02T13:00:00Z" type="a/b" path="/zeros"/></url></urlset>`)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := good(t)
			if test.do != nil {
				test.do(w)
			}
			r := audit(t, w.write(t), Options{Limits: test.limits})
			if !slices.Contains(rulesOf(r), test.rule) || !strings.Contains(lines(r), test.message) {
				t.Errorf("no %q in\n%s", test.message, lines(r))
			}
		})
	}
}

// TestManyFindings keeps some findings of a rule and counts the others.
func TestManyFindings(t *testing.T) {
	t.Parallel()
	w := good(t)
	w.replace(t, framework, "  <url>", strings.Repeat("<url><loc>there</loc><rs:md change=\"updated\" capability=\"changelist\"/></url>\n", 100)+"  <url>")
	r := audit(t, w.write(t), Options{Limits: Limits{Findings: 7}})
	if len(r.Findings) != 7 || r.More["loc-uri"] != 93 || r.Errors != 100 {
		t.Errorf("%d findings, %v more, %d errors", len(r.Findings), r.More, r.Errors)
	}
}

// TestLedgerOnDisk judges the same when histories go to files.
func TestLedgerOnDisk(t *testing.T) {
	t.Parallel()
	for _, e := range []edit{{}, {"replay-state", part2, "tench.json", "trench.json"}, {"event-possible", changes3, "updated", "created"}} {
		w := good(t)
		if e.file != "" {
			w.replace(t, e.file, e.old, e.new)
		}
		dir := w.write(t)
		want := audit(t, dir, Options{})
		got := audit(t, dir, Options{Limits: Limits{Memory: 1}})
		if lines(got) != lines(want) {
			t.Errorf("on disk:\n%s\nin memory:\n%s", lines(got), lines(want))
		}
	}
}

// TestWorkers finds the same with any number of workers.
func TestWorkers(t *testing.T) {
	t.Parallel()
	w := good(t)
	w.replace(t, part2, "<lastmod>2026-01-04T12:00:00Z", "<lastmod>yesterday")
	w.replace(t, part1, `pri="1"`, `pri="0"`)
	w.replace(t, day3, `datetime="2026-01-03T13:00:00Z"`, `datetime="2026-01-03T14:00:00Z"`)
	dir := w.write(t)
	want := lines(audit(t, dir, Options{Jobs: 1}))
	for range 5 {
		if got := lines(audit(t, dir, Options{Jobs: 8})); got != want {
			t.Fatalf("8 workers:\n%s\n1 worker:\n%s", got, want)
		}
	}
}

// TestOddFiles meets what is no file where files are expected.
func TestOddFiles(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need a privilege there")
	}
	dir := good(t).write(t)
	outside := filepath.Join(t.TempDir(), "secret")
	for _, err := range []error{
		os.WriteFile(outside, []byte("Pike: waits.\n"), 0o644),
		os.Remove(filepath.Join(dir, "pike.txt")),
		os.Symlink(outside, filepath.Join(dir, "pike.txt")),
		os.Remove(filepath.Join(dir, framework)),
		os.Mkdir(filepath.Join(dir, framework), 0o755),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	r := audit(t, dir, Options{})
	if got, want := rulesOf(r), []string{"document-elsewhere", "resource-missing"}; !slices.Equal(got, want) {
		t.Errorf("%v\n%s", got, lines(r))
	}
}

// TestRulesAreTested sees that each rule has a publication that breaks it.
func TestRulesAreTested(t *testing.T) {
	t.Parallel()
	tested := map[string]bool{"well-known": true, "closed-altered": true, "event-lost": true, "event-late": true, "source-lists": true, "older-copy": true} // in tests of their own
	for _, e := range slices.Concat(edits, linkEdits) {
		for name := range strings.FieldsSeq(e.rule) {
			tested[name] = true
		}
	}
	for _, a := range slices.Concat(acts, linkActs) {
		for name := range strings.FieldsSeq(a.rule) {
			tested[name] = true
		}
	}
	for _, a := range answers {
		tested[a.rule] = true
	}
	for _, r := range Rules() {
		if !tested[r.Name] {
			t.Errorf("nothing breaks the rule %s", r.Name)
		}
		if r.Title == "" || r.Section == "" || len(r.Explanation) < 50 || FindRule(r.Name) != r {
			t.Errorf("the rule %s is not explained", r.Name)
		}
	}
	if n := len(edits) + len(acts) + len(answers); n < 120 {
		t.Errorf("only %d ways to break a publication", n)
	}
}

// FuzzAudit changes a few bytes of one file of a publication.
func FuzzAudit(f *testing.F) {
	w := good(f)
	dir := w.write(f)
	var names []string
	for name := range w.files {
		names = append(names, name)
	}
	for name := range w.zips {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, e := range edits[:20] {
		f.Add(uint8(i), uint32(100*i), uint8(i), []byte(e.new))
	}
	f.Fuzz(func(t *testing.T, which uint8, at uint32, n uint8, with []byte) {
		file := filepath.Join(dir, filepath.FromSlash(names[int(which)%len(names)]))
		was, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		from := int(at) % (len(was) + 1)
		to := min(from+int(n), len(was))
		if err := os.WriteFile(file, slices.Concat(was[:from], with, was[to:]), 0o644); err != nil {
			t.Fatal(err)
		}
		defer os.WriteFile(file, was, 0o644)
		r, err := Check(t.Context(), dir, Options{Jobs: 1, Limits: Limits{DocumentBytes: 1 << 20, Inflated: 1 << 20, Findings: 20}})
		if err != nil && !strings.Contains(err.Error(), "no publication") {
			t.Fatal(err)
		}
		if err == nil {
			var b bytes.Buffer
			if err := r.WriteJUnit(&b); err != nil {
				t.Fatal(err)
			}
			if err := r.WriteSARIF(&b, "test"); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func BenchmarkDocuments(b *testing.B) {
	for _, n := range []int{10_000, 50_000} {
		b.Run(fmt.Sprintf("resources=%d", n), func(b *testing.B) {
			var text strings.Builder
			text.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">` + "\n")
			text.WriteString(`<rs:md capability="resourcelist" at="2026-01-05T00:00:00Z"/>` + "\n" + `<rs:ln rel="up" href="http://lake.example/fish/capabilitylist.xml"/>` + "\n")
			for i := range n {
				fmt.Fprintf(&text, `<url><loc>http://lake.example/%06d.txt</loc><lastmod>2026-01-04T12:00:00Z</lastmod><rs:md hash="sha-256:%064x" length="%d" type="text/plain"/></url>`+"\n", i, i, i)
			}
			text.WriteString("</urlset>\n")
			dir := b.TempDir()
			file := filepath.Join(dir, "resourcelist.xml")
			if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(text.Len()))
			b.ReportAllocs()
			for b.Loop() {
				if r := audit(b, file, Options{}); r.Entries != n || r.Errors > 0 {
					b.Fatal(lines(r))
				}
			}
		})
	}
}
