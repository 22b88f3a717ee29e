package verify

import (
	"slices"
	"testing"
)

func TestGoodIsClean(t *testing.T) {
	t.Parallel()
	r := audit(t, good(t).write(t), Options{})
	if len(r.Findings) > 0 {
		t.Errorf("findings in what is good:\n%s", lines(r))
	}
	if r.Documents != 24 || r.Packages != 5 || r.Bitstreams != 11 || r.Resources != 3 {
		t.Errorf("%d documents, %d packages, %d bitstreams, %d resources", r.Documents, r.Packages, r.Bitstreams, r.Resources)
	}
}

// TestCodedFiles finds the file that a server sends with a content coding.
func TestCodedFiles(t *testing.T) {
	t.Parallel()
	w := good(t)
	w.files["pike.txt.gz"] = "\x1f\x8b and so on"
	coded := `hash="sha-256:{hash pike.txt.gz}" length="{length pike.txt.gz}" type="text/plain"`
	plain := `hash="sha-256:{hash pike.txt}" length="{length pike.txt}" type="text/plain"`
	for _, name := range []string{part1, changes3} {
		w.replace(t, name, plain, coded+` encoding="gzip"`)
	}
	r := audit(t, w.write(t), Options{})
	if got := rulesOf(r); slices.Contains(got, "resource-digest") || slices.Contains(got, "resource-missing") || r.Resources != 3 {
		t.Errorf("%s", lines(r))
	}
}
