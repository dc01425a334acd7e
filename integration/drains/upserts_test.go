package drains

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// TestUpsertDrainsConcurrently: upserts that drain the keys they give, of rows
// that are there and of rows that all of them want to be the first to insert,
// beside increments of the same rows. Nothing is lost or counted twice, and
// no session is chosen as deadlock victim over one row.
func TestUpsertDrainsConcurrently(t *testing.T) {
	upserts := map[string]string{
		"mysql":    "INSERT INTO hits (page, n) VALUES (?, 1) ON DUPLICATE KEY UPDATE n = 1 * n + VALUES(n)",
		"postgres": "INSERT INTO hits (page, n) VALUES ($1, 1) ON CONFLICT (page) DO UPDATE SET n = 1 * hits.n + excluded.n",
		"sqlite":   "INSERT INTO hits (page, n) VALUES (?, 1) ON CONFLICT (page) DO UPDATE SET n = 1 * n + excluded.n",
	}
	for dialect, upsert := range upserts {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			p := twin.New(t, twin.Options{
				Dialect: dialect,
				Schema:  []string{"CREATE TABLE hits (page INT NOT NULL PRIMARY KEY, n INT NOT NULL)", "INSERT INTO hits VALUES (1, 0)"},
				Config:  "version: 1\nauto_migrate: true\ntables: {hits: {counters: {n: {}}}}\n",
			})
			increment := "UPDATE hits SET n = n + 1 WHERE page = ?"
			if dialect == "postgres" {
				increment = strings.Replace(increment, "?", "$1", 1)
			}
			workers, rounds := 8, 40
			if dialect == "sqlite" {
				workers = 1 // one writer: the others would get SQLITE_BUSY
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var want atomic.Int64
			var wg sync.WaitGroup
			for w := range workers {
				wg.Go(func() {
					for i := range rounds {
						query := increment
						if (w+i)%2 == 0 {
							query = upsert
						}
						page := 1 + i/4 // every four rounds a row that is new
						res, err := p.Wrapped.ExecContext(ctx, query, page)
						if err != nil {
							t.Errorf("%s of %d: %v", query, page, err)
							cancel()
							return
						}
						n, _ := res.RowsAffected()
						if n > 0 {
							want.Add(1)
						}
					}
				})
			}
			wg.Wait()
			for _, q := range []string{"SELECT SUM(n) FROM hits", "SELECT SUM(n + 0) FROM hits"} {
				var got int64
				if err := p.Wrapped.QueryRowContext(t.Context(), q).Scan(&got); err != nil {
					t.Fatal(err)
				}
				if got != want.Load() {
					t.Errorf("%s: %d, want %d", q, got, want.Load())
				}
			}
			e, err := slotsql.Explain(t.Context(), p.Wrapped, upsert)
			if err != nil {
				t.Fatal(err)
			}
			plan := ""
			if len(e.Drains) > 0 {
				plan = e.Class + " " + e.Drains[0].Scope
			}
			if plan != "drain rows of a unique key" {
				t.Errorf("the upsert's plan is %q", plan)
			}
		})
	}
}

// An upsert's condition is about totals: by the base value of a row with slots it may be true where it is false of the total, or the
// other way round.
func TestUpsertConditionOfTotals(t *testing.T) {
	for _, dialect := range []string{"postgres", "sqlite"} { // MySQL's upserts have no condition
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			p := twin.New(t, twin.Options{
				Dialect: dialect,
				Schema:  []string{"CREATE TABLE hits (page INT NOT NULL PRIMARY KEY, n INT NOT NULL)", "INSERT INTO hits VALUES (1, 50)"},
				Config:  "version: 1\nauto_migrate: true\ndefaults: {placement: random}\ntables: {hits: {counters: {n: {}}}}\n",
			})
			for _, condition := range []string{"hits.n > 100", "hits.n < 100"} {
				p.Same(t, twin.Statement{SQL: "UPDATE hits SET n = n + 100 WHERE page = 1"})
				p.Same(t, twin.Statement{SQL: "INSERT INTO hits VALUES (1, 0) ON CONFLICT (page) DO UPDATE SET n = 10 WHERE " + condition})
				p.Same(t, twin.Statement{SQL: "SELECT n FROM hits"})
			}
		})
	}
}
