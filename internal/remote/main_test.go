package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/wellspring-sync/wellspring/internal/httpclient"
)

// server counts what it is asked for, and answers with files unless a test does.
type server struct {
	*httptest.Server
	handler http.HandlerFunc
	files   map[string]string // by path

	mu       sync.Mutex
	requests []*http.Request
}

// serve starts a server below whose URL + "/pub/" files are. answer may be nil,
// and returns whether it did.
func serve(t *testing.T, files map[string]string, answer func(http.ResponseWriter, *http.Request) bool) *server {
	t.Helper()
	s := newServer(files, answer)
	s.Server = httptest.NewServer(s.handler)
	t.Cleanup(s.Close)
	return s
}

// newServer returns one that is not started.
func newServer(files map[string]string, answer func(http.ResponseWriter, *http.Request) bool) *server {
	s := &server{files: files}
	s.handler = func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r)
		s.mu.Unlock()
		if answer == nil || !answer(w, r) {
			s.answer(w, r)
		}
	}
	return s
}

// overPipes starts a server without a network, so that time can be that of a test,
// and returns what leads all requests to it.
func (s *server) overPipes(t *testing.T) http.RoundTripper {
	p := make(pipes)
	server := &http.Server{Handler: s.handler}
	to := &http.Transport{DialContext: p.dial}
	go server.Serve(p)
	t.Cleanup(func() {
		to.CloseIdleConnections()
		server.Close()
	})
	return to
}

// pipes is a listener within this process.
type pipes chan net.Conn

func (p pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error {
	close(p)
	return nil
}

func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (s *server) answer(w http.ResponseWriter, r *http.Request) {
	content, ok := s.files[strings.TrimPrefix(r.URL.Path, "/pub/")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(content))
}

// asked returns the requests so far, as "METHOD path".
func (s *server) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, r := range s.requests {
		all = append(all, r.Method+" "+strings.TrimPrefix(r.URL.EscapedPath(), "/pub/"))
	}
	return all
}

// setup opens the publication of a server, in a new directory, and without
// waiting between tries.
func setup(t *testing.T, s *server, o Options) (*FS, *os.Root) {
	t.Helper()
	return open(t, s.URL+"/pub", o)
}

func open(t *testing.T, base string, o Options) (*FS, *os.Root) {
	t.Helper()
	dir, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if o.sleep == nil {
		o.sleep = func(ctx context.Context, _ time.Duration) error { return context.Cause(ctx) }
	}
	f, err := Open(t.Context(), base, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(f.Close(), dir.Close()); err != nil {
			t.Error(err)
		}
	})
	return f, dir
}

