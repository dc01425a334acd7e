package session

import (
	"database/sql/driver"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/dialect/sqlite"
)

// BenchmarkShape is the way of a statement to the parent driver that is cached, and of one that no
// cache knows but that differs from others by literals or a comment alone. In between is the
// cached statement with an argument in the place of the literal, which is for as many rows: what a
// new SQL costs is what new has above that, and the rest is what is kept of each row.
func BenchmarkShape(b *testing.B) {
	for _, s := range []struct{ name, placement, format string }{
		{"untouched", "connection", "SELECT id, name, email FROM users WHERE id = %s AND deleted_at IS NULL"},
		{"increment", "connection", "UPDATE posts SET views = views + 1 WHERE id = %s"},
		{"increment-cold", "adaptive", "UPDATE posts SET views = views + 1 WHERE id = %s"},
		{"read", "connection", "SELECT id, title, views FROM posts WHERE id = %s"},
		{"drain", "connection", "UPDATE posts SET views = 0 WHERE id = %s"},
		{"increment-comment", "connection", "UPDATE posts SET views = views + 1 WHERE id = 7 /*traceparent='00-%s-01'*/"},
		{"untouched-comment", "connection", "SELECT id, name, email FROM users WHERE id = 7 AND deleted_at IS NULL /*traceparent='00-%s-01'*/"},
	} {
		run := func(b *testing.B, distinct int, argument bool) {
			shared, _ := benchShared(b, sqlite.New(), s.placement)
			c, err := NewConn(b.Context(), shared, idleConn{})
			if err != nil {
				b.Fatal(err)
			}
			statements, args := make([]string, distinct), make([][]driver.NamedValue, distinct)
			for i := range statements {
				if statements[i] = fmt.Sprintf(s.format, strconv.Itoa(1_000_000+i)); argument {
					statements[i], args[i] = fmt.Sprintf(s.format, "?"), []driver.NamedValue{{Ordinal: 1, Value: int64(1_000_000 + i)}}
				}
			}
			i, ctx := 0, b.Context()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.ExecContext(ctx, statements[i], args[i]); err != nil {
					b.Fatal(err)
				}
				if i++; i == distinct {
					i = 0
				}
			}
		}
		b.Run("text=cached/"+s.name, func(b *testing.B) { run(b, 1, false) })
		if !strings.HasSuffix(s.name, "comment") {
			b.Run("text=argument/"+s.name, func(b *testing.B) { run(b, 200_000, true) })
		}
		b.Run("text=new/"+s.name, func(b *testing.B) { run(b, 200_000, false) })
	}
}
