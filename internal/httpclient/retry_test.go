package httpclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// server answers requests without a network, so that time can be that of a test. The last
// answer is given again and again.
type server struct {
	answers []any // *http.Response, error, or func(*http.Request) (*http.Response, error)
	asked   []*http.Request
	at      []time.Time
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	a := s.answers[min(len(s.asked), len(s.answers)-1)]
	s.asked = append(s.asked, r)
	s.at = append(s.at, time.Now())
	switch a := a.(type) {
	case *http.Response:
		again := *a
		return &again, nil
	case error:
		return nil, a
	}
	return a.(func(*http.Request) (*http.Response, error))(r)
}

func answer(code int, body string, headers ...string) *http.Response {
	w := httptest.NewRecorder()
	for i := 0; i < len(headers); i += 2 {
		w.Header().Set(headers[i], headers[i+1])
	}
	w.WriteHeader(code)
	io.WriteString(w, body)
	return w.Result()
}

// hang answers when nobody waits any more.
func hang(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// slow answers with a body of which some bytes come at a time, each after a pause.
func slow(bytes int, pause time.Duration) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		a := answer(200, "")
		a.Body = io.NopCloser(&drops{r.Context(), bytes, pause, 10})
		return a, nil
	}
}

type drops struct {
	ctx   context.Context
	bytes int
	pause time.Duration
	left  int
}

func (d *drops) Read(p []byte) (int, error) {
	if d.left == 0 {
		return 0, io.EOF
	}
	d.left--
	return min(d.bytes, len(p)), Sleep(d.ctx, d.pause)
}

func read(answer *http.Response) error {
	_, err := io.Copy(io.Discard, answer.Body)
	return err
}

// TestRetries has servers that do not answer as they should: how often are they asked, how
// long does it take, and what is said of it?
func TestRetries(t *testing.T) {
	t.Parallel()
	const second = time.Second
	always := Retry{Times: 3}
	for _, test := range []struct {
		name        string
		method      string
		answers     []any
		retry       Retry
		want        string // the error
		tries       int
		least, most time.Duration
	}{
		{"at once", "GET", []any{answer(200, "x")}, always, "", 1, 0, 0},
		{"500, then 200", "GET", []any{answer(500, ""), answer(200, "")}, always, "", 2, second / 2, second},
		{"never again", "GET", []any{answer(500, "")}, Retry{}, "the server answers 500 Internal Server Error", 1, 0, 0},
		{"always 503", "HEAD", []any{answer(503, "down")}, always, "the server answers 503 Service Unavailable", 4, 7 * second / 2, 7 * second},
		{"other pauses", "GET", []any{answer(503, "")}, Retry{3, 4 * second, 6 * second}, "the server answers 503 Service Unavailable", 4, 8 * second, 16 * second},
		{"429 with a time", "GET", []any{answer(429, "", "Retry-After", "7"), answer(200, "")}, always, "", 2, 7 * second, 7 * second},
		{"503 with a long time", "GET", []any{answer(503, "", "Retry-After", "86400"), answer(200, "")}, always, "", 2, 60 * second, 60 * second},
		{"503 with a time that is too long", "GET", []any{answer(503, "", "Retry-After", "60"), answer(200, "")}, Retry{Times: 1, Longest: 10 * second}, "", 2, 10 * second, 10 * second},
		{"503 with a date", "GET", []any{answer(503, "", "Retry-After", "Sat, 01 Jan 2000 00:00:10 GMT"), answer(200, "")}, always, "", 2, 10 * second, 10 * second},
		{"no network", "GET", []any{errors.New("connection refused")}, always, "connection refused", 4, 7 * second / 2, 7 * second},
		{"no such thing", "GET", []any{answer(404, "")}, always, "the server answers 404 Not Found", 1, 0, 0},
		{"408", "GET", []any{answer(408, "")}, always, "the server answers 408 Request Timeout", 1, 0, 0},
		{"408 to what is sent", "POST", []any{answer(408, ""), answer(200, "")}, always, "", 2, second / 2, second},
		{"501", "GET", []any{answer(501, ""), answer(200, "")}, always, "", 2, second / 2, second},
		{"501 to what is sent", "POST", []any{answer(501, "")}, always, "the server answers 501 Not Implemented", 1, 0, 0},
		{"501 to HEAD", "HEAD", []any{answer(501, "")}, always, "the server answers 501 Not Implemented", 1, 0, 0},
		{"204", "GET", []any{answer(204, "")}, always, "the server answers 204 No Content", 1, 0, 0},
		{"204 to what is sent", "POST", []any{answer(204, "")}, always, "", 1, 0, 0},
		{"what it says", "POST", []any{answer(400, "no\nmore")}, always, "the server answers 400 Bad Request: no", 1, 0, 0},
		{"a page", "POST", []any{answer(400, "<p>no", "Content-Type", "text/html")}, always, "the server answers 400 Bad Request", 1, 0, 0},
		{"hanging", "GET", []any{hang}, Retry{Times: 1}, "no answer in time", 2, 121 * second / 2, 61 * second},
		{"drops", "GET", []any{slow(1, 4*second)}, Retry{Times: 1}, "the answer breaks off: no answer in time", 2, 121 * second / 2, 61 * second},
		{"slow", "GET", []any{slow(stride, 29*second)}, Retry{}, "", 1, 290 * second, 290 * second},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &server{answers: test.answers}
				retried := 0
				c := New(Options{Transport: s, Retry: test.retry, OnRetry: func(url string, err error, pause time.Duration) {
					retried++
					if strings.Contains(url, "s3cret") || err == nil || pause <= 0 {
						t.Errorf("told of %s: %v, %v", url, err, pause)
					}
				}})
				began := time.Now()
				err := c.Do(t.Context(), Request{Method: test.method, URL: "https://me:s3cret@a.example/?s3cret", Body: []byte("x")}, read)
				if err == nil && test.want != "" || err != nil && err.Error() != test.want {
					t.Errorf("got %v, want %q", err, test.want)
				}
				if took := time.Since(began); len(s.asked) != test.tries || retried != test.tries-1 || took < test.least || took > test.most {
					t.Errorf("%d tries in %v, %d of them again; want %d in %v to %v", len(s.asked), took, retried, test.tries, test.least, test.most)
				}
			})
		})
	}
}

