package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/wellspring-sync/wellspring/generator"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/hashing"
	"github.com/wellspring-sync/wellspring/internal/prepare"
	"github.com/wellspring-sync/wellspring/internal/publish"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/scanner"
)

// prepareFlags say what is prepared.
type prepareFlags struct {
	source    sourceFlags
	htmlLinks bool
	robots    bool
	snippets  string
}

// preparing are the flags of build that matter to prepare. It takes the others, too,
// so that both can be called alike, and does not show them.
var preparing = []string{"base-url", "publication-url", "out", "folder", "include", "exclude", "hidden", "symlinks", hostFlag, "dry-run"}

func (c *cli) prepareCommand() *cobra.Command {
	f := &prepareFlags{}
	cmd := &cobra.Command{
		Use:   "prepare [DIR]",
		Short: "Put into a site what leads harvesters to its publication",
		Long: `Prepare changes the site in DIR (by default the current directory) before build
publishes it. No other command touches the site's own files. Each is replaced in one
step, only if it has to say something else, and keeps its mode.

With --html-links, each HTML page gets a link to the Capability List of each set
that it is in. With --robots, robots.txt names the Resource Lists as Sitemaps; search
engines read them, and some complain about the elements that are not theirs. With
--host, the host gets what it needs to send the right types, caching and links:
_headers, .nojekyll and .htaccess are written into DIR, between lines of other people;
what has to go elsewhere is printed, or written into the directory --snippets; limits
of the host that the site passes are told. All flags and settings of build hold here,
too.

` + exitCodes,
		Example: `  wellspring prepare public --base-url https://example.org/ --html-links --host netlify
  wellspring prepare public --base-url https://example.org/ --host nginx > wellspring.nginx.conf`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.prepare(cmd, f, args) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&f.htmlLinks, "html-links", false, "put links to the Capability List into HTML pages")
	flags.BoolVar(&f.robots, "robots", false, "name the Resource Lists in robots.txt")
	flags.StringVar(&f.snippets, "snippets", "", "`directory` for what has to be put elsewhere (default: it is printed)")
	f.source.addFlags(flags)
	host := flags.Lookup(hostFlag)
	host.Usage = strings.Replace(host.Usage, "warn where limits of a `host` are passed", "write what a `host` needs", 1)
	flags.BoolVarP(&f.source.DryRun, "dry-run", "n", false, "find out what would change, and write nothing")
	settingFlags().VisitAll(func(flag *pflag.Flag) {
		flags.Lookup(flag.Name).Hidden = !slices.Contains(preparing, flag.Name)
	})
	return cmd
}

// check returns an error if what is asked for cannot be.
func (f *prepareFlags) check(cmd *cobra.Command, source string) error {
	if !f.htmlLinks && !f.robots && len(f.source.hosts) == 0 {
		return usageErrorf(cmd, "there is nothing to do: give --html-links, --robots or --host")
	}
	if f.snippets == "" {
		return nil
	}
	if info, err := os.Stat(f.snippets); err != nil {
		return usageErrorf(cmd, "--snippets: %w", err)
	} else if !info.IsDir() {
		return usageErrorf(cmd, "--snippets: %s is not a directory", f.snippets)
	}
	if isWithin(f.snippets, source) {
		return usageErrorf(cmd, "--snippets: %s is in the site, and would be published", f.snippets)
	}
	return nil
}

// preparation is one run of prepare.
type preparation struct {
	c    *cli
	f    *prepareFlags
	o    generator.Options
	own  layout.Layout
	sets []preparedSet // one that has all files, if there are none with names
	root *os.Root

	found preparedJSON
}

// preparedSet is a set of resources, and where its documents are.
type preparedSet struct {
	policy.Set
	layout layout.Layout
}

func (c *cli) prepare(cmd *cobra.Command, f *prepareFlags, args []string) error {
	l, err := c.load(cmd, args)
	if err != nil {
		return err
	}
	// It looks at no publication, so that those of build may ask for a first run for
	// both of them without a word of where the last one would be.
	f.source.Previous = policy.Previous{}
	o, err := f.source.options(cmd, l)
	if err != nil {
		return err
	}
	if err := f.check(cmd, o.Source); err != nil {
		return err
	}
	p := &preparation{c: c, f: f, o: o}
	p.found = preparedJSON{DryRun: o.DryRun, Files: []prepare.File{}, Warnings: []string{}}
	if err := p.setSets(); err != nil {
		return usage(cmd, err)
	}
	if p.root, err = os.OpenRoot(o.Source); err != nil {
		return apart(fmt.Errorf("opening the site: %w", err))
	}
	defer p.root.Close()
	for _, step := range []func(context.Context) error{p.pages, p.robots, p.hosts} {
		if err := step(cmd.Context()); err != nil {
			return apart(err)
		}
	}
	return p.print()
}

