package session

import (
	"database/sql/driver"
	"testing"

	"github.com/slotsql/slotsql/dialect/postgres"
)

// BenchmarkCold is the way of an increment of a row that no other session counts: the
// application's own statement. BenchmarkWay's plain is what it would be without slotsql.
func BenchmarkCold(b *testing.B) {
	s, _ := benchShared(b, postgres.New(), "adaptive")
	c, err := NewConn(b.Context(), s, idleConn{})
	if err != nil {
		b.Fatal(err)
	}
	args := []driver.NamedValue{{Ordinal: 1, Value: int64(1)}}
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		args[0].Value = args[0].Value.(int64)%1000 + 1
		if _, err := c.ExecContext(ctx, "UPDATE posts SET views = views + 1 WHERE id = $1", args); err != nil {
			b.Fatal(err)
		}
	}
}
