package survey

import (
	"log/slog"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/hashing"
	"github.com/wellspring-sync/wellspring/scanner"
)

// Options say how a source is looked at.
type Options struct {
	// Hash are the digests to publish, and Planned says that an upload plan wants its
	// own as well.
	Hash    hashing.Set
	Planned bool
	// Checksum reads every file, whatever its length and times say.
	Checksum  bool
	LastMod   policy.LastMod
	Resources policy.ResourceRules
	Jobs      int // files that are read at the same time
	// Scan says which files belong to the source. Its LeftOut is set by the survey.
	Scan scanner.Options
	Log  *slog.Logger
	// Meter tells how far the survey is.
	Meter *Meter
}
