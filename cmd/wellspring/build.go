package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/wellspring-sync/wellspring/generator"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/hashing"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/scanner"
)

// sourceFlags say what is published, where and how.
type sourceFlags struct {
	baseURL, publicationURL string
	out, folder             string
	include, exclude        []string
	hidden                  bool
	symlinks                string
	indexURLs, cleanURLs    bool
	hash                    []string
	checksum                bool
	cache                   string
	lastmod                 string
	jobs                    int
	dumps                   string
	packageSize             string
	compression             int
	rotate, keepChanges     string
	archive                 bool
	previous                string
	firstRun                bool
	requirePrevious         bool
	carry                   string
	header                  []string
	archiveKeep             string
	standard                string
	hosts                   []string
	page, pageTitle         string
	now                     string
	dryRun                  bool
	plan                    string

	allowEmpty  bool
	maxDelete   string
	rebase      bool
	acceptClock bool
	lockTimeout time.Duration
	grace       time.Duration
}

func (f *sourceFlags) addFlags(flags *pflag.FlagSet) {
	flags.SortFlags = false
	flags.StringVar(&f.baseURL, "base-url", "", "`URL` at which the source is served (required)")
	flags.StringVar(&f.publicationURL, "publication-url", "", "`URL` at which --out is served (default: the base URL)")
	flags.StringVarP(&f.out, "out", "o", "", "`directory` for the publication (default: the source itself)")
	flags.StringVar(&f.folder, "folder", "resourcesync", "`folder` in it for all documents but the Source Description; . for its top")
	flags.StringArrayVar(&f.include, "include", nil, "take only files that match the `glob`; may be repeated")
	flags.StringArrayVar(&f.exclude, "exclude", nil, "leave out what matches the `glob`; may be repeated")
	flags.BoolVar(&f.hidden, "hidden", false, "take names that begin with a dot, too")
	flags.StringVar(&f.symlinks, "symlinks", "follow", "symbolic links: `follow|skip`; those that leave the source are always skipped")
	flags.BoolVar(&f.indexURLs, "index-urls", false, "publish x/index.html as x/")
	flags.BoolVar(&f.cleanURLs, "clean-urls", false, "publish x/index.html as x/, and x/about.html as x/about")
	flags.StringSliceVar(&f.hash, "hash", []string{"sha-256"}, "digest `algorithms` to publish: md5, sha-1, sha-256, sha-512")
	flags.BoolVar(&f.checksum, "checksum", false, "read every file, even if length and time are as they were")
	flags.StringVar(&f.cache, "cache", "", "`file` of the stat cache, or none (default: in the user's cache directory)")
	flags.StringVar(&f.lastmod, "lastmod", string(policy.LastModFile), "modification `time` of what is new or changed: mtime (the file's own), git (its last commit) or run (that of the publication)")
	flags.IntVar(&f.jobs, "jobs", 0, "`number` of files to read at the same time (default: one for each processor)")
	flags.StringVar(&f.dumps, "dumps", "resource,change", "packages with the content to publish: `resource,change`, one of them, or none")
	flags.StringVar(&f.packageSize, "package-size", "128MiB", "largest `size` of a package, unless it holds one file alone")
	flags.IntVar(&f.compression, "compression", policy.DefaultCompression, "`level` of compression in packages, from 0 (none) to 9")
	flags.StringVar(&f.rotate, "rotate", "full", "when to begin a new Change List: `full|run|hourly|daily|weekly|monthly` or a number of changes")
	f.addKeepFlags(flags)
	flags.StringVar(&f.previous, "previous", "", "directory or `URL` of the last publication, if it is not in --out: an empty disk is no hindrance")
	flags.BoolVar(&f.firstRun, "first-run", false, "with --previous: begin a new history, where there is none yet")
	flags.BoolVar(&f.requirePrevious, "require-previous", false, "fail if there is no publication to go on from")
	flags.StringVar(&f.carry, "carry", "all", "with --previous: take over `all|none` of the bodies; none is for buckets to which one only adds")
	addHeaderFlag(flags, &f.header)
	flags.BoolVar(&f.archive, "archive", false, "archive superseded lists and dumps (default: as the last publication did)")
	flags.StringVar(&f.standard, "standard", string(policy.Standard11), "`version` of the standard in which to tell changes: 1.1, or 1.0 for older Destinations")
	addHostFlag(flags, &f.hosts)
	flags.StringVar(&f.page, "page", "", "page for people: the `file` of a template for it, or none (default: one that is built in)")
	flags.StringVar(&f.pageTitle, "page-title", "", "`text` that the page calls the Source (default: where it is served)")
	flags.BoolVar(&f.allowEmpty, "allow-empty", false, "publish a source without files")
	flags.StringVar(&f.maxDelete, "max-delete", policy.DefaultMaxDelete.String(), "refuse to publish more deletions than this `number` or share (a share never refuses 20)")
	flags.BoolVar(&f.rebase, "rebase", false, "begin a new publication in place of one with another identity or by another program")
	flags.BoolVar(&f.acceptClock, "accept-clock", false, "go on although the clock is behind the last publication")
}

