package edition

import (
	"math"
	"strings"

	"github.com/wellspring-sync/wellspring/generator/internal/stage"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// dumpDocument is a Resource Dump or a Change Dump: it names packages.
type dumpDocument struct {
	layout.Layout
	limits   policy.Limits
	ref      layout.Ref
	metadata resourcesync.Metadata
	packages []resourcesync.Entry
	links    []resourcesync.Link // of the live document
}

// placeDump stages a dump or, if it has more packages than one document can hold,
// an Index and the dumps under it.
func (w *writer) placeDump(d *dumpDocument) error {
	head := dumpHead(d.Layout, d.metadata)
	head.Style = d.StyleFor(d.ref)
	head.Links = append(head.Links, d.links...)
	cuts := d.cuts()
	if len(cuts) == 1 {
		w.tell(d.metadata.Capability, d.ref, "")
		return w.PlaceDocument(d.ref, &head, d.packages)
	}
	index := make([]resourcesync.Entry, len(cuts))
	for i, packages := range cuts {
		var err error
		if index[i], err = w.placeDumpPart(d, packages); err != nil {
			return err
		}
	}
	head.Index = true
	return w.PlaceDocument(d.ref, &head, index)
}

// cuts divides the packages by what one document can hold; there is always one
// part. All but the last stay as they are when packages are added.
func (d *dumpDocument) cuts() (cuts [][]resourcesync.Entry) {
	begin := 0
	for _, end := range cutPackages(d.packages, d.limits) {
		cuts = append(cuts, d.packages[begin:end])
		begin = end
	}
	return cuts
}

// cutPackages returns where the entries of packages are divided: the ends of the parts. It
// reckons with packages of any length, so that it says the same before that is known.
func cutPackages(packages []resourcesync.Entry, limits policy.Limits) (ends []int) {
	var buf []byte
	begin, size, most := 0, int64(0), max(limits.Bytes-policy.ManifestRoom, limits.Bytes/2)
	for i, e := range packages {
		e.Metadata.SetLength(math.MaxInt64)
		buf, _ = resourcesync.AppendEntry(buf[:0], false, &e) // errors come up when it is written
		if i-begin == limits.Entries || i > begin && size+int64(len(buf)) > most {
			ends = append(ends, i)
			begin, size = i, 0
		}
		size += int64(len(buf))
	}
	return append(ends, len(packages))
}

// placeDumpPart stages a dump under the Index, and returns the entry of the Index.
// A part of a Change Dump ends with its last package; only the Index is open.
func (w *writer) placeDumpPart(d *dumpDocument, packages []resourcesync.Entry) (e resourcesync.Entry, err error) {
	md, first, last := d.metadata, packages[0].Metadata, packages[len(packages)-1].Metadata
	if md.Capability == resourcesync.ChangeDump {
		md.From, md.Until = first.From, last.Until
	}
	head := dumpHead(d.Layout, md)
	head.Style = d.StyleFor(d.partRef(&last, [32]byte{}))
	head.Links = append(head.Links, resourcesync.Link{Rel: resourcesync.RelIndex, Href: d.ref.URI})
	b, err := resourcesync.Marshal(&head, packages)
	if err != nil {
		return e, err
	}
	doc, err := w.Complete(b)
	if err != nil {
		return e, err
	}
	e = resourcesync.Entry{Metadata: md}
	e.Metadata.Capability = ""
	e.Metadata.Hash = doc.Hash()
	e.Metadata.SetLength(doc.Length)
	ref := d.partRef(&last, doc.Digest)
	e.Loc = ref.URI
	w.tell(d.metadata.Capability, ref, d.ref.URI)
	return e, w.Place(doc, ref, stage.Body)
}

// partRef names a document under the Index, whose last entry says the latest
// time.
func (d *dumpDocument) partRef(last *resourcesync.Metadata, digest [32]byte) layout.Ref {
	switch c := d.metadata.Capability; c {
	case resourcesync.ResourceDump:
		return d.ResourceDumpPart(digest)
	case resourcesync.ChangeDump:
		return d.ChangeDumpPart(last.Until, digest)
	default: // an archive
		at := last.At
		if at.IsZero() {
			at = last.Until
		}
		return d.Archived(strings.TrimSuffix(string(c), "-archive"), at, digest)
	}
}
