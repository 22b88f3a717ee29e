package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/wellspring-sync/wellspring/generator"
	"github.com/wellspring-sync/wellspring/publish"
	"github.com/wellspring-sync/wellspring/snapshot"
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
  3  status --exit-code found changes
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

` + exitCodes,
		Version:       release(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageErrorf("unknown command %q", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	flags := root.PersistentFlags()
	flags.BoolVar(&c.json, "json", false, "write the result as JSON")
	flags.BoolVarP(&c.quiet, "quiet", "q", false, "say nothing but warnings and errors")
	flags.CountVarP(&c.verbose, "verbose", "v", "say more: each change; twice, each file that is left out or written")
	root.AddCommand(c.buildCommand(), c.statusCommand(), c.versionCommand())
	return root
}

func (c *cli) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if c.json {
				return c.writeJSON(map[string]string{"release": release()})
			}
			_, err := fmt.Fprintln(c.stdout, release())
			return err
		},
	}
}

// usageError is for calls that are wrong in themselves.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usageErrorf(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// usageArgs makes errors about the number of arguments usage errors.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return &usageError{err}
		}
		return nil
	}
}

// errFound is how status says that there are changes.
var errFound = errors.New("there are changes")

// finish reports an error, once, and returns the exit code.
func (c *cli) finish(err error) int {
	if err == nil {
		return exitDone
	}
	if err == errFound {
		return exitFound
	}
	code, hint := explain(err)
	fmt.Fprintf(c.stderr, "wellspring: %v\n", err)
	if hint != "" {
		fmt.Fprintf(c.stderr, "  %s\n", hint)
	}
	if c.json {
		failure := struct {
			Error    string `json:"error"`
			Hint     string `json:"hint,omitempty"`
			ExitCode int    `json:"exit_code"`
		}{err.Error(), hint, code}
		if err := c.writeJSON(failure); err != nil {
			fmt.Fprintf(c.stderr, "wellspring: %v\n", err)
		}
	}
	return code
}

// explain returns the exit code of an error, and what to do about it.
func explain(err error) (code int, hint string) {
	var (
		usage      *usageError
		refusal    *generator.Refusal
		incomplete *publish.IncompleteError
		damaged    *snapshot.DamagedError
		signal     signalError
	)
	switch {
	case errors.As(err, &incomplete):
		return exitFailed, "What is missing is kept in the .wellspring folder. Once the cause is mended, run the same command again: it completes the commit."
	case errors.As(err, &signal):
		return 128 + signalNumber(signal), "Nothing was published."
	case errors.As(err, &usage):
		return exitUsage, "See wellspring help."
	case errors.As(err, &refusal) && refusal.Flag != "":
		return exitRefused, fmt.Sprintf("Nothing was published. If this is as it should be, run it again with %s.", refusal.Flag)
	case errors.As(err, &refusal):
		return exitRefused, "Nothing was published."
	case errors.Is(err, publish.ErrLocked):
		return exitConflict, "Wait for it to end, or give --lock-timeout to wait here."
	case errors.Is(err, generator.ErrChanged):
		return exitConflict, "Nothing was published. Run it again to go on from what is there now."
	case errors.As(err, &damaged):
		return exitFailed, "Nothing was published. Restore the publication from a copy, or begin a new one with --rebase."
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
	e := json.NewEncoder(c.stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
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
	return slog.New(slog.NewTextHandler(c.stderr, &slog.HandlerOptions{Level: level}))
}
