package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// serversVariable asks for real web servers, with the configuration that prepare writes
// for them.
const serversVariable = "WELLSPRING_WEB_SERVERS"

// webServer is a program that serves a directory.
type webServer struct {
	program string
	// host is its name for prepare, and snippet what that writes, if it is not in the
	// site.
	host, snippet string
	// config returns the configuration of a server for a directory.
	config func(s *servedSite) string
	// args are those of the program, and broken is what is in its log if something is
	// wrong.
	args   func(config, dir string) []string
	broken []string
}

var webServers = []webServer{
	{
		program: "nginx", host: "nginx", snippet: "wellspring.nginx.conf", config: nginxConfig,
		args:   func(config, dir string) []string { return []string{"-c", config, "-e", filepath.Join(dir, "log")} },
		broken: []string{"[warn]", "[error]", "[crit]", "[alert]", "[emerg]"},
	},
	{
		program: "caddy", host: "caddy", snippet: "wellspring.caddy", config: caddyConfig,
		args: func(config, dir string) []string {
			return []string{"run", "--config", config, "--adapter", "caddyfile"}
		},
		broken: []string{`"level":"error"`, "Error:"},
	},
	{
		program: "apache2", host: "apache", config: apacheConfig,
		args:   func(config, dir string) []string { return []string{"-X", "-f", config} },
		broken: []string{":warn]", ":error]", ":crit]", ":alert]", ":emerg]"},
	},
}

func nginxConfig(s *servedSite) string {
	user := ""
	if os.Getuid() == 0 {
		user = "user root;\n"
	}
	return user + fmt.Sprintf(`daemon off;
pid %[1]s/pid;
error_log %[1]s/log warn;
events {}
http {
	access_log off;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	include /etc/nginx/mime.types;
	default_type text/plain;
	gzip on;
	gzip_types text/css text/xml application/xml application/json;
	server {
		listen %[2]s;
		include %[3]s;
		root %[4]s;
		location ~ /\. { deny all; }
	}
}
`, s.run, s.address, s.snippet(), s.root)
}

func caddyConfig(s *servedSite) string {
	return fmt.Sprintf(`{
	admin off
	auto_https off
}
http://%s {
	root * %s
	import %s
	encode gzip
	file_server
}
`, s.address, s.root, s.snippet())
}

func apacheConfig(s *servedSite) string {
	user := ""
	if os.Getuid() == 0 {
		user = "User #65534\nGroup #65534\n"
	}
	return user + fmt.Sprintf(`ServerRoot %[1]s
ServerName localhost
PidFile %[1]s/pid
ErrorLog %[1]s/log
LogLevel warn
Listen %[2]s
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule dir_module /usr/lib/apache2/modules/mod_dir.so
LoadModule filter_module /usr/lib/apache2/modules/mod_filter.so
LoadModule deflate_module /usr/lib/apache2/modules/mod_deflate.so
LoadModule headers_module /usr/lib/apache2/modules/mod_headers.so
LoadModule mime_module /usr/lib/apache2/modules/mod_mime.so
DefaultRuntimeDir %[1]s
Mutex file:%[1]s default
TypesConfig %[4]s
AddOutputFilterByType DEFLATE text/html text/css application/xml
DocumentRoot %[3]s
<FilesMatch "^\.ht">
	Require all denied
</FilesMatch>
<Directory %[3]s>
	AllowOverride FileInfo
</Directory>
`, s.run, s.address, s.root, s.types())
}

// types returns the table of media types that Debian has, or a short one.
func (s *servedSite) types() string {
	if _, err := os.Stat("/etc/mime.types"); err == nil {
		return "/etc/mime.types"
	}
	name := filepath.Join(s.run, "mime.types")
	if err := os.WriteFile(name, []byte("text/html html\ntext/css css\ntext/plain txt\napplication/json json\napplication/xml xml\n"), 0o644); err != nil {
		s.t.Fatal(err)
	}
	return name
}

// servedSite is a site with a publication, and a server for it.
type servedSite struct {
	t      *testing.T
	server *webServer
	// root is what is served, dir the site in it and run what the server writes.
	root, dir, run string
	address, base  string
	settings       string // those of this site
	// folders are those of the publication, relative to the site, and link is the
	// Capability List of all resources, or empty.
	folders []string
	link    string
}

// snippet is the file that prepare wrote.
func (s *servedSite) snippet() string { return filepath.Join(s.run, s.server.snippet) }

