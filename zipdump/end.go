package zipdump

import (
	"bytes"
	"encoding/binary"
	"math"
)

// appendEnd appends what follows the directory of a package, manifest and its
// record included.
func appendEnd(b []byte, e End, comment string) []byte {
	le := binary.LittleEndian
	if e.Entries >= max16 || e.Size >= max32 || e.DirectorySize >= max32 {
		b = appendEnd64(b, e)
	}
	entries := uint16(min(e.Entries, max16))
	b = le.AppendUint32(b, endSignature)
	b = le.AppendUint32(b, 0) // disks
	b = le.AppendUint16(b, entries)
	b = le.AppendUint16(b, entries)
	b = le.AppendUint32(b, uint32(min(e.DirectorySize, max32)))
	b = le.AppendUint32(b, uint32(min(e.Size, max32)))
	b = le.AppendUint16(b, uint16(len(comment)))
	return append(b, comment...)
}

// appendEnd64 appends the end record of ZIP64, and that by which it is found.
func appendEnd64(b []byte, e End) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(b, end64Signature)
	b = le.AppendUint64(b, end64Size-12) // of what follows
	b = le.AppendUint16(b, madeBy)
	b = le.AppendUint16(b, version64)
	b = le.AppendUint64(b, 0) // disks
	b = le.AppendUint64(b, uint64(e.Entries))
	b = le.AppendUint64(b, uint64(e.Entries))
	b = le.AppendUint64(b, uint64(e.DirectorySize))
	b = le.AppendUint64(b, uint64(e.Size))
	b = le.AppendUint32(b, locatorSignature)
	b = le.AppendUint32(b, 0) // disk
	b = le.AppendUint64(b, uint64(e.Size+e.DirectorySize))
	return le.AppendUint32(b, 1) // disks
}

// parseEnd finds the end records at the end of b, and reports whether they are
// as we write them.
func parseEnd(b []byte) (e End, comment string, ok bool) {
	signature := binary.LittleEndian.AppendUint32(nil, endSignature)
	for at := len(b); ; {
		if at = bytes.LastIndex(b[:at], signature); at < 0 {
			return e, "", false
		}
		if e, comment, ok = parseEndAt(b, at); ok {
			return e, comment, true
		}
	}
}

func parseEndAt(b []byte, at int) (e End, comment string, ok bool) {
	le := binary.LittleEndian
	if len(b) < at+endSize || len(b) != at+endSize+int(le.Uint16(b[at+20:])) {
		return e, "", false
	}
	comment = string(b[at+endSize:])
	e = End{
		Entries:       int(le.Uint16(b[at+10:])),
		DirectorySize: int64(le.Uint32(b[at+12:])),
		Size:          int64(le.Uint32(b[at+16:])),
	}
	if from := at - locatorSize - end64Size; from >= 0 && le.Uint32(b[from:]) == end64Signature {
		e.parse64(b[from:])
	}
	ok = checkComment(comment) == nil && e.Size >= 0 && e.DirectorySize >= 0 &&
		bytes.HasSuffix(b, appendEnd(nil, e, comment))
	return e, comment, ok
}

// parse64 takes those numbers from the ZIP64 record that stand there only.
func (e *End) parse64(b []byte) {
	le := binary.LittleEndian
	if e.Entries == max16 {
		e.Entries = int(min(le.Uint64(b[32:]), math.MaxInt32))
	}
	if e.DirectorySize == max32 {
		e.DirectorySize = int64(le.Uint64(b[40:]))
	}
	if e.Size == max32 {
		e.Size = int64(le.Uint64(b[48:]))
	}
}
