package session

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
)

// At READ COMMITTED a statement by a counter's condition locks the rows that it finds, as it does with the plain driver, and no
// others, as long as the table has no slots.
func TestReadCommittedLocksOnlyItsRows(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		for name, list := range map[string][]string{
			"UPDATE": {"UPDATE posts SET hidden = 1 WHERE views > 2"},
			"SET":    {"UPDATE posts SET views = 0 WHERE views > 2"},
			"DELETE": {"DELETE FROM posts WHERE views > 2"},
			"SELECT": {"SELECT id FROM posts WHERE views > 2 FOR UPDATE"},
			"own":    {"UPDATE posts SET views = views + 1 WHERE id > 2", "SELECT SUM(views) FROM posts"},
		} {
			t.Run(name, func(t *testing.T) {
				p := twin.New(t, twin.Options{
					Dialect: dialect,
					Schema: []string{
						"CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL, hidden INT NOT NULL)",
						"INSERT INTO posts VALUES (1, 1, 0), (2, 2, 0), (3, 3, 0)",
					},
					Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}}}\n",
				})
				tx, err := p.Wrapped.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelReadCommitted})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = tx.Rollback() }()
				for _, q := range list {
					rows, err := tx.Query(q)
					if err != nil {
						t.Fatal(err)
					}
					if err := rows.Close(); err != nil {
						t.Fatal(err)
					}
				}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				for _, other := range []string{"UPDATE posts SET hidden = 2 WHERE id = 1", "UPDATE posts SET views = views + 1 WHERE id = 2"} {
					if _, err := p.Wrapped.ExecContext(ctx, other); err != nil {
						t.Errorf("%s: %v", other, err)
					}
				}
			})
		}
	})
}
