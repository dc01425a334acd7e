package wrapper

import (
	"database/sql"
	"sync"
	"testing"
	"time"

	"github.com/XSAM/otelsql"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/otelslotsql"
)

// TestGroupLinks: with otelsql outside and inside, each execution has otelsql's span outside; what a group sends
// has otelsql's span inside, below the group's span, which has links to the spans outside.
func TestGroupLinks(t *testing.T) {
	for engine, e := range engines {
		t.Run(engine, func(t *testing.T) {
			exporter := tracetest.NewInMemoryExporter()
			provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
			_, dsn := database(t, engine)
			parent, err := otelsql.Open(e.plain, dsn, otelsql.WithTracerProvider(provider))
			if err != nil {
				t.Fatal(err)
			}
			defer parent.Close()
			// Without slots every execution that meets others is part of a group.
			cfg, err := slotsql.Parse([]byte("version: 1\ntables: {posts: {counters: {views: {}}, slots: 0}}\n"), "slotsql.yaml")
			if err != nil {
				t.Fatal(err)
			}
			c, err := slotsql.WrapConnector(connect{parent.Driver(), dsn}, e.dialect, cfg,
				slotsql.WithGroupTracer(otelslotsql.GroupTracer(provider)))
			if err != nil {
				t.Fatal(err)
			}
			db := otelsql.OpenDB(c, otelsql.WithTracerProvider(provider))
			defer db.Close()
			spans := map[trace.SpanID]tracetest.SpanStub{}
			var groups []trace.SpanID
			for deadline := time.Now().Add(time.Minute); len(groups) == 0; { // overlapping is a matter of chance
				if time.Now().After(deadline) {
					t.Fatal("no executions have shared a statement")
				}
				together(t, db)
				for _, s := range exporter.GetSpans() {
					spans[s.SpanContext.SpanID()] = s
					if s.Name == "slotsql.group" {
						groups = append(groups, s.SpanContext.SpanID())
					}
				}
				exporter.Reset()
			}
			inside := map[trace.SpanID]bool{} // groups with a statement of otelsql's
			for _, s := range spans {
				inside[s.Parent.SpanID()] = true
			}
			for _, id := range groups {
				g := spans[id]
				if len(g.Links) == 0 || !inside[id] {
					t.Errorf("%d links; a statement below it: %v", len(g.Links), inside[id])
				}
				outside := spans[g.Parent.SpanID()]
				for _, l := range g.Links {
					if s, ok := spans[l.SpanContext.SpanID()]; !ok || s.Name != outside.Name || s.SpanContext.Equal(outside.SpanContext) {
						t.Errorf("a link to span %q of an execution, whose own is %q", s.Name, outside.Name)
					}
				}
			}
		})
	}
}

func together(t *testing.T, db *sql.DB) {
	t.Helper()
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 10 {
				if _, err := db.ExecContext(t.Context(), "UPDATE posts SET views = views + 1 WHERE id = 1"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}
