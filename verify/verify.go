package verify

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"time"

	"github.com/wellspring-sync/wellspring/internal/httpclient"
)

// Depth says how far down an audit goes.
type Depth int

// The depths. Each includes those before it.
const (
	Documents Depth = iota + 1 // what documents say
	Packages                   // the ZIP packages of dumps
	Content                    // the resources themselves
)

// Mapping says in which directory, or at which URL, lies what has URIs that begin
// with a prefix.
type Mapping struct{ Prefix, Dir string }

// Options say what is audited, and how. The zero value works.
type Options struct {
	// Depth is [Content] by default.
	Depth Depth
	// Resources say where the resources of a publication in a directory lie. By
	// default they are looked for in the publication's own directory. For one on
	// a server, they say where it is to be asked for what it says is elsewhere, as
	// before it is moved there.
	Resources []Mapping
	// Sample is how many resources on a server are read and compared. The others
	// are asked for their length only.
	Sample int
	// All has all resources on a server read and compared.
	All bool
	// Against is an older copy of the publication, a directory or a URL, or
	// nothing.
	Against string
	// Header is sent with each request to the host of the publication.
	Header http.Header
	// Transport sends the requests. Nil stands for one like that of package
	// net/http.
	Transport http.RoundTripper
	// Release stands in the User-Agent.
	Release string
	// Jobs is how many documents, packages and resources are read at once. Zero
	// stands for the number of processors.
	Jobs int
	// Limits bound what an audit takes in. The zero value stands for defaults.
	Limits Limits
	// Stall is how long a server may take to answer, and then for every few
	// kilobytes. Zero stands for 30 seconds.
	Stall time.Duration
	// Now is the time of the audit; by default that of the clock.
	Now time.Time
	// Log may be nil.
	Log *slog.Logger
	// Progress is called from time to time, by one goroutine after the other.
	// It may be nil.
	Progress func(Progress)
}

// Limits bound what an audit takes in, whatever the publication says. What goes
// beyond is reported by the rule audit-limit and not read.
type Limits struct {
	// DocumentBytes is how long a document may be: by default 200 MiB, four times
	// what the standard allows.
	DocumentBytes int64
	// Token is the longest element, text or comment, in bytes: by default 64 KiB.
	Token int
	// Depth is how deep elements may be nested: by default 16.
	Depth int
	// Documents is how many documents are read: by default 1,000,000.
	Documents int
	// Entries is how many entries a document may have: by default 1,000,000.
	Entries int
	// PackageBytes is how long a package or a resource may be that comes from a
	// server: by default 32 GiB.
	PackageBytes int64
	// Kept is how many bytes of documents and packages from a server are kept at
	// the same time: by default 64 GiB.
	Kept int64
	// Links is how many links an entry may have, and how many attributes an
	// element: by default 1,000.
	Links int
	// Snapshots is how many Resource Lists and Resource Dumps of a set are compared
	// with each other: by default 2,000, the oldest first.
	Snapshots int
	// Records is how many entries are compared over time: by default 500,000,000.
	Records int
	// PackageFiles is how many files a package may have: by default 1,000,000.
	PackageFiles int
	// Inflation is how many times longer the content of a package may be than
	// the package: by default 200. Inflated bytes may come out of any package: by
	// default 1 GiB.
	Inflation, Inflated int64
	// TimeMapBytes is how long a TimeMap may be: by default 8 MiB.
	TimeMapBytes int64
	// Memory is about how many bytes the histories of resources take before they
	// go to temporary files: by default 16 MiB.
	Memory int64
	// Findings is how many findings are kept for each rule: by default 1,000.
	Findings int
}

func (l *Limits) applyDefaults() {
	l.DocumentBytes = cmp.Or(l.DocumentBytes, 200<<20)
	l.Token = cmp.Or(l.Token, 64<<10)
	l.Depth = cmp.Or(l.Depth, 16)
	l.Documents = cmp.Or(l.Documents, 1_000_000)
	l.Entries = cmp.Or(l.Entries, 1_000_000)
	l.PackageBytes = cmp.Or(l.PackageBytes, 32<<30)
	l.Kept = cmp.Or(l.Kept, 64<<30)
	l.Links = cmp.Or(l.Links, 1000)
	l.Snapshots = cmp.Or(l.Snapshots, 2000)
	l.Records = cmp.Or(l.Records, 500_000_000)
	l.PackageFiles = cmp.Or(l.PackageFiles, 1_000_000)
	l.Inflation = cmp.Or(l.Inflation, 200)
	l.Inflated = cmp.Or(l.Inflated, 1<<30)
	l.TimeMapBytes = cmp.Or(l.TimeMapBytes, 8<<20)
	l.Memory = cmp.Or(l.Memory, 16<<20)
	l.Findings = cmp.Or(l.Findings, 1000)
}

func (o *Options) applyDefaults() {
	o.Depth = cmp.Or(o.Depth, Content)
	o.Jobs = cmp.Or(o.Jobs, runtime.GOMAXPROCS(0))
	o.Stall = cmp.Or(o.Stall, 30*time.Second)
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	o.Limits.applyDefaults()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
}

// Progress is how far an audit has come.
type Progress struct {
	Documents  int
	Packages   int
	Resources  int   // that were read or asked for
	TotalBytes int64 // of all of these
}

// Check audits a publication: a directory, or the URL of a Source or of any of its
// documents. The error says that the audit could not be done, not that something
// was found.
func Check(ctx context.Context, place string, o Options) (*Report, error) {
	o.applyDefaults()
	p, err := openPlace(place, &o)
	if err != nil {
		return nil, err
	}
	defer p.close()
	a := newAuditor(p, &o)
	defer a.close()
	if err := a.run(ctx); err != nil {
		return nil, fmt.Errorf("auditing %s: %w", httpclient.Redacted(p.name()), err)
	}
	return a.report(), nil
}
