package linking

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/internal/stage"
	"github.com/wellspring-sync/wellspring/generator/internal/survey"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/publish"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/scanner"
	"github.com/wellspring-sync/wellspring/zipdump"
)

var may = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)

// source is a set with a Change Dump in a publication, and the directory of that.
type source struct {
	dir string
	pub *last.Publication
}

func newSource(t *testing.T) *source {
	t.Helper()
	l, err := layout.New(layout.Identity{BaseURL: "https://example.org/", Folder: "rs"})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	set := &last.Set{Options: policy.Set{Dumps: policy.Dumps{Resource: true, Change: true}}, Layout: l}
	return &source{dir, &last.Publication{Files: &last.Files{FS: os.DirFS(dir)}, Layout: l, Sets: []*last.Set{set}}}
}

// area returns where files are staged, or nil in a dry run.
func (s *source) area(t *testing.T, dry bool) *stage.Area {
	t.Helper()
	if dry {
		return nil
	}
	tx, err := publish.Begin(t.Context(), s.dir, publish.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tx.Close() })
	return stage.New(tx, stage.Options{})
}

// finding returns a resource that is new, or has these bytes now and had others.
func (s *source) finding(t *testing.T, path, mediaType string, before, now []byte, links ...resourcesync.Link) *survey.Finding {
	t.Helper()
	f := &survey.Finding{
		Change: policy.Change{Type: resourcesync.Created, Path: path, URI: s.pub.Layout.URI(path)}, Size: int64(len(now)), Entry: s.entry(path, mediaType, now),
		In: []survey.Member{{Set: s.pub.Sets[0], IsIn: true, Change: resourcesync.Created}},
	}
	b := (&zipdump.Packer{Policy: zipdump.Policy{Level: 6}}).New()
	t.Cleanup(func() { b.Close() })
	b.Begin(mediaType, f.Size)
	if _, err := b.Write(now); err != nil {
		t.Fatal(err)
	}
	if err := b.Finish(); err != nil {
		t.Fatal(err)
	}
	f.Content = &survey.Content{Bitstream: b}
	if before != nil {
		m := &f.In[0]
		f.Type, m.WasIn, m.Change = resourcesync.Updated, true, resourcesync.Updated
		m.Before = snapshot.Previous{Entry: s.entry(path, mediaType, before)}
		m.Before.Links = links
	}
	return f
}

func (s *source) entry(path, mediaType string, content []byte) resourcesync.Entry {
	e := resourcesync.Entry{Loc: s.pub.Layout.URI(path), LastModified: may}
	e.Metadata.Hash, e.Metadata.Type = resourcesync.Hash(fmt.Sprintf("sha-256:%x", sha256.Sum256(content))), mediaType
	e.Metadata.SetLength(int64(len(content)))
	return e
}

// list writes the Resource List of another Source.
func (s *source) list(t *testing.T, entries ...resourcesync.Entry) string {
	t.Helper()
	b, err := resourcesync.Marshal(&resourcesync.Document{Metadata: resourcesync.Metadata{Capability: resourcesync.ResourceList, At: may}}, entries)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "list.xml")
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// measure returns how long an entry is, with its patch, and how long it is without what
// Room is for.
func measure(t *testing.T, f *survey.Finding) (with, without int64) {
	t.Helper()
	e := f.Entry
	if p := f.Patch; p != nil {
		l := p.Link
		l.Path = "/" + p.Path
		e.Links = append(e.Links[:len(e.Links):len(e.Links)], l)
	}
	b, err := resourcesync.AppendEntry(nil, false, &e)
	if err != nil {
		t.Fatal(err)
	}
	e.Links, e.ChangeFreq = nil, ""
	bare, err := resourcesync.AppendEntry(nil, false, &e)
	if err != nil {
		t.Fatal(err)
	}
	return int64(len(b)), int64(len(bare))
}

