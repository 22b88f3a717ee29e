package notify

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var discard = log.New(io.Discard, "", 0)

// site serves documents that become others in time.
type site struct {
	t     *testing.T
	began time.Time
	// documents have, by URI, what they are from the seconds on.
	documents map[string]map[int]string
	asked     []string
	header    http.Header
}

func (s *site) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked = append(s.asked, r.URL.Path)
	s.header = r.Header
	var times []int
	for from := range s.documents[r.URL.String()] {
		if time.Since(s.began) >= time.Duration(from)*time.Second {
			times = append(times, from)
		}
	}
	if len(times) == 0 {
		return answer(404, "no"), nil
	}
	content := s.documents[r.URL.String()][slices.Max(times)]
	if to, ok := strings.CutPrefix(content, "-> "); ok {
		return answer(302, "", "Location", to), nil
	}
	if content == "endless" {
		a := answer(200, "")
		a.Body = io.NopCloser(endless{})
		return a, nil
	}
	return answer(200, content), nil
}

func document(uri, content string) Document {
	sum := sha256.Sum256([]byte(content))
	return Document{URI: uri, Length: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}
}

const (
	recordURI = "https://example.org/resourcesync/publication.json"
	listURI   = "https://example.org/resourcesync/resourcelist.xml"
	newRecord = `{"format": 1, "identity": {"at": "2036-01-01T00:00:00Z"}, "at": "2026-01-02T03:04:05Z", "heads": []}`
	oldRecord = `{"format": 1, "at": "2025-01-02T03:04:05Z"}`
)

// TestWait has a publication appear, or not.
func TestWait(t *testing.T) {
	t.Parallel()
	live := &Live{Record: document(recordURI, newRecord), At: at, Documents: []Document{document(listURI, "new")}}
	for _, test := range []struct {
		name         string
		record, list map[int]string
		want         string
		later        bool
		least, most  time.Duration
	}{
		{"at once", map[int]string{0: newRecord}, map[int]string{0: "new"}, "", false, 0, 0},
		{"the record after a time", map[int]string{0: oldRecord, 40: newRecord}, map[int]string{0: "new"}, "", false, 40 * time.Second, 55 * time.Second},
		{"a cache with an old list", map[int]string{0: newRecord}, map[int]string{0: "old", 100: "new"}, "", false, 100 * time.Second, 115 * time.Second},
		{"not there at first", map[int]string{10: newRecord}, map[int]string{20: "new"}, "", false, 20 * time.Second, 35 * time.Second},
		{"a page for a while", map[int]string{0: "<html>wait", 10: newRecord}, map[int]string{0: "new"}, "", false, 10 * time.Second, 25 * time.Second},
		{"never", map[int]string{0: newRecord}, map[int]string{0: "old"}, "resourcelist.xml is not the new one: it has other content", false, 5 * time.Minute, 5 * time.Minute},
		{"never there", nil, nil, "publication.json is not the new one: it answers 404 Not Found", false, 5 * time.Minute, 5 * time.Minute},
		{"of the same length", map[int]string{0: newRecord}, map[int]string{0: "owl"}, "other content", false, 5 * time.Minute, 5 * time.Minute},
		{"endless", map[int]string{0: "endless"}, nil, "other content", false, 5 * time.Minute, 5 * time.Minute},
		{"redirected", map[int]string{0: "-> /resourcesync/resourcelist.xml"}, map[int]string{0: newRecord, 9: "new"}, "other content", false, 5 * time.Minute, 5 * time.Minute},
		{"redirected away", map[int]string{0: "-> http://example.org/"}, nil, "redirects from https", false, 5 * time.Minute, 5 * time.Minute},
		{"a later one", map[int]string{0: `{"format": 1, "at": "2026-01-02T03:04:06Z"`}, nil, "", true, 0, 0},
		{"a later one meanwhile", map[int]string{0: newRecord, 60: `{"at": "2026-02-01T00:00:00Z"}`}, map[int]string{0: "old"}, "", true, 60 * time.Second, 75 * time.Second},
		{"not later", map[int]string{0: `{"at": "2026-01-02T03:04:05Z"}`}, nil, "other content", false, 5 * time.Minute, 5 * time.Minute},
		{"odd JSON", map[int]string{0: `{"at": {"at": "2036-01-02T03:04:05Z"}, "at": "2036-01-02T03:04:05Z"}`}, nil, "other content", false, 5 * time.Minute, 5 * time.Minute},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &site{t: t, began: time.Now(), documents: map[string]map[int]string{recordURI: test.record, listURI: test.list}}
				waits := 0
				o := Options{Transport: s, OnWait: func(error) { waits++ }}
				if _, err := IsLive(t.Context(), live, o); (err == nil) != (test.least == 0) {
					t.Errorf("IsLive: %v", err)
				}
				later, err := Wait(t.Context(), live, 5*time.Minute, o)
				took := time.Since(s.began)
				if later != test.later || (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
					t.Errorf("%t, %v; want %t, %q", later, err, test.later, test.want)
				}
				if took < test.least || took > test.most || len(s.asked) > 100 || waits > 3 {
					t.Errorf("%v, %d requests, %d messages; want %v to %v", took, len(s.asked), waits, test.least, test.most)
				}
				if s.header.Get("Cache-Control") != "no-cache" {
					t.Errorf("asked with %v", s.header)
				}
			})
		})
	}
}

// TestStaleError names the document.
func TestStaleError(t *testing.T) {
	t.Parallel()
	s := &site{began: time.Now(), documents: map[string]map[int]string{recordURI: {0: "x"}}}
	_, err := IsLive(t.Context(), &Live{Record: document(recordURI, "y")}, Options{Transport: s})
	var stale *StaleError
	if !errors.As(err, &stale) || stale.URI != recordURI {
		t.Errorf("%v", err)
	}
}
