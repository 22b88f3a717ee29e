//go:build !linux

package watch

// isRemote cannot tell.
func isRemote(string) bool { return false }
