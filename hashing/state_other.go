//go:build !linux && !darwin

package hashing

import (
	"io/fs"
	"time"
)

// changeTime is not known here.
func changeTime(fs.FileInfo) time.Time { return time.Time{} }
