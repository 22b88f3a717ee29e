package generator

import (
	"strings"

	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// dumpDocument is a Resource Dump or a Change Dump: it names packages.
type dumpDocument struct {
	layout.Layout
	limits   limits
	ref      layout.Ref
	metadata resourcesync.Metadata
	packages []resourcesync.Entry
	links    []resourcesync.Link // of the live document
}

// putDump stages a dump or, if it has more packages than one document can hold,
// an Index and the dumps under it.
func (s *stage) putDump(d *dumpDocument) error {
	head := dumpHead(d.Layout, d.metadata)
	head.Style = d.StyleFor(d.ref)
	head.Links = append(head.Links, d.links...)
	cuts := d.cuts()
	if len(cuts) == 1 {
		s.tell(d.metadata.Capability, d.ref, "")
		return s.putDocument(d.ref, &head, d.packages)
	}
	index := make([]resourcesync.Entry, len(cuts))
	for i, packages := range cuts {
		var err error
		if index[i], err = s.putDumpPart(d, packages); err != nil {
			return err
		}
	}
	head.Index = true
	return s.putDocument(d.ref, &head, index)
}

// cuts divides the packages by what one document can hold; there is always one
// part. All but the last stay as they are when packages are added.
func (d *dumpDocument) cuts() (cuts [][]resourcesync.Entry) {
	var buf []byte
	begin, size, most := 0, int64(0), max(d.limits.bytes-manifestRoom, d.limits.bytes/2)
	for i := range d.packages {
		buf, _ = resourcesync.AppendEntry(buf[:0], false, &d.packages[i]) // errors come up when it is written
		if i-begin == d.limits.entries || i > begin && size+int64(len(buf)) > most {
			cuts = append(cuts, d.packages[begin:i])
			begin, size = i, 0
		}
		size += int64(len(buf))
	}
	return append(cuts, d.packages[begin:])
}

// putDumpPart stages a dump under the Index, and returns the entry of the Index.
// A part of a Change Dump ends with its last package; only the Index is open.
func (s *stage) putDumpPart(d *dumpDocument, packages []resourcesync.Entry) (e resourcesync.Entry, err error) {
	md, first, last := d.metadata, packages[0].Metadata, packages[len(packages)-1].Metadata
	if md.Capability == resourcesync.ChangeDump {
		md.From, md.Until = first.From, last.Until
	}
	head := dumpHead(d.Layout, md)
	head.Style = d.StyleFor(d.partRef(&last, &document{}))
	head.Links = append(head.Links, resourcesync.Link{Rel: resourcesync.RelIndex, Href: d.ref.URI})
	b, err := resourcesync.Marshal(&head, packages)
	if err != nil {
		return e, err
	}
	doc, err := s.complete(b)
	if err != nil {
		return e, err
	}
	e = resourcesync.Entry{Metadata: md}
	e.Metadata.Capability = ""
	e.Metadata.Hash = doc.hash()
	e.Metadata.SetLength(doc.length)
	ref := d.partRef(&last, doc)
	e.Loc = ref.URI
	s.tell(d.metadata.Capability, ref, d.ref.URI)
	return e, s.put(doc, ref, true)
}

// partRef names a document under the Index, whose last entry says the latest
// time.
func (d *dumpDocument) partRef(last *resourcesync.Metadata, doc *document) layout.Ref {
	switch c := d.metadata.Capability; c {
	case resourcesync.ResourceDump:
		return d.ResourceDumpPart(doc.digest)
	case resourcesync.ChangeDump:
		return d.ChangeDumpPart(last.Until, doc.digest)
	default: // an archive
		at := last.At
		if at.IsZero() {
			at = last.Until
		}
		return d.Archived(strings.TrimSuffix(string(c), "-archive"), at, doc.digest)
	}
}
