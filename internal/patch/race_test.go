//go:build race

package patch

func init() { slow = true }
