package patch

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/klauspost/compress/zstd"
)

// magic begins a description: a frame that decoders skip, of 32 bytes, which are the
// SHA-256 of the bitstream before. See RFC 9842 §5.
const magic = "\x5e\x2a\x4d\x18\x20\x00\x00\x00"

const headerLength = len(magic) + sha256.Size

// makeDelta returns a description of any kind of bitstream, or nil if it is not small.
func makeDelta(before, now []byte) ([]byte, error) {
	if len(now) >= maxWindow(before) {
		return nil, nil
	}
	content, err := encode(before, now)
	if err != nil || !isSmall(content, now) {
		return nil, err
	}
	got, err := applyDelta(before, content)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(got, now) {
		return nil, errors.New("what was compressed is not what came out")
	}
	return content, nil
}

// maxWindow is below how many bytes a window has to be so that any decoder allows for it,
// with this dictionary. See RFC 9842 §5. What is compressed here is a window as a whole, in which
// all of the dictionary can be used.
func maxWindow(before []byte) int { return max(8<<20, len(before)+len(before)/4) }

func encode(before, now []byte) ([]byte, error) {
	// The encoder itself looks only so far back, beyond the beginning of now.
	reach := max(len(before)+len(now), zstd.MinWindowSize)
	e, err := zstd.NewWriter(nil,
		zstd.WithEncoderLevel(level(reach)),
		zstd.WithWindowSize(1<<bits.Len(uint(reach-1))),
		zstd.WithEncoderDictRaw(0, before),
		zstd.WithSingleSegment(true),
		zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true),
		zstd.WithEncoderCRC(true), // so that zstd itself sees that it was given the wrong dictionary
	)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	sum := sha256.Sum256(before)
	return e.EncodeAll(now, append([]byte(magic), sum[:]...)), nil
}

// level returns one whose tables have a place for each position, or 2. If they have
// not, most of the dictionary is forgotten before it is used: of random bytes of 8 MiB
// with one change, SpeedBetterCompression makes 2.7 MB, and SpeedBestCompression 900
// bytes. But its tables of 70 MB take 30 ms to fill, however short the bitstream.
func level(reach int) zstd.EncoderLevel {
	switch {
	case reach <= 32<<10:
		return zstd.SpeedFastest // 0.5 ms
	case reach <= 256<<10:
		return zstd.SpeedDefault // 2 ms
	case reach <= 4<<20:
		return zstd.SpeedBetterCompression // 10 ms
	}
	return zstd.SpeedBestCompression
}

// errMismatch says that a description is not one of how this bitstream changed, but of
// another one.
var errMismatch = errors.New("the description is of a change to another bitstream")

// applyDelta returns what a description of any kind of bitstream makes of it.
func applyDelta(before, description []byte) ([]byte, error) {
	if len(description) < headerLength || string(description[:len(magic)]) != magic {
		return nil, errors.New("it does not begin as a dictionary-compressed Zstandard stream")
	}
	if sum := sha256.Sum256(before); !bytes.Equal(description[len(magic):headerLength], sum[:]) {
		return nil, errMismatch
	}
	frame := description[headerLength:]
	if n, err := frameLength(frame); err != nil {
		return nil, err
	} else if n != len(frame) {
		return nil, fmt.Errorf("%d bytes follow the Zstandard frame", len(frame)-n)
	}
	d, err := zstd.NewReader(nil,
		zstd.WithDecoderDictRaw(0, before),
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(MaxLength), // of the window, too
	)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.DecodeAll(frame, nil)
}

// frameLength returns the length, in bytes, of the Zstandard frame that b begins with.
// The decoder would go on with whatever frames there are. See RFC 8878 §3.1.1.
func frameLength(b []byte) (int, error) {
	var h zstd.Header
	if err := h.Decode(b); err != nil {
		return 0, err
	}
	if h.Skippable {
		return 0, errors.New("no Zstandard frame follows the digest")
	}
	n := h.HeaderSize
	for last := false; !last; {
		if len(b)-n < 3 {
			return 0, errors.New("the Zstandard frame is cut off")
		}
		block := uint32(binary.LittleEndian.Uint16(b[n:])) | uint32(b[n+2])<<16
		last = block&1 == 1
		n += 3
		if kind, length := block>>1&3, int(block>>3); kind == 1 {
			n++ // one byte, repeated
		} else {
			n += length
		}
	}
	if h.HasCheckSum {
		n += 4
	}
	if n > len(b) {
		return 0, errors.New("the Zstandard frame is cut off")
	}
	return n, nil
}
