package snapshot

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// published returns a publication with a publication URL of its own.
func published(t *testing.T, folder string, hasRecord bool) (fstest.MapFS, layout.Layout) {
	t.Helper()
	l, err := layout.New(layout.Identity{BaseURL: "https://example.org/", PublicationURL: "https://pub.example.org/a/b%20c/", Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	put := func(ref layout.Ref, doc resourcesync.Document, entries ...resourcesync.Entry) {
		b, err := resourcesync.Marshal(&doc, entries)
		if err != nil {
			t.Fatal(err)
		}
		files[ref.Path] = &fstest.MapFile{Data: b}
	}
	put(l.SourceDescription(), resourcesync.Document{Metadata: resourcesync.Metadata{Capability: resourcesync.Description}},
		resourcesync.Entry{Loc: l.CapabilityList().URI, Metadata: resourcesync.Metadata{Capability: resourcesync.CapabilityList}})
	put(l.ChangeList(), resourcesync.Document{
		Metadata: resourcesync.Metadata{Capability: resourcesync.ChangeList, From: time.Unix(1e9, 0)},
		Links:    []resourcesync.Link{{Rel: resourcesync.RelUp, Href: l.CapabilityList().URI}},
	})
	if !hasRecord {
		return files, l
	}
	h, err := HeadOf(files, l.ChangeList().Path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := (&Record{Format: RecordFormat, Identity: l.Identity, At: time.Unix(2e9, 0), Heads: []Head{h}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	files[l.Record().Path] = &fstest.MapFile{Data: b}
	return files, l
}

func TestFind(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"resourcesync", "sync", "x/y z", "b c", "."} {
		for _, hasRecord := range []bool{true, false} {
			files, want := published(t, folder, hasRecord)
			if !hasRecord {
				want.BaseURL = ""
			}
			for _, named := range []string{"", folder} {
				got, err := Find(files, named)
				if err != nil || got != want {
					t.Errorf("folder %q, record %v, named %q: got %+v, %v", folder, hasRecord, named, got, err)
					continue
				}
				if _, err := OpenChanges(files, got); err != nil {
					t.Errorf("folder %q, record %v: %v", folder, hasRecord, err)
				}
			}
			if _, err := Find(files, "elsewhere"); err != ErrNone {
				t.Errorf("elsewhere: %v", err)
			}
			delete(files, want.SourceDescription().Path)
			if _, err := Find(files, folder); err != nil {
				t.Errorf("folder %q without the Source Description: %v", folder, err)
			}
		}
	}
}

// TestFindDamaged has publications that do not say where they are.
func TestFindDamaged(t *testing.T) {
	t.Parallel()
	good, l := published(t, "sync", true)
	replace := func(path, from, to string) func(fstest.MapFS) {
		return func(files fstest.MapFS) {
			changed := strings.ReplaceAll(string(good[path].Data), from, to)
			files[path] = &fstest.MapFile{Data: []byte(changed)}
		}
	}
	remove := func(paths ...string) func(fstest.MapFS) {
		return func(files fstest.MapFS) {
			for _, path := range paths {
				delete(files, path)
			}
		}
	}
	record, list, description := l.Record().Path, l.ChangeList().Path, l.SourceDescription().Path
	for _, tt := range []struct {
		name string
		edit []func(fstest.MapFS)
		none bool
		says string
	}{
		{"a record of another folder", []func(fstest.MapFS){replace(record, `"folder": "sync"`, `"folder": "resourcesync"`)}, false, "in the folder \"resourcesync\""},
		{"a record without URL", []func(fstest.MapFS){replace(record, `https://example.org/`, `ftp://example.org/`)}, false, "scheme ftp"},
		{"a record that is cut", []func(fstest.MapFS){replace(record, "}", "")}, false, "malformed"},
		{"no record, another folder", []func(fstest.MapFS){remove(record), replace(list, "/sync/", "/other/")}, false, "not beside it"},
		{"no record, a part of a name", []func(fstest.MapFS){remove(record), replace(list, "/sync/", "/insync/")}, false, "not beside it"},
		{"no record, no URL", []func(fstest.MapFS){remove(record), replace(list, "https:", "gopher:")}, false, "not beside it"},
		{"no record, a list that is cut", []func(fstest.MapFS){remove(record), replace(list, "</urlset>", ""), replace(list, "<urlset", "")}, false, "line"},
		{"no documents", []func(fstest.MapFS){remove(record, list)}, true, ""},
		{"no description", []func(fstest.MapFS){remove(description)}, true, ""},
		{"a description that leads away", []func(fstest.MapFS){replace(description, "/sync/capabilitylist.xml", "/sync/list.xml")}, true, ""},
		{"a description that leads up", []func(fstest.MapFS){replace(description, "/sync/", "/../../")}, true, ""},
		{"a description that is deep", []func(fstest.MapFS){replace(description, "/sync/", strings.Repeat("/x", 10_000)+"/sync/")}, true, ""},
	} {
		files := maps.Clone(good)
		for _, edit := range tt.edit {
			edit(files)
		}
		_, err := Find(files, "")
		if tt.none {
			if err != ErrNone {
				t.Errorf("%s: got %v", tt.name, err)
			}
			continue
		}
		var damaged *DamagedError
		if !errors.As(err, &damaged) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %v", tt.name, err)
		}
	}
	if _, err := Find(good, "../x"); err == nil || err == ErrNone {
		t.Errorf("a folder outside: %v", err)
	}
}

// TestEvents reads lists that are not what they should be.
func TestEvents(t *testing.T) {
	t.Parallel()
	l := testLayout(t)
	path := l.ChangeList().Path
	read := func(files fstest.MapFS, ctx context.Context) (n int, err error) {
		s, err := OpenChanges(files, l)
		if err != nil {
			return 0, err
		}
		for _, e := range s.Events(ctx, s.Changes) {
			if err = e; err == nil {
				n++
			}
		}
		return n, err
	}
	if n, err := read(smallPublication(t), t.Context()); n != 1 || err != nil {
		t.Fatalf("%d events, %v", n, err)
	}
	stopped, stop := context.WithCancelCause(t.Context())
	cause := errors.New("stopped")
	stop(cause)
	if n, err := read(smallPublication(t), stopped); n != 0 || err != cause {
		t.Errorf("stopped: %d events, %v", n, err)
	}
	old := smallPublication(t) // as Z39.99-2014 tells it
	old[path].Data = []byte(strings.Replace(strings.Replace(string(old[path].Data), ` datetime="2026-01-02T00:00:00Z"`, "", 1),
		"</loc>", "</loc><lastmod>2026-01-02T00:00:00Z</lastmod>", 1))
	if n, err := read(old, t.Context()); n != 1 || err != nil {
		t.Errorf("in the form of 1.0: %d events, %v", n, err)
	}
	for _, tt := range []struct{ from, to, says string }{
		{` datetime="2026-01-02T00:00:00Z"`, "", "has no time"},
		{`datetime="2026-01-02`, `datetime="2026-01-01`, "out of order"},
		{"https://example.org/a<", "https://example.com/a<", "not below the base URL"},
		{`change="created"`, `change="renamed"`, `"renamed", which is no change`},
		{"</urlset>", "", "line "},
		{`"changelist"`, `"resourcelist"`, "its capability"},
		{"resourcesync/capabilitylist.xml", "resourcesync/other.xml", "has the Capability List"},
		{"from=", "at=", "from which time"},
	} {
		files := smallPublication(t)
		files[path].Data = []byte(strings.Replace(string(files[path].Data), tt.from, tt.to, 1))
		if _, err := read(files, t.Context()); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %v", tt.says, err)
		}
	}
	files := smallPublication(t)
	delete(files, path)
	if _, err := read(files, t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no list: got %v", err)
	}
}
