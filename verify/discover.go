package verify

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"golang.org/x/net/html"

	"github.com/wellspring-sync/wellspring/internal/httpclient"
)

// start finds the Source that a URL leads to: the URL may be that of any of its
// documents, of a page that links to it, or of a place below which there is a
// Source Description. See Z39.99-2017 §6.3.
func (w *web) start(ctx context.Context) (start, error) {
	given := w.stated(w.base.String())
	f, err := w.open(ctx, given, w.o.Limits.DocumentBytes+1)
	if ctx.Err() != nil {
		return start{}, context.Cause(ctx)
	}
	var links []string
	what := "there is no ResourceSync document at this URL"
	if err != nil && !errors.Is(err, errNotThere) { // the top of a host may well be closed
		what = "this URL: " + err.Error() + "; there is none"
	}
	if err == nil {
		defer f.Close()
		if isSitemap(f) {
			return start{uri: given}, nil
		}
		links = linksToLists(f, given)
	}
	candidates := append([]string{w.below(wellKnownPath)}, links[:min(len(links), 10)]...)
	candidates = append(candidates, w.atHost("/"+wellKnownPath))
	for _, uri := range candidates {
		if w.isDocument(ctx, uri) {
			return start{uri: uri}, nil
		}
	}
	for _, uri := range w.robots(ctx) {
		if w.isDocument(ctx, uri) {
			return start{uri: uri}, nil
		}
	}
	return start{}, fmt.Errorf("no Source was found: %s, nor at %s or %s, no link with rel=\"resourcesync\" in the page or its headers, and no Sitemap in robots.txt that is a Resource List. %s",
		what, candidates[0], candidates[len(candidates)-1], w.hint(ctx))
}

// below returns a URI below the directory of the given one.
func (w *web) below(path string) string {
	u := *w.base
	u.RawQuery, u.Fragment = "", ""
	u.Path = u.Path[:strings.LastIndex(u.Path, "/")+1]
	if u.Path == "" {
		u.Path = "/"
	}
	u.RawPath = ""
	u.Path += path
	return w.stated(u.String())
}

func (w *web) atHost(path string) string {
	return w.stated((&url.URL{Scheme: w.base.Scheme, Host: w.base.Host, Path: path}).String())
}

// isDocument reports whether a URI leads to a document with a capability.
func (w *web) isDocument(ctx context.Context, uri string) bool {
	f, err := w.open(ctx, uri, w.o.Limits.DocumentBytes+1)
	if err != nil {
		return false
	}
	defer f.Close()
	if !isSitemap(f) {
		w.forget(uri) // since it may be large
		return false
	}
	return true
}

// isSitemap reports whether a file looks like a document of the standard.
func isSitemap(f io.ReaderAt) bool {
	start := make([]byte, 16<<10)
	n, _ := f.ReadAt(start, 0)
	return bytes.Contains(start[:n], []byte("<urlset")) || bytes.Contains(start[:n], []byte("<sitemapindex")) ||
		bytes.Contains(start[:n], []byte(":urlset")) || bytes.Contains(start[:n], []byte(":sitemapindex"))
}

// linksToLists returns the Capability Lists to which a page links, by its headers or
// in its head.
func linksToLists(f *file, uri string) []string {
	var all []string
	for _, l := range parseLinks(f.answer.header.Values("Link"), uri) {
		if l.rel == "resourcesync" {
			all = append(all, l.uri)
		}
	}
	if typ := essence(f.answer.header.Get("Content-Type")); typ != "text/html" && typ != "application/xhtml+xml" && typ != "" {
		return all
	}
	return append(all, linksInPage(io.NewSectionReader(f, 0, f.size), uri)...)
}

// linksInPage returns the targets of <link rel="resourcesync"> in the head of a
// page. See Z39.99-2017 §6.3.3.
func linksInPage(r io.Reader, uri string) []string {
	base, err := url.Parse(uri)
	if err != nil {
		return nil
	}
	var all []string
	z := html.NewTokenizer(r)
	z.SetMaxBuf(1 << 20)
	for len(all) < 100 {
		switch z.Next() {
		case html.ErrorToken:
			return all
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			switch t.Data {
			case "body":
				return all
			case "link":
				if href, ok := resourceSyncLink(t); ok {
					if u, err := base.Parse(href); err == nil {
						all = append(all, u.String())
					}
				}
			}
		}
	}
	return all
}

func resourceSyncLink(t html.Token) (href string, ok bool) {
	for _, a := range t.Attr {
		switch a.Key {
		case "rel":
			for rel := range strings.FieldsSeq(strings.ToLower(a.Val)) {
				ok = ok || rel == "resourcesync"
			}
		case "href":
			href = strings.TrimSpace(a.Val)
		}
	}
	return href, ok && href != ""
}

// robots returns the Sitemaps that robots.txt names. See Z39.99-2017 §6.3.4.
func (w *web) robots(ctx context.Context) []string {
	f, err := w.open(ctx, w.atHost("/robots.txt"), 1<<20)
	if err != nil {
		return nil
	}
	defer f.Close()
	var all []string
	lines := bufio.NewScanner(f)
	for lines.Scan() && len(all) < 20 {
		name, value, ok := strings.Cut(lines.Text(), ":")
		if value = strings.TrimSpace(value); ok && strings.EqualFold(strings.TrimSpace(name), "sitemap") && httpclient.IsURL(value) {
			all = append(all, value)
		}
	}
	return all
}

// checkWellKnown sees whether Destinations find the Source where they look first.
func (a *auditor) checkWellKnown(ctx context.Context, top *document) {
	w, ok := a.place.(*web)
	if !ok {
		return
	}
	u, err := url.Parse(top.uri)
	if err != nil {
		return
	}
	uri := (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/" + wellKnownPath}).String()
	if sameURI(uri, top.uri) || w.isDocument(ctx, uri) {
		return
	}
	a.findings.add(Finding{
		Rule: wellKnown, Document: uri, order: -1, Message: "there is no Source Description at the well-known URI", Hint: w.hintFor(ctx, u),
	})
}
