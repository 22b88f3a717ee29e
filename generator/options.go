// Package generator turns a directory into a ResourceSync Source: it lists the
// source, compares it with the last publication, reads what may have changed,
// writes the documents that say so, and commits them. It alone knows all the
// stages. It serves nothing and uploads nothing; what its options are made of is in
// package policy.
package generator

import (
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/generator/internal/front"
	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/internal/survey"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/hashing"
	"github.com/wellspring-sync/wellspring/internal/notify"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/scanner"
	"github.com/wellspring-sync/wellspring/zipdump"
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
	Dumps policy.Dumps
	// DumpsByDefault says that nobody asked for the dumps, so that a large
	// source is refused.
	DumpsByDefault bool
	// PackageSize is how large a package of a dump may be, in bytes, unless it
	// holds one bitstream alone; by default policy.DefaultPackageSize.
	PackageSize int64
	// Compression is from 0, which stores everything, to 9.
	Compression int
	// Rotate says when a Change List is closed; by default when it is full.
	Rotate policy.Rotation
	// KeepChanges is how long Change Lists and the packages of the Change Dump
	// stay in the live documents after they end; by default
	// policy.DefaultKeepChanges.
	KeepChanges policy.Keep
	// Archive says whether superseded snapshots and old changes are archived; nil
	// goes on as the last publication did.
	Archive *bool
	// ArchiveKeep says which archived snapshots are kept; by default
	// policy.DefaultArchiveKeep.
	ArchiveKeep policy.ArchiveKeep
	// Standard is the version in whose form changes are published; by default
	// policy.Standard11.
	Standard policy.Standard
	// SettingsFile is the file that the options are from, or empty. It is never
	// published.
	SettingsFile string
	// Links are rules about what resources link to.
	Links []policy.LinkRule
	// LastMod says which time of modification is published; by default
	// policy.LastModFile.
	LastMod policy.LastMod
	// Resources are rules about what is said of resources. Of those that say
	// something, the first one that matches counts.
	Resources policy.ResourceRules
	// Versions are kept of what changes, if it is not nil, and Patches describe the
	// changes. Both need a Resource Dump.
	Versions *policy.Versions
	Patches  *policy.Patches
	// DescribedBy is the URI of what describes the Source and its set of resources,
	// or empty.
	DescribedBy string
	// Hub is the URL of the hub through which changes of documents are told, or empty.
	Hub string
	// Page says how people see the publication.
	Page policy.Page
	// Sets are the sets of resources with a name, each with documents of its own. If
	// there are none, all resources are in one set.
	Sets []policy.Set
	// Previous says where the last publication is.
	Previous policy.Previous
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
	// policy.DefaultMaxDelete.
	MaxDelete *policy.Limit
	// Rebase starts a new publication in place of one that cannot be continued.
	Rebase bool
	// AcceptClock goes on although the clock is a day or more behind the last
	// publication.
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
	Progress func(policy.Progress)
	// OnChange may be nil. It is told of each change, in the order of URIs.
	OnChange func(policy.Change)

	// limits are for tests, which have smaller lists.
	limits policy.Limits
	// synthetic, if not nil, is what the source holds instead of the files on
	// disk.
	synthetic survey.Synthetic
}

// DefaultGrace outlasts the time for which caches usually keep a document.
const DefaultGrace = 24 * time.Hour

// withDefaults returns the options with the defaults of what is not said.
func (o Options) withDefaults() *Options {
	if o.Out == "" {
		o.Out = o.Source
	}
	if len(o.Hash) == 0 {
		o.Hash = hashing.Set{hashing.SHA256}
	}
	if o.Jobs <= 0 {
		o.Jobs = runtime.GOMAXPROCS(0)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxDelete == nil {
		o.MaxDelete = &policy.DefaultMaxDelete
	}
	if o.Grace == 0 {
		o.Grace = DefaultGrace
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.OnChange == nil {
		o.OnChange = func(policy.Change) {}
	}
	o.limits = o.limits.WithDefaults()
	return &o
}

// sets returns the sets of resources. Those without a name are one set, which has no name.
func (o *Options) sets() []policy.Set {
	if len(o.Sets) > 0 {
		return o.Sets
	}
	return []policy.Set{{
		DescribedBy: o.DescribedBy, Hub: o.Hub, Dumps: o.Dumps, PackageSize: o.PackageSize, Rotate: o.Rotate,
		KeepChanges: o.KeepChanges, Archive: o.Archive, ArchiveKeep: o.ArchiveKeep,
	}}
}

// CheckSets returns an error if sets have the same name or folder, or one that cannot
// be, or a hub that is none.
func (o *Options) CheckSets() error {
	l, err := layout.New(o.Identity)
	if err != nil {
		return err
	}
	if err := policy.CheckSets(l, o.Sets); err != nil {
		return err
	}
	for _, s := range o.sets() {
		if s.Hub == "" {
			continue
		}
		if err := notify.CheckHub(s.Hub); err != nil && s.Name != "" {
			return fmt.Errorf("the set %q: the hub: %w", s.Name, err)
		} else if err != nil {
			return fmt.Errorf("the hub: %w", err)
		}
	}
	return nil
}

// policy says how bitstreams are compressed.
func (o *Options) policy() zipdump.Policy {
	return zipdump.Policy{Release: strings.TrimPrefix(o.Release, "wellspring "), Level: o.Compression}
}

// next says what the next publication is going to be.
func (o *Options) next(l layout.Layout) *last.Next {
	return &last.Next{
		Layout: l, Sets: o.sets(), Limits: o.limits, Rebase: o.Rebase,
		Page: !o.Page.None, Versions: o.Versions != nil, Patches: o.Patches != nil,
	}
}

// place says where it is written.
func (o *Options) place() last.Place {
	return last.Place{Out: o.Out, Previous: o.Previous, LockTimeout: o.LockTimeout, Release: o.Release, DryRun: o.DryRun, Log: o.Log}
}

// front says how it presents itself.
func (o *Options) front() *front.Options {
	return &front.Options{Page: o.Page, DescribedBy: o.DescribedBy, Limits: o.limits, Release: o.Release, Grace: o.Grace}
}
