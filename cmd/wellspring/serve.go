package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/wellspring-sync/wellspring/generator"
	"github.com/wellspring-sync/wellspring/hashing"
	"github.com/wellspring-sync/wellspring/internal/serve"
	"github.com/wellspring-sync/wellspring/internal/watch"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/scanner"
)

// serveFlags say where to serve, and whether to build.
type serveFlags struct {
	listen string
	watch  bool
	when   watchFlags
	source sourceFlags
}

const defaultListen = "127.0.0.1:8000"

func (f *serveFlags) addFlags(flags *pflag.FlagSet) {
	flags.SortFlags = false
	flags.StringVar(&f.listen, "listen", defaultListen, "`address` and port to listen at; port 0 is any that is free")
	flags.BoolVar(&f.watch, "watch", false, "build as well, as watch does with the flags that follow")
	f.when.addFlags(flags)
	f.source.addFlags(flags)
}

func (c *cli) serveCommand() *cobra.Command {
	f := &serveFlags{}
	cmd := &cobra.Command{
		Use:   "serve [DIR]",
		Short: "Serve a directory on this machine, to try things out",
		Long: `Serve answers HTTP requests with the files of DIR (by default what the settings
say, or the current directory) as a good static host would: with their media types,
ranges, conditional requests, compression, and Link headers that lead to the
Capability List of the publication in it. Nothing is served whose name begins with a
dot, but .well-known. Only this machine can connect, unless --listen says otherwise.

With --watch, DIR is a source that is built, and built again whenever something in it
changes, with the flags of build and watch, which mean nothing else. Without
--base-url, it is published at the server's own URL, in a temporary directory
unless --out says where, so that nothing is left behind.

` + exitCodes,
		Example: `  wellspring serve public
  wellspring serve public --watch
  wellspring serve public --listen :8080`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.serve(cmd, f, args) },
	}
	f.addFlags(cmd.Flags())
	return cmd
}

func (c *cli) serve(cmd *cobra.Command, f *serveFlags, args []string) (err error) {
	l, err := c.load(cmd, args)
	if err != nil {
		return err
	}
	if err := f.check(l); err != nil {
		return usage(cmd, err)
	}
	listener, err := net.Listen("tcp", f.listen)
	if err != nil {
		return usage(cmd, fmt.Errorf("%w: give another address with --listen, such as 127.0.0.1:8001", err))
	}
	defer listener.Close()
	s := &server{cli: c, url: urlOf(listener.Addr()), dirs: []string{l.publicationDir(args)}}
	if f.watch {
		defer func() { err = errors.Join(err, os.RemoveAll(s.temp)) }()
		if err := s.prepare(cmd, f, l); err != nil {
			return err
		}
	}
	for _, dir := range s.dirs {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return usage(cmd, fmt.Errorf("%s: %w", dir, reason(err)))
		}
		defer root.Close()
		s.roots = append(s.roots, root)
	}
	return s.run(cmd.Context(), listener)
}

// check looks for flags that mean nothing without others.
func (f *serveFlags) check(l *loaded) error {
	if host, port, err := net.SplitHostPort(f.listen); err != nil || strings.Contains(host, "/") || port == "" {
		return fmt.Errorf("--listen is %q, which is not an address with a port, such as %s", f.listen, defaultListen)
	}
	if f.watch {
		return nil
	}
	only := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&watchFlags{}).addFlags(only)
	(&sourceFlags{}).addFlags(only)
	var err error
	only.VisitAll(func(flag *pflag.Flag) {
		if l.origins[settingName(flag.Name)] == fromFlag && err == nil {
			err = fmt.Errorf("--%s needs --watch", flag.Name)
		}
	})
	return err
}

// server is what is served, and built if it is.
type server struct {
	*cli
	url   string // of the server
	temp  string // a directory that is removed in the end, or empty
	dirs  []string
	roots []*os.Root
	// builder is nil if nothing is built.
	builder *rebuilder
	when    watch.Options

	mu           sync.Mutex
	read         time.Time // modification time of the Source Description
	capabilities []string  // URIs that it names
}

// prepare sets up builds.
func (s *server) prepare(cmd *cobra.Command, f *serveFlags, l *loaded) (err error) {
	if s.when, err = f.when.options(); err != nil {
		return usage(cmd, err)
	}
	passing := f.source.Identity.BaseURL == ""
	if passing {
		f.source.Identity.BaseURL = s.url
	}
	o, err := f.source.options(cmd, l)
	if err != nil {
		return err
	}
	if passing && o.Out == "" {
		if s.temp, err = os.MkdirTemp("", "wellspring-serve-"); err != nil {
			return err
		}
		o.Out, o.Cache = s.temp, ""
		if err := leaveOutPublication(&o); err != nil {
			return err
		}
	}
	if s.builder, err = s.newRebuilder(o, f.source.hosts); err != nil {
		return usage(cmd, err)
	}
	s.dirs = []string{o.Source}
	if o.Out == "" {
		return nil
	}
	s.dirs = []string{o.Out, o.Source}
	return os.MkdirAll(o.Out, 0o777)
}

