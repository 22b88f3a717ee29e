// Package survey finds out what there is now: it lists a source, compares each file with
// what was published of it, reads what may have changed, and yields a finding for each
// resource, in the order of URIs. It decides nothing of documents, and writes nothing but
// the stat cache.
package survey

import (
	"context"
	"fmt"
	"os"

	"github.com/wellspring-sync/wellspring/hashing"
	"github.com/wellspring-sync/wellspring/scanner"
)

// Source is a directory, open to be listed and to be read.
type Source struct {
	Dir    string
	Tree   scanner.Tree
	Opener hashing.Opener
	close  func()
}

// Synthetic is a source that is not on disk: benchmarks have more than anybody wants to
// wait for.
type Synthetic interface {
	scanner.Tree
	hashing.Opener
}

// OpenSource opens a directory or, if it is not nil, what stands for it.
func OpenSource(dir string, synthetic Synthetic) (*Source, error) {
	if synthetic != nil {
		return &Source{Dir: dir, Tree: synthetic, Opener: synthetic, close: func() {}}, nil
	}
	s := &Source{Dir: dir}
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("opening the source: %w", err)
	}
	return s, nil
}

func (s *Source) open() error {
	info, err := os.Stat(s.Dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", s.Dir)
	}
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return err
	}
	if s.Tree, err = scanner.NewTree(root); err != nil {
		root.Close()
		return err
	}
	var closeOpener func() error
	if s.Opener, closeOpener, err = hashing.NewOpener(root); err != nil {
		root.Close()
		return err
	}
	s.close = func() { closeOpener(); root.Close() }
	return nil
}

// Close closes the directory.
func (s *Source) Close() { s.close() }

// count counts the files of the source, for the progress line. It returns zero if it cannot be
// listed.
func (s *Source) count(ctx context.Context, o scanner.Options) (n int64) {
	o.NamesOnly, o.LeftOut = true, nil
	for _, err := range scanner.Scan(ctx, s.Tree, o) {
		if err != nil {
			return 0
		}
		n++
	}
	return n
}

// Bytes returns how many bytes the files of the source hold.
func (s *Source) Bytes(ctx context.Context, o scanner.Options) (size int64, err error) {
	for f, err := range scanner.Scan(ctx, s.Tree, o) {
		if err != nil {
			return 0, err
		}
		size += f.Size
	}
	return size, nil
}
