package zipdump

import (
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
)

// deflaters are kept by level. One takes about a megabyte, and more time to make
// than a small file takes to pack.
var deflaters [10]sync.Pool

// deflater is a compressor that is used again and again.
type deflater struct {
	*flate.Writer
	to    outlet
	level int
}

// outlet stands between a compressor and where its bytes go, so that a
// compressor in the pool keeps nothing alive.
type outlet struct{ io.Writer }

// newDeflater returns a compressor from the pool. Levels are 1 to 9.
func newDeflater(to io.Writer, level int) (*deflater, error) {
	d, _ := deflaters[level].Get().(*deflater)
	if d != nil {
		d.to.Writer = to
		d.Reset(&d.to)
		return d, nil
	}
	d = &deflater{to: outlet{to}, level: level}
	var err error
	d.Writer, err = flate.NewWriter(&d.to, level)
	return d, err
}

// free gives the compressor back, wherever it has got to.
func (d *deflater) free() {
	d.to.Writer = nil
	deflaters[d.level].Put(d)
}

// inflaters are kept as well.
var inflaters sync.Pool

func newInflater(from io.Reader) io.ReadCloser {
	if r, _ := inflaters.Get().(io.ReadCloser); r != nil {
		if r.(flate.Resetter).Reset(from, nil) == nil {
			return r
		}
	}
	return flate.NewReader(from)
}
