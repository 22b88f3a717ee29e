package publish

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// sumX is the SHA-256 of "x".
const sumX = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"

func journalOf(t *testing.T, j journal) string {
	t.Helper()
	b, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// within fails the test if f takes long: to open a pipe may take for ever.
func within(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("it hangs")
	}
}

// beginBroken begins where a commit is pending that cannot be completed. But for
// the lock, nothing may change, not even above the directory.
func beginBroken(t *testing.T, top, dir string) { beginBrokenWith(t, top, dir, Options{}) }

func beginBrokenWith(t *testing.T, top, dir string, o Options, say ...string) {
	t.Helper()
	want := treeOf(t, top)
	within(t, func() {
		tx, err := Begin(t.Context(), dir, o)
		if err == nil {
			tx.Close()
			t.Error("it began")
		} else if !IsIncomplete(err) {
			t.Errorf("got %v, want that the commit is incomplete", err)
		}
		for _, piece := range say {
			if err != nil && !strings.Contains(err.Error(), piece) {
				t.Errorf("got %v, want one with %q in it", err, piece)
			}
		}
	})
	checkTree(t, "after Begin", treeOf(t, top), want)
	if !Pending(dir) {
		t.Error("the commit is no longer pending")
	}
}

// TestBadJournal has journals that no transaction has written, or not like that.
func TestBadJournal(t *testing.T) {
	t.Parallel()
	put := func(staged, path string) string {
		return journalOf(t, journal{Format: journalFormat, Puts: []Put{{Staged: staged, Path: path, Length: 1, SHA256: sumX}}})
	}
	remove := func(path string) string {
		return journalOf(t, journal{Format: journalFormat, Removes: []string{path}})
	}
	good := put("000001", "new")
	tests := map[string]string{
		"empty":                           "",
		"cut off":                         good[:len(good)-2],
		"cut off early":                   good[:1],
		"followed by something":           good + good,
		"zeros":                           strings.Repeat("\x00", 100),
		"not JSON":                        "<journal/>",
		"null":                            "null",
		"a list":                          "[]",
		"no format":                       "{}",
		"an older format":                 `{"format":0,"puts":[]}`,
		"a newer format":                  `{"format":2,"puts":[]}`,
		"another type":                    `{"format":1,"puts":{}}`,
		"puts above":                      put("000001", "../out of it"),
		"puts above by a detour":          put("000001", "a/../../out of it"),
		"puts at an absolute path":        put("000001", "/tmp/out of it"),
		"puts at the top":                 put("000001", "."),
		"puts at no path":                 put("000001", ""),
		"puts over the folder":            put("000001", Folder),
		"puts over the lock":              put("000001", lockName),
		"puts over the journal":           put("000001", journalName),
		"puts into the folder":            put("000001", Folder+"/new"),
		"puts deep into the folder":       put("000001", Folder+"/a/b/new"),
		"puts into the staging folder":    put("000001", stagingName+"/new"),
		"puts a file above":               put("../000001", "new"),
		"puts a file from far above":      put("../../../outside", "new"),
		"puts a file from the directory":  put("../../kept", "new"),
		"puts a file below":               put("a/000001", "new"),
		"puts an absolute file":           put("/etc/hostname", "new"),
		"puts the staging folder":         put(".", "new"),
		"puts the folder":                 put("..", "new"),
		"puts no file":                    put("", "new"),
		"puts over a directory":           put("000001", "a"),
		"puts below a file":               put("000001", "kept/new"),
		"puts what is not there":          put("000002", "new"),
		"puts what is not there, but old": put("000002", "kept"),
		"puts another file":               put("000003", "new"),
		"puts a longer file":              put("000004", "new"),
		"removes above":                   remove("../outside"),
		"removes an absolute path":        remove("/tmp/nothing there"),
		"removes the top":                 remove("."),
		"removes no path":                 remove(""),
		"removes the folder":              remove(Folder),
		"removes the journal":             remove(journalName),
		"removes what is staged":          remove(stagingName + "/000001"),
		"removes a full directory":        remove("a"),
		"one bad after a good one": journalOf(t, journal{Format: journalFormat, Puts: []Put{
			{Staged: "000001", Path: "new", Length: 1, SHA256: sumX},
			{Staged: "000003", Path: "../out of it", Length: 1, SHA256: sumX},
		}}),
		"the same twice": journalOf(t, journal{Format: journalFormat, Puts: []Put{
			{Staged: "000001", Path: "new", Length: 1, SHA256: sumX},
			{Staged: "000001", Path: "newer", Length: 1, SHA256: sumX},
		}}),
		"puts what it removes": journalOf(t, journal{
			Format: journalFormat, Removes: []string{"new"},
			Puts: []Put{{Staged: "000001", Path: "new", Length: 1, SHA256: sumX}},
		}),
	}
	for name, content := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := tempDir(t)
			dir := filepath.Join(top, "out")
			tree{
				"outside":                          "outside",
				"out/kept":                         "kept",
				"out/a/b":                          "b",
				"out/" + journalName:               content,
				"out/.wellspring/staging/a/000001": "x",
				"out/.wellspring/staging/000001":   "x",
				"out/.wellspring/staging/000003":   "y",
				"out/.wellspring/staging/000004":   "xx",
			}.buildIn(t, top)
			beginBroken(t, top, dir)
		})
	}
}

