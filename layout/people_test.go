package layout

import (
	"net/url"
	"testing"
)

func TestForPeople(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ folder, set, page, style string }{
		{"", "", "resourcesync/index.html", "resourcesync/style.css"},
		{"", "resourcesync/maps", "resourcesync/index.html", "resourcesync/style.css"},
		{"a/b", "elsewhere", "a/b/index.html", "a/b/style.css"},
		{".", "", "resourcesync.html", "resourcesync.css"},
		{".", "maps", "resourcesync.html", "resourcesync.css"},
	} {
		l := mustNew(t, "https://example.org/", test.folder, PlainURIs)
		if test.set != "" {
			var err error
			if l, err = l.OfSet(test.set); err != nil {
				t.Fatal(err)
			}
		}
		if got := l.Page().Path; got != test.page {
			t.Errorf("%+v: the page is %s", test, got)
		}
		if got := l.Style().Path; got != test.style {
			t.Errorf("%+v: the style sheet is %s", test, got)
		}
		if l.IsHead(test.page) == l.IsOfSet() || l.IsHead(test.style) == l.IsOfSet() {
			t.Errorf("%+v: they are heads of the publication, and not of sets", test)
		}
	}
}

// Names such as index.html are a publication's own only beside its record.
func TestIsOwnedBeside(t *testing.T) {
	t.Parallel()
	names := map[string]bool{"a/b/publication.json": true}
	named := func(path string) bool { return names[path] }
	for name, want := range map[string]bool{
		"a/b/index.html": true, "a/b/style.css": true, "a/b/publication.json": true, "resourcesync.html": true, "resourcesync.css": true,
		"a/index.html": false, "index.html": false, "style.css": false, "a/b/c/index.html": false, "a/b/resourcesync.html": false,
		"a/../a/b/index.html": false, "a/b/../b/style.css": false, ".wellspring/index.html": false,
	} {
		if got := IsOwnedBeside(name, named); got != want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

func TestRelative(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ from, to, want string }{
		{".well-known/resourcesync", "resourcesync/style.css", "../resourcesync/style.css"},
		{".well-known/resourcesync", "resourcesync.css", "../resourcesync.css"},
		{"resourcesync/resourcelist.xml", "resourcesync/style.css", "style.css"},
		{"resourcesync/resourcelist/0.xml", "resourcesync/style.css", "../style.css"},
		{"resourcesync/maps/resourcelist/0.xml", "resourcesync/style.css", "../../style.css"},
		{"maps/resourcelist/0.xml", "resourcesync/style.css", "../../resourcesync/style.css"},
		{"resourcelist.xml", "resourcesync.css", "resourcesync.css"},
		{"resourcesync/index.html", ".well-known/resourcesync", "../.well-known/resourcesync"},
		{"a/b/c.xml", "a/style.css", "../style.css"},
		{"a/a/c.xml", "a/a/a/style.css", "a/style.css"},
		{"x.xml", `ä &"'<:>/style.css`, "%C3%A4%20%26%22%27%3C%3A%3E/style.css"},
	} {
		got := Relative(test.from, test.to)
		if got != test.want {
			t.Errorf("from %s to %s: got %s, want %s", test.from, test.to, got, test.want)
		}
		base, err := url.Parse(string(appendEscaped([]byte("https://example.org/deep/"), test.from)))
		if err != nil {
			t.Fatal(err)
		}
		if there, err := base.Parse(got); err != nil || there.Path != "/deep/"+test.to {
			t.Errorf("%s leads from %s to %v, %v", got, base, there, err)
		}
	}
}
