package session

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"sync/atomic"
	"testing"
)

// Amounts and keys that are arguments cost no more locks than literals: of new keys,
// of rows that a transaction has locked before, and of several rows in one order.
func TestArgumentsFailNoOtherStatement(t *testing.T) {
	type statement struct {
		sql  string
		args func(id int64, r *rand.Rand) []any
	}
	row := func(id int64, _ *rand.Rand) []any { return []any{10 * (id%100 + 1)} }
	add := statement{
		"UPDATE posts SET views = views + ? WHERE id = ?",
		func(id int64, r *rand.Rand) []any { return append([]any{1}, row(id, r)...) },
	}
	for name, statements := range map[string][]statement{
		"new keys": {{"INSERT INTO posts (id, views) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET views = posts.views + ?",
			func(id int64, _ *rand.Rand) []any { return []any{10000 + id, 1, 1} }}},
		"lock then increment":    {{"SELECT id FROM posts WHERE id = ? FOR UPDATE", row}, add},
		"set then increment":     {{"UPDATE posts SET views = ? WHERE id = ?", func(id int64, r *rand.Rand) []any { return append([]any{5}, row(id, r)...) }}, add},
		"guarded then increment": {{"UPDATE posts SET views = views - ? WHERE id = ? AND views >= ?", func(id int64, r *rand.Rand) []any { return append(append([]any{1}, row(id, r)...), 1) }}, add},
	} {
		for _, dialect := range []string{"mysql", "postgres"} {
			t.Run(dialect+"/"+name, func(t *testing.T) {
				p := many(t, dialect, 100, "")
				var next atomic.Int64
				failed := failures(t, p.Wrapped, 12, 20, func(ctx context.Context, tx *sql.Tx, r *rand.Rand) error {
					id := next.Add(1)
					for _, s := range statements {
						query := s.sql
						if dialect == "postgres" {
							query = dollars(query)
						} else {
							query = onConflict.ReplaceAllString(query, "ON DUPLICATE KEY UPDATE ")
						}
						if _, err := tx.ExecContext(ctx, query, s.args(id, r)...); err != nil {
							return err
						}
					}
					return nil
				})
				if len(failed) > 0 {
					t.Errorf("%v, and with the plain driver none", failed)
				}
			})
		}
	}
}
