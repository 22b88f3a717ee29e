package verify

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

// summary stands for all that a manifest says.
type summary struct {
	head string
	sum  [32]byte
	n    int
}

// read sums up a manifest, and passes its entries on.
func (s *summary) read(ctx context.Context, d *document, open func() (io.ReadCloser, error), also func(*entry)) error {
	sum := sha256.New()
	var text []byte
	r := &reading{
		limits: &d.a.o.Limits,
		open:   open,
		onHead: func(h *head) bool {
			doc := resourcesync.Document{Index: h.index, Metadata: h.md.Metadata}
			for _, l := range h.links {
				doc.Links = append(doc.Links, l.Link)
			}
			s.head = fmt.Sprintf("%+v", doc)
			return true
		},
		onEntry: func(e *entry) error {
			s.n++
			// What cannot be written was reported for the copy.
			var err error
			if text, err = resourcesync.AppendEntry(text[:0], false, e.plainEntry()); err != nil {
				text = fmt.Appendf(text[:0], "%+v", *e.plainEntry())
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
