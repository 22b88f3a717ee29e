package verify

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
)

// countFiles returns how many files the directory of a ZIP file announces, without
// reading the directory. See APPNOTE 4.3.14 to 4.3.16.
func countFiles(r io.ReaderAt, size int64) (uint64, error) {
	const end, locator, end64 = 22, 20, 56
	tail := make([]byte, min(size, 64<<10+end+locator))
	if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil && err != io.EOF {
		return 0, err
	}
	at := bytes.LastIndex(tail, []byte("PK\x05\x06"))
	if at < 0 || at+end > len(tail) {
		return 0, errors.New("no directory")
	}
	n := uint64(binary.LittleEndian.Uint16(tail[at+10:]))
	if at < locator || !bytes.HasPrefix(tail[at-locator:], []byte("PK\x06\x07")) {
		return n, nil
	}
	record := make([]byte, end64)
	offset := binary.LittleEndian.Uint64(tail[at-locator+8:])
	if offset > uint64(size) {
		return 0, errors.New("no directory")
	}
	if _, err := r.ReadAt(record, int64(offset)); err != nil {
		return 0, err
	}
	return max(n, binary.LittleEndian.Uint64(record[32:])), nil
}
