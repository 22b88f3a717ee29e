package hashing

import (
	"io/fs"
	"syscall"
	"time"
)

// changeTime is when the file's status last changed.
func changeTime(info fs.FileInfo) time.Time {
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(sys.Ctimespec.Unix())
	}
	return time.Time{}
}
