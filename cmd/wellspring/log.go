package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wellspring-sync/wellspring/internal/httpclient"
	"github.com/wellspring-sync/wellspring/internal/publish"
	"github.com/wellspring-sync/wellspring/internal/remote"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// logFlags say which changes are told, and where the publication is.
type logFlags struct {
	baseURL, folder string
	resource        string
	since, now      string
	header          []string
}

func (c *cli) logCommand() *cobra.Command {
	f := &logFlags{}
	cmd := &cobra.Command{
		Use:   "log [DIR|URL]",
		Short: "Say what was published when",
		Long: `Log reads the Change Lists, live and archived, of the publication in the
directory DIR (by default the current one) or on a server, and says how many resources each run created, updated and
deleted, or with --resource what happened to one of them. The newest comes last.
It needs nothing but the publication, and writes nothing.

With --json, the result is an object with base_url (if it is known), from (since
when all changes are known), first (true if nothing was published before that),
since (if --since is given), and

  runs      each with at, created, updated and deleted; or else
  resource  a URI, and changes, each with at, change and, unless it is deleted,
            length (in bytes), hash and type

` + exitCodes,
		Example: `  wellspring log public
  wellspring log public --since 7d
  wellspring log public --resource about/index.html
  wellspring log https://example.org/ --since 7d`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.showLog(cmd, f, args) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.resource, "resource", "", "tell the changes of one resource: a `URI`, or its end behind the base URL")
	flags.StringVar(&f.since, "since", "", "`time` from which on changes are told, such as 2026-01-02, 2026-01-02T03:04:05Z, or 36h or 7d before now")
	flags.StringVar(&f.folder, "folder", "", "`folder` of the documents (default: where the Source Description leads)")
	flags.StringVar(&f.baseURL, "base-url", "", "`URL` at which the source is served, where the publication does not say it any more")
	addHeaderFlag(flags, &f.header)
	flags.StringVar(&f.now, "now", "", "`time` that is now (default: SOURCE_DATE_EPOCH, or the clock)")
	return cmd
}

// showLog finds the publication and tells its changes.
func (c *cli) showLog(cmd *cobra.Command, f *logFlags, args []string) error {
	dir := append(args, ".")[0]
	since, err := f.check(dir)
	if err != nil {
		return usage(cmd, err)
	}
	files, closeFiles, err := f.openPlace(cmd.Context(), dir)
	if err != nil {
		return reading(err, httpclient.IsURL(dir))
	}
	defer closeFiles()
	s, l, err := f.read(files, dir)
	if err != nil {
		return reading(err, httpclient.IsURL(dir))
	}
	lists := s.AllChanges()
	report := &logReport{
		BaseURL: l.BaseURL, From: resourcesync.FormatDateTime(lists[0].From), First: !s.HasChangeIndex(),
	}
	if !since.IsZero() {
		report.Since = resourcesync.FormatDateTime(since)
	}
	events := snapshot.Since(cmd.Context(), s, lists, since)
	if !cmd.Flags().Changed("resource") {
		return c.showRuns(report, lists[0].From.Before(since), events)
	}
	if report.Resource, err = resourceURI(l, f.resource); err != nil {
		return usage(cmd, err)
	}
	return c.showChanges(report, lists[0].From.Before(since), events)
}

// check checks the flags, and returns the time from which on changes are told.
func (f *logFlags) check(dir string) (since time.Time, err error) {
	if !httpclient.IsURL(dir) {
		if err := checkPublication(dir); err != nil {
			return since, err
		}
	}
	if f.folder != "" {
		if _, err := layout.OfFolder(f.folder); err != nil {
			return since, fmt.Errorf("--folder: %w", err)
		}
	}
	if f.baseURL != "" {
		if _, err := layout.New(layout.Identity{BaseURL: f.baseURL}); err != nil {
			return since, fmt.Errorf("--base-url: %w", err)
		}
	}
	now, fixed, err := fixedTime(f.now)
	if !fixed {
		now = time.Now().UTC().Truncate(time.Second)
	}
	if err != nil || f.since == "" {
		return since, err
	}
	return parseSince(f.since, now)
}

// parseSince reads a time, or how long it was before now.
func parseSince(s string, now time.Time) (time.Time, error) {
	t, err := timeOrAge(s, now)
	if err != nil {
		return t, fmt.Errorf("--since: %q is neither a time such as 2026-01-02 or 2026-01-02T03:04:05Z, nor how long ago that is, such as 36h, 7d, 12w, 6m or 2y", s)
	}
	return t, nil
}

// openPlace opens a directory, or the files on a server.
func (f *logFlags) openPlace(ctx context.Context, place string) (files fs.FS, closeFiles func(), err error) {
	header, err := parseHeader(f.header)
	if err != nil {
		return nil, nil, err
	}
	if !httpclient.IsURL(place) {
		return os.DirFS(place), func() {}, nil
	}
	far, err := remote.Open(ctx, place, nil, remote.Options{Header: header, Release: release()})
	if err != nil {
		return nil, nil, err
	}
	return far, func() { far.Close() }, nil
}

