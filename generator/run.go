package generator

import (
	"context"
	"time"

	"github.com/wellspring-sync/wellspring/generator/internal/last"
	"github.com/wellspring-sync/wellspring/generator/internal/survey"
	"github.com/wellspring-sync/wellspring/layout"
)

// Run publishes the source, or goes on with the publication that is there. It
// returns a *[policy.Refusal] where a guard stopped it, an error that is
// publish.ErrLocked or policy.ErrChanged where another run was in the way, and other
// errors for what failed. After an error nothing has changed, unless it is a
// *publish.IncompleteError; the Report then says what was found out so far.
//
// A run is four values, each of which is only read once the next one is made: what is
// published, what there is now, what becomes of each document, and what was written.
func Run(ctx context.Context, options Options) (*Report, error) {
	started, o := time.Now(), options.withDefaults()
	report := &Report{}
	defer func() { report.Took = time.Since(started) }()

	published, err := openLast(ctx, o)
	defer published.close()
	report.opened(published)
	if err != nil {
		return report, err
	}
	now, err := look(ctx, published)
	defer now.close()
	report.surveyed(now)
	if err != nil {
		return report, err
	}
	next, err := decide(now)
	if err != nil {
		return report, err
	}
	report.decided(next)
	if o.DryRun {
		return report, nil
	}
	done, err := next.write(ctx)
	report.written(done)
	return report, err
}

// published is what there is to go on from: the last publication, locked, and the source
// with the clock when its survey begins.
type published struct {
	o      *Options
	next   *last.Next
	files  *last.Files
	pub    *last.Publication
	source *survey.Source
	clock  clock
	// warnings are those beside the publication's.
	warnings []string
}

// openLast locks the output directory, completes an interrupted commit, brings the last
// publication there if it is elsewhere, and reads it. Nothing else is written before the
// run writes its own.
func openLast(ctx context.Context, o *Options) (*published, error) {
	p := &published{o: o}
	l, err := layout.New(o.Identity)
	if err != nil {
		return p, err
	}
	if err := o.CheckSets(); err != nil {
		return p, err
	}
	p.next = o.next(l)
	if p.source, err = survey.OpenSource(o.Source, o.synthetic); err != nil {
		return p, err
	}
	if p.files, err = last.Open(ctx, o.place(), p.next); err != nil {
		return p, err
	}
	if p.pub, err = last.Read(p.files, p.next, nil); err != nil {
		return p, err
	}
	var warning string
	if p.clock, warning, err = startClock(ctx, o, p.pub.At()); warning != "" {
		p.warnings = append(p.warnings, warning)
	}
	return p, err
}

func (p *published) close() {
	if p.files != nil {
		p.files.Close()
	}
	if p.source != nil {
		p.source.Close()
	}
}
