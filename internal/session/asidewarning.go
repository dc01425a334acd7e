package session

import (
	"context"
	"errors"
	"time"

	"github.com/slotsql/slotsql/internal/link"
)

// warnAside logs that something failed which slotsql does aside from the application's statements. These run all the same,
// only slower, so a missing right, or a server that has no connection left, would go unnoticed. That another session holds a
// lock, or that time has run out, is no failure.
func (s *Shared) warnAside(ctx context.Context, what string, err error) {
	e := link.EngineOf(s.Dialect)
	outOfTime := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	if outOfTime || e.LockTimeout(err) || e.Conflict(err) || e.Retryable(err) {
		return
	}
	if _, ok := s.warned.aside.due(what, time.Now()); ok {
		s.Log().WarnContext(ctx, "slotsql: "+what, "error", err)
	}
}
