//go:build !unix

package prepare

import "os"

// syncDir does nothing: directories cannot be synced here.
func syncDir(*os.Root, string) error { return nil }
