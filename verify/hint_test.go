package verify

import (
	"context"
	"net/http"
	"strings"
	"testing"
)

// What keeps .well-known from being served, and what helps, depends on the host.
func TestHintsOfHosts(t *testing.T) {
	t.Parallel()
	dir := good(t).write(t)
	for name, test := range map[string]struct{ url, server, want string }{
		"by name":       {"http://user.github.io/", "", "include-hidden-files: true"},
		"by the server": {lake, "nginx/1.22.1", "prepare --host nginx"},
		"Apache":        {lake, "Apache/2.4.71 (Debian)", "prepare --host apache"},
		"Caddy":         {lake, "Caddy", "prepare --host caddy"},
		"S3":            {lake, "AmazonS3", "s3deploy"},
		"Azure":         {lake, "Windows-Azure-Web/1.0", "$web"},
		"another":       {lake, "own", "names that begin with a dot"},
		"none":          {lake, "", "names that begin with a dot"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, dir)
			s.change = func(w http.ResponseWriter, r *http.Request) bool {
				w.Header().Set("Server", test.server)
				return strings.Contains(r.URL.Path, ".well-known") && status(404)(w, r)
			}
			_, err := Check(context.Background(), test.url, s.options())
			if err == nil || !strings.Contains(err.Error(), "no Source was found") || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
			if test.url != lake {
				return
			}
			checkHint(t, audit(t, lake+"fish/capabilitylist.xml", s.options()), test.want)
		})
	}
}

func checkHint(t *testing.T, r *Report, want string) {
	t.Helper()
	for _, f := range r.Findings {
		if f.Rule == wellKnown {
			if !strings.Contains(f.Hint, want) {
				t.Errorf("the hint is %q", f.Hint)
			}
			return
		}
	}
	t.Errorf("nothing is said of the well-known URI: %v", rulesOf(r))
}

// A publication below the top of its host may not be able to have the well-known URI.
func TestHintBelowTop(t *testing.T) {
	t.Parallel()
	s := serve(t, good(t).write(t))
	s.change = func(w http.ResponseWriter, r *http.Request) bool {
		rest, below := strings.CutPrefix(r.URL.Path, "/sub/")
		if !below {
			return strings.HasPrefix(r.URL.Path, "/.well-known/") && status(404)(w, r)
		}
		http.ServeFile(w, r, s.dir+"/"+rest)
		return true
	}
	checkHint(t, audit(t, lake+"sub/", s.options()), "It is at "+lake+"sub/.well-known/resourcesync, below the top")
}
