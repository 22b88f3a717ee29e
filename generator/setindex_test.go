package generator

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wellspring-sync/wellspring/generator/internal/survey"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/verify"
)

// TestSetIndex finds the same files in sets that are looked up by folder as in those
// that are all asked.
func TestSetIndex(t *testing.T) {
	t.Parallel()
	patterns := [][]string{
		{"/d0/"}, {"d1/*.txt"}, {"/d2/", "d3/**"}, {"d4/"}, {"*.txt"}, {"d[56]/*"}, {"/d7/", "*.csv"}, {"/d8"}, {"x/y/*"}, {`\d9/*`}, {"**/e/*"}, {"/"}, {"d1*/*"},
	}
	w := newWorld(t, t.TempDir())
	for i := range 12 {
		w.file(fmt.Sprintf("d%d/a.txt", i), "a", longAgo)
		w.file(fmt.Sprintf("d%d/e/d%d/a.csv", i, i), "a", longAgo)
	}
	w.options.AllowEmpty = true
	w.file("a.txt", "a", longAgo)
	w.file("x/y/z", "a", longAgo)
	for i, p := range patterns {
		if p[0] == "/" {
			p = nil
		}
		w.options.Sets = append(w.options.Sets, policy.Set{Name: fmt.Sprint(i), Resources: policy.Selection{Include: mustGlobs(t, p...)}})
	}
	few := w.build()
	verified(t, w.out, verify.Content)
	for i := len(w.options.Sets); i <= survey.ManySets; i++ {
		w.options.Sets = append(w.options.Sets, policy.Set{Name: fmt.Sprint(i), Resources: policy.Selection{Include: mustGlobs(t, "none")}})
	}
	w.file("d0/new.txt", "a", longAgo)
	w.build()
	w.options.Out += "2"
	many := w.build()
	verified(t, w.options.Out, verify.Content)
	count := func(r *Report) (n []int) {
		for _, s := range r.Sets[:len(patterns)] {
			n = append(n, s.Resources)
		}
		return n
	}
	want := count(few)
	want[0]++  // d0/new.txt is in it
	want[4]++  // and is a .txt
	want[11]++ // as in the one with all
	if diff := cmp.Diff(want, count(many)); diff != "" {
		t.Error(diff)
	}
}
