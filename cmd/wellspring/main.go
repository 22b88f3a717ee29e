// Command wellspring publishes a directory as a ResourceSync Source.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// Little is kept in memory and much passes through it, so that the collector can
// wait for longer than usual, up to a size that machines for builds have.
const (
	gcPercent   = 400
	memoryLimit = 160 << 20
)

func main() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(gcPercent)
		debug.SetMemoryLimit(memoryLimit)
	}
	// A reader of the output who goes away early is no reason to stop halfway:
	// the write fails, and is reported in the end.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := withSignals(context.Background())
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run does what the arguments say, and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	out := &output{w: stdout}
	c := &cli{stdout: out, stderr: stderr, annotator: newAnnotator()}
	root := c.rootCommand()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil && out.err != nil {
		err = untold(out.err)
	}
	return c.finish(err)
}

// output remembers the first error of a writer, for those who do not look.
type output struct {
	w   io.Writer
	err error
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.w.Write(b)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// signalError is the cause of a context that a signal ended.
type signalError struct{ signal os.Signal }

func (e signalError) Error() string { return "stopped by a signal (" + e.signal.String() + ")" }

// withSignals returns a context that the first SIGINT or SIGTERM ends. The
// second one ends the program at once.
func withSignals(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(signalError{s})
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}
