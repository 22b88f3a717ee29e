package verify

import (
	"bytes"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

// spot is a place in a document. The zero spot stands for all of it.
type spot struct{ line, column int }

// attrs is a set of attributes.
type attrs uint32

const (
	attrAt attrs = 1 << iota
	attrCapability
	attrChange
	attrCompleted
	attrDateTime
	attrEncoding
	attrFrom
	attrHash
	attrHref
	attrLength
	attrModified
	attrPath
	attrPri
	attrProfile
	attrRel
	attrType
	attrUntil
)

// attrNames are the attributes of the standard. See Z39.99-2017 §7, table 3.
var attrNames = map[string]attrs{
	"at": attrAt, "capability": attrCapability, "change": attrChange, "completed": attrCompleted,
	"datetime": attrDateTime, "encoding": attrEncoding, "from": attrFrom, "hash": attrHash, "href": attrHref,
	"length": attrLength, "modified": attrModified, "path": attrPath, "pri": attrPri, "profile": attrProfile,
	"rel": attrRel, "type": attrType, "until": attrUntil,
}

// metadata is an rs:md element.
type metadata struct {
	resourcesync.Metadata
	there bool  // there is such an element
	has   attrs // what is there, in the right form or not
	// coarse is true if one of the times does not say the second, so that nothing
	// follows from comparing it.
	coarse bool
	spot
}

// link is an rs:ln element.
type link struct {
	resourcesync.Link
	has attrs
	spot
}

// head is what a document says of itself.
type head struct {
	index bool
	root  spot
	md    metadata
	links []link
}

// link returns the first link with a relation, or nil.
func (h *head) link(rel string) *link { return findLink(h.links, rel) }

func findLink(links []link, rel string) *link {
	for i := range links {
		if strings.EqualFold(links[i].Rel, rel) {
			return &links[i]
		}
	}
	return nil
}

// entry is a url or sitemap element.
type entry struct {
	n            int // counted from 0
	loc          string
	lastModified time.Time
	changeFreq   string
	md           metadata
	links        []link
	spot
	locSpot, freqSpot spot

	// plain is true if the entry stands on one line, in the form in which
	// package resourcesync writes it. Where its elements are is then found out
	// when somebody wants to know.
	plain bool
	index bool
	// odd is true if a change says something that cannot be, so that nothing
	// follows from it.
	odd bool
}

// Where an element of an entry stands.
func (e *entry) atLoc() spot  { return e.at(e.locSpot, "<loc>", 0) }
func (e *entry) atFreq() spot { return e.at(e.freqSpot, "<changefreq>", 0) }
func (e *entry) atMetadata() spot {
	if !e.md.there {
		return e.at(e.spot, "<", 0)
	}
	return e.at(e.md.spot, "<rs:md", 0)
}
func (e *entry) atLink(i int) spot { return e.at(e.links[i].spot, "<rs:ln", i) }

// at returns a spot that is known, or looks for the nth of some tags.
func (e *entry) at(known spot, tag string, nth int) spot {
	if !e.plain {
		return known
	}
	text, err := resourcesync.AppendEntry(nil, e.index, e.plainEntry())
	if err != nil {
		return e.spot
	}
	at := bytes.Index(text, []byte(tag))
	for ; nth > 0 && at >= 0; nth-- {
		next := bytes.Index(text[at+1:], []byte(tag))
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return spot{e.line, 1 + max(at, 0)}
}

// plainEntry returns the entry as package resourcesync has it.
func (e *entry) plainEntry() *resourcesync.Entry {
	p := &resourcesync.Entry{Loc: e.loc, LastModified: e.lastModified, ChangeFreq: e.changeFreq, Metadata: e.md.Metadata}
	for _, l := range e.links {
		p.Links = append(p.Links, l.Link)
	}
	return p
}

// fromPlain takes over an entry from package resourcesync.
func (e *entry) fromPlain(p *resourcesync.Entry) {
	e.loc, e.lastModified, e.changeFreq = p.Loc, p.LastModified, p.ChangeFreq
	e.md = plainMetadata(p.Metadata)
	e.links = e.links[:0]
	for _, l := range p.Links {
		e.links = append(e.links, plainLink(l))
	}
}

func plainMetadata(m resourcesync.Metadata) metadata {
	return metadata{
		Metadata: m, there: !m.IsZero(),
		has: when(attrAt, !m.At.IsZero()) | when(attrCapability, m.Capability != "") | when(attrChange, m.Change != "") |
			when(attrCompleted, !m.Completed.IsZero()) | when(attrDateTime, !m.DateTime.IsZero()) |
			when(attrEncoding, m.Encoding != "") | when(attrFrom, !m.From.IsZero()) | when(attrHash, m.Hash != "") |
			when(attrLength, m.HasLength) | when(attrPath, m.Path != "") | when(attrType, m.Type != "") |
			when(attrUntil, !m.Until.IsZero()),
	}
}

func plainLink(l resourcesync.Link) link {
	return link{
		Link: l,
		has: when(attrEncoding, l.Encoding != "") | when(attrHash, l.Hash != "") | when(attrHref, l.Href != "") |
			when(attrLength, l.HasLength) | when(attrModified, !l.Modified.IsZero()) | when(attrPath, l.Path != "") |
			when(attrPri, l.Pri != 0) | when(attrProfile, l.Profile != "") | when(attrRel, l.Rel != "") |
			when(attrType, l.Type != ""),
	}
}

func when(a attrs, there bool) attrs {
	if there {
		return a
	}
	return 0
}
