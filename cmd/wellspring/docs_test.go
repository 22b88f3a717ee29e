package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"

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
