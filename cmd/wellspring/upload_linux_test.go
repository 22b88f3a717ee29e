package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// These tests upload with real programs, as far as they are here, while a reader of its
// own harvests what is there. They take long, and run where BUCKET_STORE is the URL of a
// bucket store, as in CI.

// remotes are the tools that upload, and where to.
var remotes = map[string]func(t *testing.T) *remoteSite{
	"gsutil":                 func(t *testing.T) *remoteSite { return onDisk(t, "gsutil", "file://") },
	"sftp":                   sftpSite,
	"rclone without digests": withoutDigests,
	"rclone to a bucket": func(t *testing.T) *remoteSite {
		s := bucketSite(t, "rclone")
		s.to, s.rounds = "s3test:"+s.to, 4
		return s
	},
	"aws to a bucket": func(t *testing.T) *remoteSite {
		s := bucketSite(t, "aws")
		s.to = "s3://" + s.to
		return s
	},
}

// remoteSite is where a site is uploaded to and read from.
type remoteSite struct {
	tool, to, url string
	env           []string
	// inPlace says that files are overwritten, so that nobody can read meanwhile, and
	// that nothing can be deleted: on disk, that is how this tool does it.
	inPlace bool
	rounds  int // of changes; some tools are slow
}

func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not here", program)
	}
}

// onDisk is a directory that is served as it is.
func onDisk(t *testing.T, tool, prefix string) *remoteSite {
	need(t, tool)
	dir := t.TempDir()
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	return &remoteSite{
		tool: tool, to: prefix + dir, url: server.URL + "/", inPlace: tool == "gsutil",
		env: []string{"RCLONE_CONFIG=/dev/null"},
	}
}

// withoutDigests is a server that does not tell digests of what it has.
func withoutDigests(t *testing.T) *remoteSite {
	s := onDisk(t, "rclone", "")
	place, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := place.Addr().String()
	place.Close()
	server := exec.CommandContext(t.Context(), "rclone", "serve", "webdav", s.to, "--addr", at)
	server.Env = append(os.Environ(), "RCLONE_CONFIG=/dev/null")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Wait() }) // which the end of the context stops
	for {
		if conn, err := net.Dial("tcp", at); err == nil {
			conn.Close()
			break
		}
		if t.Context().Err() != nil {
			t.Fatal("rclone serves nothing")
		}
		runtime.Gosched()
	}
	s.to, s.inPlace = "dav:", true
	s.env = append(s.env, "RCLONE_CONFIG_DAV_TYPE=webdav", "RCLONE_CONFIG_DAV_URL=http://"+at, "RCLONE_CONFIG_DAV_VENDOR=other")
	return s
}

// sftpSite talks to a server without a network.
func sftpSite(t *testing.T) *remoteSite {
	const server = "/usr/lib/openssh/sftp-server"
	if _, err := os.Stat(server); err != nil {
		t.Skipf("%s is not here", server)
	}
	s := onDisk(t, "sftp", "")
	client := filepath.Join(t.TempDir(), "sftp")
	script := "#!/bin/sh\nfor to; do :; done\nexec sftp -D \"" + server + " -d $to\" -q -b -\n"
	if err := os.WriteFile(client, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	s.env, s.rounds = []string{"SFTP=" + client}, 4
	return s
}

// bucketSite is a bucket that everybody may read.
func bucketSite(t *testing.T, tool string) *remoteSite {
	endpoint := os.Getenv("BUCKET_STORE")
	need(t, tool)
	need(t, "aws")
	bucket := fmt.Sprintf("site-%d", rand.Uint64())
	aws := filepath.Join(t.TempDir(), "aws")
	program, _ := exec.LookPath("aws")
	if err := os.WriteFile(aws, []byte("#!/bin/sh\nexec "+program+" --endpoint-url "+endpoint+" \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := &remoteSite{tool: tool, to: bucket, url: endpoint + "/" + bucket + "/", rounds: 1, env: []string{
		"PATH=" + filepath.Dir(aws) + ":" + os.Getenv("PATH"), "AWS_DEFAULT_REGION=us-east-1",
		"RCLONE_CONFIG=/dev/null", "RCLONE_CONFIG_S3TEST_TYPE=s3", "RCLONE_CONFIG_S3TEST_PROVIDER=Other",
		"RCLONE_CONFIG_S3TEST_ENV_AUTH=true", "RCLONE_CONFIG_S3TEST_ENDPOINT=" + endpoint, "RCLONE_S3_NO_CHECK_BUCKET=true",
	}}
	s.sh(t, "aws s3 mb s3://"+bucket)
	s.sh(t, `aws s3api put-bucket-policy --bucket `+bucket+` --policy '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":["s3:GetObject"],"Resource":["arn:aws:s3:::`+bucket+`/*"]}]}'`)
	return s
}

func (s *remoteSite) sh(t *testing.T, script string) (code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Env = append(os.Environ(), s.env...)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	if code = cmd.ProcessState.ExitCode(); code != 0 && code != exitConflict {
		t.Fatalf("%s: exit code %d\n%s", script, code, out)
	}
	return code
}

// TestUploads builds a site again and again, each time on an empty disk, and uploads it
// while a reader harvests what is there.
func TestUploads(t *testing.T) {
	t.Parallel()
	if os.Getenv("BUCKET_STORE") == "" {
		t.Skip("BUCKET_STORE names no bucket store")
	}
	for name, site := range remotes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &pipeline{t: t, remote: site(t), work: t.TempDir(), files: map[string]string{}}
			for i := range 40 {
				p.files[page(i)] = "first"
			}
			p.files["a"], p.files["a.part"] = "first", "another file"
			p.files[`-n "q" \ ü.txt`] = "odd"
			p.files["start.html"] = "<!DOCTYPE html>\n<head><title>Start</title></head>\n"
			p.deploy()
			if p.remote.inPlace {
				p.edit(0)
				p.deploy()
			} else {
				p.changeWhileRead()
			}
			p.check()
		})
	}
}

