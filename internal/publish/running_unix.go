//go:build unix

package publish

import "syscall"

// isRunning reports whether there is a process with a number.
func isRunning(pid int) bool { return syscall.Kill(pid, 0) != syscall.ESRCH }
