package patch

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// enough is how many strings it takes to tell. There may be less, even in a long bitstream
// if it repeats a few strings.
const enough = 64

// isWorthTrying reports whether a description of how now differs from before may be
// small: whether a quarter of the strings of 8 bytes in now are in before, too. It takes
// a few milliseconds for each MiB, while the encoder takes a second to find out that two
// long pictures have nothing in common.
func isWorthTrying(before, now []byte) bool {
	if bytes.Equal(before, now) {
		return false // there is nothing to describe
	}
	// One of every 64 will do if there are many, and it is left to the strings which,
	// so that it does not matter where in the bitstream they are.
	skip := 0
	if len(before)+len(now) > 256<<10 {
		skip = 6
	}
	// Of 16 bits for each string that is expected, one is set.
	seen := make([]uint64, 1<<bits.Len(uint(len(before)>>skip/4)))
	mask := uint64(len(seen) - 1)
	for h := range digests(before, skip) {
		seen[h>>6&mask] |= 1 << (h % 64)
	}
	shared, all := 0, 0
	for h := range digests(now, skip) {
		all++
		if seen[h>>6&mask]>>(h%64)&1 == 1 {
			shared++
		}
	}
	return all < enough || shared >= all/4
}

// digests goes through the digests of the strings of 8 bytes in a bitstream, leaving out
// those whose digest does not begin with so many zeros, and repetitions of one right
// behind it, which say nothing.
func digests(b []byte, zeros int) func(yield func(uint64) bool) {
	return func(yield func(uint64) bool) {
		last := uint64(0)
		for i := 0; i+8 <= len(b); i++ {
			h := binary.LittleEndian.Uint64(b[i:]) * 0x9E3779B97F4A7C15
			if h>>(64-zeros) != 0 || h == last {
				continue
			}
			if last = h; !yield(h >> 32) {
				return
			}
		}
	}
}
