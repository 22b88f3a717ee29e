package main

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/wellspring-sync/wellspring/generator"
	"github.com/wellspring-sync/wellspring/generator/policy"
)

// sourceFlags say what is published, where and how.
type sourceFlags struct {
	generator.Options // as far as flags say them as they are

	include, exclude, hash, header, hosts []string
	indexURLs, cleanURLs                  bool
	archive                               bool
	maxDelete                             policy.Limit
	now                                   string
}

func (f *sourceFlags) addFlags(flags *pflag.FlagSet) {
	flags.SortFlags = false
	flags.StringVar(&f.Identity.BaseURL, "base-url", "", "`URL` at which the source is served (required)")
	flags.StringVar(&f.Identity.PublicationURL, "publication-url", "", "`URL` at which --out is served (default: the base URL)")
	flags.StringVarP(&f.Out, "out", "o", "", "`directory` for the publication (default: the source itself)")
	flags.StringVar(&f.Identity.Folder, "folder", "resourcesync", "`folder` in it for all documents but the Source Description; . for its top")
	flags.StringArrayVar(&f.include, "include", nil, "take only files that match the `glob`; may be repeated")
	flags.StringArrayVar(&f.exclude, "exclude", nil, "leave out what matches the `glob`; may be repeated")
	flags.BoolVar(&f.Rules.Hidden, "hidden", false, "take names that begin with a dot, too")
	valueOf(&f.SkipSymlinks, either("follow", "skip")).add(flags, "symlinks", "follow", "symbolic links: `follow|skip`; those that leave the source are always skipped")
	flags.BoolVar(&f.indexURLs, "index-urls", false, "publish x/index.html as x/")
	flags.BoolVar(&f.cleanURLs, "clean-urls", false, "publish x/index.html as x/, and x/about.html as x/about")
	flags.StringSliceVar(&f.hash, "hash", []string{"sha-256"}, "digest `algorithms` to publish: md5, sha-1, sha-256, sha-512")
	flags.BoolVar(&f.Checksum, "checksum", false, "read every file, even if length and time are as they were")
	flags.StringVar(&f.Cache, "cache", "", "`file` of the stat cache, or none (default: in the user's cache directory)")
	valueOf(&f.LastMod, policy.ParseLastMod).add(flags, "lastmod", string(policy.LastModFile), "modification `time` of what is new or changed: mtime (the file's own), git (its last commit) or run (that of the publication)")
	flags.IntVar(&f.Jobs, "jobs", 0, "`number` of files to read at the same time (default: one for each processor)")
	valueOf(&f.Dumps, policy.ParseDumps).add(flags, "dumps", "resource,change", "packages with the content to publish: `resource,change`, one of them, or none")
	valueOf(&f.PackageSize, parsePackageSize).add(flags, "package-size", "128MiB", "largest `size` of a package, unless it holds one file alone")
	flags.IntVar(&f.Compression, "compression", policy.DefaultCompression, "`level` of compression in packages, from 0 (none) to 9")
	valueOf(&f.Rotate, policy.ParseRotation).add(flags, "rotate", "full", "when to begin a new Change List: `full|run|hourly|daily|weekly|monthly` or a number of changes")
	f.addKeepFlags(flags)
	flags.StringVar(&f.Previous.Place, "previous", "", "directory or `URL` of the last publication, if it is not in --out: an empty disk is no hindrance")
	flags.BoolVar(&f.Previous.First, "first-run", false, "with --previous: begin a new history, where there is none yet")
	flags.BoolVar(&f.Previous.Required, "require-previous", false, "fail if there is no publication to go on from")
	valueOf(&f.Previous.LeaveBodies, either("all", "none")).add(flags, "carry", "all", "with --previous: take over `all|none` of the bodies; none is for buckets to which one only adds")
	addHeaderFlag(flags, &f.header)
	flags.BoolVar(&f.archive, "archive", false, "archive superseded lists and dumps (default: as the last publication did)")
	valueOf(&f.Standard, policy.ParseStandard).add(flags, "standard", string(policy.Standard11), "`version` of the standard in which to tell changes: 1.1, or 1.0 for older Destinations")
	addHostFlag(flags, &f.hosts)
	flags.StringVar(&f.Page.File, "page", "", "page for people: the `file` of a template for it, or none (default: one that is built in)")
	flags.StringVar(&f.Page.Title, "page-title", "", "`text` that the page calls the Source (default: where it is served)")
	flags.BoolVar(&f.AllowEmpty, "allow-empty", false, "publish a source without files")
	valueOf(&f.maxDelete, policy.ParseLimit).add(flags, "max-delete", policy.DefaultMaxDelete.String(), "refuse to publish more deletions than this `number` or share (a share never refuses 20)")
	flags.BoolVar(&f.Rebase, "rebase", false, "begin a new publication in place of one with another identity or by another program")
	flags.BoolVar(&f.AcceptClock, "accept-clock", false, "go on although the clock is behind the last publication")
}

func (f *sourceFlags) addDryRun(flags *pflag.FlagSet) {
	flags.BoolVarP(&f.DryRun, "dry-run", "n", false, "find out what would be published, and write nothing")
}

