//go:build unix && !linux

package publish

import (
	"os"
	"path/filepath"
	"syscall"
)

// volumeOf returns where a directory is.
func volumeOf(root *os.Root, dir string) volume {
	var st syscall.Stat_t
	if err := syscall.Stat(filepath.Join(root.Name(), filepath.FromSlash(dir)), &st); err != nil {
		return volume{}
	}
	return volume{device: uint64(st.Dev)}
}
