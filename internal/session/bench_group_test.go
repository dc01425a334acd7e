package session

import (
	"context"
	"database/sql/driver"
	"runtime"
	"testing"

	"github.com/slotsql/slotsql/dialect/postgres"
)

// yieldingConn is a parent that does nothing but let others run, so that executions
// overlap.
type yieldingConn struct{ idleConn }

func (yieldingConn) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	runtime.Gosched()
	return driver.RowsAffected(1), nil
}

func groupedNow() (n uint64) {
	for _, s := range Stats() {
		n += s.Grouped
	}
	return n
}

// BenchmarkGrouped is the way of an increment that shares its statement on the base row
// with others, by 64 sessions for each CPU.
func BenchmarkGrouped(b *testing.B) {
	s, _ := benchShared(b, postgres.New(), "adaptive")
	args := []driver.NamedValue{{Ordinal: 1, Value: int64(1)}}
	before := groupedNow()
	b.SetParallelism(64)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		conn, err := NewConn(b.Context(), s, yieldingConn{})
		if err != nil {
			b.Error(err)
			return
		}
		ctx := context.Background()
		for pb.Next() {
			if _, err := conn.ExecContext(ctx, "UPDATE posts SET views = views + 1 WHERE id = $1", args); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(groupedNow()-before)/float64(b.N), "grouped/op")
}
