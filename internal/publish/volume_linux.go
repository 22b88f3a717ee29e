package publish

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// volumeOf returns where a directory is. A mount counts, too: files cannot be
// moved from one to another, even if both show the same file system.
func volumeOf(root *os.Root, dir string) volume {
	var st unix.Statx_t
	native := filepath.Join(root.Name(), filepath.FromSlash(dir))
	if err := unix.Statx(unix.AT_FDCWD, native, 0, unix.STATX_MNT_ID, &st); err != nil {
		return volume{} // older systems cannot say
	}
	return volume{device: uint64(st.Dev_major)<<32 | uint64(st.Dev_minor), mount: st.Mnt_id}
}
