package generator

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wellspring-sync/wellspring/generator/policy"
)

// One list has one form; the other form begins another one. The lists and the
// packages tell the same.
func TestStandardChanges(t *testing.T) {
	t.Parallel()
	w := newDumps(t)
	w.options.PackageSize = 0
	w.build()
	before := read(t, w.out)
	for i, standard := range []policy.Standard{"1.1", "1.1", "1.0", "1.0", "1.1", "1.0"} {
		w.options.Standard = standard
		w.file("new", strings.Repeat("x", i), longAgo)
		if i == 3 {
			w.remove("new")
		}
		w.build()
		w.build() // without changes nothing is written in another form
	}
	p := read(t, w.out)
	var got []string
	for _, list := range p.changes {
		s := ""
		for _, e := range list {
			s += fmt.Sprintf("%s %s, ", formOf(&e), e.Metadata.Change)
		}
		got = append(got, strings.TrimSuffix(s, ", "))
	}
	want := []string{"1.1 created, 1.1 updated", "1.0 updated, 1.0 deleted", "1.1 created", "1.0 updated"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	after := replay(t, before.resources, p, before.at)
	if diff := cmp.Diff(withoutTimes(p.resources), withoutTimes(after)); diff != "" {
		t.Errorf("(-published +replayed):\n%s", diff)
	}
}

// Deletions take more room in the form of 1.0, which the lists reckon with.
func TestStandardRoom(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.options.limits = smallLists
	w.options.limits.Entries = 1000
	w.options.Standard = policy.Standard10
	w.options.AllowEmpty = true
	for i := range 60 {
		w.file(fmt.Sprint(i), "x", longAgo)
	}
	w.build()
	for i := range 60 {
		w.remove(fmt.Sprint(i))
	}
	w.build(func(o *Options) { o.MaxDelete = &policy.Limit{Count: 100, Percent: true} })
	p := read(t, w.out)
	if len(p.changes) < 3 {
		t.Errorf("%d lists", len(p.changes))
	}
	for name, content := range tree(t, w.out) {
		if strings.Contains(name, "changelist") && len(content) > int(smallLists.Bytes) {
			t.Errorf("%s has %d bytes", name, len(content))
		}
	}
}
