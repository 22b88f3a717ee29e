// Package generator turns a directory into a ResourceSync Source: it lists the
// source, compares it with the last publication, reads what may have changed,
// writes the documents that say so, and commits them. It alone knows all the
// stages.
package generator

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/hashing"
	"github.com/wellspring-sync/wellspring/internal/links"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/scanner"
)

// Options say what is published, and how. Source and Identity.BaseURL must be
// given; the zero value of the rest works.
type Options struct {
	Source string // a directory
	// Out is where the publication is written; by default the source itself.
	Out      string
	Identity layout.Identity
	Rules    scanner.Rules
	// SkipSymlinks leaves out symbolic links, even those that stay inside the
	// source.
	SkipSymlinks bool
	// Hash are the digests to publish; by default SHA-256.
	Hash hashing.Set
	// Checksum reads every file, whatever its length and times say.
	Checksum bool
	// Cache is the file of the stat cache; no cache is used if it is empty.
	Cache string
	// Jobs is how many files are read at the same time; by default one for
	// each processor.
	Jobs int
	// Dumps are published beside the lists; by default there are none.
	Dumps Dumps
	// DumpsByDefault says that nobody asked for the dumps, so that a large
	// source is refused.
	DumpsByDefault bool
	// PackageSize is how large a package of a dump may be, in bytes, unless it
	// holds one bitstream alone; by default DefaultPackageSize.
	PackageSize int64
	// Compression is from 0, which stores everything, to 9.
	Compression int
	// Rotate says when a Change List is closed; by default when it is full.
	Rotate Rotation
	// KeepChanges is how long Change Lists and the packages of the Change Dump
	// stay in the live documents after they end; by default DefaultKeepChanges.
	KeepChanges Keep
	// Archive says whether superseded snapshots and old changes are archived; nil
	// goes on as the last publication did.
	Archive *bool
	// ArchiveKeep says which archived snapshots are kept; by default
	// DefaultArchiveKeep.
	ArchiveKeep ArchiveKeep
	// Standard is the version in whose form changes are published; by default
	// Standard11.
	Standard Standard
	// SettingsFile is the file that the options are from, or empty. It is never
	// published.
	SettingsFile string
	// Links are what resources link to; nil stands for no links.
	Links *links.Rules
	// LastMod says which time of modification is published; by default LastModFile.
	LastMod LastMod
	// Resources are rules about what is said of resources. Of those that say
	// something, the first one that matches counts.
	Resources []*ResourceRule
	// Versions are kept of what changes, if it is not nil, and Patches describe the
	// changes. Both need a Resource Dump.
	Versions *Versions
	Patches  *Patches
	// DescribedBy is the URI of what describes the Source and its set of resources,
	// or empty.
	DescribedBy string
	// Hub is the URL of the hub through which changes of documents are told, or empty.
	Hub string
	// Page says how people see the publication.
	Page Page
	// Sets are the sets of resources with a name, each with documents of its own. If
	// there are none, all resources are in one set.
	Sets []Set
	// Previous says where the last publication is.
	Previous Previous
	// Now is the clock; by default that of the system.
	Now func() time.Time
	// FixedClock says that Now is not the system's, so that it may lie in the
	// past.
	FixedClock bool
	// Plan is the file of the upload plan, which says what changed since the last
	// publication; none is made if it is empty.
	Plan string
	// DryRun finds out what would be published, and writes nothing.
	DryRun bool

	// AllowEmpty publishes a source without any files.
	AllowEmpty bool
	// MaxDelete is how many deletions one run may publish; by default
	// DefaultMaxDelete.
	MaxDelete *Limit
	// Rebase starts a new publication in place of one that cannot be continued.
	Rebase bool
	// AcceptClock goes on although the clock is behind the last publication.
	AcceptClock bool
	// LockTimeout is how long to wait for another run to end.
	LockTimeout time.Duration
	// Grace is how long files that no document names any more are kept for
	// readers of older documents; by default 24 hours. A negative value keeps
	// them for one publication only.
	Grace time.Duration

	// Release names the program in the record.
	Release string
	// Log may be nil.
	Log *slog.Logger
	// Progress may be nil. It is told every now and then how far the run is.
	Progress func(Progress)
	// OnChange may be nil. It is told of each change, in the order of URIs.
	OnChange func(Change)

	// limits are for tests, which have smaller lists.
	limits limits
	// synthetic, if not nil, is what the source holds instead of the files on
	// disk: benchmarks have more than anybody wants to wait for.
	synthetic synthetic
}

