package session

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// A unique index that another row's value stands in holds for each increment on the way,
// whatever kind of index it is: no group passes over that value.
func TestGroupedUnique(t *testing.T) {
	indexes := map[string]map[string][]string{
		"whole": {
			"mysql":    {"CREATE UNIQUE INDEX u ON stock (n)"},
			"postgres": {"CREATE UNIQUE INDEX u ON stock (n)"},
			"sqlite":   {"CREATE UNIQUE INDEX u ON stock (n)"},
		},
		"partial": {
			"mysql":    {"ALTER TABLE stock ADD u BIGINT AS (CASE WHEN n > 5 THEN n END)", "CREATE UNIQUE INDEX u ON stock (u)"},
			"postgres": {"CREATE UNIQUE INDEX u ON stock (n) WHERE n > 5"},
			"sqlite":   {"CREATE UNIQUE INDEX u ON stock (n) WHERE n > 5"},
		},
		"expression": {
			"mysql":    {"ALTER TABLE stock ADD u BIGINT AS (n + 1) STORED", "CREATE UNIQUE INDEX u ON stock (u)"},
			"postgres": {"CREATE UNIQUE INDEX u ON stock ((n + 1))"},
			"sqlite":   {"CREATE UNIQUE INDEX u ON stock (n + 1)"},
		},
		"predicate": {
			"postgres": {"CREATE UNIQUE INDEX u ON stock (note) WHERE n = 100"},
			"sqlite":   {"CREATE UNIQUE INDEX u ON stock (note) WHERE n = 100"},
		},
		"deferrable": {
			"postgres": {"ALTER TABLE stock ADD CONSTRAINT u UNIQUE (n) DEFERRABLE"},
		},
	}
	for name, byDialect := range indexes {
		for dialect, ddl := range byDialect {
			t.Run(name+"/"+dialect, func(t *testing.T) {
				t.Parallel()
				p := twin.New(t, twin.Options{
					Dialect: dialect,
					Schema: append([]string{
						"CREATE TABLE stock (id INT PRIMARY KEY, n BIGINT NOT NULL, note VARCHAR(40))",
						"INSERT INTO stock VALUES (1, 0, 'a'), (2, 100, 'a')",
					}, ddl...),
					Config: "version: 1\ntables: {stock: {counters: {n: {}}, slots: 0}}\n",
				})
				p.Wrapped.SetMaxOpenConns(clients)
				p.Wrapped.SetMaxIdleConns(clients)
				var counted atomic.Int64
				crowd(t, 8, func(ctx context.Context, _, _ int) error {
					if _, err := p.Wrapped.ExecContext(ctx, "UPDATE stock SET n = n + 1 WHERE id = 1"); err == nil {
						counted.Add(1)
					}
					return nil
				})
				if got := value(t, p.Under, "SELECT n FROM stock WHERE id = 1"); counted.Load() != 99 || got != "99" {
					t.Errorf("%s stands in the row, and %d were counted, want 99", got, counted.Load())
				}
			})
		}
	}
}
