package verify

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/html"
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
	return start{}, fmt.Errorf("no Source was found: %s, nor at %s or %s, no link with rel=\"resourcesync\" in the page or its headers, and no Sitemap in robots.txt that is a Resource List%s",
		what, candidates[0], candidates[len(candidates)-1], withHint(w.hint(ctx)))
}

func withHint(hint string) string {
	if hint == "" {
		return ""
	}
	return ". " + hint
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
		if value = strings.TrimSpace(value); ok && strings.EqualFold(strings.TrimSpace(name), "sitemap") && isURL(value) {
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
		Rule: wellKnown, Document: uri, order: -1, Message: "there is no Source Description at the well-known URI", Hint: w.hint(ctx),
	})
}

// hint returns what helps on the host that the server seems to be, when
// .well-known does not get there.
func (w *web) hint(ctx context.Context) string {
	var server string
	w.ask(ctx, http.MethodGet, w.atHost("/"), nil, func(r *http.Response, _ *answer) error {
		server = strings.ToLower(r.Header.Get("Server"))
		return nil
	})
	host := strings.ToLower(w.base.Hostname())
	for _, h := range hosts {
		if h.domain != "" && strings.HasSuffix(host, h.domain) || strings.HasPrefix(server, h.server) {
			return h.hint
		}
	}
	return ""
}

// hosts are those whose way with .well-known is known.
var hosts = []struct{ domain, server, hint string }{
	{".github.io", "github.com", "GitHub Pages: put .nojekyll at the top of what is published; with actions/upload-pages-artifact, set include-hidden-files: true. A project site cannot own the host's /.well-known: link to the Capability List from its pages."},
	{".gitlab.io", "gitlab", "GitLab Pages: the job has to copy .well-known into public/, which cp public/* leaves out."},
	{".netlify.app", "netlify", "Netlify: deploy with its own client, version 2 or later, or publish the file under another name and redirect /.well-known/* to it."},
	{".pages.dev", "cloudflare", "Cloudflare Pages: see that the build copies .well-known into the directory that is uploaded."},
	{".amplifyapp.com", "amplify", "AWS Amplify leaves out files that begin with a dot: publish the file under another name, and add a rewrite rule for /.well-known/resourcesync."},
	{".surge.sh", "surge", "surge leaves out files that begin with a dot: add a .surgeignore with the line !.well-known"},
	{".amazonaws.com", "amazons3", "S3: upload .well-known/resourcesync as well (s3deploy leaves it out unless -skip-local-dirs is changed), with the type application/xml."},
	{".storage.googleapis.com", "uploadserver", "Cloud Storage: upload .well-known/resourcesync as well, with the type application/xml."},
	{"", "nginx", "nginx: see that no rule such as location ~ /\\. denies it, and give it a type: location = /.well-known/resourcesync { default_type application/xml; }"},
	{"", "apache", "Apache: see that no rule denies files that begin with a dot, and give it a type: <Files resourcesync> ForceType application/xml </Files>"},
	{"", "caddy", "Caddy: see that no hide or path rule denies it, and give it a type: header /.well-known/resourcesync Content-Type application/xml"},
}
