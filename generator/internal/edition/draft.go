// Package edition makes the documents of a set with resources and changes in them:
// Resource List, Resource Dump, Change Lists, Change Dump and archives. Each is gathered
// from findings, decided when all findings are in, and written after that. A gatherer is a
// cutter, which knows sizes and URIs alone, and a spool with staged files, which a dry run
// does without; so both decide alike.
package edition

import (
	"errors"
	"io"
	"time"

	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/internal/stage"
	"github.com/wellspring-sync/wellspring/generator/internal/survey"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/zipdump"
)

// Rules say how documents are cut and packed.
type Rules struct {
	Limits   policy.Limits
	Standard policy.Standard
	Policy   zipdump.Policy
}

// Draft gathers what the next documents of a set are made of.
type Draft struct {
	set    *last.Set
	rules  Rules
	list   *listDraft
	dump   *dumpDraft // nil if there is none
	events *eventDraft
}

// NewDraft begins a draft for a run of the time at. The area is nil in a dry run.
func NewDraft(set *last.Set, rules Rules, area *stage.Area, at time.Time, now func() time.Time) (*Draft, error) {
	d := &Draft{set: set, rules: rules}
	var err error
	if d.list, err = newListDraft(set, rules.Limits, area); err != nil {
		return nil, err
	}
	if d.events, err = newEventDraft(set, rules, area); err != nil {
		return nil, err
	}
	if set.Options.Dumps.Resource {
		d.dump = newDumpDraft(set, rules, area, at, now)
	}
	return d, nil
}

// NeedsRoom reports whether Pack has to know the room that a finding takes.
func (d *Draft) NeedsRoom(m *survey.Member) bool { return m.Change != "" && !d.set.IsFirst() }

// Pack takes a finding in the first pass: it decides in which list its event will be, and
// puts it into packages.
func (d *Draft) Pack(f *survey.Finding, m *survey.Member, room Room) error {
	if d.NeedsRoom(m) {
		if err := d.events.place(f, m, room); err != nil {
			return err
		}
	}
	if d.dump == nil || m.Change == resourcesync.Deleted {
		return nil
	}
	return d.dump.add(f, m)
}

// Keep takes over what is published of a resource, just so.
func (d *Draft) Keep(b *snapshot.Previous, end layout.Point) error { return d.list.keep(b, end) }

// Write takes a finding that says something new in the second pass, with all that is said
// of it. Its entry is encoded unless it is deleted.
func (d *Draft) Write(f *survey.Finding, m *survey.Member) error {
	if m.Change != "" && !d.set.IsFirst() {
		if err := d.events.write(f, m); err != nil {
			return err
		}
	}
	if m.Change == resourcesync.Deleted {
		d.list.remove()
		return nil
	}
	return d.list.add(f.Encoded, f.Point)
}

// Seal ends the gathering.
func (d *Draft) Seal() error {
	return errors.Join(d.list.finish(), d.events.finish(), d.dump.finish())
}

// Close closes what Seal would have closed, where a survey ended early.
func (d *Draft) Close() {
	if d.dump != nil {
		d.dump.spool.close()
	}
}

// Former opens what an updated resource was, out of the last Resource Dump. It returns nil
// if that does not have it, or has not been looked at. What it returns is valid until the
// next call.
func (d *Draft) Former(m *survey.Member) (io.ReadCloser, error) {
	if !m.IsPacked() {
		return nil, nil
	}
	return d.dump.former(&m.Before)
}

// Warnings tell of bitstreams that are larger than a package should be.
func (d *Draft) Warnings() []string { return d.dump.warnings() }

// Chunks is how many runs of events there are, each with a time of its own.
func (d *Draft) Chunks() int { return d.events.count() }

// ToWrite is how many bytes writing the lists takes, beside what is staged.
func (d *Draft) ToWrite() int64 { return d.list.toWrite() + d.events.bytes() }
