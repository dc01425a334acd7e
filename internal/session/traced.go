package session

import (
	"context"

	"github.com/slotsql/slotsql/internal/slots"
)

// GroupTracer is called when several executions are about to share what is sent to the database:
// one statement, or a few where the group has to be split. The context is that of the execution
// whose connection is used, without its cancellation; others are the contexts of the other ones.
// What is sent gets the context returned; end is called when the database has answered.
type GroupTracer = func(ctx context.Context, others []context.Context) (traced context.Context, end func())

// traced returns what a member keeps of its caller's context: nothing unless groups are traced.
func (s *Shared) traced(ctx context.Context) context.Context {
	if s.TraceGroup == nil {
		return nil
	}
	return ctx
}

// traceGroup has the tracer called around what a batch's members share.
func (s *Shared) traceGroup(m *slots.Member, b *slots.Batch, run func(context.Context, *Run)) func(context.Context, *Run) {
	if s.TraceGroup == nil || len(b.Members) < 2 {
		return run
	}
	others := make([]context.Context, 0, len(b.Members)-1)
	for _, other := range b.Members {
		if other != m && other.Context != nil {
			others = append(others, other.Context)
		}
	}
	return func(ctx context.Context, r *Run) {
		traced, end := s.TraceGroup(ctx, others)
		if end != nil {
			defer end()
		}
		if traced == nil {
			traced = ctx
		}
		run(traced, r)
	}
}
