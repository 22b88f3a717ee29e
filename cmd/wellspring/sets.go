package main

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/wellspring-sync/wellspring/generator"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/links"
	"github.com/wellspring-sync/wellspring/internal/settings"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// setSets takes the sets of resources from the file of settings.
func (l *loaded) setSets(o *generator.Options, f *sourceFlags) error {
	asked := true
	for i := range l.file.Sets {
		s := &l.file.Sets[i]
		set, err := l.set(*o, f, s)
		if err != nil {
			return fmt.Errorf("%s: the set %q: %w", l.at(s.Line), s.Name, err)
		}
		asked = asked && s.Dumps != ""
		o.Sets = append(o.Sets, set)
	}
	o.DumpsByDefault = o.DumpsByDefault && (len(o.Sets) == 0 || !asked)
	if err := o.CheckSets(); err != nil {
		return fmt.Errorf("%s: %w", l.file.Name, err)
	}
	return nil
}

// keepSets takes from the file of settings what is kept of each set, for prune.
func (l *loaded) keepSets(o *generator.Options, all *sourceFlags) error {
	if l.file == nil {
		return nil
	}
	for i := range l.file.Sets {
		s := &l.file.Sets[i]
		f, own := *all, *o
		f.keepChanges, f.archiveKeep = cmp.Or(s.KeepChanges, f.keepChanges), cmp.Or(s.ArchiveKeep, f.archiveKeep)
		if err := f.setKeep(&own); err != nil {
			return fmt.Errorf("%s: the set %q: %w", l.at(s.Line), s.Name, asSetting(err))
		}
		o.Sets = append(o.Sets, policy.Set{Name: s.Name, Folder: s.Folder, KeepChanges: own.KeepChanges, ArchiveKeep: own.ArchiveKeep})
	}
	return nil
}

// set returns a set: what is not said of it is as for all.
func (l *loaded) set(o generator.Options, all *sourceFlags, s *settings.Set) (set policy.Set, err error) {
	f := *all
	for _, own := range []struct {
		flag  *string
		value string
	}{
		{&f.dumps, s.Dumps}, {&f.packageSize, s.PackageSize}, {&f.rotate, s.Rotate},
		{&f.keepChanges, s.KeepChanges}, {&f.archiveKeep, s.ArchiveKeep},
	} {
		if own.value != "" {
			*own.flag = own.value
		}
	}
	for _, take := range []func(*generator.Options) error{f.setDumps, f.setHistory, f.setKeep} {
		if err := take(&o); err != nil {
			return set, asSetting(err)
		}
	}
	set = policy.Set{
		Name: s.Name, Folder: s.Folder, Dumps: o.Dumps, PackageSize: o.PackageSize, Rotate: o.Rotate,
		KeepChanges: o.KeepChanges, Archive: o.Archive, ArchiveKeep: o.ArchiveKeep,
	}
	if s.Archive != nil {
		set.Archive = s.Archive
	}
	if set.DescribedBy, err = aboutURI(&o, s.DescribedBy, ""); err != nil {
		return set, err
	}
	if set.Hub = cmp.Or(s.Hub, o.Hub); set.Hub == "none" {
		set.Hub = ""
	}
	if err := checkHub(set.Hub); err != nil {
		return set, err
	}
	set.Resources, err = l.selection(&o, s)
	return set, err
}

// asSetting names in an error of a flag the setting instead.
func asSetting(err error) error {
	text, ok := strings.CutPrefix(err.Error(), "--")
	if !ok {
		return err
	}
	end := strings.IndexAny(text, ": ")
	if end < 0 {
		return err
	}
	return fmt.Errorf("%s%s", settingName(text[:end]), text[end:])
}

