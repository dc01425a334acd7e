package session

import (
	"context"
	"database/sql"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// A statement is sent while the rows of a query are open in the same transaction. Where the parent refuses it, the
// transaction goes on once they are closed, as plain.
func TestRowsOpen(t *testing.T) {
	list := append([]string{
		"UPDATE posts SET views = 7 WHERE id = 1",
		"UPDATE posts SET views = views - 1 WHERE id = 1 AND views >= 1",
		"UPDATE posts SET views = 4 WHERE views > 25",
		"UPDATE posts SET title = 'x' WHERE id = 1",
		"SELECT views FROM posts WHERE id = 1",
		"SELECT id FROM posts ORDER BY views, id",
		"SELECT COUNT(*) FROM posts WHERE views > 15",
		"DELETE FROM posts WHERE views = 20",
		"INSERT INTO log (id, note) VALUES (1, 'x')",
	}, work...)
	upsert := "INSERT INTO posts (id, views) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET views = posts.views + 1"
	more := map[string][]string{"sqlite": {upsert}, "postgres": {upsert, "SELECT views FROM posts WHERE id = 1 FOR UPDATE", "TRUNCATE posts"}}
	configs := map[string]string{"adaptive": config, "always": always}
	each(t, func(t *testing.T, dialect string) {
		if dialect == "mysql" {
			return // that parent loses its connection
		}
		for name, config := range configs {
			p := twin.New(t, twin.Options{Dialect: dialect, Schema: schema(dialect), Config: config})
			p.Wrapped.SetMaxIdleConns(4)
			for _, query := range append(more[dialect], list...) {
				for _, prepared := range []bool{false, true} {
					for _, before := range []string{"SELECT id FROM log", "UPDATE posts SET views = views + 1 WHERE id = 2"} {
						t.Run(name+"/"+query, func(t *testing.T) { rowsOpen(t, p, before, twin.Statement{SQL: query, Prepared: prepared}) })
					}
				}
			}
		}
	})
}

func rowsOpen(t *testing.T, p *twin.Pair, before string, s twin.Statement) {
	b, opened := both{}, [2]*sql.Rows{}
	var txs [2]*sql.Tx
	for i, db := range []*sql.DB{p.Plain, p.Wrapped} {
		tx, err := db.BeginTx(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback() //nolint:errcheck // after the COMMIT
		txs[i] = tx
	}
	b.plain, b.wrapped = txs[0], txs[1]
	b.same(t, twin.Statement{SQL: before})
	for i, tx := range txs {
		rows, err := tx.Query("SELECT id FROM posts ORDER BY id")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		rows.Next()
		opened[i] = rows
	}
	b.same(t, s)
	if plain, wrapped := twin.Class(opened[0].Close()), twin.Class(opened[1].Close()); plain != wrapped {
		t.Errorf("closing the rows: plain %s, wrapped %s", plain, wrapped)
	}
	b.same(t, s)
	b.same(t, twin.Statement{SQL: totals})
	if plain, wrapped := twin.Class(txs[0].Commit()), twin.Class(txs[1].Commit()); plain != wrapped {
		t.Errorf("COMMIT: plain %s, wrapped %s", plain, wrapped)
	}
	p.Same(t, twin.Statement{SQL: totals})
}