// setSets takes the sets of resources from the options.
func (p *preparation) setSets() (err error) {
	if p.own, err = layout.New(p.o.Identity); err != nil {
		return err
	}
	for _, s := range p.o.Sets {
		l, err := s.Layout(p.own)
		if err != nil {
			return err
		}
		p.sets = append(p.sets, preparedSet{s, l})
	}
	if len(p.sets) == 0 {
		p.sets = []preparedSet{{policy.Set{Hub: p.o.Hub}, p.own}}
	}
	return nil
}

// has reports whether a file is in the set, whatever its size is.
func (s *preparedSet) has(f *scanner.File) bool {
	return s.Resources.Matches(f.Path, cmp.Or(hashing.ByExtension(f.Path), "application/octet-stream"))
}

// lists returns the Capability Lists to which pages can link.
func (p *preparation) lists() (lists []prepare.List) {
	for i := range p.sets {
		s := &p.sets[i]
		if s.Resources.IsTimed() {
			p.warn("no page links to the set %q, which goes by times of modification: a link would change that of its page", s.Name)
			continue
		}
		lists = append(lists, prepare.List{URI: s.layout.CapabilityList().URI, Has: s.has, MinSize: s.Resources.MinSize, MaxSize: s.Resources.MaxSize})
	}
	return lists
}

func (p *preparation) warn(format string, args ...any) {
	p.found.Warnings = append(p.found.Warnings, fmt.Sprintf(format, args...))
}

// pages puts links into HTML pages.
func (p *preparation) pages(ctx context.Context) error {
	if !p.f.htmlLinks {
		return nil
	}
	run := prepare.Pages{
		Root: p.root, Lists: p.lists(), DryRun: p.o.DryRun,
		Scan: scanner.Options{Rules: p.o.Rules, SkipSymlinks: p.o.SkipSymlinks, Own: p.ownFolders()},
		OnFile: func(f prepare.File) {
			if f.Action != prepare.Unchanged && (p.c.verbose > 0 || p.o.DryRun) {
				p.found.Files = append(p.found.Files, f)
			}
		},
	}
	r, err := run.Run(ctx)
	if err != nil {
		return fmt.Errorf("--html-links: %w", err)
	}
	p.found.Pages = r
	r.Left = append([]prepare.Left{}, r.Left...)
	for _, l := range r.Left {
		p.warn("%s left alone: %s; the first is %q", plural(l.Count, "page"), l.Why, l.First)
	}
	if lists := run.Lists; len(r.Left) > 0 && len(lists) > 0 {
		p.found.Notes = append(p.found.Notes, fmt.Sprintf(`a page that was left alone can have the link itself, such as <link rel="resourcesync" href=%q>`, lists[0].URI))
	}
	return nil
}

// ownFolders says where the publication lies in the site, if it does.
func (p *preparation) ownFolders() (own []scanner.Own) {
	add := func(dir string, names ...string) {
		if info, err := os.Stat(filepath.Join(outDir(p.o), filepath.FromSlash(dir))); err == nil && info.IsDir() {
			own = append(own, scanner.Own{Dir: info, Names: names, Folder: dir != "."})
		}
	}
	add(".", publish.Folder)
	add(p.own.Folder, p.own.Documents()...)
	for _, s := range p.sets {
		add(s.layout.Folder, s.layout.Documents()...)
	}
	return own
}

// robots brings robots.txt up to date.
func (p *preparation) robots(context.Context) error {
	if !p.f.robots {
		return nil
	}
	if strings.Count(p.own.BaseURL, "/") > len("//")+1 {
		p.warn("robots.txt is left alone: crawlers read only that of the host, and %s is below its root; put the Sitemap lines in there", p.own.BaseURL)
		return nil
	}
	var uris []string
	for _, s := range p.sets {
		uris = append(uris, s.layout.ResourceList().URI)
	}
	action, err := prepare.WriteRobots(p.root, uris, p.o.DryRun)
	if why, ok := errors.AsType[prepare.LeftAlone](err); ok {
		p.warn("%s is left alone: %s", prepare.RobotsFile, why)
		return nil
	}
	if err != nil {
		return fmt.Errorf("--robots: %w", err)
	}
	p.found.Files = append(p.found.Files, prepare.File{Path: prepare.RobotsFile, Action: action})
	return nil
}

// hubs returns the topics of sets that have a hub.
func (p *preparation) hubs() (hubs []prepare.Hub) {
	for _, s := range p.sets {
		if s.Hub != "" {
			hubs = append(hubs, prepare.Hub{Topic: s.layout.FrameworkNotification().URI, Hub: s.Hub})
		}
	}
	return hubs
}

