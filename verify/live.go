package verify

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/internal/httpclient"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// checkAnswer looks at how a document was served.
func (d *document) checkAnswer(a *answer) {
	d.a.checkRedirect(a, d.uri, func(value, format string, args ...any) {
		d.report(httpRedirect, spot{}, value, format, args...)
	})
	typ := essence(a.header.Get("Content-Type"))
	switch {
	case typ == "":
		d.report(httpType, spot{}, "", "it is served without a Content-Type")
	case typ != "application/xml" && typ != "text/xml" && !strings.HasSuffix(typ, "+xml"):
		d.report(httpType, spot{}, typ, "it is served as %s", clip(typ))
	}
	d.checkLinkHeader(a)
}

func (a *auditor) checkRedirect(got *answer, uri string, report func(value, format string, args ...any)) {
	if got.final != uri && !sameURI(got.final, uri) {
		if u, err := url.Parse(uri); err == nil && u.String() == got.final {
			return
		}
		report(httpclient.Redacted(got.final), "it redirects to %s", clip(httpclient.Redacted(got.final)))
	}
}

// checkCaching looks at how long caches may keep a document that changes in place.
// It is known only once the document was read which ones do.
func (d *document) checkCaching(a *answer) {
	by := d.found.by
	changes := by == nil || by.capability == resourcesync.Description || by.capability == resourcesync.CapabilityList ||
		d.capability == resourcesync.ChangeList && d.head.md.has&attrUntil == 0
	if !changes {
		return
	}
	if age, how := cachedFor(a.header); age > time.Hour {
		d.report(httpCache, spot{}, how, "caches may keep it for %v (%s)", age, clip(how))
	}
}

// cachedFor returns how long caches may keep an answer without asking again, and
// which header says so. See RFC 9111 §4.2.1.
func cachedFor(h http.Header) (time.Duration, string) {
	control := strings.Join(h.Values("Cache-Control"), ",")
	var age time.Duration
	for directive := range strings.SplitSeq(strings.ToLower(control), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		switch name {
		case "no-cache", "no-store":
			return 0, ""
		case "immutable":
			age = max(age, 365*24*time.Hour)
		case "max-age", "s-maxage":
			if seconds, err := strconv.Atoi(strings.Trim(value, `"`)); err == nil && seconds > 0 {
				age = max(age, time.Duration(min(seconds, 1<<30))*time.Second)
			}
		}
	}
	if age > 0 || control != "" {
		return age, "Cache-Control: " + control
	}
	expires, err := http.ParseTime(h.Get("Expires"))
	date, errDate := http.ParseTime(h.Get("Date"))
	if err != nil || errDate != nil {
		return 0, ""
	}
	return expires.Sub(date), "Expires: " + h.Get("Expires")
}

// checkLinkHeader compares Link headers with the Capability List.
func (d *document) checkLinkHeader(a *answer) {
	list := d.found.list
	if list == nil {
		return
	}
	for _, l := range parseLinks(a.header.Values("Link"), d.uri) {
		switch {
		case l.rel != "resourcesync" || sameURI(l.uri, list.uri):
		case d.a.isList(l.uri):
			d.strayHeader = l.uri // which is judged when all sets are known
		default:
			d.report(httpLink, spot{}, l.uri, "the Link header leads to %s, not to %s", clip(l.uri), list.uri)
		}
	}
}

// checkAnswer looks at how a package was served.
func (p *packageOf) checkAnswer(f *file) {
	a := p.dump.a
	a.checkRedirect(f.answer, p.uri, func(value, format string, args ...any) { p.report(httpRedirect, f, value, format, args...) })
	switch typ := essence(f.answer.header.Get("Content-Type")); typ {
	case "application/zip", "application/x-zip-compressed":
	case "":
		p.report(httpType, f, "", "it is served without a Content-Type")
	default:
		p.report(httpType, f, typ, "it is served as %s, not application/zip", clip(typ))
	}
}

