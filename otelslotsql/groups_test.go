package otelslotsql

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/server"
	_ "github.com/slotsql/slotsql/sqlite"
)

// Every execution has a span of its own. Where some share a statement, its span has one of them as its parent
// and links to the others.
func TestGroupTracer(t *testing.T) {
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	config, err := slotsql.Parse([]byte("version: 1\ntables: {traced: {counters: {views: {}}}}\n"), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	db, err := slotsql.Open("sqlite3-slotsql", server.SQLite(t), slotsql.WithConfig(config), slotsql.WithGroupTracer(GroupTracer(provider)))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, q := range []string{"CREATE TABLE traced (id INTEGER PRIMARY KEY, views INTEGER NOT NULL)", "INSERT INTO traced VALUES (1, 0)"} {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	executions := map[trace.SpanID]bool{}
	var counted int
	var groups tracetest.SpanStubs
	for deadline := time.Now().Add(time.Minute); len(groups) == 0; { // overlapping is a matter of chance
		if time.Now().After(deadline) {
			t.Fatalf("%d executions, and none has shared a statement", counted)
		}
		counted += crowd(t, db, provider)
		for _, s := range exporter.GetSpans() {
			if s.Name == "slotsql.group" {
				groups = append(groups, s)
			} else {
				executions[s.SpanContext.SpanID()] = true
			}
		}
		exporter.Reset()
	}
	for _, g := range groups {
		members := []trace.SpanID{g.Parent.SpanID()}
		for _, l := range g.Links {
			members = append(members, l.SpanContext.SpanID())
		}
		once := map[trace.SpanID]bool{}
		for _, id := range members {
			if !executions[id] || once[id] {
				t.Errorf("span %v of a group: that of an execution: %v; twice: %v", id, executions[id], once[id])
			}
			once[id] = true
		}
		size := ""
		for _, a := range g.Attributes {
			size += fmt.Sprint(a.Key, "=", a.Value.AsInt64())
		}
		if want := fmt.Sprintf("slotsql.group.size=%d", len(members)); size != want || len(members) < 2 {
			t.Errorf("%s, want %s", size, want)
		}
	}
	var views int
	if err := db.QueryRowContext(t.Context(), "SELECT views FROM traced").Scan(&views); err != nil || views != counted {
		t.Errorf("%d views of %d, %v", views, counted, err)
	}
}

// crowd counts from many goroutines at once, with a span for each execution, half of them with a context
// that can be cancelled.
func crowd(t *testing.T, db *sql.DB, provider trace.TracerProvider) (counted int) {
	const callers, times = 16, 20
	tracer := provider.Tracer("application")
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			for range times {
				base := context.Background()
				if i%2 == 0 {
					base = t.Context()
				}
				ctx, span := tracer.Start(base, "count")
				if _, err := db.ExecContext(ctx, "UPDATE traced SET views = views + 1 WHERE id = 1"); err != nil {
					t.Error(err)
				}
				span.End()
			}
		})
	}
	all.Wait()
	return callers * times
}
