package notify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"time"

	"github.com/wellspring-sync/wellspring/internal/httpclient"
)

// Document is one as it is going to be served.
type Document struct {
	URI    string
	Length int64 // in bytes
	SHA256 string
}

// Live is what a server answers with once a publication is all there.
type Live struct {
	// Record is the one that is uploaded last, and At its time. Where a server has one of
	// a later time, the publication was there, and is over.
	Record Document
	At     time.Time
	// Documents are others that have changed with it, of which a cache may still have
	// the old ones.
	Documents []Document
}

// StaleError says that a server does not answer yet with what was published.
type StaleError struct {
	URI string
	// Err says what it answers with.
	Err error
}

func (e *StaleError) Error() string { return fmt.Sprintf("%s is not the new one: %v", e.URI, e.Err) }
func (e *StaleError) Unwrap() error { return e.Err }

// IsLive asks once whether a server answers with all of a publication, and returns a
// *[StaleError] for the first document with which it does not. It reports whether a later
// publication is there instead.
func IsLive(ctx context.Context, l *Live, o Options) (later bool, err error) {
	o.applyDefaults()
	c := o.client(0)
	_, later, err = look(ctx, c, l, 0)
	return later, err
}

// Wait asks until a server answers with all of a publication, for up to a limit. Its
// results are those of IsLive.
func Wait(ctx context.Context, l *Live, limit time.Duration, o Options) (later bool, err error) {
	o.applyDefaults()
	c := o.client(0)
	end := time.Now().Add(limit)
	done := 0
	for tried := 0; ; tried++ {
		before := done
		done, later, err = look(ctx, c, l, done)
		stale, ok := errors.AsType[*StaleError](err)
		if !ok || httpclient.IsUntrusted(stale.Err) {
			return later, err
		}
		left := time.Until(end)
		if left <= 0 {
			return false, err
		}
		if tried == 0 || done != before {
			o.OnWait(err)
		}
		if err := httpclient.Sleep(ctx, min(pauses.Pause(tried, 0), left)); err != nil {
			return false, err
		}
	}
}

// pauses are short enough that nobody waits for long once all is there.
var pauses = httpclient.Retry{Longest: 15 * time.Second}

// look asks for the record, and then for one document after the other, but for those that
// are known to be the new ones. It returns how many are by now.
func look(ctx context.Context, c *httpclient.Client, l *Live, done int) (now int, later bool, err error) {
	began, odd := compare(ctx, c, l.Record)
	if isLater(began, l.At) {
		return done, true, nil
	}
	at := l.Record.URI
	for odd == nil && done < len(l.Documents) {
		at = l.Documents[done].URI
		if _, odd = compare(ctx, c, l.Documents[done]); odd == nil {
			done++
		}
	}
	switch {
	case ctx.Err() != nil:
		return done, false, context.Cause(ctx)
	case odd != nil:
		return done, false, &StaleError{at, odd}
	}
	return done, false, nil
}

// isLater reports whether what begins so is a record of a later time.
func isLater(record []byte, at time.Time) bool {
	d := json.NewDecoder(bytes.NewReader(record))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return false
	}
	for d.More() {
		var key json.Token
		var value json.RawMessage
		var err error
		if key, err = d.Token(); err == nil {
			err = d.Decode(&value)
		}
		if err != nil {
			return false
		}
		var t time.Time
		if key == "at" {
			return json.Unmarshal(value, &t) == nil && t.After(at)
		}
	}
	return false
}

// compare asks for a document, past caches, and returns how it is another one than it
// should be, and how that begins.
func compare(ctx context.Context, c *httpclient.Client, d Document) (began []byte, err error) {
	var head beginning
	r := httpclient.Request{URL: d.URI, Header: http.Header{"Cache-Control": {"no-cache"}}}
	err = c.Do(ctx, r, func(answer *http.Response) error {
		sum := sha256.New()
		n, err := io.Copy(io.MultiWriter(sum, &head), io.LimitReader(answer.Body, min(d.Length, math.MaxInt64-longestRecord)+longestRecord))
		if err == nil && (n != d.Length || hex.EncodeToString(sum.Sum(nil)) != d.SHA256) {
			began, err = head, errors.New("it has other content")
		}
		return err
	})
	return began, err
}

// longestRecord is how much is looked at to see whether it is a record, in bytes.
const longestRecord = 64 << 10

// beginning keeps the first bytes that are written to it.
type beginning []byte

func (b *beginning) Write(p []byte) (int, error) {
	*b = append(*b, p[:min(len(p), longestRecord-len(*b))]...)
	return len(p), nil
}
