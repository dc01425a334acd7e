package rollup

import (
	"context"
	"time"

	"github.com/slotsql/slotsql/internal/slots"
)

// Run makes passes until ctx is done. Wake ends a wait early, and journal has the
// journals looked at in between.
func (w *Worker) Run(ctx context.Context, wake, journal <-chan struct{}) {
	defer w.release(ctx)
	defer w.standBy()
	failures, standsBy := 0, false
	for {
		report, err := w.report(ctx, w.pass)
		if ctx.Err() != nil {
			return
		}
		wait := w.Options.Interval
		switch {
		case err != nil:
			failures++
			wait = min(wait<<min(failures, 10), max(time.Minute, wait))
			if w.Options.Pass == nil {
				w.catalog.Log().WarnContext(ctx, "slotsql: the roll-up failed and will be retried", "in", wait, "error", err.Error())
			}
		case report.Held == standsBy:
			standsBy = !report.Held
			w.logStandBy(ctx, standsBy)
			failures = 0
		case report.Moved() >= slots.ManyRows:
			failures, wait = 0, 0
		default:
			failures = 0
		}
		timer := time.NewTimer(wait)
		if err != nil || !report.Held { // another worker has the lease, or none can have it
			w.wait(ctx, timer, wake, nil, false)
		} else {
			w.wait(ctx, timer, wake, journal, w.catalog.Journals() && report.Moved() >= slots.ManyJournalRows)
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// logStandBy logs that another worker rolls up, or does no longer.
func (w *Worker) logStandBy(ctx context.Context, standsBy bool) {
	switch {
	case w.Options.Pass != nil: // who is called logs
	case standsBy:
		w.catalog.Log().InfoContext(ctx, "slotsql: the roll-up stands by: another process rolls up")
	default:
		w.catalog.Log().InfoContext(ctx, "slotsql: the roll-up works: the other process has ended")
	}
}

// wait waits for the next pass. The journals are looked at meanwhile when rows
// have come, with a pause each time for more of them to come, and as long as there
// are many: those of other processes, say, which wake their own worker only.
func (w *Worker) wait(ctx context.Context, pass *time.Timer, wake, journal <-chan struct{}, many bool) {
	var took time.Duration
	var pause <-chan time.Time
	if many {
		pause = time.After(slots.JournalWait(took))
	}
	for {
		come := journal
		if pause != nil {
			come = nil
		}
		select {
		case <-ctx.Done():
			return
		case <-pass.C:
			return
		case <-wake:
			return
		case <-come:
			pause = time.After(slots.JournalWait(took))
		case <-pause:
			pause = nil
			report, err := w.report(ctx, w.journals)
			if took = report.Took; err != nil || !report.Held {
				journal = nil // until the pass
			} else if report.Moved() >= slots.ManyJournalRows {
				pause = time.After(slots.JournalWait(took))
			}
		}
	}
}

// report makes a pass and calls Options.Pass.
func (w *Worker) report(ctx context.Context, pass func(context.Context) (Report, error)) (Report, error) {
	report, err := pass(ctx)
	if w.Options.Pass != nil && ctx.Err() == nil {
		w.Options.Pass(report, err)
	}
	return report, err
}
