//go:build !linux && !darwin

package publish

import "os"

// checkWritable leaves it to the system to refuse.
func checkWritable(*os.Root, string) error { return nil }
