package session

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// What the engine computes from a counter, for a generated column or an index, may refuse a
// number between the first and the last of a group: no group passes over it.
func TestGroupedComputed(t *testing.T) {
	at100 := func(refused, other string) string {
		return "CASE WHEN n = 100 THEN " + refused + " ELSE " + other + " END"
	}
	for name, byDialect := range map[string]map[string][]string{
		"value": {
			"mysql":    {"ALTER TABLE stock ADD g INT AS (9 / (n - 100)) STORED"},
			"postgres": {"ALTER TABLE stock ADD g INT GENERATED ALWAYS AS (9 / (n - 100)) STORED"},
			"sqlite":   {"CREATE INDEX g ON stock (json(" + at100("'x'", "'1'") + "))"},
		},
		"type": {
			"mysql":    {"ALTER TABLE stock ADD g TINYINT AS (" + at100("1000", "1") + ") VIRTUAL, ADD KEY (g)"},
			"postgres": {"ALTER TABLE stock ADD g SMALLINT GENERATED ALWAYS AS (" + at100("100000", "1") + ") STORED"},
		},
		"length": {
			"mysql":    {"ALTER TABLE stock ADD g VARCHAR(4) AS (" + at100("'fifth'", "'some'") + ") STORED"},
			"postgres": {"ALTER TABLE stock ADD g VARCHAR(4) GENERATED ALWAYS AS (" + at100("'fifth'", "'some'") + ") STORED"},
		},
		"not null": {
			"postgres": {"ALTER TABLE stock ADD g BIGINT GENERATED ALWAYS AS (NULLIF(n, 100)) STORED NOT NULL"},
			"sqlite":   {"ALTER TABLE stock ADD g BIGINT NOT NULL GENERATED ALWAYS AS (NULLIF(n, 100)) VIRTUAL"},
		},
		"chain": {
			"postgres": {"ALTER TABLE stock ADD g BIGINT GENERATED ALWAYS AS (n + 1) STORED", "CREATE INDEX i ON stock ((9 / (g - 101)))"},
		},
		"index": {
			"postgres": {"CREATE INDEX g ON stock (note, (9 / (n - 100)))"},
			"sqlite":   {"CREATE INDEX g ON stock (note, json(" + at100("'x'", "'1'") + "))"},
		},
		"partial index": {
			"postgres": {"CREATE INDEX g ON stock (note) WHERE 9 / (n - 100) > 3"},
			"sqlite":   {"CREATE INDEX g ON stock (note) WHERE json(" + at100("'x'", "'1'") + ") = '2'"},
		},
	} {
		for dialect, ddl := range byDialect {
			t.Run(name+"/"+dialect, func(t *testing.T) {
				t.Parallel()
				p := computed(t, dialect, ddl)
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

// What can refuse no number leaves groups as they are.
func TestGroupedBesideComputed(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		if dialect == "mysql" {
			return // MariaDB has neither partial indexes nor those on expressions
		}
		for _, ddl := range [][]string{
			{"CREATE INDEX i ON stock (note) WHERE n > 100 AND note IS NOT NULL"},
			{"CREATE INDEX i ON stock ((n > 7))"},
			{"CREATE INDEX i ON stock ((id / 2)) WHERE note = 'a'"},
		} {
			p := computed(t, dialect, ddl)
			x, err := twin.Explain(t, twin.Connector(t, p), "UPDATE stock SET n = n + 1 WHERE id = 1")
			if err != nil {
				t.Fatal(err)
			}
			if x.NotGrouped != "" {
				t.Errorf("%v: not grouped: %s", ddl, x.NotGrouped)
			}
		}
	})
}

func computed(t *testing.T, dialect string, ddl []string) *twin.Pair {
	t.Helper()
	return twin.New(t, twin.Options{
		Dialect: dialect,
		Schema: append([]string{
			"CREATE TABLE stock (id INT PRIMARY KEY, n BIGINT NOT NULL, note VARCHAR(40))",
			"INSERT INTO stock VALUES (1, 0, 'a')",
		}, ddl...),
		Config: "version: 1\ntables: {stock: {counters: {n: {}}, slots: 0}}\n",
	})
}
