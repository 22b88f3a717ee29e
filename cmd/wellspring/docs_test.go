package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
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
