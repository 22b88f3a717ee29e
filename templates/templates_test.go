package templates_test

import (
	"testing"

	"github.com/wellspring-sync/wellspring/templates"
)

func TestRenderUnknown(t *testing.T) {
	t.Parallel()
	if got, err := templates.Render("nothing", nil); err == nil {
		t.Errorf("got %q and no error", got)
	}
	if got, err := templates.Render("nginx", map[string]string{}); err == nil {
		t.Errorf("without data: got %q and no error", got)
	}
}
