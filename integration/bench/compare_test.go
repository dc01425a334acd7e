package bench

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// BenchmarkCompareAndSet measures 64 clients that read a row and its version, and write it back if nobody else has meanwhile, each until it
// has: ns for each success, and sent, the UPDATEs sent for each of the wrapped side.
func BenchmarkCompareAndSet(b *testing.B) {
	const clients = 64
	for _, e := range benchEngines {
		b.Run(e.name, func(b *testing.B) {
			p := twin.New(b, twin.Options{
				Dialect: e.dialect, Params: benchParams(e.dialect),
				Schema: []string{
					"CREATE TABLE documents (id INT PRIMARY KEY, body VARCHAR(40) NOT NULL, version BIGINT NOT NULL)",
					"INSERT INTO documents VALUES (1, '', 0)",
				},
				Config: "version: 1\ntables: {documents: {versions: [version]}}\n",
			})
			sides := [2]*side{{db: p.Plain, dialect: e.dialect}, {db: p.Wrapped, dialect: e.dialect, wrapped: true}}
			for _, s := range sides {
				s.db.SetMaxOpenConns(clients)
				s.db.SetMaxIdleConns(clients)
				connectAll(b, s.db, clients)
			}
			var tries, saved atomic.Int64 // of the wrapped side
			before := sharedOf("documents")
			ratio(b, sides[0], sides[1], func(ctx context.Context, s *side) error {
				for {
					var body string
					var version int64
					if err := s.db.QueryRowContext(ctx, s.q("SELECT body, version FROM documents WHERE id = ?"), 1).Scan(&body, &version); err != nil {
						return err
					}
					res, err := s.db.ExecContext(ctx, s.q("UPDATE documents SET body = ?, version = version + 1 WHERE id = ? AND version = ?"), "edited", 1, version)
					if err != nil {
						return err
					}
					n, err := res.RowsAffected()
					if s.wrapped {
						tries.Add(1)
						saved.Add(n)
					}
					if n == 1 || err != nil {
						return err
					}
				}
			}, clients)
			if saved.Load() > 0 {
				b.ReportMetric(float64(tries.Load())/float64(saved.Load()), "tries/op")
				b.ReportMetric(float64(tries.Load()-sharedOf("documents")+before)/float64(saved.Load()), "sent/op")
			}
		})
	}
}

// sharedOf returns how many executions on a table have had no statement of their own.
func sharedOf(table string) (n int64) {
	for _, s := range slotsql.Stats() {
		if slices.Contains(s.Tables, table) {
			n += int64(s.Coalesced)
		}
	}
	return n
}