// kept returns the files in a directory, the unfinished ones too.
func kept(t *testing.T, dir *os.Root) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(dir.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(dir.FS(), name)
		all[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func wantKept(t *testing.T, dir *os.Root, want map[string]string) {
	t.Helper()
	if got := kept(t, dir); !maps.Equal(got, want) {
		t.Errorf("%d files are kept, %q; want %q", len(got), slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

func sum(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

func hold(s string) string { return strings.Repeat(s, 1+(1<<15)/len(s)) } // longer than what is buffered

func TestOpenFetchesOnce(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		".well-known/resourcesync":          "<urlset/>",
		"resourcesync/resourcelist.xml":     hold("<url/>"),
		"resourcesync/a b/%41/ü;#.xml":      "escaped",
		"top.json":                          "{}",
		"resourcesync/resourcedump/abc.zip": hold("PK"),
	}
	s := serve(t, files, nil)
	f, dir := setup(t, s, Options{})
	for range 2 {
		for name, want := range files {
			file, err := f.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(io.NewSectionReader(file.(io.ReaderAt), 0, 1<<20))
			if err != nil || string(got) != want {
				t.Errorf("%s: got %d bytes, %v", name, len(got), err)
			}
			info, err := file.Stat()
			if err != nil || info.Size() != int64(len(want)) || !info.Mode().IsRegular() {
				t.Errorf("%s: got %v, %v", name, info, err)
			}
			file.Close()
		}
	}
	if got := s.asked(); len(got) != len(files) || !slices.Contains(got, "GET resourcesync/a%20b/%2541/%C3%BC;%23.xml") {
		t.Errorf("asked for %q", got)
	}
	wantKept(t, dir, files)
}

func TestConcurrentOpensFetchOnce(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	s := serve(t, map[string]string{"a.xml": "<a/>"}, func(http.ResponseWriter, *http.Request) bool {
		close(arrived) // panics at a second request
		<-release
		return false
	})
	f, _ := setup(t, s, Options{})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if b, err := fs.ReadFile(f, "a.xml"); err != nil || string(b) != "<a/>" {
				t.Errorf("got %q, %v", b, err)
			}
		})
	}
	<-arrived
	close(release)
	all.Wait()
	if got := s.asked(); len(got) != 1 {
		t.Errorf("asked for %q", got)
	}
}

func TestStat(t *testing.T) {
	t.Parallel()
	noLength := func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodHead {
			w.(http.Flusher).Flush()
		}
		return r.Method == http.MethodHead
	}
	answer := func(status int) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodHead {
				w.WriteHeader(status)
			}
			return r.Method == http.MethodHead
		}
	}
	for _, tt := range []struct {
		name   string
		path   string
		answer func(http.ResponseWriter, *http.Request) bool
		asked  []string
		want   error
	}{
		{name: "a length", path: "a.zip", asked: []string{"HEAD a.zip"}},
		{name: "not allowed", path: "a.zip", answer: answer(405), asked: []string{"HEAD a.zip", "GET a.zip"}},
		{name: "not implemented", path: "a.zip", answer: answer(501), asked: []string{"HEAD a.zip", "GET a.zip"}},
		{name: "no length", path: "a.zip", answer: noLength, asked: []string{"HEAD a.zip", "GET a.zip"}},
		{name: "zero for all", path: "a.zip", answer: answer(200), asked: []string{"HEAD a.zip", "GET a.zip"}},
		{name: "missing", path: "b.zip", asked: []string{"HEAD b.zip"}, want: fs.ErrNotExist},
		{name: "missing without HEAD", path: "b.zip", answer: answer(405), asked: []string{"HEAD b.zip", "GET b.zip"}, want: fs.ErrNotExist},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, map[string]string{"a.zip": "PK34"}, tt.answer)
			f, _ := setup(t, s, Options{})
			for range 2 {
				info, err := fs.Stat(f, tt.path)
				if !errors.Is(err, tt.want) {
					t.Fatalf("got %v", err)
				}
				if err == nil && (info.Name() != "a.zip" || info.Size() != 4 || !info.Mode().IsRegular() || info.IsDir()) {
					t.Errorf("got %v", info)
				}
			}
			if got := s.asked(); !slices.Equal(got, tt.asked) {
				t.Errorf("asked for %q", got)
			}
		})
	}
}

func TestStatKnowsWhatWasFetched(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]string{"a.zip": "PK34"}, nil)
	f, _ := setup(t, s, Options{})
	if err := f.Fetch(t.Context(), []Want{{Path: "a.zip"}}); err != nil {
		t.Fatal(err)
	}
	if info, err := f.Stat("a.zip"); err != nil || info.Size() != 4 {
		t.Errorf("got %v, %v", info, err)
	}
	if got := s.asked(); len(got) != 1 {
		t.Errorf("asked for %q", got)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, nil)
	f, dir := setup(t, s, Options{})
	for _, name := range []string{
		"", ".", "..", "../a", "/a", "a/", "a//b", "a/../../b", `a\b`, `..\a`, "a\x00b", "a\nb", "a\x7f", "a\u0085b", "\xff",
		".fetching", ".fetching/1", ".Fetching/1",
	} {
		_, errOpen := f.Open(name)
		_, errStat := f.Stat(name)
		for _, err := range []error{errOpen, errStat, f.Fetch(t.Context(), []Want{{Path: name}})} {
			if !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("%q: %v", name, err)
			}
		}
	}
	if got := s.asked(); len(got) > 0 {
		t.Errorf("asked for %q", got)
	}
	wantKept(t, dir, nil)
}

