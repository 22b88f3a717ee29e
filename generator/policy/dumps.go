package policy

import (
	"fmt"
	"strings"

	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
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

// Limits bound the documents. The zero value stands for those of the standard.
type Limits struct {
	Entries   int   // of a document
	Bytes     int64 // of a document
	ManyParts int   // resources from which on parts of a Resource List are joined
	CutBits   int   // 0 is that of layout.Cutter
	Unasked   int64 // bytes of a source from which on dumps have to be asked for
}

const (
	// manyResources is where parts of 4,096 resources would become too many for one
	// Index.
	manyResources = 100_000_000
	// unasked is how large a source may be for dumps that nobody asked for, in
	// bytes: they take about as much space again.
	unasked = 10 << 30
)

// WithDefaults returns limits none of which is zero but CutBits.
func (l Limits) WithDefaults() Limits {
	if l.Entries == 0 {
		l.Entries = resourcesync.MaxEntries
	}
	if l.Bytes == 0 {
		l.Bytes = resourcesync.MaxBytes
	}
	if l.ManyParts == 0 {
		l.ManyParts = manyResources
	}
	if l.Unasked == 0 {
		l.Unasked = unasked
	}
	return l
}

const (
	// packageRoom is more than a package has beside its bitstreams: the head of the
	// manifest, and the end of the directory.
	packageRoom = 2 << 10
	// ManifestRoom is more than what stands around the entries of a manifest, or of a
	// list of packages, in bytes.
	ManifestRoom = 8 << 10
)

// PackageCutter returns what divides bitstreams into packages of a size, in bytes.
func (l Limits) PackageCutter(size int64) layout.PackageCutter {
	return layout.PackageCutter{MaxSize: max(size-packageRoom, size/2), MaxEntries: l.Entries, MaxManifest: l.Bytes - ManifestRoom}
}
