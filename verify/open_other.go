//go:build !unix

package verify

const openFlags = 0
