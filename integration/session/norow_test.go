package session

import (
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// ofNoRow are statements that drain a row which is not there, and yet insert, change or return others.
var ofNoRow = map[string][]string{
	"sqlite": {
		"INSERT INTO posts (id, views) VALUES (9, 1) ON CONFLICT (id) DO UPDATE SET views = 3 RETURNING views",
		"UPDATE posts SET views = 5 WHERE id = 10 RETURNING views",
	},
	"mysql": {
		"SELECT SUM(views) FROM posts WHERE id = 9 FOR UPDATE",
		"SELECT EXISTS (SELECT 1 FROM posts WHERE id = 9 AND views > 1 FOR UPDATE)",
		"UPDATE log l LEFT JOIN posts p ON p.id = 9 SET l.note = 'y', p.views = 5",
		"DELETE l, p FROM log l LEFT JOIN posts p ON p.id = 9 WHERE l.id = 1",
	},
	"postgres": {
		"MERGE INTO posts p USING (VALUES (9, 6)) v (id, n) ON p.id = v.id WHEN MATCHED THEN UPDATE SET views = v.n" +
			" WHEN NOT MATCHED THEN INSERT (id, views) VALUES (v.id, v.n)",
		"MERGE INTO posts p USING (VALUES (10, 6)) v (id, n) ON p.id = v.id WHEN MATCHED AND p.views > 9 THEN DELETE" +
			" WHEN NOT MATCHED THEN INSERT (id, views) VALUES (v.id, v.n)",
		"WITH x AS (UPDATE posts SET views = views + 5 WHERE id = 11 RETURNING *) SELECT json_agg(x)::text FROM x",
		"WITH x AS (DELETE FROM posts WHERE id = 11 RETURNING id, views) SELECT count(*) FROM x",
		"WITH x AS (DELETE FROM posts WHERE id IN (1, 11) RETURNING id, views) SELECT count(*), 'x' FROM x",
	},
}

// ofNoRowRun are such statements that a program executes, although RETURNING is in them.
var ofNoRowRun = []string{
	"WITH x AS (UPDATE posts SET views = 5 WHERE id = 11 RETURNING *) INSERT INTO log SELECT 2, count(*) FROM x",
	"WITH x AS (DELETE FROM posts WHERE id = 11 RETURNING id, views) INSERT INTO log SELECT 3, count(*) FROM x",
}

// ofNoRowExplained are such statements that return lines, whatever they touch.
var ofNoRowExplained = map[string][]string{
	"mysql": {"ANALYZE UPDATE posts SET views = 5 WHERE id = 9", "ANALYZE DELETE FROM posts WHERE id = 9 AND views > 1"},
	"postgres": {
		"EXPLAIN ANALYZE UPDATE posts SET views = 5 WHERE id = 12",
		"EXPLAIN (ANALYZE) DELETE FROM posts WHERE id = 12 AND views > 1",
	},
}

// A drain that finds no row says nothing of what else its statement touches.
func TestStatementsOfNoRow(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		params := ""
		if dialect == "mysql" {
			params = server.Isolated(t, "READ-COMMITTED")
		}
		p := newPair(t, dialect, params)
		p.Same(t, twin.Statement{SQL: "INSERT INTO log VALUES (1, 'x')"})
		p.Same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 1 WHERE id = 1"})
		s := pinned(t, p)
		for _, end := range []string{"ROLLBACK", ""} {
			if end != "" {
				s.same(t, twin.Statement{SQL: "BEGIN"})
			}
			for _, q := range ofNoRow[dialect] {
				s.same(t, twin.Statement{SQL: q})
			}
			for _, q := range ofNoRowExplained[dialect] {
				if dialect == "mysql" && server.MySQLVersion(t).MySQL && strings.HasPrefix(q, "ANALYZE ") {
					continue // only MariaDB's runs a statement
				}
				if o := twin.Run(t.Context(), s.wrapped, twin.Statement{SQL: q, Mode: twin.Query}); o.Err != nil {
					t.Errorf("%s: %v", q, o.Err)
				}
			}
			if dialect == "postgres" {
				for _, q := range ofNoRowRun {
					s.same(t, twin.Statement{SQL: q, Mode: twin.Exec})
				}
			}
			if end != "" {
				s.same(t, twin.Statement{SQL: end})
			}
		}
		differences, err := p.FinalTables(t.Context())
		for _, d := range differences {
			t.Error(d)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
}
