package survey

import (
	"slices"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/hashing"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// judge makes up its mind about resources, once it is known what can be.
type judge struct {
	o        *Options
	at       time.Time    // of this run, to the second
	next     *CacheWriter // nil if none is written
	settled  time.Time    // from when on a file counts as unsettled for the next run
	lastMods lastMods
	notes    *Notes
	result   Finding // the last one, whose memory is used again
}

// decided completes a finding with what changes in each set, now that the media type
// is known, or returns nil if no set has or had the resource. What changed says is of
// those that had it and have it.
func (j *judge) decided(c *candidate, f *Finding, changed func(*Member) resourcesync.ChangeType) *Finding {
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
		j.notes.outside++
		return nil
	case !c.isInAny():
		j.notes.outside++
		return c.gone(leftSets)
	}
	return f
}

// unchanged keeps what was published, but for metadata that follows from other
// things than the bytes.
func (j *judge) unchanged(c *candidate, reason string) *Finding {
	f := &j.result
	*f = Finding{
		Change: policy.Change{Reason: reason, Path: c.After.Path, URI: c.After.URI},
		Entry: resourcesync.Entry{
			Loc:          c.After.URI,
			LastModified: c.Before.LastModified,
			Metadata:     resourcesync.Metadata{Hash: j.publishedHash(c.Before.Metadata.Hash), Type: c.Before.Metadata.Type},
		},
		Size: c.After.Size,
	}
	f.Entry.Metadata.SetLength(c.After.Size)
	if t := hashing.ByExtension(c.After.Path); t != "" {
		f.Entry.Metadata.Type = t
	}
	j.setEncoding(f)
	return j.decided(c, f, func(*Member) resourcesync.ChangeType { return "" })
}

// setEncoding says of a resource that is stored in a content coding which one that is,
// and the media type of what it decodes to, as far as its name says.
func (j *judge) setEncoding(f *Finding) {
	if i := j.o.Resources.EncodingOf(f.Path); i >= 0 {
		j.notes.Used[i] = true
		f.Entry.Metadata.Encoding, f.Entry.Metadata.Type = j.o.Resources[i].Encoding, policy.DecodedType(f.Path)
	}
}

// publishedHash returns the digests that are to be published out of those that
// are known.
func (j *judge) publishedHash(known resourcesync.Hash) resourcesync.Hash {
	if len(j.o.Hash) == 1 && strings.HasPrefix(string(known), string(j.o.Hash[0])+":") && !strings.ContainsRune(string(known), ' ') {
		return known
	}
	h, _ := j.o.Hash.Select(known)
	return h
}

// fromBytes compares digests, which is what decides.
func (j *judge) fromBytes(c *candidate, now *cached, read bool) (*Finding, error) {
	f := &j.result
	*f = Finding{
		Change: policy.Change{Type: resourcesync.Created, Reason: "new", Path: c.After.Path, URI: c.After.URI},
		Size:   now.stat.Size, Read: read, Digests: now.hash,
	}
	if c.Before != nil {
		f.Type, f.Reason = compare(&c.Before.Metadata, now)
	}
	modified, err := j.modified(c, f, now)
	if err != nil {
		return nil, err
	}
	f.Entry = resourcesync.Entry{Loc: c.After.URI, LastModified: modified}
	f.Entry.Metadata.Hash = j.publishedHash(now.hash)
	f.Entry.Metadata.SetLength(now.stat.Size)
	f.Entry.Metadata.Type = now.typ
	j.setEncoding(f)
	decided := j.decided(c, f, func(m *Member) resourcesync.ChangeType {
		change, _ := compare(&m.Before.Metadata, now)
		return change
	})
	if decided == nil { // which nothing but the cache says the next time
		j.next.add(now)
		if read {
			j.notes.readOutside++
			j.notes.readBytesOutside += now.stat.Size
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
func (j *judge) modified(c *candidate, f *Finding, now *cached) (modified time.Time, err error) {
	modified = now.stat.ModTime
	if f.Type != "" {
		if modified, err = j.lastMods.of(c.After.Path, modified); err != nil {
			return modified, err
		}
		j.notes.modified.add(modified)
	}
	modified = j.inRange(c.After.Path, modified)
	if !modified.Equal(now.stat.ModTime.Truncate(time.Second)) || !now.stat.ModTime.Add(racy).Before(j.settled) ||
		c.Before != nil && !c.Before.LastModified.Equal(modified) {
		j.next.add(now)
	}
	if f.Type == "" {
		return c.Before.LastModified, nil
	}
	return modified, nil
}

// inRange is a file's own modification time, as it is published: in whole
// seconds, not in the future, and within the years that can be written.
func (j *judge) inRange(path string, t time.Time) time.Time {
	t = t.UTC().Truncate(time.Second)
	switch {
	case t.After(j.at), t.Year() > j.at.Year(): // the latest times overflow when they are compared
		j.notes.clamp(path)
		return j.at
	case t.Year() < 0:
		j.notes.clamp(path)
		return time.Time{}
	}
	return t
}
