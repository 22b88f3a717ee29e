package front

import (
	"strings"

	"github.com/wellspring-sync/wellspring/templates"
)

// commands returns what somebody can copy and paste into a terminal. Where there are
// several sets, what is about resources is about the first one that is shown.
func (p *pageMaker) commands() []templates.Command {
	l := p.pub.Layout
	all := []templates.Command{{
		Title: "Look at what is offered",
		Text:  "The Source Description leads to all other documents.",
		Lines: "curl -fsS " + templates.ShellQuote(l.SourceDescription().URI),
	}}
	first := &p.sets[0]
	for i := range p.sets {
		if compareNames(&p.sets[i], first) < 0 {
			first = &p.sets[i]
		}
	}
	all = append(all, first.commands()...)
	return append(all, templates.Command{
		Title: "Check that all is well",
		Text:  "Wellspring audits the documents, whoever made them, and says what a harvester would stumble over.",
		Lines: "wellspring verify " + templates.ShellQuote(l.PublicationURL),
	})
}

// commands are those about the resources of a set.
func (s *SetDecision) commands() (all []templates.Command) {
	l, folder, about := s.Set.Layout, "", ""
	if s.Set.HasName() {
		folder, about = " --folder "+templates.ShellQuote(l.Folder), " This is for the set "+isolated(s.Set.Options.Name)+"; the others go alike."
	}
	if !s.Set.HasName() && l.BaseURL == l.PublicationURL { // where that client looks for the Source Description
		all = append(all, templates.Command{
			Title: "Make a copy, and bring it up to date",
			Text:  "The client of the Python package resync copies everything into a folder. Run again, it fetches what has changed and removes what is gone.",
			Lines: "pip install resync\nresync-sync --baseline --delete " + templates.ShellQuote(l.BaseURL) + " copy",
		})
	}
	if uri := l.ResourceDump().URI; s.Set.Options.Dumps.Resource && !s.Edition.DumpIsIndexed() && !strings.ContainsAny(uri, "&'") {
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