// TestForgedJournal has journals that are well made, and name files that are not
// the publication's.
func TestForgedJournal(t *testing.T) {
	t.Parallel()
	put := func(path string) Put { return Put{Staged: "000001", Path: path, Length: 1, SHA256: sumX} }
	tests := []struct {
		name    string
		journal journal
		says    string // the file at fault, or nothing if it is fine
	}{
		{"puts over a resource", journal{Puts: []Put{put("index.html")}}, `"index.html"`},
		{"puts a new file", journal{Puts: []Put{put("new")}}, `"new"`},
		{"removes a resource", journal{Removes: []string{"index.html"}}, `"index.html"`},
		{"removes a resource after a document", journal{Puts: []Put{put("sync/list")}, Removes: []string{"sync/old", "index.html"}}, `"index.html"`},
		{"names controls", journal{Removes: []string{"a\x1b[2J"}}, `"a\x1b[2J"`},
		{"is right", journal{Puts: []Put{put("sync/list")}, Removes: []string{"sync/old"}}, ""},
	}
	owned := Options{Owns: func(path string, _ func(string) bool) bool { return strings.HasPrefix(path, "sync/") }}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			top := tempDir(t)
			dir := filepath.Join(top, "out")
			test.journal.Format = journalFormat
			tree{
				"out/index.html": "mine", "out/sync/old": "old",
				"out/" + journalName: journalOf(t, test.journal), "out/" + stagingName + "/000001": "x",
			}.buildIn(t, top)
			if test.says != "" {
				beginBrokenWith(t, top, dir, owned, "it names "+test.says, "none of the publication's files")
				return
			}
			tx, err := Begin(t.Context(), dir, owned)
			if err != nil {
				t.Fatal(err)
			}
			if err := tx.Close(); err != nil {
				t.Error(err)
			}
			checkTree(t, "after all", treeOf(t, dir), tree{"index.html": "mine", "sync/": "", "sync/list": "x"})
		})
	}
}

// TestPlanOthersFiles plans what no later transaction would complete.
func TestPlanOthersFiles(t *testing.T) {
	t.Parallel()
	dir := tree{"index.html": "mine"}.build(t)
	want := unchangeable(t, dir)
	tx, err := Begin(t.Context(), dir, Options{Owns: func(path string, _ func(string) bool) bool { return path == "list" }})
	if err != nil {
		t.Fatal(err)
	}
	err = put(tx, "000001", file{path: "list", content: "x"})
	if err == nil {
		tx.Remove("index.html")
		err = tx.Commit(t.Context())
	}
	if err == nil || IsIncomplete(err) || !strings.Contains(err.Error(), `"index.html"`) {
		t.Errorf("got %v", err)
	}
	if err := tx.Close(); err != nil {
		t.Error(err)
	}
	checkUnchanged(t, dir, want)
}

