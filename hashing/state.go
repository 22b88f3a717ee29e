package hashing

import (
	"io/fs"
	"os"
)

// sameState reports whether a file is still as it was.
func sameState(a, b fs.FileInfo) bool {
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) &&
		os.SameFile(a, b) && changeTime(a).Equal(changeTime(b))
}
