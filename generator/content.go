package generator

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/wellspring-sync/wellspring/hashing"
	"github.com/wellspring-sync/wellspring/zipdump"
)

// content takes the bytes of a file for packages, as they are read for the
// digest. Whether they are needed is often known only then.
type content struct {
	*zipdump.Bitstream
	// needed is asked once the file has been read.
	needed  func(*hashing.Fingerprint) bool
	dropped bool
}

// Begin implements hashing.Copy.
func (c *content) Begin(mediaType string, length int64) {
	c.Reset()
	c.Bitstream.Begin(mediaType, length)
}

// End implements hashing.Copy: it compresses what was read, if it is needed.
func (c *content) End(fp *hashing.Fingerprint) error {
	if c.dropped = !c.needed(fp); c.dropped {
		return c.Close()
	}
	return c.Finish()
}

// close frees the memory. It does nothing if c is nil.
func (c *content) close() error {
	if c == nil {
		return nil
	}
	return c.Bitstream.Close()
}

const (
	// contentMemory is how much of one file is held in memory once it is
	// compressed; more goes through a temporary file.
	contentMemory = 16 << 20
	// workerMemory is how much is read ahead for each worker.
	workerMemory = 32 << 20
)

// contents makes contents. It is nil if there are no dumps.
type contents struct {
	packer zipdump.Packer
}

func (r *run) newContents() *contents {
	if !r.hasDumps() || r.o.DryRun {
		return nil
	}
	return &contents{zipdump.Packer{
		Policy: r.o.policy(), MaxMemory: contentMemory,
		Spill: r.staging.spill,
	}}
}

// hasDumps reports whether a set has any.
func (r *run) hasDumps() bool {
	return slices.ContainsFunc(r.sets, func(s *resourceSet) bool { return s.o.Dumps.Any() })
}

func (c *contents) new(needed func(*hashing.Fingerprint) bool) *content {
	return &content{Bitstream: c.packer.New(), needed: needed}
}

// spill is a staged file that nobody needs once it is closed.
type spill struct {
	*os.File
	discard func() error
}

func (s *staging) spill() (zipdump.Spill, error) {
	name := fmt.Sprintf("spill-%06d", s.spills.Add(1))
	f, err := s.tx.Create(name)
	if err != nil {
		return nil, err
	}
	return &spill{f, func() error { return s.tx.Discard(name) }}, nil
}

func (s *spill) Close() error { return errors.Join(s.File.Close(), s.discard()) }
