package bench

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// set is a statement that drains its row.
func set(ctx context.Context, s *side) error {
	_, err := s.db.ExecContext(ctx, s.q("UPDATE pages SET views = ? WHERE id = ?"), 5, 2)
	return err
}

// BenchmarkDrain measures what a drain costs the statement that needs it: one
// of a row that has no slots, of one that gets some before each drain, and of
// all rows, with and without slots.
func BenchmarkDrain(b *testing.B) {
	for _, e := range benchEngines {
		for _, c := range []struct {
			name   string
			before int // increments of the row, in as many transactions, before each statement
			op     operation
		}{
			{"row-without-slots", 0, set},
			{"row-with-1-slot", 1, set},
			{"row-with-8-slots", 8, set}, // one on SQLite, where one connection writes at a time
			{"all-rows", 0, func(ctx context.Context, s *side) error {
				_, err := s.db.ExecContext(ctx, "UPDATE pages SET views = views * 1")
				return err
			}},
		} {
			b.Run(e.name+"/"+c.name, func(b *testing.B) {
				plain, wrapped := benchPlaced(b, e.dialect, e.id, "placement: connection, slots: 64", 8, 0)
				var took [2][]float64
				for i := range 200 {
					for k, s := range []*side{plain, wrapped} {
						spread(b, s, e.dialect, c.before)
						start := time.Now()
						if err := c.op(b.Context(), s); err != nil {
							b.Fatal(err)
						}
						if i >= 20 { // the first ones prepare and plan
							took[k] = append(took[k], float64(time.Since(start).Nanoseconds()))
						}
					}
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(median(took[0]), "plain-ns/op")
				b.ReportMetric(median(took[1]), "wrapped-ns/op")
				b.ReportMetric(median(took[0])/median(took[1]), "speedup")
			})
		}
	}
}

// spread increments page 2 in n transactions at the same time, so that each
// writes its own slot row; on the plain side, and where one connection writes at
// a time, in one after the other.
func spread(b *testing.B, s *side, dialect string, n int) {
	b.Helper()
	var open []*sql.Tx
	for range n {
		tx, err := s.db.BeginTx(b.Context(), nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := tx.ExecContext(b.Context(), s.q("UPDATE pages SET views = views + 1 WHERE id = ?"), 2); err != nil {
			b.Fatal(err)
		}
		if open = append(open, tx); !s.wrapped || dialect == "sqlite" {
			open = commitAll(b, open)
		}
	}
	commitAll(b, open)
}

func commitAll(b *testing.B, open []*sql.Tx) []*sql.Tx {
	b.Helper()
	for _, tx := range open {
		if err := tx.Commit(); err != nil {
			b.Fatal(err)
		}
	}
	return nil
}

// BenchmarkIncrementsBesideDrains measures what drains of the hot row, one each
// so many milliseconds, cost the increments that they keep out.
func BenchmarkIncrementsBesideDrains(b *testing.B) {
	for _, e := range benchEngines {
		for _, every := range []time.Duration{0, 100 * time.Millisecond, 10 * time.Millisecond} {
			name := fmt.Sprintf("%s/every-%v", e.name, every)
			if every == 0 {
				name = e.name + "/none"
			}
			b.Run(name, func(b *testing.B) {
				plain, wrapped := benchPair(b, e.dialect, e.id, hotClients+1, 0)
				var stop atomic.Bool
				var wg sync.WaitGroup
				if every > 0 {
					for _, s := range []*side{plain, wrapped} {
						wg.Go(func() {
							for !stop.Load() {
								time.Sleep(every)
								// A clamp that changes nothing: read and locked all the same.
								if _, err := s.db.ExecContext(
									b.Context(),
									"UPDATE pages SET views = CASE WHEN views < 0 THEN 0 ELSE views END WHERE id = 1",
								); err != nil {
									b.Error(err)
									return
								}
							}
						})
					}
				}
				b.Run("ratio", func(b *testing.B) { ratio(b, plain, wrapped, increment, hotClients) })
				stop.Store(true)
				wg.Wait()
				exact(b, plain, wrapped)
			})
		}
	}
}
