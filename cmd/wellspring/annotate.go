package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"github.com/wellspring-sync/wellspring/verify"
)

// GitHub Actions takes lines of the output for commands, some of which show a message
// with the run, at a place in a file. While it is listening, errors and warnings are
// given as such commands, too, and nothing else that is printed may be one: neither a
// line that begins with "::", nor "##[" anywhere in a line, the older form.

// mostAnnotations is how many of each kind GitHub shows for a step.
const mostAnnotations = 10

// annotator gives messages to GitHub Actions.
type annotator struct {
	on    bool
	given map[string]int
}

func newAnnotator() annotator {
	return annotator{os.Getenv("GITHUB_ACTIONS") == "true", map[string]int{}}
}

// spot is where in a file something was found. The zero value is nowhere.
type spot struct {
	file         string
	line, column int // from 1; 0 is unknown
}

// warn writes a warning.
func (c *cli) warn(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	c.tell("wellspring: warning: %s\n", text)
	c.annotate("warning", "wellspring", c.spotOf(text), text)
}

// annotate shows a message of a level, error or warning, with the run.
func (c *cli) annotate(level, title string, at spot, message string) {
	if !c.annotator.on || c.annotator.given[level] == mostAnnotations {
		return
	}
	c.annotator.given[level]++
	var b strings.Builder
	fmt.Fprintf(&b, "::%s title=%s", level, commandProperty(title))
	if at.file != "" {
		fmt.Fprintf(&b, ",file=%s", commandProperty(workspacePath(at.file)))
	}
	if at.file != "" && at.line > 0 {
		fmt.Fprintf(&b, ",line=%d", at.line)
	}
	if at.file != "" && at.column > 0 {
		fmt.Fprintf(&b, ",col=%d", at.column)
	}
	fmt.Fprintf(&b, "::%s\n", commandData(message))
	io.WriteString(c.stderr, b.String())
}

// annotateFindings shows the first errors and warnings of an audit.
func (c *cli) annotateFindings(r *verify.Report) {
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Rule.Severity == verify.Note {
			continue
		}
		at := spot{line: f.Line, column: f.Column}
		if f.File != "" && isDir(r.Place) {
			at.file = filepath.Join(r.Place, filepath.FromSlash(f.File))
		}
		message := f.Message
		if at.file == "" {
			message = cmp.Or(f.File, f.Document) + ": " + message
		}
		c.annotate(f.Rule.Severity.String(), f.Rule.Name, at, message)
	}
}

// isDir reports whether a directory was audited, and neither a server nor a document:
// then findings are in files that are relative to it.
func isDir(place string) bool {
	info, err := os.Stat(place)
	return err == nil && info.IsDir()
}

// spotOf finds the place in the file of settings that a message begins with.
func (c *cli) spotOf(message string) spot {
	rest, ok := strings.CutPrefix(message, c.settingsFile+":")
	if !ok || c.settingsFile == "" {
		return spot{}
	}
	at := spot{file: c.settingsFile}
	for _, n := range [...]*int{&at.line, &at.column} {
		number, more, _ := strings.Cut(rest, ":")
		value, err := strconv.Atoi(number)
		if err != nil {
			break
		}
		*n, rest = value, more
	}
	return at
}

// workspacePath returns the name of a file in the repository, as annotations have it.
func workspacePath(name string) string {
	workspace := os.Getenv("GITHUB_WORKSPACE")
	absolute, err := filepath.Abs(name)
	if err != nil || workspace == "" {
		return filepath.ToSlash(name)
	}
	relative, err := filepath.Rel(workspace, absolute)
	if err != nil || !filepath.IsLocal(relative) {
		return filepath.ToSlash(name)
	}
	return filepath.ToSlash(relative)
}

// commandData escapes a message in a command.
func commandData(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(printable(text))
}

// commandProperty escapes a value in a command.
func commandProperty(text string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(commandData(text))
}

// shown makes a text fit for people to see: control characters are escaped, and what
// GitHub Actions would take for a command is broken up.
func (c *cli) shown(text string) string {
	text = printable(text)
	if !c.annotator.on {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(strings.ReplaceAll(text, "##[", `#\x23[`)) {
		rest := strings.TrimLeftFunc(line, unicode.IsSpace)
		if strings.HasPrefix(rest, "::") {
			b.WriteString(line[:len(line)-len(rest)])
			line = `\x3a` + rest[1:]
		}
		b.WriteString(line)
	}
	return b.String()
}

// unarmed is a writer of JSON or of lines of the log, in which a string can have an
// escape, and no line begins with a name.
type unarmed struct{ w io.Writer }

func (u unarmed) Write(b []byte) (int, error) {
	if _, err := u.w.Write(bytes.ReplaceAll(b, []byte("##["), []byte(`#\u0023[`))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// escaped returns a writer for JSON or the log.
func (c *cli) escaped(w io.Writer) io.Writer {
	if c.annotator.on {
		return unarmed{w}
	}
	return w
}
