package snapshot

import (
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/fstest"

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
			for p, err := range Merge(stream(previous(tt.before), tt.errBefore), after, func(s *string) string { return *s }) {
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