// hosts writes what hosts need.
func (p *preparation) hosts(ctx context.Context) error {
	if len(p.f.source.hosts) == 0 {
		return nil
	}
	var sets []layout.Layout
	for _, s := range p.sets {
		if s.Name != "" {
			sets = append(sets, s.layout)
		}
	}
	site, err := prepare.NewSite(p.own, sets, p.linkForAll())
	if why, ok := errors.AsType[prepare.LeftAlone](err); ok {
		p.warn("nothing is written for hosts: %s", why)
		return nil
	}
	if err != nil {
		return fmt.Errorf("--host: %w", err)
	}
	if err := site.SetHubs(p.hubs()); err != nil {
		p.warn("no links to a hub are written for hosts: %s", err)
	}
	if p.o.Out != "" && !isWithin(outDir(p.o), p.o.Source) {
		p.warn("the publication is in %s, and not in %s: what hosts read belongs to the top of what is uploaded", outDir(p.o), filepath.Clean(p.o.Source))
	}
	for _, name := range p.f.source.hosts {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		r, err := site.WriteHost(p.root, name, p.o.DryRun)
		if err == nil {
			err = p.host(r)
		}
		if err != nil {
			return fmt.Errorf("--host %s: %w", name, err)
		}
	}
	limits, warnings := checkLimits(ctx, p.o, p.f.source.hosts)
	p.found.HostLimits = limits
	p.found.Warnings = append(p.found.Warnings, warnings...)
	return nil
}

// linkForAll returns the URI of the Capability List that pertains to all that is
// served, or nothing.
func (p *preparation) linkForAll() string {
	i := slices.IndexFunc(p.sets, func(s preparedSet) bool { return s.Resources.HasAll() })
	if i < 0 || len(p.o.Rules.Include)+len(p.o.Rules.Exclude) > 0 {
		p.warn("hosts send no Link header, since no set has all that is served: --html-links finds out the right set of each page")
		return ""
	}
	return p.sets[i].layout.CapabilityList().URI
}

// host takes what was done for one host.
func (p *preparation) host(r prepare.HostResult) error {
	switch {
	case r.Left != "":
		p.warn("%s is left alone: %s", r.File, r.Left)
	case r.File != "":
		if !slices.ContainsFunc(p.found.Files, func(f prepare.File) bool { return f.Path == r.File }) {
			p.found.Files = append(p.found.Files, prepare.File{Path: r.File, Action: r.Action})
		}
	case p.f.snippets != "":
		name := filepath.Join(p.f.snippets, r.Name)
		action, err := writeSnippet(name, r.Text, p.o.DryRun)
		if err != nil {
			return err
		}
		p.found.Files = append(p.found.Files, prepare.File{Path: name, Action: action})
	default:
		p.found.Texts = append(p.found.Texts, r)
	}
	for _, note := range r.Notes {
		p.found.Notes = append(p.found.Notes, r.Host+": "+note)
	}
	return nil
}

// writeSnippet writes a file outside of the site, if it does not say that already.
func writeSnippet(name, text string, dryRun bool) (prepare.Action, error) {
	old, err := os.ReadFile(name)
	action := prepare.Updated
	switch {
	case errors.Is(err, os.ErrNotExist):
		action = prepare.Created
	case err != nil:
		return "", err
	case string(old) == text:
		return prepare.Unchanged, nil
	}
	if dryRun {
		return action, nil
	}
	return action, os.WriteFile(name, []byte(text), 0o644)
}

// preparedJSON is what prepare writes with --json.
type preparedJSON struct {
	DryRun     bool                 `json:"dry_run"`
	Pages      *prepare.PagesReport `json:"pages,omitempty"`
	Files      []prepare.File       `json:"files"`
	Texts      []prepare.HostResult `json:"texts,omitempty"` // to be put elsewhere
	Notes      []string             `json:"notes,omitempty"`
	HostLimits []limitJSON          `json:"host_limits,omitempty"`
	Warnings   []string             `json:"warnings"`
}

// print writes the result. Texts that go elsewhere have the standard output for
// themselves, so that it can be a file.
func (p *preparation) print() error {
	for _, w := range p.found.Warnings {
		p.c.warn("%s", w)
	}
	if p.c.json {
		return p.c.writeJSON(p.found)
	}
	text := p.summary()
	switch {
	case p.c.quiet:
	case len(p.found.Texts) > 0:
		p.c.tell("%s", text)
	default:
		p.c.print("%s", text)
	}
	for _, r := range p.found.Texts {
		io.WriteString(p.c.stdout, r.Text)
	}
	return nil
}

func (p *preparation) summary() string {
	var b strings.Builder
	would := ""
	if p.o.DryRun {
		would = "would be "
	}
	if r := p.found.Pages; r != nil {
		fmt.Fprintf(&b, "Pages: %d %slinked, %d unchanged", r.Updated, would, r.Unchanged)
		if r.InNoSet > 0 {
			fmt.Fprintf(&b, ", %d in no set", r.InNoSet)
		}
		b.WriteString("\n")
	}
	for _, f := range p.found.Files {
		if f.Action == prepare.Unchanged {
			fmt.Fprintf(&b, "%s: %s\n", f.Path, f.Action)
		} else {
			fmt.Fprintf(&b, "%s: %s%s\n", f.Path, would, f.Action)
		}
	}
	for _, t := range p.found.Texts {
		fmt.Fprintf(&b, "For %s: %s\n", t.Host, t.Name)
	}
	for _, note := range p.found.Notes {
		fmt.Fprintf(&b, "Note: %s\n", note)
	}
	if !p.o.DryRun {
		b.WriteString("Next: wellspring build\n")
	}
	return b.String()
}
