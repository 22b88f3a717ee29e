package testhub

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
)

// Subscriber is a Destination that wants to know of a topic.
type Subscriber struct {
	// URL is that of its callback.
	URL, Topic string

	mu       sync.Mutex
	received []Delivery
}

// Received returns what it was sent.
func (s *Subscriber) Received() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.received)
}

// Subscribe asks a hub to be told of the topic.
func (s *Subscriber) Subscribe(hub string, client *http.Client) error {
	answer, err := client.PostForm(hub, url.Values{"hub.mode": {"subscribe"}, "hub.topic": {s.Topic}, "hub.callback": {s.URL}})
	if err != nil {
		return err
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusAccepted {
		return fmt.Errorf("the hub answers %s", answer.Status)
	}
	return nil
}

// ServeHTTP confirms the subscription to its topic alone, and takes what it is sent.
func (s *Subscriber) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	switch {
	case r.Method == http.MethodPost:
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.received = append(s.received, Delivery{r.Header.Get("Content-Type"), r.Header.Get("Link"), string(b)})
		s.mu.Unlock()
	case query.Get("hub.topic") != s.Topic:
		http.NotFound(w, r)
	default:
		io.WriteString(w, query.Get("hub.challenge"))
	}
}
