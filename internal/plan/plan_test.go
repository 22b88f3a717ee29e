package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const site = "https://example.org/"

// state returns the state of a publication that is told by a letter.
func state(letter string) State {
	return State{At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), SHA256: strings.Repeat(letter, 64), MD5: strings.Repeat(letter, 32)}
}

// put returns a file of a phase.
func put(phase Phase, path string) File {
	f := File{Phase: phase, Source: phase == Resources, Path: path, URI: site + (&url.URL{Path: path}).EscapedPath(), Length: 3, SHA256: strings.Repeat("0", 64), MD5: strings.Repeat("0", 32)}
	if !f.Source {
		f.Type, f.CacheControl = "application/xml", Revalidate
	}
	return f
}

func gone(path string) File { return File{Phase: Delete, Path: path, URI: site + path} }

// write makes the plan from one state to another.
func write(t *testing.T, name string, from *State, to State, files ...File) {
	t.Helper()
	w, _, err := Create(name, site, from)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, f := range files {
		if err := w.Add(f); err != nil {
			t.Fatal(err)
		}
	}
	err = w.Prepare(Header{Release: "test", BaseURL: site, Record: "resourcesync/publication.json", To: to})
	if err = errors.Join(err, w.Commit()); err != nil {
		t.Fatal(err)
	}
}

// read returns a plan as a line for each file.
func read(t *testing.T, name string) (h Header, files []string) {
	t.Helper()
	r, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for f, err := range r.Files() {
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, string(f.Phase)+" "+f.Path)
	}
	return r.Header, files
}

func TestOrder(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "plan")
	a := state("a")
	write(t, name, nil, a, gone("x"), put(Record, "resourcesync/publication.json"), put(Description, ".well-known/resourcesync"),
		put(Bodies, "b"), put(Resources, "b"), put(Resources, "\xff\n"), put(ChangeLists, "c"))
	h, files := read(t, name)
	want := []string{
		"resources b", "resources \xff\n", "bodies b", "changelist c", "description .well-known/resourcesync",
		"record resourcesync/publication.json", "delete x",
	}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if h.From != nil || h.To != a || h.Puts != 6 || h.PutBytes != 18 || h.Deletes != 1 || h.IsEmpty() {
		t.Errorf("the header is %+v", h)
	}
}

// TestGoOn has plans that nobody carried out.
func TestGoOn(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "plan")
	a, b, c := state("a"), state("b"), state("c")
	write(t, name, nil, a, put(Resources, "1"), put(Resources, "2"), put(Bodies, "old"), put(ChangeLists, "c"), put(Record, "r"))
	write(t, name, &a, b, put(Resources, "2"), put(ResourceLists, "l"), put(ChangeLists, "c"), put(Record, "r"), gone("old"))
	write(t, name, &b, c, put(Resources, "3"), put(Record, "r"))
	h, files := read(t, name)
	want := []string{"resources 1", "resources 2", "resources 3", "changelist c", "resourcelist l", "record r", "delete old"}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if h.From != nil || h.To != c || h.Puts != 6 || h.Deletes != 1 {
		t.Errorf("the header is %+v", h)
	}
	if diff := cmp.Diff([]State{a, b}, h.Through); diff != "" {
		t.Errorf("through (-want +got):\n%s", diff)
	}
}

// TestInTheWay has a plan in the way that leads elsewhere.
func TestInTheWay(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "plan")
	a, b := state("a"), state("b")
	write(t, name, nil, a, put(Resources, "1"))
	write(t, name, &a, b, put(Resources, "2"))
	_, behind, err := Create(name, site, &a)
	if err != nil || !behind {
		t.Errorf("behind is %v, %v", behind, err)
	}
	if _, _, err := Create(name, "https://other.example/", &b); !errors.Is(err, ErrOther) {
		t.Errorf("the error is %v", err)
	}
}

// TestMarks has a mark that was not written to its end.
func TestMarks(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "plan")
	write(t, name, nil, state("a"), put(Resources, "1"))
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(`{"mark":{"not`)
	if err = errors.Join(err, f.Close(), AddMark(name, Mark{Notified: "topic"})); err != nil {
		t.Fatal(err)
	}
	r, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, err := range r.Files() {
		if err != nil {
			t.Fatal(err)
		}
	}
	if !r.IsNotified("topic") || r.IsNotified("other") {
		t.Error("the marks are not those that were written")
	}
}

const goodHeader = `{"wellspring_plan":1,"release":"x","base_url":"https://example.org/","publication_url":"https://example.org/","record":"r","from":null,` +
	`"to":{"at":"2026-01-02T03:04:05Z","sha256":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","md5":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},"puts":0,"put_bytes":0,"deletes":0}` + "\n"

