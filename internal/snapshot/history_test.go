package snapshot

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

var begin = time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)

// change is an event of so many hours after the beginning.
func change(hour int, typ resourcesync.ChangeType, uri string) resourcesync.Entry {
	at := begin.Add(time.Duration(hour) * time.Hour)
	return resourcesync.Entry{Loc: uri, Metadata: resourcesync.Metadata{Change: typ, DateTime: at}}
}

func events(err error, list ...resourcesync.Entry) Events {
	return func(yield func(*resourcesync.Entry, error) bool) {
		for i := range list {
			if !yield(&list[i], nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

func TestRuns(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	created, updated, deleted := resourcesync.Created, resourcesync.Updated, resourcesync.Deleted
	old := change(0, updated, "old") // as Z39.99-2014 tells it
	old.LastModified, old.Metadata.DateTime = begin.Add(3*time.Hour), time.Time{}
	// chunk is an event so long before an hour.
	chunk := func(hour int, before time.Duration) resourcesync.Entry {
		e := change(hour, created, "a")
		e.Metadata.DateTime = e.Metadata.DateTime.Add(-before)
		return e
	}
	for _, tt := range []struct {
		name string
		list []resourcesync.Entry
		err  error
		want string
	}{
		{name: "none"},
		{"chunks", []resourcesync.Entry{
			change(1, created, "a"), chunk(2, 2*time.Millisecond), chunk(2, time.Millisecond), chunk(2, 0), chunk(3, time.Microsecond), chunk(3, 0),
		}, nil, "1h:1/0/0 2h:3/0/0 3h:2/0/0 "},
		{"runs that follow each other at once", []resourcesync.Entry{
			chunk(2, 101*time.Millisecond), chunk(2, 100*time.Millisecond), chunk(2, time.Microsecond), chunk(2, 0),
		}, nil, "2h:2/0/0 2h:2/0/0 "},
		{name: "one", list: []resourcesync.Entry{change(1, created, "a")}, want: "1h:1/0/0 "},
		{"several", []resourcesync.Entry{
			change(1, created, "a"), change(1, created, "b"), change(1, deleted, "c"), change(2, updated, "a"), old, change(3, deleted, "z"),
		}, nil, "1h:2/0/1 2h:0/1/0 3h:0/1/1 "},
		{"damaged", []resourcesync.Entry{change(1, created, "a"), change(2, created, "b")}, broken, "1h:1/0/0 broken"},
		{name: "nothing but damage", err: broken, want: "broken"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := ""
			for r, err := range Runs(events(tt.err, tt.list...)) {
				if err != nil {
					got += err.Error()
					continue
				}
				got += fmt.Sprintf("%.0fh:%d/%d/%d ", r.At.Sub(begin).Hours(), r.Created, r.Updated, r.Deleted)
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	for r := range Runs(events(nil, change(1, created, "a"), change(2, created, "b"))) {
		if !r.At.Equal(begin.Add(time.Hour)) {
			t.Errorf("it went on to %v", r.At)
		}
		break
	}
}

func TestOf(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	var got []string
	for e, err := range EventsOf(events(broken, change(1, resourcesync.Created, "a"), change(1, resourcesync.Created, "aa"), change(2, resourcesync.Deleted, "a")), "a") {
		if err != nil {
			got = append(got, err.Error())
			continue
		}
		got = append(got, e.Loc+" "+string(e.Metadata.Change))
	}
	if diff := cmp.Diff([]string{"a created", "a deleted", "broken"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSince reads lists of four hours each, some of which are not there: they must
// not be missed.
func TestSince(t *testing.T) {
	t.Parallel()
	l, err := layout.New(layout.Identity{BaseURL: "https://example.org/"})
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	put := func(ref layout.Ref, doc resourcesync.Document, entries []resourcesync.Entry) {
		doc.Metadata.Capability = resourcesync.ChangeList
		doc.Links = []resourcesync.Link{{Rel: resourcesync.RelUp, Href: l.CapabilityList().URI}}
		b, err := resourcesync.Marshal(&doc, entries)
		if err != nil {
			t.Fatal(err)
		}
		files[ref.Path] = &fstest.MapFile{Data: b}
	}
	var index []resourcesync.Entry
	for i := range 3 {
		md := resourcesync.Metadata{From: begin.Add(time.Duration(4*i) * time.Hour)}
		if i < 2 {
			md.Until = md.From.Add(4 * time.Hour)
		}
		var list []resourcesync.Entry
		for h := range 4 {
			list = append(list, change(4*i+h+1, resourcesync.Created, fmt.Sprintf("https://example.org/%d", 4*i+h+1)))
		}
		ref := l.ChangeListFrom(md.From)
		put(ref, resourcesync.Document{Metadata: md}, list)
		if i < 2 {
			md.SetLength(int64(len(files[ref.Path].Data)))
		}
		index = append(index, resourcesync.Entry{Loc: ref.URI, Metadata: md})
	}
	put(l.ChangeList(), resourcesync.Document{Index: true, Metadata: resourcesync.Metadata{From: begin}}, index)
	s, err := OpenChanges(files, l)
	if err != nil {
		t.Fatal(err)
	}
	for hour, want := range map[int]string{
		-1: "1 2 3 4 5 6 7 8 9 10 11 12", 1: "1 2 3 4 5 6 7 8 9 10 11 12", 2: "2 3 4 5 6 7 8 9 10 11 12", 4: "4 5 6 7 8 9 10 11 12",
		9: "9 10 11 12", 12: "12", 13: "",
	} {
		var got []string
		for e, err := range Since(t.Context(), s, s.Changes, begin.Add(time.Duration(hour)*time.Hour)) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, strings.TrimPrefix(e.Loc, "https://example.org/"))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("since hour %d: got %v, want %s", hour, got, want)
		}
	}
	delete(files, s.Changes[0].Path)
	for hour, ok := range map[int]bool{1: false, 4: false, 5: true} {
		var last error
		for _, err := range Since(t.Context(), s, s.Changes, begin.Add(time.Duration(hour)*time.Hour)) {
			last = err
		}
		if (last == nil) != ok {
			t.Errorf("without the first list, since hour %d: %v", hour, last)
		}
	}
}