// read finds the publication among files.
func (f *logFlags) read(files fs.FS, dir string) (*snapshot.Snapshot, layout.Layout, error) {
	l, err := snapshot.Find(files, f.folder)
	if err == snapshot.ErrNone {
		err = fmt.Errorf("%s: %w", httpclient.Redacted(dir), err)
	}
	if e, ok := errors.AsType[*remote.Error](err); ok {
		err = e // which says nothing of the publication
	}
	if e, ok := errors.AsType[*snapshot.SetsError](err); ok {
		err = fmt.Errorf("%w: choose one, with --folder %s", e, e.Folders[0])
	}
	if err != nil {
		return nil, l, err
	}
	if !httpclient.IsURL(dir) && publish.Pending(dir) {
		return nil, l, errors.New("an interrupted run left a commit there that the next build has to complete first")
	}
	if f.baseURL != "" { // which is compared with the record, if there is one
		was := l.Identity
		was.BaseURL = f.baseURL
		if l, err = layout.New(was); err != nil {
			return nil, l, err
		}
	}
	s, err := snapshot.OpenChanges(files, l)
	return s, l, err
}

// resourceURI returns a URI as it is, or that of a path relative to the base URL.
// The path is as in URIs, unless that cannot be.
func resourceURI(l layout.Layout, s string) (string, error) {
	if httpclient.IsURL(s) {
		return s, nil
	}
	if l.BaseURL == "" {
		return "", errors.New("the base URL is not known, since the record of the publication was lost: give it with --base-url, or --resource as a whole URI")
	}
	s = strings.TrimPrefix(s, "/")
	if uri := l.BaseURL + s; len(l.Paths(uri)) > 0 {
		return uri, nil
	}
	return l.URI(s), nil
}

// logReport is a log as programs get it. Its fields are stable.
type logReport struct {
	BaseURL  string      `json:"base_url,omitempty"`
	From     string      `json:"from"`
	First    bool        `json:"first"`
	Since    string      `json:"since,omitempty"`
	Runs     []logRun    `json:"runs,omitzero"`
	Resource string      `json:"resource,omitempty"`
	Changes  []logChange `json:"changes,omitzero"`
}

type logRun struct {
	At      string `json:"at"`
	Created int    `json:"created"`
	Updated int    `json:"updated"`
	Deleted int    `json:"deleted"`
}

type logChange struct {
	At     string                  `json:"at"`
	Change resourcesync.ChangeType `json:"change"`
	Length *int64                  `json:"length,omitempty"`
	Hash   resourcesync.Hash       `json:"hash,omitempty"`
	Type   string                  `json:"type,omitempty"`
}

// showRuns tells the runs, beginning with what was before them unless they are only
// some of those that are listed.
func (c *cli) showRuns(report *logReport, some bool, events snapshot.Events) error {
	report.Runs = []logRun{}
	baseline := "published for the first time"
	if !report.First {
		baseline = "complete since then"
	}
	if !some {
		c.logLine("%s  %s\n", report.From, baseline)
	}
	none := true
	for r, err := range snapshot.Runs(events) {
		if err != nil {
			return reading(err, false)
		}
		none = false
		at := resourcesync.FormatDateTime(r.At)
		if c.json {
			report.Runs = append(report.Runs, logRun{at, r.Created, r.Updated, r.Deleted})
		} else if err := c.logLine("%s  %s\n", at, counts(r.Created, r.Updated, r.Deleted, 0)); err != nil {
			return err
		}
	}
	return c.endLog(report, some && none)
}

// showChanges tells the changes of one resource.
func (c *cli) showChanges(report *logReport, some bool, events snapshot.Events) error {
	report.Changes = []logChange{}
	from := report.From
	if some {
		from = report.Since
	}
	c.logLine("%s since %s\n", report.Resource, from)
	none := true
	for e, err := range snapshot.EventsOf(events, report.Resource) {
		if err != nil {
			return reading(err, false)
		}
		none = false
		if c.json {
			report.Changes = append(report.Changes, changeJSON(e))
		} else if err := c.logLine("%s\n", changeLine(e)); err != nil {
			return err
		}
	}
	return c.endLog(report, none)
}

func (c *cli) endLog(report *logReport, none bool) error {
	if c.json {
		return c.writeJSON(report)
	}
	if none {
		return c.logLine("No changes.\n")
	}
	return nil
}

// logLine writes a line for people.
func (c *cli) logLine(format string, args ...any) error {
	if c.json || c.quiet {
		return nil
	}
	return c.print(format, args...)
}

func changeJSON(e *resourcesync.Entry) logChange {
	md := e.Metadata
	j := logChange{At: resourcesync.FormatDateTime(e.ChangeTime()), Change: md.Change, Hash: md.Hash, Type: md.Type}
	if md.HasLength {
		j.Length = &md.Length
	}
	return j
}

func changeLine(e *resourcesync.Entry) string {
	md := e.Metadata
	line := resourcesync.FormatDateTime(e.ChangeTime()) + "  " + string(md.Change)
	if md.HasLength {
		line += "  " + plural(int(md.Length), "byte")
	}
	if md.Hash != "" {
		line += "  " + shortHash(md.Hash)
	}
	return line
}

// shortHash returns the beginning of the first digest, enough to tell two apart.
func shortHash(h resourcesync.Hash) string {
	const digits = 12
	first, _, _ := strings.Cut(string(h), " ")
	algorithm, digest, _ := strings.Cut(first, ":")
	return algorithm + ":" + digest[:min(len(digest), digits)]
}

// reading says that a publication could not be read, by a command that writes nothing.
func reading(err error, served bool) error {
	hint := ""
	switch damaged := is[*snapshot.DamagedError](err); {
	case is[signalError](err):
		return err
	case damaged && served:
		hint = "If it is being uploaded just now, try again when that is done. Else restore the publication from a copy."
	case damaged:
		hint = "Restore the publication from a copy."
	case errors.Is(err, snapshot.ErrNone):
		hint = "Give the directory that was given to build, or as --out to it."
	}
	return &failure{err: err, code: exitFailed, hint: hint}
}
