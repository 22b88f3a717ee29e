package survey

import (
	"slices"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/hashing"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// leftSets is the reason for which a resource is deleted that is in no set any more,
// though it may be there.
const leftSets = "in no set any more"

// gone returns the finding that a resource is in no set any more, or nil if it was
// in none.
func (c *candidate) gone(reason string) *Finding {
	in := slices.DeleteFunc(c.in, func(m Member) bool { return !m.WasIn })
	if len(in) == 0 {
		return nil
	}
	for i := range in {
		in[i].Change = resourcesync.Deleted
	}
	uri := in[0].Before.Loc
	return &Finding{
		Change: policy.Change{Type: resourcesync.Deleted, Reason: reason, URI: uri},
		Entry:  resourcesync.Entry{Loc: uri}, In: in,
	}
}

// decided completes a finding with what changes in each set, now that the media type
// is known, or returns nil if no set has or had the resource. What changed says is of
// those that had it and have it.
func (d *Detector) decided(c *candidate, f *Finding, changed func(*Member) resourcesync.ChangeType) *Finding {
	c.in = slices.DeleteFunc(c.in, func(m Member) bool {
		return !m.WasIn && !m.Set.Rules().HasType(f.Entry.Metadata.Type)
	})
	for i := range c.in {
		m := &c.in[i]
		switch {
		case !m.IsIn || !m.Set.Rules().HasType(f.Entry.Metadata.Type):
			m.IsIn, m.Change = false, resourcesync.Deleted
		case !m.WasIn:
			m.Change = resourcesync.Created
		default:
			m.Change = changed(m)
		}
	}
	switch f.In = c.in; {
	case len(c.in) == 0:
		d.Notes.outside++
		return nil
	case !c.isInAny():
		d.Notes.outside++
		return c.gone(leftSets)
	}
	return f
}

// unchanged keeps what was published, but for metadata that follows from other
// things than the bytes.
func (d *Detector) unchanged(c *candidate, reason string) *Finding {
	f := &d.result
	*f = Finding{
		Change: policy.Change{Reason: reason, Path: c.After.Path, URI: c.After.URI},
		Entry: resourcesync.Entry{
			Loc:          c.After.URI,
			LastModified: c.Before.LastModified,
			Metadata:     resourcesync.Metadata{Hash: d.publishedHash(c.Before.Metadata.Hash), Type: c.Before.Metadata.Type},
		},
		Size: c.After.Size,
	}
	f.Entry.Metadata.SetLength(c.After.Size)
	if t := hashing.ByExtension(c.After.Path); t != "" {
		f.Entry.Metadata.Type = t
	}
	d.setEncoding(f)
	return d.decided(c, f, func(*Member) resourcesync.ChangeType { return "" })
}

// setEncoding says of a resource that is stored in a content coding which one that is,
// and the media type of what it decodes to, as far as its name says.
func (d *Detector) setEncoding(f *Finding) {
	if i := d.o.Resources.EncodingOf(f.Path); i >= 0 {
		d.Notes.Used[i] = true
		f.Entry.Metadata.Encoding, f.Entry.Metadata.Type = d.o.Resources[i].Encoding, policy.DecodedType(f.Path)
	}
}

// publishedHash returns the digests that are to be published out of those that
// are known.
func (d *Detector) publishedHash(known resourcesync.Hash) resourcesync.Hash {
	if len(d.o.Hash) == 1 && strings.HasPrefix(string(known), string(d.o.Hash[0])+":") && !strings.ContainsRune(string(known), ' ') {
		return known
	}
	h, _ := d.o.Hash.Select(known)
	return h
}

// fromBytes compares digests, which is what decides.
func (d *Detector) fromBytes(c *candidate, now *cached, read bool) (*Finding, error) {
	f := &d.result
	*f = Finding{
		Change: policy.Change{Type: resourcesync.Created, Reason: "new", Path: c.After.Path, URI: c.After.URI},
		Size:   now.stat.Size, Read: read, Digests: now.hash,
	}
	if c.Before != nil {
		f.Type, f.Reason = compare(&c.Before.Metadata, now)
	}
	modified, err := d.modified(c, f, now)
	if err != nil {
		return nil, err
	}
	f.Entry = resourcesync.Entry{Loc: c.After.URI, LastModified: modified}
	f.Entry.Metadata.Hash = d.publishedHash(now.hash)
	f.Entry.Metadata.SetLength(now.stat.Size)
	f.Entry.Metadata.Type = now.typ
	d.setEncoding(f)
	decided := d.decided(c, f, func(m *Member) resourcesync.ChangeType {
		change, _ := compare(&m.Before.Metadata, now)
		return change
	})
	if decided == nil { // which nothing but the cache says the next time
		d.next.add(now)
		if read {
			d.Notes.readOutside++
			d.Notes.readBytesOutside += now.stat.Size
		}
	}
	return decided, nil
}

// compare says whether the bytes are other than those that were published.
func compare(before *resourcesync.Metadata, now *cached) (resourcesync.ChangeType, string) {
	switch {
	case !before.HasLength || before.Length != now.stat.Size:
		return resourcesync.Updated, "length"
	case !hashing.Agree(before.Hash, now.hash):
		return resourcesync.Updated, "digest"
	}
	return "", "same bytes"
}

// modified returns the time of the last modification that is published of a file, and
// remembers a file that the next run could not settle by that.
func (d *Detector) modified(c *candidate, f *Finding, now *cached) (modified time.Time, err error) {
	modified = now.stat.ModTime
	if f.Type != "" {
		if modified, err = d.lastMods.of(c.After.Path, modified); err != nil {
			return modified, err
		}
		d.Notes.modified.add(modified)
	}
	modified = d.inRange(c.After.Path, modified)
	if !modified.Equal(now.stat.ModTime.Truncate(time.Second)) || !now.stat.ModTime.Add(racy).Before(d.settled) ||
		c.Before != nil && !c.Before.LastModified.Equal(modified) {
		d.next.add(now)
	}
	if f.Type == "" {
		return c.Before.LastModified, nil
	}
	return modified, nil
}

// inRange is a file's own modification time, as it is published: in whole
// seconds, not in the future, and within the years that can be written.
func (d *Detector) inRange(path string, t time.Time) time.Time {
	t = t.UTC().Truncate(time.Second)
	switch {
	case t.After(d.at), t.Year() > d.at.Year(): // the latest times overflow when they are compared
		d.Notes.clamp(path)
		return d.at
	case t.Year() < 0:
		d.Notes.clamp(path)
		return time.Time{}
	}
	return t
}
