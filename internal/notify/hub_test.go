package notify

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wellspring-sync/wellspring/internal/testhub"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

var at = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// example tells of two changes, of which one is under an Index.
func example(hub, site string) *Notification {
	return &Notification{
		Channel: Channel{Hub: hub, Topic: site + "/resourcesync/framework.xml", CapabilityList: site + "/resourcesync/capabilitylist.xml"},
		From:    at, Until: at.Add(time.Hour),
		Changes: []Change{
			{URI: site + "/resourcesync/changelist.xml", Capability: resourcesync.ChangeList, Change: resourcesync.Updated, DateTime: at.Add(time.Hour)},
			{
				URI: site + "/resourcesync/resourcelist/0.xml", Capability: resourcesync.ResourceList, Change: resourcesync.Created,
				DateTime: at.Add(time.Hour), Index: site + "/resourcesync/resourcelist.xml",
			},
		},
	}
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// TestHub has hubs of two kinds told in each mode, over loopback, and looks at what a
// subscriber receives.
func TestHub(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		mode     Mode
		pingOnly bool
		want     Mode
		failed   string
		links    string // relations that the subscriber gets
	}{
		{ResourceSync, false, ResourceSync, "", "self hub resourcesync"},
		{WebSub, false, WebSub, "", "self hub"},
		{Auto, false, ResourceSync, "", "self hub resourcesync"},
		{"", false, ResourceSync, "", "self hub resourcesync"},
		{ResourceSync, true, ResourceSync, "it answers 400 Bad Request: missing hub.mode parameter", ""},
		{WebSub, true, WebSub, "", "self hub"},
		{Auto, true, WebSub, "", "self hub"},
	} {
		t.Run(string(test.mode), func(t *testing.T) {
			t.Parallel()
			hub := testhub.New("", http.DefaultClient)
			hub.PingOnly = test.pingOnly
			hub.URL = serve(t, hub)
			var payload []byte
			site := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write(payload) }))
			n := example(hub.URL, site)
			var err error
			if payload, err = n.Payload(); err != nil {
				t.Fatal(err)
			}
			s := &testhub.Subscriber{Topic: n.Topic}
			s.URL = serve(t, s)
			if err := s.Subscribe(hub.URL, http.DefaultClient); err != nil {
				t.Fatal(err)
			}

			got, err := Send(t.Context(), n, Options{Mode: test.mode, Release: "1.0"})
			if got != test.want || (err == nil) != (test.failed == "") || err != nil && !strings.Contains(err.Error(), test.failed) {
				t.Fatalf("Send: %q, %v; want %q, %q\n%q", got, err, test.want, test.failed, hub.Requests())
			}
			if test.failed != "" {
				if r := s.Received(); len(r) > 0 {
					t.Errorf("the subscriber received %v", r)
				}
				return
			}
			received := s.Received()
			if len(received) != 1 {
				t.Fatalf("received %v\n%q", received, hub.Requests())
			}
			checkDelivery(t, n, &received[0], test.links)
		})
	}
}

// checkDelivery looks at a delivery as a Destination would.
func checkDelivery(t *testing.T, n *Notification, d *testhub.Delivery, relations string) {
	t.Helper()
	if d.Type != "application/xml" {
		t.Errorf("the type is %q", d.Type)
	}
	targets := map[string]string{"self": n.Topic, "hub": n.Hub, "resourcesync": n.CapabilityList}
	for rel := range strings.FieldsSeq(relations) {
		if got := testhub.Target(d.Link, rel); got != targets[rel] {
			t.Errorf("the link %s leads to %q, not %q, in %s", rel, got, targets[rel], d.Link)
		}
	}
	got, err := parse(d.Payload)
	if err != nil {
		t.Fatal(err)
	}
	want := *n
	want.Set, want.Hub, want.Topic = "", "", ""
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("the subscriber reads (-sent +read):\n%s", diff)
	}
}

// parse reads a payload.
func parse(payload string) (*Notification, error) {
	d := resourcesync.NewDecoder(strings.NewReader(payload), resourcesync.Limits{})
	doc, err := d.Document()
	if err != nil {
		return nil, err
	}
	n := &Notification{From: doc.Metadata.From, Until: doc.Metadata.Until}
	n.CapabilityList = doc.Link(resourcesync.RelUp)
	for {
		e, err := d.Next()
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return nil, err
		}
		c := Change{URI: e.Loc, Capability: e.Metadata.Capability, Change: e.Metadata.Change, DateTime: e.Metadata.DateTime}
		for _, l := range e.Links {
			c.Index = l.Href
		}
		n.Changes = append(n.Changes, c)
	}
}

// TestPayload writes what is in examples, for eyes and schemas.
func TestPayload(t *testing.T) {
	t.Parallel()
	n := example("https://hub.example/", "https://example.org")
	got, err := n.Payload()
	want := `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
<rs:md capability="framework-notification" from="2026-01-02T03:04:05Z" until="2026-01-02T04:04:05Z"/>
<rs:ln rel="up" href="https://example.org/resourcesync/capabilitylist.xml"/>
<url><loc>https://example.org/resourcesync/changelist.xml</loc><rs:md capability="changelist" change="updated" datetime="2026-01-02T04:04:05Z"/></url>
<url><loc>https://example.org/resourcesync/resourcelist/0.xml</loc><rs:md capability="resourcelist" change="created" datetime="2026-01-02T04:04:05Z"/><rs:ln rel="index" href="https://example.org/resourcesync/resourcelist.xml"/></url>
</urlset>
`
	if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	n.Changes[0].URI = "https://example.org/\x00"
	if _, err := n.Payload(); err == nil {
		t.Error("a URI with a null character was written")
	}
}

// TestCheckHub knows what cannot be a hub.
func TestCheckHub(t *testing.T) {
	t.Parallel()
	for hub, want := range map[string]string{
		"https://hub.example/":           "",
		"http://127.0.0.1:8080/hub?a=b":  "",
		"https://hub.example":            "",
		"":                               "is not a URL",
		"hub.example":                    "is not a URL",
		"/hub":                           "is not a URL",
		"ftp://hub.example/":             "has the scheme ftp",
		"HTTPS://hub.example/":           "",
		"mailto:a@hub.example":           "has the scheme mailto",
		"https://":                       "is not a URL",
		"https:///hub":                   "is not a URL",
		"https://:80/":                   "has no host",
		"https://hub.example/#a":         "has a fragment",
		"https://hub.example/#":          "has a fragment",
		"https://me:secret@hub.example/": "user name",
		"https://me:sec%zzret@hub/":      "user name",
		"https://hub.example/a b":        "is not a URL",
		"https://hub.example/>; rel=x":   "is not a URL",
		"https://hub.example/\r\nX: y":   "is not a URL",
	} {
		err := CheckHub(hub)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "sec")) {
			t.Errorf("%q: %v, want %q", hub, err, want)
		}
	}
}