// sitesToServe are publications of which each has something that the others do not.
var sitesToServe = map[string]struct {
	below, settings, link string
	folders               []string
}{
	"plain": {"", "", "resourcesync/capabilitylist.xml", []string{"resourcesync"}},
	"below": {"a/project/", "", "resourcesync/capabilitylist.xml", []string{"resourcesync"}},
	"top":   {"", `folder = "."` + "\n", "capabilitylist.xml", []string{"."}},
	"sets": {"", "[[set]]\nname = \"all\"\n[[set]]\nname = \"pages\"\ntypes = [\"text/html\"]\nfolder = \"lists/pages\"\n",
		"resourcesync/all/capabilitylist.xml", []string{"resourcesync", "resourcesync/all", "lists/pages"}},
	"parts": {"", "[[set]]\nname = \"pages\"\ntypes = [\"text/html\"]\n[[set]]\nname = \"data\"\ninclude = [\"*.json\", \"table.txt\"]\n",
		"", []string{"resourcesync", "resourcesync/pages", "resourcesync/data"}},
}

// TestServers has real servers serve publications, and looks at all files of them.
func TestServers(t *testing.T) {
	if os.Getenv(serversVariable) == "" {
		t.Skipf("real servers are for %s=1, as in .ci/hosts", serversVariable)
	}
	for i := range webServers {
		server := &webServers[i]
		for name := range sitesToServe {
			t.Run(server.host+"/"+name, func(t *testing.T) {
				if _, err := exec.LookPath(server.program); err != nil {
					t.Skipf("%s is not here", server.program)
				}
				s := newServedSite(t, server, name)
				s.publish()
				stop := s.start()
				s.checkAll()
				s.checkLog()
				s.audit()
				s.checkMissing()
				stop()
			})
		}
	}
}

