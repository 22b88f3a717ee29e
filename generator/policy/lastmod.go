package policy

import "fmt"

// LastMod says which time is published as that of the last modification of a resource
// that is new or has changed. Others keep theirs.
type LastMod string

// The times that there are.
const (
	LastModFile LastMod = "mtime" // the file's own
	LastModGit  LastMod = "git"   // that of the last commit of the file, or else its own
	LastModRun  LastMod = "run"   // that of the publication
)

// ParseLastMod reads the name of one.
func ParseLastMod(s string) (LastMod, error) {
	switch l := LastMod(s); l {
	case LastModFile, LastModGit, LastModRun:
		return l, nil
	}
	return "", fmt.Errorf("%q is none of mtime, git and run", s)
}
