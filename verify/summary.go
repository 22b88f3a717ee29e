package verify

import (
	"context"
	"crypto/sha256"
	"io"
	"time"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

// summary stands for all that a manifest says.
type summary struct {
	at, completed, from, until time.Time
	sum                        [32]byte
	n                          int
}

// read sums up a manifest, and passes its entries on.
func (s *summary) read(ctx context.Context, d *document, open func() (io.ReadCloser, error), also func(*entry)) error {
	sum := sha256.New()
	var text []byte
	r := &reading{
		limits: &d.a.o.Limits,
		open:   open,
		onHead: func(h *head) bool {
			s.at, s.completed, s.from, s.until = h.md.At, h.md.Completed, h.md.From, h.md.Until
			return true
		},
		onEntry: func(e *entry) error {
			s.n++
			// What cannot be written was reported for the copy, and counts as its URI.
			var err error
			if text, err = resourcesync.AppendEntry(text[:0], false, e.plainEntry()); err != nil {
				text = append(text[:0], e.loc...)
			}
			sum.Write(text)
			also(e)
			return nil
		},
		report: func(*Rule, spot, string, string, ...any) {},
	}
	err := r.run(ctx)
	sum.Sum(s.sum[:0])
	return err
}
