package layout

import (
	"net/url"
	"strings"
	"testing"
	"time"
)

// mustNew returns a layout for a source and publication at one URL.
func mustNew(t testing.TB, base, folder string, form Form) Layout {
	t.Helper()
	l, err := New(Identity{BaseURL: base, Folder: folder, Form: form})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestNewBaseURL(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, base string
		want       string // the completed URL
		err        string // or a piece of the error
	}{
		{name: "slash", base: "https://example.org/", want: "https://example.org/"},
		{name: "no slash", base: "https://example.org", want: "https://example.org/"},
		{name: "folder", base: "https://example.org/a/b", want: "https://example.org/a/b/"},
		{name: "folder with slash", base: "https://example.org/a/b/", want: "https://example.org/a/b/"},
		{name: "http", base: "http://example.org/", want: "http://example.org/"},
		{name: "upper-case scheme and host", base: "HTTPS://Example.ORG/Path/", want: "https://example.org/Path/"},
		{name: "default port", base: "https://example.org:443/", want: "https://example.org:443/"},
		{name: "default port of http", base: "http://example.org:80", want: "http://example.org:80/"},
		{name: "other port", base: "http://localhost:8080/x", want: "http://localhost:8080/x/"},
		{name: "IPv4", base: "http://127.0.0.1/", want: "http://127.0.0.1/"},
		{name: "IPv6", base: "http://[2001:DB8::1]:8080/", want: "http://[2001:db8::1]:8080/"},
		{name: "root of all names", base: "https://example.org./", want: "https://example.org./"},
		{name: "last port", base: "https://example.org:65535/", want: "https://example.org:65535/"},
		{name: "punycode", base: "https://xn--bcher-kva.example/", want: "https://xn--bcher-kva.example/"},
		{name: "escapes", base: "https://example.org/%C3%A9%20x/", want: "https://example.org/%C3%A9%20x/"},
		{name: "lower-case escapes", base: "https://example.org/%c3%a9", want: "https://example.org/%c3%a9/"},
		{name: "escaped slash", base: "https://example.org/a%2Fb/", want: "https://example.org/a%2Fb/"},
		{name: "marks", base: "https://example.org/~a;v=1,2/@x:y!$&'()*+/", want: "https://example.org/~a;v=1,2/@x:y!$&'()*+/"},
		{name: "dots that are no dot segments", base: "https://example.org/.a/..b/.../c./", want: "https://example.org/.a/..b/.../c./"},

		{name: "missing", base: "", err: "is missing"},
		{name: "relative", base: "/data/", err: "no scheme"},
		{name: "relative path", base: "data", err: "no scheme"},
		{name: "no scheme", base: "//example.org/", err: "no scheme"},
		{name: "host alone", base: "example.org/", err: "no scheme"},
		{name: "host and port", base: "example.org:8080/", err: "not http or https"},
		{name: "ftp", base: "ftp://example.org/", err: "scheme ftp"},
		{name: "file", base: "file:///srv/www/", err: "scheme file"},
		{name: "no host", base: "https:///x/", err: "no host"},
		{name: "no host but a port", base: "https://:443/", err: "no host"},
		{name: "opaque", base: "https:example.org", err: "no host"},
		{name: "query", base: "https://example.org/?a=b", err: "query"},
		{name: "empty query", base: "https://example.org/?", err: "query"},
		{name: "fragment", base: "https://example.org/#top", err: "fragment"},
		{name: "empty fragment", base: "https://example.org/#", err: "fragment"},
		{name: "user", base: "https://me@example.org/", err: "user name"},
		{name: "dot segment", base: "https://example.org/a/./b/", err: `"."`},
		{name: "dot segment at the end", base: "https://example.org/a/.", err: `"."`},
		{name: "dot-dot segment", base: "https://example.org/a/../b/", err: `".."`},
		{name: "escaped dot-dot segment", base: "https://example.org/a/%2e%2E/b/", err: `"%2e%2E"`},
		{name: "half-escaped dot-dot segment", base: "https://example.org/.%2e", err: `".%2e"`},
		{name: "space", base: "https://example.org/a b/", err: "' '"},
		{name: "space at the end", base: "https://example.org/ ", err: "' '"},
		{name: "quote", base: `https://example.org/a"b/`, err: `'"'`},
		{name: "bracket", base: "https://example.org/a[1]/", err: "'['"},
		{name: "backslash", base: `https://example.org/a\b/`, err: `'\\'`},
		{name: "letter that has to be escaped", base: "https://example.org/é/", err: "has to be escaped"},
		{name: "bad escape", base: "https://example.org/%zz/", err: "not a URL"},
		{name: "control character", base: "https://example.org/\n", err: "not a URL"},
		{name: "space in front", base: " https://example.org/", err: "not a URL"},
		{name: "non-ASCII host", base: "https://bücher.example/", err: "host"},
		{name: "escaped non-ASCII host", base: "https://b%C3%BCcher.example/", err: "host"},
		{name: "angle bracket in the host", base: "https://exa<mple.org/", err: "host"},
		{name: "quote in the host", base: `https://exa"mple.org/`, err: "host"},
		{name: "zone of an address", base: "http://[fe80::1%25eth0]/", err: "host"},
		{name: "empty label", base: "https://example..org/", err: "empty label"},
		{name: "empty label in front", base: "https://.example.org/", err: "empty label"},
		{name: "empty label and a port", base: "https://example..org:80/", err: "empty label"},
		{name: "host of a dot", base: "https://./", err: "empty label"},
		{name: "host of dots", base: "https://.../", err: "empty label"},
		{name: "two dots at the end", base: "https://example.org../", err: "empty label"},
		{name: "empty port", base: "https://example.org:/", err: "without a port"},
		{name: "empty port of an address", base: "https://[::1]:/", err: "without a port"},
		{name: "port that is none", base: "https://example.org:65536/", err: "the port 65536"},
		{name: "huge port", base: "https://example.org:99999999999999999999/", err: "port"},
		{name: "zero byte", base: "https://example.org/a%00/", err: `"a%00"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l, err := New(Identity{BaseURL: test.base})
			checkNew(t, l.BaseURL, err, test.want, test.err, "the base URL ")
			if err == nil && l.PublicationURL != l.BaseURL {
				t.Errorf("the publication URL is %s, not that of the source", l.PublicationURL)
			}
			l, err = New(Identity{BaseURL: "https://example.com/", PublicationURL: test.base})
			if test.base == "" {
				return
			}
			checkNew(t, l.PublicationURL, err, test.want, test.err, "the publication URL ")
		})
	}
}

func checkNew(t *testing.T, got string, err error, want, wantErr, prefix string) {
	t.Helper()
	switch {
	case wantErr == "" && err != nil:
		t.Errorf("got the error %q, want %s", err, want)
	case wantErr == "" && got != want:
		t.Errorf("got %s, want %s", got, want)
	case wantErr != "" && err == nil:
		t.Errorf("got %s, want an error with %q", got, wantErr)
	case wantErr != "" && (!strings.Contains(err.Error(), wantErr) || !strings.HasPrefix(err.Error(), prefix)):
		t.Errorf("got the error %q, want one that begins with %q and has %q in it", err, prefix, wantErr)
	}
}

// Passwords must not end up in the log of a build server.
func TestNewTellsNoPassword(t *testing.T) {
	t.Parallel()
	for _, base := range []string{
		"https://me:secret@example.org/", "ftp://me:secret@example.org/", "https://me:secret@/",
		"https://me:secret@example.org/?q", "https://me:secret@example.org/a b", "https://me:secret%@example.org/", "//me:secret@example.org/",
	} {
		_, err := New(Identity{BaseURL: base})
		if err == nil {
			t.Errorf("%s: got no error", base)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error tells the password: %v", base, err)
		}
	}
}

func TestNewForm(t *testing.T) {
	t.Parallel()
	for form, ok := range map[Form]bool{PlainURIs: true, IndexURIs: true, CleanURIs: true, "Clean": false, "other": false} {
		l, err := New(Identity{BaseURL: "https://example.org/", Form: form})
		if (err == nil) != ok {
			t.Errorf("form %q: got the error %v", form, err)
		}
		if err == nil && l.Form != form {
			t.Errorf("form %q became %q", form, l.Form)
		}
	}
}

func TestNewFolder(t *testing.T) {
	t.Parallel()
	tests := []struct {
		folder, want string
		err          string
	}{
		{folder: "", want: "resourcesync"},
		{folder: ".", want: "."},
		{folder: "./", want: "."},
		{folder: "./.", want: "."},
		{folder: "a", want: "a"},
		{folder: "a/", want: "a"},
		{folder: "./a", want: "a"},
		{folder: "a/b", want: "a/b"},
		{folder: "a/b/", want: "a/b"},
		{folder: "./a/b", want: "a/b"},
		{folder: ".a/..b/c.", want: ".a/..b/c."},
		{folder: "ä & ö", want: "ä & ö"},
		{folder: "/", err: "relative"},
		{folder: "/a", err: "relative"},
		{folder: "/.", err: "relative"},
		{folder: "/./", err: "relative"},
		{folder: "//a", err: "relative"},
		{folder: "..", err: "path"},
		{folder: "../a", err: "path"},
		{folder: "a/..", err: "path"},
		{folder: "a/../b", err: "path"},
		{folder: "a/./b", err: "path"},
		{folder: "a//b", err: "path"},
		{folder: `a\b`, err: "path"},
		{folder: `C:`, err: "path"},
		{folder: `C:/a`, err: "path"},
		{folder: "a\x00b", err: "path"},
		{folder: "a\xffb", err: "path"},
		{folder: ".wellspring", err: "taken"},
		{folder: ".wellspring/a", err: "taken"},
		{folder: ".well-known", err: "taken"},
		{folder: ".well-known/a", err: "taken"},
	}
	for _, test := range tests {
		t.Run(test.folder, func(t *testing.T) {
			t.Parallel()
			l, err := New(Identity{BaseURL: "https://example.org/", Folder: test.folder})
			checkNew(t, l.Folder, err, test.want, test.err, "the folder ")
		})
	}
}

// What New returns, New takes as it is: the record of a publication is read
// back through it.
func TestOfFolder(t *testing.T) {
	t.Parallel()
	for folder, want := range map[string]string{
		"": "resourcesync/capabilitylist.xml", "sync/": "sync/capabilitylist.xml", ".": "capabilitylist.xml", "a b": "a%20b/capabilitylist.xml",
	} {
		l, err := OfFolder(folder)
		if err != nil || l.CapabilityList().URI != want {
			t.Errorf("%q: got %q, %v, want %q", folder, l.CapabilityList().URI, err, want)
		}
	}
	for _, folder := range []string{"..", "/a", ".well-known", "a//b"} {
		if _, err := OfFolder(folder); err == nil {
			t.Errorf("%q: no error", folder)
		}
	}
}

func TestNewIsStable(t *testing.T) {
	t.Parallel()
	for _, id := range []Identity{
		{BaseURL: "https://example.org"},
		{BaseURL: "HTTP://EXAMPLE.org:80//a//", PublicationURL: "https://Example.com/x", Folder: "./a/b/", Form: CleanURIs},
		{BaseURL: "https://example.org/%c3", Folder: "./", Form: IndexURIs},
	} {
		once, err := New(id)
		if err != nil {
			t.Errorf("%+v: %v", id, err)
			continue
		}
		if twice, err := New(once.Identity); err != nil || twice != once {
			t.Errorf("%+v became %+v, and that %+v, %v", id, once, twice, err)
		}
	}
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 1, 2, 4, 4, 5, 999, time.FixedZone("", 3600))
	digest := [32]byte{0: 0x00, 1: 0x1f, 2: 0xa0, 15: 0xff, 16: 0xee, 31: 0xdd}
	refs := func(l Layout) []Ref {
		return []Ref{
			l.SourceDescription(), l.CapabilityList(), l.ResourceList(), l.ResourceListPart(digest),
			l.ChangeList(), l.ChangeListFrom(from), l.Record(),
		}
	}
	const part = "resourcelist/001fa0000000000000000000000000ff.xml"
	const list = "changelist/20260102T030405Z.xml"
	tests := []struct {
		name, folder, publication string
		want                      []Ref
	}{
		{"default", "", "https://example.org/", []Ref{
			{".well-known/resourcesync", "https://example.org/.well-known/resourcesync"},
			{"resourcesync/capabilitylist.xml", "https://example.org/resourcesync/capabilitylist.xml"},
			{"resourcesync/resourcelist.xml", "https://example.org/resourcesync/resourcelist.xml"},
			{"resourcesync/" + part, "https://example.org/resourcesync/" + part},
			{"resourcesync/changelist.xml", "https://example.org/resourcesync/changelist.xml"},
			{"resourcesync/" + list, "https://example.org/resourcesync/" + list},
			{"resourcesync/publication.json", "https://example.org/resourcesync/publication.json"},
		}},
		{"top", ".", "https://example.org/x/", []Ref{
			{".well-known/resourcesync", "https://example.org/x/.well-known/resourcesync"},
			{"capabilitylist.xml", "https://example.org/x/capabilitylist.xml"},
			{"resourcelist.xml", "https://example.org/x/resourcelist.xml"},
			{part, "https://example.org/x/" + part},
			{"changelist.xml", "https://example.org/x/changelist.xml"},
			{list, "https://example.org/x/" + list},
			{"publication.json", "https://example.org/x/publication.json"},
		}},
		{"two deep", "a/b", "http://cdn.example/", []Ref{
			{".well-known/resourcesync", "http://cdn.example/.well-known/resourcesync"},
			{"a/b/capabilitylist.xml", "http://cdn.example/a/b/capabilitylist.xml"},
			{"a/b/resourcelist.xml", "http://cdn.example/a/b/resourcelist.xml"},
			{"a/b/" + part, "http://cdn.example/a/b/" + part},
			{"a/b/changelist.xml", "http://cdn.example/a/b/changelist.xml"},
			{"a/b/" + list, "http://cdn.example/a/b/" + list},
			{"a/b/publication.json", "http://cdn.example/a/b/publication.json"},
		}},
		{"escaped", "ä &", "https://example.org/", []Ref{
			{".well-known/resourcesync", "https://example.org/.well-known/resourcesync"},
			{"ä &/capabilitylist.xml", "https://example.org/%C3%A4%20&/capabilitylist.xml"},
			{"ä &/resourcelist.xml", "https://example.org/%C3%A4%20&/resourcelist.xml"},
			{"ä &/" + part, "https://example.org/%C3%A4%20&/" + part},
			{"ä &/changelist.xml", "https://example.org/%C3%A4%20&/changelist.xml"},
			{"ä &/" + list, "https://example.org/%C3%A4%20&/" + list},
			{"ä &/publication.json", "https://example.org/%C3%A4%20&/publication.json"},
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			// Documents keep their names whatever the form of the resources' URIs.
			for _, form := range []Form{PlainURIs, IndexURIs, CleanURIs} {
				l, err := New(Identity{
					BaseURL: "https://source.example/", PublicationURL: test.publication, Folder: test.folder, Form: form,
				})
				if err != nil {
					t.Fatal(err)
				}
				for i, got := range refs(l) {
					if got != test.want[i] {
						t.Errorf("form %q: got %v, want %v", form, got, test.want[i])
					}
					if path, ok := l.PathOf(got.URI); !ok || path != got.Path {
						t.Errorf("form %q: %s leads back to %q, %t", form, got.URI, path, ok)
					}
				}
			}
		})
	}
}

// Every document has to be among the names that are kept out of the source.
func TestDocumentNames(t *testing.T) {
	t.Parallel()
	l := mustNew(t, "https://example.org/", ".", PlainURIs)
	names := map[string]bool{}
	for _, n := range l.Documents() {
		names[n] = true
	}
	for _, ref := range []Ref{
		l.CapabilityList(), l.ResourceList(), l.ResourceListPart([32]byte{}), l.ChangeList(),
		l.ChangeListFrom(time.Now()), l.Record(), l.Page(), l.Style(),
	} {
		if top, _, _ := strings.Cut(ref.Path, "/"); !names[top] {
			t.Errorf("%s is not among %q", top, l.Documents())
		}
	}
}

// Only names that documents can have are a publication's own: what a record or
// a journal names beside them would be removed.
func TestOwns(t *testing.T) {
	t.Parallel()
	const digest = "0123456789abcdef0123456789abcdef"
	const heads, bodies = "head", "body"
	tests := []struct {
		path string
		want string // none if it is not the publication's
	}{
		{"capabilitylist.xml", heads},
		{"resourcelist.xml", heads},
		{"changelist.xml", heads},
		{"changelist-archive.xml", heads},
		{"resourcedump-archive.xml", heads},
		{"changelist/20260102T030405Z-01234567.xml", bodies},
		{"resourcelist/20260102T030405Z-01234567.xml", bodies},
		{"resourcedump/20260102T030405Z-01234567.xml", bodies},
		{path: "resourcedump/20260102T030405Z-01234567.zip"},
		{path: "notes-archive.xml"},
		{"resourcedump.xml", heads},
		{"changedump.xml", heads},
		{"changelist/20260102T030405Z.xml", heads + " " + bodies},
		{"resourcelist/" + digest + ".xml", bodies},
		{"resourcedump/" + digest + ".xml", bodies},
		{"resourcedump/" + digest + ".zip", bodies},
		{"changedump/20260102T030405Z-01234567.xml", bodies},
		{"changedump/20260102T030405Z-01234567.zip", bodies},
		{"publication.json", "record"},
		{path: ""},
		{path: "."},
		{path: "resourcelist"},
		{path: "resourcelist/"},
		{path: "resourcelist/."},
		{path: "resourcelist/.."},
		{path: "resourcelist/.xml"},
		{path: "resourcelist/notes.xml"},
		{path: "resourcelist/" + digest},
		{path: "resourcelist/" + digest + ".zip"},
		{path: "resourcelist/" + digest + ".xml.xml"},
		{path: "resourcelist/" + digest + "0.xml"},
		{path: "resourcelist/" + digest[1:] + ".xml"},
		{path: "resourcelist/" + strings.ToUpper(digest) + ".xml"},
		{path: "resourcelist/a/" + digest + ".xml"},
		{path: "resourcelist/../" + digest + ".xml"},
		{path: "changelist/" + digest + ".xml"},
		{path: "changelist/20260102T030405Z.zip"},
		{path: "changelist/20260102T030405.xml"},
		{path: "changelist/20260230T030405Z.xml"},
		{"changelist/20260102T030405Z344.xml", heads + " " + bodies},
		{"changelist/20260102T030405Z344120.xml", heads + " " + bodies},
		{"changelist/20260102T030405Z000001.xml", heads + " " + bodies},
		{"changelist/20260102T030405Z344-01234567.xml", bodies},
		{"resourcelist/20260102T030405Z344-01234567.xml", bodies},
		{"resourcedump/20260102T030405Z344-01234567.xml", bodies},
		{"changedump/20260102T030405Z344-01234567.xml", bodies},
		{"changedump/20260102T030405Z344123-01234567.zip", bodies},
		{path: "changelist/20260102T030405.5Z.xml"},
		{path: "changelist/20260102T030405.344Z.xml"},
		{path: "changelist/20260102T030405Z5.xml"},
		{path: "changelist/20260102T030405Z000.xml"},
		{path: "changelist/20260102T030405Z344000.xml"},
		{path: "changelist/20260102T030405Z344123456.xml"},
		{path: "changelist/20260102T030405Z344Z.xml"},
		{path: "changelist/20260102T030405344.xml"},
		{path: "changelist/20260102T030405Z.344.xml"},
		{path: "changedump/20260102T030405Z34-01234567.zip"},
		{path: "changelist/notes.xml"},
		{path: "resourcedump/notes.zip"},
		{path: "changedump/" + digest + ".zip"},
		{path: "changedump/20260102T030405Z.zip"},
		{path: "changedump/20260102T030405Z-0123456.zip"},
		{path: "changedump/20260102T030405Z-012345678.zip"},
		{path: "changedump/x-01234567.zip"},
		{path: "photos/" + digest + ".xml"},
	}
	for _, folder := range []string{"", ".", "a/b"} {
		l := mustNew(t, "https://example.org/", folder, PlainURIs)
		other := mustNew(t, "https://example.org/", "another", PlainURIs)
		for _, test := range tests {
			name := l.inFolder(test.path).Path
			owned := test.want != ""
			if got := l.IsHead(name); got != strings.Contains(test.want, heads) {
				t.Errorf("%s is a head: %t", name, got)
			}
			if got := l.IsBody(name); got != strings.Contains(test.want, bodies) {
				t.Errorf("%s is a body: %t", name, got)
			}
			if got := l.Owns(name); got != owned {
				t.Errorf("%s is owned: %t", name, got)
			}
			if got := IsOwned(name); got != owned {
				t.Errorf("%s is owned by any publication: %t", name, got)
			}
			if other.Owns(name) {
				t.Errorf("%s is owned by a publication in another folder", name)
			}
		}
	}
	for name, want := range map[string]bool{
		".well-known/resourcesync":               true,
		".well-known/other":                      false,
		".well-known/capabilitylist.xml":         false,
		"resourcesync":                           false,
		"/capabilitylist.xml":                    false,
		"../capabilitylist.xml":                  false,
		"a/../capabilitylist.xml":                false,
		".wellspring/publication.json":           false,
		".wellspring/staging/capabilitylist.xml": false,
	} {
		if got := IsOwned(name); got != want {
			t.Errorf("%s is owned by any publication: %t", name, got)
		}
	}
}

// Names with a time sort in time, with fractions or without.
func TestNamesSortInTime(t *testing.T) {
	t.Parallel()
	l := mustNew(t, "https://example.org/", "", PlainURIs)
	last, lastPackage := "", ""
	for i, from := range []time.Time{
		time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(999, 12, 31, 23, 59, 59, 0, time.UTC),
		time.Date(2026, 9, 30, 23, 59, 59, 0, time.UTC), time.Date(2026, 9, 30, 23, 59, 59, 1e3, time.UTC),
		time.Date(2026, 9, 30, 23, 59, 59, 1e6, time.UTC), time.Date(2026, 9, 30, 23, 59, 59, 344e6, time.UTC),
		time.Date(2026, 9, 30, 23, 59, 59, 344_001e3, time.UTC), time.Date(2026, 9, 30, 23, 59, 59, 344_123e3, time.UTC),
		time.Date(2026, 9, 30, 23, 59, 59, 345e6, time.UTC), time.Date(2026, 9, 30, 23, 59, 59, 999_999e3, time.UTC),
		time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 10, 1, 0, 0, 0, 1e6, time.UTC),
		time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		name := l.ChangeListFrom(from).Path
		if name <= last {
			t.Errorf("%s comes behind %s", last, name)
		}
		zip, _ := l.ChangeDumpPackage(from, [32]byte{byte(255 - i)})
		if zip.Path <= lastPackage {
			t.Errorf("%s comes behind %s", lastPackage, zip.Path)
		}
		for _, path := range []string{name, zip.Path} {
			if !l.IsBody(path) || IsWrittenOnce(path) != (path == zip.Path) {
				t.Errorf("%s: a body %t, written once %t", path, l.IsBody(path), IsWrittenOnce(path))
			}
		}
		last, lastPackage = name, zip.Path
	}
}

// Of names with a time, that of a Change List tells nothing of its content.
func TestNameAgreesWithTimes(t *testing.T) {
	t.Parallel()
	digest := strings.Repeat("01234567", 8)
	for name, want := range map[string]bool{
		"changelist/20260102T030405Z.xml":                true,
		"changelist/20260102T030405Z344.xml":             true,
		"changelist/20260102T030405Z344123.xml":          true,
		"changelist/20260102T030405Z34.xml":              false,
		"changelist/20260102T030405Z344-01234567.xml":    true,
		"changelist/20260102T030405Z344-11234567.xml":    false,
		"changedump/20260102T030405Z344123-01234567.zip": true,
		"changedump/20260102T030405Z344123-11234567.zip": false,
	} {
		if got := NameAgrees("resourcesync/"+name, digest); got != want {
			t.Errorf("%s: got %t, want %t", name, got, want)
		}
	}
}

func TestPathOf(t *testing.T) {
	t.Parallel()
	l, err := New(Identity{BaseURL: "https://example.org/", PublicationURL: "https://example.org/pub", Form: CleanURIs})
	if err != nil {
		t.Fatal(err)
	}
	for uri, want := range map[string]string{
		"https://example.org/pub/a":              "a",
		"https://example.org/pub/a/b.xml":        "a/b.xml",
		"https://example.org/pub/index.html":     "index.html",
		"https://example.org/pub/a%20%C3%A9%FF":  "a é\xff",
		"https://example.org/pub":                "",
		"https://example.org/pub/":               "",
		"https://example.org/public":             "",
		"https://example.org/a":                  "",
		"http://example.org/pub/a":               "",
		"https://example.org:443/pub/a":          "",
		"https://EXAMPLE.org/pub/a":              "",
		"https://example.org/pub/a/":             "",
		"https://example.org/pub//a":             "",
		"https://example.org/pub/a//b":           "",
		"https://example.org/pub/../a":           "",
		"https://example.org/pub/a/..":           "",
		"https://example.org/pub/a/./b":          "",
		"https://example.org/pub/%2E%2E/a":       "",
		"https://example.org/pub/%2e%2e/a":       "",
		"https://example.org/pub/a%2Fb":          "",
		"https://example.org/pub/a%00":           "",
		"https://example.org/pub/%61":            "",
		"https://example.org/pub/a?q":            "",
		"https://example.org/pub/a#f":            "",
		"https://example.org/pub/a b":            "",
		"https://example.org/pub/é":              "",
		"https://example.org/pub/a%":             "",
		"https://example.org/pub/a%2":            "",
		"https://example.org/pub/a%c3%a9":        "",
		"https://user@example.org/pub/a":         "",
		"https://example.org/pub/a\n":            "",
		"https://example.org/pub/https://x.org/": "",
	} {
		got, ok := l.PathOf(uri)
		if ok != (want != "") || ok && got != want {
			t.Errorf("%s: got %q, %t, want %q", uri, got, ok, want)
		}
	}
}

// FuzzNew looks for base URLs that are taken and then would not be the
// beginning of a URI.
func FuzzNew(f *testing.F) {
	for _, s := range []string{
		"https://example.org/", "HTTP://h:80/a%20b/..", "https://[::1]:8/x;y", "https://h/%2e%2E/", "https://h<>/", "https://h//",
	} {
		f.Add(s, "a/b")
	}
	f.Fuzz(func(t *testing.T, base, folder string) {
		l, err := New(Identity{BaseURL: base, Folder: folder})
		if err != nil {
			return
		}
		if again, err := New(l.Identity); err != nil || again != l {
			t.Fatalf("%q, %q became %+v, and that %+v, %v", base, folder, l, again, err)
		}
		for _, ref := range []Ref{l.SourceDescription(), l.ResourceList()} {
			u, err := url.Parse(ref.URI)
			if err != nil || !u.IsAbs() || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
				t.Fatalf("%q, %q: %s is not a plain URI: %v", base, folder, ref.URI, err)
			}
			if !isURI.MatchString(ref.URI) {
				t.Fatalf("%q, %q: %q has something in it that has to be escaped", base, folder, ref.URI)
			}
			if path, ok := l.PathOf(ref.URI); !ok || path != ref.Path {
				t.Fatalf("%q, %q: %s leads back to %q, %t, not %q", base, folder, ref.URI, path, ok, ref.Path)
			}
		}
	})
}
