package verify

import "testing"

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
