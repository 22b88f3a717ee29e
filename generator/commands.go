package generator

import (
	"cmp"
	"slices"
	"strings"

	"github.com/wellspring-sync/wellspring/templates"
)

// commands returns what somebody can copy and paste into a terminal. Where there are
// several sets, what is about resources is about the first one that is shown.
func (r *run) commands() []templates.Command {
	l := r.layout
	all := []templates.Command{{
		Title: "Look at what is offered",
		Text:  "The Source Description leads to all other documents.",
		Lines: "curl -fsS " + templates.ShellQuote(l.SourceDescription().URI),
	}}
	first := slices.MinFunc(r.sets, compareNames)
	all = append(all, first.commands()...)
	return append(all, templates.Command{
		Title: "Check that all is well",
		Text:  "Wellspring audits the documents, whoever made them, and says what a harvester would stumble over.",
		Lines: "wellspring verify " + templates.ShellQuote(l.PublicationURL),
	})
}

// commands are those about the resources of a set.
func (r *resourceSet) commands() (all []templates.Command) {
	l, folder, about := r.layout, "", ""
	if r.hasNames() {
		folder, about = " --folder "+templates.ShellQuote(l.Folder), " This is for the set "+isolated(r.name)+"; the others go alike."
	}
	if !r.hasNames() && l.BaseURL == l.PublicationURL { // where that client looks for the Source Description
		all = append(all, templates.Command{
			Title: "Make a copy, and bring it up to date",
			Text:  "The client of the Python package resync copies everything into a folder. Run again, it fetches what has changed and removes what is gone.",
			Lines: "pip install resync\nresync-sync --baseline --delete " + templates.ShellQuote(l.BaseURL) + " copy",
		})
	}
	if uri := l.ResourceDump().URI; r.o.Dumps.Resource && !r.dumpIsIndexed() && !strings.ContainsAny(uri, "&'") {
		all = append(all, templates.Command{
			Title: "Fetch everything in ZIP packages",
			Text:  "The Resource Dump names them. In each, manifest.xml says which file is which resource." + about,
			Lines: "curl -fsS " + templates.ShellQuote(uri) + ` | grep -o '<loc>[^<]*\.zip' | cut -c 6- | xargs -n 1 curl -fsSO`,
		})
	}
	return append(all, templates.Command{
		Title: "See what has changed",
		Text:  "Wellspring reads that out of the Change Lists." + about,
		Lines: "wellspring log " + templates.ShellQuote(l.PublicationURL) + folder + " --since 30d",
	})
}

// isolated keeps a name that is written from right to left, or says so, from turning what
// stands around it.
func isolated(name string) string { return "\u2068" + name + "\u2069" }

// dumpIsIndexed reports whether the Resource Dump leads to packages only by way of other
// documents.
func (r *resourceSet) dumpIsIndexed() bool {
	if r.dump != nil && r.dump.written {
		return r.dump.indexed
	}
	return !r.isFirst() && r.prev.snapshot.ResourceDump != nil && len(r.prev.snapshot.ResourceDump.Parts) > 0
}

// titleOf is what a Source is called by default: where it is served.
func titleOf(baseURL string) string {
	_, rest, _ := strings.Cut(baseURL, "://")
	return strings.TrimSuffix(rest, "/")
}

// compareNames compares sets by their names as people would sort them, at least those
// in ASCII.
func compareNames(x, y *resourceSet) int {
	return cmp.Or(strings.Compare(strings.ToLower(x.name), strings.ToLower(y.name)), strings.Compare(x.name, y.name))
}
