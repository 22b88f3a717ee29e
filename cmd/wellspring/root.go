package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/publish"
	"github.com/wellspring-sync/wellspring/internal/remote"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
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

// Exit codes. The help and the README list them.
const (
	exitDone     = 0
	exitFailed   = 1
	exitUsage    = 2
	exitFound    = 3
	exitRefused  = 4
	exitConflict = 5
)

const exitCodes = `Exit codes:
  0  done, or nothing to do
  1  failed; nothing was committed, unless the message says so
  2  wrong usage
  3  verify found violations, or status --exit-code changes
  4  refused by a guard; the message names the flag that overrides it
  5  another run holds the lock, or changed the publication meanwhile
  130, 143  ended by a signal`

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

// usageError is for calls that are wrong in themselves.
type usageError struct {
	err     error
	command string // whose help to read
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usageErrorf(cmd *cobra.Command, format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...), cmd.CommandPath()}
}

// atMost allows so many arguments.
func atMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return usageErrorf(cmd, "%d arguments, where at most %d can be: %q is too many", len(args), n, args[n])
		}
		return nil
	}
}

func unknownCommand(root *cobra.Command, name string) error {
	root.SuggestionsMinimumDistance = 2
	if near := root.SuggestionsFor(name); len(near) > 0 {
		return usageErrorf(root, "unknown command %q (did you mean %s?)", name, near[0])
	}
	return usageErrorf(root, "unknown command %q", name)
}

// flagError says what is wrong with a flag. If the command is unknown, that is
// what is wrong.
func flagError(cmd *cobra.Command, err error) error {
	if name := cmd.Flags().Arg(0); !cmd.HasParent() && name != "" {
		return unknownCommand(cmd, name)
	}
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return &usageError{err, cmd.CommandPath()}
	}
	f := invalid.GetFlag()
	return usageErrorf(cmd, "--%s is %q, which is not %s", f.Name, invalid.GetValue(), kinds[f.Value.Type()])
}

// kinds says what the values of flags are, by their types.
var kinds = map[string]string{
	"bool":     "true or false",
	"int":      "a number",
	"duration": "a duration such as 30s, 10m or 24h",
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

// errFound is how status says that there are changes, and verify that there are
// violations. They say which themselves.
var errFound = errors.New("something was found")

// finish reports an error, once, and returns the exit code.
func (c *cli) finish(err error) int {
	if err == nil {
		return exitDone
	}
	if err == errFound {
		return exitFound
	}
	code, hint := explain(err)
	c.tell("wellspring: %v\n", err)
	if hint != "" {
		c.tell("  %s\n", hint)
	}
	c.annotate("error", "wellspring", c.spotOf(err.Error()), strings.TrimSuffix(err.Error()+"\n"+hint, "\n"))
	if c.json {
		failure := struct {
			Error    string      `json:"error"`
			Hint     string      `json:"hint,omitempty"`
			ExitCode int         `json:"exit_code"`
			Topics   []topicJSON `json:"topics,omitempty"` // of notify
		}{err.Error(), hint, code, topicsOf(err)}
		if err := c.writeJSON(failure); err != nil {
			c.tell("wellspring: %v\n", err)
		}
	}
	return code
}

// explain returns the exit code of an error, and what to do about it.
func explain(err error) (code int, hint string) {
	var (
		usage      *usageError
		refusal    *policy.Refusal
		incomplete *publish.IncompleteError
		damaged    *snapshot.DamagedError
		signal     signalError
		output     *outputError
		changes    *policy.LostChangesError
		reading    *readingError
		missing    *policy.MissingError
		server     *remote.Error
		audit      *auditError
		retained   *policy.RetainedError
		unplanned  *policy.PlanError
		apart      *apartError
		untold     *notifyError
	)
	switch {
	case errors.As(err, &incomplete):
		return exitFailed, "What is missing is kept in the .wellspring folder. Once the cause is mended, run the same command again: it completes the commit. To give up what was begun, remove that folder."
	case errors.As(err, &signal) && (errors.As(err, &audit) || errors.As(err, &apart)):
		return 128 + signalNumber(signal), ""
	case errors.As(err, &signal):
		return 128 + signalNumber(signal), "Nothing was published."
	case errors.As(err, &untold):
		return exitFailed, untold.hint
	case errors.As(err, &apart):
		return exitFailed, ""
	case errors.As(err, &retained):
		return exitFailed, "Do not remove anything there until the next build has written it."
	case errors.As(err, &unplanned):
		return exitFailed, "Once the cause is mended, run the same command again: it puts the plan in place. If another run has used the same file, make a new plan against what is live, with --previous."
	case errors.As(err, &usage):
		return exitUsage, "See " + usage.command + " --help."
	case errors.As(err, &output):
		return exitFailed, ""
	case errors.As(err, &reading):
		return exitFailed, reading.hint()
	case errors.As(err, &audit):
		return exitFailed, audit.hint()
	case errors.As(err, &refusal) && refusal.Flag != "":
		return exitRefused, fmt.Sprintf("Nothing was published. If this is as it should be, run it again with %s.", refusal.Flag)
	case errors.As(err, &refusal):
		return exitRefused, "Nothing was published."
	case errors.Is(err, publish.ErrLocked):
		return exitConflict, "Wait for it to end, or give --lock-timeout to wait here."
	case errors.Is(err, policy.ErrChanged):
		return exitConflict, "Nothing was published. Run it again to go on from what is there now."
	case errors.As(err, &missing):
		return exitFailed, "Nothing was published. If this is as it should be, begin a new history: with --previous, give --first-run; else do without --require-previous."
	case errors.As(err, &server):
		return exitFailed, "Nothing was published. See what the server says to that URL, and run it again."
	case errors.As(err, &changes):
		return exitFailed, "Nothing was published. Restore the file from a copy, or give --dumps resource to go on without a Change Dump, and begin a new one later."
	case errors.As(err, &damaged):
		return exitFailed, "Nothing was published. Finish the upload if it was interrupted, restore the publication from a copy, or begin a new one with --rebase."
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return exitFailed, "Nothing was published. Too many files are open: allow more (ulimit -n), or read fewer at a time with --jobs."
	case errors.Is(err, syscall.ENOSPC):
		return exitFailed, "Nothing was published. Make room there, or give another directory with --out."
	}
	return exitFailed, "Nothing was published."
}

func signalNumber(e signalError) int {
	if s, ok := e.signal.(syscall.Signal); ok {
		return int(s)
	}
	return int(syscall.SIGINT)
}

func (c *cli) writeJSON(v any) error {
	e := json.NewEncoder(c.escaped(c.stdout))
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return &outputError{err}
	}
	return nil
}

// outputError says that a result could not be told. What was done is done.
type outputError struct{ err error }

func (e *outputError) Error() string { return "writing the result: " + e.err.Error() }
func (e *outputError) Unwrap() error { return e.err }

// print writes a result for people.
func (c *cli) print(format string, args ...any) error {
	if _, err := io.WriteString(c.stdout, c.shown(fmt.Sprintf(format, args...))); err != nil {
		return &outputError{err}
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

// apartError is of a command that was not about to publish anything.
type apartError struct{ err error }

func (e *apartError) Error() string { return e.err.Error() }
func (e *apartError) Unwrap() error { return e.err }