// TestJournalOfOthers has journals as other releases or other hands may write
// them: they are carried out.
func TestJournalOfOthers(t *testing.T) {
	t.Parallel()
	moved := fmt.Sprintf(`{"staged":"000001","path":"new","length":1,"sha256":%q}`, sumX)
	arrived := fmt.Sprintf(`{"staged":"000009","path":"a/x","length":1,"sha256":%q}`, sumX)
	for name, test := range map[string]struct {
		journal string
		want    tree
	}{
		"nothing to do":     {`{"format":1}`, tree{"a/": "", "a/x": "x"}},
		"one to move":       {`{"format":1,"puts":[` + moved + `]}`, tree{"a/": "", "a/x": "x", "new": "x"}},
		"one has arrived":   {`{"format":1,"puts":[` + arrived + `,` + moved + `]}`, tree{"a/": "", "a/x": "x", "new": "x"}},
		"white space":       {"\n {\"format\" : 1 ,\n\"puts\":[]}\n", tree{"a/": "", "a/x": "x"}},
		"removes":           {`{"format":1,"removes":["a/x","a/y","b"]}`, tree{}},
		"removes the same":  {`{"format":1,"removes":["a/x","a/x"]}`, tree{}},
		"something unknown": {`{"format":1,"puts":[` + moved + `],"later":true}`, tree{"a/": "", "a/x": "x", "new": "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := tree{journalName: test.journal, stagingName + "/000001": "x", "a/x": "x"}.build(t)
			tx, err := Begin(t.Context(), dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if !tx.Recovered {
				t.Error("Recovered is false")
			}
			if err := tx.Close(); err != nil {
				t.Error(err)
			}
			checkTree(t, "after all", treeOf(t, dir), test.want)
		})
	}
}

// TestLeftOver has things in the folder that no crash explains, but no journal.
func TestLeftOver(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]tree{
		"an empty folder":             {Folder + "/": ""},
		"a lock file":                 {lockName: `{"pid":1,"host":"nowhere"}`},
		"an empty lock file":          {lockName: ""},
		"a staging folder":            {stagingName + "/a/b/c": "x", stagingName + "/000000": "y"},
		"a staging folder, as a file": {stagingName: "x"},
		"half a journal":              {journalTemp: `{"format":1,"pu`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := sampleBefore.build(t)
			before.buildIn(t, dir)
			if Pending(dir) {
				t.Error("a commit is pending")
			}
			if err, closed := sample.run(t.Context(), dir, nil); err != nil || closed != nil {
				t.Fatal(err, closed)
			}
			checkTree(t, "after all", treeOf(t, dir), sampleAfter)
		})
	}
}

// TestFolderOfOthers has something in the folder that is not Wellspring's.
func TestFolderOfOthers(t *testing.T) {
	t.Parallel()
	dir := tree{Folder + "/notes": "mine"}.build(t)
	if err, closed := new(plan).run(t.Context(), dir, nil); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	checkTree(t, "after all", treeOf(t, dir), tree{Folder + "/": "", Folder + "/notes": "mine"})
}

func TestPending(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tree tree
		want bool
	}{
		"nothing":         {tree{}, false},
		"an empty folder": {tree{Folder + "/": ""}, false},
		"a lock":          {tree{lockName: "", stagingName + "/": ""}, false},
		"half a journal":  {tree{journalTemp: ""}, false},
		"a journal":       {tree{journalName: ""}, true},
	} {
		if got := Pending(test.tree.build(t)); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
	if Pending(filepath.Join(tempDir(t), "not there")) {
		t.Error("a commit is pending in a directory that is not there")
	}
}

func FuzzJournal(f *testing.F) {
	for _, seed := range []string{
		"", "{}", `{"format":1}`, `{"format":1,"puts":null,"removes":["a","a/b"]}`,
		`{"format":1,"puts":[{"staged":"000001","path":"a/b","length":1,"sha256":"00","body":true}],"removes":["c"]}`,
		`{"format":1,"puts":[{"staged":"..","path":"../x"}]}`,
		`{"format":1,"puts":[{"staged":"x","path":".wellspring/lock"}]}`,
		`{"format":1,"puts":[{"staged":".","path":"x"}]}`, `{"format":1,"removes":["."]}`,
		`{"format":1,"removes":["\u0000","C:\\x","NUL","a\\..\\..\\b"]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		j, err := parseJournal(b)
		if err != nil {
			return
		}
		targets := j.Removes
		for _, p := range j.Puts {
			targets = append(targets, p.Path)
			if !fs.ValidPath(p.Staged) || p.Staged == "." || strings.Contains(p.Staged, "/") {
				t.Errorf("takes a file from %q", p.Staged)
			}
		}
		for _, name := range targets {
			if !filepath.IsLocal(filepath.FromSlash(name)) || filepath.Clean(name) == "." ||
				strings.HasPrefix(filepath.ToSlash(filepath.Clean(name))+"/", Folder+"/") {
				t.Errorf("changes %q", name)
			}
		}
		again, err := parseJournal([]byte(journalOf(t, *j)))
		if err != nil || journalOf(t, *again) != journalOf(t, *j) {
			t.Errorf("%s does not come back as it was: %v, %v", b, again, err)
		}
	})
}