func TestNothingLeadsOutOfTheDirectory(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]string{"link/a.xml": "<a/>", "b.xml": "<b/>"}, nil)
	f, dir := setup(t, s, Options{})
	outside := t.TempDir()
	if err := os.Symlink(outside, path.Join(dir.Name(), "link")); err != nil {
		t.Skip(err)
	}
	if err := os.WriteFile(path.Join(dir.Name(), "b.xml"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Open("link/a.xml"); err == nil {
		t.Error("a link was followed")
	}
	if _, err := f.Open("b.xml"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file that was there: %v", err)
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	if b, _ := dir.ReadFile("b.xml"); string(b) != "mine" {
		t.Errorf("b.xml holds %q", b)
	}
}

func TestFetch(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a.xml": "<a/>", "b.zip": hold("PK")}
	for _, tt := range []struct {
		name string
		want []Want
		err  error
		kept []string
	}{
		{name: "nothing"},
		{name: "not stated", want: []Want{{Path: "a.xml"}, {Path: "b.zip"}}, kept: []string{"a.xml", "b.zip"}},
		{name: "stated", want: []Want{{Path: "a.xml", Length: 4, SHA256: sum("<a/>")}}, kept: []string{"a.xml"}},
		{name: "twice", want: []Want{{Path: "a.xml"}, {Path: "a.xml", Length: 4}}, kept: []string{"a.xml"}},
		{name: "shorter", want: []Want{{Path: "a.xml", Length: 5}}, err: ErrOther},
		{name: "longer", want: []Want{{Path: "a.xml", Length: 3}}, err: ErrOther},
		{name: "other bytes", want: []Want{{Path: "a.xml", Length: 4, SHA256: sum("<b/>")}}, err: ErrOther},
		{name: "missing", want: []Want{{Path: "c.xml"}}, err: fs.ErrNotExist},
		{name: "optional", want: []Want{{Path: "c.xml", Optional: true}, {Path: "a.xml", Optional: true}}, kept: []string{"a.xml"}},
		{name: "optional and other", want: []Want{{Path: "a.xml", Length: 5, Optional: true}}, err: ErrOther},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, dir := setup(t, serve(t, files, nil), Options{})
			if err := f.Fetch(t.Context(), tt.want); !errors.Is(err, tt.err) {
				t.Errorf("got %v", err)
			}
			want := map[string]string{}
			for _, name := range tt.kept {
				want[name] = files[name]
			}
			wantKept(t, dir, want)
		})
	}
}

// TestFetchChecksWhatIsThere is about files that were opened before anybody knew
// what they should be.
func TestFetchChecksWhatIsThere(t *testing.T) {
	t.Parallel()
	f, dir := setup(t, serve(t, map[string]string{"a.xml": "<a/>"}, nil), Options{})
	if _, err := fs.ReadFile(f, "a.xml"); err != nil {
		t.Fatal(err)
	}
	if err := f.Fetch(t.Context(), []Want{{Path: "a.xml", SHA256: sum("<a/>")}}); err != nil {
		t.Errorf("got %v", err)
	}
	for range 2 {
		if err := f.Fetch(t.Context(), []Want{{Path: "a.xml", SHA256: sum("<b/>")}}); !errors.Is(err, ErrOther) {
			t.Errorf("got %v", err)
		}
	}
	if _, err := f.Open("a.xml"); !errors.Is(err, ErrOther) {
		t.Errorf("got %v", err)
	}
	wantKept(t, dir, nil)
}

func TestFetchIsBounded(t *testing.T) {
	t.Parallel()
	var now, most int
	var mu sync.Mutex
	change := func(by int) {
		mu.Lock()
		defer mu.Unlock()
		now += by
		most = max(most, now)
	}
	files := map[string]string{}
	var want []Want
	for _, c := range "abcdefghijklmnopqrstuvwxyz" {
		name := string(c) + ".xml"
		files[name] = name
		want = append(want, Want{Path: name})
	}
	s := serve(t, files, func(http.ResponseWriter, *http.Request) bool {
		change(1)
		time.Sleep(time.Millisecond)
		change(-1)
		return false
	})
	f, dir := setup(t, s, Options{})
	if err := f.Fetch(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	if most > httpclient.AtOnce || most < 2 {
		t.Errorf("%d at once", most)
	}
	wantKept(t, dir, files)
}

func TestFailuresAreRemembered(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "b.xml") {
			w.WriteHeader(500)
			return true
		}
		return false
	})
	f, _ := setup(t, s, Options{Retries: -1})
	for range 3 {
		if _, err := f.Open("a.xml"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v", err)
		}
		if _, err := f.Stat("b.xml"); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v", err)
		}
	}
	if got := s.asked(); len(got) != 2 {
		t.Errorf("asked for %q", got)
	}
}

