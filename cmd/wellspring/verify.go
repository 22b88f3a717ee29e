package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/wellspring-sync/wellspring/internal/httpclient"
	"github.com/wellspring-sync/wellspring/verify"
)

// verifyFlags say what is audited, how far, and where findings go.
type verifyFlags struct {
	verify.Options    // as far as flags say them as they are
	resources, header []string
	strict            bool
	sarif, junit      string
	explain           string
}

func (c *cli) verifyCommand() *cobra.Command {
	f := &verifyFlags{}
	cmd := &cobra.Command{
		Use:   "verify [DIR|URL]",
		Short: "Audit a publication: would a Destination get the right bytes?",
		Long: `Verify reads a publication, whoever made it, and compares it with the standard:
all documents that can be reached from the Source Description, the packages of
dumps, and the resources themselves. DIR is the directory of a publication (by
default what the settings say, or the current one) or one of its documents. URL is
that of a Source, of any of its documents, or of a page that links to it.

Each finding names a rule. Errors are of what the standard says that must be, or of
what keeps a Destination or the audit itself from going on; warnings of what
should be; notes (shown with -v) of what is recommended. --explain RULE says more
about a rule, and docs/rules.md lists all.

With --json, the result is an object with what was looked at (documents, entries,
packages, bitstreams, resources, resources_not_compared, bytes), errors, warnings,
notes (how many), findings, each with rule, severity, section, document, file,
line, column, message, value and hint, and more (how many findings of a rule were
left out, by its name).

` + exitCodes,
		Example: `  wellspring verify public
  wellspring verify public --resources https://example.com/=site
  wellspring verify https://example.com/ --sample 100
  wellspring verify http://localhost:8080/ --resources https://example.com/=http://localhost:8080/
  wellspring verify public --against https://example.com/ --strict
  wellspring verify --explain interval-join`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.verify(cmd, f, args) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	valueOf(&f.Depth, parseDepth).add(flags, "depth", "content", "how far to go: `documents`, packages (ZIP files, too) or content (resources, too)")
	flags.StringArrayVar(&f.resources, "resources", nil, "`PREFIX=DIR`: where the resources lie whose URIs begin with PREFIX; may be repeated (default: in the publication's own directory). On a server, PREFIX=URL: where it serves by now what will have URIs that begin with PREFIX")
	flags.IntVar(&f.Sample, "sample", 0, "on a server, read `n` of the resources and compare their bytes; the others are only asked for their length")
	flags.BoolVar(&f.All, "all", false, "on a server, read all resources and compare their bytes")
	flags.StringVar(&f.Against, "against", "", "an older copy of the publication, `DIR or URL`: what was closed must be the same, and no change may be lost")
	flags.BoolVar(&f.strict, "strict", false, "let warnings count as errors do")
	flags.StringVar(&f.sarif, "sarif", "", "`file` to which findings go as SARIF 2.1, for code hosts")
	flags.StringVar(&f.junit, "junit", "", "`file` to which findings go as JUnit XML, for CI servers")
	flags.StringVar(&f.explain, "explain", "", "explain a `rule`, and do nothing else")
	addHeaderFlag(flags, &f.header)
	flags.IntVar(&f.Jobs, "jobs", 0, "how many documents, packages and files to read at once: `n` (default: one for each processor)")
	return cmd
}

func (c *cli) verify(cmd *cobra.Command, f *verifyFlags, args []string) error {
	if cmd.Flags().Changed("explain") {
		return c.explainRule(cmd, f.explain)
	}
	l, err := c.load(cmd, args)
	if err != nil {
		return err
	}
	place := l.publicationDir(args)
	o, err := f.options(cmd.Flags(), place)
	if err != nil {
		return usage(cmd, err)
	}
	if len(o.Resources) == 0 && !httpclient.IsURL(place) && place == l.publicationDir(nil) {
		o.Resources = l.resources()
	}
	o.Log = c.log()
	p := c.newProgress()
	if p != nil {
		o.Progress = func(s verify.Progress) { p.showLine(auditLine(s)) }
	}
	report, err := verify.Check(cmd.Context(), place, o)
	p.clear()
	if err != nil {
		hint := "Nothing can be said about the publication."
		if errors.Is(err, context.Canceled) {
			hint = ""
		}
		return &failure{err: err, code: exitFailed, hint: hint}
	}
	c.annotateFindings(report)
	c.summarize(auditMarkdown(report, f.strict))
	if err := c.printAudit(report, f.strict); err != nil {
		return err
	}
	if err := f.writeFiles(report); err != nil {
		return untold(err)
	}
	if report.Errors > 0 || f.strict && report.Warnings > 0 {
		return errFound
	}
	return nil
}

func parseDepth(text string) (verify.Depth, error) {
	depths := map[string]verify.Depth{"documents": verify.Documents, "packages": verify.Packages, "content": verify.Content}
	if depth, ok := depths[text]; ok {
		return depth, nil
	}
	return 0, fmt.Errorf("%q is none of documents, packages and content", text)
}

// options checks the flags.
func (f *verifyFlags) options(flags *pflag.FlagSet, place string) (verify.Options, error) {
	o := f.Options
	o.Release = strings.TrimPrefix(release(), "wellspring ")
	err := checkValues(flags)
	switch {
	case err != nil:
		return o, err
	case f.Sample < 0:
		return o, fmt.Errorf("--sample: %d is less than 0", f.Sample)
	case f.Jobs < 0:
		return o, fmt.Errorf("--jobs: %d is less than 0", f.Jobs)
	case !httpclient.IsURL(place) && (f.Sample > 0 || f.All):
		return o, errors.New("--sample and --all are for a publication on a server: in a directory, all resources are compared")
	}
	for _, s := range f.resources {
		prefix, dir, ok := strings.Cut(s, "=")
		if !ok || !httpclient.IsURL(prefix) || dir == "" {
			return o, fmt.Errorf("--resources: %q is not of the form PREFIX=DIR, such as https://example.com/=site", s)
		}
		if httpclient.IsURL(place) != httpclient.IsURL(dir) {
			return o, fmt.Errorf("--resources: %q has to have a URL behind the = where a server is audited, and a directory where a directory is", s)
		}
		o.Resources = append(o.Resources, verify.Mapping{Prefix: prefix, Dir: dir})
	}
	if o.Header, err = parseHeader(f.header); err != nil {
		return o, err
	}
	for _, where := range []string{place, f.Against} {
		if where == "" || httpclient.IsURL(where) {
			continue
		}
		if _, err := os.Stat(where); err != nil {
			return o, fmt.Errorf("the publication: %s: %w", where, reason(err))
		}
	}
	return o, nil
}

// writeFiles writes the findings in the forms that other programs want.
func (f *verifyFlags) writeFiles(r *verify.Report) error {
	return errors.Join(
		writeFile(f.sarif, func(w io.Writer) error { return r.WriteSARIF(w, strings.TrimPrefix(release(), "wellspring ")) }),
		writeFile(f.junit, func(w io.Writer) error { return r.WriteJUnit(w) }),
	)
}

func writeFile(name string, write func(io.Writer) error) error {
	if name == "" {
		return nil
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// explainRule prints what a rule is about.
func (c *cli) explainRule(cmd *cobra.Command, name string) error {
	r := verify.FindRule(name)
	if r == nil {
		similar := ""
		if names := verify.SimilarRules(name); len(names) > 0 {
			similar = "; there are " + strings.Join(names, ", ")
		}
		return usageErrorf(cmd, "--explain: there is no rule %q%s (docs/rules.md lists all)", name, similar)
	}
	if c.json {
		return c.writeJSON(map[string]string{
			"rule": r.Name, "severity": r.Severity.String(), "section": r.Section, "title": r.Title, "explanation": r.Explanation,
		})
	}
	return c.print("%s (%s, %s)\n%s\n\n%s\n", r.Name, r.Severity, r.Section, sentence(r.Title), wrap(r.Explanation, 78))
}

// sentence makes a title begin with a capital letter and end with a full stop.
func sentence(s string) string {
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

// wrap breaks a paragraph into lines.
func wrap(s string, width int) string {
	var b strings.Builder
	column := 0
	for word := range strings.FieldsSeq(s) {
		switch {
		case column == 0:
		case column+1+len(word) > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}
