package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/generator"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/links"
	"github.com/wellspring-sync/wellspring/internal/settings"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// setSets takes the sets of resources from the file of settings.
func (l *loaded) setSets(o *generator.Options) error {
	asked := true
	for i := range l.file.Sets {
		s := &l.file.Sets[i]
		set, err := l.set(o, s)
		if err != nil {
			return l.aboutSet(s, err)
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

func (l *loaded) aboutSet(s *settings.Set, err error) error {
	return fmt.Errorf("%s: the set %q: %w", l.at(s.Line), s.Name, err)
}

// keepSets takes from the file of settings what is kept of each set, for prune.
func (l *loaded) keepSets(o *generator.Options) error {
	for i := range l.file.Sets {
		s := &l.file.Sets[i]
		set := policy.Set{Name: s.Name, Folder: s.Folder, KeepChanges: o.KeepChanges, ArchiveKeep: o.ArchiveKeep}
		if err := take(keepOf(s, &set)); err != nil {
			return l.aboutSet(s, err)
		}
		o.Sets = append(o.Sets, set)
	}
	return nil
}

// said is what a table says of a setting, if it says something.
type said struct {
	name, text string
	value      *value
}

// take takes what is said.
func take(all []said) error {
	for _, s := range all {
		if s.text == "" {
			continue
		}
		if s.value.Set(s.text); s.value.err != nil {
			return about(s.name, s.value.err)
		}
	}
	return nil
}

func keepOf(s *settings.Set, set *policy.Set) []said {
	return []said{
		{"keep_changes", s.KeepChanges, valueOf(&set.KeepChanges, policy.ParseKeep)},
		{"archive_keep", s.ArchiveKeep, valueOf(&set.ArchiveKeep, policy.ParseArchiveKeep)},
	}
}

// set returns a set: what is not said of it is as for all.
func (l *loaded) set(o *generator.Options, s *settings.Set) (set policy.Set, err error) {
	set = policy.Set{
		Name: s.Name, Folder: s.Folder, Hub: o.Hub, Dumps: o.Dumps, PackageSize: o.PackageSize, Rotate: o.Rotate,
		KeepChanges: o.KeepChanges, Archive: o.Archive, ArchiveKeep: o.ArchiveKeep,
	}
	err = take(append([]said{
		{"dumps", s.Dumps, valueOf(&set.Dumps, policy.ParseDumps)},
		{"package_size", s.PackageSize, valueOf(&set.PackageSize, parsePackageSize)},
		{"rotate", s.Rotate, valueOf(&set.Rotate, policy.ParseRotation)},
		{"hub", s.Hub, valueOf(&set.Hub, hubOrNone)},
	}, keepOf(s, &set)...))
	if err != nil {
		return set, err
	}
	if s.Archive != nil {
		set.Archive = s.Archive
	}
	if set.DescribedBy, err = aboutURI(o, s.DescribedBy); err != nil {
		return set, err
	}
	set.Resources, err = l.selection(o, s)
	return set, err
}

// hubOrNone reads the hub of a set, which may do without.
func hubOrNone(text string) (string, error) {
	if text == "none" {
		return "", nil
	}
	return parseHub(text)
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
	modified := modifiedWhen(o.Now)
	err = take([]said{
		{"min_size", s.MinSize, valueOf(&sel.MinSize, parseSize)},
		{"max_size", s.MaxSize, valueOf(&sel.MaxSize, parseSize)},
		{"modified_after", s.ModifiedAfter, valueOf(&sel.ModifiedAfter, modified)},
		{"modified_before", s.ModifiedBefore, valueOf(&sel.ModifiedBefore, modified)},
	})
	switch {
	case err != nil:
		return sel, err
	case s.MaxSize != "" && sel.MaxSize == 0:
		return sel, fmt.Errorf("max_size is %s, so that only empty files would be in it", s.MaxSize)
	case sel.MaxSize > 0 && sel.MaxSize < sel.MinSize:
		return sel, fmt.Errorf("max_size is %s, less than min_size", s.MaxSize)
	case !sel.ModifiedBefore.IsZero() && !sel.ModifiedBefore.After(sel.ModifiedAfter):
		return sel, fmt.Errorf("modified_before is %s, not later than modified_after", s.ModifiedBefore)
	case s.Paths != "":
		sel.Paths, err = policy.ReadPaths(l.relativeTo(s.Paths))
	}
	return sel, err
}

// modifiedWhen returns what reads a time of modification, or how long ago it is.
func modifiedWhen(now func() time.Time) func(string) (time.Time, error) {
	if now == nil {
		now = time.Now
	}
	return func(text string) (time.Time, error) {
		t, err := timeOrAge(text, now())
		if err != nil || t.IsZero() {
			return t, fmt.Errorf("is %q, which is neither a date such as 2026-01-31, nor a time, nor an age such as 30d", text)
		}
		return t, nil
	}
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
	v := l.file.Versions
	if v == nil {
		return nil
	}
	if o.Versions = (&policy.Versions{}); v.Keep == "" || v.Keep == "all" {
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