// An entry that is described is never longer than what was measured and Room.
func TestRoomForRules(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	long := "application/" + strings.Repeat("y", 127)
	origin := s.entry("x", "text/plain", nil)
	origin.Loc = "https://origin.example/a.pdf"
	list := s.list(t, origin)
	all := []scanner.Glob{glob(t, "*")}
	for name, test := range map[string]struct {
		rule      policy.LinkRule
		resources policy.ResourceRules
		links     int
	}{
		"href":            {rule: policy.LinkRule{Rel: "up", Href: "https://x.example/{path}?&"}, links: 1},
		"all of it":       {rule: policy.LinkRule{Rel: "duplicate", Href: "https://x.example/{path}", Pri: 999_999, Type: long, Profile: "https://p.example/{hash}"}, links: 2},
		"file":            {rule: policy.LinkRule{Rel: "describedby", File: "meta/{stem}.xml"}, links: 1},
		"file as a type":  {rule: policy.LinkRule{Rel: "describedby", File: "meta/{stem}.xml", Type: long, Pri: 3}, links: 1},
		"file, profile":   {rule: policy.LinkRule{Rel: "describedby", File: "meta/{stem}.xml", Profile: "https://p.example/"}, links: 2},
		"no such file":    {rule: policy.LinkRule{Rel: "describedby", File: "meta/{stem}.rdf"}},
		"list":            {rule: policy.LinkRule{Rel: "via", Href: "https://origin.example/{name}", List: list}, links: 1},
		"list as a type":  {rule: policy.LinkRule{Rel: "via", Href: "https://origin.example/{name}", List: list, Type: long, Pri: 12}, links: 1},
		"not in the list": {rule: policy.LinkRule{Rel: "via", Href: "https://origin.example/b", List: list}},
		"changefreq":      {resources: policy.ResourceRules{{Match: all, ChangeFreq: "monthly"}}},
		"coded file":      {rule: policy.LinkRule{Rel: "describedby", File: "meta/{stem}.xml"}, resources: policy.ResourceRules{{Match: all, ChangeFreq: "yearly", Encoding: "gzip"}}, links: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := LinkOptions{Layout: s.pub.Layout, Resources: test.resources}
			if test.rule.Rel != "" {
				test.rule.Match = []string{"*.pdf"}
				o.Rules = []policy.LinkRule{test.rule}
			}
			f, target := s.finding(t, "a.pdf", "application/pdf", nil, []byte("a")), s.finding(t, "meta/a.xml", long, nil, []byte("<a/>"))
			target.Entry.Metadata.Encoding = test.resources.LongestEncoding()
			k, _, room := s.rooms(t, o, nil, nil, true)
			bytes, err := room.Of(f)
			if err != nil {
				t.Fatal(err)
			}
			got := describe(t, k, s, f, target)[0]
			with, without := measure(t, got)
			if len(got.Entry.Links) != test.links {
				t.Errorf("%d links, want %d", len(got.Entry.Links), test.links)
			}
			if with > without+bytes {
				t.Errorf("the entry has %d bytes, more than %d and %d", with, without, bytes)
			}
			if again, err := room.Of(got); again != bytes || err != nil {
				t.Errorf("Of(described) = %d, %v, want %d", again, err, bytes)
			}
		})
	}
}

// describe describes findings, in a second pass if that is needed.
func describe(t *testing.T, k *Linker, s *source, findings ...*survey.Finding) (described []*survey.Finding) {
	t.Helper()
	if !k.IsDeferred() {
		for _, f := range findings {
			if err := k.Describe(f); err != nil {
				t.Fatal(err)
			}
		}
		return findings
	}
	for _, f := range findings {
		if err := k.Defer(f); err != nil {
			t.Fatal(err)
		}
	}
	for f, err := range k.Deferred(context.Background(), s.pub.Sets) {
		if err == nil {
			err = k.Describe(f)
		}
		if err != nil {
			t.Fatal(err)
		}
		described = append(described, f)
	}
	return described
}

// rooms returns all that adds to findings of a source, and the room that it needs. Former
// bytes are none that anybody has.
func (s *source) rooms(t *testing.T, o LinkOptions, v *policy.Versions, p *policy.Patches, dry bool, former ...byte) (*Linker, func(*survey.Finding) error, *Room) {
	t.Helper()
	k, err := NewLinker(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	open := func(*survey.Finding) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(former)), nil }
	area := s.area(t, dry)
	versions, err := NewVersions(v, s.pub, area, open)
	if err != nil {
		t.Fatal(err)
	}
	patches := NewPatches(p, s.pub.Layout, area, open)
	annotate := func(f *survey.Finding) error {
		if err := versions.Annotate(f); err != nil {
			return err
		}
		return patches.Annotate(f)
	}
	return k, annotate, NewRoom(k, versions, patches)
}

