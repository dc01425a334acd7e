package session

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/slotsql/slotsql/integration/twin"
)

// typed is a schema with columns of the kinds that drivers encode each in its
// own way.
func typed(dialect string) []string {
	number, when, bytes := "BIGINT UNSIGNED", "DATETIME(6)", "VARBINARY(100)"
	switch dialect {
	case "postgres":
		number, when, bytes = "BIGINT", "TIMESTAMPTZ", "BYTEA"
	case "sqlite":
		number, when, bytes = "INTEGER", "DATETIME", "BLOB"
	}
	return []string{
		fmt.Sprintf(
			"CREATE TABLE posts (id %s PRIMARY KEY, slug VARCHAR(50) NOT NULL UNIQUE, views %[1]s NOT NULL DEFAULT 0, likes INT, ratio DECIMAL(12,2), "+
				"at %s NULL, data %s NULL, ok BOOLEAN)",
			number,
			when,
			bytes,
		),
		"INSERT INTO posts (id, slug, views, likes, ratio, at, data, ok) VALUES (1, 'a', 10, 1, 1.50, '2020-02-03 04:05:06', 'x', TRUE), " +
			"(2, 'b', 20, NULL, NULL, NULL, NULL, FALSE)",
	}
}

const typedConfig = "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}, likes: {}, ratio: {}}, slots: 4}}\n"

func newTyped(t *testing.T, dialect, params string) *twin.Pair {
	t.Helper()
	return twin.New(t, twin.Options{Dialect: dialect, Schema: typed(dialect), Config: typedConfig, Params: params})
}