// selection returns the rules by which files are in a set.
func (l *loaded) selection(o *generator.Options, s *settings.Set) (sel policy.Selection, err error) {
	if sel.Include, err = globs("include", s.Include); err != nil {
		return sel, err
	}
	if sel.Exclude, err = globs("exclude", s.Exclude); err != nil {
		return sel, err
	}
	for _, t := range s.Types {
		if !resourcesync.IsMediaType(strings.ReplaceAll(t, "*", "x")) || strings.Contains(t, ";") {
			return sel, fmt.Errorf("types: %q is not a media type such as text/html or image/*", t)
		}
		sel.Types = append(sel.Types, strings.ToLower(t))
	}
	if sel.MinSize, err = sizeOf("min_size", s.MinSize); err != nil {
		return sel, err
	}
	if sel.MaxSize, err = sizeOf("max_size", s.MaxSize); err != nil {
		return sel, err
	}
	if s.MaxSize != "" && sel.MaxSize == 0 {
		return sel, fmt.Errorf("max_size is %s, so that only empty files would be in it", s.MaxSize)
	}
	if sel.MaxSize > 0 && sel.MaxSize < sel.MinSize {
		return sel, fmt.Errorf("max_size is %s, less than min_size", s.MaxSize)
	}
	now := time.Now
	if o.Now != nil {
		now = o.Now
	}
	if sel.ModifiedAfter, err = timeOf("modified_after", s.ModifiedAfter, now); err != nil {
		return sel, err
	}
	if sel.ModifiedBefore, err = timeOf("modified_before", s.ModifiedBefore, now); err != nil {
		return sel, err
	}
	if !sel.ModifiedBefore.IsZero() && !sel.ModifiedBefore.After(sel.ModifiedAfter) {
		return sel, fmt.Errorf("modified_before is %s, not later than modified_after", s.ModifiedBefore)
	}
	if s.Paths != "" {
		sel.Paths, err = policy.ReadPaths(l.relativeTo(s.Paths))
	}
	return sel, err
}

func sizeOf(name, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	size, err := humanize.ParseBytes(text)
	if err != nil || size > math.MaxInt64 {
		return 0, fmt.Errorf("%s is %q, which is not a size such as 10kB or 1GB", name, text)
	}
	return int64(size), nil
}

// timeOf returns the time that a text says: a date, a time, or how long ago it is.
func timeOf(name, text string, now func() time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if t, err := resourcesync.ParseDateTime(text); err == nil {
		return t, nil
	}
	age, err := policy.ParseKeep(text)
	if err != nil || age.Before(now()).IsZero() {
		return time.Time{}, fmt.Errorf("%s is %q, which is neither a date such as 2026-01-31, nor a time, nor an age such as 30d", name, text)
	}
	return age.Before(now()), nil
}

// setBeside takes what the file of settings says of versions and patches, which both
// need the former bytes of resources.
func (l *loaded) setBeside(o *generator.Options) (err error) {
	if v := l.file.Versions; v != nil {
		if err := l.setVersions(o); err != nil {
			return err
		}
		if err := l.needDump(o, "versions", v.Line); err != nil {
			return err
		}
		if o.Versions.Match, err = globs("match", v.Match); err != nil {
			return fmt.Errorf("%s: versions: %w", l.at(v.Line), err)
		}
		if v.TimeGate != "" {
			o.Versions.TimeGate, o.Versions.TimeGateName = v.TimeGate, l.at(v.Line)+": versions: timegate"
			if _, err := links.New([]policy.LinkRule{o.Versions.TimeGateRule()}); err != nil {
				return err
			}
		}
	}
	if p := l.file.Patches; p != nil {
		o.Patches = &policy.Patches{}
		if err := l.needDump(o, "patches", p.Line); err != nil {
			return err
		}
		if o.Patches.Match, err = globs("match", p.Match); err != nil {
			return fmt.Errorf("%s: patches: %w", l.at(p.Line), err)
		}
	}
	return nil
}

// setVersions takes which versions are kept.
func (l *loaded) setVersions(o *generator.Options) error {
	if l.file == nil || l.file.Versions == nil {
		return nil
	}
	o.Versions = &policy.Versions{}
	v := l.file.Versions
	if v.Keep == "" || v.Keep == "all" {
		return nil
	}
	keep, err := policy.ParseArchiveKeep(v.Keep)
	if err != nil {
		return fmt.Errorf("%s: versions: keep: %w, nor all", l.at(v.Line), err)
	}
	o.Versions.Keep = &keep
	return nil
}

// needDump makes sure that there is a Resource Dump.
func (l *loaded) needDump(o *generator.Options, what string, line int) error {
	has := o.Dumps.Resource && len(o.Sets) == 0
	for i := range o.Sets {
		has = has || o.Sets[i].Dumps.Resource
	}
	if has {
		return nil
	}
	return fmt.Errorf("%s: %s needs a Resource Dump, since the former bytes of what has changed come from that: set dumps to resource, or resource,change", l.at(line), what)
}
