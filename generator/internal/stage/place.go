package stage

import (
	"crypto/md5"
	"encoding/hex"

	"github.com/wellspring-sync/wellspring/internal/publish"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// Kind says what a file is in the publication.
type Kind int

const (
	// Body is written once, and never changes.
	Body Kind = iota
	// Head changes in place, and is one of the heads of a record.
	Head
	// Aside changes in place, and no record speaks of it.
	Aside
)

// Placed is a file that the commit puts in place.
type Placed struct {
	layout.Ref
	Kind   Kind
	Length int64
	SHA256 string // in hexadecimal digits
	MD5    [md5.Size]byte

	isPackage bool
}

// Head returns what a record says of the file.
func (p *Placed) Head() snapshot.Head {
	return snapshot.Head{Path: p.Path, Length: p.Length, SHA256: p.SHA256}
}

// IsPackage reports whether the file is a package of a dump. A version can be a ZIP file, too.
func (p *Placed) IsPackage() bool { return p.isPackage }

// Placer places the files of a set, or of what is above the sets, in the order of the
// commit.
type Placer struct {
	*Area
	// Fresh says that nothing leads to any of the files before all of them are there,
	// so that they need no order.
	Fresh bool
	// Placed are the files so far.
	Placed []Placed
}

// Place plans to publish a staged file.
func (p *Placer) Place(f *File, ref layout.Ref, kind Kind) error {
	if err := f.Sync(); err != nil {
		return err
	}
	sum := hex.EncodeToString(f.Digest[:])
	p.folder.Put(publish.Put{Staged: f.name, Path: ref.Path, Length: f.Length, SHA256: sum, Body: kind == Body || p.Fresh && kind == Head})
	p.Placed = append(p.Placed, Placed{Ref: ref, Kind: kind, Length: f.Length, SHA256: sum, MD5: f.MD5})
	return nil
}

// PlaceBytes plans to publish a head that is in memory.
func (p *Placer) PlaceBytes(ref layout.Ref, b []byte) error {
	f, err := p.Complete(b)
	if err != nil {
		return err
	}
	return p.Place(f, ref, Head)
}

// PlaceDocument plans to publish a head that is small enough to be in memory.
func (p *Placer) PlaceDocument(ref layout.Ref, doc *resourcesync.Document, entries []resourcesync.Entry) error {
	b, err := resourcesync.Marshal(doc, entries)
	if err != nil {
		return err
	}
	return p.PlaceBytes(ref, b)
}

// PlacePackage plans to publish a package and its manifest.
func (p *Placer) PlacePackage(zip, manifest *File, pkg *snapshot.Package) error {
	if err := p.Place(zip, pkg.Ref, Body); err != nil {
		return err
	}
	p.Placed[len(p.Placed)-1].isPackage = true
	return p.Place(manifest, pkg.Manifest, Body)
}

// Paths returns the paths of files.
func Paths(placed []Placed) map[string]bool {
	paths := make(map[string]bool, len(placed))
	for i := range placed {
		paths[placed[i].Path] = true
	}
	return paths
}