// leaveOutPublication keeps a publication that is in the source already, for another
// URL, from being taken for resources.
func leaveOutPublication(o *generator.Options) error {
	description := layout.Layout{}.SourceDescription().Path
	if _, err := os.Stat(filepath.Join(o.Source, filepath.FromSlash(description))); err != nil {
		return nil
	}
	names := []string{description}
	if folder := o.Identity.Folder; folder != "." {
		names = append(names, folder)
	} else {
		names = append(names, layout.Layout{Identity: o.Identity}.Documents()...)
	}
	for _, name := range names {
		g, err := scanner.NewGlob("/" + quoteGlob.Replace(name))
		if err != nil {
			return err
		}
		o.Rules.Exclude = append(o.Rules.Exclude, g)
	}
	return nil
}

// quoteGlob makes a pattern of a name.
var quoteGlob = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`)

// run serves, and builds, until the context ends or one of them fails.
func (s *server) run(ctx context.Context, l net.Listener) error {
	if err := s.printServing(); err != nil {
		return err
	}
	h := serve.Handler(serve.Options{Roots: s.roots, Type: mediaType, Link: s.link})
	if s.verbose > 0 && !s.quiet {
		h = s.logged(h)
	}
	serving, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ended := make(chan error, 1)
	go func() {
		err := serve.Run(serving, l, h)
		stop(err) // without a server, there is no need to build
		ended <- err
	}()
	var err error
	if s.builder != nil {
		err = s.builder.watch(serving, s.when)
		stop(err)
	}
	served := <-ended
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		// What there was to say has been said, and nothing was kept from being published.
		s.json = false
		return apart(context.Cause(ctx))
	}
	return served
}

// mediaType returns the type of a file: that of the publication's documents, or what
// builds publish for a file of this name and with these first bytes.
func mediaType(name string, head []byte) string {
	switch {
	case name == (layout.Layout{}).SourceDescription().Path:
		return "application/xml"
	case path.Ext(name) == ".link":
		return "application/link-format"
	}
	return hashing.MediaType(name, head)
}

// urlOf returns the URL of a server on this machine.
func urlOf(a net.Addr) string {
	host, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return "http://" + a.String() + "/"
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port) + "/"
}

// servingJSON is what serve writes with --json.
type servingJSON struct {
	URL               string   `json:"url"`
	SourceDescription string   `json:"source_description"`
	CapabilityLists   []string `json:"capability_lists"`
}

func (s *server) printServing() error {
	description := s.url + layout.Layout{}.SourceDescription().Path
	lists := s.capabilityLists()
	if s.json {
		return s.writeLine(servingJSON{s.url, description, append([]string{}, lists...)})
	}
	if s.quiet {
		return nil
	}
	if s.builder != nil {
		lists = []string{s.builder.o.Identity.PublicationURL}
	}
	text := fmt.Sprintf("Serving %s at %s (Ctrl-C ends it)\nA harvester begins at the Source Description:\n  curl %s\n",
		filepath.Clean(s.dirs[len(s.dirs)-1]), s.url, description)
	return s.print("%s", text+note(s.url, lists))
}

// note tells where the URIs of a publication lead, if it is not to this server.
func note(url string, lists []string) string {
	switch {
	case len(lists) == 0:
		return "There is no publication in it yet: wellspring build makes one, and serve --watch one for this server.\n"
	case !strings.HasPrefix(lists[0], url):
		return "Its documents are for another URL, so that a harvester goes on there:\n  " + lists[0] +
			"\nTo try it with this server alone, give the source, and --watch without --base-url.\n"
	}
	return ""
}

// link returns the Link header of a resource: to the Capability List of its set, as
// far as there is just one. See Z39.99-2017 §6.3.2.
func (s *server) link(name string) []string {
	if name == (layout.Layout{}).SourceDescription().Path || layout.IsOwnedBeside(name, s.has) {
		return nil
	}
	lists := s.capabilityLists()
	if len(lists) != 1 {
		return nil
	}
	return []string{"<" + lists[0] + `>; rel="resourcesync"`}
}

// has reports whether there is a file.
func (s *server) has(name string) bool {
	return slices.ContainsFunc(s.roots, func(root *os.Root) bool {
		info, err := root.Stat(filepath.FromSlash(name))
		return err == nil && info.Mode().IsRegular()
	})
}

// capabilityLists returns the URIs that the Source Description names. It is read
// again if it has changed.
func (s *server) capabilityLists() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := filepath.FromSlash(layout.Layout{}.SourceDescription().Path)
	for _, root := range s.roots {
		info, err := root.Stat(name)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if !info.ModTime().Equal(s.read) {
			s.read, s.capabilities = info.ModTime(), readCapabilityLists(root, name)
		}
		return s.capabilities
	}
	s.read, s.capabilities = time.Time{}, nil
	return nil
}

// readCapabilityLists returns the Capability Lists of a Source Description, or none
// if it cannot be read or is the Index of others.
func readCapabilityLists(root *os.Root, name string) (lists []string) {
	f, err := root.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	d := resourcesync.NewDecoder(f, resourcesync.Limits{})
	if _, err := d.Document(); err != nil {
		return nil
	}
	for {
		e, err := d.Next()
		if err != nil {
			return lists
		}
		if e.Metadata.Capability == resourcesync.CapabilityList && resourcesync.IsURI(e.Loc) {
			lists = append(lists, e.Loc)
		}
	}
}

// logged tells of each request.
func (s *server) logged(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := &statusWriter{w, http.StatusOK}
		h.ServeHTTP(status, r)
		s.tell("%s %s %d\n", r.Method, r.URL.RequestURI(), status.status)
	})
}

// statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}
