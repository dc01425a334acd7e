package rollup

import (
	"context"
	"time"
)

// Rest waits after a conflict, longer each time.
func (w *Worker) Rest(ctx context.Context, conflict bool, attempt int) error {
	if !conflict {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(10 * time.Millisecond << min(attempt, 6)):
		return nil
	}
}

// pace fits the batches' size to the time they take.
func (w *Worker) pace(took time.Duration, rows int) {
	switch {
	case took > 2*batchAim:
		w.size = max(min(w.size, rows)/2, 1)
	case took < batchAim && rows >= w.size/2:
		w.size = min(w.size*2, w.Options.Batch)
	}
}
