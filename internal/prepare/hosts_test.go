package prepare_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wellspring-sync/wellspring/internal/prepare"
	"github.com/wellspring-sync/wellspring/layout"
)

var update = flag.Bool("update", false, "rewrite the files in testdata/hosts")

func newSite(t *testing.T, id layout.Identity, sets ...string) *prepare.Site {
	t.Helper()
	l, err := layout.New(id)
	if err != nil {
		t.Fatal(err)
	}
	link := l.CapabilityList().URI
	var of []layout.Layout
	for _, folder := range sets {
		set, err := l.OfSet(folder)
		if err != nil {
			t.Fatal(err)
		}
		of, link = append(of, set), ""
	}
	s, err := prepare.NewSite(l, of, link)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What each host gets is in testdata/hosts.
func TestHosts(t *testing.T) {
	t.Parallel()
	sites := map[string]*prepare.Site{
		"plain": newSite(t, layout.Identity{BaseURL: "https://example.org/"}),
		"sets":  newSite(t, layout.Identity{BaseURL: "https://example.org/"}, "resourcesync/pages", "pictures"),
		"top":   newSite(t, layout.Identity{BaseURL: "https://example.org/", Folder: "."}),
		"below": newSite(t, layout.Identity{BaseURL: "https://example.org/project/"}),
	}
	hub := newSite(t, layout.Identity{BaseURL: "https://example.org/project/"})
	if err := hub.SetHubs([]prepare.Hub{{Topic: "https://example.org/project/resourcesync/framework.xml", Hub: "https://hub.example/?a=b&c=d"}}); err != nil {
		t.Fatal(err)
	}
	sites["hub"] = hub
	for name, s := range sites {
		for _, host := range prepare.HostNames() {
			t.Run(host+"/"+name, func(t *testing.T) {
				t.Parallel()
				checkHost(t, s, host, filepath.Join("testdata", "hosts", host+"-"+name+".txt"))
			})
		}
	}
}

func checkHost(t *testing.T, s *prepare.Site, host, golden string) {
	t.Helper()
	dir, root := openDir(t)
	r, err := s.WriteHost(root, host, false)
	if err != nil || r.Left != "" {
		t.Fatalf("got %+v, %v", r, err)
	}
	got := r.Text
	if r.File != "" {
		content, err := os.ReadFile(filepath.Join(dir, r.File))
		if err != nil {
			t.Fatal(err)
		}
		got = string(content)
	}
	got = "file: " + r.File + "\nsnippet: " + r.Name + "\nnotes: " + strings.Join(r.Notes, "\nnotes: ") + "\n\n" + got
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || got != string(want) {
		t.Errorf("got %s\nwant %s, %v", got, want, err)
	}
	if r.File == "" {
		return
	}
	if r, err := s.WriteHost(root, host, false); err != nil || r.Action != prepare.Unchanged {
		t.Errorf("the second time: got %+v, %v", r, err)
	}
}

func TestHostFilesOfOthers(t *testing.T) {
	t.Parallel()
	s := newSite(t, layout.Identity{BaseURL: "https://example.org/"})
	tests := []struct {
		name, host, file, content string
		want                      prepare.LeftAlone
	}{
		{"merged", "netlify", "_headers", "/x\n  A: b\n", ""},
		{"in place", "apache", ".htaccess", "# wellspring begin\nx\n# wellspring end\nOptions -Indexes\n", ""},
		{"no need", "github-pages", ".nojekyll", "whatever\xff", ""},
		{"broken", "apache", ".htaccess", "# wellspring begin\n", prepare.BrokenBlock},
		{"not text", "netlify", "_headers", "\xff", prepare.NotText},
		{"too large", "netlify", "_headers", strings.Repeat("# x\n", 300_000), prepare.LargeControl},
		{"too many rules", "cloudflare-pages", "_headers", strings.Repeat("/x\n  A: b\n", 95), prepare.TooManyRules},
		{"many rules", "netlify", "_headers", strings.Repeat("/x\n  A: b\n", 95), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir, root := openDir(t)
			name := filepath.Join(dir, test.file)
			if err := os.WriteFile(name, []byte(test.content), 0o644); err != nil {
				t.Fatal(err)
			}
			r, err := s.WriteHost(root, test.host, false)
			if err != nil || r.Left != test.want {
				t.Fatalf("got %+v, %v, want %q", r, err, test.want)
			}
			after, err := os.ReadFile(name)
			if err != nil || test.want != "" && string(after) != test.content {
				t.Errorf("it is %q now, %v", after, err)
			}
			_, kept, _ := strings.Cut(test.content, "# wellspring end\n")
			if kept == "" {
				kept = test.content
			}
			if !strings.Contains(string(after), kept) {
				t.Errorf("%q is not in %q", kept, after)
			}
		})
	}
}

func TestHostDirectory(t *testing.T) {
	t.Parallel()
	dir, root := openDir(t)
	if err := os.Mkdir(filepath.Join(dir, "_headers"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := newSite(t, layout.Identity{BaseURL: "https://example.org/"})
	if r, err := s.WriteHost(root, "netlify", false); err != nil || r.Left != prepare.NotRegular {
		t.Errorf("got %+v, %v", r, err)
	}
	if _, err := s.WriteHost(root, "elsewhere", false); err == nil {
		t.Error("got no error for an unknown host")
	}
}

func TestOddHubs(t *testing.T) {
	t.Parallel()
	s := newSite(t, layout.Identity{BaseURL: "https://example.org/"})
	const topic = "https://example.org/resourcesync/framework.xml"
	for _, test := range []struct {
		hub  prepare.Hub
		want error
	}{
		{prepare.Hub{Topic: topic, Hub: "https://hub.example/'"}, prepare.OddHub},
		{prepare.Hub{Topic: topic, Hub: "https://hub.example/%41"}, prepare.OddHub},
		{prepare.Hub{Topic: topic, Hub: "https://hub.example/>; rel=x, <y"}, prepare.OddHub},
		{prepare.Hub{Topic: topic, Hub: "https://hub.example/\n"}, prepare.OddHub},
		{prepare.Hub{Topic: topic, Hub: "https://hub.example/$x"}, prepare.OddHub},
		{prepare.Hub{Topic: topic, Hub: "https://hub.example/{x}"}, prepare.OddHub},
		{prepare.Hub{Topic: topic, Hub: ""}, prepare.OddHub},
		{prepare.Hub{Topic: "https://example.org/a'b", Hub: "https://hub.example/"}, prepare.OddPath},
		{prepare.Hub{Topic: "https://example.org", Hub: "https://hub.example/"}, prepare.OddPath},
	} {
		if err := s.SetHubs([]prepare.Hub{test.hub}); !errors.Is(err, test.want) || s.Hubs != nil {
			t.Errorf("%+v: got %v and %v", test.hub, err, s.Hubs)
		}
	}
}

func TestOddPaths(t *testing.T) {
	t.Parallel()
	for _, id := range []layout.Identity{
		{BaseURL: "https://example.org/a$b/"},
		{BaseURL: "https://example.org/", Folder: "it's"},
		{BaseURL: "https://example.org/", Folder: "a b"},
		{BaseURL: "https://example.org/", Folder: "a\nb"},
	} {
		l, err := layout.New(id)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := prepare.NewSite(l, nil, l.CapabilityList().URI); !errors.Is(err, prepare.OddPath) {
			t.Errorf("%q: got %v", id, err)
		}
	}
}
