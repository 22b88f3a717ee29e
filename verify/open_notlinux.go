//go:build !linux

package verify

import "os"

func newFileOpener(root *os.Root) fileOpener { return rootOpener{root} }
