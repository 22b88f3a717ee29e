package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/wellspring-sync/wellspring/generator"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/prepare"
	"github.com/wellspring-sync/wellspring/internal/settings"
)

// hostFlag is what --host is called, in build and in prepare.
const hostFlag = "host"

func addHostFlag(flags *pflag.FlagSet, hosts *[]string) {
	flags.StringSliceVar(hosts, hostFlag, nil, "warn where limits of a `host` are passed: "+strings.Join(prepare.HostNames(), ", ")+"; may be repeated")
}

// setHosts checks the names of hosts.
func (f *sourceFlags) setHosts(*generator.Options) error {
	for i, name := range f.hosts {
		f.hosts[i] = strings.TrimSpace(name)
		if known := prepare.HostNames(); !slices.Contains(known, f.hosts[i]) {
			hint := ""
			if near := settings.Nearest(name, known); near != "" {
				hint = fmt.Sprintf(" (did you mean %s?)", near)
			}
			return fmt.Errorf("--host is %q, which is none of %s%s", name, strings.Join(known, ", "), hint)
		}
	}
	slices.Sort(f.hosts)
	f.hosts = slices.Compact(f.hosts)
	return nil
}

// setPackageSize makes packages fit the hosts, unless it is said how large they may be.
func (l *loaded) setPackageSize(cmd *cobra.Command) error {
	hosts, size := cmd.Flags().Lookup(hostFlag), cmd.Flags().Lookup("package-size")
	if hosts == nil || size == nil || size.Changed {
		return nil
	}
	most, host := prepare.LargestFile(hosts.Value.(pflag.SliceValue).GetSlice())
	if most == 0 || most >= policy.DefaultPackageSize {
		return nil
	}
	l.origins[settingName(size.Name)] = "for " + host
	return setFlag(size, []string{packageSizeFor(most)}, host)
}

// packageSizeFor returns a size for packages that are a little smaller than the largest
// file.
func packageSizeFor(most int64) string { return fmt.Sprintf("%dMiB", most>>20-1) }

// limitJSON is a limit of a host that is passed, as programs get it.
type limitJSON struct {
	prepare.Passed
	Message string `json:"message"`
}

// checkLimits compares what would be uploaded with the limits of hosts, and says in
// words what is found. It never fails: what is published is published.
func checkLimits(ctx context.Context, o generator.Options, hosts []string) (limits []limitJSON, warnings []string) {
	if len(hosts) == 0 {
		return nil, nil
	}
	for _, dirs := range uploads(o) {
		u, err := prepare.CheckUpload(ctx, dirs, hosts)
		if err != nil { // a signal, which comes too late to undo anything
			return limits, warnings
		}
		if u.Unread > 0 {
			warnings = append(warnings, fmt.Sprintf("the limits of hosts were compared without %s that could not be read; the first is %s", plural(u.Unread, "place"), unreadText(u.Err)))
		}
		for _, p := range u.Passed {
			l := limitJSON{p, passedText(&p, o.PackageSize)}
			limits = append(limits, l)
			warnings = append(warnings, l.Message)
		}
	}
	return limits, warnings
}

// limits warns where an upload would pass limits of hosts.
func (c *cli) limits(ctx context.Context, o generator.Options, r *generator.Report, hosts []string) []limitJSON {
	limits, warnings := checkLimits(ctx, o, hosts)
	for _, w := range warnings {
		c.warn("%s", w)
	}
	r.Warnings = append(r.Warnings, warnings...)
	return limits
}

// uploads returns the directories that go to hosts, those together that go to one.
func uploads(o generator.Options) [][]string {
	out := outDir(o)
	switch {
	case isWithin(out, o.Source):
		return [][]string{{o.Source}}
	case isWithin(o.Source, out):
		return [][]string{{out}}
	case hostOf(o.Identity.BaseURL) == hostOf(o.Identity.PublicationURL):
		return [][]string{{o.Source, out}}
	}
	return [][]string{{o.Source}, {out}}
}

func hostOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return uri
	}
	return u.Host
}

func unreadText(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Sprintf("%q: %v", p.Path, p.Err)
	}
	return err.Error()
}

// passedTexts say in words which limit is passed.
var passedTexts = map[prepare.LimitKind]string{
	prepare.LimitFiles:    "HOST takes at most MOST files, and there are FOUND",
	prepare.LimitEntries:  "HOST takes at most MOST files and folders, and there are FOUND",
	prepare.LimitFolder:   "HOST takes folders of at most MOST files, and FOLDERS more: PATH has FOUND",
	prepare.LimitTotal:    "HOST takes sites of at most MOST, and this one has FOUND bytes",
	prepare.LimitFile:     "HOST takes files of at most MOST, and ARE larger: PATH has FOUND bytes",
	prepare.LimitPath:     "HOST takes paths of at most MOST bytes, and ARE longer: PATH has FOUND",
	prepare.LimitPathText: "HOST takes paths of at most MOST characters, and ARE longer: PATH has FOUND",
}

// passedText says in words which limit is passed, and what helps.
func passedText(p *prepare.Passed, packageSize int64) string {
	most := humanize.Comma(p.Most)
	if p.Kind == prepare.LimitFile || p.Kind == prepare.LimitTotal {
		most = sizeText(p.Most)
	}
	if p.Where != "" {
		most += " (" + p.Where + ")"
	}
	are, have := " are", " have"
	if p.Count == 1 {
		are, have = " is", " has"
	}
	text := strings.NewReplacer(
		"HOST", p.Host, "MOST", most, "FOUND", humanize.Comma(p.Found), "PATH", strconv.Quote(p.Path),
		"ARE", plural(p.Count, "file")+are, "FOLDERS", plural(p.Count, "folder")+have,
	).Replace(passedTexts[p.Kind])
	if p.Kind == prepare.LimitFile && p.Packages > 0 && packageSize > p.Most {
		text += "; packages fit with --package-size " + packageSizeFor(p.Most)
	}
	return text
}

// sizeText is a round size as the host says it.
func sizeText(n int64) string {
	if n%(1<<20) == 0 {
		return humanize.IBytes(uint64(n))
	}
	return humanize.Bytes(uint64(n))
}
