// Package notify tells hubs which documents of a Source have changed, by the Framework
// Notifications of ResourceSync and as WebSub does. It knows what is said, and to whom;
// what has changed, others find out.
package notify

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

// Channel is where changes of the documents of one set of resources are told. See
// Framework Notification 1.0 §2.
type Channel struct {
	// Set is the name of the set, or empty if there is only one.
	Set string `json:"set,omitempty"`
	// Hub is the URL to which notifications are sent.
	Hub string `json:"hub"`
	// Topic is the URI of the document that holds the latest notification.
	Topic string `json:"topic"`
	// CapabilityList is the URI of that of the set.
	CapabilityList string `json:"capability_list"`
}

// Change is that of one document. See Framework Notification 1.0 §3.
type Change struct {
	URI        string                  `json:"uri"`
	Capability resourcesync.Capability `json:"capability"`
	Change     resourcesync.ChangeType `json:"change"`
	DateTime   time.Time               `json:"datetime"`
	// Index is the URI of the Index under which the document stands, or empty.
	Index string `json:"index,omitempty"`
}

// Notification is what one channel is told of one publication.
type Notification struct {
	Channel
	// From and Until are the times of the publication before, or zero if there was
	// none, and of this one.
	From    time.Time `json:"from,omitzero"`
	Until   time.Time `json:"until"`
	Changes []Change  `json:"changes"`
}

// IsLast reports whether the set is published no more, so that Capability List and topic
// are gone.
func (n *Notification) IsLast() bool {
	return slices.ContainsFunc(n.Changes, func(c Change) bool {
		return c.Capability == resourcesync.CapabilityList && c.Change == resourcesync.Deleted
	})
}

// Payload returns the document that is sent to the hub, and published as the topic. It
// fails where a value cannot stand in XML. See Framework Notification 1.0 §3.
func (n *Notification) Payload() ([]byte, error) {
	head := &resourcesync.Document{
		Metadata: resourcesync.Metadata{Capability: resourcesync.FrameworkNotification, From: n.From, Until: n.Until},
	}
	if !n.IsLast() {
		head.Links = []resourcesync.Link{{Rel: resourcesync.RelUp, Href: n.CapabilityList}}
	}
	entries := make([]resourcesync.Entry, len(n.Changes))
	for i, c := range n.Changes {
		entries[i] = resourcesync.Entry{
			Loc:      c.URI,
			Metadata: resourcesync.Metadata{Capability: c.Capability, Change: c.Change, DateTime: c.DateTime},
		}
		if c.Index != "" {
			entries[i].Links = []resourcesync.Link{{Rel: resourcesync.RelIndex, Href: c.Index}}
		}
	}
	return resourcesync.Marshal(head, entries)
}

// CheckHub returns an error for what cannot be the URL of a hub.
func CheckHub(hub string) error {
	u, err := url.Parse(hub)
	switch {
	case strings.Contains(hub, "@") && (err != nil || u.User != nil): // not repeated, as there may be a password in it
		return errors.New("the URL of a hub has no user name, which everybody would see")
	case err != nil || !resourcesync.IsURI(hub):
		return fmt.Errorf("%q is not a URL", hub)
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%q has the scheme %s, not http or https", hub, u.Scheme)
	case u.Hostname() == "":
		return fmt.Errorf("%q has no host", hub)
	case strings.Contains(hub, "#"):
		return fmt.Errorf("%q has a fragment", hub)
	}
	return nil
}
