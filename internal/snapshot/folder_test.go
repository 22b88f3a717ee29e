package snapshot

import (
	"testing"
	"testing/fstest"

	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// TestFolderOf follows the style sheet of the Source Description, which is that of all
// sets, but to no other files.
func TestFolderOf(t *testing.T) {
	t.Parallel()
	l, err := layout.New(layout.Identity{BaseURL: "https://example.org/"})
	if err != nil {
		t.Fatal(err)
	}
	record := &fstest.MapFile{Data: []byte("{}")}
	for _, tt := range []struct {
		style, want string
		records     []string
	}{
		{"../rs/style.css", "rs", []string{"rs/publication.json"}},
		{"../a%20b/c/style.css", "a b/c", []string{"a b/c/publication.json"}},
		{"../resourcesync.css", ".", []string{"publication.json"}},
		{"../rs/style.css", "resourcesync", []string{"rs/publication.json", "resourcesync/publication.json"}},
		{"../rs/style.css", "resourcesync", nil},
		{"../rs/other.css", "resourcesync", []string{"rs/publication.json"}},
		{"../style.css", "resourcesync", []string{"publication.json"}},
		{"../../rs/style.css", "resourcesync", []string{"rs/publication.json"}},
		{"style.css", "resourcesync", []string{".well-known/publication.json"}},
		{"", "resourcesync", []string{"publication.json"}},
	} {
		doc := &resourcesync.Document{Style: tt.style, Metadata: resourcesync.Metadata{Capability: resourcesync.Description}}
		b, err := resourcesync.Marshal(doc, []resourcesync.Entry{
			{Loc: "https://example.net/rs/a/capabilitylist.xml", Metadata: resourcesync.Metadata{Capability: resourcesync.CapabilityList}},
			{Loc: "https://example.net/rs/b/capabilitylist.xml", Metadata: resourcesync.Metadata{Capability: resourcesync.CapabilityList}},
		})
		if err != nil {
			t.Fatal(err)
		}
		files := fstest.MapFS{l.SourceDescription().Path: {Data: b}}
		for _, name := range tt.records {
			files[name] = record
		}
		if got := FolderOf(files, l); got != tt.want {
			t.Errorf("with the style sheet %q and the records %q, it is in %s, want %s", tt.style, tt.records, got, tt.want)
		}
	}
}
