package generator

import (
	"context"
	"fmt"
	"os"

	"github.com/wellspring-sync/wellspring/hashing"
	"github.com/wellspring-sync/wellspring/internal/publish"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/scanner"
)

// open opens the source and the output directory.
func (r *run) open(ctx context.Context) (closeAll func(), err error) {
	closeSource, err := r.openSource()
	if err != nil {
		return nil, err
	}
	closeOut, err := r.openOut(ctx)
	if err != nil {
		closeSource()
		return nil, err
	}
	return func() { closeOut(); closeSource() }, nil
}

// openOut opens the output directory, and locks it unless nothing is going to be
// written.
func (r *run) openOut(ctx context.Context) (closeOut func(), err error) {
	if r.o.DryRun {
		if publish.Pending(r.o.Out) {
			return nil, fmt.Errorf("an interrupted run left a commit in %s that the next build has to complete first", r.o.Out)
		}
		if r.o.Previous.Place != "" {
			return r.openFar(ctx)
		}
		r.out = os.DirFS(r.o.Out)
		return func() {}, nil
	}
	r.tx, err = publish.Begin(ctx, r.o.Out, r.publishOptions())
	if err != nil {
		return nil, err
	}
	r.out = r.tx.Root().FS()
	r.report.Recovered = r.report.Recovered || r.tx.Recovered
	if r.tx.Unlocked {
		r.warn("the file system of %s has no locks: make sure that no other run writes there at the same time", r.o.Out)
	}
	closeTx := func() {
		if err := r.tx.Close(); err != nil {
			r.o.Log.Warn("cleaning up", "error", err)
		}
	}
	if !r.leavesBodies() {
		return closeTx, nil
	}
	closeFar, err := r.openBodies(ctx)
	if err != nil {
		closeTx()
		return nil, err
	}
	return func() { closeFar(); closeTx() }, nil
}

func (r *run) publishOptions() publish.Options {
	return publish.Options{LockTimeout: r.o.LockTimeout, Owns: r.owns, Log: r.o.Log}
}

// owns reports whether a journal that names other files as well may name a file.
func (r *run) owns(name string, named func(path string) bool) bool {
	return layout.IsOwnedBeside(name, named) || r.layout.IsForPeople(name)
}

// openSource opens the source, to be listed and to be read.
func (r *run) openSource() (closeAll func(), err error) {
	if s := r.o.synthetic; s != nil {
		r.tree, r.opener = s, s
		return func() {}, nil
	}
	root, err := openRoot(r.o.Source)
	if err != nil {
		return nil, err
	}
	if r.tree, err = scanner.NewTree(root); err != nil {
		root.Close()
		return nil, fmt.Errorf("opening the source: %w", err)
	}
	var closeOpener func() error
	if r.opener, closeOpener, err = hashing.NewOpener(root); err != nil {
		root.Close()
		return nil, fmt.Errorf("opening the source: %w", err)
	}
	return func() { closeOpener(); root.Close() }, nil
}

func openRoot(dir string) (*os.Root, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the source: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("opening the source: %s is not a directory", dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the source: %w", err)
	}
	return root, nil
}