// changeWhileRead uploads changes while a reader harvests what is there.
func (p *pipeline) changeWhileRead() {
	r := &harvester{t: p.t, base: p.remote.url, ctx: p.t.Context(), pending: map[string]ahead{}}
	stop := r.start()
	p.change()
	stop()
	r.harvest()
	r.end()
	p.t.Logf("%d harvests, %d resources ahead of their events", r.rounds, r.ahead)
}

func (p *pipeline) change() {
	for i := range p.remote.rounds {
		p.edit(i)
		p.deploy()
	}
	p.conflict()
}

// pipeline is a job on a build server.
type pipeline struct {
	t      *testing.T
	remote *remoteSite
	work   string
	runs   int
	files  map[string]string
}

func (p *pipeline) edit(round int) {
	for i := range 40 {
		name := page(i)
		switch (i + round) % 5 {
		case 0:
			p.files[name] = fmt.Sprintf("round %d of %d", round, i)
		case 1:
			delete(p.files, name)
		}
	}
	p.files[fmt.Sprintf("new/%d.txt", round)] = "new"
	p.files["a"] = fmt.Sprintf("%05d", round) // as long as it was
}

// page is a name with signs that mean something to one tool or the other.
func page(i int) string { return fmt.Sprintf("d%d/page %d [x]*?\t␉.txt", i%3, i) }

// build prepares a site and publishes it on an empty disk, and plans the upload.
func (p *pipeline) build() (site, upload string) {
	p.t.Helper()
	p.runs++
	dir := filepath.Join(p.work, fmt.Sprint(p.runs))
	site, upload = filepath.Join(dir, "site"), filepath.Join(dir, "upload")
	for name, content := range p.files {
		native := filepath.Join(site, name)
		if err := os.MkdirAll(filepath.Dir(native), 0o755); err != nil {
			p.t.Fatal(err)
		}
		if err := os.WriteFile(native, []byte(content), 0o644); err != nil {
			p.t.Fatal(err)
		}
	}
	p.wellspring("prepare", site, "--base-url", p.remote.url, "--html-links", "-q")
	args := []string{"build", site, "--base-url", p.remote.url, "--previous", p.remote.url, "--cache", "none", "--plan", filepath.Join(dir, "plan"), "-q", "--rotate", "10"}
	if p.runs == 1 {
		args = append(args, "--first-run")
	}
	p.wellspring(args...)
	p.wellspring("plan", "--format", p.remote.tool, "-o", upload, filepath.Join(dir, "plan"))
	return site, upload
}

func (p *pipeline) wellspring(args ...string) {
	p.t.Helper()
	if code := run(p.t.Context(), args, io.Discard, os.Stderr); code != 0 {
		p.t.Fatalf("wellspring %v: exit code %d", args, code)
	}
}

func (p *pipeline) deploy() {
	p.t.Helper()
	site, upload := p.build()
	p.upload(site, upload)
}

func (p *pipeline) upload(site, upload string) {
	p.t.Helper()
	if code := p.remote.sh(p.t, fmt.Sprintf("sh %s/upload.sh %s %s", upload, p.remote.to, site)); code != 0 {
		p.t.Fatalf("the upload ended with %d", code)
	}
}

// conflict has two jobs publish from the same predecessor.
func (p *pipeline) conflict() {
	p.t.Helper()
	p.files["one"] = "1"
	oneSite, one := p.build()
	delete(p.files, "one")
	p.files["two"] = "2"
	twoSite, two := p.build()
	p.upload(twoSite, two)
	p.upload(twoSite, two) // again does no harm
	if code := p.remote.sh(p.t, fmt.Sprintf("sh %s/upload.sh %s %s", one, p.remote.to, oneSite)); code != exitConflict {
		p.t.Fatalf("the upload of another job ended with %d", code)
	}
}

