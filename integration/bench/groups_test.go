package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// BenchmarkGroups measures what placement adaptive and slots: 0 make of rows that nothing
// waits for, and of one that all clients wait for, by the kinds of statement that share one on
// the base row. The number of rows that have come to have slots is reported.
func BenchmarkGroups(b *testing.B) {
	const rows = 100_000
	draw := map[string]string{
		"mysql":    "UPDATE items SET n = LAST_INSERT_ID(n + 1) WHERE id = 1",
		"postgres": "UPDATE items SET n = n + 1 WHERE id = 1 RETURNING n",
		"sqlite":   "UPDATE items SET n = n + 1 WHERE id = 1 RETURNING n",
	}
	now := map[string]string{"mysql": "NOW()", "postgres": "now()", "sqlite": "datetime('now')"}
	exec := func(q string, args ...any) operation {
		return func(ctx context.Context, s *side) error {
			_, err := s.db.ExecContext(ctx, s.q(q), args...)
			return err
		}
	}
	for _, e := range benchEngines {
		hot := map[string]int{"sqlite": 64}[e.dialect]
		if hot == 0 {
			hot = 128
		}
		for _, c := range []struct {
			name    string
			clients int
			op      operation
		}{
			{"cold", 32, func(ctx context.Context, s *side) error {
				return exec("UPDATE items SET n = n + 1 WHERE id = ?", 1+rand.IntN(rows))(ctx, s)
			}},
			{"cold in a transaction", 32, func(ctx context.Context, s *side) error {
				tx, err := s.db.BeginTx(ctx, nil)
				if err != nil {
					return err
				}
				defer tx.Rollback() //nolint:errcheck // it is committed
				id := 1 + rand.IntN(rows)
				if _, err := tx.ExecContext(ctx, s.q("INSERT INTO visits (item) VALUES (?)"), id); err != nil {
					return err
				}
				if _, err := tx.ExecContext(ctx, s.q("UPDATE items SET n = n + 1 WHERE id = ?"), id); err != nil {
					return err
				}
				return tx.Commit()
			}},
			{"alone", 1, exec("UPDATE items SET n = n + 1 WHERE id = ?", 1)},
			{"hot", hot, exec("UPDATE items SET n = n + 1 WHERE id = ?", 1)},
			{"hot with time", 64, exec("UPDATE items SET n = n + 1, at = "+now[e.dialect]+" WHERE id = ?", 1)},
			{"touch", 64, exec("UPDATE items SET at = "+now[e.dialect]+" WHERE id = ?", 1)},
			{"touch with own value", 64, func(ctx context.Context, s *side) error {
				return exec("UPDATE items SET at = ? WHERE id = ?", time.Now().UTC().Format(time.DateTime+".000000"), 1)(ctx, s)
			}},
			{"hot with guard", 64, exec("UPDATE items SET n = n - 1 WHERE id = ? AND n >= ?", 2, 1)},
			{"number drawn", 64, func(ctx context.Context, s *side) error {
				if e.dialect == "mysql" {
					_, err := s.db.ExecContext(ctx, draw[e.dialect])
					return err
				}
				var n int64
				return s.db.QueryRowContext(ctx, draw[e.dialect]).Scan(&n)
			}},
		} {
			for name, slots := range map[string]string{"adaptive": "slots: 64, placement: adaptive", "none": "slots: 0"} {
				b.Run(fmt.Sprintf("%s/%s/%s", e.name, c.name, name), func(b *testing.B) {
					o := twin.Options{
						Dialect: e.dialect,
						Schema: []string{
							"CREATE TABLE items (id INT PRIMARY KEY, n BIGINT NOT NULL, at VARCHAR(40))",
							"CREATE TABLE visits (id " + e.id + ", item BIGINT NOT NULL)",
							"INSERT INTO items SELECT * FROM (WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 500) SELECT a.i + (b.i - 1) * 500, 0, '' FROM n a, n b WHERE b.i <= 200) x",
							"UPDATE items SET n = 1000000000 WHERE id = 2",
						},
						Config: "version: 1\nauto_migrate: true\ndefaults: {" + slots + "}\ntables: {items: {counters: {n: {}}, touch: [at]}}\n",
					}
					o.Params = benchParams(e.dialect)
					p := twin.New(b, o)
					sides := [2]*side{{db: p.Plain, dialect: e.dialect}, {db: p.Wrapped, dialect: e.dialect, wrapped: true}}
					for _, s := range sides {
						s.db.SetMaxOpenConns(c.clients)
						s.db.SetMaxIdleConns(c.clients)
						connectAll(b, s.db, c.clients)
					}
					ratio(b, sides[0], sides[1], c.op, c.clients)
					var slotRows float64
					if p.Under.QueryRow("SELECT COUNT(*) FROM items_slots").Scan(&slotRows) == nil {
						b.ReportMetric(slotRows, "slotrows")
					}
				})
			}
		}
	}
}

// benchParams has SQLite sync as the servers of the run do.
func benchParams(dialect string) string {
	switch {
	case dialect != "sqlite":
		return ""
	case server.Durable():
		return "_pragma=synchronous(FULL)"
	}
	return "_pragma=synchronous(NORMAL)"
}
