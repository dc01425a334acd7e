package session

import (
	"context"
	"errors"
	"sync"
	"time"
)

// asideWarnings limits warnings about what slotsql does aside from the application's statements.
type asideWarnings struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// warnAgain is how long the same warning is not logged again.
const warnAgain = time.Minute

func (w *asideWarnings) due(what string, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if last, ok := w.last[what]; ok && now.Sub(last) < warnAgain {
		return false
	}
	if w.last == nil {
		w.last = map[string]time.Time{}
	}
	w.last[what] = now
	return true
}

// warnAside logs that something failed which slotsql does aside from the application's statements. These run all the same,
// only slower, so nobody else would hear of a missing right or of a server without a connection to spare. That another
// session holds a lock, or that time has run out, is no failure.
func (s *Shared) warnAside(ctx context.Context, c *Conn, what string, err error) {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errNoSide) {
		return
	}
	if c != nil && (c.Engine.LockTimeout(err) || c.Engine.Conflict(err) || c.Engine.Retryable(err)) {
		return
	}
	if s.warned.aside.due(what, time.Now()) {
		s.Log().WarnContext(ctx, "slotsql: "+what, "error", err)
	}
}
