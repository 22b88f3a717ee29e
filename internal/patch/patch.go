// Package patch describes how a bitstream differs from the one that was there before it,
// so that a Destination that has that one need not fetch all of the new one
// (Z39.99-2017 §14.4). JSON is described by JSON Patch (RFC 6902), anything else by
// what compresses the new bitstream with the old one as the dictionary (RFC 9842). It
// works in memory, and knows nothing of files, URIs and links.
package patch

import (
	"bytes"
	"fmt"
	"strings"
)

// Patch is a description of how a bitstream differs from the one before it.
type Patch struct {
	// Type is its media type: application/json-patch+json or application/x-zstd-patch.
	Type string
	// Extension is what the name of a file with it ends in, such as ".zst".
	Extension string
	Content   []byte
}

// MaxLength is the length, in bytes, of the longest bitstream of which there are
// descriptions. Two of that length and what Make needs to compare them are 150 MB. Of
// longer ones, the tables of the encoder, which have 8 million places, would forget most
// before it is used: at twice the length, descriptions are twice to four times as long.
const MaxLength = 16 << 20

// minLength is the length, in bytes, of the shortest bitstream worth it. The link to a
// description takes 300 bytes in each list that has it, and to fetch it, a request with
// headers as long as that; so there is not much to gain on a bitstream that fits into
// one packet anyway.
const minLength = 1024

// fraction is how many times a description must fit into what it describes: a
// Destination also has to read its own copy again, and to check what came out.
const fraction = 3

const (
	jsonType = "application/json-patch+json"
	zstdType = "application/x-zstd-patch"

	jsonExtension = ".json-patch"
	zstdExtension = ".zst"
)

// The longest type and extension that a Patch has.
const (
	LongestType      = jsonType
	LongestExtension = jsonExtension
)

// Longest returns the length, in bytes, that no description is longer than of how a
// bitstream of one length became one of another. It is 0 if there is none.
func Longest(before, now int64) int64 {
	if now < minLength || max(before, now) > MaxLength {
		return 0
	}
	return now / fraction
}

// Make returns how now differs from before, or nil if no description is worth offering:
// only when it is smaller than a third of now, and applying it to before has been seen
// to give now, byte for byte. The media type is that of both. The same bitstreams give
// the same description. An error means that the encoder is at fault, and that there is
// no description. A call takes up to a second and, beside the bitstreams, 120 MB; Make
// can be called by several goroutines.
func Make(mediaType string, before, now []byte) (*Patch, error) {
	if len(now) < minLength || max(len(before), len(now)) > MaxLength || !isWorthTrying(before, now) {
		return nil, nil
	}
	if isJSON(mediaType) {
		if content := makeJSON(before, now); content != nil {
			return &Patch{Type: jsonType, Extension: jsonExtension, Content: content}, nil
		}
	}
	content, err := makeDelta(before, now)
	if err != nil {
		return nil, fmt.Errorf("describing a change: %w", err)
	}
	if content == nil {
		return nil, nil
	}
	return &Patch{Type: zstdType, Extension: zstdExtension, Content: content}, nil
}

// isSmall reports whether a description is small enough.
func isSmall(description, now []byte) bool { return len(description) < len(now)/fraction }

// essence returns a media type without parameters, in small letters.
func essence(mediaType string) string {
	t, _, _ := strings.Cut(mediaType, ";")
	return strings.ToLower(strings.TrimSpace(t))
}

func isJSON(mediaType string) bool {
	t := essence(mediaType)
	return t == "application/json" || strings.HasSuffix(t, "+json")
}

// makeJSON returns a JSON Patch, or nil.
func makeJSON(before, now []byte) []byte {
	old, err := parseStyled(before)
	if err != nil {
		return nil
	}
	description := old.diff(now)
	if description == nil || !isSmall(description, now) {
		return nil
	}
	if got, err := old.apply(description); err != nil || !bytes.Equal(got, now) {
		return nil
	}
	return description
}
