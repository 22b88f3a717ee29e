package patch

import (
	"errors"
	"fmt"
)

// Apply returns what a description of a media type makes of a bitstream. The error wraps
// errMismatch if the description is not one of a change to it, and errors.ErrUnsupported
// if it is of a media type, or a JSON Patch with an operation, that Make does not write.
// What it takes of time and memory is bounded, whatever the description.
func Apply(mediaType string, before, description []byte) ([]byte, error) {
	if max(len(before), len(description)) > MaxLength {
		return nil, fmt.Errorf("applying a description: longer than %d bytes", MaxLength)
	}
	var now []byte
	var err error
	switch t := essence(mediaType); t {
	case jsonType:
		now, err = applyJSON(before, description)
	case zstdType:
		now, err = applyDelta(before, description)
	default:
		err = fmt.Errorf("the media type %q: %w", t, errors.ErrUnsupported)
	}
	if err != nil {
		return nil, fmt.Errorf("applying a description: %w", err)
	}
	return now, nil
}

func applyJSON(before, description []byte) ([]byte, error) {
	d, err := parseStyled(before)
	if err != nil {
		return nil, err
	}
	return d.apply(description)
}
