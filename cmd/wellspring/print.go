package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	"golang.org/x/term"

	"github.com/wellspring-sync/wellspring/generator"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/scanner"
)

func (c *cli) printChange(ch policy.Change) {
	why := ch.Reason
	if ch.Set != "" {
		why = ch.Set + ": " + why
	}
	c.print("%-8s %s  (%s)\n", ch.Type, ch.URI, why)
}

func summary(o generator.Options, r *generator.Report) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if r.Recovered {
		line("The commit of an interrupted run was completed first.")
	}
	line("%s: %s, %s", plural(r.Resources, "resource"), changes(o, r), humanize.Bytes(uint64(r.Bytes)))
	for _, text := range setSummaries(o, r) {
		line("  %s", text)
	}
	if r.Read > 0 {
		line("%s read (%s)", plural(r.Read, "file"), humanize.Bytes(uint64(r.ReadBytes)))
	}
	if r.Packages > 0 {
		line("%s written (%s)", plural(r.Packages, "package"), humanize.Bytes(uint64(r.PackageBytes)))
	}
	if left := leftOut(visible(r.LeftOut)); left != "" {
		line("Left out: %s", left)
	}
	switch {
	case o.DryRun && r.Wrote:
		line("The next build would write: %s", strings.Join(r.Heads, ", "))
	case !r.Wrote:
		line("Nothing to publish: the publication of %s is up to date.", resourcesync.FormatDateTime(r.At))
	default:
		line("Published at %s in %s: %s (%s)", resourcesync.FormatDateTime(r.At), folderOf(o),
			written(r), r.Took.Round(10*time.Millisecond))
		next := nextStep(o)
		if o.Plan != "" && len(r.Notifications) > 0 {
			next += "; then wellspring notify " + o.Plan
		}
		line("Next: %s; Destinations begin at %s", next, r.SourceDescription)
	}
	return b.String()
}

// nextStep is how what was published comes to where it is served.
func nextStep(o generator.Options) string {
	if o.Plan != "" {
		return "wellspring plan " + o.Plan + ", or upload all of " + outDir(o)
	}
	return "upload " + outDir(o)
}

// folderOf is the publication's folder as the user would write it: behind a
// symbolic link, ".." leads elsewhere than it seems.
func folderOf(o generator.Options) string {
	dir := outDir(o)
	if strings.Contains(dir, "..") {
		return dir + "/" + o.Identity.Folder
	}
	return path.Join(dir, o.Identity.Folder)
}

func changes(o generator.Options, r *generator.Report) string {
	return outcome(o, r.First, counts(r.Created, r.Updated, r.Deleted, r.Refreshed))
}

// outcome says what became of a publication, or of a set in it.
func outcome(o generator.Options, first bool, counts string) string {
	switch {
	case first && o.DryRun:
		return "not published yet"
	case first:
		return "published for the first time"
	}
	return cmp.Or(counts, "no changes")
}

// mostSets is how many sets people want to read about at once.
const mostSets = 20

// setSummaries sums up the sets, or the first of those that are new or have changed if
// there are very many.
func setSummaries(o generator.Options, r *generator.Report) (lines []string) {
	more := 0
	for i := range r.Sets {
		s := &r.Sets[i]
		switch {
		case len(r.Sets) > mostSets && !s.First && s.Events()+s.Refreshed == 0:
		case len(lines) == mostSets:
			more++
		default:
			lines = append(lines, setSummary(o, s))
		}
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("and %s more sets", humanize.Comma(int64(more))))
	}
	return lines
}

// setSummary sums up one set of several.
func setSummary(o generator.Options, s *generator.SetReport) string {
	what := outcome(o, s.First, counts(s.Created, s.Updated, s.Deleted, s.Refreshed))
	return fmt.Sprintf("%s: %s, %s, %s", s.Name, plural(s.Resources, "resource"), what, humanize.Bytes(uint64(s.Bytes)))
}

func counts(created, updated, deleted, refreshed int) string {
	var parts []string
	for _, p := range []struct {
		n    int
		name string
	}{{created, "created"}, {updated, "updated"}, {deleted, "deleted"}, {refreshed, "with new metadata"}} {
		if p.n > 0 {
			parts = append(parts, humanize.Comma(int64(p.n))+" "+p.name)
		}
	}
	return strings.Join(parts, ", ")
}

func written(r *generator.Report) string {
	s := plural(len(r.Heads)+r.Bodies, "file") + " written, " + humanize.Bytes(uint64(r.WrittenBytes))
	if r.Swept > 0 {
		s += ", " + humanize.Comma(int64(r.Swept)) + " removed"
	}
	return s
}

// visible takes the publication itself out of what was left out.
func visible(counts map[scanner.Reason]int) map[scanner.Reason]int {
	counts = maps.Clone(counts)
	delete(counts, scanner.Published)
	return counts
}

// leftOut lists what does not belong to the source, the most frequent first.
func leftOut(counts map[scanner.Reason]int) string {
	var reasons []scanner.Reason
	for why := range counts {
		reasons = append(reasons, why)
	}
	slices.SortFunc(reasons, func(a, b scanner.Reason) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(string(a), string(b)))
	})
	parts := make([]string, len(reasons))
	for i, why := range reasons {
		parts[i] = fmt.Sprintf("%s (%s)", humanize.Comma(int64(counts[why])), why)
	}
	return strings.Join(parts, ", ")
}