func TestBad(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"empty":         "",
		"no JSON":       "hello\n",
		"another JSON":  `{"format": 1}` + "\n",
		"half a line":   strings.TrimSuffix(goodHeader, "\n"),
		"later format":  strings.Replace(goodHeader, `plan":1`, `plan":2`, 1),
		"record above":  strings.Replace(goodHeader, `"r"`, `"../r"`, 1),
		"no digest":     strings.Replace(goodHeader, "aaaa", "zzzz", 1),
		"escape in URL": strings.Replace(goodHeader, "example.org/", `example.org/\u001b`, 1),
		"path above":    goodHeader + `{"phase":"delete","path":"../x","uri":"x"}` + "\n",
		"absolute path": goodHeader + `{"phase":"delete","path":"/x","uri":"x"}` + "\n",
		"no path":       goodHeader + `{"phase":"delete","uri":"x"}` + "\n",
		"odd path":      goodHeader + `{"phase":"delete","path":"a//b","uri":"x"}` + "\n",
		"zero in path":  goodHeader + `{"phase":"delete","path":"a\u0000b","uri":"x"}` + "\n",
		"raw above":     goodHeader + `{"phase":"delete","path_bytes":"Li4v/w==","uri":"x"}` + "\n",
		"no digests":    goodHeader + `{"phase":"bodies","path":"x","uri":"x"}` + "\n",
		"unknown phase": goodHeader + `{"phase":"later","path":"x","uri":"x"}` + "\n",
		"unknown key":   goodHeader + `{"phase":"delete","path":"x","uri":"x","mode":"rm -rf"}` + "\n",
		"line in type":  goodHeader + `{"phase":"delete","path":"x","uri":"x","type":"a\nb"}` + "\n",
		"too late":      goodHeader + `{"phase":"delete","path":"x","uri":"x"}` + "\n" + `{"phase":"bodies","path":"x","uri":"x","sha256":"` + strings.Repeat("0", 64) + `","md5":"` + strings.Repeat("0", 32) + `"}` + "\n",
		"cut off":       strings.Replace(goodHeader, `"deletes":0`, `"deletes":2`, 1) + `{"phase":"delete","path":"x","uri":"x"}` + "\n",
		"one too many":  goodHeader + `{"phase":"delete","path":"x","uri":"x"}` + "\n",
		"long line":     strings.Repeat("x", longest+2),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "plan")
			if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := readAll(file); err == nil {
				t.Error("it was taken for a plan")
			}
			if _, _, err := Create(file, site, nil); err == nil && content != "" {
				t.Error("it would be replaced")
			}
		})
	}
}

func readAll(name string) error {
	r, err := Open(name)
	if err != nil {
		return err
	}
	defer r.Close()
	return r.readFiles()
}

func (r *Reader) readFiles() error {
	for _, err := range r.Files() {
		if err != nil {
			return err
		}
	}
	return nil
}

func FuzzRead(f *testing.F) {
	oneGone := strings.Replace(goodHeader, `"deletes":0`, `"deletes":1`, 1)
	f.Add([]byte(oneGone + `{"phase":"delete","path":"x","uri":"x"}` + "\n" + `{"mark":{"notified":"x"}}` + "\n"))
	f.Add([]byte(oneGone + `{"phase":"delete","path_bytes":"/w==","uri":"x"}` + "\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		r, err := newReader("plan", bytes.NewReader(content))
		if err != nil || r.readFiles() != nil {
			return
		}
		if r, err = newReader("plan", bytes.NewReader(content)); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := WriteJSON(&out, r); err != nil || !json.Valid(out.Bytes()) {
			t.Fatalf("%v: %s", err, &out)
		}
	})
}

func TestJSON(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "plan")
	for _, files := range [][]File{nil, {put(Bodies, "b")}, {put(Resources, "\xff"), put(Resources, "a"), put(Bodies, "b"), gone("c")}} {
		os.Remove(name)
		write(t, name, nil, state("a"), files...)
		r, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		err = WriteJSON(&out, r)
		r.Close()
		var got struct {
			Puts   int
			Phases []struct {
				Phase  Phase
				Action string
				Files  []struct {
					Path string
					Raw  []byte `json:"path_bytes"`
				}
			}
		}
		if err = errors.Join(err, json.Unmarshal(out.Bytes(), &got)); err != nil {
			t.Fatalf("%v: %s", err, &out)
		}
		n := 0
		for _, p := range got.Phases {
			n += len(p.Files)
			if (p.Action == "delete") != (p.Phase == Delete) {
				t.Errorf("the action of %s is %s", p.Phase, p.Action)
			}
		}
		if n != len(files) {
			t.Errorf("%d files of %d: %s", n, len(files), &out)
		}
	}
}

