package snapshot

import (
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

func stream[T any](items []T, err error) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for i := range items {
			if !yield(&items[i], nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

func previous(uris string) []Previous {
	var list []Previous
	for _, uri := range strings.Fields(uris) {
		list = append(list, Previous{Entry: resourcesync.Entry{Loc: uri}})
	}
	return list
}

func TestMerge(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, tt := range []struct {
		name                string
		before, after       string
		errBefore, errAfter error
		want                string
		wantErr             error
	}{
		{name: "nothing"},
		{name: "first time", after: "a b", want: "+a +b"},
		{name: "all gone", before: "a b", want: "-a -b"},
		{name: "the same", before: "a b", after: "a b", want: "=a =b"},
		{name: "mixed", before: "a c d f", after: "b c e f g", want: "-a +b =c -d +e =f +g"},
		{name: "before fails", before: "a", after: "b", errBefore: broken, want: "-a", wantErr: broken},
		{name: "before fails at the end", before: "c", after: "b", errBefore: broken, want: "+b -c", wantErr: broken},
		{name: "after fails", before: "a b", after: "a", errAfter: broken, want: "=a", wantErr: broken},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			var gotErr error
			after := stream(strings.Fields(tt.after), tt.errAfter)
			for p, err := range Merge(stream(previous(tt.before), tt.errBefore), after, func(p *Previous) string { return p.Loc }, func(s *string) string { return *s }) {
				switch {
				case err != nil:
					gotErr = err
				case p.Before != nil && p.After != nil:
					got = append(got, "="+*p.After)
				case p.Before != nil:
					got = append(got, "-"+p.Before.Loc)
				default:
					got = append(got, "+"+*p.After)
				}
			}
			if diff := cmp.Diff(strings.Fields(tt.want), got); diff != "" && tt.want != "" || gotErr != tt.wantErr {
				t.Errorf("got %v, %v, want %q, %v", got, gotErr, tt.want, tt.wantErr)
			}
		})
	}
}

func testLayout(t testing.TB) layout.Layout {
	t.Helper()
	l, err := layout.New(layout.Identity{BaseURL: "https://example.org/"})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// smallPublication has one resource and one event, and no record.
func smallPublication(t testing.TB) fstest.MapFS {
	t.Helper()
	l, at := testLayout(t), time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	capability := func(ref layout.Ref, c resourcesync.Capability) resourcesync.Entry {
		return resourcesync.Entry{Loc: ref.URI, Metadata: resourcesync.Metadata{Capability: c}}
	}
	up := []resourcesync.Link{{Rel: resourcesync.RelUp, Href: l.CapabilityList().URI}}
	files := fstest.MapFS{}
	add := func(ref layout.Ref, md resourcesync.Metadata, links []resourcesync.Link, entries ...resourcesync.Entry) {
		b, err := resourcesync.Marshal(&resourcesync.Document{Metadata: md, Links: links}, entries)
		if err != nil {
			t.Fatal(err)
		}
		files[ref.Path] = &fstest.MapFile{Data: b}
	}
	add(l.SourceDescription(), resourcesync.Metadata{Capability: resourcesync.Description}, nil,
		capability(l.CapabilityList(), resourcesync.CapabilityList))
	add(l.CapabilityList(), resourcesync.Metadata{Capability: resourcesync.CapabilityList},
		[]resourcesync.Link{{Rel: resourcesync.RelUp, Href: l.SourceDescription().URI}},
		capability(l.ResourceList(), resourcesync.ResourceList), capability(l.ChangeList(), resourcesync.ChangeList))
	add(l.ResourceList(), resourcesync.Metadata{Capability: resourcesync.ResourceList, At: at}, up,
		resourcesync.Entry{Loc: "https://example.org/a"})
	add(l.ChangeList(), resourcesync.Metadata{Capability: resourcesync.ChangeList, From: at.Add(-time.Hour)}, up,
		resourcesync.Entry{Loc: "https://example.org/a", Metadata: resourcesync.Metadata{Change: resourcesync.Created, DateTime: at}})
	return files
}

// record puts a record into a publication.
func record(t testing.TB, files fstest.MapFS, at time.Time) {
	t.Helper()
	l := testLayout(t)
	r := &Record{Format: RecordFormat, Identity: l.Identity, At: at}
	for _, ref := range []layout.Ref{l.ChangeList(), l.ResourceList(), l.CapabilityList(), l.SourceDescription()} {
		h, err := HeadOf(files, ref.Path)
		if err != nil {
			t.Fatal(err)
		}
		r.Heads = append(r.Heads, h)
	}
	b, err := r.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	files[l.Record().Path] = &fstest.MapFile{Data: b}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	l, at := testLayout(t), time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	for name, hasRecord := range map[string]bool{"with a record": true, "without a record": false} {
		files := smallPublication(t)
		if hasRecord {
			record(t, files, at)
		}
		s, err := Open(files, l)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		open, err := s.OpenList()
		if err != nil || open.Entries != 1 || !s.Last.Equal(at) || len(s.Missing) > 0 {
			t.Errorf("%s: %v, %+v, %+v", name, err, open, s)
		}
	}
}

// TestOddEvents has events that no run can have written.
func TestOddEvents(t *testing.T) {
	t.Parallel()
	l, at := testLayout(t), time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	long := "https://example.org/" + strings.Repeat("a", 60_000) + "/end"
	for _, tt := range []struct {
		name, from, to string
		says           string
		noRecord       bool // it shows without a record, too
	}{
		{"later than the record", "T00:00:00Z\"", "T00:00:01Z\"", "later than the record of 2026-01-02T00:00:00Z", true},
		{"of another site", "https://example.org/a<", "https://example.com/a<", "not below the base URL", true},
		{"of a URI that goes on", "https://example.org/a<", "https://example.org.example.com/a<", "not below the base URL", true},
		{"before the list", "2026-01-02T00", "2026-01-01T00", "out of order", true},
		{"with a long URI", "2026-01-02T00:00:00Z\"", "2026-01-03T00:00:00Z\"", "…" + strings.Repeat("a", 46) + "/end\" is later", false},
	} {
		files := smallPublication(t)
		list := string(files[l.ChangeList().Path].Data)
		if tt.name == "with a long URI" {
			list = strings.Replace(list, "https://example.org/a<", long+"<", 1)
		}
		changed := strings.Replace(list, tt.from, tt.to, 1)
		if changed == list {
			t.Errorf("%s: nothing changed in %s", tt.name, list)
		}
		files[l.ChangeList().Path].Data = []byte(changed)
		for _, hasRecord := range []bool{true, false} {
			if hasRecord {
				record(t, files, at)
			} else if delete(files, l.Record().Path); !tt.noRecord {
				continue
			}
			s, err := Open(files, l)
			if err == nil {
				_, err = s.OpenList()
			}
			var damaged *DamagedError
			if !errors.As(err, &damaged) || damaged.Path != l.ChangeList().Path || len(err.Error()) > 500 {
				t.Errorf("%s: got %v", tt.name, err)
			} else if hasRecord && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%s: got %v, want one with %q in it", tt.name, err, tt.says)
			}
		}
	}
}

// TestLastSecond has publications after which none can come.
func TestLastSecond(t *testing.T) {
	t.Parallel()
	l := testLayout(t)
	for text, ok := range map[string]bool{
		"9998-12-31T23:59:58Z": true, "9998-12-31T23:59:59Z": false, "9998-12-31T23:00:00-02:00": false, "9999-01-01T00:00:00Z": false,
	} {
		b := []byte(strings.Replace(goodRecord, "2026-01-02T03:04:05Z", text, 1))
		r, err := ParseRecord(b)
		if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "leaves none for a later publication") {
			t.Errorf("a record of %s: %v", text, err)
		}
		if r == nil {
			continue
		}
		if _, err := r.Marshal(); (err == nil) != ok {
			t.Errorf("writing a record of %s: %v", text, err)
		}
	}
	files := smallPublication(t)
	list := files[l.ResourceList().Path]
	list.Data = []byte(strings.Replace(string(list.Data), "2026-01-02T00:00:00Z", "9999-12-31T23:59:59Z", 1))
	if _, err := Open(files, l); err == nil || !strings.Contains(err.Error(), "the year 9999") {
		t.Errorf("a Resource List of the last second: %v", err)
	}
	if got := LastOf(files, l).Year(); got != 2026 {
		t.Errorf("the latest time is of the year %d", got)
	}
}