// checkAnswer looks at how a resource was served.
func (r *resource) checkAnswer(s *set, a *answer) {
	s.a.checkRedirect(a, r.uri, func(value, format string, args ...any) {
		r.doc.report(httpRedirect, r.at, value, clip(r.uri)+": "+format, args...)
	})
	got, want := essence(a.header.Get("Content-Type")), essence(r.md.Type)
	if got != "" && want != "" && got != want && !sameType(got, want) {
		r.doc.report(resourceType, r.at, got, "%s is served as %s, and listed as %s", clip(r.uri), clip(got), clip(want))
	}
	if coding := strings.ToLower(a.header.Get("Content-Encoding")); coding != strings.ToLower(r.md.Encoding) {
		r.doc.report(resourceEncoding, r.at, coding, "%s is served with the content coding %q, and listed with %q", clip(r.uri), clip(coding), clip(r.md.Encoding))
	}
	for _, l := range parseLinks(a.header.Values("Link"), r.uri) {
		if l.rel == "resourcesync" && s.list.read && !s.a.isCapabilityList(l.uri) {
			r.doc.report(httpLink, r.at, l.uri, "%s: the Link header leads to %s, which is no Capability List of this Source", clip(r.uri), clip(l.uri))
		}
	}
}

// isCapabilityList reports whether a URI is that of a Capability List of the Source.
func (a *auditor) isCapabilityList(uri string) bool {
	return slices.ContainsFunc(a.sets, func(s *set) bool { return sameURI(s.list.uri, uri) })
}

// sameType reports whether two media types are names for the same.
func sameType(x, y string) bool {
	other := map[string]string{
		"text/xml": "application/xml", "application/javascript": "text/javascript", "application/x-javascript": "text/javascript",
		"image/x-icon": "image/vnd.microsoft.icon", "application/x-gzip": "application/gzip",
	}
	if o := other[x]; o != "" {
		x = o
	}
	if o := other[y]; o != "" {
		y = o
	}
	return x == y
}

// checkTopic looks at how the topic of notifications was served. See Framework
// Notification 1.0 §4.1.
func (s *set) checkTopic(ctx context.Context, d *document, c *child) {
	w, ok := s.a.place.(*web)
	if !ok {
		return
	}
	k := w.keep(d.uri)
	if k.answer == nil {
		d.report(topicStatus, spot{}, d.uri, "the topic does not answer")
		return
	}
	if typ := essence(k.answer.header.Get("Content-Type")); typ != "application/xml" {
		d.report(topicStatus, spot{}, typ, "the topic is served as %q, not application/xml", clip(typ))
	}
	if err := w.ask(ctx, http.MethodHead, d.uri, nil, func(*http.Response, *answer) error { return nil }); err != nil && ctx.Err() == nil {
		d.report(topicStatus, spot{}, d.uri, "HEAD of the topic: %v", err)
	}
	has := func(rel, uri string) bool {
		return slices.ContainsFunc(parseLinks(k.answer.header.Values("Link"), d.uri), func(l headerLink) bool {
			return l.rel == rel && sameURI(l.uri, uri)
		})
	}
	if !has("self", d.uri) {
		d.report(topicLink, spot{}, d.uri, "there is no Link header with rel=\"self\" and the URI of the topic")
	}
	if hub := findLink(c.links, "hub"); hub != nil && !has("hub", hub.Href) {
		d.report(topicLink, spot{}, hub.Href, "there is no Link header with rel=\"hub\" and the URI of the hub, %s", clip(hub.Href))
	}
}

// headerLink is one link of a Link header.
type headerLink struct{ uri, rel string }

// parseLinks reads Link headers. See RFC 8288 §3.
func parseLinks(values []string, base string) []headerLink {
	var all []headerLink
	at, err := url.Parse(base)
	if err != nil {
		return nil
	}
	rest := strings.Join(values, ",")
	for range 100 {
		_, after, ok := strings.Cut(rest, "<")
		if !ok {
			break
		}
		target, after, ok := strings.Cut(after, ">")
		if !ok {
			break
		}
		var parameters string
		parameters, rest = cutParameters(after)
		u, err := at.Parse(strings.TrimSpace(target))
		if err != nil {
			continue
		}
		relations := relationsOf(parameters)
		for _, rel := range relations[:min(len(relations), 10)] {
			all = append(all, headerLink{u.String(), rel})
		}
	}
	return all
}

// cutParameters cuts at the comma behind the parameters of a link, which is none
// within quotes.
func cutParameters(s string) (parameters, rest string) {
	quoted := false
	for i := range len(s) {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ',' && !quoted:
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

func relationsOf(parameters string) []string {
	for p := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(p, "=")
		if strings.EqualFold(strings.TrimSpace(name), "rel") {
			return strings.Fields(strings.ToLower(strings.Trim(strings.TrimSpace(value), `"`)))
		}
	}
	return nil
}
