package verify

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

// mostMementos is how many mementos of one TimeMap are looked for, and mostReported
// how many findings there are of its form.
const (
	mostMementos = 10_000
	mostReported = 10
)

// timeMap is a TimeMap that is being read.
type timeMap struct {
	c    *linkedCheck
	r    *resource
	base *url.URL

	about    bool // it names its resource
	more     bool // it leads to other TimeMaps
	listed   bool // it has the memento to which the entry links
	reported int
	here     []string // mementos on the host of the publication
}

// checkTimeMap looks at a TimeMap in link-format. See RFC 7089 §5.
func (c *linkedCheck) checkTimeMap(ctx context.Context, reader resourceReader, r *resource, text string) error {
	if int64(len(text)) > c.a.o.Limits.TimeMapBytes {
		r.doc.report(auditLimit, r.at, r.uri, "the TimeMap %s is longer than %d bytes; it was not read", clip(r.uri), c.a.o.Limits.TimeMapBytes)
		return nil
	}
	base, err := url.Parse(r.uri)
	if err != nil {
		return nil // which is a URI to others
	}
	t := &timeMap{c: c, r: r, base: base}
	if !t.read(text) {
		return nil
	}
	if !t.about {
		t.report(timemapForm, "it does not name %s with rel=\"original\"", clip(r.link.loc))
	}
	if r.link.current && r.link.memento != "" && !t.listed && !t.more {
		t.report(timemapComplete, "it does not list %s, to which the entry links as its memento", clip(r.link.memento))
	}
	return t.checkMementos(ctx, reader)
}

func (t *timeMap) report(r *Rule, format string, args ...any) {
	if t.reported++; t.reported <= mostReported {
		t.r.doc.report(r, t.r.at, t.r.uri, "the TimeMap %s: "+format, append([]any{clip(t.r.uri)}, args...)...)
	}
}

// read reads the links, and reports whether all of it is link-format.
func (t *timeMap) read(text string) bool {
	p := linkFormat{text: text}
	for {
		l, err := p.next()
		if err == io.EOF {
			return true
		}
		if err != nil {
			t.report(timemapForm, "it is no link-format: %v", err)
			return false
		}
		t.link(l)
	}
}

// link takes a link in. Those with an anchor may be links of something else.
func (t *timeMap) link(l *formatLink) {
	if l.anchor != "" && !sameURI(t.resolved(l.anchor), t.r.link.loc) {
		return
	}
	uri := t.resolved(l.target)
	if l.has("original") {
		if !sameURI(uri, t.r.link.loc) {
			t.report(timemapForm, "line %d: it is about %s, not about %s", l.line, clip(uri), clip(t.r.link.loc))
		}
		t.about = true // or this was told
	}
	if l.has(relTimemap) {
		t.more = t.more || !sameURI(uri, t.r.uri)
	}
	if l.has(relMemento) {
		t.memento(l, uri)
	}
}

func (t *timeMap) memento(l *formatLink, uri string) {
	if !isMementoDatetime(l.datetime) {
		t.report(timemapForm, "line %d: the datetime of a memento is %q, not such as %q", l.line, clip(l.datetime), "Tue, 20 Jun 2000 18:02:59 GMT")
	}
	t.listed = t.listed || sameURI(uri, t.r.link.memento)
	if resourcesync.IsURI(uri) && t.r.link.list.isHere(uri) && len(t.here) <= mostMementos {
		t.here = append(t.here, uri)
	}
}

// resolved returns a URI reference of the TimeMap as an absolute URI.
func (t *timeMap) resolved(reference string) string {
	if resourcesync.IsURI(reference) {
		return reference
	}
	u, err := t.base.Parse(reference)
	if err != nil {
		return reference
	}
	return u.String()
}

// isMementoDatetime reports whether s has the one form that RFC 7089 §2.1.1 allows, and
// is a date that there was.
func isMementoDatetime(s string) bool {
	at, err := time.Parse(http.TimeFormat, s)
	return err == nil && at.Format(http.TimeFormat) == s
}

// checkMementos sees that what the TimeMap lists is there. What it is, is compared
// where a hash is stated of it.
func (t *timeMap) checkMementos(ctx context.Context, reader resourceReader) error {
	if len(t.here) > mostMementos {
		t.here = t.here[:mostMementos]
		t.r.doc.report(auditLimit, t.r.at, t.r.uri, "the TimeMap %s lists more than %d mementos; the others were not looked for", clip(t.r.uri), mostMementos)
	}
	slices.Sort(t.here)
	for _, uri := range slices.Compact(t.here) {
		m := &resource{uri: uri, doc: t.r.doc, at: t.r.at, bare: true, link: &linkOf{list: t.r.link.list, kind: linkedContent, rel: relMemento, loc: t.r.link.loc}}
		if _, err := reader.read(ctx, m); errors.Is(err, errNotThere) && t.c.isExpected(m) {
			t.report(timemapMemento, "its memento %s: %v", clip(uri), err)
		} else if err != nil {
			if err := t.c.had(ctx, m, 0, err); err != nil {
				return err
			}
		}
	}
	return nil
}
