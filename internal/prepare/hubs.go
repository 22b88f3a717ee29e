package prepare

import (
	"net/url"
	"regexp"
)

// OddHub is the reason for sending no links to a hub.
const OddHub LeftAlone = "the URL of the hub has characters in it that mean something in configurations"

// Hub is one that tells subscribers of changes in documents, and the topic that they
// subscribe to. See Framework Notification 1.0 §4.1.
type Hub struct {
	Topic, Hub string // URIs
}

// Path is that of the topic's URL.
func (h Hub) Path() string {
	u, err := url.Parse(h.Topic)
	if err != nil {
		return ""
	}
	return u.Path
}

// isPlainHub knows URIs in which nothing means anything to hosts, with a query or not.
var isPlainHub = regexp.MustCompile(`^[A-Za-z0-9._~/:\[\]?=&+@-]+$`)

// SetHubs has topics be served with links to themselves and to their hubs. The error is a
// LeftAlone.
func (s *Site) SetHubs(hubs []Hub) error {
	for _, h := range hubs {
		if !isPlain.MatchString(h.Topic) || h.Path() == "" {
			return OddPath
		}
		if !isPlainHub.MatchString(h.Hub) {
			return OddHub
		}
	}
	s.Hubs = hubs
	return nil
}
