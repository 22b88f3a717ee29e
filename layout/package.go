package layout

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"strings"
)

// PackageCutterVersion changes with the rule by which packages are cut.
const PackageCutterVersion = 1

// PackageCutter decides where a package of a Resource Dump ends: as with a
// [Cutter], by the URIs, and by the lengths of the bitstreams. An eighth of the
// largest size is the mean.
type PackageCutter struct {
	// MaxSize is the size that no package may pass, in bytes, unless it holds
	// one bitstream alone.
	MaxSize int64
	// MaxEntries and MaxManifest bound the number of bitstreams, and the size
	// of the manifest in bytes, without what stands around the entries.
	MaxEntries  int
	MaxManifest int64

	size     int64
	entries  int
	manifest int64
}

// Add counts a bitstream. It reports whether a cut has to be made before it, and
// whether one has to be made behind it.
func (c *PackageCutter) Add(uri string, length int64) (before, after bool) {
	w, m := Weight(uri, length), manifestBytes(uri)
	before = c.entries > 0 &&
		(c.entries == c.MaxEntries || c.size+w > c.MaxSize || c.manifest+m > c.MaxManifest)
	if before {
		c.size, c.entries, c.manifest = 0, 0, 0
	}
	c.size += w
	c.entries++
	c.manifest += m
	if after = c.isLast(uri, w); after {
		c.size, c.entries, c.manifest = 0, 0, 0
	}
	return before, after
}

// isLast reports whether the URI's digest, as a fraction, is below the weight
// divided by an eighth of the size.
func (c *PackageCutter) isLast(uri string, weight int64) bool {
	digest := sha256.Sum256([]byte(uri))
	scaled, _ := bits.Mul64(binary.BigEndian.Uint64(digest[:8]), uint64(c.MaxSize))
	return scaled < 8*uint64(weight)
}

// IsLarge reports whether a bitstream alone makes a package larger than the
// largest size.
func (c *PackageCutter) IsLarge(uri string, length int64) bool {
	return Weight(uri, length) > c.MaxSize
}

// Weight is how large a bitstream is in a package at most, in bytes: content
// that does not compress grows a little, and there are headers and the entry in
// the manifest. The URI stands for the name, and is not shorter than that.
func Weight(uri string, length int64) int64 {
	length = min(length, 1<<50) // more is no length of a file, and could overflow
	return length + length>>10 + 3*int64(len(uri)) + 300
}

// manifestBytes is how long the entry in a manifest is at most: the URI, the
// path, which may have to be escaped, and four digests.
func manifestBytes(uri string) int64 {
	escaped := strings.Count(uri, "&") + strings.Count(uri, "'")
	return int64(3*len(uri)+9*escaped) + 800
}