// synthetic is a source that is not on disk.
type synthetic interface {
	scanner.Tree
	hashing.Opener
}

// limits bound the documents.
type limits struct {
	entries   int
	bytes     int64
	manyParts int   // resources from which on parts are joined
	cutBits   int   // 0 is that of layout.Cutter
	unasked   int64 // bytes from which on dumps have to be asked for
}

// DefaultGrace outlasts the time for which caches usually keep a document.
const DefaultGrace = 24 * time.Hour

// manyResources is where parts of 4,096 resources would become too many for one
// Index.
const manyResources = 100_000_000

func (o *Options) applyDefaults() {
	if o.Out == "" {
		o.Out = o.Source
	}
	if len(o.Hash) == 0 {
		o.Hash = hashing.Set{hashing.SHA256}
	}
	if o.Jobs <= 0 {
		o.Jobs = runtime.GOMAXPROCS(0)
	}
	if o.PackageSize <= 0 {
		o.PackageSize = DefaultPackageSize
	}
	if o.KeepChanges == (Keep{}) {
		o.KeepChanges = DefaultKeepChanges
	}
	if o.ArchiveKeep == (ArchiveKeep{}) {
		o.ArchiveKeep = DefaultArchiveKeep
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxDelete == nil {
		o.MaxDelete = &DefaultMaxDelete
	}
	if o.Grace == 0 {
		o.Grace = DefaultGrace
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.OnChange == nil {
		o.OnChange = func(Change) {}
	}
	if o.limits == (limits{}) {
		o.limits = limits{entries: resourcesync.MaxEntries, bytes: resourcesync.MaxBytes, manyParts: manyResources}
	}
	if o.limits.unasked == 0 {
		o.limits.unasked = unasked
	}
}

// Limit is a number of resources, or a share of those that were published.
type Limit struct {
	Count   int
	Percent bool // Count is in percent; 20 resources are always allowed
}

// DefaultMaxDelete lets a source lose half of its resources in one run.
var DefaultMaxDelete = Limit{Count: 50, Percent: true}

// alwaysAllowed keeps a limit in percent from hindering small sources.
const alwaysAllowed = 20

// ParseLimit reads a number, or a number with a percent sign.
func ParseLimit(s string) (Limit, error) {
	digits, percent := strings.CutSuffix(s, "%")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || percent && n > 100 {
		return Limit{}, fmt.Errorf("%q is neither a number nor a percentage", s)
	}
	return Limit{Count: n, Percent: percent}, nil
}

func (l Limit) String() string {
	if l.Percent {
		return strconv.Itoa(l.Count) + "%"
	}
	return strconv.Itoa(l.Count)
}

// allows reports whether n of so many may be deleted.
func (l Limit) allows(n, of int) bool {
	if l.Percent {
		return n <= alwaysAllowed || n*100 <= of*l.Count
	}
	return n <= l.Count
}

// Refusal is the error of a guard: the run could go on, but would probably do
// harm.
type Refusal struct {
	Why string
	// Flag is the option that makes the run go on all the same, or empty.
	Flag string
	// Passes says that the same run may do no harm after some time.
	Passes bool
}

func (r *Refusal) Error() string { return r.Why }

// ErrChanged says that something else changed the publication during the run.
var ErrChanged = errors.New("the publication was changed by something else during this run")
