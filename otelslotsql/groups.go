package otelslotsql

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/slotsql/slotsql"
)

// GroupTracer returns a tracer of groups, for slotsql.WithGroupTracer:
//
//	c, err := slotsql.OpenConnector("postgres-slotsql", dsn, slotsql.WithGroupTracer(otelslotsql.GroupTracer(otel.GetTracerProvider())))
//	db := otelsql.OpenDB(c)
//
// What the executions of a group share gets a span "slotsql.group". It is a child of the
// span of the execution whose connection is used, and has links to the spans of the
// others: those of a wrapper outside slotsql, such as otelsql, or the application's own.
// A wrapper inside slotsql adds the statement itself as a child. The attribute
// slotsql.group.size is the number of executions.
func GroupTracer(provider trace.TracerProvider) slotsql.GroupTracer {
	tracer := provider.Tracer(scope)
	return func(ctx context.Context, others []context.Context) (context.Context, func()) {
		links := make([]trace.Link, 0, len(others))
		for _, other := range others {
			if s := trace.SpanContextFromContext(other); s.IsValid() {
				links = append(links, trace.Link{SpanContext: s})
			}
		}
		ctx, span := tracer.Start(ctx, "slotsql.group", trace.WithLinks(links...), trace.WithSpanKind(trace.SpanKindInternal),
			trace.WithAttributes(attribute.Int("slotsql.group.size", len(others)+1)))
		return ctx, func() { span.End() }
	}
}