func (f *sourceFlags) addDryRun(flags *pflag.FlagSet) {
	flags.BoolVarP(&f.dryRun, "dry-run", "n", false, "find out what would be published, and write nothing")
}

// addPlan adds what commands share that build.
func (f *sourceFlags) addPlan(flags *pflag.FlagSet) {
	flags.StringVar(&f.plan, "plan", "", "`file` for an upload plan: what changed, in the order in which it can be uploaded (see wellspring plan)")
}

// setPlan checks where the upload plan is written.
func (f *sourceFlags) setPlan(o *generator.Options) error {
	if f.plan == "" {
		return nil
	}
	if f.dryRun {
		return errors.New("--plan and --dry-run contradict each other: nothing is written in a dry run")
	}
	o.Plan = f.plan
	if err := o.CheckPlan(); err != nil {
		return fmt.Errorf("--plan: %w", err)
	}
	return nil
}

// addKeepFlags adds what commands share that change a publication.
func (f *sourceFlags) addKeepFlags(flags *pflag.FlagSet) {
	flags.StringVar(&f.keepChanges, "keep-changes", policy.DefaultKeepChanges.String(), "`time` for which to list changes, such as 36h, 90d, 12w, 6m, 2y or all")
	flags.StringVar(&f.archiveKeep, "archive-keep", policy.DefaultArchiveKeep.String(), "archived snapshots to `keep`: the last of so many days, weeks, months and years")
	flags.StringVar(&f.now, "now", "", "`time` to publish at, such as 2026-01-02T03:04:05Z (default: SOURCE_DATE_EPOCH, or the clock)")
	flags.DurationVar(&f.grace, "grace", generator.DefaultGrace, "`duration` for which to keep files that no document names any more")
	flags.DurationVar(&f.lockTimeout, "lock-timeout", 0, "`duration` for which to wait for another run to end")
}

// options takes the settings, and turns them into options.
func (c *cli) options(cmd *cobra.Command, f *sourceFlags, args []string) (generator.Options, error) {
	l, err := c.load(cmd, args)
	if err != nil {
		return generator.Options{}, err
	}
	o, err := f.options(cmd, l)
	return o, l.withOrigin(err)
}

// options checks the flags and turns them into options.
func (f *sourceFlags) options(cmd *cobra.Command, l *loaded) (generator.Options, error) {
	o := generator.Options{
		Source: l.source, Out: f.out,
		SkipSymlinks: f.symlinks == "skip",
		Checksum:     f.checksum, Jobs: f.jobs, DryRun: f.dryRun,
		AllowEmpty: f.allowEmpty, Rebase: f.rebase, AcceptClock: f.acceptClock, LockTimeout: f.lockTimeout,
		Release: release(),
	}
	if cmd.Flags().Changed("archive") {
		o.Archive = &f.archive
	}
	o.DumpsByDefault = !cmd.Flags().Changed("dumps")
	setTables := func(o *generator.Options) error { return l.setTables(o, f) }
	for _, set := range []func(*generator.Options) error{f.setIdentity, f.setRules, f.setReading, f.setClock, f.setDumps, f.setHistory, f.setKeep, f.setPrevious, f.setHosts, f.setPage, f.checkSource, f.setPlan, setTables} {
		if err := set(&o); err != nil {
			return o, &usageError{err, cmd.CommandPath()}
		}
	}
	return o, nil
}

func (f *sourceFlags) setIdentity(o *generator.Options) error {
	if f.baseURL == "" {
		return fmt.Errorf("--base-url is missing: the URL at which the source is served, such as https://example.org/")
	}
	id := layout.Identity{BaseURL: f.baseURL, PublicationURL: f.publicationURL, Folder: f.folder}
	switch {
	case f.cleanURLs:
		id.Form = layout.CleanURIs
	case f.indexURLs:
		id.Form = layout.IndexURIs
	}
	l, err := layout.New(id)
	o.Identity = l.Identity
	return err
}

