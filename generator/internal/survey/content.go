package survey

import (
	"slices"

	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/internal/stage"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/hashing"
	"github.com/wellspring-sync/wellspring/scanner"
	"github.com/wellspring-sync/wellspring/zipdump"
)

// Content takes the bytes of a file for packages, as they are read for the
// digest. Whether they are needed is often known only then.
type Content struct {
	*zipdump.Bitstream
	// needed is asked once the file has been read.
	needed  func(*hashing.Fingerprint) bool
	dropped bool
}

// Begin implements hashing.Copy.
func (c *Content) Begin(mediaType string, length int64) {
	c.Reset()
	c.Bitstream.Begin(mediaType, length)
}

// End implements hashing.Copy: it compresses what was read, if it is needed.
func (c *Content) End(fp *hashing.Fingerprint) error {
	if c.dropped = !c.needed(fp); c.dropped {
		return c.Close()
	}
	return c.Finish()
}

// Close frees the memory. It does nothing if c is nil.
func (c *Content) Close() error {
	if c == nil {
		return nil
	}
	return c.Bitstream.Close()
}

// workerMemory is how much is read ahead for each worker.
const workerMemory = 32 << 20

// contents decides which files packages need, and takes their bytes. It is nil, and nothing
// is needed, if there are no dumps.
type contents struct {
	packer    zipdump.Packer
	resources policy.ResourceRules
}

func newContents(sets []*last.Set, resources policy.ResourceRules, m *Memory) *contents {
	if m.Area == nil || !slices.ContainsFunc(sets, func(s *last.Set) bool { return s.Options.Dumps.Any() }) {
		return nil
	}
	return &contents{zipdump.Packer{Policy: m.Policy, MaxMemory: stage.ContentMemory, Spill: m.Area.Spill}, resources}
}

// mustPack reports whether a file has to be read, although it may be as it was, since
// no package of a set has it.
func (x *contents) mustPack(c *candidate) bool {
	return x != nil && c.Before != nil && slices.ContainsFunc(c.in, func(m Member) bool {
		if m.WasIn {
			return m.IsIn && m.Set.Options.Dumps.Resource && !m.IsPacked()
		}
		return m.mayNeedContent() && m.Set.Rules().HasType(x.resources.TypeOf(c.After.Path, c.Before.Metadata.Type))
	})
}

// IsPacked reports whether a package of the last Resource Dump has the resource as it was.
func (m *Member) IsPacked() bool {
	return m.WasIn && m.Before.Package != nil && m.Before.Package.Lost == nil
}

// areNeeded reports whether a file with digests that are known has to go into
// a package of any set.
func (x *contents) areNeeded(c *candidate, pack bool, known *cached) bool {
	return x != nil && (pack || slices.ContainsFunc(c.in, func(m Member) bool {
		return m.needsContent(known, x.resources.TypeOf(c.After.Path, known.typ))
	}))
}

func (m *Member) needsContent(known *cached, mediaType string) bool {
	dumps := &m.Set.Options.Dumps
	switch {
	case !m.IsIn || !m.Set.Rules().HasType(mediaType):
		return false
	case !m.WasIn:
		return dumps.Resource || dumps.Change && !m.Set.IsFirst()
	}
	changed, _ := compare(&m.Before.Metadata, known)
	return changed != "" && dumps.Any()
}

// new returns what takes the content of a file that is going to be read,
// or nil if no package can need it.
func (x *contents) new(c *candidate, pack bool) *Content {
	if x == nil || !slices.ContainsFunc(c.in, func(m Member) bool { return m.mayNeedContent() }) {
		return nil
	}
	return &Content{Bitstream: x.packer.New(), needed: func(fp *hashing.Fingerprint) bool {
		return x.areNeeded(c, pack, &cached{stat: scanner.Stat{Size: fp.Length}, hash: fp.Hash, typ: fp.Type})
	}}
}

func (m *Member) mayNeedContent() bool {
	return m.IsIn && (m.Set.Options.Dumps.Resource || m.Set.Options.Dumps.Change && !m.Set.IsFirst())
}
