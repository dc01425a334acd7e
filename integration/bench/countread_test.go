package bench

import (
	"context"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// BenchmarkCountThenRead measures transactions of six clients that count in one row and read what they
// have counted to. With the plain driver each waits for the one before; slots cannot help, and must not cost.
func BenchmarkCountThenRead(b *testing.B) {
	const clients = 6
	const update = "UPDATE items SET n = n + 1 WHERE id = 2"
	for _, e := range benchEngines {
		if e.dialect == "sqlite" {
			continue // one client writes at a time
		}
		upsert := "INSERT INTO items VALUES (2, 1) ON DUPLICATE KEY UPDATE n = n + 1"
		if e.dialect == "postgres" {
			upsert = "INSERT INTO items VALUES (2, 1) ON CONFLICT (id) DO UPDATE SET n = items.n + 1"
		}
		for _, c := range []struct {
			name       string
			statements []string
		}{
			{"update", []string{update}},
			{"update-and-insert", []string{update, "INSERT INTO visits VALUES (2)"}},
			{"upsert", []string{upsert}},
		} {
			b.Run(e.name+"/"+c.name, func(b *testing.B) {
				p := twin.New(b, twin.Options{
					Dialect: e.dialect,
					Schema: strings.Split("CREATE TABLE items (id INT PRIMARY KEY, n BIGINT NOT NULL);CREATE TABLE visits (item INT);"+
						"INSERT INTO items VALUES (1, 0), (2, 0)", ";"),
					Config: "version: 1\nauto_migrate: true\ntables: {items: {counters: {n: {}}, placement: adaptive}}\n",
				})
				sides := [2]*side{{db: p.Plain}, {db: p.Wrapped, wrapped: true}}
				for _, s := range sides {
					s.db.SetMaxOpenConns(clients)
					s.db.SetMaxIdleConns(clients)
				}
				ratio(b, sides[0], sides[1], func(ctx context.Context, s *side) error {
					tx, err := s.db.BeginTx(ctx, nil)
					if err != nil {
						return err
					}
					defer tx.Rollback() //nolint:errcheck // it is committed
					for _, q := range c.statements {
						if _, err := tx.ExecContext(ctx, q); err != nil {
							return err
						}
					}
					var n int64
					if err := tx.QueryRowContext(ctx, "SELECT n FROM items WHERE id = 2").Scan(&n); err != nil {
						return err
					}
					return tx.Commit()
				}, clients)
			})
		}
	}
}
