package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/wellspring-sync/wellspring/verify"
)

// findingJSON is a finding as programs get it.
type findingJSON struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	Section  string `json:"section"`
	verify.Finding
}

func (c *cli) printAudit(r *verify.Report, strict bool) error {
	if !c.json {
		return c.print("%s", c.auditText(r, strict))
	}
	findings := []findingJSON{}
	for _, f := range r.Findings {
		findings = append(findings, findingJSON{f.Rule.Name, f.Rule.Severity.String(), f.Rule.Section, f})
	}
	return c.writeJSON(struct {
		*verify.Report
		Findings []findingJSON  `json:"findings"`
		More     map[string]int `json:"more"`
	}{r, findings, r.More})
}

// mostLines is how many findings of one rule are shown of one document. All of them
// are in the JSON.
const mostLines = 10

// auditText tells findings by document, and sums up.
func (c *cli) auditText(r *verify.Report, strict bool) string {
	var b strings.Builder
	document := ""
	shown := map[*verify.Rule]int{}
	hidden := 0
	for _, f := range r.Findings {
		if f.Rule.Severity == verify.Note && c.verbose == 0 {
			continue
		}
		if f.Document != document || b.Len() == 0 {
			document, shown = f.Document, map[*verify.Rule]int{}
			fmt.Fprintf(&b, "%s\n", cmp.Or(f.File, f.Document))
		}
		if shown[f.Rule]++; shown[f.Rule] > mostLines && c.verbose == 0 {
			hidden++
			continue
		}
		b.WriteString(findingText(&f))
	}
	for _, n := range r.More {
		hidden += n
	}
	if c.quiet && b.Len() == 0 {
		return ""
	}
	if hidden > 0 {
		fmt.Fprintf(&b, "… and %s more of the same rules\n", plural(hidden, "finding"))
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	if !c.quiet {
		b.WriteString(auditSummary(r))
	}
	b.WriteString(verdict(r, strict, c.verbose > 0))
	return b.String()
}

func findingText(f *verify.Finding) string {
	at := ""
	if f.Line > 0 {
		at = fmt.Sprintf("%d:%d", f.Line, f.Column)
	}
	text := fmt.Sprintf("  %-9s %-8s %s: %s\n", at, f.Rule.Severity, f.Rule.Name, f.Message)
	if f.Hint != "" {
		text += "                     " + f.Hint + "\n"
	}
	return text
}

// auditSummary says what was looked at.
func auditSummary(r *verify.Report) string {
	parts := []string{plural(r.Documents, "document") + " with " + entryCount(r.Entries)}
	if r.Packages > 0 {
		parts = append(parts, plural(r.Packages, "package")+" with "+plural(r.Bitstreams, "bitstream"))
	}
	if r.Resources > 0 {
		parts = append(parts, plural(r.Resources, "resource")+" compared")
	}
	if r.Linked > 0 {
		parts = append(parts, plural(r.Linked, "linked file"))
	}
	if r.Unread > 0 {
		parts = append(parts, plural(r.Unread, "resource")+" not compared, since it is not known where they lie (--resources)")
	}
	return fmt.Sprintf("%s: %s (%s)\n", r.Place, strings.Join(parts, ", "), humanize.Bytes(uint64(r.Bytes)))
}

func entryCount(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return humanize.Comma(int64(n)) + " entries"
}

func verdict(r *verify.Report, strict, notesShown bool) string {
	var text string
	switch {
	case r.Errors == 0 && r.Warnings == 0:
		text = "No errors and no warnings"
	default:
		text = plural(r.Errors, "error") + ", " + plural(r.Warnings, "warning")
		if strict && r.Errors == 0 {
			text += " (which count, with --strict)"
		}
	}
	if r.Notes > 0 && !notesShown {
		text += "; " + plural(r.Notes, "note") + " (-v shows them)"
	} else if r.Notes > 0 {
		text += ", " + plural(r.Notes, "note")
	}
	if r.Errors+r.Warnings > 0 {
		return text + ". See wellspring verify --explain RULE.\n"
	}
	return text + ".\n"
}

// auditLine says how far an audit has come.
func auditLine(s verify.Progress) string {
	line := plural(s.Documents, "document")
	if s.Packages > 0 {
		line += ", " + plural(s.Packages, "package")
	}
	if s.Resources > 0 {
		line += ", " + plural(s.Resources, "resource")
	}
	return line + ", " + humanize.Bytes(uint64(s.TotalBytes)) + " read"
}
