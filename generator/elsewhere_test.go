package generator

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/remote"
)

// server serves a directory, and counts requests.
type server struct {
	*httptest.Server
	dir      string
	requests atomic.Int64
	fail     atomic.Pointer[answer]
}

// answer may answer a request instead of the server, and says whether it does.
type answer func(n int64, w http.ResponseWriter, r *http.Request) bool

func serve(t tester, dir string) *server {
	t.Helper()
	s := &server{dir: dir}
	files := http.FileServer(http.Dir(dir))
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := s.requests.Add(1)
		if fail := s.fail.Load(); fail != nil && (*fail)(n, w, r) {
			return
		}
		files.ServeHTTP(w, r)
	}))
	return s
}

// uploaded copies what was built, as an upload that replaces the whole site.
func uploaded(t tester, from, to string) {
	t.Helper()
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// TestElsewhere has one history built on a disk that stays and on one that is
// empty each time: the publications are the same.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"URL", "directory"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := newArchived(t)
			w.options.ArchiveKeep = policy.ArchiveKeep{Daily: 2}
			w.options.limits = smallLists
			w.options.Rotate = policy.Rotation{Period: "run"}
			w.options.KeepChanges = policy.KeepFor(2 * oneDay)
			site := filepath.Join(t.TempDir(), "site")
			s := serve(t, site)
			defer s.Close()
			place := site
			if kind == "URL" {
				place = s.URL
			}
			for i := range 6 {
				w.now = w.now.Add(oneDay)
				w.file("new", strings.Repeat("x", i), longAgo)
				w.file(fmt.Sprintf("d0/file-%03d.txt", 3*i), strings.Repeat("y", 20+i), longAgo)
				now := w.now
				w.build()
				w.now = now
				empty := filepath.Join(t.TempDir(), "out")
				w.build(func(o *Options) {
					o.Out, o.Cache = empty, ""
					o.Previous = policy.Previous{Place: place, First: i == 0}
				})
				if diff := cmp.Diff(tree(t, w.out), tree(t, empty)); diff != "" {
					t.Fatalf("run %d (-disk that stays +empty disk):\n%s", i, diff)
				}
				readAll(t, empty)
				uploaded(t, empty, site)
				again := filepath.Join(t.TempDir(), "again")
				report := w.build(func(o *Options) {
					o.Out, o.DryRun, o.Previous = again, true, policy.Previous{Place: place}
				})
				if report.Wrote {
					t.Errorf("a dry run would write %v", report.Heads)
				}
				if _, err := os.Stat(again); err == nil {
					t.Errorf("a dry run made its output directory")
				}
			}
		})
	}
}

// TestElsewhereFails has a server that fails at each request in turn: the run ends
// with an error and no half of a publication, or as it should.
func TestElsewhereFails(t *testing.T) {
	t.Parallel()
	w := newArchived(t)
	w.build()
	w.file("new", "x", longAgo)
	w.build()
	site := filepath.Join(t.TempDir(), "site")
	uploaded(t, w.out, site)
	w.file("newer", "y", longAgo)
	now := w.now
	w.build()
	want := tree(t, w.out)
	s := serve(t, site)
	defer s.Close()
	build := func() (string, error) {
		s.requests.Store(0)
		w.now = now
		out := filepath.Join(t.TempDir(), "out")
		_, err := w.run(func(o *Options) {
			o.Out, o.Cache, o.Previous = out, "", policy.Previous{Place: s.URL, Retries: -1}
		})
		return out, err
	}
	if _, err := build(); err != nil {
		t.Fatal(err)
	}
	requests := s.requests.Load()
	step := max(1, requests/8)
	if os.Getenv("WELLSPRING_LONG") != "" {
		step = 1
	}
	for n := int64(1); n <= requests; n += step {
		for _, status := range []int{http.StatusInternalServerError, http.StatusNotFound, 0} {
			fail := answer(func(at int64, w http.ResponseWriter, _ *http.Request) bool {
				switch {
				case at != n:
					return false
				case status == 0: // an error page that says it is fine
					fmt.Fprint(w, "<!doctype html><p>Not here</p>")
				default:
					w.WriteHeader(status)
				}
				return true
			})
			s.fail.Store(&fail)
			out, err := build()
			got := tree(t, out)
			if err == nil {
				if diff := cmp.Diff(want, got); diff != "" && status != http.StatusNotFound {
					t.Errorf("%d at request %d:\n%s", status, n, diff)
				}
				continue
			}
			if errors.Is(err, policy.ErrChanged) { // it was the record that was not there for a moment
				continue
			}
			if _, ok := got["resourcesync/publication.json"]; !ok && len(got) > 0 {
				t.Errorf("%d at request %d left %d files: %v", status, n, len(got), err)
			}
		}
	}
}

func TestElsewhereIsMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir()).seed(3)
	s := serve(t, t.TempDir())
	defer s.Close()
	from := func(p policy.Previous) func(*Options) {
		p.Retries = -1
		return func(o *Options) { o.Previous = p }
	}
	var missing *policy.MissingError
	if _, err := w.run(from(policy.Previous{Place: s.URL})); !errors.As(err, &missing) {
		t.Errorf("nothing is there: got %v", err)
	}
	if _, err := w.run(from(policy.Previous{Required: true})); !errors.As(err, &missing) {
		t.Errorf("nothing is in the output directory: got %v", err)
	}
	if files := tree(t, w.out); len(files) > 0 {
		t.Errorf("%d files were written", len(files))
	}
	w.build(from(policy.Previous{Place: s.URL, First: true}))
	uploaded(t, w.out, s.dir)
	w.file("new", "x", longAgo)
	var refusal *policy.Refusal
	if _, err := w.run(from(policy.Previous{Place: s.URL, First: true})); !errors.As(err, &refusal) {
		t.Errorf("a first run where there is a publication: got %v", err)
	}
	for name, fail := range map[string]func(w http.ResponseWriter){
		"forbidden":         func(w http.ResponseWriter) { w.WriteHeader(http.StatusForbidden) },
		"out of order":      func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) },
		"a page for errors": func(w http.ResponseWriter) { fmt.Fprint(w, "<!DOCTYPE html><p>Gone") },
	} {
		fails := answer(func(_ int64, w http.ResponseWriter, _ *http.Request) bool { fail(w); return true })
		s.fail.Store(&fails)
		for _, first := range []bool{true, false} {
			_, err := w.run(from(policy.Previous{Place: s.URL, First: first}))
			var server *remote.Error
			if !errors.As(err, &server) || errors.As(err, &missing) {
				t.Errorf("%s, first %v: got %v", name, first, err)
			}
		}
	}
}

// TestElsewhereChanges has another run publish in the meantime.
func TestElsewhereChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir()).seed(3)
	w.build()
	site := filepath.Join(t.TempDir(), "site")
	uploaded(t, w.out, site)
	s := serve(t, site)
	defer s.Close()
	w.file("new", "x", longAgo)
	record := filepath.Join(site, "resourcesync", "publication.json")
	_, err := w.run(func(o *Options) {
		o.Out, o.Previous = filepath.Join(t.TempDir(), "out"), policy.Previous{Place: s.URL}
		o.OnChange = func(policy.Change) {
			b, _ := os.ReadFile(record)
			os.WriteFile(record, append(b, '\n'), 0o644)
		}
	})
	if !errors.Is(err, policy.ErrChanged) {
		t.Errorf("got %v", err)
	}
}

// TestElsewhereOverAnother takes over a publication where an older one is.
func TestElsewhereOverAnother(t *testing.T) {
	t.Parallel()
	w := newDumps(t)
	w.options.Grace = -1
	w.build()
	stale := filepath.Join(t.TempDir(), "stale")
	uploaded(t, w.out, stale)
	for i := range 3 {
		w.now = w.now.Add(oneDay)
		w.file("new", strings.Repeat("x", i), longAgo)
		w.build()
	}
	w.file("new", "changed", longAgo)
	now := w.now.Add(time.Hour)
	site := filepath.Join(t.TempDir(), "site")
	uploaded(t, w.out, site)
	for _, out := range []string{w.out, stale} {
		w.now = now
		w.build(func(o *Options) { o.Out, o.Previous = out, policy.Previous{Place: site} })
		readAll(t, out)
	}
	if diff := cmp.Diff(tree(t, w.out), tree(t, stale)); diff != "" {
		t.Errorf("(-up to date +stale):\n%s", diff)
	}
}

// TestElsewhereStays leaves the bodies where they are: with what is retained and
// what is new, the publication is the same.
func TestElsewhereStays(t *testing.T) {
	t.Parallel()
	w := newArchived(t)
	w.options.limits = smallLists
	w.options.Rotate = policy.Rotation{Period: "run"}
	w.options.KeepChanges = policy.KeepFor(0)
	w.options.Grace = -1
	bucket := filepath.Join(t.TempDir(), "bucket")
	s := serve(t, bucket)
	defer s.Close()
	for i := range 5 {
		w.now = w.now.Add(oneDay)
		w.file("new", strings.Repeat("x", i), longAgo)
		now := w.now
		w.build()
		w.now = now
		out := filepath.Join(t.TempDir(), "out")
		w.build(func(o *Options) {
			o.Out, o.Cache = out, ""
			o.Previous = policy.Previous{Place: s.URL, First: i == 0, LeaveBodies: true}
		})
		retained, err := os.ReadFile(filepath.Join(out, "resourcesync", policy.RetainedFile))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(out, "resourcesync", policy.RetainedFile)); err != nil {
			t.Fatal(err)
		}
		added := len(tree(t, out))
		for name := range strings.Lines(string(retained)) {
			name = strings.TrimSuffix(name, "\n")
			b, err := os.ReadFile(filepath.Join(bucket, name))
			if err != nil {
				t.Fatalf("run %d: %v", i, err)
			}
			if err := os.MkdirAll(filepath.Dir(filepath.Join(out, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(out, name), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		all := tree(t, out)
		if diff := cmp.Diff(tree(t, w.out), all); diff != "" {
			t.Fatalf("run %d (-disk that stays +bucket):\n%s", i, diff)
		}
		if i > 1 && added > len(all)/2 {
			t.Errorf("run %d wrote %d of %d files", i, added, len(all))
		}
		uploaded(t, out, bucket)
	}
}
