package watch

import "syscall"

// isRemote reports whether a directory is on a file system that others can change
// without an event here. The numbers are from statfs(2).
func isRemote(dir string) bool {
	var st syscall.Statfs_t
	if syscall.Statfs(dir, &st) != nil {
		return false
	}
	switch uint32(st.Type) {
	case 0x6969, // NFS
		0x517b, 0xff534d42, 0xfe534d42, // SMB
		0x01021997,             // 9P, as in WSL
		0x5346414f, 0x6b414653, // AFS
		0x00c36400: // Ceph
		return true
	}
	return false
}