// statements of a typed table; ? becomes $n for PostgreSQL.
func statements(dialect string) []twin.Statement {
	when := time.Date(2021, 3, 4, 5, 6, 7, 0, time.UTC)
	all := []twin.Statement{
		{SQL: "UPDATE posts SET views = views + 1 WHERE id = 1"},
		{SQL: "UPDATE posts SET views = views + ? WHERE id = ?", Args: []any{2, 1}},
		{SQL: "UPDATE posts SET views = views + ? WHERE id = ?", Args: []any{int8(2), uint16(1)}},
		{SQL: "UPDATE posts SET views = views + ? WHERE id = ?", Args: []any{0, 1}},
		{SQL: "UPDATE posts SET views = views + ? WHERE id = ?", Args: []any{3, 77}},
		{SQL: "UPDATE posts SET views = views - ? WHERE slug = ?", Args: []any{1, "a"}},
		{SQL: "UPDATE posts SET views = views + ?, likes = likes + ? WHERE slug = ?", Args: []any{1, 2, "b"}},
		{SQL: "UPDATE posts SET likes = COALESCE(likes, 0) + ? WHERE slug = ?", Args: []any{2, "b"}},
		{SQL: "UPDATE posts SET ratio = ratio + ? WHERE id = ?", Args: []any{"1.25", 1}},
		{SQL: "UPDATE posts SET views = views + 1 WHERE id = ? AND ok", Args: []any{1}},
		{SQL: "UPDATE posts SET views = views + 1, at = ?, data = ? WHERE id = ?", Args: []any{when, []byte("\x00\xff'"), 1}},
		{SQL: "UPDATE posts SET views = views + 1 WHERE id = ? AND at = ?", Args: []any{1, when}},
		{SQL: "UPDATE posts SET views = views + 1 WHERE id = ? AND data = ?", Args: []any{1, []byte("\x00\xff'")}},
		{SQL: "UPDATE posts SET views = ? WHERE id = ?", Args: []any{5, 1}},
		{SQL: "UPDATE posts SET views = views * ? WHERE id = ? AND at = ?", Args: []any{2, 1, when}},
		{SQL: "SELECT * FROM posts ORDER BY id"},
		{SQL: "SELECT * FROM posts WHERE id = ?", Args: []any{1}},
		{SQL: "SELECT views, likes, ratio, views AS v, views + 1 FROM posts WHERE slug = ?", Args: []any{"a"}},
		{SQL: "SELECT id FROM posts WHERE views > ? ORDER BY views DESC LIMIT ?", Args: []any{3, 10}},
		{SQL: "SELECT p.*, at FROM posts p WHERE at < ? OR at IS NULL ORDER BY views", Args: []any{when.Add(time.Hour)}},
		{SQL: "SELECT SUM(views), MAX(likes), COUNT(*) FROM posts WHERE id IN (?, ?)", Args: []any{1, 2}},
		{SQL: "DELETE FROM posts WHERE id = ?", Args: []any{2}},
		{SQL: "INSERT INTO posts (id, slug, views, likes) VALUES (?, ?, ?, ?)", Args: []any{2, "b", 7, nil}},
		{SQL: "UPDATE posts SET views = views + ? WHERE id = ?", Args: []any{nil, 1}},
		{SQL: "UPDATE posts SET likes = likes + ? WHERE id = ?", Args: []any{nil, 1}},
		{SQL: "SELECT * FROM posts ORDER BY id"},
		{SQL: "UPDATE posts SET likes = likes + ? WHERE id = ?", Args: []any{math.MaxInt64, 1}},
		{SQL: "UPDATE posts SET views = views + ? WHERE id = ?", Args: []any{"x", 1}},
		{SQL: "UPDATE posts SET views = views + ? WHERE id = ?", Args: []any{1}},
		{SQL: "UPDATE posts SET views = views + ? WHERE id = ?", Args: []any{1, 2, 3}},
		{SQL: "SELECT views FROM posts WHERE id = ?", Args: []any{1, 2}},
		{SQL: "UPDATE posts SET views = views + 1.5 WHERE id = 1"},
		{SQL: "SELECT * FROM posts ORDER BY id"},
	}
	if dialect == "mysql" {
		all = append(
			all,
			twin.Statement{SQL: "UPDATE posts SET views = views + ? WHERE id = 1", Args: []any{uint64(math.MaxInt64) + 5}},
			twin.Statement{SQL: "SELECT * FROM posts WHERE views > ?", Args: []any{uint64(math.MaxInt64)}},
			twin.Statement{SQL: "UPDATE posts SET views = views + ? WHERE id = 1", Args: []any{uint64(math.MaxUint64)}},
			twin.Statement{SQL: "INSERT INTO posts (id, slug, views) VALUES (?, 'big', 1)", Args: []any{uint64(math.MaxUint64)}},
			twin.Statement{SQL: "UPDATE posts SET views = views + 1 WHERE id = ?", Args: []any{uint64(math.MaxUint64)}},
			twin.Statement{SQL: "UPDATE posts SET views = views - ? WHERE id = ?", Args: []any{uint64(1), uint64(math.MaxUint64)}},
			twin.Statement{SQL: "SELECT views, id FROM posts WHERE id = ?", Args: []any{uint64(math.MaxUint64)}},
			twin.Statement{
				SQL:  "INSERT INTO posts (id, slug, views) VALUES (?, ?, 1) ON DUPLICATE KEY UPDATE views = views + VALUES(views)",
				Args: []any{9, "i"},
			},
			twin.Statement{
				SQL:  "INSERT INTO posts (id, slug, views) VALUES (?, ?, 1) ON DUPLICATE KEY UPDATE views = views + VALUES(views)",
				Args: []any{9, "i"},
			},
			twin.Statement{SQL: "UPDATE posts SET ok = ok WHERE id = 1"},
			twin.Statement{SQL: "UPDATE posts SET views = views WHERE id = 1"},
			twin.Statement{SQL: "UPDATE posts SET views = GREATEST(views, 0) WHERE id = 1"},
		)
	}
	if dialect == "postgres" {
		for i := range all {
			all[i].SQL = dollars(all[i].SQL)
		}
		all = append(all, twin.Statement{SQL: "UPDATE posts SET views = views + 1 WHERE id = 1 RETURNING *"},
			twin.Statement{SQL: "UPDATE posts SET views = views + $1 WHERE id = $2 RETURNING views, at", Args: []any{4, 1}})
	}
	return all
}

func dollars(q string) string {
	out, n := "", 0
	for _, c := range q {
		if c == '?' {
			n++
			out += fmt.Sprintf("$%d", n)
			continue
		}
		out += string(c)
	}
	return out
}

