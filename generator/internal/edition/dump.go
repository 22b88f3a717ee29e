package edition

import (
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// dumpDecision says what becomes of the Resource Dump.
type dumpDecision struct {
	write  bool
	pieces []dumpPiece // all packages, if it is written
	// indexed says that the dump leads to packages by way of other documents.
	indexed bool
}

// decideDump decides on a dump that is written.
func decideDump(set *last.Set, pieces []dumpPiece, limits policy.Limits) dumpDecision {
	d := dumpDecision{write: true, pieces: pieces}
	d.indexed = len(cutPackages(d.entries(set.Layout), limits)) > 1
	return d
}

// entries returns those of all packages as far as they are known: with names and digests
// of the right length.
func (d *dumpDecision) entries(l layout.Layout) []resourcesync.Entry {
	zip, manifest := l.ResourceDumpPackage([32]byte{})
	some := time.Unix(0, 0)
	unnamed := packageEntry(&snapshot.Package{Ref: zip, Manifest: manifest, At: some, Completed: some, Hash: someHash})
	entries := make([]resourcesync.Entry, len(d.pieces))
	for i := range d.pieces {
		if p := &d.pieces[i]; p.isNew {
			entries[i] = unnamed
		} else {
			entries[i] = packageEntry(p.pkg)
		}
	}
	return entries
}

// someHash is as long as any digest of a package.
var someHash = resourcesync.Hash("sha-256:" + strings.Repeat("0", 64))

// reused returns the paths of the packages and manifests that stay.
func (d *dumpDecision) reused() map[string]bool {
	paths := map[string]bool{}
	for i := range d.pieces {
		if p := &d.pieces[i]; !p.isNew {
			paths[p.pkg.Path], paths[p.pkg.Manifest.Path] = true, true
		}
	}
	return paths
}

// obsolete finds the bodies that are named no more.
func (d *dumpDecision) obsolete(set *last.Set, o *obsolete) {
	if dump := set.Snapshot.ResourceDump; dump != nil && (d.write || !set.Options.Dumps.Resource) {
		o.packages(d.reused(), dump.Packages)
		o.parts(dump.Parts)
	}
}

// dumpWriter writes the Resource Dump.
type dumpWriter struct {
	out     *writer
	set     *last.Set
	limits  policy.Limits
	times   Times
	entries []resourcesync.Entry // of the dump, once its packages are placed
}

// writeBodies places the packages and their manifests.
func (w *dumpWriter) writeBodies(pieces []dumpPiece) error {
	for i := range pieces {
		pkg := pieces[i].pkg
		if f := pieces[i].file; f != nil {
			var err error
			if pkg, err = w.place(f); err != nil {
				return err
			}
		}
		w.entries = append(w.entries, packageEntry(pkg))
	}
	return nil
}

func (w *dumpWriter) place(f *dumpFile) (*snapshot.Package, error) {
	if err := f.Zip.Sync(); err != nil {
		return nil, err
	}
	zip, manifest := w.set.Layout.ResourceDumpPackage(f.Zip.Digest)
	pkg := &snapshot.Package{
		Ref: zip, Manifest: manifest, At: f.at, Completed: f.completed, Hash: f.Zip.Hash(), Length: f.Zip.Length,
	}
	return pkg, w.out.PlacePackage(f.Zip, f.manifest, pkg)
}

// writeHead stages the Resource Dump or, if it has very many packages, its
// Index.
func (w *dumpWriter) writeHead() error {
	return w.out.placeDump(&dumpDocument{
		Layout: w.set.Layout, limits: w.limits, ref: w.set.Layout.ResourceDump(), packages: w.entries,
		links:    archiveLink(w.set, resourcesync.ResourceDump),
		metadata: resourcesync.Metadata{Capability: resourcesync.ResourceDump, At: w.times.At, Completed: w.times.Completed},
	})
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