func newServedSite(t *testing.T, server *webServer, name string) *servedSite {
	t.Helper()
	of := sitesToServe[name]
	dir := t.TempDir()
	s := &servedSite{t: t, server: server, root: filepath.Join(dir, "root"), run: filepath.Join(dir, "run"), address: freeAddress(t)}
	s.dir = filepath.Join(s.root, filepath.FromSlash(of.below))
	s.base = "http://" + s.address + "/" + of.below
	s.settings, s.folders = of.settings, of.folders
	if of.link != "" {
		s.link = fmt.Sprintf(`<%s%s>; rel="resourcesync"`, s.base, of.link)
	}
	for _, d := range []string{s.dir, s.run} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{filepath.Dir(dir), dir} { // for servers that give up their privileges
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// freeAddress returns one at which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (s *servedSite) write(name, content string, at time.Time) {
	s.t.Helper()
	name = filepath.Join(s.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Chtimes(name, at, at); err != nil {
		s.t.Fatal(err)
	}
}

// publish makes a site, prepares it for the server, and publishes it while it changes,
// so that there is one of every kind of document.
func (s *servedSite) publish() {
	settings := filepath.Join(s.run, "wellspring.toml")
	text := fmt.Sprintf("source = %q\nbase_url = %q\nrotate = \"run\"\narchive = true\ncache = \"none\"\nhub = %q\n", s.dir, s.base, testHub) + s.settings +
		"[versions]\nmatch = [\"*.html\", \"notes\"]\n[patches]\n"
	if err := os.WriteFile(settings, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
	day := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	table := strings.Repeat("7,North pier,318\n8,Fish quay,338\n", 40)
	s.write("index.html", "<head></head>", day)
	s.write("sub/a page, 100% ü.html", "<head></head><p>x", day)
	s.write("style.css", "p { color: black }", day)
	s.write("feed.xml", "<feed/>", day)
	s.write("notes", "one", day)
	s.write("empty.txt", "", day)
	mustRun(s.t, "prepare", "--config", settings, "--host", s.server.host, "--snippets", s.run)
	for i := range 4 {
		now := day.AddDate(0, 0, i)
		s.write("sub/table.txt", fmt.Sprintf("%s9,Basin,%d\n", table, i), now)
		s.write("levels.json", fmt.Sprintf(`{"levels": [%s%d]}`, strings.Repeat("300, ", 40), i), now)
		s.write("notes", fmt.Sprint(i), now)
		s.write("index.html", fmt.Sprintf("<head></head><p>%d", i), now)
		mustRun(s.t, "build", "--config", settings, "--now", now.Add(time.Hour).Format(time.RFC3339))
	}
}

// testHub is the hub of all sites. Nobody asks it.
const testHub = "https://hub.example/"

// start starts the server, and waits for it to answer.
func (s *servedSite) start() (stop func()) {
	config, log := filepath.Join(s.run, "config"), filepath.Join(s.run, "output")
	if err := os.WriteFile(config, []byte(s.server.config(s)), 0o644); err != nil {
		s.t.Fatal(err)
	}
	output, err := os.Create(log)
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(s.server.program, s.server.args(config, s.run)...)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.Env = append(os.Environ(), "HOME="+s.run, "XDG_DATA_HOME="+s.run, "XDG_CONFIG_HOME="+s.run)
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	kill := func() { cmd.Process.Kill(); output.Close() }
	s.t.Cleanup(kill)
	for {
		if c, err := net.Dial("tcp", s.address); err == nil {
			c.Close()
			break
		}
		select {
		case err := <-ended:
			s.t.Fatalf("%s ended: %v\n%s", s.server.program, err, s.logs())
		case <-time.After(20 * time.Millisecond):
		}
	}
	return func() { kill(); <-ended }
}

func (s *servedSite) logs() string {
	var all []byte
	for _, name := range []string{"log", "output"} {
		b, _ := os.ReadFile(filepath.Join(s.run, name))
		all = append(all, b...)
	}
	return string(all)
}

func (s *servedSite) checkLog() {
	for line := range strings.Lines(s.logs()) {
		if slices.ContainsFunc(s.server.broken, func(b string) bool { return strings.Contains(line, b) }) {
			s.t.Errorf("in the log: %s", line)
		}
	}
}

// served is how a file has to be served. Where a type is empty, it is not ours.
type served struct {
	mediaType, cache, link string
}

const forever = "public, max-age=31536000, immutable"

// want says how a file has to be served.
func (s *servedSite) want(name string) served {
	if name == ".well-known/resourcesync" {
		return served{"application/xml", "no-cache", ""}
	}
	for _, folder := range s.folders {
		rest := name
		if folder != "." {
			var in bool
			if rest, in = strings.CutPrefix(name, folder+"/"); !in {
				continue
			}
		}
		if w, ok := wantInFolder(rest, folder == "."); ok {
			if rest == "framework.xml" {
				w.link = fmt.Sprintf(`<%s%s>; rel="self", <%s>; rel="hub"`, s.base, name, testHub)
			}
			return w
		}
	}
	return served{mediaType: map[string]string{".html": "text/html", ".css": "text/css"}[path.Ext(name)], link: s.link}
}

func wantInFolder(name string, shared bool) (served, bool) {
	types := map[string]string{".xml": "application/xml", ".json": "application/json", ".html": "text/html", ".css": "text/css", ".zip": "application/zip"}
	kind, rest, below := strings.Cut(name, "/")
	switch {
	case !below && shared && (strings.HasSuffix(name, "list.xml") || strings.HasSuffix(name, "dump.xml") || strings.HasSuffix(name, "-archive.xml") || name == "framework.xml" || name == "publication.json" || name == "resourcesync.html" || name == "resourcesync.css"),
		!below && !shared:
		return served{types[path.Ext(name)], "no-cache", ""}, true
	case kind == "changelist":
		return served{"application/xml", "no-cache", ""}, true
	case kind == "resourcelist", kind == "resourcedump", kind == "changedump", kind == "description":
		return served{types[path.Ext(name)], forever, ""}, true
	case kind == "patches":
		return served{map[string]string{".zst": "application/x-zstd-patch", ".json-patch": "application/json-patch+json"}[path.Ext(name)], forever, ""}, true
	case kind == "versions" && path.Base(rest) == "timemap.link":
		return served{"application/link-format", "no-cache", ""}, true
	case kind == "versions":
		return served{cache: forever}, true
	}
	return served{}, false
}

// checkAll looks at every file below the site.
func (s *servedSite) checkAll() {
	kinds := map[string]int{}
	err := filepath.WalkDir(s.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".ht") {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		below, err := filepath.Rel(s.dir, name)
		if err != nil {
			return err
		}
		below = filepath.ToSlash(below)
		kinds[path.Base(path.Dir(below))]++
		kinds[path.Base(below)]++
		s.checkFile(below, content)
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, kind := range []string{".well-known", "changelist", "resourcelist", "resourcedump", "changedump", "patches", "timemap.link", "framework.xml"} {
		if kinds[kind] == 0 {
			s.t.Errorf("there is no %s to be looked at", kind)
		}
	}
}

func (s *servedSite) checkFile(name string, content []byte) {
	want := s.want(name)
	got := s.ask("GET", name, 200, want)
	if !bytes.Equal(got.body, content) {
		s.t.Errorf("%s: %d other bytes than the file", name, len(got.body))
	}
	head := s.ask("HEAD", name, 200, want)
	if a, b := head.Header.Get("Content-Length"), fmt.Sprint(len(content)); a != b && len(content) > 0 {
		s.t.Errorf("%s: HEAD says that its length is %s, not %s", name, a, b)
	}
	if since := got.Header.Get("Last-Modified"); since == "" {
		s.t.Errorf("%s: there is no time of modification", name)
	} else {
		s.ask("GET", name, 304, served{cache: want.cache}, "If-Modified-Since", since)
	}
	if tag := got.Header.Get("Etag"); tag == "" {
		s.t.Errorf("%s: there is no entity tag", name)
	} else {
		s.ask("GET", name, 304, served{cache: want.cache}, "If-None-Match", tag)
	}
	if len(content) > 1 {
		last := fmt.Sprint(len(content) - 1)
		if part := s.ask("GET", name, 206, want, "Range", "bytes=1-"); !bytes.Equal(part.body, content[1:]) {
			s.t.Errorf("%s: the range from 1 to %s is another", name, last)
		}
	}
	if strings.HasSuffix(name, ".zip") {
		zip := s.ask("GET", name, 200, want, "Accept-Encoding", "gzip, br, zstd")
		if coding := zip.Header.Get("Content-Encoding"); coding != "" || !bytes.Equal(zip.body, content) {
			s.t.Errorf("%s: it is served with the content coding %q", name, coding)
		}
	}
}

// answered is what a server said, with the body.
type answered struct {
	*http.Response
	body []byte
}

var plainClient = &http.Client{
	Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 2},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// ask asks for a file, and compares the answer with what is wanted.
func (s *servedSite) ask(method, name string, status int, want served, header ...string) answered {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.base+(&url.URL{Path: name}).EscapedPath(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := plainClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	what := fmt.Sprintf("%s %s %q", method, r.URL, header)
	if answer.StatusCode != status {
		s.t.Errorf("%s: status %d, want %d", what, answer.StatusCode, status)
	}
	typ, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if want.mediaType != "" && typ != want.mediaType {
		s.t.Errorf("%s: Content-Type %q, want %q", what, answer.Header.Get("Content-Type"), want.mediaType)
	}
	if cache := answer.Header.Values("Cache-Control"); strings.Join(cache, "|") != want.cache {
		s.t.Errorf("%s: Cache-Control %q, want %q", what, cache, want.cache)
	}
	if links := answer.Header.Values("Link"); status != 304 && strings.Join(links, "|") != want.link {
		s.t.Errorf("%s: Link %q, want %q", what, links, want.link)
	}
	return answered{answer, body}
}

// audit has the auditor look at everything through the server. Below the top of a host,
// it misses the well-known URI, as it should.
func (s *servedSite) audit() {
	var out bytes.Buffer
	args := []string{"verify", s.base, "--all", "--strict"}
	if s.dir != s.root {
		args = args[:3]
	}
	if code := run(s.t.Context(), args, &out, &out); code != 0 {
		s.t.Errorf("the audit exits with %d:\n%s", code, &out)
	}
}

// checkMissing asks for what is not there: no cache must keep that for long, since it
// may be there soon.
func (s *servedSite) checkMissing() {
	for _, folder := range s.folders {
		for _, name := range []string{"resourcelist", "changelist", "versions", "patches", "."} {
			name = path.Join(folder, name, "00000000000000000000000000000000.xml")
			r := s.asked(name)
			if cache := r.Header.Get("Cache-Control"); r.StatusCode != 404 || strings.Contains(cache, "max-age") {
				s.t.Errorf("%s, which is not there: status %d, Cache-Control %q", name, r.StatusCode, cache)
			}
		}
	}
}

func (s *servedSite) asked(name string) *http.Response {
	r, err := plainClient.Get(s.base + name)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Body.Close()
	return r
}