func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return humanize.Comma(int64(n)) + " " + noun
}

// report is a generator.Report as programs get it. Its fields are stable.
type report struct {
	SourceDescription string `json:"source_description"`
	Published         bool   `json:"published"`
	DryRun            bool   `json:"dry_run"`
	First             bool   `json:"first"`
	Recovered         bool   `json:"recovered"`
	At                string `json:"at,omitempty"`
	policy.Counts
	FilesRead       int                    `json:"files_read"`
	BytesRead       int64                  `json:"bytes_read"`
	LeftOut         map[scanner.Reason]int `json:"left_out"`
	Heads           []string               `json:"heads"`
	BodiesWritten   int                    `json:"bodies_written"`
	BodiesReused    int                    `json:"bodies_reused"`
	BodiesSwept     int                    `json:"bodies_swept"`
	PackagesWritten int                    `json:"packages_written"`
	PackageBytes    int64                  `json:"package_bytes_written"`
	BytesWritten    int64                  `json:"bytes_written"`
	Sets            []generator.SetReport  `json:"sets,omitempty"`
	HostLimits      []limitJSON            `json:"host_limits,omitempty"`
	Warnings        []string               `json:"warnings"`
	Seconds         float64                `json:"seconds"`
}

// setsOf returns what there is to say of sets, of which none is published by a dry run.
func setsOf(o generator.Options, r *generator.Report) (sets []generator.SetReport) {
	for _, s := range r.Sets {
		if s.Wrote = s.Wrote && !o.DryRun; s.First {
			s.Created = 0
		}
		sets = append(sets, s)
	}
	return sets
}

func reportJSON(o generator.Options, r *generator.Report, limits []limitJSON) report {
	j := report{
		SourceDescription: r.SourceDescription, Published: r.Wrote && !o.DryRun, DryRun: o.DryRun, First: r.First, Recovered: r.Recovered,
		Counts: r.Counts, FilesRead: r.Read, BytesRead: r.ReadBytes, LeftOut: visible(r.LeftOut),
		Sets: setsOf(o, r), HostLimits: limits, Heads: append([]string{}, r.Heads...), BodiesWritten: r.Bodies, BodiesReused: r.Reused, BodiesSwept: r.Swept,
		PackagesWritten: r.Packages, PackageBytes: r.PackageBytes, BytesWritten: r.WrittenBytes, Warnings: append([]string{}, r.Warnings...), Seconds: r.Took.Seconds(),
	}
	if r.First { // the first publication has resources, and no events yet
		j.Created = 0
	}
	if !r.At.IsZero() {
		j.At = resourcesync.FormatDateTime(r.At)
	}
	return j
}

// progress keeps one line of a terminal up to date.
type progress struct {
	mu    sync.Mutex
	file  *os.File
	shown bool
	done  bool
}

// newProgress returns nil where nobody would see it.
func (c *cli) newProgress() *progress {
	f, ok := c.stderr.(*os.File)
	if !ok || c.quiet || c.verbose > 1 || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return &progress{file: f}
}

func (p *progress) show(s policy.Progress) { p.showLine(progressLine(s)) }

func (p *progress) showLine(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		return
	}
	p.shown = true
	width, _, err := term.GetSize(int(p.file.Fd()))
	if err != nil || width < 20 {
		width = 80
	}
	fmt.Fprintf(p.file, "\r\x1b[K%s", text[:min(len(text), width-1)])
}

// clear removes the line. It does nothing if p is nil.
func (p *progress) clear() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = true
	if p.shown {
		fmt.Fprint(p.file, "\r\x1b[K")
	}
}

func progressLine(s policy.Progress) string {
	files := humanize.Comma(s.Files)
	if s.TotalFiles > 0 {
		files += " of " + humanize.Comma(s.TotalFiles)
	}
	line := files + " files"
	if s.ReadBytes > 0 {
		rate := float64(s.ReadBytes) / max(s.Elapsed.Seconds(), 0.001)
		line += fmt.Sprintf(", %s read, %s/s", humanize.Bytes(uint64(s.ReadBytes)), humanize.Bytes(uint64(rate)))
	}
	if s.PackedBytes > 0 {
		line += fmt.Sprintf(", %s packed", humanize.Bytes(uint64(s.PackedBytes)))
	}
	if left, ok := timeLeft(s); ok {
		line += ", " + left + " left"
	}
	return line
}

// timeLeft guesses from the files that are left, once there is something to
// guess from.
func timeLeft(s policy.Progress) (string, bool) {
	if s.TotalFiles == 0 || s.Files == 0 || s.Files > s.TotalFiles || s.Elapsed < time.Second {
		return "", false
	}
	left := time.Duration(float64(s.Elapsed) / float64(s.Files) * float64(s.TotalFiles-s.Files)).Round(time.Second)
	if left < time.Minute {
		return strconv.Itoa(int(left.Seconds())) + " s", true
	}
	return left.String(), true
}
