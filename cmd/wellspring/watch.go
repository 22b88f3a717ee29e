package main

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/wellspring-sync/wellspring/generator"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/plan"
	"github.com/wellspring-sync/wellspring/internal/publish"
	"github.com/wellspring-sync/wellspring/internal/watch"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/scanner"
)

// watchFlags say when to build again.
type watchFlags struct{ watch.Options }

func (f *watchFlags) addFlags(flags *pflag.FlagSet) {
	flags.DurationVar(&f.Settle, "settle", watch.DefaultSettle, "`duration` for which nothing may change before a build")
	flags.DurationVar(&f.MaxDelay, "max-delay", watch.DefaultMaxDelay, "longest `duration` for which changes without end put a build off")
	flags.DurationVar(&f.Poll, "poll", 0, "look at all files every `duration` instead of waiting for events, as network file systems need it")
}

func (f *watchFlags) options() (watch.Options, error) {
	o := f.Options
	switch {
	case o.Settle < 0 || o.MaxDelay < 0 || o.Poll < 0:
		return o, errors.New("--settle, --max-delay and --poll cannot be negative")
	case o.MaxDelay < o.Settle:
		return o, errors.New("--max-delay cannot be shorter than --settle")
	}
	o.MaxDelay, o.NoEvents = max(o.MaxDelay, 1), o.Poll > 0
	if o.Settle == 0 {
		o.Settle = -1
	}
	return o, nil
}

func (c *cli) watchCommand() *cobra.Command {
	f, when := &sourceFlags{}, &watchFlags{}
	cmd := &cobra.Command{
		Use:   "watch [SOURCE]",
		Short: "Publish a directory, and again whenever something in it changes",
		Long: `Watch does what build does, and again whenever something in the directory SOURCE
has changed, until a signal ends it. Each build that publishes something is told in
a line, or with --json in an object on a line of its own. A build that fails says
why, and the next one may succeed; one that another run or a file in motion was in
the way of is tried again after 30 seconds.

The system's events are hints, and each build looks at the whole source. Where there
are no events, or not for so many directories, watch says so and looks at all files
every 10 seconds; --poll 1m does that from the start.

` + exitCodes,
		Example: `  wellspring watch public --base-url https://example.org/
  wellspring watch /mnt/share --base-url https://example.org/ --poll 1m`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := c.options(cmd, f, args)
			if err != nil {
				return err
			}
			w, err := when.options()
			if err != nil {
				return usage(cmd, err)
			}
			b, err := c.newRebuilder(o, f.hosts)
			if err != nil {
				return usage(cmd, err)
			}
			return b.watch(cmd.Context(), w)
		},
	}
	f.addFlags(cmd.Flags())
	f.addPlan(cmd.Flags())
	when.addFlags(cmd.Flags())
	return cmd
}

// rebuilder builds again and again.
type rebuilder struct {
	*cli
	o        generator.Options
	hosts    []string
	limits   []limitJSON // of the last build
	warned   []string    // what it warned of that may still be so
	lastFail string
	// interrupted is true if a signal ended a build.
	interrupted bool
}

func (c *cli) newRebuilder(o generator.Options, hosts []string) (*rebuilder, error) {
	if o.Previous.LeaveBodies {
		return nil, errors.New("--carry none is for single builds: there would be no whole publication to go on from")
	}
	c.tellOf(&o, c.verbose > 0)
	return &rebuilder{cli: c, o: o, hosts: hosts}, nil
}

// watch builds until the context ends.
func (b *rebuilder) watch(ctx context.Context, w watch.Options) error {
	w.Root, w.Ignore = b.o.Source, ignored(&b.o)
	w.Warn = func(text string) { b.warn("%s", text) }
	if !b.quiet {
		b.tell("wellspring: watching %s\n", filepath.Clean(b.o.Source))
	}
	err := watch.Watch(ctx, w, b.build)
	b.json = false // whoever reads line by line has them all
	if ctx.Err() != nil && !b.interrupted && !is[*failure](err) {
		// There was nothing to do: what explain says of a build would be wrong.
		return apart(context.Cause(ctx))
	}
	return err
}

// build is the callback of watch.
func (b *rebuilder) build(ctx context.Context) error {
	report, err := b.run(ctx)
	switch {
	case err == nil:
		return b.succeed(report)
	case ctx.Err() != nil:
		b.interrupted = true
		return err
	}
	return b.fail(err)
}

// run is cli.run, without warnings of what was so before and has been since. A run that
// fails says nothing of what it did not come to.
func (b *rebuilder) run(ctx context.Context) (*generator.Report, error) {
	report, err := b.generate(ctx, b.o)
	if err == nil {
		var warnings []string
		b.limits, warnings = checkLimits(ctx, b.o, b.hosts)
		report.Warnings = append(report.Warnings, warnings...)
	}
	fresh := slices.DeleteFunc(slices.Clone(report.Warnings), func(w string) bool { return slices.Contains(b.warned, w) })
	for _, w := range fresh {
		b.warn("%s", w)
	}
	if b.warned = append(b.warned, fresh...); err == nil {
		b.warned = report.Warnings
	}
	return report, err
}