func (f *sourceFlags) setRules(o *generator.Options) (err error) {
	if f.symlinks != "follow" && f.symlinks != "skip" {
		return fmt.Errorf("--symlinks is %q, neither follow nor skip", f.symlinks)
	}
	o.Rules.Hidden = f.hidden
	if o.Rules.Include, err = globs("--include", f.include); err != nil {
		return err
	}
	o.Rules.Exclude, err = globs("--exclude", f.exclude)
	return err
}

func globs(flag string, patterns []string) ([]scanner.Glob, error) {
	var list []scanner.Glob
	for _, p := range patterns {
		g, err := scanner.NewGlob(p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", flag, err)
		}
		list = append(list, g)
	}
	return list, nil
}

func (f *sourceFlags) setReading(o *generator.Options) (err error) {
	if o.Hash, err = hashing.NewSet(f.hash...); err != nil {
		return fmt.Errorf("--hash: %w", err)
	}
	if len(o.Hash) == 0 {
		return fmt.Errorf("--hash: at least one algorithm is needed")
	}
	if f.jobs < 0 {
		return fmt.Errorf("--jobs is %d, less than one", f.jobs)
	}
	if o.LastMod, err = policy.ParseLastMod(f.lastmod); err != nil {
		return fmt.Errorf("--lastmod: %w", err)
	}
	limit, err := policy.ParseLimit(f.maxDelete)
	if err != nil {
		return fmt.Errorf("--max-delete: %w", err)
	}
	o.MaxDelete = &limit
	switch f.cache {
	case "none":
	case "":
		// A machine without a cache directory does without.
		o.Cache, _ = generator.CacheFile(o.Source, o.Identity.BaseURL)
	default:
		o.Cache = f.cache
		if err := o.CheckCache(); err != nil {
			return fmt.Errorf("--cache: %w", err)
		}
	}
	return nil
}

func (f *sourceFlags) setHistory(o *generator.Options) (err error) {
	if o.Rotate, err = policy.ParseRotation(f.rotate); err != nil {
		return fmt.Errorf("--rotate: %w", err)
	}
	if o.Standard, err = policy.ParseStandard(f.standard); err != nil {
		return fmt.Errorf("--standard: %w", err)
	}
	return nil
}

// headerVariable has the headers for servers, one on each line, so that they need
// not stand among the arguments, where other users could see them.
const headerVariable = "WELLSPRING_HEADER"

func (f *sourceFlags) setPrevious(o *generator.Options) error {
	if f.firstRun && f.previous == "" {
		return fmt.Errorf("--first-run needs --previous: without it, a publication that is not in --out begins anew")
	}
	if f.firstRun && f.requirePrevious {
		return fmt.Errorf("--first-run and --require-previous contradict each other")
	}
	if f.carry != "all" && f.carry != "none" {
		return fmt.Errorf("--carry is %q, neither all nor none", f.carry)
	}
	header, err := parseHeader(f.header)
	o.Previous = policy.Previous{
		Place: f.previous, First: f.firstRun, Required: f.requirePrevious, LeaveBodies: f.carry == "none", Header: header,
	}
	return err
}

func addHeaderFlag(flags *pflag.FlagSet, lines *[]string) {
	flags.StringArrayVar(lines, "header", nil, "`header` to send to the server, such as 'Authorization: Bearer …'; may be repeated (default: the lines of "+headerVariable+")")
}

// parseHeader reads headers, by default those of the environment.
func parseHeader(lines []string) (http.Header, error) {
	if len(lines) == 0 {
		lines = strings.FieldsFunc(os.Getenv(headerVariable), func(r rune) bool { return r == '\n' || r == '\r' })
	}
	header := http.Header{}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, errors.New("--header: one of them is not like 'Name: value'") // it may be secret
		}
		header.Add(name, strings.TrimSpace(value))
	}
	return header, nil
}

func (f *sourceFlags) setKeep(o *generator.Options) (err error) {
	if o.KeepChanges, err = policy.ParseKeep(f.keepChanges); err != nil {
		return fmt.Errorf("--keep-changes: %w", err)
	}
	if o.ArchiveKeep, err = policy.ParseArchiveKeep(f.archiveKeep); err != nil {
		return fmt.Errorf("--archive-keep: %w", err)
	}
	if f.grace < 0 || f.lockTimeout < 0 {
		return fmt.Errorf("--grace and --lock-timeout cannot be negative")
	}
	if o.Grace = f.grace; f.grace == 0 {
		o.Grace = -1
	}
	return nil
}

// leastPackage keeps a slip of the pen from making a package of each file.
const leastPackage = 16 << 10