var params = map[string][]string{
	"mysql": {
		"",
		"interpolateParams=true",
		"clientFoundRows=true",
		"clientFoundRows=true&interpolateParams=true&parseTime=true",
		"multiStatements=true&parseTime=true",
		"multiStatements=true&interpolateParams=true&columnsWithAlias=true",
	},
	"postgres": {
		"",
		"default_query_exec_mode=cache_statement",
		"default_query_exec_mode=cache_describe",
		"default_query_exec_mode=describe_exec",
		"default_query_exec_mode=exec",
		"default_query_exec_mode=simple_protocol",
	},
	"sqlite": {
		"",
		"_pragma=foreign_keys(1)",
		"cache=shared",
		"_time_format=sqlite",
		"_txlock=immediate",
		"_pragma=recursive_triggers(1)&_pragma=foreign_keys(1)",
	},
}

func TestVariants(t *testing.T) {
	for _, dialect := range dialects {
		for _, param := range params[dialect] {
			for _, prepared := range []bool{false, true} {
				for _, in := range []string{"autocommit", "transaction"} {
					t.Run(fmt.Sprintf("%s/%s/prepared=%v/%s", dialect, param, prepared, in), func(t *testing.T) {
						t.Parallel()
						p := newTyped(t, dialect, param)
						for _, s := range statements(dialect) {
							s.Prepared = prepared
							where := both{p.Plain, p.Wrapped}
							var txs []*sql.Tx
							if in == "transaction" {
								for _, db := range []*sql.DB{p.Plain, p.Wrapped} {
									tx, err := db.Begin()
									if err != nil {
										t.Fatal(err)
									}
									txs = append(txs, tx)
								}
								where = both{txs[0], txs[1]}
							}
							plain, _ := where.same(t, s)
							for _, tx := range txs {
								if err := tx.Commit(); err != nil && plain.Err == nil {
									t.Error(err)
								}
							}
						}
						p.Same(t, twin.Statement{SQL: "SELECT * FROM posts ORDER BY id"})
					})
				}
			}
		}
	}
}

// Arguments that are options of pgx.
func TestPgxOptions(t *testing.T) {
	t.Parallel()
	p := newTyped(t, "postgres", "")
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
		pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		for _, s := range statements("postgres") {
			s.Args = append([]any{mode}, s.Args...)
			p.Same(t, s)
		}
		for _, s := range []twin.Statement{
			{SQL: "SELECT * FROM posts WHERE id = $1", Args: []any{pgx.QueryResultFormats{pgx.TextFormatCode}, 1}},
			{SQL: "SELECT views, likes FROM posts WHERE id = $1", Args: []any{mode, pgx.QueryResultFormats{pgx.TextFormatCode, pgx.BinaryFormatCode}, 1}},
			{SQL: "SELECT views FROM posts WHERE id = @id", Args: []any{mode, pgx.NamedArgs{"id": 1}}},
			{SQL: "UPDATE posts SET views = views + @n WHERE id = @id", Args: []any{mode, pgx.NamedArgs{"id": 1, "n": 3}}},
			{SQL: "UPDATE posts SET views = views + @n WHERE id = @id", Args: []any{pgx.StrictNamedArgs{"id": 1, "n": 3}}},
			{SQL: "UPDATE posts SET views = views * @n WHERE id = @id", Args: []any{mode, pgx.NamedArgs{"id": 1, "n": 2}}},
			{SQL: "INSERT INTO nosuch VALUES (@id)", Args: []any{mode, pgx.NamedArgs{"id": 1}}},
			{SQL: "SELECT @id::int", Args: []any{mode, pgx.NamedArgs{"id": 1}}},
			{SQL: "UPDATE posts SET views = views + @n WHERE id = @id", Args: []any{pgx.StrictNamedArgs{"id": 1}}},
			{SQL: "SELECT * FROM posts ORDER BY id"},
		} {
			p.Same(t, s)
		}
	}
}

