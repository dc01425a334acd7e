package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// BenchmarkCrowd measures a table of which many rows are counted at the same time, some
// of them much more often than others: 64 clients, 10,000 rows, Zipf with exponent 1.1.
func BenchmarkCrowd(b *testing.B) {
	const rows, clients = 10_000, 64
	zipfs := sync.Pool{New: func() any {
		return rand.NewZipf(rand.New(rand.NewPCG(rand.Uint64(), 1)), 1.1, 1, rows-1)
	}}
	op := func(ctx context.Context, s *side) error {
		z := zipfs.Get().(*rand.Zipf)
		id := 1 + int64(z.Uint64())
		zipfs.Put(z)
		_, err := s.db.ExecContext(ctx, s.q("UPDATE items SET n = n + 1 WHERE id = ?"), id)
		return err
	}
	for _, e := range benchEngines {
		for name, slots := range map[string]string{"adaptive": "slots: 64, placement: adaptive", "none": "slots: 0"} {
			b.Run(fmt.Sprintf("%s/%s", e.name, name), func(b *testing.B) {
				p := twin.New(b, twin.Options{
					Dialect: e.dialect,
					Schema: []string{
						"CREATE TABLE items (id INT PRIMARY KEY, n BIGINT NOT NULL)",
						"INSERT INTO items SELECT * FROM (WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 100) SELECT a.i + (b.i - 1) * 100, 0 FROM n a, n b) x",
					},
					Config: "version: 1\nauto_migrate: true\ndefaults: {" + slots + "}\ntables: {items: {counters: {n: {}}}}\n",
					Params: benchParams(e.dialect),
				})
				sides := [2]*side{{db: p.Plain, dialect: e.dialect}, {db: p.Wrapped, dialect: e.dialect, wrapped: true}}
				for _, s := range sides {
					s.db.SetMaxOpenConns(clients)
					s.db.SetMaxIdleConns(clients)
					connectAll(b, s.db, clients)
				}
				ratio(b, sides[0], sides[1], op, clients)
			})
		}
	}
}
