package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/wellspring-sync/wellspring/internal/links"
	"github.com/wellspring-sync/wellspring/internal/settings"
	"github.com/wellspring-sync/wellspring/verify"
)

var updateDocs = flag.Bool("update-docs", false, "rewrite docs/commands.md")

const commandsFile = "../../docs/commands.md"

// TestCommandsAreDocumented keeps the reference equal to what the program says.
func TestCommandsAreDocumented(t *testing.T) {
	t.Parallel()
	want := reference()
	if *updateDocs {
		if err := os.WriteFile(commandsFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(commandsFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/commands.md is not what the commands say: run go test ./cmd/wellspring -update-docs")
	}
}

const rulesFile = "../../docs/rules.md"

// TestRulesAreDocumented keeps the list of rules equal to what the program says.
func TestRulesAreDocumented(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("# Rules of verify\n\nMade from the program's own table, which `wellspring verify --explain RULE` reads.\n" +
		"Errors are of what a specification says that must be, or of what keeps a Destination or\n" +
		"the audit from going on; warnings of what should be; notes of what is recommended.\n\n| rule | severity | demanded |\n| --- | --- | --- |\n")
	for _, r := range verify.Rules() {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", r.Name, r.Name, r.Severity, r.Title)
	}
	for _, r := range verify.Rules() {
		fmt.Fprintf(&b, "\n## %s\n\n%s (%s, %s)\n\n%s\n", r.Name, sentence(r.Title), r.Severity, r.Section, wrap(markdown(r.Explanation), 80))
	}
	if *updateDocs {
		if err := os.WriteFile(rulesFile, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != b.String() {
		t.Error("docs/rules.md is not what the rules say: run go test ./cmd/wellspring -update-docs")
	}
}

const settingsFile = "../../docs/settings.md"

// TestSettingsAreDocumented keeps the reference of settings equal to what the program
// knows.
func TestSettingsAreDocumented(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("# Settings\n\nMade from the program's own tables.\n\n" + settingsIntroduction +
		"\n| setting | type | default | what it is for |\n| --- | --- | --- | --- |\n")
	types := map[settings.Kind]string{settings.Text: "string", settings.Bool: "true or false", settings.Number: "number", settings.List: "list of strings"}
	for _, s := range allSettings() {
		fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s |\n", s.name, types[s.kind], s.value, markdownCell(s.usage))
	}
	for _, f := range settings.Fields() {
		if f.Fields == nil {
			fmt.Fprintf(&b, "| `%s` | %s | | %s |\n", f.Name, f.Type, markdownCell(f.Doc))
		}
	}
	for _, f := range settings.Fields() {
		if f.Fields == nil {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| setting | type | what it is for |\n| --- | --- | --- |\n", f.Header(), wrap(f.Doc, 80))
		for _, field := range f.Fields {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", field.Name, field.Type, markdownCell(field.Doc))
		}
	}
	b.WriteString("\nIn templates, these stand for parts of the path of a resource: " + links.Variables + ".\n")
	if *updateDocs {
		if err := os.WriteFile(settingsFile, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(settingsFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != b.String() {
		t.Error("docs/settings.md is not what the settings are: run go test ./cmd/wellspring -update-docs")
	}
}

const settingsIntroduction = `` + "`wellspring.toml`" + ` in the working directory, or the file that ` + "`--config`" + ` names, says what
would otherwise be flags of ` + "`build`" + `, ` + "`status`" + ` and ` + "`prune`" + `, and more. A flag wins over a variable of the
environment (` + "`WELLSPRING_`" + ` and the setting in capitals, lists with an item on each line), and that
over the file. Paths in the file are relative to it. ` + "`wellspring init`" + ` writes a commented
file, ` + "`wellspring config`" + ` shows what all of it comes to, and where each value is from.
`

func markdownCell(s string) string { return strings.ReplaceAll(markdown(s), "|", "\\|") }

// TestTemplateIsValid sees that what init writes can be read, also with nothing
// commented out.
func TestTemplateIsValid(t *testing.T) {
	t.Parallel()
	text := settingsTemplate()
	if f, err := settings.Parse("x.toml", []byte(text), settingKeys()); err != nil || len(f.Values) > 0 {
		t.Errorf("%v, %v", err, f)
	}
	var lines []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "# ") {
			line = line[1:]
		}
		lines = append(lines, line)
	}
	_, err := settings.Parse("x.toml", []byte(strings.Join(lines, "")), settingKeys())
	if err == nil || !strings.Contains(err.Error(), "the resource rule: it has no match") {
		t.Errorf("the template has another mistake than that rules are empty: %v", err)
	}
}

// markdown keeps what looks like an element from being taken for one.
func markdown(s string) string { return strings.NewReplacer("<", "&lt;", "*", "\\*").Replace(s) }

// reference returns the help of all commands as Markdown.
func reference() string {
	var b strings.Builder
	b.WriteString("# Commands and flags\n\nMade from the program's own help.\n")
	root := (&cli{}).rootCommand()
	for _, cmd := range append([]*cobra.Command{root}, root.Commands()...) {
		if cmd.Name() == "help" {
			continue
		}
		cmd.InitDefaultHelpFlag()
		text := cmd.Long
		if text == "" {
			text = cmd.Short + "."
		}
		fmt.Fprintf(&b, "\n## %s\n\n```\n%s\n\n%s```\n", cmd.CommandPath(), text, cmd.UsageString())
	}
	return b.String()
}
