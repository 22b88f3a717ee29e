//go:build unix

package verify

import "syscall"

// openFlags keep opening a pipe from waiting for somebody who writes.
const openFlags = syscall.O_NONBLOCK