// check has the auditor compare what is there in the end.
func (p *pipeline) check() {
	p.wellspring("verify", p.remote.url, "--all", "--quiet")
	for name, want := range p.files {
		code, got := get(p.t, p.t.Context(), p.remote.url+escaped(name))
		if name == "start.html" {
			want = strings.Replace(want, "</head>", `<link rel="resourcesync" href="`+p.remote.url+`resourcesync/capabilitylist.xml" data-wellspring="" />`+"</head>", 1)
		}
		if code != http.StatusOK || got != want {
			p.t.Errorf("%s: %d, %q, not %q", name, code, got, want)
		}
	}
	if code, _ := get(p.t, p.t.Context(), p.remote.url+escaped(page(1))); !p.remote.inPlace && code != http.StatusNotFound {
		p.t.Errorf("a deleted resource is there: %d", code)
	}
}

func escaped(name string) string { return (&url.URL{Path: name}).EscapedPath() }

// get returns what a server answers.
func get(t *testing.T, ctx context.Context, uri string) (code int, content string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, uri, nil)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return resp.StatusCode, string(b)
}

// harvester reads a Source by its links, again and again.
type harvester struct {
	t       *testing.T
	ctx     context.Context
	base    string
	found   bool // the Source was there once
	pending map[string]ahead
	rounds  int
	ahead   int
}

// ahead is a resource with other bytes than the Resource List says, for which no event
// was there yet.
type ahead struct{ at, changes string }

// document reads a document, which has to be there.
func (h *harvester) document(uri string) (doc rsDocument, content string) {
	code, content := get(h.t, h.ctx, uri)
	if code == http.StatusNotFound && !h.found {
		return doc, ""
	}
	h.found = true
	if code != http.StatusOK {
		h.t.Errorf("%s: %d", uri, code)
		return doc, ""
	}
	if err := xml.Unmarshal([]byte(content), &doc); err != nil {
		h.t.Errorf("%s: %v", uri, err)
	}
	return doc, content
}

// list reads a list, or all lists under an Index. It is open unless it, or the last one
// under the Index, says until when it is.
func (h *harvester) list(uri string) (md rsMetadata, entries []rsEntry, content string, open bool) {
	doc, content := h.document(uri)
	entries, open = doc.URLs, doc.MD.Until == ""
	for _, part := range doc.Lists {
		below, text := h.document(part.Loc)
		entries, content, open = append(entries, below.URLs...), content+text, below.MD.Until == ""
	}
	return doc.MD, entries, content, open
}

// start harvests until it is stopped.
func (h *harvester) start() (stop func()) {
	ctx, cancel := context.WithCancel(h.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		pause := time.NewTicker(20 * time.Millisecond) // which leaves the machine to the upload
		defer pause.Stop()
		for ctx.Err() == nil {
			h.harvest()
			<-pause.C
		}
	}()
	return func() { cancel(); <-done }
}

func (h *harvester) harvest() {
	h.rounds++
	description, _ := h.document(h.base + ".well-known/resourcesync")
	if len(description.URLs) == 0 {
		return
	}
	capabilities, _ := h.document(description.URLs[0].Loc)
	uris := map[string]string{}
	for _, e := range capabilities.URLs {
		uris[e.MD.Capability] = e.Loc
	}
	md, resources, _, _ := h.list(uris["resourcelist"])
	var other []string
	for _, i := range rand.Perm(len(resources))[:min(12, len(resources))] {
		if !h.isAsListed(&resources[i]) {
			other = append(other, resources[i].Loc)
		}
	}
	_, changes, content, open := h.list(uris["changelist"])
	if !open { // it was closed since the Index was read, which names the next one by now or soon
		return
	}
	h.explain(other, md.At, changes, content)
}

func (h *harvester) isAsListed(e *rsEntry) bool {
	code, content := get(h.t, h.ctx, e.Loc)
	sum := sha256.Sum256([]byte(content))
	return code == http.StatusOK && "sha-256:"+hex.EncodeToString(sum[:]) == e.MD.Hash
}

// explain finds the events of resources that are not as listed: in the Change List that
// was read next or, as resources come first, in the next one that is another one.
func (h *harvester) explain(other []string, at string, changes []rsEntry, content string) {
	at = strings.TrimSuffix(at, "Z")
	last := map[string]string{}
	for i := range changes {
		last[changes[i].Loc] = max(last[changes[i].Loc], strings.TrimSuffix(changes[i].MD.DateTime, "Z")) // so that fractions sort
	}
	for uri, p := range h.pending {
		if last[uri] > p.at {
			delete(h.pending, uri)
		} else if content != p.changes {
			h.t.Errorf("%s was not as the Resource List of %s said, and there is no event", uri, p.at)
			delete(h.pending, uri)
		}
	}
	for _, uri := range other {
		if _, known := h.pending[uri]; !known && last[uri] <= at {
			h.pending[uri] = ahead{at, content}
			h.ahead++
		}
	}
}

func (h *harvester) end() {
	for uri, p := range h.pending {
		h.t.Errorf("%s was not as the Resource List of %s said, and there never was an event", uri, p.at)
	}
}