func (f *sourceFlags) setDumps(o *generator.Options) (err error) {
	if o.Dumps, err = policy.ParseDumps(f.dumps); err != nil {
		return fmt.Errorf("--dumps: %w", err)
	}
	size, err := humanize.ParseBytes(f.packageSize)
	if err != nil {
		return fmt.Errorf("--package-size is %q, which is not a size such as 128MiB or 1GB", f.packageSize)
	}
	if size < leastPackage || size > math.MaxInt64 {
		return fmt.Errorf("--package-size is %s, less than 16 KiB or more than there can be", f.packageSize)
	}
	o.PackageSize = int64(size)
	if f.compression < 0 || f.compression > 9 {
		return fmt.Errorf("--compression is %d, not from 0 to 9", f.compression)
	}
	o.Compression = f.compression
	return nil
}

// latest leaves room for later publications within the years that documents can
// say.
var latest = time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC)

// setClock takes the time from the flag, or else from the environment, as
// builds that can be reproduced want it.
func (f *sourceFlags) setClock(o *generator.Options) error {
	now, fixed, err := fixedTime(f.now)
	if fixed {
		o.FixedClock, o.Now = true, func() time.Time { return now }
	}
	return err
}

// fixedTime returns the time that the value of --now or the environment says, and
// false if there is none.
func fixedTime(flag string) (now time.Time, fixed bool, err error) {
	switch epoch := os.Getenv("SOURCE_DATE_EPOCH"); {
	case flag != "":
		if now, err = resourcesync.ParseDateTime(flag); err != nil {
			return now, false, fmt.Errorf("--now: %w", err)
		}
	case epoch != "":
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return now, false, fmt.Errorf("SOURCE_DATE_EPOCH is %q, not a number of seconds", epoch)
		}
		if seconds < 0 || seconds > latest.Unix() {
			return now, false, fmt.Errorf("SOURCE_DATE_EPOCH is %s, which is not between 1970 and 9000", epoch)
		}
		now = time.Unix(seconds, 0).UTC()
	default:
		return now, false, nil
	}
	if now.Year() < 1 || now.After(latest) {
		return now, false, fmt.Errorf("--now is %s, which is not between the years 1 and 9000", flag)
	}
	return now, true, nil
}

func (f *sourceFlags) checkSource(o *generator.Options) error {
	info, err := os.Stat(o.Source)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the source: %s: %w", o.Source, reason(err))
	}
	if err == nil && !info.IsDir() { // other errors are for whoever opens it
		return fmt.Errorf("the source: %s is not a directory", o.Source)
	}
	if o.Out == "" {
		return nil
	}
	if info, err := os.Stat(o.Out); err == nil && !info.IsDir() {
		return fmt.Errorf("--out: %s is not a directory", o.Out)
	}
	return nil
}

// reason takes the operation and the name off an error.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
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
			return c.build(cmd, f, args)
		},
	}
	f.addFlags(cmd.Flags())
	f.addPlan(cmd.Flags())
	f.addDryRun(cmd.Flags())
	return cmd
}

func (c *cli) build(cmd *cobra.Command, f *sourceFlags, args []string) error {
	o, err := c.options(cmd, f, args)
	if err != nil {
		return err
	}
	report, err := c.run(cmd.Context(), o, f.dryRun || c.verbose > 0)
	if err != nil {
		return err
	}
	limits := c.limits(cmd.Context(), o, report, f.hosts)
	c.summarize(buildSummary(o, report))
	return c.printBuild(o, report, limits)
}

func (c *cli) statusCommand() *cobra.Command {
	f := &sourceFlags{dryRun: true}
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
			o, err := c.options(cmd, f, args)
			if err != nil {
				return err
			}
			report, err := c.run(cmd.Context(), o, true)
			if err != nil {
				return err
			}
			limits := c.limits(cmd.Context(), o, report, f.hosts)
			c.summarize(buildSummary(o, report))
			if err := c.printBuild(o, report, limits); err != nil {
				return err
			}
			if exitCode && report.Wrote {
				return errFound
			}
			return nil
		},
	}
	f.addFlags(cmd.Flags())
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 3 if the next build would publish something")
	return cmd
}

// run runs the generator, with progress on a terminal and each change on the
// standard output if they are asked for.
func (c *cli) run(ctx context.Context, o generator.Options, changes bool) (*generator.Report, error) {
	o.Log = c.log()
	if changes && !c.quiet && !c.json {
		o.OnChange = c.printChange
	}
	p := c.newProgress()
	if p != nil {
		o.Progress = p.show
	}
	report, err := generator.Run(ctx, o)
	p.clear()
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
