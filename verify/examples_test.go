package verify

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// verdicts are what is wrong with the examples of the specifications, each by
// itself. Those that are not listed are clean.
var verdicts = map[string][]string{
	// The simplified documents of the walkthrough have no up link; the first one
	// also misspells its capability.
	"core-1.1-example-1.xml": {"capability-value", "link-up-missing"},
	"core-1.1-example-2.xml": {"link-up-missing"},
	"core-1.1-example-3.xml": {"link-up-missing"},
	"core-1.1-example-4.xml": {"link-up-missing"},
	"core-1.1-example-5.xml": {"link-up-missing", "manifest-type"},
	"core-1.1-example-8.xml": {"link-up-missing"},
	// Changes without datetime, which is allowed and unhelpful. It is the point of
	// the first of these.
	"core-1.1-example-19.xml": {"datetime-missing"},
	"core-1.1-example-30.xml": {"datetime-missing"},
	// Digests that are neither hexadecimal nor of the length of their algorithm.
	"core-1.1-example-27.xml": {"datetime-missing", "hash-form"},
	// Its intervals begin in 2012 and end in 2013, so that they overlap.
	"archives-example-6.1.xml": {"interval-overlap"},
}

func TestSpecificationExamples(t *testing.T) {
	t.Parallel()
	const dir = "../../shared/spec-examples"
	files, err := filepath.Glob(dir + "/*.xml")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skipf("the examples of the specifications are not in %s", dir)
	}
	for _, file := range files {
		if _, err := os.Stat(file); err != nil {
			t.Fatal(err)
		}
		r := audit(t, file, Options{})
		if got, want := rulesOf(r), verdicts[filepath.Base(file)]; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v\n%s", filepath.Base(file), got, want, lines(r))
		}
	}
}
