package session

import (
	"database/sql/driver"
	"fmt"
	"strconv"
	"testing"
)

// BenchmarkShape is the way of a statement to the parent driver that is cached, and of one
// that no cache knows but that differs from others by literals or a comment alone: the
// difference is what a new SQL costs.
func BenchmarkShape(b *testing.B) {
	for _, s := range []struct{ name, format string }{
		{"untouched", "SELECT id, name, email FROM users WHERE id = %s AND deleted_at IS NULL"},
		{"increment", "UPDATE posts SET views = views + 1 WHERE id = %s"},
		{"read", "SELECT id, title, views FROM posts WHERE id = %s"},
		{"drain", "UPDATE posts SET views = 0 WHERE id = %s"},
		{"increment-comment", "UPDATE posts SET views = views + 1 WHERE id = 7 /*traceparent='00-%s-01'*/"},
		{"untouched-comment", "SELECT id, name, email FROM users WHERE id = 7 AND deleted_at IS NULL /*traceparent='00-%s-01'*/"},
	} {
		run := func(b *testing.B, distinct int) {
			c := benchConn(b)
			statements := make([]string, distinct)
			for i := range statements {
				statements[i] = fmt.Sprintf(s.format, strconv.Itoa(1_000_000+i))
			}
			i, ctx := 0, b.Context()
			args := []driver.NamedValue{}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.ExecContext(ctx, statements[i], args); err != nil {
					b.Fatal(err)
				}
				if i++; i == distinct {
					i = 0
				}
			}
		}
		b.Run("text=cached/"+s.name, func(b *testing.B) { run(b, 1) })
		b.Run("text=new/"+s.name, func(b *testing.B) { run(b, 200_000) })
	}
}
