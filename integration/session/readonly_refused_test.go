package session

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// A write that a READ ONLY transaction refuses is refused at once, and does not wait for
// increments that are in flight.
func TestReadOnlyRefusesBesideIncrement(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		schema := readOnlySchema(dialect)
		p := twin.New(t, twin.Options{
			Dialect: dialect,
			Schema:  schema,
			Config:  "version: 1\nauto_migrate: true\ntables: {posts: {slots: 8, placement: random, coalesce: false, counters: {views: {}}}}",
		})
		countIn(t, p)
		filled(t, p)
		held, err := p.Wrapped.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = held.Rollback() }()
		if _, err := held.Exec("UPDATE posts SET views = views + 1 WHERE id = 1"); err != nil {
			t.Fatal(err)
		}
		queries := []string{"UPDATE posts SET views = 7 WHERE id = 1", "DELETE FROM posts", "update posts set views = views * 2;"}
		if dialect == "postgres" || !server.MySQLVersion(t).MySQL {
			queries = append(queries, "DELETE FROM posts WHERE id = 1 RETURNING views")
		}
		if dialect == "postgres" {
			queries = append(
				queries,
				"SELECT views FROM posts WHERE id = 1 FOR UPDATE",
				"SELECT views FROM posts ORDER BY id FOR KEY SHARE",
				"SELECT views FROM (SELECT * FROM posts FOR NO KEY UPDATE) p",
				"WITH u AS (UPDATE posts SET views = views + 1 WHERE id = 1 RETURNING views) SELECT * FROM u",
				"WITH d AS (DELETE FROM posts RETURNING views) SELECT SUM(views) FROM d",
				"MERGE INTO posts USING (SELECT 1 AS n) AS s ON posts.id = s.n WHEN MATCHED THEN UPDATE SET views = 3",
			)
		}
		for _, query := range queries {
			if dialect == "mysql" && strings.HasPrefix(query, "update") {
				query = "update low_priority `posts` set views = views * 2"
			}
			readOnlyTx(t, pinned(t, p)).same(t, twin.Statement{SQL: query})
		}
	})
}

// A READ ONLY transaction, which cannot drain, does not have to for what it has not changed itself: neither for the parts
// of a call before it, nor for a statement that it has refused. It may have become READ ONLY by a long statement.
func TestReadOnlyAfterChanges(t *testing.T) {
	scripts := map[string][]string{
		"mysql": {
			"START TRANSACTION READ ONLY",
			"INSERT INTO posts (id, views) VALUES (1, 1) RETURNING views",
		},
		"postgres": {
			"UPDATE posts SET views = views + 1 WHERE id = 1; UPDATE posts SET likes = likes + 1 WHERE id = 99",
			"BEGIN",
			"SET TRANSACTION ISOLATION LEVEL READ COMMITTED READ ONLY",
		},
	}
	twin.Servers(t, func(t *testing.T, dialect string) {
		for _, last := range []string{
			"SELECT views FROM posts WHERE id = 1", "UPDATE posts SET views = 5 WHERE id = 1", "SELECT id FROM posts WHERE views > 5 ORDER BY id",
		} {
			p := twin.New(t, twin.Options{Dialect: dialect, Schema: schema(dialect), Config: heldConfig})
			for _, db := range []*sql.DB{p.Plain, otherProcess(t, p)} {
				execAll(t, db, "UPDATE posts SET views = views + 1 WHERE id = 1")
			}
			s := pinned(t, p)
			for _, query := range append(scripts[dialect], last, "ROLLBACK") {
				s.same(t, twin.Statement{SQL: query})
			}
		}
	})
}
