package generator

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/zipdump"
)

// Dumps says which dumps are published beside the lists.
type Dumps struct {
	Resource, Change bool
}

// ParseDumps reads a list such as "resource,change", or "none".
func ParseDumps(s string) (d Dumps, err error) {
	if s == "none" {
		return d, nil
	}
	for name := range strings.SplitSeq(s, ",") {
		switch strings.TrimSpace(name) {
		case "resource":
			d.Resource = true
		case "change":
			d.Change = true
		default:
			return Dumps{}, fmt.Errorf("%q is none of resource, change, both with a comma between them, or none", s)
		}
	}
	return d, nil
}

// Any reports whether there are dumps at all.
func (d Dumps) Any() bool { return d.Resource || d.Change }

// DefaultPackageSize lets a Destination take a package in one request, and lose
// little when that fails.
const DefaultPackageSize = 128 << 20

// DefaultCompression is where more effort stops to pay.
const DefaultCompression = 6

// unasked is how large a source may be for dumps that nobody asked for, in
// bytes: they take about as much space again.
const unasked = 10 << 30

// policy says how bitstreams are compressed.
func (o *Options) policy() zipdump.Policy {
	return zipdump.Policy{Release: strings.TrimPrefix(o.Release, "wellspring "), Level: o.Compression}
}

func (o *Options) packageCutter(size int64) layout.PackageCutter {
	return layout.PackageCutter{
		MaxSize: max(size-packageRoom, size/2), MaxEntries: o.limits.entries,
		MaxManifest: int64(o.limits.bytes) - manifestRoom,
	}
}

// packageRoom is more than a package has beside its bitstreams: the head of the
// manifest, and the end of the directory.
const packageRoom = 2 << 10

// manifestRoom is more than what stands around the entries of a manifest.
const manifestRoom = 8 << 10

// packing is a package that is being written. Its manifest is written by whoever
// knows when it is published.
type packing struct {
	stage          *stage
	zip, directory *document
	w              *zipdump.Writer
}

func (s *stage) newPacking() (*packing, error) {
	zip, err := s.createPackage()
	if err != nil {
		return nil, err
	}
	directory, err := s.create()
	if err != nil {
		return nil, err
	}
	return &packing{stage: s, zip: zip, directory: directory, w: zipdump.NewWriter(zip, directory)}, nil
}

// add puts a bitstream in, under its own name and time.
func (p *packing) add(f *finding) error {
	h := zipdump.Header{Path: zipdump.Path(f.Path), Modified: f.entry.LastModified}
	if err := p.w.Add(h, f.content.Bitstream); err != nil {
		return fmt.Errorf("writing a package: %w", err)
	}
	return nil
}

// pause closes the files, so that any number of packages can wait.
func (p *packing) pause() error {
	if err := p.zip.close(); err != nil {
		return err
	}
	return p.directory.close()
}

// finish completes a package that was paused: with its manifest, which is a
// document that is complete, and with its directory.
func (p *packing) finish(manifest *document, policy zipdump.Policy, modified time.Time) error {
	b, err := pack(manifest, policy)
	if err != nil {
		return err
	}
	defer b.Close()
	if err := p.zip.reopen(); err != nil {
		return err
	}
	directory, err := p.directory.open()
	if err != nil {
		return err
	}
	defer directory.Close()
	closing := zipdump.Closing{Manifest: b, Modified: modified, Comment: policy.Comment()}
	if _, err := p.w.End().Finish(p.zip, directory, closing); err != nil {
		return fmt.Errorf("writing a package: %w", err)
	}
	if err := p.zip.close(); err != nil {
		return err
	}
	p.zip.syncLater()
	return p.directory.discard()
}

// pack compresses a document.
func pack(d *document, policy zipdump.Policy) (*zipdump.Bitstream, error) {
	f, err := d.open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := (&zipdump.Packer{Policy: policy, MaxMemory: resourcesync.MaxBytes}).New()
	b.Begin("application/xml", d.size)
	if _, err := io.Copy(b, f); err != nil {
		return nil, err
	}
	return b, b.Finish()
}

// manifestEntry returns what a manifest says, without links, of a resource that is in its
// package.
func manifestEntry(f *finding) resourcesync.Entry {
	e := f.entry
	e.Links, e.ChangeFreq = nil, ""
	e.Metadata.Path = "/" + zipdump.Path(f.Path)
	return e
}

// packageEntry is what a dump says of a package.
func packageEntry(p *snapshot.Package) resourcesync.Entry {
	e := resourcesync.Entry{
		Loc: p.URI,
		Metadata: resourcesync.Metadata{
			At: p.At, Completed: p.Completed, From: p.From, Until: p.Until, Hash: p.Hash, Type: "application/zip",
		},
		Links: []resourcesync.Link{{Rel: resourcesync.RelContents, Href: p.Manifest.URI, Type: "application/xml"}},
	}
	e.Metadata.SetLength(p.Length)
	return e
}

// dumpHead returns the properties of a dump or a manifest.
func dumpHead(l layout.Layout, md resourcesync.Metadata) resourcesync.Document {
	return resourcesync.Document{
		Metadata: md,
		Links:    []resourcesync.Link{{Rel: resourcesync.RelUp, Href: l.CapabilityList().URI}},
	}
}
