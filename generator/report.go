package generator

import (
	"time"

	"github.com/wellspring-sync/wellspring/generator/internal/stage"
	"github.com/wellspring-sync/wellspring/generator/internal/survey"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/notify"
	"github.com/wellspring-sync/wellspring/scanner"
)

// InNoSet is the reason for leaving out what the rules of no set allow.
const InNoSet = survey.InNoSet

// Notification is what subscribers of a set's hub are told of one publication: which of its
// documents have changed. See Framework Notification 1.0.
type Notification = notify.Notification

// NotificationChannel is where that is told, and NotificationChange is the change of one
// document.
type (
	NotificationChannel = notify.Channel
	NotificationChange  = notify.Change
)

// Report says what a run found and did.
type Report struct {
	// At is the time of the publication: that of this run if it wrote
	// something, else that of the last one.
	At time.Time
	// First is true if there was nothing to go on from.
	First bool
	// Wrote is true if something was published; after a dry run, if something
	// would be.
	Wrote bool
	// Recovered is true if an interrupted commit was completed first.
	Recovered bool

	policy.Counts
	Read      int // files that were read
	ReadBytes int64

	// LeftOut counts what does not belong to the source.
	LeftOut map[scanner.Reason]int
	// Heads are the documents that were replaced, in the order of the commit.
	// After a dry run, those that would be.
	Heads []string
	// Bodies counts the files that were added, Reused those that stayed in use,
	// and Swept those that were removed.
	Bodies, Reused, Swept int
	// Packages counts those that were written, of so many bytes in all.
	Packages     int
	PackageBytes int64
	// WrittenBytes are those of all files put in place.
	WrittenBytes int64
	// Notifications are those of changes of documents, of each set that has a hub, in
	// the order of the sets. They are published, and not sent yet.
	Notifications []Notification
	// Sets says the same of each set with a name.
	Sets []SetReport
	// Warnings are for people; none of them kept the run from its work.
	Warnings []string
	// SourceDescription is the URI to give to Destinations.
	SourceDescription string
	Took              time.Duration
}

// SetReport says what a run found out about one set of resources.
type SetReport struct {
	Name   string `json:"name"`
	Folder string `json:"folder"`
	// First is true if nothing was published of it before.
	First bool `json:"first"`
	// Wrote is true if something was, or would be, published of it.
	Wrote bool `json:"published"`
	policy.Counts
}

// opened takes what is known once the last publication was read, as far as it was.
func (r *Report) opened(p *published) {
	r.LeftOut = map[scanner.Reason]int{}
	if p.next != nil {
		r.SourceDescription = p.next.Layout.SourceDescription().URI
	}
	if p.files != nil {
		r.Recovered = p.files.Recovered
	}
	if p.pub != nil {
		r.First, r.Warnings = p.pub.First, append(p.pub.Warnings, p.warnings...)
	}
}

// surveyed takes what a survey found out, as far as it went.
func (r *Report) surveyed(s *surveyed) {
	r.First, r.Warnings = s.pub.First, append(append(s.pub.Warnings, s.from.warnings...), s.warnings...)
	if s.notes != nil {
		r.LeftOut = s.notes.LeftOut
	}
	r.Counts, r.Read, r.ReadBytes = s.found, s.read.files, s.read.bytes
	for i := range s.sets {
		x := &s.sets[i]
		if x.set.HasName() {
			r.Sets = append(r.Sets, SetReport{Name: x.set.Options.Name, Folder: x.set.Layout.Folder, First: x.set.IsFirst(), Counts: x.found})
		}
	}
}

// decided takes what is going to be written.
func (r *Report) decided(d *decision) {
	r.Warnings = append(r.Warnings, d.warnings...)
	r.Wrote, r.Heads, r.At = d.front.Wrote, d.front.Heads(), d.survey.pub.At()
	if r.Wrote {
		r.At = d.front.At()
	}
	for i := range r.Sets {
		r.Sets[i].Wrote = d.front.Sets[i].Wrote
	}
}

// written takes what was written, if anything was.
func (r *Report) written(w *written) {
	r.Warnings = append(r.Warnings, w.warnings...)
	if w.Result == nil {
		return
	}
	r.Reused, r.Swept, r.Notifications = w.Reused, w.Swept, w.Notifications
	for i := range w.Placed {
		p := &w.Placed[i]
		r.WrittenBytes += p.Length
		if p.Kind != stage.Head {
			r.Bodies++
		}
		if p.IsPackage() {
			r.Packages++
			r.PackageBytes += p.Length
		}
	}
}