func TestLists(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name, lists := filepath.Join(dir, "plan"), filepath.Join(dir, "lists")
	zip := put(Bodies, "resourcesync/z.zip")
	zip.Type = "application/zip"
	removed := gone(`a/"b" [c]`)
	removed.Source = true
	write(t, name, nil, state("a"), put(Resources, "-x y"), zip, put(Bodies, "resourcesync/b.xml"), put(ChangeLists, "resourcesync/c.xml"),
		put(Record, "resourcesync/publication.json"), removed, gone("resourcesync/old.xml"))
	for range 2 { // the second time over what the first one wrote
		r, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := WriteLists(r, lists, GSUtil)
		r.Close()
		if err != nil {
			t.Fatal(err)
		}
		want := []List{
			{Name: "01-resources.txt", Source: true},
			{Name: "03-bodies.txt", CacheControl: Revalidate},
			{Name: "03-bodies.xml.txt", Type: "application/xml", CacheControl: Revalidate},
			{Name: "07-changelist.xml.txt", Type: "application/xml", CacheControl: Revalidate},
			{Name: "16-delete-resources.txt", Source: true, Delete: true},
			{Name: "16-delete.txt", Delete: true},
		}
		if diff := cmp.Diff(want, got.Files); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	for file, want := range map[string]string{
		"01-resources.txt":        "-x y\n",
		"16-delete-resources.txt": "a/\"b\" [c]\n",
		PurgeFile:                 site + "resourcesync/c.xml\n" + site + "resourcesync/publication.json\n",
		PurgeResourcesFile:        site + "-x%20y\n" + site + "a/\"b\" [c]\n",
	} {
		if b, err := os.ReadFile(filepath.Join(lists, file)); err != nil || string(b) != want {
			t.Errorf("%s has %q, %v", file, b, err)
		}
	}
}

func TestListsInTheWay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "plan")
	write(t, name, nil, state("a"), put(Resources, "a\nb"))
	r, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := WriteLists(r, dir, AWS); err == nil || !strings.Contains(err.Error(), "not of an upload") {
		t.Errorf("the error is %v", err)
	}
	if _, err := WriteLists(r, filepath.Join(dir, "lists"), SFTP); err == nil || !strings.Contains(err.Error(), "line break") {
		t.Errorf("the error is %v", err)
	}
}

func TestBatch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name, lists := filepath.Join(dir, "plan"), filepath.Join(dir, "lists")
	write(t, name, nil, state("a"), put(Resources, `d/e/a*"\ é#`), put(Resources, "d/-b"), put(Bodies, "d/c"))
	r, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := WriteLists(r, lists, SFTP); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(lists, "01-resources.sftp"))
	want := `-mkdir ./d
-mkdir ./d/e
put ./d/e/a\*\"\\\ é\# ./d/e/.wellspring-0000000000000000.part
rename ./d/e/.wellspring-0000000000000000.part ./d/e/a\*\"\\\ é\#
put ./d/-b ./d/.wellspring-0000000000000000.part
rename ./d/.wellspring-0000000000000000.part ./d/-b
`
	if err != nil || string(b) != want {
		t.Errorf("%v (-want +got):\n%s", err, cmp.Diff(want, string(b)))
	}
}

// TestNames: names that a tool would take for others, or cannot have. What it cannot
// have put needs no deletion, so that renaming the file helps.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		tool       Tool
		name, want string // or part of an error
	}{
		{Rclone, "tab\t␉␠␡\x7f／．", "tab␉‛␉␠‛␡␡／．\n"},
		{Rclone, "‛", "quotes"},
		{Rclone, "a\nb\r", "a␊b␍\n"},
		{Rclone, "\xff", "UTF-8"},
		{AWS, "\xff", "UTF-8"},
		{AWS, "tab\t‛", "tab\t‛\n"},
		{GSUtil, "a\nb", "line break"},
		{SFTP, "\xff", "put ./\xff ./.wellspring-0000000000000000.part\nrename ./.wellspring-0000000000000000.part ./\xff\n"},
	} {
		dir := t.TempDir()
		name, lists := filepath.Join(dir, "plan"), filepath.Join(dir, "lists")
		for _, phase := range []Phase{Resources, Delete} {
			f := put(phase, test.name)
			write(t, name, nil, state("a"), f)
			got, err := writeLists(name, lists, test.tool)
			switch {
			case phase == Delete && err != nil:
				t.Errorf("%s: %q cannot be deleted: %v", test.tool, test.name, err)
			case phase == Resources && err != nil && !strings.Contains(err.Error(), test.want):
				t.Errorf("%s: %q: the error is %v", test.tool, test.name, err)
			case phase == Resources && err == nil && got != test.want:
				t.Errorf("%s: %q is listed as %q", test.tool, test.name, got)
			}
		}
	}
}

// writeLists returns the list of resources of a plan.
func writeLists(name, dir string, tool Tool) (string, error) {
	r, err := Open(name)
	if err != nil {
		return "", err
	}
	defer r.Close()
	lists, err := WriteLists(r, dir, tool)
	if err != nil || len(lists.Files) == 0 {
		return "", err
	}
	b, err := os.ReadFile(filepath.Join(dir, lists.Files[0].Name))
	return string(b), err
}