// addPlan adds what commands share that build.
func (f *sourceFlags) addPlan(flags *pflag.FlagSet) {
	flags.StringVar(&f.Plan, "plan", "", "`file` for an upload plan: what changed, in the order in which it can be uploaded (see wellspring plan)")
}

// addKeepFlags adds what commands share that change a publication.
func (f *sourceFlags) addKeepFlags(flags *pflag.FlagSet) {
	valueOf(&f.KeepChanges, policy.ParseKeep).add(flags, "keep-changes", policy.DefaultKeepChanges.String(), "`time` for which to list changes, such as 36h, 90d, 12w, 6m, 2y or all")
	valueOf(&f.ArchiveKeep, policy.ParseArchiveKeep).add(flags, "archive-keep", policy.DefaultArchiveKeep.String(), "archived snapshots to `keep`: the last of so many days, weeks, months and years")
	flags.StringVar(&f.now, "now", "", "`time` to publish at, such as 2026-01-02T03:04:05Z (default: SOURCE_DATE_EPOCH, or the clock)")
	flags.DurationVar(&f.Grace, "grace", generator.DefaultGrace, "`duration` for which to keep files that no document names any more")
	flags.DurationVar(&f.LockTimeout, "lock-timeout", 0, "`duration` for which to wait for another run to end")
}

// settingFlags returns the flags that are settings, too.
func settingFlags() *pflag.FlagSet {
	flags, f := pflag.NewFlagSet("", pflag.ContinueOnError), &sourceFlags{}
	f.addFlags(flags)
	f.addDryRun(flags)
	return flags
}

func (c *cli) buildCommand() *cobra.Command {
	f := &sourceFlags{}
	cmd := &cobra.Command{
		Use:   "build [SOURCE]",
		Short: "Publish a directory, or what has changed in it",
		Long: `Build publishes the directory SOURCE (by default the current one) as a
ResourceSync Source, or brings the publication that is there up to date. If
nothing has changed, nothing is written.

Left out by default are names that begin with a dot (except .well-known),
editors' and version control's files, private keys, files that steer a host and
are not served (such as _headers), and what Wellspring wrote itself. A glob
without a slash is about names at any depth, one with a slash about paths from
the top of the source; ** stands for any number of folders.

With --host, what would be uploaded is compared with what the host takes: how many
files, how large each is and all of them are, how long their paths are. Where that
is passed, there is a warning; packages are made to fit unless --package-size is given.

` + exitCodes,
		Example: `  wellspring build public --base-url https://example.org/
  wellspring build . --base-url https://example.org/data/ --exclude '*.tmp' --exclude drafts/`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, err := c.build(cmd, f, args, f.DryRun || c.verbose > 0)
			return err
		},
	}
	f.addFlags(cmd.Flags())
	f.addPlan(cmd.Flags())
	f.addDryRun(cmd.Flags())
	return cmd
}

// build publishes, or finds out what would be published, and sums it up.
func (c *cli) build(cmd *cobra.Command, f *sourceFlags, args []string, changes bool) (*generator.Report, error) {
	o, err := c.options(cmd, f, args)
	if err != nil {
		return nil, err
	}
	report, err := c.run(cmd.Context(), o, changes)
	if err != nil {
		return nil, err
	}
	limits := c.limits(cmd.Context(), o, report, f.hosts)
	c.summarize(buildSummary(o, report))
	return report, c.result(reportJSON(o, report, limits), func() string { return summary(o, report) })
}

func (c *cli) statusCommand() *cobra.Command {
	f := &sourceFlags{Options: generator.Options{DryRun: true}}
	exitCode := false
	cmd := &cobra.Command{
		Use:   "status [SOURCE]",
		Short: "Say what the next build would publish",
		Long: `Status compares the directory SOURCE (by default the current one) with its
publication and says what the next build, with the same flags, would publish. It
writes nothing.

` + exitCodes,
		Example: `  wellspring status public --base-url https://example.org/`,
		Args:    atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			report, err := c.build(cmd, f, args, true)
			if err == nil && exitCode && report.Wrote {
				err = errFound
			}
			return err
		},
	}
	f.addFlags(cmd.Flags())
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 3 if the next build would publish something")
	return cmd
}

// tellOf makes a run log, and tell each change on the standard output, as far as that is
// asked for.
func (c *cli) tellOf(o *generator.Options, changes bool) {
	o.Log = c.log()
	if changes && !c.quiet && !c.json {
		o.OnChange = c.printChange
	}
}

// generate runs the generator, with progress on a terminal.
func (c *cli) generate(ctx context.Context, o generator.Options) (*generator.Report, error) {
	p := c.newProgress()
	if p != nil {
		o.Progress = p.show
	}
	defer p.clear()
	return generator.Run(ctx, o)
}

// run runs the generator once.
func (c *cli) run(ctx context.Context, o generator.Options, changes bool) (*generator.Report, error) {
	c.tellOf(&o, changes)
	report, err := c.generate(ctx, o)
	if err != nil && report.Recovered {
		c.tell("wellspring: the commit of an interrupted run was completed first\n")
	}
	for _, w := range report.Warnings {
		c.warn("%s", w)
	}
	return report, err
}

// outDir is where a publication is written, as a person would name it.
func outDir(o generator.Options) string {
	if o.Out == "" {
		return filepath.Clean(o.Source)
	}
	return filepath.Clean(o.Out)
}
