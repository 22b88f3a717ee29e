package layout

import (
	"crypto/sha256"
	"encoding/binary"
)

// cutBits is how many zero bits at the end of its URI's digest make a resource
// the last one of a part: one in 4,096 on average. With rareBits more, so few
// cuts remain that an Index can hold the parts of a billion resources.
const (
	cutBits  = 12
	rareBits = 3
)

// Cutter decides where a long list ends. Where it does depends on the URIs
// alone, as far as the limits allow, so that one more resource changes one part
// and not all that follow, and a list is cut alike whether it grew in one step
// or in a hundred.
type Cutter struct {
	// MaxEntries and MaxBytes must not be passed by any part. MaxBytes is
	// without what stands around the entries.
	MaxEntries int
	MaxBytes   int64
	// Bits is how many zero bits make a cut. 0 stands for 12, which is what
	// publications have; tests have smaller lists.
	Bits int

	entries int
	bytes   int64
}

// Before reports whether a cut has to be made before an entry of so many bytes,
// and counts the entry.
func (c *Cutter) Before(size int) bool {
	cut := c.entries > 0 && (c.entries == c.MaxEntries || c.bytes+int64(size) > c.MaxBytes)
	if cut {
		c.entries, c.bytes = 0, 0
	}
	c.entries++
	c.bytes += int64(size)
	return cut
}

// Point is what decides whether there is a cut behind an entry: the end of the digest
// of its URI. It is the same in all lists.
type Point uint64

// PointOf returns the point of a URI.
func PointOf(uri string) Point {
	digest := sha256.Sum256([]byte(uri))
	return Point(binary.BigEndian.Uint64(digest[24:]))
}

// After reports whether a cut has to be made behind an entry, and whether it is one
// of the rare cuts that remain where parts are joined.
func (c *Cutter) After(end Point) (rare, cut bool) {
	bits := c.Bits
	if bits == 0 {
		bits = cutBits
	}
	if cut = end&(1<<bits-1) == 0; cut {
		c.entries, c.bytes = 0, 0
	}
	return end&(1<<(bits+rareBits)-1) == 0, cut
}
