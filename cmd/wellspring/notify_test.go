package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/wellspring-sync/wellspring/internal/testhub"
)

// hubs are what scripts have of those.
type hubs struct {
	hub         *testhub.Hub
	subscribers []*testhub.Subscriber
	told        int // deliveries that were looked at
}

type hubKey struct{}

// serveFor starts a server for the rest of a script.
func serveFor(ts *testscript.TestScript, h http.Handler) string {
	s := httptest.NewServer(h)
	ts.Defer(s.Close)
	return s.URL
}

// startHub starts a hub, whose URL is in $HUB: one that speaks both, one that takes only
// pings, or one that answers with a status.
func startHub(ts *testscript.TestScript, neg bool, args []string) {
	all := ts.Value(hubKey{}).(*hubs)
	switch kind := strings.Join(args, " "); kind {
	case "", "ping-only":
		all.hub = testhub.New("", http.DefaultClient)
		all.hub.PingOnly = kind != ""
		all.hub.URL = serveFor(ts, all.hub)
		ts.Setenv("HUB", all.hub.URL)
	case "403", "301":
		code := map[string]int{"403": http.StatusForbidden, "301": http.StatusMovedPermanently}[kind]
		ts.Setenv("HUB", serveFor(ts, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "/moved")
			w.WriteHeader(code)
		})))
	default:
		ts.Fatalf("usage: hub [ping-only|403|301]")
	}
}

// serveLive serves a directory, whose URL is in a variable.
func serveLive(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: live VARIABLE DIR")
	}
	ts.Setenv(args[0], serveFor(ts, http.FileServer(http.Dir(ts.MkAbs(args[1]))))+"/")
}

// subscribe has somebody subscribe to a topic at the hub.
func subscribe(ts *testscript.TestScript, neg bool, args []string) {
	all := ts.Value(hubKey{}).(*hubs)
	s := &testhub.Subscriber{Topic: args[0]}
	s.URL = serveFor(ts, s)
	ts.Check(s.Subscribe(all.hub.URL, http.DefaultClient))
	all.subscribers = append(all.subscribers, s)
}

// received compares what subscribers have received since it was last called, in all, with
// a file; with !, they must have received nothing.
func received(ts *testscript.TestScript, neg bool, args []string) {
	all := ts.Value(hubKey{}).(*hubs)
	var payloads []string
	for _, s := range all.subscribers {
		for _, d := range s.Received() {
			if d.Type != "application/xml" || testhub.Target(d.Link, "self") != s.Topic || testhub.Target(d.Link, "hub") == "" {
				ts.Fatalf("received %+v", d)
			}
			payloads = append(payloads, d.Payload)
		}
	}
	fresh := payloads[all.told:]
	all.told = len(payloads)
	switch {
	case neg && len(fresh) > 0:
		ts.Fatalf("received %d notifications", len(fresh))
	case neg:
		return
	case len(fresh) != 1:
		ts.Fatalf("received %d notifications, not one", len(fresh))
	}
	want, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	if fresh[0] != string(want) {
		ts.Fatalf("received\n%s\nnot\n%s", fresh[0], want)
	}
}

// asked writes what the hub was asked.
func asked(ts *testscript.TestScript, neg bool, args []string) {
	all := ts.Value(hubKey{}).(*hubs)
	for _, line := range all.hub.Requests() {
		fmt.Fprintln(ts.Stdout(), line)
	}
}
