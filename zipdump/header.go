package zipdump

import (
	"encoding/binary"
	"math"
	"time"
)

// Signatures and sizes of the format's records, without names and extra fields.
const (
	localSignature   = 0x04034b50
	centralSignature = 0x02014b50
	endSignature     = 0x06054b50
	end64Signature   = 0x06064b50
	locatorSignature = 0x07064b50

	localSize   = 30
	centralSize = 46
	endSize     = 22
	end64Size   = 56
	locatorSize = 20

	zip64Tag  = 0x0001
	stampTag  = 0x5455 // extended timestamp
	stampSize = 9      // with tag and size
	stampBits = 1      // only the modification time
)

// What is the same for all entries.
const (
	version          = 20             // needed to extract: deflate
	version64        = 45             // needed to extract: ZIP64
	madeBy           = 3<<8 | 45      // Unix, and the version that we write by
	flags            = 1 << 11        // the name is UTF-8
	attributes       = 0o100644 << 16 // a regular file
	max16            = math.MaxUint16 // stands for a number in ZIP64 records
	max32      int64 = math.MaxUint32 // stands for a number in ZIP64 records or fields
	maxName          = math.MaxUint16 // in bytes
)

// entry is what the records of one entry say.
type entry struct {
	name       []byte
	method     int
	date, time uint16 // as MS-DOS has them
	stamp      int32  // seconds since 1970, if stamped
	stamped    bool
	crc        uint32
	compressed int64 // in bytes
	length     int64 // in bytes
	offset     int64 // of the local header
}

// setTime takes a modification time, to the second.
func (e *entry) setTime(t time.Time) {
	e.date, e.time = dosTime(t.UTC())
	s := t.Unix()
	e.stamped = s >= math.MinInt32 && s <= math.MaxInt32
	if e.stamped {
		e.stamp = int32(s)
	}
}

// dosTime returns the nearest time that MS-DOS knows, in steps of two seconds.
func dosTime(t time.Time) (date, clock uint16) {
	switch {
	case t.Year() < 1980:
		t = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)
	case t.Year() > 2107:
		t = time.Date(2107, 12, 31, 23, 59, 58, 0, time.UTC)
	}
	return uint16(t.Day() | int(t.Month())<<5 | (t.Year()-1980)<<9),
		uint16(t.Second()/2 | t.Minute()<<5 | t.Hour()<<11)
}

// large reports whether the sizes need ZIP64. Then both are written so, as the
// local header must have both.
func (e *entry) large() bool { return e.compressed >= max32 || e.length >= max32 }

// far reports whether the offset needs ZIP64.
func (e *entry) far() bool { return e.offset >= max32 }

// localLength returns the length of the local header in bytes.
func (e *entry) localLength() int64 {
	n := localSize + len(e.name)
	if e.large() {
		n += 4 + 16
	}
	if e.stamped {
		n += stampSize
	}
	return int64(n)
}

// appendLocal appends the local header. It does not depend on the offset.
func (e *entry) appendLocal(b []byte) []byte {
	le := binary.LittleEndian
	var extra [4 + 16 + stampSize]byte
	x := e.appendExtra(extra[:0], false)
	b = le.AppendUint32(b, localSignature)
	b = e.appendCommon(b, e.large(), len(x))
	b = append(b, e.name...)
	return append(b, x...)
}

// appendCentral appends the record for the directory.
func (e *entry) appendCentral(b []byte) []byte {
	le := binary.LittleEndian
	var extra [4 + 24 + stampSize]byte
	x := e.appendExtra(extra[:0], e.far())
	b = le.AppendUint32(b, centralSignature)
	b = le.AppendUint16(b, madeBy)
	b = e.appendCommon(b, e.large() || e.far(), len(x))
	b = le.AppendUint16(b, 0) // length of the comment
	b = le.AppendUint16(b, 0) // disk
	b = le.AppendUint16(b, 0) // internal attributes
	b = le.AppendUint32(b, attributes)
	b = le.AppendUint32(b, uint32(min(e.offset, max32)))
	b = append(b, e.name...)
	return append(b, x...)
}

// appendCommon appends the fields that both have.
func (e *entry) appendCommon(b []byte, zip64 bool, extra int) []byte {
	le := binary.LittleEndian
	need, compressed, length := uint16(version), e.compressed, e.length
	if zip64 {
		need = version64
	}
	if e.large() {
		compressed, length = max32, max32
	}
	b = le.AppendUint16(b, need)
	b = le.AppendUint16(b, flags)
	b = le.AppendUint16(b, uint16(e.method))
	b = le.AppendUint16(b, e.time)
	b = le.AppendUint16(b, e.date)
	b = le.AppendUint32(b, e.crc)
	b = le.AppendUint32(b, uint32(compressed))
	b = le.AppendUint32(b, uint32(length))
	b = le.AppendUint16(b, uint16(len(e.name)))
	return le.AppendUint16(b, uint16(extra))
}

func (e *entry) appendExtra(b []byte, far bool) []byte {
	le := binary.LittleEndian
	size := 0
	if e.large() {
		size += 16
	}
	if far {
		size += 8
	}
	if size > 0 {
		b = le.AppendUint16(b, zip64Tag)
		b = le.AppendUint16(b, uint16(size))
	}
	if e.large() {
		b = le.AppendUint64(b, uint64(e.length))
		b = le.AppendUint64(b, uint64(e.compressed))
	}
	if far {
		b = le.AppendUint64(b, uint64(e.offset))
	}
	if e.stamped {
		b = le.AppendUint16(b, stampTag)
		b = le.AppendUint16(b, stampSize-4)
		b = append(b, stampBits)
		b = le.AppendUint32(b, uint32(e.stamp))
	}
	return b
}

// parseCentral reads the first record of a directory and returns its length,
// or 0 if it cannot be one of ours. The name points into b.
func parseCentral(b []byte) (e entry, n int) {
	le := binary.LittleEndian
	if len(b) < centralSize {
		return e, 0
	}
	name, extra := int(le.Uint16(b[28:])), int(le.Uint16(b[30:]))
	if n = centralSize + name + extra; len(b) < n {
		return e, 0
	}
	e = entry{
		name:       b[centralSize : centralSize+name],
		method:     int(le.Uint16(b[10:])),
		time:       le.Uint16(b[12:]),
		date:       le.Uint16(b[14:]),
		crc:        le.Uint32(b[16:]),
		compressed: int64(le.Uint32(b[20:])),
		length:     int64(le.Uint32(b[24:])),
		offset:     int64(le.Uint32(b[42:])),
	}
	e.parseExtra(b[centralSize+name : n])
	var scratch [256]byte
	if e.length < 0 || e.compressed < 0 || string(e.appendCentral(scratch[:0])) != string(b[:n]) {
		return e, 0 // says things that we never say, or says them otherwise
	}
	return e, n
}

// parseExtra reads the extra fields as far as they are ours.
func (e *entry) parseExtra(x []byte) {
	le := binary.LittleEndian
	large, far := e.large(), e.far()
	if large || far {
		x = x[min(len(x), 4):]
	}
	next := func(to *int64) {
		if len(x) >= 8 {
			*to, x = int64(le.Uint64(x)), x[8:]
		}
	}
	if large {
		next(&e.length)
		next(&e.compressed)
	}
	if far {
		next(&e.offset)
	}
	if len(x) == stampSize {
		e.stamped, e.stamp = true, int32(le.Uint32(x[5:]))
	}
}
