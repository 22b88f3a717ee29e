package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"github.com/wellspring-sync/wellspring/generator"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/verify"
)

// summaryVariable names the file to which a step of GitHub Actions appends what it wants
// shown with the run, in Markdown.
const summaryVariable = "GITHUB_STEP_SUMMARY"

// What people want to read in a summary at most. GitHub refuses one of a megabyte.
const (
	mostRows  = 50
	mostRunes = 300
)

// summarize appends to the summary, if one is asked for.
func (c *cli) summarize(text string) {
	name := os.Getenv(summaryVariable)
	if name == "" {
		return
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		c.warn("no summary was written (%s): %v", summaryVariable, err)
	}
}

// buildSummary is the summary of a build, or of what status says of the next one.
func buildSummary(o generator.Options, r *generator.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### Wellspring: %s\n\n| | |\n| --- | --- |\n", buildTitle(o, r))
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "| %s | %s |\n", name, fmt.Sprintf(format, args...))
	}
	if !r.At.IsZero() {
		row("Time", "%s", resourcesync.FormatDateTime(r.At))
	}
	row("Resources", "%s, %s", humanize.Comma(int64(r.Resources)), humanize.Bytes(uint64(r.Bytes)))
	row("Changes", "%s", changes(o, r))
	if r.Wrote && !o.DryRun {
		row("Files", "%s", written(r))
	}
	if left := leftOut(visible(r.LeftOut)); left != "" {
		row("Left out", "%s", markdownText(left))
	}
	row("Destinations begin at", "%s", markdownCode(r.SourceDescription))
	b.WriteByte('\n')
	if sets := setSummaries(o, r); len(sets) > 0 {
		b.WriteString("Sets:\n\n")
		writeItems(&b, sets)
	}
	if len(r.Warnings) > 0 {
		b.WriteString("Warnings:\n\n")
		writeItems(&b, r.Warnings)
	}
	return b.String()
}

func buildTitle(o generator.Options, r *generator.Report) string {
	switch {
	case r.Wrote && o.DryRun:
		return "the next build would publish"
	case r.Wrote:
		return "published"
	}
	return "nothing to publish"
}

func writeItems(b *strings.Builder, items []string) {
	for i, item := range items {
		if i == mostRows {
			fmt.Fprintf(b, "- and %s more\n", humanize.Comma(int64(len(items)-i)))
			break
		}
		fmt.Fprintf(b, "- %s\n", markdownText(item))
	}
	b.WriteByte('\n')
}

// auditMarkdown is the summary of an audit, with the first of its findings.
func auditMarkdown(r *verify.Report, strict bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### Wellspring: audit of %s\n\n", markdownCode(r.Place))
	fmt.Fprintf(&b, "%s\n\n", markdownText(strings.TrimSuffix(verdict(r, strict, true), "\n")))
	rows, more := 0, 0
	for i := range r.Findings {
		f := &r.Findings[i]
		switch {
		case f.Rule.Severity == verify.Note:
			continue
		case rows == mostRows:
			more++
			continue
		case rows == 0:
			b.WriteString("| severity | rule | where | what |\n| --- | --- | --- | --- |\n")
		}
		rows++
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", f.Rule.Severity, markdownCode(f.Rule.Name), markdownCode(findingPlace(f)), markdownText(f.Message))
	}
	if rows > 0 {
		b.WriteByte('\n')
	}
	if more > 0 {
		fmt.Fprintf(&b, "And %s more.\n\n", humanize.Comma(int64(more)))
	}
	fmt.Fprintf(&b, "%s\n\n", markdownText(strings.TrimSuffix(auditSummary(r), "\n")))
	return b.String()
}

func findingPlace(f *verify.Finding) string {
	place := cmp.Or(f.File, f.Document)
	if f.Line > 0 {
		place += fmt.Sprintf(":%d:%d", f.Line, f.Column)
	}
	return place
}

// markdownText makes a text mean nothing but itself in Markdown, HTML and a table: an
// entity for each sign that could be part of something.
func markdownText(text string) string {
	if utf8.RuneCountInString(text) > mostRunes {
		text = string([]rune(text)[:mostRunes]) + "…"
	}
	var b strings.Builder
	for _, r := range printable(text) {
		switch {
		case r == '\n':
			b.WriteByte(' ')
		case r < utf8.RuneSelf && !isPlain(r):
			fmt.Fprintf(&b, "&#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// isPlain reports whether an ASCII character is never part of Markdown within a line.
func isPlain(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || strings.ContainsRune(" ,/", r)
}

// markdownCode is markdownText for names.
func markdownCode(name string) string { return "<code>" + markdownText(name) + "</code>" }