// TestLongRecord has records that are too long to be read, and none is written.
func TestLongRecord(t *testing.T) {
	t.Parallel()
	l := testLayout(t)
	files := fstest.MapFS{l.Record().Path: {Data: []byte(goodRecord + strings.Repeat(" ", maxRecord))}}
	if _, err := ReadRecord(files, l); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("reading it: %v", err)
	}
	r, err := ParseRecord([]byte(goodRecord))
	if err != nil {
		t.Fatal(err)
	}
	r.Retired[0].Path += strings.Repeat("a", maxRecord)
	if _, err := r.Marshal(); err == nil || !strings.Contains(err.Error(), "--grace") {
		t.Errorf("writing it: %v", err)
	}
}

func TestQuoted(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"a/b c.xml":     "a/b c.xml",
		"ä":             "ä",
		"a\nb":          `"a\nb"`,
		"\x1b[2J":       `"\x1b[2J"`,
		"\u202egnp.xml": `"\u202egnp.xml"`,
		"\xff":          `"\xff"`,
		`a"b`:           `"a\"b"`,
	} {
		if got := quoted(path); got != want {
			t.Errorf("%q: got %s, want %s", path, got, want)
		}
	}
}

// goodRecord is a record as a release writes it.
const goodRecord = `{
  "format": 1,
  "release": "wellspring test",
  "identity": {"base_url": "https://example.org/", "publication_url": "https://example.org/", "folder": "resourcesync"},
  "at": "2026-01-02T03:04:05Z",
  "heads": [{"path": "resourcesync/changelist.xml", "length": 1, "sha256": "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}],
  "retired": [{"path": "resourcesync/resourcelist/0123456789abcdef0123456789abcdef.xml", "since": "2026-01-01T00:00:00Z"}]
}`

