// Package testhub is a hub for tests, and a subscriber. The hub speaks both what
// ResourceSync has sent to it and the ping of WebSub; like those in use, it can do
// without the former.
package testhub

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// Delivery is what a subscriber was sent.
type Delivery struct {
	Type, Link string
	Payload    string
}

// Hub is a hub at a URL.
type Hub struct {
	URL string
	// PingOnly answers notifications with 400, as hubs in use do.
	PingOnly bool
	Client   *http.Client

	mu          sync.Mutex
	subscribers map[string][]string // callbacks by topic
	requests    []string
}

// Requests returns what the hub was asked, a line for each request.
func (h *Hub) Requests() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.requests)
}

func (h *Hub) note(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests = append(h.requests, fmt.Sprintf(format, args...))
}

func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind := r.Header.Get("Content-Type")
	switch {
	case r.Method != http.MethodPost:
		http.Error(w, "only POST", http.StatusMethodNotAllowed)
	case kind == "application/x-www-form-urlencoded":
		h.form(w, r)
	case kind != "application/xml" || h.PingOnly:
		h.note("refused %s", kind)
		http.Error(w, "missing hub.mode parameter", http.StatusBadRequest)
	default:
		h.payload(w, r)
	}
}

// payload passes a notification on. See Framework Notification 1.0 §4.1 and §4.3.
func (h *Hub) payload(w http.ResponseWriter, r *http.Request) {
	link := r.Header.Get("Link")
	topic := Target(link, "self")
	if topic == "" || Target(link, "hub") != h.URL {
		http.Error(w, "no link to the topic, or to this hub", http.StatusBadRequest)
		return
	}
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	h.note("notified of %s", topic)
	h.deliver(topic, link, b)
	w.WriteHeader(http.StatusNoContent)
}

// form takes a subscription or a ping. See WebSub §5.1 and §6.
func (h *Hub) form(w http.ResponseWriter, r *http.Request) {
	topic, callback := r.PostFormValue("hub.topic"), r.PostFormValue("hub.callback")
	h.note("%s %s %s", r.PostFormValue("hub.mode"), topic, r.PostFormValue("hub.url"))
	switch r.PostFormValue("hub.mode") {
	case "subscribe":
		if err := h.verify(topic, callback); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		h.mu.Lock()
		h.subscribers[topic] = append(h.subscribers[topic], callback)
		h.mu.Unlock()
	case "publish":
		answer, err := h.Client.Get(topic)
		if err != nil || answer.StatusCode != http.StatusOK {
			http.Error(w, "the topic cannot be fetched", http.StatusNotFound)
			return
		}
		defer answer.Body.Close()
		b, err := io.ReadAll(answer.Body)
		if err != nil {
			http.Error(w, "the topic cannot be read", http.StatusBadGateway)
			return
		}
		h.deliver(topic, fmt.Sprintf(`<%s>; rel="self", <%s>; rel="hub"`, topic, h.URL), b)
	default:
		http.Error(w, "unknown hub.mode", http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// verify asks a subscriber whether it meant to subscribe. See WebSub §5.3.
func (h *Hub) verify(topic, callback string) error {
	challenge := rand.Text()
	query := url.Values{"hub.mode": {"subscribe"}, "hub.topic": {topic}, "hub.challenge": {challenge}, "hub.lease_seconds": {"3600"}}
	answer, err := h.Client.Get(callback + "?" + query.Encode())
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if b, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusOK || string(b) != challenge {
		return fmt.Errorf("the subscriber does not confirm: %v", err)
	}
	return nil
}

func (h *Hub) deliver(topic, link string, payload []byte) {
	h.mu.Lock()
	callbacks := slices.Clone(h.subscribers[topic])
	h.mu.Unlock()
	for _, callback := range callbacks {
		request, err := http.NewRequest(http.MethodPost, callback, bytes.NewReader(payload))
		if err != nil {
			h.note("%v", err)
			continue
		}
		request.Header.Set("Content-Type", "application/xml")
		request.Header.Set("Link", link)
		answer, err := h.Client.Do(request)
		if err != nil {
			h.note("%v", err)
			continue
		}
		answer.Body.Close()
	}
}

// New returns a hub.
func New(at string, client *http.Client) *Hub {
	return &Hub{URL: at, Client: client, subscribers: map[string][]string{}}
}

// Target returns the URI of a link in a header, or nothing.
func Target(header, rel string) string {
	for part := range strings.SplitSeq(header, ",") {
		uri, relation, _ := strings.Cut(strings.TrimSpace(part), ">")
		if strings.HasPrefix(uri, "<") && strings.ReplaceAll(relation, " ", "") == `;rel="`+rel+`"` {
			return uri[1:]
		}
	}
	return ""
}
