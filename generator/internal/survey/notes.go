package survey

import (
	"fmt"
	"log/slog"
	"slices"

	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/scanner"
)

// Notes are what a survey found out beside its findings.
type Notes struct {
	// LeftOut counts what does not belong to the source.
	LeftOut map[scanner.Reason]int
	// Used says which rules about resources said something, by their numbers.
	Used []bool

	log      *slog.Logger
	warnings []string
	links    []string       // warnings of links that lead nowhere
	listed   []policy.Found // by set
	odd      oddNames
	modified modified // when what is new or changed was

	// outside counts files that are in no set, of which some had to be read to know
	// that.
	outside, readOutside int
	readBytesOutside     int64
	// clamped counts modification times in the future, or out of range.
	clamped      int
	firstClamped string
}

func newNotes(sets []*last.Set, o *Options) *Notes {
	n := &Notes{LeftOut: map[scanner.Reason]int{}, Used: make([]bool, len(o.Resources)), log: o.Log}
	for _, s := range sets {
		var paths *policy.Paths
		if rules := s.Rules(); rules != nil {
			paths = rules.Paths
		}
		n.listed = append(n.listed, paths.NewFound())
	}
	return n
}

func (n *Notes) warn(format string, args ...any) {
	n.warnings = append(n.warnings, fmt.Sprintf(format, args...))
}

// InNoSet is the reason for leaving out what the rules of no set allow.
const InNoSet scanner.Reason = "in no set"

// maxLinkWarnings keeps a source full of broken links from flooding the screen.
const maxLinkWarnings = 20

func (n *Notes) leftOut(path string, why scanner.Reason) {
	n.LeftOut[why]++
	n.log.Debug("left out", "path", path, "why", why)
	switch why {
	case scanner.DanglingLink, scanner.OutsideLink, scanner.LoopLink:
		if n.LeftOut[why] <= maxLinkWarnings {
			n.links = append(n.links, fmt.Sprintf("%q is left out: a %s", path, why))
		}
	}
}

// look notes what is odd about a finding.
func (n *Notes) look(f *Finding) {
	if f.Type != resourcesync.Deleted {
		n.odd.look(f)
	}
}

func (n *Notes) clamp(path string) {
	if n.clamped++; n.clamped == 1 {
		n.firstClamped = path
	}
}

// ReadOutside returns how many files were read that are in no set, and their bytes.
func (n *Notes) ReadOutside() (files int, bytes int64) { return n.readOutside, n.readBytesOutside }

// HasLeftOut reports whether the source has anything but the publication that was left out.
func (n *Notes) HasLeftOut() bool {
	for why, count := range n.LeftOut {
		if count > 0 && why != scanner.Published {
			return true
		}
	}
	return false
}

// finish completes the notes once all findings are out.
func (n *Notes) finish(times *lastMods) {
	if n.outside > 0 {
		n.LeftOut[InNoSet] += n.outside
	}
	slices.Sort(n.links)
	n.warnings = append(n.warnings, n.links...)
	switch {
	case n.clamped == 1:
		n.warn("%q was modified later than this publication, or before the year 0: its lastmod is adjusted", n.firstClamped)
	case n.clamped > 1:
		n.warn("%q and %d more were modified later than this publication, or before the year 0: their lastmod is adjusted",
			n.firstClamped, n.clamped-1)
	}
	n.warnings = append(n.warnings, n.odd.warnings()...)
	times.warn(n.warn)
	if times.fromFiles() && n.modified.atOnce() {
		n.warn("nearly all files that are new or changed were modified within two minutes, as after a checkout or a copy: their lastmod says no more than that")
	}
}

// Warnings are for people, once all findings are out.
func (n *Notes) Warnings() []string { return n.warnings }

// MissingIn says which listed paths of a set are not in the source, or nothing.
func (n *Notes) MissingIn(s *last.Set) string {
	if rules := s.Rules(); rules != nil {
		return rules.Paths.Missing(n.listed[s.Number])
	}
	return ""
}

// Hidden counts resources of a set that are deleted although their files are there: a
// rule leaves them out that did not before. Packages and archives still hold what
// was perhaps never meant to be published.
type Hidden struct {
	looked, found int
	first         string
}

// maxLooked keeps a run that deletes very much from looking at very much.
const maxLooked = 1000

// Look looks whether the file of a resource is there that is deleted in a set. That rules
// of sets say so is not counted.
func (h *Hidden) Look(f *Finding, set *last.Set, tree scanner.Tree) {
	s := set.Snapshot
	if f.Type != resourcesync.Deleted || f.Reason == leftSets || h.looked == maxLooked ||
		s.ResourceDump == nil && s.ChangeDump == nil && len(s.Archives) == 0 {
		return
	}
	h.looked++
	for _, path := range set.Layout.Paths(f.Entry.Loc) {
		if st, err := tree.Lstat(path); err == nil && !st.Mode.IsDir() {
			if h.found++; h.found == 1 {
				h.first = path
			}
			return
		}
	}
}

// Warning tells of them, or of nothing.
func (h *Hidden) Warning() string {
	switch {
	case h.found == 1:
		return fmt.Sprintf("%q is left out now and was published before: packages and archives hold it until they are removed", h.first)
	case h.found > 1:
		return fmt.Sprintf("%q and %d more are left out now and were published before: packages and archives hold them until they are removed",
			h.first, h.found-1)
	}
	return ""
}