func TestContext(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]string{"a.xml": "<a/>"}, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("X-Hang") != "" {
			<-r.Context().Done()
		}
		return false
	})
	gone := errors.New("gone")
	dir, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	f, err := Open(ctx, s.URL+"/pub/", dir, Options{Header: http.Header{"X-Hang": {"1"}}})
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(10*time.Millisecond, func() { cancel(gone) })
	_, errOpen := f.Open("a.xml")
	_, errLater := f.Stat("a.xml")
	for _, err := range []error{errOpen, errLater, f.Fetch(t.Context(), []Want{{Path: "a.xml"}})} {
		if !errors.Is(err, gone) {
			t.Errorf("got %v", err)
		}
	}
	wantKept(t, dir, nil)
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// TestFetchEndsWithItsContext also has to leave the file so that a later call may
// fetch it.
func TestFetchEndsWithItsContext(t *testing.T) {
	t.Parallel()
	var once sync.Once
	asked := make(chan struct{})
	s := serve(t, map[string]string{"a.xml": "<a/>"}, func(_ http.ResponseWriter, r *http.Request) bool {
		once.Do(func() {
			close(asked)
			<-r.Context().Done()
		})
		return false
	})
	f, dir := setup(t, s, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	if err := f.Fetch(ctx, []Want{{Path: "a.xml"}, {Path: "a.xml"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	wantKept(t, dir, nil)
	if b, err := fs.ReadFile(f, "a.xml"); err != nil || string(b) != "<a/>" {
		t.Errorf("then %q, %v", b, err)
	}
}

// TestTemporaryDirectory keeps what is fetched until the end, and nothing beyond.
func TestTemporaryDirectory(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]string{"a.xml": "<a/>"}, nil)
	f, err := Open(t.Context(), s.URL+"/pub", nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if b, err := fs.ReadFile(f, "a.xml"); err != nil || string(b) != "<a/>" {
			t.Errorf("got %q, %v", b, err)
		}
	}
	wantKept(t, f.dir, map[string]string{"a.xml": "<a/>"})
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(f.temp); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("left behind: %v", err)
	}
}

func TestBase(t *testing.T) {
	t.Parallel()
	dir, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for _, base := range []string{
		"", "example.org", "ftp://s3cret@example.org/", "me:s3cret@example.org/", "https:me:s3cret@example.org", "//me:s3cret@example.org",
		"https://me:s3cret@example.org/?a", "https://me:s3cret@example.org/#a", "https://example.org/?s3cret", "https://example.org/#s3cret",
		"https://me:s3cret@example.org:x/", "https://me:s3cret@/", "https://me:s3cret@example.org/a/../b", "https://me:s3cret@example.org/%zz",
	} {
		f, err := Open(t.Context(), base, dir, Options{})
		if err == nil {
			f.Close()
			t.Errorf("%q was taken", base)
			continue
		}
		if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", base, err)
		}
	}
}

// TestOnlyTheServerSaysMissing is about files that are missing here or on the
// way, which says nothing of the publication.
func TestOnlyTheServerSaysMissing(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, err error) {
		t.Helper()
		if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			t.Errorf("got %#v", err)
		}
	}
	files := map[string]string{"a": "a", "a/b.xml": "<b/>"}
	t.Run("a file in the place of a directory", func(t *testing.T) {
		t.Parallel()
		f, dir := setup(t, serve(t, files, nil), Options{})
		if _, err := fs.ReadFile(f, "a"); err != nil {
			t.Fatal(err)
		}
		_, err := f.Open("a/b.xml")
		check(t, err)
		wantKept(t, dir, map[string]string{"a": "a"})
	})
	t.Run("a folder that went away", func(t *testing.T) {
		t.Parallel()
		f, dir := setup(t, serve(t, files, nil), Options{})
		if err := dir.RemoveAll(staging); err != nil {
			t.Fatal(err)
		}
		_, err := f.Open("a")
		check(t, err)
	})
	t.Run("a file that went away", func(t *testing.T) {
		t.Parallel()
		f, dir := setup(t, serve(t, files, nil), Options{})
		if err := errors.Join(f.Fetch(t.Context(), []Want{{Path: "a"}}), dir.Remove("a")); err != nil {
			t.Fatal(err)
		}
		_, err := f.Open("a")
		check(t, err)
	})
	for _, missing := range []error{&fs.PathError{Op: "open", Path: "roots.pem", Err: fs.ErrNotExist}, syscall.ENOTDIR} {
		t.Run("on the way: "+missing.Error(), func(t *testing.T) {
			t.Parallel()
			f, _ := open(t, "http://localhost/", Options{Transport: transport(func(*http.Request) (*http.Response, error) { return nil, missing })})
			_, errOpen := f.Open("a.xml")
			check(t, errOpen)
			_, errStat := f.Stat("b.xml")
			check(t, errStat)
		})
	}
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// logged returns a log and what it was told.
func logged() (*slog.Logger, *bytes.Buffer) {
	var b bytes.Buffer
	return slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug})), &b
}

func withUser(t *testing.T, base string) string {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("me", "s3cret")
	return u.String()
}
