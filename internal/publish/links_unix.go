//go:build unix

package publish

import (
	"io/fs"
	"syscall"
)

// hasOtherNames reports whether a file is to be found under other names as well.
func hasOtherNames(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink > 1
}
