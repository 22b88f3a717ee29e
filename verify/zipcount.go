package verify

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
)

var errNoDirectory = errors.New("there is no directory at its end")

// The sizes of the records at the end of a ZIP file, and what an entry of its
// directory takes. See APPNOTE 4.3.12 to 4.3.16.
const (
	zipEnd      = 22
	zipLocator  = 20
	zipEnd64    = 56
	usualEntry  = 100
	zipMaxTail  = 64<<10 + zipEnd + zipLocator
	zipEndMagic = "PK\x05\x06"
)

// countFiles returns how many files the directory of a ZIP file can have, without
// reading it: what it says itself may be wrong.
func countFiles(r io.ReaderAt, size int64) (uint64, error) {
	tail := make([]byte, min(size, zipMaxTail))
	if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil && err != io.EOF {
		return 0, err
	}
	at := findEnd(tail)
	if at < 0 {
		return 0, errNoDirectory
	}
	n := uint64(binary.LittleEndian.Uint16(tail[at+10:]))
	offset := uint64(binary.LittleEndian.Uint32(tail[at+16:]))
	if at >= zipLocator && bytes.HasPrefix(tail[at-zipLocator:], []byte("PK\x06\x07")) {
		record := make([]byte, zipEnd64)
		at64 := binary.LittleEndian.Uint64(tail[at-zipLocator+8:])
		if at64 > uint64(size) {
			return 0, errNoDirectory
		}
		if _, err := r.ReadAt(record, int64(at64)); err != nil {
			return 0, errNoDirectory
		}
		n = max(n, binary.LittleEndian.Uint64(record[32:]))
		offset = binary.LittleEndian.Uint64(record[48:])
	}
	if offset > uint64(size) {
		return 0, errNoDirectory
	}
	// What lies between the beginning of the directory and the end of the file.
	return max(n, (uint64(size)-offset)/usualEntry), nil
}

// findEnd returns where the record at the end begins, or -1.
func findEnd(tail []byte) int {
	for at := len(tail) - zipEnd; at >= 0; at-- {
		if string(tail[at:at+4]) == zipEndMagic && at+zipEnd+int(binary.LittleEndian.Uint16(tail[at+20:])) <= len(tail) {
			return at
		}
	}
	return -1
}
