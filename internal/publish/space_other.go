//go:build !linux && !darwin

package publish

import (
	"errors"
	"os"
)

// Free is not known here.
func Free(*os.Root) (int64, error) { return 0, errors.ErrUnsupported }
