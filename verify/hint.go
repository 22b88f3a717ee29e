package verify

import (
	"context"
	"net/http"
	"net/url"
	"strings"
)

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
		if h.domain != "" && strings.HasSuffix(host, h.domain) || h.server != "" && strings.HasPrefix(server, h.server) {
			return h.hint
		}
	}
	return "Deployers such as s3deploy, and rules of servers, leave out names that begin with a dot: see that .well-known/resourcesync is uploaded, and served."
}

// hintFor returns what helps if the Source was found at another URL.
func (w *web) hintFor(ctx context.Context, top *url.URL) string {
	if strings.HasSuffix(top.Path, "/"+wellKnownPath) {
		return "It is at " + clip(top.String()) + ", below the top of the host: put a copy at the top as well, or give Destinations that URL."
	}
	return w.hint(ctx)
}

// hosts are those whose way with .well-known is known.
var hosts = []struct{ domain, server, hint string }{
	{".github.io", "github.com", "GitHub Pages: actions/upload-pages-artifact needs include-hidden-files: true (from version 5 on); a branch needs a .nojekyll at its top. A project site cannot own the host's /.well-known: link to the Capability List from its pages, and give Destinations the URL of the Source Description."},
	{".gitlab.io", "gitlab", "GitLab Pages: the job has to put .well-known into public/, which cp DIR/* leaves out."},
	{".netlify.app", "netlify", "Netlify: deploy with its own client, version 2 or later, or publish the file under another name and redirect to it, in _redirects: /.well-known/* /well-known/:splat 200!"},
	{".pages.dev", "cloudflare", "Cloudflare Pages: see that the build puts .well-known into the directory that is uploaded. If Cloudflare only stands before the host, look at that."},
	{".amplifyapp.com", "amplify", "AWS Amplify leaves out files that begin with a dot: publish the file under another name, and add a rewrite rule for /.well-known/resourcesync."},
	{".surge.sh", "surge", "surge leaves out files that begin with a dot: add a .surgeignore with the line !.well-known"},
	{".amazonaws.com", "amazons3", "S3: upload .well-known/resourcesync as well, with the type application/xml. aws s3 sync does; s3deploy leaves it out unless -skip-local-dirs is changed."},
	{".storage.googleapis.com", "uploadserver", "Cloud Storage: upload .well-known/resourcesync as well, with the type application/xml."},
	{".web.core.windows.net", "windows-azure", "Azure: upload .well-known/resourcesync into $web as well, with the type application/xml."},
	{"", "nginx", "nginx: see that no rule such as location ~ /\\. denies it; wellspring prepare --host nginx writes what it needs, to be included before such rules."},
	{"", "apache", "Apache: see that no rule denies names that begin with a dot; wellspring prepare --host apache writes a .htaccess, and the exception in a comment there."},
	{"", "caddy", "Caddy: see that no hide or path rule denies it; wellspring prepare --host caddy writes what it needs."},
}
