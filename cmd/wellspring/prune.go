package main

import (
	"fmt"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/wellspring-sync/wellspring/generator"
)

func (c *cli) pruneCommand() *cobra.Command {
	f := &sourceFlags{}
	cmd := &cobra.Command{
		Use:   "prune [DIR]",
		Short: "Apply other settings for what is kept, without a build",
		Long: `Prune takes out of the publication in DIR (by default the current directory)
what --keep-changes, --archive-keep and keep of [versions] in the settings do not
keep any more, and removes files whose grace time is over. What the settings say of
a set goes before that. Builds do the same when they write. What no document
names any more stays for the grace time, for readers of older documents; the
first run after that removes it.

` + exitCodes,
		Example: `  wellspring prune public --keep-changes 30d --dry-run
  wellspring prune public --archive-keep monthly=all`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.prune(cmd, f, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Identity.Folder, "folder", "resourcesync", "`folder` of the documents in the publication")
	f.addKeepFlags(flags)
	f.addPlan(flags)
	flags.BoolVarP(&f.DryRun, "dry-run", "n", false, "find out what would go, and write nothing")
	return cmd
}

func (c *cli) prune(cmd *cobra.Command, f *sourceFlags, args []string) error {
	l, err := c.load(cmd, args)
	if err != nil {
		return err
	}
	o := f.Options
	o.Out, o.Release, o.Log = l.publicationDir(args), release(), c.log()
	if err := checkPublication(o.Out); err != nil {
		return usage(cmd, err)
	}
	if err := l.complete(cmd, &o, f.setKeep, f.setClock, f.setPlan, l.setVersions, l.keepSets); err != nil {
		return err
	}
	p, err := generator.Prune(cmd.Context(), o)
	if err != nil {
		return err
	}
	for _, w := range p.Warnings {
		c.warn("%s", w)
	}
	return c.result(prunedJSON{
		DryRun: o.DryRun, Lists: p.Lists, Packages: p.Packages, Snapshots: p.Snapshots, Versions: p.Versions,
		Retired: p.Retired, RetiredBytes: p.RetiredBytes, Swept: p.Swept, SweptBytes: p.SweptBytes,
		Heads: append([]string{}, p.Heads...), Warnings: append([]string{}, p.Warnings...),
	}, func() string { return prunedSummary(o, p) })
}

// prunedJSON is what prune writes with --json.
type prunedJSON struct {
	DryRun       bool     `json:"dry_run"`
	Lists        int      `json:"change_lists"`
	Packages     int      `json:"packages"`
	Snapshots    int      `json:"snapshots"`
	Versions     int      `json:"versions"`
	Retired      int      `json:"files_retired"`
	RetiredBytes int64    `json:"bytes_retired"`
	Swept        int      `json:"files_swept"`
	SweptBytes   int64    `json:"bytes_swept"`
	Heads        []string `json:"heads"`
	Warnings     []string `json:"warnings"`
}

func prunedSummary(o generator.Options, p *generator.Pruned) string {
	if !p.Any() {
		return "Nothing to prune.\n"
	}
	out, removed := "Out of the documents", "Removed"
	if o.DryRun {
		out, removed = "Would go out of the documents", "Would be removed"
	}
	text := fmt.Sprintf("%s: %s, %s, %s", out, plural(p.Lists, "Change List"), plural(p.Packages, "package"), plural(p.Snapshots, "archived snapshot"))
	if p.Versions > 0 {
		text += ", " + plural(p.Versions, "version")
	}
	text += fmt.Sprintf("\n%s: %s (%s)\n", removed, plural(p.Swept, "file"), humanize.Bytes(uint64(p.SweptBytes)))
	if p.Retired > 0 {
		text += fmt.Sprintf("Removed by the first run after %s: %s (%s)\n", graceText(o.Grace), plural(p.Retired, "file"), humanize.Bytes(uint64(p.RetiredBytes)))
	}
	return text
}

func graceText(grace time.Duration) string {
	if grace <= 0 {
		return "this one"
	}
	return grace.String()
}
