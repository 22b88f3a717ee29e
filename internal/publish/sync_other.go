//go:build !unix

package publish

import "os"

// syncDir does nothing: these systems have no way to make names durable.
func syncDir(*os.Root, string) error { return nil }
