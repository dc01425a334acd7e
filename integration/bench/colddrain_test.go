package bench

import (
	"context"
	"fmt"
	"testing"

	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// BenchmarkColdDrain measures what a drain costs the statement that needs it where its
// row has no slots, as nearly all rows have none: by one client, so that nothing waits.
func BenchmarkColdDrain(b *testing.B) {
	exec := func(q string, args ...any) operation {
		return func(ctx context.Context, s *side) error {
			_, err := s.db.ExecContext(ctx, s.q(q), args...)
			return err
		}
	}
	n := 0
	for _, e := range benchEngines {
		for _, c := range []struct {
			name string
			op   operation
		}{
			{"set", func(ctx context.Context, s *side) error {
				n++
				return exec("UPDATE items SET n = ? WHERE id = ?", n, 2)(ctx, s)
			}},
			{"full-row-save", func(ctx context.Context, s *side) error {
				n++
				return exec("UPDATE items SET n = ?, note = ? WHERE id = ?", n, fmt.Sprint("note ", n), 2)(ctx, s)
			}},
			{"guard", exec("UPDATE items SET n = n - 1 WHERE id = ? AND n >= ?", 3, 1)},
			{"delete", func(ctx context.Context, s *side) error {
				if err := exec("INSERT INTO items VALUES (?, 0, '')", 4)(ctx, s); err != nil {
					return err
				}
				return exec("DELETE FROM items WHERE id = ?", 4)(ctx, s)
			}},
			{"for-update-in-transaction", func(ctx context.Context, s *side) error {
				return held(ctx, s, "SELECT n FROM items WHERE id = ? FOR UPDATE")
			}},
			{"increment-and-read", func(ctx context.Context, s *side) error {
				return held(ctx, s, "SELECT n FROM items WHERE id = ?", "UPDATE items SET n = n + 1 WHERE id = ?")
			}},
		} {
			if e.dialect == "sqlite" && c.name == "for-update-in-transaction" {
				continue // it has no FOR UPDATE
			}
			b.Run(e.name+"/"+c.name, func(b *testing.B) {
				o := twin.Options{
					Dialect: e.dialect,
					Schema: []string{
						"CREATE TABLE items (id INT PRIMARY KEY, n BIGINT NOT NULL, note VARCHAR(40))",
						"INSERT INTO items VALUES (1, 0, ''), (2, 0, ''), (3, 1000000000, '')",
					},
					Config: "version: 1\nauto_migrate: true\ndefaults: {slots: 64, placement: adaptive}\ntables: {items: {counters: {n: {}}}}\n",
				}
				if e.dialect == "sqlite" {
					o.Params = "_pragma=synchronous(NORMAL)"
					if server.Durable() {
						o.Params = "_pragma=synchronous(FULL)"
					}
				}
				p := twin.New(b, o)
				sides := [2]*side{{db: p.Plain, dialect: e.dialect}, {db: p.Wrapped, dialect: e.dialect, wrapped: true}}
				for _, s := range sides {
					s.db.SetMaxOpenConns(1)
				}
				ratio(b, sides[0], sides[1], c.op, 1)
			})
		}
	}
}

// held runs statements of row 2 and then a query of it in a transaction that changes
// something else, too.
func held(ctx context.Context, s *side, query string, before ...string) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // it is committed
	for _, q := range before {
		if _, err := tx.ExecContext(ctx, s.q(q), 2); err != nil {
			return err
		}
	}
	var n int64
	if err := tx.QueryRowContext(ctx, s.q(query), 2).Scan(&n); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, s.q("UPDATE items SET note = ? WHERE id = ?"), fmt.Sprint("note ", n), 2); err != nil {
		return err
	}
	return tx.Commit()
}
