package session

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/slotsql/slotsql/integration/twin"
)

// TestCopyFromOfTheRawConnection: what goes through the parent's own connection
// is not seen, and new rows need not be: they have no slots.
func TestCopyFromOfTheRawConnection(t *testing.T) {
	p := newPair(t, "postgres", "")
	s := pinned(t, p)
	same := func(query string) {
		t.Helper()
		p.Same(t, twin.Statement{SQL: query})
	}
	same("UPDATE posts SET views = views + 7 WHERE id = 1")
	copyFrom := func(on twin.Session) {
		t.Helper()
		raw(t, on, func(c driver.Conn) error {
			of, ok := c.(*stdlib.Conn)
			if !ok {
				return fmt.Errorf("CopyFrom is pgx's own, and this is %T", c)
			}
			_, err := of.Conn().CopyFrom(
				context.Background(),
				pgx.Identifier{"posts"},
				[]string{"id", "views", "likes", "title"},
				pgx.CopyFromRows([][]any{{int32(11), int32(5), nil, "new"}, {int32(12), int32(6), int32(1), "newer"}}),
			)
			return err
		})
	}
	copyFrom(s.plain)
	copyFrom(s.wrapped)
	for _, query := range []string{
		"UPDATE posts SET views = views + 7 WHERE id = 11", "UPDATE posts SET likes = COALESCE(likes, 0) + 1 WHERE id IN (11, 12)",
		"SELECT id, views, likes, title FROM posts ORDER BY id", "UPDATE posts SET views = 3 WHERE views > 11", "SELECT * FROM posts ORDER BY id",
	} {
		same(query)
	}
	final(t, p)
}

// raw gives f the parent's connection.
func raw(t *testing.T, on twin.Session, f func(driver.Conn) error) {
	t.Helper()
	err := on.(*sql.Conn).Raw(func(c any) error {
		for {
			w, ok := c.(interface{ Unwrap() driver.Conn })
			if !ok {
				return f(c.(driver.Conn))
			}
			c = w.Unwrap()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// rawly runs statements through the parent's connection, which slotsql does not see.
func rawly(t *testing.T, on twin.Session, statements ...string) {
	t.Helper()
	raw(t, on, func(c driver.Conn) error {
		for _, q := range statements {
			if _, err := c.(driver.ExecerContext).ExecContext(t.Context(), q, nil); err != nil {
				return fmt.Errorf("%w\n%s", err, q)
			}
		}
		return nil
	})
}

// rawMoves are, for each engine, how a session comes to another table of the same name, and back.
var rawMoves = map[string][]struct {
	name           string
	make, to, back []string
}{
	"postgres": {
		{
			"search path",
			[]string{"CREATE SCHEMA b", "CREATE TABLE b.posts " + copied, "INSERT INTO b.posts (id, views) VALUES (1, 100), (4, 200)"},
			[]string{"SET search_path = b"},
			[]string{"RESET search_path"},
		},
		{
			"temporary table",
			nil,
			[]string{"CREATE TEMP TABLE posts " + copied, "INSERT INTO posts (id, views) VALUES (1, 100), (4, 200)"},
			[]string{"DROP TABLE pg_temp.posts"},
		},
	},
	"mysql": {
		{
			"database",
			nil,
			[]string{"CREATE DATABASE %DB%_b", "USE %DB%_b", "CREATE TABLE posts " + copied, "INSERT INTO posts (id, views) VALUES (1, 100), (4, 200)"},
			[]string{"USE %DB%"},
		},
		{
			"temporary table",
			nil,
			[]string{"CREATE TEMPORARY TABLE posts " + copied, "INSERT INTO posts (id, views) VALUES (1, 100), (4, 200)"},
			[]string{"DROP TEMPORARY TABLE posts"},
		},
		{"quotes", nil, []string{"SET sql_mode = 'ANSI_QUOTES'"}, []string{"SET sql_mode = ''"}},
	},
	"sqlite": {
		{
			"temporary table",
			nil,
			[]string{"CREATE TEMP TABLE posts " + copied, "INSERT INTO temp.posts (id, views) VALUES (1, 100), (4, 200)"},
			[]string{"DROP TABLE temp.posts"},
		},
		{
			"attached",
			nil,
			[]string{"ATTACH ':memory:' AS b", "CREATE TABLE b.posts " + copied, "INSERT INTO b.posts (id, views) VALUES (1, 100), (4, 200)"},
			[]string{"DETACH b"},
		},
	},
}

// What code with the parent's connection has changed counts from the next statement on: in
// autocommit, in a transaction, and after the connection has been back in the pool.
func TestRawMovesTheSession(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		for _, move := range rawMoves[dialect] {
			t.Run(move.name, func(t *testing.T) {
				p := newPair(t, dialect, "")
				s := pinned(t, p)
				work := []string{
					"UPDATE posts SET views = views + 1 WHERE id = 1", "UPDATE posts SET views = 5 WHERE id = 1", "UPDATE posts SET views = views + 1 WHERE id = 1",
					"UPDATE posts SET views = views + 2 WHERE id IN (1, 4)", "SELECT views FROM posts WHERE id = 4",
					"UPDATE posts SET views = views + 1 WHERE views > 100", `UPDATE posts SET title = "title" WHERE id = 1`, "DELETE FROM posts WHERE views > 200",
				}
				var names [2]string
				for i, db := range []*sql.DB{p.Plain, p.Under} {
					if dialect == "mysql" {
						if err := db.QueryRow("SELECT DATABASE()").Scan(&names[i]); err != nil {
							t.Fatal(err)
						}
						defer db.Exec("DROP DATABASE IF EXISTS " + names[i] + "_b")
					}
				}
				aside := func(list []string) {
					t.Helper()
					for i, on := range []twin.Session{s.plain, s.wrapped} {
						rawly(t, on, strings.Split(strings.ReplaceAll(strings.Join(list, ";"), "%DB%", names[i]), ";")...)
					}
				}
				if move.make != nil {
					aside(move.make)
				}
				s.script(t, nil, work...)
				aside(move.to)
				s.script(t, nil, work...)
				aside(move.back)
				s.script(t, nil, work...)
				s.script(t, nil, "BEGIN", work[0])
				if move.name == "search path" || move.name == "quotes" {
					// (A statement that pgx has prepared keeps its table when a temporary one is made a second time.)
					aside(move.to)
					s.script(t, nil, work...)
				}
				s.script(t, nil, "ROLLBACK")
				s.script(t, nil, work...)
			})
		}
	})
}
