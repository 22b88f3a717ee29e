//go:build linux || darwin

package publish

import (
	"os"

	"golang.org/x/sys/unix"
)

// Free returns how many bytes can be written below a root.
func Free(root *os.Root) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(root.Name(), &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}
