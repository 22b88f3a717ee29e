package survey

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wellspring-sync/wellspring/generator/policy"
)

// TestMeterBeginsAnew counts each survey from the beginning.
func TestMeterBeginsAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told policy.Progress
		m := NewMeter(func(p policy.Progress) { told = p })
		for range 2 {
			stop := m.start(t.Context(), func(context.Context) int64 { return 1 })
			m.file()
			m.read(2)
			m.Pack(3)
			time.Sleep(tellEvery + 1)
			stop()
		}
		if told.Files != 1 || told.TotalFiles != 1 || told.ReadBytes != 2 || told.PackedBytes != 3 {
			t.Errorf("got %+v", told)
		}
	})
}