// Calls of several statements.
func TestMultiStatements(t *testing.T) {
	calls := []string{
		"UPDATE posts SET views = views + 1 WHERE id = 1; UPDATE posts SET views = views + 2 WHERE id = 2",
		"INSERT INTO posts (id, slug, views) VALUES (5, 'five', 5); UPDATE posts SET views = views + 1 WHERE id = 5; DELETE FROM posts WHERE id = 5;",
		"BEGIN; UPDATE posts SET views = views + 1 WHERE id = 1; UPDATE posts SET views = views * 2 WHERE id = 1; COMMIT",
		"BEGIN; UPDATE posts SET views = views + 1 WHERE id = 1; UPDATE posts SET views = views * 2 WHERE id = 1; ROLLBACK;",
		"UPDATE posts SET views = views + 1 WHERE id = 1; UPDATE posts SET nosuch = 1",
		"UPDATE posts SET views = views * 2 WHERE id = 1; UPDATE posts SET nosuch = 1",
		"UPDATE posts SET views = views + 1 WHERE id = 1;;; ;UPDATE posts SET views = 3 WHERE id = 2;",
		"/* a */; -- b\n UPDATE posts SET views = views + 1 WHERE id = 1 -- c\n; /* d; e */ UPDATE posts SET views = 4 WHERE slug = 'a;b'",
		"UPDATE posts SET views = views + 1 WHERE id = 1; UPDATE posts SET id = 2 WHERE id = 1",
	}
	for _, dialect := range dialects {
		for _, param := range []string{"", "multiStatements=true"} {
			if param != "" && dialect != "mysql" {
				continue
			}
			t.Run(dialect+"/"+param, func(t *testing.T) {
				t.Parallel()
				p := newTyped(t, dialect, param)
				for _, mode := range []twin.Mode{twin.Exec, twin.Query} {
					for i, query := range calls {
						if mode == twin.Query && (i == 2 || i == 3) {
							continue // refused, with the reason
						}
						if dialect == "mysql" && (i == 6 || i == 7) {
							continue // an empty statement is an error there
						}
						one := pinned(t, p)
						one.same(t, twin.Statement{SQL: query, Mode: mode})
						one.same(t, twin.Statement{SQL: "ROLLBACK"})
						p.Same(t, twin.Statement{SQL: "SELECT * FROM posts ORDER BY id"})
						one.same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 1 WHERE id = 1"})
						for _, s := range []twin.Session{one.plain, one.wrapped} {
							_ = s.(*sql.Conn).Close()
						}
					}
				}
				for _, query := range []string{"SELECT views FROM posts WHERE id = 1; SELECT likes, views FROM posts ORDER BY id",
					"UPDATE posts SET views = views + 1 WHERE id = 1; SELECT views FROM posts ORDER BY id"} {
					p.Same(t, twin.Statement{SQL: query, Mode: twin.Query})
				}
			})
		}
	}
}

// SQLite's ways to write a placeholder.
func TestSQLitePlaceholders(t *testing.T) {
	t.Parallel()
	p := newTyped(t, "sqlite", "")
	for _, prepared := range []bool{false, true} {
		for _, s := range []twin.Statement{
			{SQL: "UPDATE posts SET views = views + ?2 WHERE id = ?1", Args: []any{1, 5}},
			{SQL: "UPDATE posts SET views = views + ?2 WHERE id = ?1 AND likes < ?2", Args: []any{1, 5}},
			{SQL: "UPDATE posts SET views = views + ?3 WHERE id = ?1", Args: []any{1, 5, 7}},
			{SQL: "UPDATE posts SET views = views + :n WHERE id = :id", Args: []any{sql.Named("id", 1), sql.Named("n", 2)}},
			{SQL: "UPDATE posts SET views = views + @n WHERE id = @id", Args: []any{sql.Named("n", 1), sql.Named("id", 2)}},
			{SQL: "UPDATE posts SET views = views + $n WHERE id = $id", Args: []any{sql.Named("n", 1), sql.Named("id", 2)}},
			{SQL: "UPDATE posts SET views = views + :n WHERE id = @n", Args: []any{sql.Named("n", 1)}},
			{SQL: "UPDATE posts SET views = views + :n WHERE id = ?", Args: []any{2, 1}},
			{SQL: "UPDATE posts SET views = views + :n WHERE id = :id", Args: []any{2, 1}},
			{SQL: "UPDATE posts SET views = :n WHERE id = :id", Args: []any{sql.Named("id", 1), sql.Named("n", 2)}},
			{SQL: "UPDATE posts SET views = ?2 WHERE id = ?1", Args: []any{1, 50}},
			{SQL: "SELECT views, :x FROM posts WHERE id = :id", Args: []any{sql.Named("id", 1), sql.Named("x", "y")}},
			{SQL: "SELECT views, ?2 FROM posts WHERE id = ?1 AND views > ?3", Args: []any{1, "y", 0}},
			{SQL: "UPDATE posts SET views = views + ? WHERE id = ?; UPDATE posts SET views = views - ? WHERE id = ?", Args: []any{2, 1}, Mode: twin.Exec},
			{SQL: "UPDATE posts SET views = views + ? WHERE id = 1; UPDATE posts SET views = ? WHERE id = 2", Args: []any{2}, Mode: twin.Exec},
			{SQL: "UPDATE posts SET views = views + :n WHERE id = 1; UPDATE posts SET views = views * :n WHERE id = :id", Args: []any{sql.Named("id", 1), sql.Named("n", 2)}, Mode: twin.Exec},
			{SQL: "UPDATE posts SET views = views + :missing WHERE id = 1", Args: []any{sql.Named("n", 1)}},
			{SQL: "SELECT * FROM posts ORDER BY id"},
		} {
			s.Prepared = prepared
			t.Run(fmt.Sprintf("prepared=%v/%s", prepared, s.SQL), func(t *testing.T) { p.Same(t, s) })
		}
	}
}

