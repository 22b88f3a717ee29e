package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// version can be set by the linker; else the build information has it.
var version = ""

// release names the program, as the record of a publication does.
func release() string {
	v := version
	if info, ok := debug.ReadBuildInfo(); v == "" && ok {
		v = info.Main.Version
	}
	if v == "" {
		v = "(devel)"
	}
	return "wellspring " + v
}

// cli is what all commands share.
type cli struct {
	stdout, stderr io.Writer

	json    bool
	quiet   bool
	verbose int
	config  string

	settingsFile string // that was read, or empty
	annotator    annotator
}

func (c *cli) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "wellspring",
		Short: "Publish a directory as a ResourceSync Source",
		Long: `Wellspring publishes any directory as a ResourceSync Source (ANSI/NISO
Z39.99-2017): a tree of plain files that any web host can serve, and that
harvesters can copy, follow and audit.

In GitHub Actions (if GITHUB_ACTIONS is true), errors and warnings are also given as
workflow commands, which show them with the run and in the file they are about. build,
status and verify append a summary to the file that GITHUB_STEP_SUMMARY names.

` + exitCodes,
		Version:       release(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(c.helpCommand())
	flags := root.PersistentFlags()
	flags.BoolVar(&c.json, "json", false, "write the result as JSON")
	flags.BoolVarP(&c.quiet, "quiet", "q", false, "say nothing but warnings and errors")
	flags.VarPF((*counter)(&c.verbose), "verbose", "v", "say more: each change; twice, each file that is left out or written").NoOptDefVal = "true"
	flags.StringVar(&c.config, "config", "", "`file` of settings (default: wellspring.toml in the working directory, if it is there)")
	root.AddCommand(c.buildCommand(), c.statusCommand(), c.configCommand(), c.initCommand(), c.logCommand(), c.notifyCommand(), c.planCommand(), c.prepareCommand(), c.pruneCommand(), c.serveCommand(), c.verifyCommand(), c.watchCommand(), c.completionCommand(), c.manCommand(), c.versionCommand())
	return root
}

func (c *cli) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  atMost(0),
		RunE: func(*cobra.Command, []string) error {
			if c.json {
				return c.writeJSON(map[string]string{"release": release()})
			}
			return c.print("%s\n", release())
		},
	}
}

// counter is a flag that counts how often it is given.
type counter int

func (c *counter) String() string   { return strconv.Itoa(int(*c)) }
func (c *counter) Type() string     { return "bool" }
func (c *counter) IsBoolFlag() bool { return true }

func (c *counter) Set(value string) error {
	on, err := strconv.ParseBool(value)
	if *c++; !on {
		*c = 0
	}
	return err
}

func (c *cli) helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Explain a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil {
				return unknownCommand(cmd.Root(), args[0])
			}
			if len(rest) > 0 && found.HasParent() {
				return usageErrorf(cmd, "%q is no command of %s", rest[0], found.CommandPath())
			}
			if len(rest) > 0 {
				return unknownCommand(cmd.Root(), rest[0])
			}
			found.InitDefaultHelpFlag()
			found.InitDefaultVersionFlag()
			return found.Help()
		},
	}
}

func (c *cli) writeJSON(v any) error { return c.encode(v, "  ") }

// writeLine writes JSON on a line of its own, for whoever reads line by line.
func (c *cli) writeLine(v any) error { return c.encode(v, "") }

func (c *cli) encode(v any, indent string) error {
	e := json.NewEncoder(c.escaped(c.stdout))
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return untold(err)
	}
	return nil
}

// result writes a result for programs or for people, whoever asks.
func (c *cli) result(forPrograms any, forPeople func() string) error {
	switch {
	case c.json:
		return c.writeJSON(forPrograms)
	case c.quiet:
		return nil
	}
	return c.print("%s", forPeople())
}

// print writes a result for people. An error of that is remembered: whoever has more to
// print need not look.
func (c *cli) print(format string, args ...any) error {
	if _, err := io.WriteString(c.stdout, c.shown(fmt.Sprintf(format, args...))); err != nil {
		return untold(err)
	}
	return nil
}

// tell writes a message, about whose fate nothing more can be said.
func (c *cli) tell(format string, args ...any) {
	io.WriteString(c.stderr, c.shown(fmt.Sprintf(format, args...)))
}

// printable escapes control characters but line feeds, since names and
// documents of others must not steer a terminal.
func printable(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd"):
			fmt.Fprintf(&b, "\\x%02x", s[i])
		case r != '\n' && unicode.IsControl(r):
			fmt.Fprintf(&b, "\\x%02x", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// log returns the log of a run.
func (c *cli) log() *slog.Logger {
	level := slog.LevelWarn
	switch {
	case c.quiet:
	case c.verbose > 1:
		level = slog.LevelDebug
	case c.verbose == 1:
		level = slog.LevelInfo
	}
	return slog.New(slog.NewTextHandler(c.escaped(c.stderr), &slog.HandlerOptions{Level: level}))
}