func TestRecord(t *testing.T) {
	t.Parallel()
	l := testLayout(t)
	read := func(text string) (*Record, error) {
		return ReadRecord(fstest.MapFS{l.Record().Path: {Data: []byte(text)}}, l)
	}
	if r, err := read(goodRecord); err != nil || r.Heads[0].Length != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	for name, edit := range map[string][2]string{
		"empty":                  {goodRecord, ""},
		"not JSON":               {"{", "<"},
		"truncated":              {"}]\n}", ""},
		"something behind":       {"}]\n}", "}]\n}{}"},
		"another format":         {`"format": 1`, `"format": 2`},
		"an unknown field":       {`"format": 1`, `"format": 1, "x": 1`},
		"no time":                {`"at": "2026-01-02T03:04:05Z",`, ""},
		"no digest":              {"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", ""},
		"negative length":        {`"length": 1`, `"length": -1`},
		"a foreign head":         {"resourcesync/changelist.xml", "index.html"},
		"a foreign body":         {"resourcesync/resourcelist/0123456789abcdef0123456789abcdef.xml", "index.html"},
		"a head as a body":       {"resourcesync/resourcelist/0123456789abcdef0123456789abcdef.xml", "resourcesync/changelist.xml"},
		"a body outside":         {"resourcesync/resourcelist/0123456789abcdef0123456789abcdef.xml", "resourcesync/resourcelist/../../x"},
		"a folder as a body":     {"resourcesync/resourcelist/0123456789abcdef0123456789abcdef.xml", "resourcesync/resourcelist/.."},
		"a body in a subfolder":  {"resourcesync/resourcelist/0123456789abcdef0123456789abcdef.xml", "resourcesync/resourcelist/a/b"},
		"a body of another name": {"resourcesync/resourcelist/0123456789abcdef0123456789abcdef.xml", "resourcesync/resourcelist/notes.xml"},
	} {
		text := strings.Replace(goodRecord, edit[0], edit[1], 1)
		_, err := read(text)
		var damaged *DamagedError
		if !errors.As(err, &damaged) || damaged.Path != l.Record().Path {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func FuzzParseRecord(f *testing.F) {
	f.Add([]byte(goodRecord))
	f.Add([]byte(`{"format":1,"at":"0001-01-01T00:00:00Z"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := ParseRecord(b)
		if err != nil {
			return
		}
		text, err := r.Marshal()
		if err != nil {
			t.Skip("a time that JSON cannot hold")
		}
		again, err := ParseRecord(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if diff := cmp.Diff(r, again, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("(-read +again):\n%s", diff)
		}
	})
}
