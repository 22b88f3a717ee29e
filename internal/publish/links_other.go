//go:build !unix

package publish

import "io/fs"

// hasOtherNames takes it that a file has just one name.
func hasOtherNames(fs.FileInfo) bool { return false }
