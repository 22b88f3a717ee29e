package notify

import (
	"fmt"
	"time"

	"github.com/wellspring-sync/wellspring/internal/httpclient"
)

// client returns what asks servers as options say. Redirects are followed on the same
// host.
func (o *Options) client(retries int) *httpclient.Client {
	return httpclient.New(httpclient.Options{
		Name: "it", Release: o.Release, Transport: o.Transport, Redirects: 3, Retry: httpclient.Retry{Times: retries},
		OnRetry: func(hub string, err error, pause time.Duration) {
			o.Log.Warn("telling the hub: trying again", "error", hubError(hub, err), "wait", pause)
		},
	})
}

func hubError(hub string, err error) error { return fmt.Errorf("the hub %s: %w", hub, err) }