func (b *rebuilder) succeed(r *generator.Report) error {
	b.lastFail = ""
	// From here on, there is a publication to go on from.
	b.o.Rebase, b.o.Previous = false, policy.Previous{Header: b.o.Previous.Header}
	if !r.Wrote && !r.Recovered {
		return nil
	}
	return b.printBuilt(r)
}

func (b *rebuilder) printBuilt(r *generator.Report) error {
	switch {
	case b.json:
		return b.writeLine(reportJSON(b.o, r, b.limits))
	case b.quiet:
		return nil
	}
	what := changes(b.o, r)
	switch {
	case r.Recovered:
		what += ", after the commit of an interrupted run was completed"
	case r.First:
		what += ", " + plural(r.Resources, "resource")
	}
	return b.print("%s %s\n", time.Now().Format(time.TimeOnly), what)
}

// fail reports the error of a build, unless the last one had the same. What the source
// itself is refused for needs no second look until it changes.
func (b *rebuilder) fail(err error) error {
	j := explained(err)
	refusal, refused := errors.AsType[*policy.Refusal](err)
	passes := refused && refusal.Passes
	same := j.Error
	if passes { // what it says changes with the time
		same = refusal.Flag
	}
	if same != b.lastFail {
		b.lastFail = same
		b.tellFailure(j)
		if b.json {
			if err := b.writeLine(j); err != nil {
				return err
			}
		}
	}
	if j.ExitCode == exitRefused && !passes {
		return nil
	}
	return watch.ErrAgain
}

// ignored returns a function that knows what cannot change what is published: the
// publication itself, which each build changes, and what is never a part of the source.
func ignored(o *generator.Options) func(string, bool) bool {
	own := ownPaths(o)
	return func(name string, dir bool) bool {
		for _, p := range own {
			if name == p || strings.HasPrefix(name, p+"/") {
				return true
			}
		}
		if dir && len(o.Rules.Include) == 0 && isVersionControl(path.Base(name)) {
			return true
		}
		if dir {
			name += "/"
		}
		return slices.ContainsFunc(o.Rules.Exclude, func(g scanner.Glob) bool { return g.Matches(name) })
	}
}

// isVersionControl knows the folders in which much happens, unless a rule takes them in.
func isVersionControl(name string) bool {
	return slices.Contains([]string{".git", ".hg", ".svn", ".bzr"}, name)
}

// ownPaths returns where builds write, as far as that is in the source, relative to it.
func ownPaths(o *generator.Options) (paths []string) {
	add := func(dir string, names ...string) {
		for _, below := range within(o.Source, dir) {
			for _, name := range names {
				paths = append(paths, path.Join(below, name))
			}
		}
	}
	out := outDir(*o)
	add(out, publish.Folder, layout.Layout{}.SourceDescription().Path)
	folders := []string{o.Identity.Folder}
	for _, set := range o.Sets {
		if set.Folder != "" {
			folders = append(folders, set.Folder)
		}
	}
	for _, folder := range folders {
		if folder == "." {
			add(out, append(layout.Layout{Identity: o.Identity}.Documents(), policy.RetainedFile)...)
		} else {
			add(out, folder)
		}
	}
	if o.Cache != "" {
		add(filepath.Dir(o.Cache), filepath.Base(o.Cache), filepath.Base(o.Cache)+".tmp")
	}
	if o.Plan != "" {
		for _, name := range plan.Names(o.Plan) {
			add(filepath.Dir(name), filepath.Base(name))
		}
	}
	return paths
}

// within returns the slash paths by which a directory is reached from another one, if
// it lies there: by its name, and by where symbolic links lead.
func within(top, dir string) (paths []string) {
	for _, place := range []func(string) (string, error){filepath.Abs, realPath} {
		if path, ok := below(place, top, dir); ok {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// below returns the slash path from one directory to another one in it.
func below(place func(string) (string, error), top, dir string) (string, bool) {
	from, err := place(top)
	to, err2 := place(dir)
	if err != nil || err2 != nil {
		return "", false
	}
	relative, err := filepath.Rel(from, to)
	return filepath.ToSlash(relative), err == nil && filepath.IsLocal(relative)
}

// isWithin reports whether a directory is there, and in another one or that.
func isWithin(dir, other string) bool {
	_, ok := below(realPath, other, dir)
	return ok && isDir(dir)
}

// realPath follows symbolic links, as far as there is anything.
func realPath(name string) (string, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(name)
	if up := filepath.Dir(name); err != nil && up != name {
		real, err = realPath(up)
		real = filepath.Join(real, filepath.Base(name))
	}
	return real, err
}