// TestStops has the context end while a server hangs, and during a pause.
func TestStops(t *testing.T) {
	t.Parallel()
	stop := errors.New("stop")
	for _, a := range []any{hang, slow(1, time.Second), answer(503, "", "Retry-After", "60")} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(5*time.Second, func() { cancel(stop) })
			began := time.Now()
			err := New(Options{Transport: &server{answers: []any{a}}, Retry: Retry{Times: 1}}).Do(ctx, Request{URL: "https://a.example/"}, read)
			if err != stop || time.Since(began) != 5*time.Second {
				t.Errorf("ended with %v after %v", err, time.Since(began))
			}
		})
	}
}

// TestUse returns what the caller says of an answer, and asks once.
func TestUse(t *testing.T) {
	t.Parallel()
	odd := errors.New("odd")
	s := &server{answers: []any{answer(200, "x")}}
	c := New(Options{Transport: s, Retry: Retry{Times: 3}})
	for _, want := range []error{odd, &Error{Err: odd}, nil} {
		s.asked = nil
		if err := c.Do(t.Context(), Request{URL: "https://a.example/"}, func(*http.Response) error { return want }); err != want || len(s.asked) != 1 {
			t.Errorf("%v after %d requests", err, len(s.asked))
		}
	}
	err := c.Do(t.Context(), Request{URL: "https://me:s3cret@a.example:x/"}, nil)
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("got %v", err)
	}
}

// TestLongErrors cuts what others wrote.
func TestLongErrors(t *testing.T) {
	t.Parallel()
	c := New(Options{Transport: &server{answers: []any{answer(400, strings.Repeat("ü", 1000))}}})
	err := c.Do(t.Context(), Request{Method: http.MethodPost, URL: "https://a.example/"}, nil)
	if err == nil || len(err.Error()) > 310 || !strings.HasSuffix(err.Error(), "ü…") {
		t.Errorf("got %v", err)
	}
}

func TestPauses(t *testing.T) {
	t.Parallel()
	for tried := range 100 {
		if d := (Retry{}).Pause(tried, 0); d < time.Second/2 || d > time.Minute {
			t.Errorf("after %d tries: %v", tried, d)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":                              0,
		"7":                             7 * time.Second,
		"-7":                            0,
		"99999999999999999999":          0,
		"soon":                          0,
		"Fri, 02 Jan 2026 03:04:15 GMT": 10 * time.Second,
		"Fri, 02 Jan 2026 03:04:00 GMT": 0,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q: got %v, want %v", value, got, want)
		}
	}
}

func parse(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
