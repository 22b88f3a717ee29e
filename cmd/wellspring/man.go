package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func (c *cli) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man",
		Short: "Print the manual page",
		Long: `Man prints the manual page of the program and all of its commands, in the form
that man reads.`,
		Example: `  wellspring man | man -l -
  wellspring man > /usr/local/share/man/man1/wellspring.1`,
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.print("%s", manual(cmd.Root())) },
	}
}

// manual returns the manual page: what the help of each command says.
func manual(root *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH WELLSPRING 1 \"\" %q \"User Commands\"\n", release())
	fmt.Fprintf(&b, ".SH NAME\nwellspring \\- %s\n", roff(strings.ToLower(root.Short[:1])+root.Short[1:]))
	b.WriteString(".SH SYNOPSIS\n.B wellspring\n.I command\n[options]\n")
	fmt.Fprintf(&b, ".SH DESCRIPTION\n%s", literal(strings.TrimSuffix(root.Long, "\n\n"+exitCodes)))
	b.WriteString(".SH OPTIONS\nThese hold for all commands.\n")
	options(&b, root.PersistentFlags())
	b.WriteString(".SH COMMANDS\n")
	for _, cmd := range root.Commands() {
		if cmd.Name() == "help" || !cmd.IsAvailableCommand() {
			continue
		}
		fmt.Fprintf(&b, ".SS wellspring %s\n", roff(cmd.Use))
		text := cmd.Long
		if text == "" {
			text = cmd.Short + "."
		}
		b.WriteString(literal(strings.TrimSuffix(text, "\n\n"+exitCodes)))
		options(&b, cmd.LocalNonPersistentFlags())
		if cmd.Example != "" {
			fmt.Fprintf(&b, ".PP\nExamples:\n%s", literal(cmd.Example))
		}
	}
	_, codes, _ := strings.Cut(exitCodes, "\n")
	fmt.Fprintf(&b, ".SH EXIT STATUS\n%s", literal(codes))
	b.WriteString(".SH FILES\n.TP\n.I wellspring.toml\nsettings, in the working directory; wellspring init writes one\n")
	return b.String()
}

// options lists flags with what they are for.
func options(b *strings.Builder, flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		fmt.Fprintf(b, ".TP\n.B %s", roff(name))
		if value != "" {
			fmt.Fprintf(b, " \\fI%s\\fR", roff(value))
		}
		fmt.Fprintf(b, "\n%s\n", roff(usage))
	})
}

// literal sets a text as it is, line by line.
func literal(text string) string {
	return ".nf\n" + roff(strings.Trim(text, "\n")) + "\n.fi\n"
}

// roff escapes what would be taken for a command or a typographic dash or quote.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "…", "...").Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

func (c *cli) completionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print a script that completes commands and flags",
		Long: `Completion prints a script for a shell, which then completes commands and flags
when the tab key is pressed.`,
		Example: `  source <(wellspring completion bash)
  wellspring completion fish > ~/.config/fish/completions/wellspring.fish`,
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageErrorf(cmd, "name one shell: bash, zsh, fish or powershell")
			}
			root := cmd.Root()
			write := map[string]func(io.Writer) error{
				"bash":       func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
				"zsh":        root.GenZshCompletion,
				"fish":       func(w io.Writer) error { return root.GenFishCompletion(w, true) },
				"powershell": root.GenPowerShellCompletionWithDesc,
			}[args[0]]
			if write == nil {
				return usageErrorf(cmd, "%q is none of bash, zsh, fish and powershell", args[0])
			}
			var b strings.Builder
			if err := write(&b); err != nil {
				return err
			}
			return c.print("%s", b.String())
		},
	}
}
