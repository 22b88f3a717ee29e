package policy

import "github.com/wellspring-sync/wellspring/scanner"

// LinkRule says which resources link to what. See Z39.99-2017 §14.
type LinkRule struct {
	// Name is what messages call the rule.
	Name string
	// Match are globs over paths. What * and ** stood for can be used in
	// templates as {1}, {2} and so on.
	Match []string
	Rel   string
	// Href is a template of the URI that is linked to, or File one of the path
	// of a file of the source.
	Href, File string
	Pri        int
	Type       string
	// List is where the Resource List of the other Source is, a URL or the name of a
	// file, if it is to say what Href leads to. See Z39.99-2017 §14.8.
	List string
	// Profile is a template of a URI that tells in which form something is
	// described. It makes a link of its own. See Z39.99-2017 §14.5.
	Profile string
}

// Versions says that what resources were is kept beside their lists, for those whose
// bytes have changed. See Z39.99-2017 §14.6.
type Versions struct {
	// Match are globs over paths; if there are none, all resources have versions.
	Match []scanner.Glob
	// Keep says which of them are kept when another one is added; nil keeps all. The
	// current one always is.
	Keep *ArchiveKeep
	// TimeGate is a template of the URI of the TimeGate of a resource that has versions,
	// or empty; TimeGateName is what messages call it.
	TimeGate, TimeGateName string
}

// Patches says that updated resources are published with a description of what changed
// in them, where that is much shorter. See Z39.99-2017 §14.4.
type Patches struct {
	// Match are globs over paths; if there are none, all resources can have patches.
	Match []scanner.Glob
}

// TimeGateRule returns the rule that links resources to their TimeGate.
func (v *Versions) TimeGateRule() LinkRule {
	return LinkRule{Name: v.TimeGateName, Match: []string{"**"}, Rel: "timegate", Href: v.TimeGate}
}
