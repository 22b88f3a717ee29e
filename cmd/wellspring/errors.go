package main

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/publish"
	"github.com/wellspring-sync/wellspring/internal/remote"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
)

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

// errFound is how status says that there are changes, and verify that there are
// violations. They say which themselves.
var errFound = errors.New("something was found")

// failure is an error whose exit code and hint are known where it happens. Nothing was
// kept from being published by it.
type failure struct {
	err    error
	code   int
	hint   string
	topics []topicJSON // of notify
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// apart is for commands that were not about to publish anything.
func apart(err error) error { return &failure{err: err, code: exitFailed} }

// untold says that a result could not be told. What was done is done.
func untold(err error) error { return apart(fmt.Errorf("writing the result: %w", err)) }

// usage is for calls that are wrong in themselves.
func usage(cmd *cobra.Command, err error) error {
	return &failure{err: err, code: exitUsage, hint: "See " + cmd.CommandPath() + " --help."}
}

func usageErrorf(cmd *cobra.Command, format string, args ...any) error {
	return usage(cmd, fmt.Errorf(format, args...))
}

func isUsage(err error) bool {
	f, ok := errors.AsType[*failure](err)
	return ok && f.code == exitUsage
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
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		f := invalid.GetFlag()
		return usageErrorf(cmd, "--%s is %q, which is not %s", f.Name, invalid.GetValue(), kinds[f.Value.Type()])
	}
	return usage(cmd, err)
}

// kinds says what the values of flags are, by their types.
var kinds = map[string]string{
	"bool":     "true or false",
	"int":      "a number",
	"duration": "a duration such as 30s, 10m or 24h",
}

// failureJSON is an error as programs get it.
type failureJSON struct {
	Error    string      `json:"error"`
	Hint     string      `json:"hint,omitempty"`
	ExitCode int         `json:"exit_code"`
	Topics   []topicJSON `json:"topics,omitempty"`
}

// explained is an error with all that is known of it.
func explained(err error) failureJSON {
	j := failureJSON{Error: err.Error()}
	j.ExitCode, j.Hint = explain(err)
	if f, ok := errors.AsType[*failure](err); ok {
		j.Topics = f.topics
	}
	return j
}

func (c *cli) tellFailure(j failureJSON) {
	c.tell("wellspring: %s\n", j.Error)
	if j.Hint != "" {
		c.tell("  %s\n", j.Hint)
	}
}

// finish reports an error, once, and returns the exit code.
func (c *cli) finish(err error) int {
	switch err {
	case nil:
		return exitDone
	case errFound:
		return exitFound
	}
	j := explained(err)
	c.tellFailure(j)
	c.annotate("error", "wellspring", c.spotOf(j.Error), strings.TrimSuffix(j.Error+"\n"+j.Hint, "\n"))
	if c.json {
		if err := c.writeJSON(j); err != nil {
			c.tell("wellspring: %v\n", err)
		}
	}
	return j.ExitCode
}

// explain returns the exit code of an error, and what to do about it.
func explain(err error) (code int, hint string) {
	f, known := errors.AsType[*failure](err)
	signal, stopped := errors.AsType[signalError](err)
	refusal, refused := errors.AsType[*policy.Refusal](err)
	switch {
	case is[*publish.IncompleteError](err):
		return exitFailed, "What is missing is kept in the .wellspring folder. Once the cause is mended, run the same command again: it completes the commit. To give up what was begun, remove that folder."
	case stopped && known:
		return 128 + signalNumber(signal), ""
	case stopped:
		return 128 + signalNumber(signal), nothing
	case known:
		return f.code, f.hint
	case refused && refusal.Flag != "":
		return exitRefused, fmt.Sprintf(nothing+" If this is as it should be, run it again with %s.", refusal.Flag)
	}
	for _, e := range explanations {
		if e.is(err) {
			return e.code, e.hint
		}
	}
	return exitFailed, nothing
}

const nothing = "Nothing was published."

// explanations are of what other packages return. The first one that holds counts.
var explanations = []struct {
	is   func(error) bool
	code int
	hint string
}{
	{is[*policy.RetainedError], exitFailed, "Do not remove anything there until the next build has written it."},
	{is[*policy.PlanError], exitFailed, "Once the cause is mended, run the same command again: it puts the plan in place. If another run has used the same file, make a new plan against what is live, with --previous."},
	{is[*policy.Refusal], exitRefused, nothing},
	{isOneOf(publish.ErrLocked), exitConflict, "Wait for it to end, or give --lock-timeout to wait here."},
	{isOneOf(policy.ErrChanged), exitConflict, nothing + " Run it again to go on from what is there now."},
	{is[*policy.MissingError], exitFailed, nothing + " If this is as it should be, begin a new history: with --previous, give --first-run; else do without --require-previous."},
	{is[*remote.Error], exitFailed, nothing + " See what the server says to that URL, and run it again."},
	{is[*policy.LostChangesError], exitFailed, nothing + " Restore the file from a copy, or give --dumps resource to go on without a Change Dump, and begin a new one later."},
	{is[*snapshot.DamagedError], exitFailed, nothing + " Finish the upload if it was interrupted, restore the publication from a copy, or begin a new one with --rebase."},
	{isOneOf(syscall.EMFILE, syscall.ENFILE), exitFailed, nothing + " Too many files are open: allow more (ulimit -n), or read fewer at a time with --jobs."},
	{isOneOf(syscall.ENOSPC), exitFailed, nothing + " Make room there, or give another directory with --out."},
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func isOneOf(targets ...error) func(error) bool {
	return func(err error) bool {
		for _, target := range targets {
			if errors.Is(err, target) {
				return true
			}
		}
		return false
	}
}

func signalNumber(e signalError) int {
	if s, ok := e.signal.(syscall.Signal); ok {
		return int(s)
	}
	return int(syscall.SIGINT)
}
