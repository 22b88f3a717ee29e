package hashing

import "io/fs"

// sameState reports whether a file, which stayed open, is still as it was.
func sameState(a, b fs.FileInfo) bool {
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && changeTime(a).Equal(changeTime(b))
}