func glob(t *testing.T, pattern string) scanner.Glob {
	t.Helper()
	g, err := scanner.NewGlob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// The room for versions and patches is the same in a dry run, which makes none, and no
// entry needs more.
func TestRoomForVersionsAndPatches(t *testing.T) {
	t.Parallel()
	text := []byte(strings.Repeat("All that is said here is said again, and once more. ", 100))
	value := []byte(`{"a": [` + strings.Repeat(`"some text that stays as it is", `, 100) + `1]}`)
	gate := &policy.Versions{TimeGate: "https://t.example/{uri}?{hash}", TimeGateName: "versions"}
	for name, test := range map[string]struct {
		path, mediaType string
		before, after   []byte
		versions        *policy.Versions
		patches         *policy.Patches
		links           int // of versions
		patch           bool
		published       bool // there are versions already
	}{
		"nothing":          {"a b.txt", "text/plain", text, append(text, 'x'), nil, nil, 0, false, false},
		"versions":         {"a b.txt", "text/plain", text, append(text, 'x'), &policy.Versions{}, nil, 2, false, false},
		"TimeGate":         {"a b.txt", "text/plain", text, append(text, 'x'), gate, nil, 3, false, false},
		"odd extension":    {"a.b c", "", text, append(text, 'x'), gate, nil, 3, false, false},
		"patch":            {"a&b.txt", "text/plain", text, append(text, 'x'), nil, &policy.Patches{}, 0, true, false},
		"JSON Patch":       {"a.json", "application/json", value, bytes.Replace(value, []byte("1]"), []byte("2]"), 1), gate, &policy.Patches{}, 3, true, false},
		"short":            {"a.txt", "text/plain", []byte("a"), []byte("b"), gate, &policy.Patches{}, 3, false, false},
		"new":              {"a.txt", "text/plain", nil, text, gate, &policy.Patches{}, 0, false, false},
		"versions before":  {"a.txt", "text/plain", text, append(text, 'x'), gate, nil, 3, false, true},
		"none from now on": {"a.txt", "text/plain", text, append(text, 'x'), nil, nil, 0, false, true},
		"others from now on": {"a.txt", "text/plain", text, append(text, 'x'), &policy.Versions{Match: []scanner.Glob{glob(t, "*.pdf")}},
			&policy.Patches{Match: []scanner.Glob{glob(t, "*.pdf")}}, 0, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSource(t)
			var links []resourcesync.Link
			if test.published {
				uri := s.pub.Layout.URI(test.path)
				links = []resourcesync.Link{
					{Rel: last.RelMemento, Href: s.pub.Layout.Version(uri, [32]byte{1}, ".txt").URI},
					{Rel: last.RelTimeMap, Href: s.pub.Layout.TimeMap(uri).URI},
				}
			}
			find := func() *survey.Finding {
				return s.finding(t, test.path, test.mediaType, test.before, test.after, links...)
			}
			_, _, dry := s.rooms(t, LinkOptions{Layout: s.pub.Layout}, test.versions, test.patches, true)
			foreseen, err := dry.Of(find())
			if err != nil {
				t.Fatal(err)
			}
			_, annotate, room := s.rooms(t, LinkOptions{Layout: s.pub.Layout}, test.versions, test.patches, false, test.before...)
			f := find()
			if err := annotate(f); err != nil {
				t.Fatal(err)
			}
			bytes, err := room.Of(f)
			if err != nil {
				t.Fatal(err)
			}
			if bytes != foreseen {
				t.Errorf("room for %d bytes, and for %d in a dry run", bytes, foreseen)
			}
			if len(f.Entry.Links) != test.links || (f.Patch != nil) != test.patch {
				t.Errorf("%d links, want %d; the patch is %v, want %v", len(f.Entry.Links), test.links, f.Patch, test.patch)
			}
			if with, without := measure(t, f); with > without+bytes {
				t.Errorf("the entry has %d bytes, more than %d and %d", with, without, bytes)
			}
			if f.Patch != nil && int64(len(f.Patch.Content)) > room.Patch(f) {
				t.Errorf("the patch has %d bytes, more than %d", len(f.Patch.Content), room.Patch(f))
			}
		})
	}
}
