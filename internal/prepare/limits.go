package prepare

import (
	"slices"
	"unicode/utf8"
)

// LimitKind is what a limit of a host is about.
type LimitKind string

// The kinds of limits.
const (
	LimitFiles    LimitKind = "files"           // how many there are
	LimitEntries  LimitKind = "entries"         // how many files and folders there are
	LimitFolder   LimitKind = "files_in_folder" // how many there are in one folder
	LimitFile     LimitKind = "file_bytes"      // how large one is
	LimitTotal    LimitKind = "total_bytes"     // how large all of them are
	LimitPath     LimitKind = "path_bytes"      // how long the name of one is, with its folders
	LimitPathText LimitKind = "path_characters" // the same in characters
)

// Limit is one that a host has.
type Limit struct {
	Kind LimitKind `json:"limit"`
	Most int64     `json:"most"`
	// Where says for whom it holds, such as for a plan. Empty is for all.
	Where string `json:"where,omitempty"`
}

const mebibyte = 1 << 20

// limits are those of the hosts, where there are some; if there are several of a kind,
// the smallest comes first. They are what the documentation of the hosts says.
var limits = map[string][]Limit{
	"netlify": {
		{LimitFolder, 54_000, ""},
	},
	"cloudflare-pages": {
		{LimitFiles, 20_000, "on the free plan; 100,000 on paid ones"},
		{LimitFiles, 100_000, "on paid plans"},
		{LimitFile, 25 * mebibyte, ""},
	},
	"github-pages": {
		{LimitTotal, 1_000_000_000, ""},
		{LimitFile, 100 * mebibyte, "where the site is pushed to a branch"},
	},
	"gitlab-pages": {
		{LimitEntries, 200_000, "on gitlab.com"},
		{LimitTotal, 1 << 30, "on gitlab.com; other servers have limits of their own"},
	},
	"s3":    {{LimitPath, 1024, ""}},
	"gcs":   {{LimitPath, 1024, ""}},
	"azure": {{LimitPathText, 1024, ""}},
}

// HostLimits returns the limits of a host. There are none for servers of one's own.
func HostLimits(host string) []Limit { return slices.Clone(limits[host]) }

// LargestFile returns the size of the largest file that all of some hosts take, in bytes,
// and the first host that takes no larger one; 0 is no limit.
func LargestFile(hosts []string) (most int64, host string) {
	for _, name := range hosts {
		for _, l := range limits[name] {
			if l.Kind == LimitFile && (most == 0 || l.Most < most) {
				most, host = l.Most, name
			}
		}
	}
	return most, host
}

// Passed is a limit of a host that an upload passes.
type Passed struct {
	Host string `json:"host"`
	Limit
	// Found is what there is where the limit is Most; for limits on each file or folder,
	// the largest.
	Found int64 `json:"found"`
	// Count is how many files or folders are over the limit, and Path is the one with the
	// most. A package of a dump is that only if nothing else is over the limit, since
	// else the package may be large for that reason. They are empty for limits on
	// everything.
	Count int    `json:"count,omitempty"`
	Path  string `json:"path,omitempty"`
	// Packages is how many packages are among them.
	Packages int `json:"-"`
}

// gauge compares what is uploaded with one limit.
type gauge struct{ Passed }

// add counts something with a size.
func (g *gauge) add(path string, size int64) {
	if size <= g.Most {
		return
	}
	pack := g.Kind == LimitFile && isPackage(path)
	others := g.Count > g.Packages
	if pack && !others && size > g.Found || !pack && (!others || size > g.Found) {
		g.Found, g.Path = size, path
	}
	g.Count++
	if pack {
		g.Packages++
	}
}

// file counts a file.
func (g *gauge) file(path string, size int64) {
	switch g.Kind {
	case LimitFiles, LimitEntries:
		g.Found++
	case LimitTotal:
		g.Found += size
	case LimitFile:
		g.add(path, size)
	case LimitPath:
		g.add(path, int64(len(path)))
	case LimitPathText:
		g.add(path, int64(utf8.RuneCountInString(path)))
	}
}

// folder counts a folder with so many files in it.
func (g *gauge) folder(path string, files int64) {
	switch g.Kind {
	case LimitEntries:
		g.Found++
	case LimitFolder:
		g.add(path, files)
	}
}

// gaugesFor returns one for each limit of some hosts.
func gaugesFor(hosts []string) (gauges []gauge) {
	for _, host := range hosts {
		for _, l := range limits[host] {
			gauges = append(gauges, gauge{Passed{Host: host, Limit: l}})
		}
	}
	return gauges
}

// passed returns the limits that are passed: of several of a kind, the largest.
func passed(gauges []gauge) (all []Passed) {
	for _, g := range gauges {
		if g.Found <= g.Most {
			continue
		}
		if n := len(all); n > 0 && all[n-1].Host == g.Host && all[n-1].Kind == g.Kind {
			all[n-1] = g.Passed
			continue
		}
		all = append(all, g.Passed)
	}
	return all
}
