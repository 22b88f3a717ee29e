package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

func TestParseSince(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 10, 12, 0, 0, 0, time.UTC)
	for s, want := range map[string]string{
		"2026-01-02": "2026-01-02T00:00:00Z", "2026-01-02T03:04:05Z": "2026-01-02T03:04:05Z", "2026-01-02T03:04:05+02:00": "2026-01-02T01:04:05Z",
		"2025": "2025-01-01T00:00:00Z", "36h": "2026-01-09T00:00:00Z", "7d": "2026-01-03T12:00:00Z", "1w": "2026-01-03T12:00:00Z",
		"0": "2026-01-10T12:00:00Z",
	} {
		if got, err := parseSince(s, now); err != nil || resourcesync.FormatDateTime(got) != want {
			t.Errorf("%q: got %v, %v, want %s", s, got, err, want)
		}
	}
	if got, err := parseSince("all", now); err != nil || !got.IsZero() {
		t.Errorf("all: got %v, %v", got, err)
	}
	for _, s := range []string{"yesterday", "7", "7 d", "2026-13-01", "-1d", "2026-01-02 03:04"} {
		if got, err := parseSince(s, now); err == nil {
			t.Errorf("%q: got %v", s, got)
		}
	}
}

func TestResourceURI(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		form    layout.Form
		s, want string
	}{
		{"", "a.txt", "https://example.org/x/a.txt"},
		{"", "/a.txt", "https://example.org/x/a.txt"},
		{"", "a%20b", "https://example.org/x/a%20b"},
		{"", "a b", "https://example.org/x/a%20b"},
		{"", "é?#", "https://example.org/x/%C3%A9%3F%23"},
		{"", "50%", "https://example.org/x/50%25"},
		{"", "https://example.com/y", "https://example.com/y"},
		{"", "http://example.com/y", "http://example.com/y"},
		{layout.IndexURIs, "about/", "https://example.org/x/about/"},
		{layout.IndexURIs, "about/index.html", "https://example.org/x/about/"},
		{layout.CleanURIs, "about", "https://example.org/x/about"},
	} {
		l, err := layout.New(layout.Identity{BaseURL: "https://example.org/x", Form: tt.form})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := resourceURI(l, tt.s); err != nil || got != tt.want {
			t.Errorf("%q with form %q: got %s, %v, want %s", tt.s, tt.form, got, err, tt.want)
		}
	}
	if got, err := resourceURI(layout.Layout{}, "a.txt"); err == nil {
		t.Errorf("without a base URL: got %s", got)
	}
}

func TestShortHash(t *testing.T) {
	t.Parallel()
	for h, want := range map[resourcesync.Hash]string{
		"sha-256:770076f6591edb2e9d865199362069de44ba120fd7702b03a1c9363a64befc09": "sha-256:770076f6591e",
		"md5:1584abdf8ebdc9802ac0c6a7402c03b6 sha-1:00":                            "md5:1584abdf8ebd",
		"md5:15": "md5:15",
	} {
		if got := shortHash(h); got != want {
			t.Errorf("%s: got %s, want %s", h, got, want)
		}
	}
}

// TestServer goes on from a publication on a server, and tells its changes.
func TestServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	source, live := filepath.Join(dir, "source"), filepath.Join(dir, "live")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		http.FileServer(http.Dir(live)).ServeHTTP(w, r)
	}))
	defer server.Close()
	call := func(args ...string) (string, string, int) {
		var stdout, stderr strings.Builder
		code := run(t.Context(), args, &stdout, &stderr)
		return stdout.String(), stderr.String(), code
	}
	for i, now := range []string{"2024-02-01", "2024-02-02", "2024-02-20", "2024-02-21"} {
		if err := os.MkdirAll(source, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(source, "a"), []byte(strings.Repeat("x", i)), 0o644); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(dir, now)
		args := []string{
			"build", source, "--out", out, "--base-url", server.URL, "--now", now, "--cache", "none", "--rotate", "run",
			"--keep-changes", "7d", "--archive", "--previous", server.URL, "--header", "Authorization: Bearer secret",
		}
		if i == 0 {
			args = append(args, "--first-run")
		}
		if stdout, stderr, code := call(args...); code != 0 {
			t.Fatalf("%s: %d\n%s%s", now, code, stdout, stderr)
		}
		if err := os.RemoveAll(live); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(out, live); err != nil {
			t.Fatal(err)
		}
	}
	there, stderr, code := call("log", server.URL, "--header", "Authorization: Bearer secret")
	if code != 0 || strings.Count(there, "1 updated") != 3 {
		t.Errorf("%d\n%s%s", code, there, stderr)
	}
	if here, _, _ := call("log", live); here != there {
		t.Errorf("in the directory:\n%son the server:\n%s", here, there)
	}
	_, stderr, code = call("log", server.URL, "--header", "Authorization: Bearer other")
	if code != 1 || strings.Contains(stderr, "other") || !strings.Contains(stderr, "--header") {
		t.Errorf("without permission: %d\n%s", code, stderr)
	}
}