// A statement prepared once is used on many connections, in transactions, and
// after the schema has changed.
func TestPrepared(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect, "")
		q := func(s string) string {
			if dialect == "postgres" {
				return dollars(s)
			}
			return s
		}
		prepare := func(query string) [2]*sql.Stmt {
			var out [2]*sql.Stmt
			for i, db := range []*sql.DB{p.Plain, p.Wrapped} {
				st, err := db.Prepare(q(query))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = st.Close() })
				out[i] = st
			}
			return out
		}
		add := prepare("UPDATE posts SET views = views + ? WHERE id = ?")
		set := prepare("UPDATE posts SET views = views * ? WHERE id = ?")
		get := prepare("SELECT views, likes FROM posts WHERE id = ?")
		var conns [2][]*sql.Conn
		for i, db := range []*sql.DB{p.Plain, p.Wrapped} {
			for range 4 { // so that the pool has several connections
				c, err := db.Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				conns[i] = append(conns[i], c)
			}
			for _, c := range conns[i] {
				_ = c.Close()
			}
		}
		round := func(use func(i int, st *sql.Stmt) *sql.Stmt) {
			t.Helper()
			var seen [2]string
			for i := range 2 {
				for n := range 3 {
					res, err := use(i, add[i]).Exec(n, 1)
					var rows int64
					if err == nil {
						rows, _ = res.RowsAffected()
					}
					_, err2 := use(i, set[i]).Exec(2, 1)
					var views, likes sql.NullInt64
					err3 := use(i, get[i]).QueryRow(1).Scan(&views, &likes)
					seen[i] += fmt.Sprintln(rows, views, likes, twin.Class(err), twin.Class(err2), twin.Class(err3))
				}
			}
			if seen[0] != seen[1] {
				t.Errorf("plain\n%swrapped\n%s", seen[0], seen[1])
			}
		}
		alone := func(_ int, st *sql.Stmt) *sql.Stmt { return st }
		round(alone)
		for _, commit := range []bool{true, false} {
			var txs [2]*sql.Tx
			for i, db := range []*sql.DB{p.Plain, p.Wrapped} {
				var err error
				if txs[i], err = db.Begin(); err != nil {
					t.Fatal(err)
				}
			}
			round(func(i int, st *sql.Stmt) *sql.Stmt { return txs[i].Stmt(st) })
			for _, tx := range txs {
				if commit {
					_ = tx.Commit()
				} else {
					_ = tx.Rollback()
				}
			}
			round(alone)
		}
		for _, ddl := range []string{"ALTER TABLE posts ADD COLUMN more INTEGER", "ALTER TABLE posts DROP COLUMN title"} {
			both{p.Plain, p.Wrapped}.same(t, twin.Statement{SQL: ddl})
			round(alone)
		}
		// A change by another program.
		for _, db := range []*sql.DB{p.Plain, p.Under} {
			if _, err := db.ExecContext(context.Background(), "ALTER TABLE posts ADD COLUMN other INTEGER"); err != nil {
				t.Fatal(err)
			}
		}
		round(alone)
	})
}
